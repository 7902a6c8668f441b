// SPDX-License-Identifier: Apache-2.0
// Finds them in /proc/PID/maps, as their files cannot be read without more rights, and their functions in our own file with the same
// build id. inject.c calls it.
#include "inject/loaded.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/target.h"

// "begin-end rights offset major:minor inode path", and " (deleted)" if the file is gone: the beginning of the line of the file's first
// byte; 0: another line.
static uint64_t begin_of(const char *line, const char *file_name) {
    const char *slash = strrchr(line, '/'), *offset = strchr(line, ' ');
    const size_t length = strlen(file_name);
    offset = offset ? strchr(offset + 1, ' ') : NULL;
    if (!slash || !offset || strncmp(slash + 1, file_name, length) != 0 || strtoull(offset, NULL, 16) != 0)
        return 0;
    const char *after = slash + 1 + length;
    return strcmp(after, "\n") == 0 || strcmp(after, " (deleted)\n") == 0 ? strtoull(line, NULL, 16) : 0;
}

// Of several with this name, as after an update, the one with this build id.
static uint64_t find_mapped(const struct inject_target *target, const char *file_name, const char *build_id) {
    char path[64], *line = NULL;
    size_t room = 0;
    uint64_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &room, maps) > 0) {
        const uint64_t at = begin_of(line, file_name);
        if (at &&
            target_has_build_id(target, at, build_id)) // the first byte of a library is at its address 0
            found = at;
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

// Reads `own` for its functions.
static uint64_t find(const struct inject_target *target, const char *own, struct exports *exports) {
    char build_id[2 * ELF_BUILD_ID_MAX + 1];
    const char *slash = strrchr(own, '/');
    const int fd = open(own, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const bool is_read = fd >= 0 && exports_read_from(exports, fd, build_id);
    if (fd >= 0)
        close(fd);
    return is_read ? find_mapped(target, slash ? slash + 1 : own, build_id) : 0;
}

uint64_t loaded_at(const struct inject_target *target, const char *own) {
    struct exports exports = {0};
    const uint64_t at = find(target, own, &exports);
    exports_finish(&exports);
    return at;
}

uint64_t loaded_find(const struct inject_target *target, const char *own, const char *function) {
    struct exports exports = {0};
    const uint64_t at = find(target, own, &exports), address = at ? exports_find(&exports, function) : 0;
    exports_finish(&exports);
    return address ? at + address : 0;
}
