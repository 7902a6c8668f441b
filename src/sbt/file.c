// SPDX-License-Identifier: Apache-2.0
// Creates and replaces trace files. The writer calls it; what reads them is in src/platform/.
#include "sbt/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "sbt/lock.h"

// A new file in the directory of `path`, with an unpredictable name.
static int create_beside(const char *path, char *name, size_t name_size) {
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t number;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            return -1;
        const char *slash = strrchr(path, '/');
        int folder = slash ? (int)(slash - path) + 1 : 0;
        int length =
            snprintf(name, name_size, "%.*s.%016llx.sbt-new", folder, path, (unsigned long long)number);
        if (length < 0 || (size_t)length >= name_size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

// errno survives this.
static void close_and_remove(int fd, const char *name) {
    int code = errno;
    close(fd);
    unlink(name);
    errno = code;
}

static bool is_same(int fd, const char *path) {
    struct stat file, there;
    return fstat(fd, &file) == 0 && stat(path, &there) == 0 && file.st_ino == there.st_ino &&
           file.st_dev == there.st_dev;
}

struct old_file {
    bool exists;
    int fd; // -1: there is none, or none that can be opened
    bool busy;
    pid_t writer;          // of a busy one; 0: who is not known
    tsmith_status refused; // by may_replace; OK: it is not
};

// The file that is at `path`, locked so that no other process replaces it meanwhile.
static struct old_file lock_old(const char *path) {
    struct old_file old = {.busy = true};
    for (int attempt = 0; attempt < 16 && !old.writer; attempt++) {
        old.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        old.exists = old.fd >= 0 || errno != ENOENT;
        if (old.fd < 0 || (lock_take(old.fd, &old.writer) && is_same(old.fd, path))) {
            old.busy = false;
            return old;
        }
        close(old.fd);
        old.fd = -1;
    }
    return old;
}

// Puts the new file into its place. If there was none, only if there still is none: otherwise *again is set.
static bool put_in_place(const char *name, const char *path, bool had_old, bool *again) {
    *again = false;
    if (!had_old && renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return true;
    *again = !had_old && errno == EEXIST;
    return !*again && rename(name, path) == 0; // not every file system knows the other way
}

// -1 with errno set, or because the old one is busy or may not be replaced.
static int replace(const char *path, const tsmith_sbt_write_options *options, const void *head,
                   size_t head_size, struct old_file *old, tsmith_error *error) {
    char name[PATH_MAX];
    int fd = create_beside(path, name, sizeof name);
    if (fd < 0)
        return -1;
    pid_t holder;
    bool done = false, again = lock_take(fd, &holder) && file_write(fd, head, head_size);
    for (int attempt = 0; again && attempt < 16; attempt++) {
        *old = lock_old(path);
        if (!old->busy && old->fd >= 0 && options->may_replace)
            old->refused = options->may_replace(options->may_replace_context, path, error);
        if (old->busy || old->refused)
            break;
        done = put_in_place(name, path, old->exists, &again);
    }
    if (!done)
        close_and_remove(fd, name);
    if (old->fd >= 0) {
        int code = errno;
        close(old->fd);
        errno = code;
    }
    return done ? fd : -1;
}

static int create_exclusive(const char *path, const void *head, size_t head_size) {
    pid_t holder;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && !(lock_take(fd, &holder) && file_write(fd, head, head_size))) {
        close_and_remove(fd, path);
        return -1;
    }
    return fd;
}

static int open_special(const char *path, const void *head, size_t head_size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && !file_write(fd, head, head_size)) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

static const char *create_hint(int code) {
    switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
        return ": choose a folder to which you may write";
    case ENOENT:
    case ENOTDIR:
        return ": its folder does not exist";
    case ENOSPC:
    case EDQUOT:
        return ": free some space, or choose another place";
    case EEXIST:
        return ": choose another name, or allow it to be replaced";
    default:
        return "";
    }
}

// "process 1234 (tracesmith)"
static const char *writer_text(pid_t writer, char *out, size_t size) {
    char name[32] = "";
    (void)snprintf(out, size, "/proc/%d/comm", (int)writer);
    FILE *file = writer ? fopen(out, "re") : NULL;
    if (file) {
        if (!fgets(name, sizeof name, file))
            name[0] = '\0';
        fclose(file);
    }
    name[strcspn(name, "\n")] = '\0';
    if (writer)
        (void)snprintf(out, size, name[0] ? "process %d (%s)" : "process %d", (int)writer, name);
    else
        (void)snprintf(out, size, "another process");
    return out;
}

tsmith_status file_create(const char *path, const tsmith_sbt_write_options *options, const void *head,
                          size_t head_size, int *out, tsmith_error *error) {
    struct stat there;
    char resolved[PATH_MAX], who[64];
    struct old_file old = {.fd = -1};
    const bool exclusive = options->exclusive != 0;
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "%s is a directory; give the name of a file to write", path);
    if (exclusive && (!exists || S_ISREG(there.st_mode)))
        *out = create_exclusive(path, head, head_size);
    else if (exists && !S_ISREG(there.st_mode))
        *out = open_special(path, head, head_size);
    else // a link is followed: what it points to is replaced, not the link
        *out = replace(realpath(path, resolved) ? resolved : path, options, head, head_size, &old, error);
    if (*out >= 0)
        return TSMITH_OK;
    int code = errno;
    if (old.refused)
        return old.refused;
    if (old.busy)
        return status_set(error, TSMITH_ERROR_BUSY, "%s is being written by %s; wait until it has ended",
                          path, writer_text(old.writer, who, sizeof who));
    return status_set_errno(error, "%s cannot be written%s", path, create_hint(code));
}
