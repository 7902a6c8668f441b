// SPDX-License-Identifier: Apache-2.0
// The map of generated code that just-in-time compilers write for perf: /tmp/perf-PID.map.
#ifndef SYMBOLS_MAP_H
#define SYMBOLS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/segments.h"

struct symbols_map_names {
    struct symbols_map_name *items;
    size_t count, capacity;
};

// A zeroed struct has no names.
struct symbols_map {
    struct symbols_map_names names;
    char *text; // the file, its lines ended by NUL
    struct symbols_segments segments;
    bool damaged; // some lines are none
};

// False when it cannot be read, or memory is exhausted. Where code was generated over other code the later line holds.
bool symbols_map_read(struct symbols_map *map, int fd);
const char *symbols_map_find(const struct symbols_map *map, uint64_t address, uint64_t *start);
void symbols_map_finish(struct symbols_map *map);

#endif
