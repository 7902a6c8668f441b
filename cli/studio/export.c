// SPDX-License-Identifier: Apache-2.0
// The folder of `tracesmith studio --export`: the page, its reader, and the traces. main.c calls it.
#include "cli/studio/export.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/present/terminal.h"

enum { NAME_MOST = 96, COPY_SIZE = 1 << 20 };

static bool write_all(int fd, const char *bytes, size_t length) {
    while (length) {
        const ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

static int create(const char *path) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        complain("%s cannot be written: %s", path, strerror(errno));
    return fd;
}

// Closes a new file and complains if not all of it was written.
static bool finish(int fd, const char *path, bool good) {
    if (close(fd) != 0 || !good) {
        complain("%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    return true;
}

bool export_file(const char *path, const char *bytes, size_t length) {
    const int fd = create(path);
    return fd >= 0 && finish(fd, path, write_all(fd, bytes, length));
}

static bool write_page(void) {
    const char *name;
    struct page_part part;
    for (size_t i = 0; page_static_at(i, &name, &part); i++)
        if (!export_file(name, part.bytes, part.length))
            return false;
    return true;
}

// ---- traces

// "run.sbt": what every server and every shell takes for a name.
static void make_name(const char *path, char out[NAME_MOST + 8]) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = 0;
    for (; *name && length < NAME_MOST; name++) {
        const bool is_plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                              (*name >= '0' && *name <= '9') || *name == '_' ||
                              (length && (*name == '.' || *name == '-'));
        out[length++] = is_plain ? *name : '_';
    }
    out[length] = '\0';
    if (length < 5 || strcmp(out + length - 4, ".sbt") != 0)
        memcpy(out + length, ".sbt", 5);
}

static bool copy(const char *from, const char *to) {
    char *bytes = malloc(COPY_SIZE);
    const int in = open(from, O_RDONLY | O_CLOEXEC), out = bytes && in >= 0 ? create(to) : -1;
    bool good = out >= 0;
    ssize_t got = 0;
    if (in < 0)
        complain("%s cannot be opened: %s", from, strerror(errno));
    while (good && (got = read(in, bytes, COPY_SIZE)) > 0)
        good = write_all(out, bytes, (size_t)got);
    if (out >= 0)
        good = finish(out, to, good && got == 0);
    if (in >= 0)
        (void)close(in);
    free(bytes);
    return good;
}

// As the command does it; not every format is SBT.
static bool import(const struct server *server, const char *from, const char *to) {
    const char *const words[] = {"import", from, "-o", to, NULL};
    struct answer answer = {.status = 200};
    const bool good = answer_by_command(server, words, &answer);
    if (!good)
        complain("%s cannot be imported: %s", from, text_cstr(&answer.text));
    text_finish(&answer.text);
    return good;
}

static bool export_trace(struct server *server, size_t number) {
    struct file *file = &server->files[number];
    char name[NAME_MOST + 8], folder[24], *path;
    tsmith_sbt *sbt = NULL;
    make_name(file->path, name);
    (void)snprintf(folder, sizeof folder, "%zu", number);
    if (mkdir(folder, 0777) != 0) {
        complain("%s cannot be created: %s", folder, strerror(errno));
        return false;
    }
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        complain("out of memory");
        return false;
    }
    const tsmith_status status = tsmith_sbt_open(file->path, &sbt, NULL);
    tsmith_sbt_close(sbt);
    const bool good =
        status == TSMITH_ERROR_FORMAT ? import(server, file->path, path) : copy(file->path, path);
    file->path = path; // from now on; lives as long as the program
    return good;
}

bool export_traces(struct server *server, const char *folder) {
    // What is in a folder is kept: rmdir takes an empty one only.
    if (rmdir(folder) != 0 && errno != ENOENT) {
        complain("cannot export to %s: %s; choose a new folder", folder, strerror(errno));
        return false;
    }
    if (mkdir(folder, 0777) != 0 || chdir(folder) != 0) {
        complain("%s cannot be created: %s", folder, strerror(errno));
        return false;
    }
    if (!write_page())
        return false;
    for (size_t i = 0; i < server->file_count; i++)
        if (!export_trace(server, i))
            return false;
    return true;
}
