// SPDX-License-Identifier: Apache-2.0
// Files that recorded sources include: laid out beneath a folder of ours as they lay on the machine of the recording, and
// the folders of build options turned there. The folder is private, has an unpredictable name and goes with the run.
#if __has_include(<CL/cl.h>)

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/build_options.h"
#include "replay/opencl/execute.h"

static bool make_root(struct run *run) {
    const char *where = getenv("TMPDIR");
    if (run->included_root)
        return true;
    if (!where || where[0] != '/')
        where = "/tmp";
    const size_t size = strlen(where) + sizeof "/tracesmith-included-XXXXXX";
    char *root = malloc(size);
    if (!root)
        return false;
    snprintf(root, size, "%s/tracesmith-included-XXXXXX", where);
    if (mkdtemp(root)) {
        run->included_root = root;
        return true;
    }
    free(root);
    return false;
}

// Every folder above the file.
static bool make_folders(char *path, size_t root) {
    for (char *slash = path + root + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static bool write_file(const char *path, const uint8_t *bytes, size_t size) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0;
    for (size_t done = 0; good && done < size;) {
        const ssize_t written = write(fd, bytes + done, size - done);
        good = written > 0 || (written < 0 && errno == EINTR);
        done += written > 0 ? (size_t)written : 0;
    }
    return fd >= 0 && close(fd) == 0 && good;
}

static bool lay_out(struct run *run, const char *name, const uint8_t *bytes, size_t size) {
    char path[2 * BUILD_PATH_MOST];
    if (!make_root(run))
        return false;
    const size_t root = strlen(run->included_root);
    const int length = snprintf(path, sizeof path, "%s%s", run->included_root, name);
    return length > 0 && (size_t)length < sizeof path && make_folders(path, root) &&
           write_file(path, bytes, size);
}

// Paths are untrusted: a path has to be absolute, and free of "..", or it would lead out of our folder.
static bool is_safe(const char *name) {
    char path[BUILD_PATH_MOST];
    return name && name[0] == '/' && build_path(NULL, name, strlen(name), path) && strcmp(path, name) == 0 &&
           name[1];
}

void included_execute(struct run *run, const struct recording_record *record) {
    const char *name = recording_text(run->recording, record, RECORDING_KEY_NAME);
    size_t size;
    if (!is_safe(name)) {
        run_note(run, "a file that a source includes has no proper path, and was left out");
        return;
    }
    uint8_t *bytes = recording_payload(run->recording, record, &size);
    if (!bytes)
        run_note(run, "%s, which a source includes, is missing from the recording", name);
    else if (!lay_out(run, name, bytes, size))
        run_note(run,
                 "%s, which a source includes, could not be written for the compiler: %s (TMPDIR selects the "
                 "directory)",
                 name, strerror(errno));
    free(bytes);
}

char *included_options(struct run *run, const struct recording_record *build, const char *options) {
    const char *folder = recording_text(run->recording, build, RECORDING_KEY_NAME);
    return run->included_root && folder && folder[0] == '/'
               ? build_options_move(options, folder, run->included_root)
               : strdup(options);
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where) {
    (void)about;
    (void)type;
    (void)where;
    (void)remove(path);
    return 0;
}

void included_drop(struct run *run) {
    enum { OPEN_MOST = 16 };
    if (run->included_root)
        (void)nftw(run->included_root, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
    free(run->included_root);
    run->included_root = NULL;
}

#else
typedef int included_without_opencl; // a translation unit has something in it
#endif
