// SPDX-License-Identifier: Apache-2.0
// The archive: a directory with an anchor (traces.otf2), definitions, and a folder with two files per location.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/otf2/otf2.h"

enum { EVENT_CHUNK = 256 << 10, DEFINITION_CHUNK = 4 << 20 };

void otf2_no_memory(struct otf2 *otf2) {
    if (otf2->status == TSMITH_OK)
        otf2->status = status_set(&otf2->error, TSMITH_ERROR_NO_MEMORY, "out of memory");
}

bool otf2_check(struct otf2 *otf2, OTF2_ErrorCode code, const char *what) {
    if (code == OTF2_SUCCESS)
        return true;
    tsmith_status status = code == OTF2_ERROR_ENOSPC || code == OTF2_ERROR_EDQUOT ? TSMITH_ERROR_NO_SPACE
                           : code == OTF2_ERROR_MEM_ALLOC_FAILED                  ? TSMITH_ERROR_NO_MEMORY
                                                                                  : TSMITH_ERROR_IO;
    if (otf2->status == TSMITH_OK)
        otf2->status = status_set(&otf2->error, status, "%s: %s cannot be written: libotf2 says: %s",
                                  otf2->path, what, OTF2_Error_GetDescription(code));
    return false;
}

// ---- the directory

static bool ends_with(const char *name, size_t digits, const char *end) {
    return strcmp(name + digits, end) == 0;
}

// A file that libotf2 makes.
static bool is_part(const char *name) {
    size_t digits = strspn(name, "0123456789");
    if (digits == 0)
        return strcmp(name, "traces.otf2") == 0 || strcmp(name, "traces.def") == 0 ||
               strcmp(name, "traces.marker") == 0;
    return ends_with(name, digits, ".evt") || ends_with(name, digits, ".def") ||
           ends_with(name, digits, ".snap");
}

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_part(int folder, const char *name) {
    return unlinkat(folder, name, 0);
}

static int hide_part(int folder, const char *name) {
    return fchmodat(folder, name, 0600, 0);
}

// Applies it to every part in a folder and counts other files. -1 on failure, with errno.
static int for_parts(int at, const char *name, int (*act)(int folder, const char *name)) {
    int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), others = 0;
    DIR *files = folder < 0 ? NULL : fdopendir(folder);
    if (!files) {
        if (folder >= 0)
            (void)close(folder);
        return -1;
    }
    for (const struct dirent *it; others >= 0 && (it = readdir(files)) != NULL;) {
        if (is_part(it->d_name))
            others = act && act(folder, it->d_name) != 0 ? -1 : others;
        else
            others += !is_dots(it->d_name);
    }
    int reason = errno;
    (void)closedir(files);
    errno = reason;
    return others;
}

// libotf2 applies the umask. Until then other users cannot enter the directory.
static bool hide_traces(int folder) {
    return for_parts(folder, ".", hide_part) >= 0 &&
           (fchmodat(folder, "traces", 0700, 0) == 0 ? for_parts(folder, "traces", hide_part) >= 0
                                                     : errno == ENOENT);
}

// A directory that is there: emptied when it holds an archive or nothing, refused otherwise.
static tsmith_status reuse(const char *path, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return status_set_errno(error, "%s: exists and is not a directory; an OTF2 archive needs one", path);
    bool is_archive =
        faccessat(folder, "traces.otf2", F_OK, 0) == 0 || faccessat(folder, "traces.def", F_OK, 0) == 0;
    if (!is_archive && for_parts(folder, ".", NULL) != 0)
        status =
            status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                       "%s: is a directory that holds no OTF2 archive and is left alone: name another", path);
    else if (for_parts(folder, ".", remove_part) < 0 ||
             (for_parts(folder, "traces", remove_part) < 0 && errno != ENOENT) ||
             (unlinkat(folder, "traces", AT_REMOVEDIR) != 0 && errno != ENOENT) || fchmod(folder, 0700) != 0)
        status = status_set_errno(error, "%s: the existing archive cannot be replaced", path);
    (void)close(folder);
    return status;
}

// ---- the archive

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                                   bool final) {
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

// By itself libotf2 keeps 128 MiB of every location before it writes any of it. Here a buffer is one chunk: when it is
// full there is no other, and it is written.
static void *take_chunk(void *data, OTF2_FileType type, OTF2_LocationRef location, void **chunk,
                        uint64_t size) {
    (void)data, (void)type, (void)location;
    if (*chunk)
        return NULL;
    *chunk = malloc(size);
    return *chunk;
}

static void free_chunk(void *data, OTF2_FileType type, OTF2_LocationRef location, void **chunk, bool final) {
    (void)data, (void)type, (void)location, (void) final;
    free(*chunk);
    *chunk = NULL;
}

static tsmith_status begin(struct otf2 *otf2) {
    static const OTF2_MemoryCallbacks memory = {take_chunk, free_chunk};
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    otf2->archive = OTF2_Archive_Open(otf2->path, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK,
                                      DEFINITION_CHUNK, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    otf2->attributes = OTF2_AttributeList_New();
    if (!otf2->archive || !otf2->attributes) {
        otf2_check(otf2, OTF2_ERROR_FILE_CAN_NOT_OPEN, "the archive");
        return otf2->status;
    }
    otf2_check(otf2, OTF2_Archive_SetFlushCallbacks(otf2->archive, &flush, NULL), "the archive");
    otf2_check(otf2, OTF2_Archive_SetMemoryCallbacks(otf2->archive, &memory, NULL), "the archive");
    otf2_check(otf2, OTF2_Archive_SetSerialCollectiveCallbacks(otf2->archive), "the archive");
    otf2_check(otf2, OTF2_Archive_SetCreator(otf2->archive, "TraceSmith"), "the archive");
    otf2_check(otf2, OTF2_Archive_OpenEvtFiles(otf2->archive), "the archive");
    otf2->definitions = OTF2_Archive_GetGlobalDefWriter(otf2->archive);
    if (!otf2->definitions)
        otf2_check(otf2, OTF2_ERROR_FILE_CAN_NOT_OPEN, "the archive");
    return otf2->status;
}

tsmith_status otf2_archive_open(struct otf2 *otf2, const char *path, bool exclusive, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    otf2->path = strdup(path);
    if (!otf2->path)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    if (mkdir(path, 0700) != 0)
        status = errno == EEXIST && !exclusive
                     ? reuse(path, error)
                     : status_set_errno(error, "%s: the directory of the archive cannot be created", path);
    if (status != TSMITH_OK)
        return status;
    status = begin(otf2);
    if (status != TSMITH_OK && error)
        *error = otf2->error;
    return status;
}

// Each location has its own definitions, which are empty but expected by readers.
static void put_local_definitions(struct otf2 *otf2) {
    otf2_check(otf2, OTF2_Archive_OpenDefFiles(otf2->archive), "the archive");
    for (uint64_t location = 0; location < otf2->locations && otf2->status == TSMITH_OK; location++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(otf2->archive, location);
        otf2_check(otf2, writer ? OTF2_SUCCESS : OTF2_ERROR_MEM_ALLOC_FAILED, "a location");
        if (writer)
            otf2_check(otf2, OTF2_Archive_CloseDefWriter(otf2->archive, writer), "a location");
    }
    otf2_check(otf2, OTF2_Archive_CloseDefFiles(otf2->archive), "the archive");
}

void otf2_archive_close(struct otf2 *otf2) {
    if (otf2->archive) {
        otf2_close_lanes(otf2);
        otf2_check(otf2, OTF2_Archive_CloseEvtFiles(otf2->archive), "the archive");
        if (otf2->finished)
            put_local_definitions(otf2);
        if (otf2->finished)
            otf2_put_tree(otf2);
        if (otf2->definitions)
            otf2_check(otf2, OTF2_Archive_CloseGlobalDefWriter(otf2->archive, otf2->definitions),
                       "the definitions");
        otf2_check(otf2, OTF2_Archive_Close(otf2->archive), "the archive");
        otf2->archive = NULL;
        int folder = open(otf2->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (otf2->status == TSMITH_OK && !hide_traces(folder))
            otf2->status =
                status_set_errno(&otf2->error, "%s: cannot be restricted to its owner", otf2->path);
        if (!otf2->finished || otf2->status != TSMITH_OK)
            (void)unlinkat(folder, "traces.otf2", 0);
        if (folder >= 0)
            (void)close(folder);
    }
    if (otf2->attributes)
        (void)OTF2_AttributeList_Delete(otf2->attributes);
    otf2->attributes = NULL;
}
