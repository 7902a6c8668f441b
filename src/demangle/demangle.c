// SPDX-License-Identifier: Apache-2.0
// The work is libiberty's. A hostile name of a hundred bytes can expand to gigabytes (its parts refer to one
// another), so the output is counted as it comes, and demangling is aborted when there is too much. That is a jump
// out of libiberty, which these entry points allow: all their memory is on the stack. D's has no such entry point,
// and allocates: names of D that refer to their own parts more than a few times are not taken apart.
#include "demangle/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct output {
    char *at;
    size_t length, size;
    jmp_buf *enough;
};

static void append_bytes(const char *bytes, size_t length, void *context) {
    struct output *output = context;
    if (length >= output->size - output->length)
        longjmp(*output->enough, 1);
    memcpy(output->at + output->length, bytes, length);
    output->length += length;
}

// ---- Rust's older mangling

static int digit_of(char byte) {
    return byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// A character of a name, for example `$uf6$`; returns the position behind it. NULL: it is none.
static const char *put_character(const char *at, const char *end, struct output *output) {
    uint32_t code = 0;
    for (at += 2; at < end && digit_of(*at) >= 0 && code <= 0x10ffff; at++)
        code = code << 4 | (uint32_t)digit_of(*at);
    if (at == end || *at != '$' || code < ' ' || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return NULL;
    char bytes[4] = {(char)code};
    size_t length = 1;
    if (code >= 0x80) {
        length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (size_t i = length; i-- > 1; code >>= 6)
            bytes[i] = (char)(0x80 | (code & 0x3f));
        bytes[0] = (char)((0xf00u >> length & 0xf0) | code);
    }
    append_bytes(bytes, length, output);
    return at + 1;
}

// One part of a path, in which what no linker takes is written in words.
static bool put_part(const char *at, const char *end, struct output *output) {
    static const struct {
        const char *word, *text;
    } WORDS[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"}, {"$GT$", ">"},
                 {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},  {"..", "::"}};
    at += end - at > 1 && at[0] == '_' && at[1] == '$';
    while (at < end) {
        size_t i = 0;
        while (i < sizeof WORDS / sizeof *WORDS && (strlen(WORDS[i].word) > (size_t)(end - at) ||
                                                    memcmp(at, WORDS[i].word, strlen(WORDS[i].word)) != 0))
            i++;
        if (i < sizeof WORDS / sizeof *WORDS) {
            append_bytes(WORDS[i].text, strlen(WORDS[i].text), output);
            at += strlen(WORDS[i].word);
        } else if (*at != '$') {
            append_bytes(at++, 1, output);
        } else if (end - at < 3 || at[1] != 'u' || !(at = put_character(at, end, output))) {
            return false;
        }
    }
    return true;
}

// Names with characters that are not ASCII's, which libiberty leaves as they are: _ZN, parts with their lengths, a hash, E.
static bool take_rust_apart(const char *name, struct output *output) {
    enum { HASH = 17 };
    const char *at = name + 3, *end = name + strlen(name);
    if (memcmp(name, "_Z", 2) != 0 || name[2] != 'N' || !strstr(name, "$u") || end[-1] != 'E')
        return false;
    for (bool first = true; at + 1 < end; first = false) {
        size_t length = 0;
        for (; *at >= '0' && *at <= '9' && length < DEMANGLE_MAX; at++)
            length = length * 10 + (size_t)(*at - '0');
        if (!length || length > (size_t)(end - 1 - at))
            return false;
        if (at + length == end - 1)
            return length == HASH && *at == 'h' && !first;
        if (!first)
            append_bytes("::", 2, output);
        if (!put_part(at, at + length, output))
            return false;
        at += length;
    }
    return false;
}

// ---- Fortran and D

static bool is_fortran(const char *at, const char *end) {
    const char *begin = at;
    while (at < end && (digit_of(*at) >= 0 || (*at >= 'a' && *at <= 'z') || *at == '_'))
        at++;
    return at == end && at > begin;
}

// __MODULE_MOD_PROCEDURE; a name of Fortran has no capitals here.
static bool take_fortran_apart(const char *name, struct output *output) {
    static const char MIDDLE[] = "_MOD_";
    const char *middle = memcmp(name, "__", 2) == 0 ? strstr(name, MIDDLE) : NULL;
    const char *procedure = middle ? middle + sizeof MIDDLE - 1 : NULL, *end = name + strlen(name);
    if (!middle || !is_fortran(name + 2, middle) || !is_fortran(procedure, end))
        return false;
    append_bytes(name + 2, (size_t)(middle - name - 2), output);
    append_bytes("::", 2, output);
    append_bytes(procedure, (size_t)(end - procedure), output);
    return true;
}

static bool take_d_apart(const char *name, struct output *output) {
    enum { BACK_MAX = 20, D_MAX = 2048 }; // references to parts of the name can double the output
    size_t back = 0;
    if (memcmp(name, "_D", 2) != 0 || strlen(name) > D_MAX)
        return false;
    for (const char *at = name; *at; at++)
        back += *at == 'Q';
    char *text = back <= BACK_MAX ? dlang_demangle(name, 0) : NULL;
    const size_t length = text ? strlen(text) : 0;
    const bool fits = length > 0 && length < output->size - output->length;
    if (fits)
        append_bytes(text, length, output);
    free(text);
    return fits;
}

// ---- all of them

static bool take_apart(const char *name, struct output *output) {
    jmp_buf enough;
    output->enough = &enough;
    if (setjmp(enough))
        return false;
    if (take_rust_apart(name, output))
        return true;
    output->length = 0;
    if (take_fortran_apart(name, output) || take_d_apart(name, output))
        return true;
    // Rust's older mangling is also valid C++, with a hash for the last name: first what knows that.
    return rust_demangle_callback(name, DMGL_PARAMS, append_bytes, output) ||
           cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append_bytes, output);
}

size_t demangle(const char *name, char *into, size_t size) {
    static const char STUB[] = "@plt";
    struct output output = {.at = into, .size = size};
    char whole[DEMANGLE_MAX + 1];
    size_t length = name[0] == '_' ? strnlen(name, DEMANGLE_MAX + 1) : 0;
    if (length < 4 || !size || length > DEMANGLE_MAX)
        return 0;
    bool stub = length > sizeof STUB && memcmp(name + length - (sizeof STUB - 1), STUB, sizeof STUB) == 0;
    if (stub) {
        memcpy(whole, name, length);
        whole[length - (sizeof STUB - 1)] = '\0';
    }
    if (!take_apart(stub ? whole : name, &output))
        output.length = 0;
    if (stub && output.length && size - output.length >= sizeof STUB) {
        memcpy(into + output.length, STUB, sizeof STUB - 1);
        output.length += sizeof STUB - 1;
    }
    into[output.length] = '\0';
    return output.length;
}
