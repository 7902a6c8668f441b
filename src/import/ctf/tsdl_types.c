// SPDX-License-Identifier: Apache-2.0
// Descriptions of types in TSDL: integers, floating point numbers, strings, structures, variants, enumerations, arrays and sequences, and the
// names that they are given. tsdl.c calls it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/ctf/tsdl.h"

struct tsdl_named {
    struct tsdl_text name;
    struct tsdl_type *type;
};

enum { DIMENSIONS_MAX = 8, MEMBERS_MAX = 1 << 14, NUMBER_MAX = 4096 };
static const char SIZE_PROBLEM[] = "a number has a size that is not 1 to 4,096 bits";

// ---- memory

// Zeroed. As many as a trace may have classes.
static void *make_node(struct tsdl *tsdl, size_t size) {
    if (++tsdl->node_count > CTF_CLASSES_MAX) {
        (void)tsdl_fail(tsdl, "the metadata describe more than 1,048,576 types, members and labels");
        return NULL;
    }
    return ctf_make(tsdl->ctf, 1, size);
}

static struct tsdl_type *make_type(struct tsdl *tsdl, enum tsdl_kind kind) {
    struct tsdl_type *made = make_node(tsdl, sizeof *made);
    if (made)
        made->kind = kind;
    return made;
}

// ---- names of types

bool tsdl_open_scope(struct tsdl *tsdl) {
    if (tsdl->scope_count >= sizeof tsdl->scopes / sizeof *tsdl->scopes)
        return tsdl_fail(tsdl, "blocks are nested too deeply");
    tsdl->scopes[tsdl->scope_count++] = tsdl->next_scope++;
    return true;
}

void tsdl_close_scope(struct tsdl *tsdl) {
    if (tsdl->scope_count)
        tsdl->scope_count--;
}

static uint64_t key_of(uint32_t scope, struct tsdl_text name) {
    return hash_bytes(name.at, name.length) ^ table_hash(scope + UINT64_C(1));
}

static bool name_type(struct tsdl *tsdl, struct tsdl_text name, struct tsdl_type *type) {
    struct tsdl_named *named = make_node(tsdl, sizeof *named);
    char *copy = named ? arena_copy(&tsdl->ctf->arena, name.at, name.length) : NULL;
    uint64_t *slot =
        copy ? table_add(&tsdl->types, key_of(tsdl->scopes[tsdl->scope_count - 1], name), NULL) : NULL;
    if (!slot) {
        tsdl->ctf->rows.failed |= !tsdl->problem;
        return false;
    }
    *named = (struct tsdl_named){{copy, name.length}, type};
    *slot = (uint64_t)(uintptr_t)named;
    return true;
}

static struct tsdl_type *find_type(struct tsdl *tsdl, struct tsdl_text name) {
    for (uint32_t i = tsdl->scope_count; i-- > 0;) {
        const uint64_t *slot = table_find(&tsdl->types, key_of(tsdl->scopes[i], name));
        const struct tsdl_named *named = slot ? (const struct tsdl_named *)(uintptr_t)*slot : NULL;
        if (named && named->name.length == name.length && memcmp(named->name.at, name.at, name.length) == 0)
            return named->type;
    }
    return NULL;
}

// A name of several words, as it is kept: with one space between them.
struct joined {
    char text[TSDL_NAME_MAX];
    size_t length;
};

static bool join(struct tsdl *tsdl, struct joined *joined, struct tsdl_text word) {
    const size_t space = joined->length ? 1 : 0;
    if (joined->length + space + word.length >= sizeof joined->text)
        return tsdl_fail(tsdl, "the name of a type has more than 255 bytes");
    if (space)
        joined->text[joined->length++] = ' ';
    memcpy(joined->text + joined->length, word.at, word.length);
    joined->length += word.length;
    return true;
}

static struct tsdl_text text_of(const struct joined *joined) {
    return (struct tsdl_text){joined->text, joined->length};
}

// `struct name`, `variant name` and `enum name` are other names than `name`.
static bool join_tag(struct tsdl *tsdl, struct joined *joined, const char *word) {
    joined->length = 0;
    return join(tsdl, joined, (struct tsdl_text){word, strlen(word)}) && join(tsdl, joined, tsdl->token.text);
}

// ---- paths

// NAME.NAME..., up to what follows.
static bool read_path(struct tsdl *tsdl, struct tsdl_type *type) {
    struct tsdl_text names[CTF_PATH_MAX];
    size_t count = 0;
    do {
        if (tsdl->token.word != TSDL_NAME || count == CTF_PATH_MAX)
            return tsdl_fail(tsdl, "the path to a length or tag cannot be read");
        names[count++] = tsdl->token.text;
        tsdl_next(tsdl);
    } while (tsdl_accept(tsdl, '.') || tsdl_accept(tsdl, TSDL_ARROW));
    type->path = ctf_make(tsdl->ctf, count, sizeof *type->path);
    if (!type->path)
        return false;
    memcpy(type->path, names, count * sizeof *names);
    type->path_count = count;
    return true;
}

// ---- integers, floating point numbers, strings

static bool read_alignment(struct tsdl *tsdl, int64_t number, struct tsdl_type *type) {
    if (number < 1 || number > 1 << 20 || (number & (number - 1)))
        return tsdl_fail(tsdl, "an alignment is not a power of two of bits");
    type->alignment = (uint64_t)number;
    return true;
}

static bool read_word(struct tsdl *tsdl, const char *key, struct tsdl_type *type) {
    const struct tsdl_text word = tsdl->token.text;
    if (strcmp(key, "byte_order") == 0) {
        const bool is_big = tsdl_text_is(word, "be") || tsdl_text_is(word, "network");
        if (!is_big && !tsdl_text_is(word, "le") && !tsdl_text_is(word, "native"))
            return tsdl_fail(tsdl, "a byte order is not le, be, network or native");
        type->order = is_big ? TSDL_BIG : tsdl_text_is(word, "le") ? TSDL_LITTLE : TSDL_NATIVE;
    } else if (strcmp(key, "signed") == 0) {
        type->is_signed = tsdl_text_is(word, "true") || tsdl_text_is(word, "TRUE");
    } else if (strcmp(key, "encoding") == 0) {
        type->is_text = !tsdl_text_is(word, "none");
    }
    return true;
}

// clock.NAME.value
static bool read_map(struct tsdl *tsdl, struct tsdl_type *type) {
    if (!tsdl_is_name(tsdl, "clock"))
        return tsdl_fail(tsdl, "an integer is mapped to something that is no clock");
    tsdl_next(tsdl);
    if (!tsdl_expect(tsdl, '.', "an integer is mapped to a clock without a name"))
        return false;
    type->clock = tsdl->token.text;
    tsdl_next(tsdl);
    if (tsdl_accept(tsdl, '.'))
        tsdl_next(tsdl);
    return true;
}

// The digits of the exponent and of the mantissa of C's types have names.
static bool read_size(struct tsdl *tsdl, int64_t *out) {
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"FLT_EXP_DIG", 8},   {"FLT_MANT_DIG", 24}, {"DBL_EXP_DIG", 11},
                 {"DBL_MANT_DIG", 53}, {"LDBL_EXP_DIG", 15}, {"LDBL_MANT_DIG", 113}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tsdl_is_name(tsdl, known[i].name)) {
            *out = known[i].value;
            tsdl_next(tsdl);
            return true;
        }
    return tsdl_number(tsdl, out);
}

static bool read_attribute(struct tsdl *tsdl, struct tsdl_type *type) {
    char key[TSDL_NAME_MAX];
    int64_t number = 0;
    if (tsdl->token.word != TSDL_NAME)
        return tsdl_fail(tsdl, "an attribute of a type has no name");
    (void)snprintf(key, sizeof key, "%.*s", (int)tsdl->token.text.length, tsdl->token.text.at);
    tsdl_next(tsdl);
    if (!tsdl_expect(tsdl, '=', "an attribute of a type has no value"))
        return false;
    const bool is_number = tsdl->token.word == TSDL_NUMBER;
    if (strcmp(key, "map") == 0)
        return read_map(tsdl, type);
    if (strcmp(key, "size") == 0 || strcmp(key, "exp_dig") == 0 || strcmp(key, "mant_dig") == 0) {
        if (!read_size(tsdl, &number) || number < 1 || number > NUMBER_MAX)
            return tsdl_fail(tsdl, SIZE_PROBLEM);
        type->size += (uint64_t)number;
        return true;
    }
    if (strcmp(key, "align") == 0)
        return tsdl_number(tsdl, &number) && read_alignment(tsdl, number, type);
    if (strcmp(key, "signed") == 0 && is_number)
        type->is_signed = tsdl->token.number != 0;
    else if (!read_word(tsdl, key, type))
        return false;
    tsdl_next(tsdl);
    return true;
}

static bool read_attributes(struct tsdl *tsdl, struct tsdl_type *type) {
    while (!tsdl_accept(tsdl, '}'))
        if (!read_attribute(tsdl, type) ||
            !tsdl_expect(tsdl, ';', "an attribute of a type does not end with ;"))
            return false;
    return true;
}

static struct tsdl_type *read_basic(struct tsdl *tsdl, enum tsdl_kind kind) {
    struct tsdl_type *made = make_type(tsdl, kind);
    tsdl_next(tsdl);
    if (!made || (tsdl_accept(tsdl, '{') && !read_attributes(tsdl, made)))
        return NULL;
    if (kind != TSDL_TEXT && (!made->size || made->size > NUMBER_MAX)) { // a size may be given more than once
        (void)tsdl_fail(tsdl, made->size ? SIZE_PROBLEM : "a number has no size");
        return NULL;
    }
    if (kind == TSDL_FLOAT && made->size != 16 && made->size != 32 && made->size != 64) {
        (void)tsdl_fail(tsdl, "a floating point number has not 16, 32 or 64 bits");
        return NULL;
    }
    if (!made->alignment)
        made->alignment = made->size % 8 == 0 ? 8 : 1;
    return made;
}

// ---- members, with arrays and sequences

// What stands in brackets behind a name: the last of them is the innermost array.
static struct tsdl_type *read_dimensions(struct tsdl *tsdl, struct tsdl_type *type) {
    struct tsdl_type *made[DIMENSIONS_MAX];
    size_t count = 0;
    while (tsdl_accept(tsdl, '[')) {
        struct tsdl_type *array = count < DIMENSIONS_MAX ? make_type(tsdl, TSDL_ARRAY) : NULL;
        if (!array) {
            (void)tsdl_fail(tsdl, "an array has more than 8 dimensions");
            return NULL;
        }
        if (tsdl->token.word == TSDL_NUMBER) {
            array->size = tsdl->token.number;
            tsdl_next(tsdl);
        } else {
            array->kind = TSDL_SEQUENCE;
            if (!read_path(tsdl, array))
                return NULL;
        }
        if (!tsdl_expect(tsdl, ']', "the length of an array does not end with ]"))
            return NULL;
        made[count++] = array;
    }
    for (; count; count--) {
        made[count - 1]->element = type;
        type = made[count - 1];
    }
    return type;
}

static bool add_member(struct tsdl *tsdl, struct tsdl_type *to, struct tsdl_text name,
                       struct tsdl_type *type) {
    struct tsdl_member *made = make_node(tsdl, sizeof *made);
    if (!made)
        return false;
    if (to->member_count >= MEMBERS_MAX)
        return tsdl_fail(tsdl, "a structure or variant has more than 16,384 members");
    *made = (struct tsdl_member){.name = name, .type = type};
    if (to->last_member)
        to->last_member->next = made;
    else
        to->members = made;
    to->last_member = made;
    to->member_count++;
    return true;
}

// NAME[...], NAME...; each becomes a member, or the name of a type.
static bool read_declarators(struct tsdl *tsdl, struct tsdl_type *type, struct tsdl_type *to) {
    do {
        const struct tsdl_text name = tsdl->token.text;
        if (tsdl->token.word != TSDL_NAME)
            return tsdl_fail(tsdl, "a member or a type that is named has no name");
        tsdl_next(tsdl);
        struct tsdl_type *whole = read_dimensions(tsdl, type);
        if (!whole || !(to ? add_member(tsdl, to, name, whole) : name_type(tsdl, name, whole)))
            return false;
    } while (tsdl_accept(tsdl, ','));
    return tsdl_expect(tsdl, ';', "a declaration does not end with ;");
}

static bool read_members(struct tsdl *tsdl, struct tsdl_type *made, unsigned depth) {
    bool good = tsdl_open_scope(tsdl);
    while (good && !tsdl_accept(tsdl, '}')) {
        bool is_declaration = false;
        good = tsdl_read_declaration(tsdl, depth + 1, &is_declaration);
        if (!good || is_declaration)
            continue;
        struct tsdl_type *type = tsdl_read_type(tsdl, true, depth + 1);
        good = type && read_declarators(tsdl, type, made);
    }
    tsdl_close_scope(tsdl);
    return good;
}

// ---- structures and variants

static bool read_align(struct tsdl *tsdl, struct tsdl_type *made) {
    int64_t number = 0;
    if (!tsdl_is_name(tsdl, "align"))
        return true;
    tsdl_next(tsdl);
    return tsdl_expect(tsdl, '(', "an alignment is not in parentheses") && tsdl_number(tsdl, &number) &&
           read_alignment(tsdl, number, made) && tsdl_expect(tsdl, ')', "an alignment is not in parentheses");
}

static struct tsdl_type *find_tagged(struct tsdl *tsdl, const struct joined *joined) {
    struct tsdl_type *found = joined->length ? find_type(tsdl, text_of(joined)) : NULL;
    if (!found)
        (void)tsdl_fail(tsdl, "a struct, variant or enum is not described");
    return found;
}

static struct tsdl_type *read_structure(struct tsdl *tsdl, unsigned depth) {
    struct joined name = {.length = 0};
    tsdl_next(tsdl);
    if (tsdl->token.word == TSDL_NAME) {
        if (!join_tag(tsdl, &name, "struct"))
            return NULL;
        tsdl_next(tsdl);
    }
    if (!tsdl_accept(tsdl, '{'))
        return find_tagged(tsdl, &name);
    struct tsdl_type *made = make_type(tsdl, TSDL_STRUCTURE);
    if (!made || !read_members(tsdl, made, depth) || !read_align(tsdl, made) ||
        (name.length && !name_type(tsdl, text_of(&name), made)))
        return NULL;
    return made;
}

// A variant that was described without a tag has it where it is used.
static struct tsdl_type *read_variant(struct tsdl *tsdl, unsigned depth) {
    struct joined name = {.length = 0};
    struct tsdl_type *made = make_type(tsdl, TSDL_VARIANT);
    tsdl_next(tsdl);
    if (tsdl->token.word == TSDL_NAME) {
        if (!join_tag(tsdl, &name, "variant"))
            return NULL;
        tsdl_next(tsdl);
    }
    if (!made)
        return NULL;
    if (tsdl_accept(tsdl, '<') &&
        (!read_path(tsdl, made) || !tsdl_expect(tsdl, '>', "the tag of a variant does not end with >")))
        return NULL;
    if (tsdl_accept(tsdl, '{')) {
        if (!read_members(tsdl, made, depth) || (name.length && !name_type(tsdl, text_of(&name), made)))
            return NULL;
        return made;
    }
    const struct tsdl_type *known = find_tagged(tsdl, &name);
    if (!known)
        return NULL;
    struct tsdl_text *const path = made->path_count ? made->path : known->path;
    const size_t count = made->path_count ? made->path_count : known->path_count;
    *made = *known;
    made->path = path;
    made->path_count = count;
    return made;
}

// ---- enumerations

static bool read_label(struct tsdl *tsdl, struct tsdl_type *made, int64_t *next) {
    struct tsdl_label *label = make_node(tsdl, sizeof *label);
    if (!label)
        return false;
    if (tsdl->token.word != TSDL_NAME && tsdl->token.word != TSDL_STRING)
        return tsdl_fail(tsdl, "a label of an enumeration has no name");
    label->name = tsdl->token.text;
    label->range = (struct ctf_range){*next, *next};
    tsdl_next(tsdl);
    if (tsdl_accept(tsdl, '=')) {
        if (!tsdl_number(tsdl, &label->range.from))
            return false;
        label->range.to = label->range.from;
        if (tsdl_accept(tsdl, TSDL_ELLIPSIS) && !tsdl_number(tsdl, &label->range.to))
            return false;
    }
    *next = (int64_t)((uint64_t)label->range.to + 1);
    if (made->last_label)
        made->last_label->next = label;
    else
        made->labels = label;
    made->last_label = label;
    made->label_count++;
    return true;
}

static int by_key(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

// The options of variants look their names up in them.
static bool sort_labels(struct tsdl *tsdl, struct tsdl_type *made) {
    struct ctf_labels *sorted = &made->sorted;
    sorted->keys = ctf_make(tsdl->ctf, made->label_count, sizeof *sorted->keys);
    sorted->ranges = ctf_make(tsdl->ctf, made->label_count, sizeof *sorted->ranges);
    if (!sorted->keys || !sorted->ranges)
        return false;
    sorted->count = made->label_count;
    for (size_t i = 0; i < sorted->count; i++)
        sorted->keys[i] = (uint64_t)made->mappings[i].name << 32 | i;
    qsort(sorted->keys, sorted->count, sizeof *sorted->keys, by_key);
    for (size_t i = 0; i < sorted->count; i++)
        sorted->ranges[i] = made->mappings[(uint32_t)sorted->keys[i]].ranges[0];
    return true;
}

// The classes of all uses share them: only what a field depends on is a matter of its place.
static bool make_mappings(struct tsdl *tsdl, struct tsdl_type *made) {
    made->mappings = ctf_make(tsdl->ctf, made->label_count, sizeof *made->mappings);
    struct ctf_member *mapping = made->mappings;
    for (struct tsdl_label *label = made->labels; mapping && label; label = label->next, mapping++)
        *mapping = (struct ctf_member){
            .name = tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, label->name.at, label->name.length),
            .ranges = &label->range,
            .range_count = 1};
    return made->mappings && sort_labels(tsdl, made);
}

static bool read_labels(struct tsdl *tsdl, struct tsdl_type *made) {
    int64_t next = 0;
    while (!tsdl_accept(tsdl, '}')) {
        if (!read_label(tsdl, made, &next))
            return false;
        if (!tsdl_accept(tsdl, ',') && !tsdl_is_symbol(tsdl, '}'))
            return tsdl_fail(tsdl, "labels of an enumeration are not separated by commas");
    }
    return true;
}

static struct tsdl_type *read_enum(struct tsdl *tsdl, unsigned depth) {
    struct joined name = {.length = 0};
    struct tsdl_type *element = NULL;
    tsdl_next(tsdl);
    if (tsdl->token.word == TSDL_NAME) {
        if (!join_tag(tsdl, &name, "enum"))
            return NULL;
        tsdl_next(tsdl);
    }
    if (tsdl_accept(tsdl, ':') && !(element = tsdl_read_type(tsdl, false, depth + 1)))
        return NULL;
    if (!tsdl_accept(tsdl, '{'))
        return find_tagged(tsdl, &name);
    struct tsdl_type *made = make_type(tsdl, TSDL_ENUM);
    if (!made || !read_labels(tsdl, made) || !make_mappings(tsdl, made))
        return NULL;
    made->element = element ? element : find_type(tsdl, (struct tsdl_text){"int", 3});
    if (!made->element || made->element->kind != TSDL_INTEGER) {
        (void)tsdl_fail(tsdl, "an enumeration is of no integer type");
        return NULL;
    }
    return !name.length || name_type(tsdl, text_of(&name), made) ? made : NULL;
}

// ---- any type

// A name of one or more words. `is_named`: the last word is the name of what has the type.
static struct tsdl_type *read_named(struct tsdl *tsdl, bool is_named) {
    struct joined name = {.length = 0};
    while (tsdl->token.word == TSDL_NAME) {
        const char *const at = tsdl->at;
        const struct tsdl_token word = tsdl->token;
        tsdl_next(tsdl);
        const bool is_last = tsdl->token.word != TSDL_NAME && !tsdl_is_symbol(tsdl, '*');
        if (is_named && is_last && name.length) {
            tsdl->at = at;
            tsdl->token = word;
            break;
        }
        if (!tsdl_text_is(word.text, "const") && !join(tsdl, &name, word.text))
            return NULL;
    }
    while (tsdl_is_symbol(tsdl, '*')) {
        if (!join(tsdl, &name, tsdl->token.text))
            return NULL;
        tsdl_next(tsdl);
    }
    struct tsdl_type *found = name.length ? find_type(tsdl, text_of(&name)) : NULL;
    if (!found)
        (void)tsdl_fail(tsdl, "a type has a name that is not described");
    return found;
}

struct tsdl_type *tsdl_read_type(struct tsdl *tsdl, bool is_named, unsigned depth) {
    if (depth >= CTF_DEPTH_MAX) {
        (void)tsdl_fail(tsdl, "types are nested too deeply");
        return NULL;
    }
    if (tsdl->problem || tsdl->ctf->rows.failed)
        return NULL;
    if (tsdl_is_name(tsdl, "const"))
        tsdl_next(tsdl);
    if (tsdl_is_name(tsdl, "integer"))
        return read_basic(tsdl, TSDL_INTEGER);
    if (tsdl_is_name(tsdl, "floating_point"))
        return read_basic(tsdl, TSDL_FLOAT);
    if (tsdl_is_name(tsdl, "string"))
        return read_basic(tsdl, TSDL_TEXT);
    if (tsdl_is_name(tsdl, "struct"))
        return read_structure(tsdl, depth);
    if (tsdl_is_name(tsdl, "variant"))
        return read_variant(tsdl, depth);
    if (tsdl_is_name(tsdl, "enum"))
        return read_enum(tsdl, depth);
    return read_named(tsdl, is_named);
}

// ---- declarations

// typealias TYPE := NAME...;
static bool read_alias(struct tsdl *tsdl, unsigned depth) {
    struct joined name = {.length = 0};
    tsdl_next(tsdl);
    struct tsdl_type *type = tsdl_read_type(tsdl, false, depth);
    if (!type || !tsdl_expect(tsdl, TSDL_ASSIGN, "there is no := in a typealias"))
        return false;
    while (tsdl->token.word == TSDL_NAME || tsdl_is_symbol(tsdl, '*')) {
        if (!tsdl_is_name(tsdl, "const") && !join(tsdl, &name, tsdl->token.text))
            return false;
        tsdl_next(tsdl);
    }
    if (!name.length)
        return tsdl_fail(tsdl, "a typealias has no name");
    return name_type(tsdl, text_of(&name), type) &&
           tsdl_expect(tsdl, ';', "a declaration does not end with ;");
}

bool tsdl_read_declaration(struct tsdl *tsdl, unsigned depth, bool *is_one) {
    *is_one = true;
    if (tsdl->problem || tsdl->ctf->rows.failed || tsdl->token.word == TSDL_END)
        return tsdl_fail(tsdl, "the metadata end within a block");
    if (tsdl_accept(tsdl, ';'))
        return true;
    if (tsdl_is_name(tsdl, "typealias"))
        return read_alias(tsdl, depth);
    if (tsdl_is_name(tsdl, "typedef")) {
        tsdl_next(tsdl);
        struct tsdl_type *type = tsdl_read_type(tsdl, true, depth);
        return type && read_declarators(tsdl, type, NULL);
    }
    *is_one = false;
    return true;
}
