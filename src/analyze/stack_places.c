// SPDX-License-Identifier: Apache-2.0
// Looks up each stack once. off_cpu.c and host_samples.c call it.
#include "analyze/stack_places.h"

#include <stdlib.h>

bool stack_places_init(struct stack_places *places, const tsmith_dictionary *dictionary) {
    places->count = tsmith_dictionary_stack_count(dictionary);
    places->dictionary = dictionary;
    if (places->count <= 1)
        return true;
    places->places = calloc(places->count, sizeof *places->places);
    return places->places && tsmith_stack_names_create(dictionary, &places->names) == TSMITH_OK;
}

static struct stack_place find_place(const struct stack_places *places, uint32_t stack) {
    struct stack_place place = {.known = true};
    tsmith_stack_line line = {0};
    if (tsmith_stack_lines(places->names, stack, &line, 1))
        place.innermost = line.function;
    if (tsmith_stack_place(places->dictionary, places->names, stack, &line))
        place.function = line.function;
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
