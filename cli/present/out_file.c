// SPDX-License-Identifier: Apache-2.0
// Opens, completes and closes the files of answers. The commands and cli/page.c call it.
#include "cli/present/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/present/terminal.h"

// -1: it has to be written in place. The new file has the owner and the mode of the one that it will replace.
static int open_temporary(struct out_file *out, const char *path) {
    struct stat status;
    const bool exists = lstat(path, &status) == 0;
    const size_t size = strlen(path) + sizeof ".XXXXXX";
    if (exists && (!S_ISREG(status.st_mode) || access(path, W_OK) != 0))
        return -1;
    out->temporary = malloc(size);
    if (!out->temporary)
        return -1;
    (void)snprintf(out->temporary, size, "%s.XXXXXX", path);
    int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd >= 0 && exists &&
        (fchown(fd, status.st_uid, status.st_gid) != 0 || fchmod(fd, status.st_mode & 0777) != 0)) {
        (void)close(fd);
        (void)unlink(out->temporary);
        fd = -1;
    }
    if (fd < 0) {
        free(out->temporary);
        out->temporary = NULL;
    }
    return fd;
}

static int open_descriptor(struct out_file *out, const char *path) {
    if (!path)
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    const int fd = open_temporary(out, path);
    return fd >= 0 ? fd : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

int out_file_open(struct out_file *out, const char *path) {
    const bool is_stdout = !path || strcmp(path, "-") == 0;
    *out = (struct out_file){.path = is_stdout ? "standard output" : path, .owner = getpid()};
    void *shared =
        mmap(NULL, sizeof *out->complete, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    out->complete = shared == MAP_FAILED ? NULL : shared;
    const int fd = out->complete ? open_descriptor(out, is_stdout ? NULL : path) : -1;
    out->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (out->file)
        return EXIT_DONE;
    complain("%s: cannot be written: %s", out->path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    (void)out_file_close(out);
    return EXIT_LACKING;
}

static tsmith_status write_bytes(void *context, const void *bytes, size_t size) {
    struct out_file *out = context;
    if (fwrite(bytes, 1, size, out->file) == size)
        return TSMITH_OK;
    out->failure = out->failure ? out->failure : errno;
    return TSMITH_ERROR_IO;
}

tsmith_output out_file_output(struct out_file *out) {
    return (tsmith_output){write_bytes, out};
}

int out_file_end(struct out_file *out, tsmith_status status, const tsmith_error *error) {
    errno = 0;
    const bool flushed = fflush(out->file) == 0, written = flushed && !ferror(out->file);
    const int failure = out->failure          ? out->failure
                        : !flushed            ? errno
                        : error && status < 0 ? error->system_errno
                                              : EIO;
    if (!written && failure == EPIPE && !out->temporary)
        return EXIT_DONE; // the reader has closed the pipe
    if (!written)
        complain("%s: cannot be written: %s", out->path, strerror(failure ? failure : EIO));
    else if (status < 0)
        complain("%s: %s", out->path, error->message);
    if (!written || status < 0)
        return EXIT_LACKING;
    *out->complete = true;
    return EXIT_DONE;
}

int out_file_close(struct out_file *out) {
    int code = EXIT_DONE;
    const bool complete = out->complete && *out->complete, is_owner = out->owner == getpid();
    if (out->file && fclose(out->file) != 0 && complete) {
        complain("%s: cannot be written: %s", out->path, strerror(errno));
        code = EXIT_LACKING;
    }
    if (out->temporary && is_owner && complete && code == EXIT_DONE) {
        if (rename(out->temporary, out->path) != 0) {
            complain("%s: cannot be created: %s", out->path, strerror(errno));
            code = EXIT_LACKING;
        }
    }
    if (out->temporary && is_owner && (!complete || code != EXIT_DONE))
        (void)unlink(out->temporary);
    if (out->complete)
        (void)munmap(out->complete, sizeof *out->complete);
    free(out->temporary);
    *out = (struct out_file){0};
    return code;
}
