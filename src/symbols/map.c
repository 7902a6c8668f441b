// SPDX-License-Identifier: Apache-2.0
// Reads /tmp/perf-PID.map, the symbols of generated code. symbols.c calls it.
#include "symbols/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { FILE_MAX = 1 << 30 };

struct symbols_map_name {
    uint64_t start, end;
    const char *name;
};

static char *read_all(int fd, size_t *size) {
    struct stat stat;
    *size = 0;
    if (fstat(fd, &stat) != 0 || stat.st_size < 0 || stat.st_size > FILE_MAX)
        return NULL;
    char *text = malloc((size_t)stat.st_size + 1);
    ssize_t got = 1;
    while (text && *size < (size_t)stat.st_size && got > 0) {
        got = pread(fd, text + *size, (size_t)stat.st_size - *size, (off_t)*size);
        *size += got > 0 ? (size_t)got : 0;
    }
    if (text)
        text[*size] = '\0';
    return text;
}

// A hexadecimal number, with or without 0x. Returns the text after it; NULL when there is none.
static const char *take_number(const char *at, uint64_t *value) {
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    const char *from = at;
    for (*value = 0; at - from < 16; at++) {
        char c = (char)(*at | ' ');
        if (c >= '0' && c <= '9')
            *value = *value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value * 16 + (uint64_t)(c - 'a') + 10;
        else
            break;
    }
    return at > from ? at : NULL;
}

static bool take_line(struct symbols_map *map, const char *line) {
    uint64_t start, size;
    const char *at = take_number(line, &start);
    at = at && *at == ' ' ? take_number(at + 1, &size) : NULL;
    if (!at || *at != ' ' || !at[1] || size > UINT64_MAX - start) {
        map->damaged = true;
        return true;
    }
    struct symbols_map_name *name = ARRAY_PUSH(map->names.items, map->names.count, map->names.capacity);
    if (name)
        *name = (struct symbols_map_name){start, start + size, at + 1};
    return name != NULL;
}

bool symbols_map_read(struct symbols_map *map, int fd) {
    struct symbols_ranges ranges = {0};
    size_t size;
    map->text = read_all(fd, &size);
    bool ok = map->text != NULL;
    for (char *line = map->text; ok && line < map->text + size;) {
        char *end = memchr(line, '\n', (size_t)(map->text + size - line));
        end = end ? end : map->text + size; // the process may have ended within a line
        *end = '\0';
        if (end > line)
            ok = take_line(map, line);
        line = end + 1;
    }
    // Deeper is what was generated later: it has what two have.
    for (size_t i = 0; ok && i < map->names.count && i < UINT32_MAX - 1; i++) {
        const struct symbols_map_name *name = &map->names.items[i];
        ok = symbols_ranges_add(
            &ranges, (struct symbols_range){name->start, name->end, (uint32_t)i + 1, (uint32_t)i + 1});
    }
    ok = ok && symbols_segments_build(&map->segments, &ranges);
    free(ranges.items);
    return ok;
}

const char *symbols_map_find(const struct symbols_map *map, uint64_t address, uint64_t *start) {
    uint32_t found = symbols_segments_find(&map->segments, address);
    if (!found)
        return NULL;
    *start = map->names.items[found - 1].start;
    return map->names.items[found - 1].name;
}

void symbols_map_finish(struct symbols_map *map) {
    free(map->names.items);
    free(map->text);
    symbols_segments_finish(&map->segments);
    *map = (struct symbols_map){0};
}
