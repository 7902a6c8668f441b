// SPDX-License-Identifier: Apache-2.0
// From descriptions of types in TSDL to the classes of fields that CTF 2 has. What CTF 2 says with roles, CTF 1.8 says with names of fields and
// with clocks that integers are mapped to; what CTF 2 says with ranges of selectors, CTF 1.8 says with labels of enumerations. tsdl.c calls it.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "import/ctf/tsdl.h"

// Tracers put an underscore before names that might be words of TSDL. It is no part of the name.
static struct tsdl_text shown(struct tsdl_text name) {
    if (name.length > 1 && name.at[0] == '_')
        return (struct tsdl_text){name.at + 1, name.length - 1};
    return name;
}

static uint32_t intern(struct tsdl *tsdl, struct tsdl_text text) {
    return tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, text.at, text.length);
}

static bool is_called(const struct tsdl *tsdl, const struct ctf_member *member, struct tsdl_text name) {
    const tsmith_string text = tsmith_dictionary_string(tsdl->ctf->rows.dictionary, member->name);
    return member->name && text.length == name.length && memcmp(text.bytes, name.at, name.length) == 0;
}

// ---- what a length or a tag is read from

// The member of a structure, of an option of a variant, or of an element; NULL: there is none yet.
static struct ctf_class *find_member(const struct tsdl *tsdl, struct ctf_class *in, struct tsdl_text name) {
    for (unsigned depth = 0; in && depth < CTF_DEPTH_MAX; depth++) {
        if (!ctf_may_compare(tsdl->ctf, in->member_count))
            return NULL;
        if (in->type == CTF_STATIC_ARRAY || in->type == CTF_DYNAMIC_ARRAY) {
            in = in->element;
            continue;
        }
        for (size_t i = 0; in->type == CTF_STRUCTURE && i < in->member_count; i++)
            if (is_called(tsdl, &in->members[i], name))
                return in->members[i].of;
        struct ctf_class *found = NULL;
        for (size_t i = 0; in->type == CTF_VARIANT && !found && i < in->member_count; i++)
            if (in->members[i].of->type == CTF_STRUCTURE)
                found = find_member(tsdl, in->members[i].of, name);
        return found;
    }
    return NULL;
}

static struct ctf_class *follow_names(const struct tsdl *tsdl, struct ctf_class *from,
                                      const struct tsdl_text *path, size_t count) {
    for (size_t i = 0; from && i < count; i++)
        from = find_member(tsdl, from, shown(path[i]));
    return from;
}

struct place {
    int root; // -1: relative
    size_t up;
    const struct tsdl_text *path;
    size_t count;
    struct ctf_class *found;
};

// Paths that begin with the name of a root: the names of the roots, in the order of ctf_root.
static bool find_absolute(const struct tsdl *tsdl, const struct tsdl_type *type, struct place *place) {
    static const struct {
        const char *words[3];
    } names[CTF_ROOT_COUNT] = {
        [CTF_ROOT_PACKET_HEADER] = {{"trace", "packet", "header"}},
        [CTF_ROOT_PACKET_CONTEXT] = {{"stream", "packet", "context"}},
        [CTF_ROOT_RECORD_HEADER] = {{"stream", "event", "header"}},
        [CTF_ROOT_COMMON_CONTEXT] = {{"stream", "event", "context"}},
        [CTF_ROOT_SPECIFIC_CONTEXT] = {{"event", "context", NULL}},
        [CTF_ROOT_PAYLOAD] = {{"event", "fields", NULL}},
    };
    for (int root = 0; root < CTF_ROOT_COUNT; root++) {
        size_t count = 0;
        while (count < 3 && names[root].words[count] && count < type->path_count &&
               tsdl_text_is(type->path[count], names[root].words[count]))
            count++;
        if ((count < 3 && names[root].words[count]) || count == type->path_count)
            continue;
        *place = (struct place){root, 0, type->path + count, type->path_count - count, NULL};
        place->found = follow_names(tsdl, tsdl->roots[root], place->path, place->count);
        return true;
    }
    return false;
}

// Else the structures around the field are searched, from the inside out, and then what is decoded before, the last first.
static bool find_place(const struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *scope,
                       struct place *place) {
    if (find_absolute(tsdl, type, place))
        return place->found != NULL;
    *place = (struct place){-1, 0, type->path, type->path_count, NULL};
    for (; scope; scope = scope->scope, place->up++)
        if ((place->found = follow_names(tsdl, scope, type->path, type->path_count)))
            return true;
    place->up = 0;
    for (place->root = (int)tsdl->root; place->root-- > 0;)
        if ((place->found = follow_names(tsdl, tsdl->roots[place->root], type->path, type->path_count)))
            return true;
    return false;
}

// The location as CTF 2 writes it, which locate.c reads.
static bool write_location(struct tsdl *tsdl, const struct place *place, struct ctf_class *made) {
    static const char *const origins[] = {
#define NAME(NAME_, name) name,
        CTF_ROOT_TABLE(NAME)
#undef NAME
    };
    size_t size = 64 + INPUT_PADDING + place->up * sizeof "null,", used = 0; // JSON is read in whole vectors
    for (size_t i = 0; i < place->count; i++)
        size += place->path[i].length + sizeof "\"\",";
    char *text = ctf_make(tsdl->ctf, size, 1);
    if (!text)
        return false;
    used += (size_t)snprintf(text, size, "{");
    if (place->root >= 0)
        used += (size_t)snprintf(text + used, size - used, "\"origin\":\"%s\",", origins[place->root]);
    used += (size_t)snprintf(text + used, size - used, "\"path\":[");
    for (size_t i = 0; i < place->up; i++)
        used += (size_t)snprintf(text + used, size - used, "null,");
    for (size_t i = 0; i < place->count; i++) {
        const struct tsdl_text name = shown(place->path[i]);
        used +=
            (size_t)snprintf(text + used, size - used, "%s\"%.*s\"", i ? "," : "", (int)name.length, name.at);
    }
    used += (size_t)snprintf(text + used, size - used, "]}");
    made->location = (struct json_value){.at = text, .length = used, .type = '{'};
    return ctf_add_pending(tsdl->ctf, made);
}

// ---- classes

static struct ctf_class *make_class(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *scope,
                                    unsigned depth);

static bool is_big(const struct tsdl *tsdl, const struct tsdl_type *type) {
    return type->order == TSDL_NATIVE ? tsdl->big : type->order == TSDL_BIG;
}

static bool fill_number(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made) {
    made->type = type->kind == TSDL_FLOAT ? CTF_FLOAT : type->is_signed ? CTF_SIGNED : CTF_UNSIGNED;
    made->length = type->size;
    made->alignment = type->alignment;
    made->big = made->last_to_first = is_big(tsdl, type);
    if (!type->clock.length)
        return true;
    const uint64_t *clock = table_find(&tsdl->ctf->clocks, intern(tsdl, type->clock));
    if (!clock || !*clock)
        return tsdl_fail(tsdl, "an integer is mapped to a clock that is not described before it");
    if (tsdl->root != CTF_ROOT_PACKET_CONTEXT && tsdl->root != CTF_ROOT_RECORD_HEADER)
        return true;
    if (!tsdl->clock)
        tsdl->clock = (struct ctf_clock *)(uintptr_t)*clock;
    made->roles |= 1u << CTF_ROLE_TIMESTAMP;
    return true;
}

static bool fill_enum(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made) {
    made->mappings = type->mappings;
    made->mapping_count = type->label_count;
    made->labels = &type->sorted;
    return fill_number(tsdl, type->element, made);
}

static bool fill_structure(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made,
                           unsigned depth) {
    made->type = CTF_STRUCTURE;
    made->alignment = type->alignment ? type->alignment : 1;
    made->members = ctf_make(tsdl->ctf, type->member_count, sizeof *made->members);
    for (const struct tsdl_member *member = type->members; made->members && member; member = member->next) {
        struct ctf_class *of = make_class(tsdl, member->type, made, depth + 1);
        if (!of)
            return false;
        // What follows may depend on it.
        made->members[made->member_count++] =
            (struct ctf_member){.name = intern(tsdl, shown(member->name)), .of = of};
        if (of->alignment > made->alignment)
            made->alignment = of->alignment;
    }
    return made->members != NULL;
}

// How many keys are smaller.
static size_t count_below(const struct ctf_labels *labels, uint64_t key) {
    return SORTED_FIND(i, 0, labels->count, labels->keys[i] < key);
}

// The ranges of the labels of this name: an option is there for these values of the tag.
static void set_ranges(struct tsdl *tsdl, const struct ctf_labels *labels, struct tsdl_text name,
                       struct ctf_member *option) {
    const uint32_t names[] = {intern(tsdl, name), intern(tsdl, shown(name))};
    for (size_t way = 0; way < 2 && !option->range_count; way++) {
        const size_t first = count_below(labels, (uint64_t)names[way] << 32);
        option->ranges = labels->ranges + first;
        option->range_count = count_below(labels, ((uint64_t)names[way] + 1) << 32) - first;
    }
}

static bool fill_variant(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made,
                         unsigned depth) {
    struct place place;
    made->type = CTF_VARIANT;
    if (!type->path_count || !find_place(tsdl, type, made->scope, &place) || !place.found->mapping_count)
        return tsdl_fail(tsdl, ctf_may_compare(tsdl->ctf, 0)
                                   ? "a variant has no tag, or its tag is not an enumeration before it"
                                   : ctf_comparisons_problem);
    const struct ctf_class *const tag = place.found;
    if (!write_location(tsdl, &place, made))
        return false;
    made->members = ctf_make(tsdl->ctf, type->member_count, sizeof *made->members);
    for (const struct tsdl_member *member = type->members; made->members && member; member = member->next) {
        struct ctf_member option = {.name = intern(tsdl, shown(member->name))};
        option.of = make_class(tsdl, member->type, made->scope, depth + 1);
        if (!option.of)
            return false;
        set_ranges(tsdl, tag->labels, member->name, &option);
        made->members[made->member_count++] = option;
    }
    return made->members != NULL;
}

// An array of bytes with an encoding is a text.
static bool fill_array(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made,
                       unsigned depth) {
    const struct tsdl_type *const element = type->element;
    const bool is_text =
        element->kind == TSDL_INTEGER && element->is_text && element->size == 8 && element->alignment == 8;
    struct place place;
    made->type = type->kind == TSDL_ARRAY ? (is_text ? CTF_STATIC_TEXT : CTF_STATIC_ARRAY)
                                          : (is_text ? CTF_DYNAMIC_TEXT : CTF_DYNAMIC_ARRAY);
    made->length = type->size;
    if (type->kind == TSDL_SEQUENCE &&
        (!find_place(tsdl, type, made->scope, &place) || !write_location(tsdl, &place, made)))
        return tsdl_fail(tsdl, ctf_may_compare(tsdl->ctf, 0)
                                   ? "the length of a sequence is not a field before it"
                                   : ctf_comparisons_problem);
    if (is_text) {
        made->unit = 1;
        made->alignment = 8;
        return true;
    }
    made->element = make_class(tsdl, element, made->scope, depth + 1);
    if (made->element)
        made->alignment = made->element->alignment;
    return made->element != NULL;
}

static bool fill_class(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *made,
                       unsigned depth) {
    switch (type->kind) {
    case TSDL_STRUCTURE:
        return fill_structure(tsdl, type, made, depth);
    case TSDL_VARIANT:
        return fill_variant(tsdl, type, made, depth);
    case TSDL_ENUM:
        return fill_enum(tsdl, type, made);
    case TSDL_ARRAY:
    case TSDL_SEQUENCE:
        return fill_array(tsdl, type, made, depth);
    case TSDL_TEXT:
        made->type = CTF_TEXT;
        made->unit = 1;
        made->alignment = 8;
        return true;
    default:
        return fill_number(tsdl, type, made);
    }
}

static struct ctf_class *make_class(struct tsdl *tsdl, const struct tsdl_type *type, struct ctf_class *scope,
                                    unsigned depth) {
    if (depth >= CTF_DEPTH_MAX || ++tsdl->ctf->class_count > CTF_CLASSES_MAX) {
        (void)tsdl_fail(tsdl, "types are nested too deeply, or there are more than 1,048,576 fields");
        return NULL;
    }
    struct ctf_class *made = ctf_make(tsdl->ctf, 1, sizeof *made);
    if (!made)
        return NULL;
    made->scope = scope;
    made->alignment = 1;
    if (depth == 0) // its own members may be named from the root on
        tsdl->roots[tsdl->root] = made;
    return fill_class(tsdl, type, made, depth) ? made : NULL;
}

// ---- roles

static bool is_integer(const struct ctf_class *of) {
    return of->type == CTF_UNSIGNED || of->type == CTF_SIGNED;
}

// A trace with one clock, or none, need not map integers to it: their names say that they are times.
static void map_by_name(struct tsdl *tsdl, struct ctf_class *of) {
    if (of->roles || !tsdl->default_clock)
        return;
    if (!tsdl->clock)
        tsdl->clock = tsdl->default_clock;
    of->roles |= 1u << CTF_ROLE_TIMESTAMP;
}

static void set_role(struct tsdl *tsdl, struct ctf_member *member) {
    static const struct {
        enum ctf_root root;
        const char *name;
        enum ctf_role role;
    } known[] = {{CTF_ROOT_PACKET_HEADER, "magic", CTF_ROLE_MAGIC},
                 {CTF_ROOT_PACKET_HEADER, "stream_id", CTF_ROLE_STREAM_CLASS},
                 {CTF_ROOT_PACKET_HEADER, "stream_instance_id", CTF_ROLE_STREAM},
                 {CTF_ROOT_PACKET_CONTEXT, "content_size", CTF_ROLE_CONTENT},
                 {CTF_ROOT_PACKET_CONTEXT, "packet_size", CTF_ROLE_TOTAL},
                 {CTF_ROOT_PACKET_CONTEXT, "events_discarded", CTF_ROLE_DISCARDED},
                 {CTF_ROOT_PACKET_CONTEXT, "packet_seq_num", CTF_ROLE_SEQUENCE},
                 {CTF_ROOT_RECORD_HEADER, "id", CTF_ROLE_RECORD_CLASS}};
    static const struct {
        enum ctf_root root;
        const char *name;
    } times[] = {{CTF_ROOT_PACKET_CONTEXT, "timestamp_begin"},
                 {CTF_ROOT_PACKET_CONTEXT, "timestamp_end"},
                 {CTF_ROOT_RECORD_HEADER, "timestamp"}};
    const tsmith_string text = tsmith_dictionary_string(tsdl->ctf->rows.dictionary, member->name);
    const struct tsdl_text name = {text.bytes, text.length};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].root == tsdl->root && tsdl_text_is(name, known[i].name))
            member->of->roles |= 1u << known[i].role;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].root == tsdl->root && tsdl_text_is(name, times[i].name))
            map_by_name(tsdl, member->of);
    if (tsdl->root == CTF_ROOT_PACKET_CONTEXT && tsdl_text_is(name, "timestamp_end"))
        member->of->roles = 1u << CTF_ROLE_END;
}

// Of structures, and of the options of variants: the header of an event record has its id and time in one of two forms.
static void set_roles(struct tsdl *tsdl, struct ctf_class *of) {
    for (size_t i = 0; i < of->member_count; i++) {
        struct ctf_member *member = &of->members[i];
        struct ctf_class *const inner = member->of;
        if (of->type == CTF_STRUCTURE && is_integer(inner))
            set_role(tsdl, member);
        else if (inner->type == CTF_STRUCTURE || inner->type == CTF_VARIANT)
            set_roles(tsdl, inner);
        else if (tsdl->root == CTF_ROOT_PACKET_HEADER && inner->type == CTF_STATIC_ARRAY &&
                 inner->length == 16 && is_integer(inner->element) && inner->element->length == 8 &&
                 is_called(tsdl, member, (struct tsdl_text){"uuid", 4})) {
            inner->type = CTF_STATIC_BLOB;
            inner->roles = 1u << CTF_ROLE_UUID;
            inner->unit = 1;
            inner->alignment = 8;
        }
    }
}

bool tsdl_make_root(struct tsdl *tsdl, const struct tsdl_type *type, enum ctf_root root) {
    tsdl->root = root;
    tsdl->roots[root] = NULL;
    if (!type)
        return true;
    if (type->kind != TSDL_STRUCTURE)
        return tsdl_fail(tsdl, "a header, a context or the fields of an event are not a structure");
    struct ctf_class *made = make_class(tsdl, type, NULL, 0);
    if (!made)
        return tsdl_fail(tsdl, "a type cannot be used here");
    if (root <= CTF_ROOT_RECORD_HEADER)
        set_roles(tsdl, made);
    return true;
}
