// SPDX-License-Identifier: Apache-2.0
// Creates the files and folders that `replay` writes besides its answer; never overwrites one.
#include "new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/present/terminal.h"

bool new_file_write(const char *option, const char *path, const void *bytes, size_t size) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0;
    for (size_t done = 0; good && done < size;) {
        const ssize_t written = write(fd, (const char *)bytes + done, size - done);
        good = written > 0 || (written < 0 && errno == EINTR);
        done += written > 0 ? (size_t)written : 0;
    }
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (!good)
        complain("--%s: %s: %s", option, path, strerror(errno));
    return good;
}

static bool is_empty(const char *path) {
    DIR *directory = opendir(path);
    bool empty = directory != NULL;
    const struct dirent *entry;
    while (empty && (entry = readdir(directory)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory)
        closedir(directory);
    return empty;
}

bool new_directory(const char *option, const char *path) {
    if (mkdir(path, 0700) == 0)
        return true;
    if (errno == EEXIST && is_empty(path))
        return true;
    complain("--%s: %s: %s", option, path,
             errno == EEXIST ? "it exists and is not an empty directory" : strerror(errno));
    return false;
}
