// SPDX-License-Identifier: Apache-2.0
// The ranks that a trace states: of its processes, and of the trace as a whole.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/dictionary.h"

// The number behind `name` ("\"rank\"") in PyTorch's distributedInfo, which is an attribute with the JSON as its value; below 0:
// there is none.
static int64_t find_number(const tsmith_dictionary *dictionary, const char *name) {
    static const char INFO[] = "distributedInfo";
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(dictionary); id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        tsmith_string key = tsmith_dictionary_string(dictionary, attribute->key);
        if (key.length < sizeof INFO - 1 ||
            memcmp(key.bytes + key.length - (sizeof INFO - 1), INFO, sizeof INFO - 1) != 0)
            continue;
        const char *at = strstr(tsmith_dictionary_string(dictionary, attribute->value).bytes, name);
        if (!at)
            continue;
        at += strlen(name);
        at += strspn(at, ": \t\r\n");
        if (*at >= '0' && *at <= '9')
            return strtol(at, NULL, 10);
    }
    return -1;
}

static tsmith_rank rank_of_pytorch(const tsmith_dictionary *dictionary) {
    const int64_t rank = find_number(dictionary, "\"rank\""),
                  world = find_number(dictionary, "\"world_size\"");
    return (tsmith_rank){.rank = rank >= 0 && rank < UINT32_MAX ? (uint32_t)rank + 1 : 0,
                         .world = world > 0 && world <= UINT32_MAX ? (uint32_t)world : 0};
}

static bool is_same(const tsmith_rank *a, const tsmith_rank *b) {
    return a->rank == b->rank && a->world == b->world && a->job == b->job;
}

tsmith_rank tsmith_dictionary_find_rank(const tsmith_dictionary *dictionary, uint32_t process) {
    const tsmith_rank *own = NULL, *all = NULL, *first = NULL;
    bool several = false;
    for (uint32_t id = 1; id < tsmith_dictionary_rank_count(dictionary); id++) {
        const tsmith_rank *rank = tsmith_dictionary_rank(dictionary, id);
        own = !own && rank->process && rank->process == process ? rank : own;
        all = rank->process ? all : rank;
        several = several || (first && !is_same(first, rank));
        first = first ? first : rank;
    }
    if (!first)
        return rank_of_pytorch(dictionary);
    const tsmith_rank *found = process ? (own ? own : all) : several ? NULL : first;
    return found ? *found : (tsmith_rank){0};
}
