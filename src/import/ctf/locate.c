// SPDX-License-Identifier: Apache-2.0
// Finds the fields that lengths and selectors are read from. A path leads through members of structures; arrays and optionals are passed
// through, and of a variant every option that has the rest of the path is meant, because only one of them is decoded. All of these fields
// share a slot, in which the value that was decoded last is kept.
#include <string.h>

#include "base/array.h"
#include "import/ctf/ctf.h"

struct path {
    struct json_value names[CTF_PATH_MAX];
    size_t count;
};

struct search {
    struct ctf *ctf;
    const struct path *path;
    uint32_t slot; // of the fields that were found; 0: none has one yet
    struct ctf_class *found[64];
    size_t count;
    bool conflict;
};

const char ctf_comparisons_problem[] = "finding the lengths of sequences and the tags of variants takes more "
                                       "than 67,108,864 comparisons of names";

bool ctf_may_compare(struct ctf *ctf, size_t more) {
    ctf->comparisons += more;
    return ctf->comparisons <= CTF_COMPARISONS_MAX;
}

static bool is_called(const struct ctf *ctf, const struct ctf_member *member, const struct json_value *name) {
    const tsmith_string text = tsmith_dictionary_string(ctf->rows.dictionary, member->name);
    return member->name && text.length == name->length && memcmp(text.bytes, name->at, name->length) == 0;
}

static void take_field(struct search *search, struct ctf_class *of) {
    if (of->slot && search->slot && of->slot != search->slot)
        search->conflict = true;
    if (of->slot)
        search->slot = of->slot;
    if (search->count < sizeof search->found / sizeof *search->found)
        search->found[search->count++] = of;
    else
        search->conflict = true;
}

static void follow_path(struct search *search, struct ctf_class *of, size_t at, unsigned depth) {
    if (!of || depth > 2 * CTF_DEPTH_MAX || !ctf_may_compare(search->ctf, of->member_count))
        return;
    switch (of->type) {
    case CTF_STRUCTURE:
        for (size_t i = 0; at < search->path->count && i < of->member_count; i++)
            if (is_called(search->ctf, &of->members[i], &search->path->names[at]))
                follow_path(search, of->members[i].of, at + 1, depth + 1);
        return;
    case CTF_VARIANT:
        for (size_t i = 0; i < of->member_count; i++)
            follow_path(search, of->members[i].of, at, depth + 1);
        return;
    case CTF_STATIC_ARRAY:
    case CTF_DYNAMIC_ARRAY:
    case CTF_OPTIONAL:
        follow_path(search, of->element, at, depth + 1);
        return;
    case CTF_BOOLEAN:
    case CTF_UNSIGNED:
    case CTF_SIGNED:
    case CTF_VAR_UNSIGNED:
    case CTF_VAR_SIGNED:
        if (at == search->path->count)
            take_field(search, of);
        return;
    default:
        return;
    }
}

static bool read_path(const struct json_value *location, struct path *path, size_t *up) {
    struct json_value list, item;
    path->count = 0;
    *up = 0;
    if (!json_member(location, "path", &list) || list.type != '[')
        return false;
    struct json_members items = json_members(&list);
    while (json_next(&items, NULL, &item)) {
        if (item.type !=
            '"') { // null: the structure around it. After names it would lead back to where they began.
            if (path->count)
                path->count--;
            else
                ++*up;
            continue;
        }
        if (path->count == CTF_PATH_MAX)
            return false;
        path->names[path->count++] = item;
    }
    return path->count > 0;
}

static const char *new_slot(struct ctf *ctf, uint32_t *slot) {
    if (ctf->slot_count == 0)
        ctf->slot_count = 1; // 0: none
    if (ctf->slot_count >= CTF_SLOTS_MAX)
        return "more than 65,535 fields are lengths of sequences, tags of variants or selectors";
    if (!ARRAY_RESERVE(ctf->slots, ctf->slot_capacity, ctf->slot_count + 1)) {
        ctf->rows.failed = true;
        return "out of memory";
    }
    ctf->slots[ctf->slot_count] = (struct ctf_slot){0};
    *slot = (uint32_t)ctf->slot_count++;
    return NULL;
}

static const char *locate(struct ctf *ctf, struct ctf_class *of,
                          struct ctf_class *const roots[CTF_ROOT_COUNT]) {
    static const char *const origins[] = {
#define NAME(NAME_, name) name,
        CTF_ROOT_TABLE(NAME)
#undef NAME
    };
    struct path path;
    struct json_value origin;
    struct search search = {.ctf = ctf, .path = &path};
    static const char absent[] = "a field depends on one that is not there";
    struct ctf_class *from = of->scope;
    size_t up;
    if (!read_path(&of->location, &path, &up))
        return absent;
    if (json_member(&of->location, "origin", &origin)) {
        from = NULL;
        for (unsigned i = 0; i < CTF_ROOT_COUNT; i++)
            if (json_value_is(&origin, origins[i]))
                from = roots[i];
    }
    for (; from && up; up--)
        from = from->scope;
    follow_path(&search, from, 0, 0);
    if (!ctf_may_compare(ctf, 0))
        return ctf_comparisons_problem;
    if (!search.count || search.conflict)
        return absent;
    const char *problem = search.slot ? NULL : new_slot(ctf, &search.slot);
    if (problem)
        return problem;
    for (size_t i = 0; i < search.count; i++)
        search.found[i]->slot = search.slot;
    of->needs = search.slot;
    return NULL;
}

const char *ctf_locate(struct ctf *ctf, struct ctf_class *const roots[CTF_ROOT_COUNT]) {
    const char *problem = NULL;
    for (size_t i = 0; i < ctf->pending_count && !problem; i++)
        problem = locate(ctf, ctf->pending[i], roots);
    ctf->pending_count = 0;
    return problem;
}
