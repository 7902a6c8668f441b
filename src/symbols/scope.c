// SPDX-License-Identifier: Apache-2.0
// DWARF's entries have no parent links: the path to an entry is found from its unit's, past its
// siblings.
#include "symbols/scope.h"

#include <dwarf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "demangle/demangle.h"

enum { SCOPES_MAX = 32, STEPS_MAX = 64, REFERENCES_MAX = 8, FUNCTIONS_MAX = 8, NAME_MAX_BYTES = 4096 };
// DWARF 6, which older headers do not have.
enum { LANGUAGE_CPP_17 = 0x2b, LANGUAGE_CPP_20 = 0x2c };

static const char *text_of(Dwarf_Die *die, unsigned which) {
    Dwarf_Attribute attribute;
    const char *text = dwarf_attr_integrate(die, which, &attribute) ? dwarf_formstring(&attribute) : NULL;
    return text && *text ? text : NULL;
}

static const char *linkage_name(Dwarf_Die *die) {
    const char *name = text_of(die, DW_AT_linkage_name);
    return name ? name : text_of(die, DW_AT_MIPS_linkage_name);
}

const char *symbols_scope_given(Dwarf_Die *function) {
    const char *name = linkage_name(function);
    return name ? name : text_of(function, DW_AT_name);
}

bool symbols_scope_lacks(Dwarf_Die *function) {
    Dwarf_Attribute attribute;
    Dwarf_Die unit;
    if (linkage_name(function) || dwarf_attr_integrate(function, DW_AT_external, &attribute) ||
        !dwarf_diecu(function, &unit, NULL, NULL))
        return false;
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case LANGUAGE_CPP_17:
    case LANGUAGE_CPP_20:
        return true;
    default:
        return false;
    }
}

// The entry that was written where the function is declared: a place that was inlined refers to the function, and a function
// that is defined elsewhere to its class's.
static Dwarf_Die declaration_of(Dwarf_Die die) {
    static const unsigned REFERENCES[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Attribute attribute;
    Dwarf_Die to;
    for (int i = 0; i < REFERENCES_MAX; i++) {
        size_t which = 0;
        while (which < 2 && !dwarf_attr(&die, REFERENCES[which], &attribute))
            which++;
        if (which == 2 || !dwarf_formref_die(&attribute, &to))
            break;
        die = to;
    }
    return die;
}

// Charges a step to the next entry: libdw walks through all children of an entry that does not store its end.
static bool spend_budget(struct symbols_scopes *scopes, Dwarf_Die *die, Dwarf_Off next) {
    const bool is_one_step = dwarf_haschildren(die) <= 0 || dwarf_hasattr(die, DW_AT_sibling);
    const uint64_t cost = is_one_step ? 1 : 1 + (next - dwarf_dieoffset(die)) / 2;
    if (scopes->budget < cost)
        return false;
    scopes->budget -= cost;
    return true;
}

// Of many entries in one: where they begin. Found once, for all functions of a large unit.
static const struct symbols_scope_list *list_entries(struct symbols_scopes *scopes, const void *parent,
                                                     Dwarf_Die first) {
    struct symbols_scope_list list = {.parent = parent};
    size_t capacity = 0;
    for (size_t i = 0; i < scopes->count; i++)
        if (scopes->lists[i].parent == parent)
            return &scopes->lists[i];
    if (!ARRAY_RESERVE(scopes->lists, scopes->capacity, scopes->count + 1))
        return NULL;
    for (bool more = true; more;) {
        if (!ARRAY_RESERVE(list.offsets, capacity, list.count + 1))
            break;
        list.offsets[list.count++] = dwarf_dieoffset(&first);
        Dwarf_Die next;
        more = dwarf_siblingof(&first, &next) == 0 && spend_budget(scopes, &first, dwarf_dieoffset(&next));
        if (more)
            first = next;
    }
    scopes->lists[scopes->count] = list;
    return &scopes->lists[scopes->count++];
}

static bool find_in_list(const struct symbols_scope_list *list, Dwarf_Die *die, Dwarf_Off target) {
    // The first beyond it.
    const size_t at = SORTED_FIND(i, 0, list ? list->count : 0, list->offsets[i] <= target);
    return at && dwarf_offdie(dwarf_cu_getdwarf(die->cu), list->offsets[at - 1], die) != NULL;
}

// Among the entries in `parent`, of which `die` is the first, the last one that begins at `target` or before it. False: too many.
static bool step_to(struct symbols_scopes *scopes, const void *parent, Dwarf_Die *die, Dwarf_Off target) {
    const Dwarf_Die first = *die;
    Dwarf_Die next;
    for (int steps = 0; dwarf_siblingof(die, &next) == 0 && dwarf_dieoffset(&next) <= target; steps++) {
        if (steps == STEPS_MAX)
            return find_in_list(list_entries(scopes, parent, first), die, target);
        if (!spend_budget(scopes, die, dwarf_dieoffset(&next)))
            return false;
        *die = next;
    }
    return true;
}

// The entries around a function, outermost first and without the unit's. How many; 0 also where that is not found out.
static size_t find_scopes(struct symbols_scopes *scopes, Dwarf_Die *function, Dwarf_Die *around) {
    const Dwarf_Off target = dwarf_dieoffset(function);
    Dwarf_Die at, unit;
    size_t count = 0;
    if (!dwarf_diecu(function, &unit, NULL, NULL) || dwarf_child(&unit, &at) != 0)
        return 0;
    while (step_to(scopes, count ? around[count - 1].addr : unit.addr, &at, target)) {
        if (dwarf_dieoffset(&at) == target)
            return count;
        if (count == SCOPES_MAX)
            return 0;
        around[count] = at;
        if (dwarf_child(&around[count++], &at) != 0 || dwarf_dieoffset(&at) > target)
            return 0;
    }
    return 0;
}

struct text {
    char bytes[NAME_MAX_BYTES];
    size_t length;
    bool full;
};

static void add(struct text *text, const char *more) {
    const size_t length = strlen(more);
    text->full |= length >= sizeof text->bytes - text->length;
    if (text->full)
        return;
    memcpy(text->bytes + text->length, more, length + 1);
    text->length += length;
}

static void add_scope(struct text *text, const char *name) {
    add(text, name);
    add(text, "::");
}

static void add_scopes(struct text *text, Dwarf_Die *function, int functions, struct symbols_scopes *scopes);

// A function that contains others, with its own context: its whole name if it has one, with its parameters.
static void add_function(struct text *text, Dwarf_Die *function, int functions,
                         struct symbols_scopes *scopes) {
    char whole[NAME_MAX_BYTES];
    const char *linkage = linkage_name(function), *name = text_of(function, DW_AT_name);
    if (linkage && demangle(linkage, whole, sizeof whole)) {
        add_scope(text, whole);
    } else if (name) {
        if (functions < FUNCTIONS_MAX)
            add_scopes(text, function, functions + 1, scopes);
        add_scope(text, name);
    }
}

static const char *name_of_class(Dwarf_Die *type, Dwarf_Die *within) {
    const char *name = text_of(type, DW_AT_name), *inner = text_of(within, DW_AT_name);
    if (name)
        return name;
    return inner && strcmp(inner, "operator()") == 0 ? "{lambda}" : "(anonymous class)";
}

static void add_scopes(struct text *text, Dwarf_Die *function, int functions, struct symbols_scopes *scopes) {
    Dwarf_Die around[SCOPES_MAX], declared = declaration_of(*function);
    const size_t count = find_scopes(scopes, &declared, around);
    size_t first = count; // after the innermost function: the entry has its own position
    while (first && dwarf_tag(&around[first - 1]) != DW_TAG_subprogram)
        first--;
    if (first)
        add_function(text, &around[first - 1], functions, scopes);
    for (size_t i = first; i < count; i++) {
        const char *name = text_of(&around[i], DW_AT_name);
        switch (dwarf_tag(&around[i])) {
        case DW_TAG_namespace:
            add_scope(text, name ? name : "(anonymous namespace)");
            break;
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            add_scope(text, name_of_class(&around[i], i + 1 < count ? &around[i + 1] : &declared));
            break;
        default: // a block within a function
            break;
        }
    }
}

const char *symbols_scope_name(Dwarf_Die *function, const char *name, struct arena *texts,
                               struct symbols_scopes *scopes) {
    struct text text = {.length = 0};
    add_scopes(&text, function, 0, scopes);
    if (!text.length)
        return name;
    add(&text, name);
    const char *whole = text.full ? NULL : arena_copy(texts, text.bytes, text.length);
    return whole ? whole : name;
}

void symbols_scopes_finish(struct symbols_scopes *scopes) {
    for (size_t i = 0; i < scopes->count; i++)
        free(scopes->lists[i].offsets);
    free(scopes->lists);
}
