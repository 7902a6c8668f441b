// SPDX-License-Identifier: Apache-2.0
// Small files of /sys below a root, for topology.c and topology_links.c.
#include "launch/topology_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool topology_join(char out[TOPOLOGY_PATH], const char *folder, const char *name) {
    const int length = snprintf(out, TOPOLOGY_PATH, "%s/%s", folder, name);
    return length > 0 && length < TOPOLOGY_PATH;
}

// A copy may have a FIFO where a file is expected: nothing waits for one.
static size_t read_start(const char *folder, const char *name, char *out, size_t room) {
    char path[TOPOLOGY_PATH];
    const int fd =
        topology_join(path, folder, name) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return 0;
    const ssize_t got = read(fd, out, room);
    close(fd);
    return got > 0 ? (size_t)got : 0;
}

void topology_line(const char *folder, const char *name, char out[TOPOLOGY_LINE]) {
    const size_t size = read_start(folder, name, out, TOPOLOGY_LINE - 1);
    out[size] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void topology_text_of(const char *folder, const char *name, char out[TOPOLOGY_TEXT + 1]) {
    out[read_start(folder, name, out, TOPOLOGY_TEXT)] = '\0';
}

bool topology_number(const char *folder, const char *name, int64_t *out) {
    char line[TOPOLOGY_LINE], *end;
    topology_line(folder, name, line);
    errno = 0;
    *out = strtoll(line, &end, 0);
    return end != line && !*end && !errno;
}

bool topology_property(const char *folder, const char *name, const char *key, uint64_t *out) {
    char text[TOPOLOGY_TEXT + 1];
    const size_t length = strlen(key);
    topology_text_of(folder, name, text);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || line[length] != ' ' ||
            !isdigit((unsigned char)line[length + 1]))
            continue;
        errno = 0;
        *out = strtoull(line + length + 1, NULL, 10);
        return !errno;
    }
    return false;
}

bool topology_each(const char *folder, void (*each)(void *context, const char *name), void *context) {
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            each(context, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count >= 0;
}
