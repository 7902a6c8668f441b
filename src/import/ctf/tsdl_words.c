// SPDX-License-Identifier: Apache-2.0
// The words of TSDL: names, numbers, strings and symbols. tsdl_types.c and tsdl.c call it.
#include <stdlib.h>
#include <string.h>

#include "import/ctf/tsdl.h"

bool tsdl_fail(struct tsdl *tsdl, const char *problem) {
    if (!tsdl->problem) {
        tsdl->problem = problem;
        tsdl->problem_at = tsdl->token.text.at;
    }
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void skip_space(struct tsdl *tsdl) {
    const char *at = tsdl->at, *const end = tsdl->end;
    for (;;) {
        while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
            at++;
        if (end - at < 2 || at[0] != '/' || (at[1] != '*' && at[1] != '/'))
            break;
        if (at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line : end;
            continue;
        }
        for (at += 2; end - at >= 2 && (at[0] != '*' || at[1] != '/');)
            at++;
        at = end - at >= 2 ? at + 2 : end;
    }
    tsdl->at = at;
}

static int digit_of(char c) {
    return is_digit(c)              ? c - '0'
           : (c >= 'a' && c <= 'f') ? c - 'a' + 10
           : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                    : 99;
}

static void read_number(struct tsdl *tsdl, struct tsdl_token *token) {
    const char *at = tsdl->at;
    int base = 10;
    bool good = true;
    if (at[0] == '0' && tsdl->end - at > 1) {
        base = at[1] == 'x' || at[1] == 'X' ? 16 : at[1] == 'b' || at[1] == 'B' ? 2 : 8;
        at += base == 8 ? 0 : 2;
    }
    const char *const first = at;
    for (; at < tsdl->end && digit_of(*at) < base; at++)
        good = good && !__builtin_mul_overflow(token->number, (uint64_t)base, &token->number) &&
               !__builtin_add_overflow(token->number, (uint64_t)digit_of(*at), &token->number);
    good = good && at > first;
    while (at < tsdl->end && strchr("uUlL", *at) && *at)
        at++;
    tsdl->at = at;
    token->word = TSDL_NUMBER;
    if (!good || (at < tsdl->end && (is_letter(*at) || is_digit(*at))))
        (void)tsdl_fail(tsdl, "a number cannot be read");
}

static void read_string(struct tsdl *tsdl, struct tsdl_token *token) {
    const char *at = tsdl->at + 1;
    while (at < tsdl->end && *at != '"' && *at != '\n')
        at += *at == '\\' && tsdl->end - at > 1 ? 2 : 1;
    token->word = TSDL_STRING;
    token->text = (struct tsdl_text){tsdl->at + 1, (size_t)(at - tsdl->at - 1)};
    if (at >= tsdl->end || *at != '"')
        (void)tsdl_fail(tsdl, "a string does not end");
    tsdl->at = at < tsdl->end ? at + 1 : tsdl->end;
}

static void read_symbol(struct tsdl *tsdl, struct tsdl_token *token) {
    static const struct {
        const char *text;
        int symbol;
    } longer[] = {{":=", TSDL_ASSIGN}, {"...", TSDL_ELLIPSIS}, {"->", TSDL_ARROW}};
    token->word = TSDL_SYMBOL;
    token->symbol = (unsigned char)*tsdl->at;
    token->text.length = 1;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        const size_t length = strlen(longer[i].text);
        if ((size_t)(tsdl->end - tsdl->at) >= length && memcmp(tsdl->at, longer[i].text, length) == 0) {
            token->symbol = longer[i].symbol;
            token->text.length = length;
        }
    }
    tsdl->at += token->text.length;
}

void tsdl_next(struct tsdl *tsdl) {
    skip_space(tsdl);
    const char *const from = tsdl->at;
    tsdl->token = (struct tsdl_token){.word = TSDL_END, .text = {from, 0}};
    if (tsdl->problem || from >= tsdl->end)
        return;
    if (*from == '"' || (*from == 'L' && tsdl->end - from > 1 && from[1] == '"')) {
        tsdl->at += *from == 'L';
        read_string(tsdl, &tsdl->token);
    } else if (is_letter(*from)) {
        while (tsdl->at < tsdl->end && (is_letter(*tsdl->at) || is_digit(*tsdl->at)))
            tsdl->at++;
        tsdl->token.word = TSDL_NAME;
        tsdl->token.text.length = (size_t)(tsdl->at - from);
    } else if (is_digit(*from)) {
        read_number(tsdl, &tsdl->token);
    } else {
        read_symbol(tsdl, &tsdl->token);
    }
    if (tsdl->token.word == TSDL_NAME && tsdl->token.text.length >= TSDL_NAME_MAX)
        (void)tsdl_fail(tsdl, "a name has more than 255 bytes");
}

bool tsdl_is_symbol(const struct tsdl *tsdl, int symbol) {
    return tsdl->token.word == TSDL_SYMBOL && tsdl->token.symbol == symbol;
}

bool tsdl_text_is(struct tsdl_text text, const char *known) {
    return text.length == strlen(known) && memcmp(text.at, known, text.length) == 0;
}

bool tsdl_is_name(const struct tsdl *tsdl, const char *name) {
    return tsdl->token.word == TSDL_NAME && tsdl_text_is(tsdl->token.text, name);
}

bool tsdl_accept(struct tsdl *tsdl, int symbol) {
    if (!tsdl_is_symbol(tsdl, symbol))
        return false;
    tsdl_next(tsdl);
    return true;
}

bool tsdl_expect(struct tsdl *tsdl, int symbol, const char *problem) {
    return tsdl_accept(tsdl, symbol) || tsdl_fail(tsdl, problem);
}

bool tsdl_number(struct tsdl *tsdl, int64_t *out) {
    const bool negative = tsdl_accept(tsdl, '-');
    if (!negative)
        (void)tsdl_accept(tsdl, '+');
    if (tsdl->token.word != TSDL_NUMBER)
        return tsdl_fail(tsdl, "there is no number where one is needed");
    *out = (int64_t)(negative ? 0 - tsdl->token.number : tsdl->token.number);
    tsdl_next(tsdl);
    return true;
}

// The character that stands behind a backslash, and the bytes that it takes.
static char unescape(const char *at, size_t left, size_t *used) {
    static const char letters[] = "abfnrtv", meant[] = "\a\b\f\n\r\t\v";
    const char *found = *at ? strchr(letters, *at) : NULL;
    unsigned value = 0;
    *used = 1;
    if (found)
        return meant[found - letters];
    if (*at == 'x') {
        for (; *used < 3 && *used < left && digit_of(at[*used]) < 16; ++*used)
            value = value * 16 + (unsigned)digit_of(at[*used]);
        return (char)value;
    }
    if (digit_of(*at) >= 8)
        return *at;
    for (*used = 0; *used < 3 && *used < left && digit_of(at[*used]) < 8; ++*used)
        value = value * 8 + (unsigned)digit_of(at[*used]);
    return (char)value;
}

uint32_t tsdl_string(struct tsdl *tsdl) {
    const struct tsdl_text text = tsdl->token.text;
    if (!memchr(text.at, '\\', text.length))
        return tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, text.at, text.length);
    char *plain = malloc(text.length + 1);
    size_t length = 0;
    tsdl->ctf->rows.failed |= !plain;
    for (size_t i = 0; plain && i < text.length;) {
        size_t used = 0;
        if (text.at[i] == '\\' && i + 1 < text.length) {
            plain[length++] = unescape(text.at + i + 1, text.length - i - 1, &used);
            i += 1 + used;
        } else {
            plain[length++] = text.at[i++];
        }
    }
    const uint32_t id = plain ? tsmith_dictionary_intern(tsdl->ctf->rows.dictionary, plain, length) : 0;
    free(plain);
    return id;
}
