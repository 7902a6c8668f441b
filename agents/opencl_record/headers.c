// SPDX-License-Identifier: Apache-2.0
// Files that a program's source includes: kept with it, so that it can be built where they are not. Rules: recorder.h.
//
// They are searched as a compiler does: in the folder of the including file, in the folders of -I, in the current folder.
// Conditions are not looked at: a file that is not included after all is kept for nothing. One that is not found is the
// compiler's own, or is left out by a condition, or the build fails here as well.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder.h"
#include "recording/build_options.h"

enum { HEADERS_MOST = 4096, HEADER_BYTES_MOST = 16 << 20 };

struct header {
    char *path, *text;
    size_t size;
};

struct headers {
    const char *options, *current;
    struct header files[HEADERS_MOST];
    size_t count;
};

// NULL when it is no file that can be read.
static char *read_whole(const char *path, size_t *size) {
    struct stat about;
    char *text = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *size = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= HEADER_BYTES_MOST)
        text = malloc((size_t)about.st_size + 1);
    for (ssize_t got = 1; text && got > 0 && *size < (size_t)about.st_size;
         *size += (size_t)(got > 0 ? got : 0))
        got = read(fd, text + *size, (size_t)about.st_size - *size);
    close(fd);
    return text;
}

// Whether it is there; it is known then.
static bool try_file(struct headers *headers, const char *folder, const struct build_include *include) {
    char path[BUILD_PATH_MOST];
    size_t size;
    if (!build_path(folder, include->name, include->length, path))
        return false;
    for (size_t i = 0; i < headers->count; i++)
        if (strcmp(headers->files[i].path, path) == 0)
            return true;
    char *text = headers->count < HEADERS_MOST ? read_whole(path, &size) : NULL;
    char *kept = text ? strdup(path) : NULL;
    if (!kept) {
        free(text);
        return false;
    }
    headers->files[headers->count++] = (struct header){kept, text, size};
    return true;
}

// `includer`: the path of the file that includes it; NULL: the source, which is none.
static void find(struct headers *headers, const char *includer, const struct build_include *include) {
    char folder[BUILD_PATH_MOST];
    struct build_option option;
    if (includer && include->quoted && build_path("/", includer, strlen(includer), folder)) {
        *strrchr(folder, '/') = '\0';
        if (try_file(headers, *folder ? folder : "/", include))
            return;
    }
    for (const char *at = headers->options; build_option_next(&at, &option);)
        if (option.folder && build_path(headers->current, option.folder, option.folder_length, folder) &&
            try_file(headers, folder, include))
            return;
    try_file(headers, headers->current, include);
}

static void scan(struct headers *headers, const char *includer, const char *text, size_t size) {
    struct build_include include;
    for (const char *at = text; build_include_next(&at, text + size, &include);)
        find(headers, includer, &include);
}

static void write_down(cl_program program, const struct header *header) {
    struct payload payload;
    payload_keep(&payload, header->text, header->size);
    struct recording_writer *writer = record_open(RECORDING_INCLUDED);
    recording_put(writer, RECORDING_KEY_PROGRAM, object_id(program, OBJECT_PROGRAM));
    recording_put_text(writer, RECORDING_KEY_NAME, header->path);
    payload_put(writer, &payload);
    record_close();
}

static char *source_of(cl_program program, size_t *size) {
    if (recorder.next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, size) != CL_SUCCESS || *size < 2)
        return NULL;
    char *text = malloc(*size);
    if (text && recorder.next.clGetProgramInfo(program, CL_PROGRAM_SOURCE, *size, text, NULL) == CL_SUCCESS)
        return text;
    free(text);
    return NULL;
}

char *headers_keep(cl_program program, const char *options) {
    size_t size = 0;
    char *source = source_of(program, &size), *current = source ? getcwd(NULL, 0) : NULL;
    struct headers *headers = current ? calloc(1, sizeof *headers) : NULL;
    size_t count = 0;
    if (headers) {
        *headers = (struct headers){.options = options ? options : "", .current = current};
        scan(headers, NULL, source, size);
        for (; count < headers->count; count++) {
            const struct header header = headers->files[count];
            scan(headers, header.path, header.text, header.size);
            write_down(program, &header);
        }
        for (size_t i = 0; i < count; i++) {
            free(headers->files[i].path);
            free(headers->files[i].text);
        }
    }
    free(headers);
    free(source);
    if (count)
        return current;
    free(current);
    return NULL;
}
