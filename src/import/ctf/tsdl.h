// SPDX-License-Identifier: Apache-2.0
// CTF 1.8 describes its traces in TSDL, a language that looks like C. tsdl_words.c splits the text into words, tsdl_types.c reads
// descriptions of types, tsdl_classes.c makes classes of fields of them, and tsdl.c reads the blocks (trace, clock, stream, event).
//
// A type that has a name is described once and used often. So a description is kept as it is, and each use of it becomes classes of its
// own: what a field depends on depends on its place.
#ifndef IMPORT_CTF_TSDL_H
#define IMPORT_CTF_TSDL_H

#include "import/ctf/ctf.h"

enum tsdl_word { TSDL_END, TSDL_NAME, TSDL_NUMBER, TSDL_STRING, TSDL_SYMBOL };
enum { TSDL_ASSIGN = 256, TSDL_ELLIPSIS, TSDL_ARROW }; // := ... ->; other symbols are their character
enum { TSDL_NAME_MAX = 256 };

struct tsdl_text {
    const char *at;
    size_t length;
};

struct tsdl_token {
    enum tsdl_word word;
    int symbol;
    uint64_t number;
    struct tsdl_text text; // as it is in the metadata; a string is without its quotes
};

enum tsdl_kind {
    TSDL_INTEGER,
    TSDL_FLOAT,
    TSDL_TEXT,
    TSDL_STRUCTURE,
    TSDL_VARIANT,
    TSDL_ENUM,
    TSDL_ARRAY,
    TSDL_SEQUENCE
};

enum tsdl_order { TSDL_NATIVE, TSDL_LITTLE, TSDL_BIG };

struct tsdl_type;

struct tsdl_member {
    struct tsdl_text name;
    struct tsdl_type *type;
    struct tsdl_member *next;
};

struct tsdl_label {
    struct tsdl_text name;
    struct ctf_range range;
    struct tsdl_label *next;
};

struct tsdl_type {
    enum tsdl_kind kind;
    enum tsdl_order order;
    bool is_signed, is_text;
    uint64_t size;             // bits; of an array: elements
    uint64_t alignment;        // bits; 0: not given
    struct tsdl_text clock;    // that the integer is a time of; empty: none
    struct tsdl_text *path;    // to the length of a sequence, to the tag of a variant
    size_t path_count;         // 0: none
    struct tsdl_type *element; // of arrays and sequences; the integer of an enumeration
    struct tsdl_member *members, *last_member;
    size_t member_count;
    struct tsdl_label *labels, *last_label;
    size_t label_count;
    struct ctf_member *mappings; // of the labels
    struct ctf_labels sorted;    // the same
};

struct tsdl {
    struct ctf *ctf;
    const char *at, *end; // behind the token
    struct tsdl_token token;
    const char *problem, *problem_at;
    struct table types;                 // struct tsdl_named by name and scope
    uint32_t scopes[CTF_DEPTH_MAX * 2]; // that are open
    uint32_t scope_count, next_scope;
    size_t node_count;
    bool big; // the byte order of the trace

    // of the classes that are made
    struct ctf_class *roots[CTF_ROOT_COUNT];
    enum ctf_root root;
    struct ctf_clock *clock, *default_clock; // the first: of the stream
};

// ---- tsdl_words.c

// Notes what is wrong, where the token is; the first time only. False.
bool tsdl_fail(struct tsdl *tsdl, const char *problem);
void tsdl_next(struct tsdl *tsdl);
bool tsdl_is_symbol(const struct tsdl *tsdl, int symbol);
bool tsdl_is_name(const struct tsdl *tsdl, const char *name);
bool tsdl_text_is(struct tsdl_text text, const char *known);
// Takes the token if it is this symbol.
bool tsdl_accept(struct tsdl *tsdl, int symbol);
// The same; else it is a problem.
bool tsdl_expect(struct tsdl *tsdl, int symbol, const char *problem);
// A number with its sign.
bool tsdl_number(struct tsdl *tsdl, int64_t *out);
// The string of the token in the dictionary, without escapes.
uint32_t tsdl_string(struct tsdl *tsdl);

// ---- tsdl_types.c

bool tsdl_open_scope(struct tsdl *tsdl);
void tsdl_close_scope(struct tsdl *tsdl);
// A type, up to the name of what has it, or to what follows the type. NULL: there is a problem.
struct tsdl_type *tsdl_read_type(struct tsdl *tsdl, bool is_named, unsigned depth);
// typealias, typedef, and a struct, variant or enum with a name. *is_one: whether there was one.
bool tsdl_read_declaration(struct tsdl *tsdl, unsigned depth, bool *is_one);

// ---- tsdl_classes.c

// The root structure that a type describes. False: there is a problem.
bool tsdl_make_root(struct tsdl *tsdl, const struct tsdl_type *type, enum ctf_root root);

// ---- tsdl.c

// Reads the metadata as TSDL. NULL, or what is wrong at *at.
const char *ctf_read_tsdl(struct ctf *ctf, const char **at);

#endif
