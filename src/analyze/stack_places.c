// SPDX-License-Identifier: Apache-2.0
// Looks up each stack once. off_cpu.c and host_samples.c call it.
#include "analyze/stack_places.h"

#include <stdlib.h>
#include <string.h>

#include "event/stacks.h"

bool stack_places_init(struct stack_places *places, const tsmith_dictionary *dictionary) {
    places->count = tsmith_dictionary_stack_count(dictionary);
    places->dictionary = dictionary;
    if (places->count <= 1)
        return true;
    places->places = calloc(places->count, sizeof *places->places);
    if (!places->places || tsmith_stack_names_create(dictionary, &places->names) != TSMITH_OK)
        return false;
    tsmith_stack_names_hide_interpreter(places->names, 1);
    return true;
}

static struct stack_place find_place(const struct stack_places *places, uint32_t stack) {
    struct stack_place place = {.known = true};
    tsmith_stack_line line = {0};
    if (tsmith_stack_lines(places->names, stack, &line, 1))
        place.innermost = line.function;
    if (tsmith_stack_place(places->dictionary, places->names, stack, &line))
        place.function = line.function;
    place.in_interpreter = !stacks_hide(places->names, stack) &&
                           stacks_is_interpreter(places->names, line.frame) &&
                           stacks_runs_python(places->names, stack);
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

// What begins every program and thread launches nothing: where the C library alone has lines, it would be taken for it.
bool stack_line_is_beginning(const tsmith_dictionary *dictionary, const tsmith_stack_line *line) {
    static const char *const NAMES[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "__clone",
                                        "clone",
                                        "__clone3",
                                        "clone3"};
    const tsmith_string name = tsmith_dictionary_string(dictionary, line->function);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (name.length == strlen(NAMES[i]) && memcmp(name.bytes, NAMES[i], name.length) == 0)
            return true;
    return false;
}
