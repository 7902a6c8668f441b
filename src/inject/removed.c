// SPDX-License-Identifier: Apache-2.0
// Finds them in /proc/PID/maps, as their files cannot be read without more rights, and their functions in our own file with the same
// build id. inject.c calls it.
#include "inject/removed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/target.h"

// "begin-end rights offset major:minor inode path (deleted)": the beginning of the line of the file's first byte; 0: another line.
static uint64_t begin_of(const char *line, const char *file_name) {
    static const char removed[] = " (deleted)\n";
    const char *slash = strrchr(line, '/'), *offset = strchr(line, ' ');
    const size_t length = strlen(file_name);
    offset = offset ? strchr(offset + 1, ' ') : NULL;
    return slash && offset && strncmp(slash + 1, file_name, length) == 0 &&
                   strcmp(slash + 1 + length, removed) == 0 && strtoull(offset, NULL, 16) == 0
               ? strtoull(line, NULL, 16)
               : 0;
}

uint64_t removed_at(const struct inject_target *target, const char *file_name) {
    char path[64], *line = NULL;
    size_t room = 0;
    uint64_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &room, maps) > 0)
        found = begin_of(line, file_name);
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

uint64_t removed_find(const struct inject_target *target, const char *file_name, const char *own,
                      const char *function) {
    struct exports exports = {0};
    char build_id[2 * ELF_BUILD_ID_MAX + 1];
    const uint64_t at = removed_at(target, file_name);
    const int fd = at ? open(own, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    uint64_t found = 0;
    // The first byte of a library is at its address 0.
    if (fd >= 0 && exports_read_from(&exports, fd, build_id) && target_has_build_id(target, at, build_id))
        found = exports_find(&exports, function);
    exports_finish(&exports);
    if (fd >= 0)
        close(fd);
    return found ? at + found : 0;
}
