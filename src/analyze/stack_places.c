// SPDX-License-Identifier: Apache-2.0
// Looks up each stack once. off_cpu.c and host_samples.c call it.
#include "analyze/stack_places.h"

#include <stdlib.h>
#include <string.h>

bool stack_places_init(struct stack_places *places, const tsmith_dictionary *dictionary) {
    places->count = tsmith_dictionary_stack_count(dictionary);
    places->dictionary = dictionary;
    if (places->count <= 1)
        return true;
    places->places = calloc(places->count, sizeof *places->places);
    return places->places && tsmith_stack_names_create(dictionary, &places->names) == TSMITH_OK;
}

// The functions that wait, wake, copy and allocate are the system's; the reason is in their callers.
static bool is_of_system(const struct stack_places *places, const tsmith_stack_line *line) {
    static const char *const libraries[] = {"libc.so",  "libc-",     "libpthread",
                                            "ld-linux", "libstdc++", "[vdso]"};
    const tsmith_module *module = tsmith_dictionary_module(places->dictionary, line->module);
    const char *path = module ? tsmith_dictionary_string(places->dictionary, module->path).bytes : "";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return line->flags & TSMITH_FRAME_KERNEL;
}

static struct stack_place find_place(const struct stack_places *places, uint32_t stack) {
    enum { LINES = 256 };
    tsmith_stack_line lines[LINES];
    struct stack_place place = {.known = true};
    const size_t there = tsmith_stack_lines(places->names, stack, lines, LINES),
                 count = there < LINES ? there : LINES;
    place.innermost = count ? lines[0].function : 0;
    for (size_t i = 0; i < count; i++)
        if (!is_of_system(places, &lines[i])) {
            place.function = lines[i].function;
            break;
        }
    return place;
}

struct stack_place stack_places_find(struct stack_places *places, uint32_t stack) {
    if (!places->names || !stack || stack >= places->count)
        return (struct stack_place){0};
    if (!places->places[stack].known)
        places->places[stack] = find_place(places, stack);
    return places->places[stack];
}

void stack_places_finish(struct stack_places *places) {
    free(places->places);
    tsmith_stack_names_destroy(places->names);
    *places = (struct stack_places){0};
}
