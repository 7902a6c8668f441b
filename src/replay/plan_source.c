// SPDX-License-Identifier: Apache-2.0
// How a kernel uses its arguments, from its source: what is only read, or only written. A reader of C that knows
// words and signs, not meanings: if a pointer is used in any way but `p[...]` and `*p`, or a macro may hide its use,
// the answer is both. Source that is not understood (an #include, assembler, C++) gives both for all arguments.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/plan.h"

enum { BOTH = PLAN_READS | PLAN_WRITES, TOKENS_MOST = 1 << 20, MACROS_MOST = 1024, PARAMETERS_MOST = 64 };

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_SIGN };

struct token {
    const char *at;
    uint32_t length;
    uint8_t kind;
    bool hidden; // within the arguments of a macro
};

struct macro {
    const char *name, *body;
    size_t name_length, body_length;
};

struct source {
    struct token *tokens;
    size_t count, capacity;
    struct macro macros[MACROS_MOST];
    size_t macro_count;
    bool unclear;
    size_t parameters[PARAMETERS_MOST]; // tokens: names of those of the kernel; 0: it has none
    size_t parameter_count;
};

// ---- words and signs

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(const struct token *token, const char *word) {
    return token->length == strlen(word) && memcmp(token->at, word, token->length) == 0;
}

static void add_token(struct source *source, enum token_kind kind, const char *at, size_t length) {
    if (source->count == TOKENS_MOST || !ARRAY_RESERVE(source->tokens, source->capacity, source->count + 1)) {
        source->unclear = true;
        return;
    }
    source->tokens[source->count++] = (struct token){at, (uint32_t)length, (uint8_t)kind, false};
}

static void add_macro(struct source *source, const char *at, const char *end) {
    const char *name = at;
    while (at < end && (is_letter(*at) || is_digit(*at)))
        at++;
    if (at == name || source->macro_count == MACROS_MOST) {
        source->unclear = true;
        return;
    }
    source->unclear |= memmem(at, (size_t)(end - at), "##", 2) != NULL;
    source->macros[source->macro_count++] = (struct macro){name, at, (size_t)(at - name), (size_t)(end - at)};
}

static bool begins_with(const char *at, const char *end, const char *word) {
    const size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

// Returns its end: the end of the line that no backslash continues.
static const char *take_directive(struct source *source, const char *at, const char *end) {
    const char *stop = at;
    while (stop < end && (*stop != '\n' || stop[-1] == '\\'))
        stop++;
    for (at++; at < stop && is_space(*at); at++) {
    }
    if (begins_with(at, stop, "define")) {
        for (at += strlen("define"); at < stop && is_space(*at); at++) {
        }
        add_macro(source, at, stop);
    } else if (begins_with(at, stop, "include")) {
        source->unclear = true;
    }
    return stop;
}

static const char *skip_comment(const char *at, const char *end) {
    if (at[1] == '/') {
        while (at < end && *at != '\n')
            at++;
        return at;
    }
    for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/'); at++) {
    }
    return at + 1 < end ? at + 2 : end;
}

static const char *skip_string(const char *at, const char *end) {
    const char quote = *at;
    for (at++; at < end && *at != quote; at++)
        at += *at == '\\' && at + 1 < end;
    return at < end ? at + 1 : end;
}

static size_t sign_length(const char *at, const char *end) {
    static const char *const signs[] = {
        "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "##", "::", "<:", "%:", "??"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (begins_with(at, end, signs[i]))
            return strlen(signs[i]);
    return 1;
}

static void cut_up(struct source *source, const char *at, const char *end) {
    bool line_begins = true;
    while (at < end && !source->unclear) {
        const char *from = at;
        if (is_space(*at)) {
            line_begins |= *at++ == '\n';
            continue;
        }
        if (*at == '/' && at + 1 < end && (at[1] == '/' || at[1] == '*')) {
            at = skip_comment(at, end);
            continue;
        }
        if (*at == '#' && line_begins) {
            at = take_directive(source, at, end);
            continue;
        }
        line_begins = false;
        if (is_letter(*at)) {
            while (at < end && (is_letter(*at) || is_digit(*at)))
                at++;
            add_token(source, TOKEN_WORD, from, (size_t)(at - from));
        } else if (is_digit(*at)) {
            while (at < end && (is_letter(*at) || is_digit(*at) || *at == '.'))
                at++;
            add_token(source, TOKEN_NUMBER, from, (size_t)(at - from));
        } else if (*at == '"' || *at == '\'') {
            at = skip_string(at, end);
            add_token(source, TOKEN_NUMBER, from, (size_t)(at - from));
        } else {
            at += sign_length(at, end);
            add_token(source, TOKEN_SIGN, from, (size_t)(at - from));
        }
    }
}

// ---- macros

// Macros of the build options: -D NAME, -DNAME=BODY, -DNAME(X)=BODY.
static void take_options(struct source *source, const char *options) {
    const char *end = options + strlen(options);
    source->unclear |= strstr(options, "CLC++") != NULL || strstr(options, "-include") != NULL;
    for (const char *at = options; (at = strstr(at, "-D")) != NULL;) {
        for (at += 2; at < end && is_space(*at); at++) {
        }
        const char *stop = at;
        while (stop < end && !is_space(*stop))
            stop++;
        add_macro(source, at, stop);
        at = stop;
    }
}

static bool is_macro(const struct source *source, const struct token *token) {
    for (size_t i = 0; token->kind == TOKEN_WORD && i < source->macro_count; i++)
        if (source->macros[i].name_length == token->length &&
            memcmp(source->macros[i].name, token->at, token->length) == 0)
            return true;
    return false;
}

static bool mentions_word(const char *at, size_t length, const struct token *word) {
    for (size_t i = 0; i + word->length <= length; i++) {
        const size_t after = i + word->length;
        if (memcmp(at + i, word->at, word->length) == 0 &&
            (i == 0 || (!is_letter(at[i - 1]) && !is_digit(at[i - 1]))) &&
            (after == length || (!is_letter(at[after]) && !is_digit(at[after]))))
            return true;
    }
    return false;
}

static size_t closing(const struct source *source, size_t at, size_t end) {
    size_t depth = 0;
    for (; at < end; at++) {
        const struct token *token = &source->tokens[at];
        if (token->kind != TOKEN_SIGN || token->length != 1)
            continue;
        depth += strchr("([{", *token->at) != NULL;
        if (strchr(")]}", *token->at) && --depth == 0)
            return at;
    }
    return end;
}

static void hide_arguments(struct source *source) {
    for (size_t i = 0; i + 1 < source->count; i++) {
        const struct token *token = &source->tokens[i];
        source->unclear |= is_word(token, "##") || is_word(token, "\\") || is_word(token, "<:") ||
                           is_word(token, "%:") || is_word(token, "??") || is_word(token, "::") ||
                           is_word(token, "asm") || is_word(token, "__asm") || is_word(token, "__asm__") ||
                           is_word(token, "template");
        if (!is_macro(source, token) || !is_word(token + 1, "("))
            continue;
        const size_t end = closing(source, i + 1, source->count);
        for (size_t j = i + 1; j < end; j++)
            source->tokens[j].hidden = true;
        i = end > i ? end - 1 : i;
    }
}

// ---- one pointer

static bool ends_value(const struct token *token) {
    return token->kind == TOKEN_NUMBER || is_word(token, ")") || is_word(token, "]") ||
           (token->kind == TOKEN_WORD && !is_word(token, "return") && !is_word(token, "case") &&
            !is_word(token, "else"));
}

static bool is_unary(const struct source *source, size_t at) {
    return at == 0 || !ends_value(&source->tokens[at - 1]);
}

// What follows a value that it is written by: 0 when it is read.
static uint8_t use_by(const struct token *next) {
    static const char *const changes[] = {
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (is_word(next, changes[i]))
            return BOTH;
    if (is_word(next, "="))
        return PLAN_WRITES;
    return next->kind == TOKEN_WORD || is_word(next, "->") || is_word(next, "(") ? BOTH : PLAN_READS;
}

// An image is used by functions whose names tell reading from writing.
static uint8_t image_use(const struct source *source, size_t at, size_t begin) {
    const struct token *tokens = source->tokens;
    if (at < begin + 3 || !is_word(&tokens[at - 1], "(") || is_macro(source, &tokens[at - 2]))
        return BOTH;
    const char *name = tokens[at - 2].at, *end = name + tokens[at - 2].length;
    return begins_with(name, end, "read_image")    ? PLAN_READS
           : begins_with(name, end, "write_image") ? PLAN_WRITES
           : begins_with(name, end, "get_image_")  ? 0
                                                   : BOTH;
}

// The use of a pointer at `at`, in a body that ends at `end`.
static uint8_t use_at(const struct source *source, size_t at, size_t begin, size_t end) {
    const struct token *tokens = source->tokens;
    size_t first = at, next = at + 1;
    if (tokens[at].hidden)
        return BOTH;
    if (is_word(&tokens[next], "[")) {
        while (next < end && (is_word(&tokens[next], "[") || is_word(&tokens[next], ".")))
            next = is_word(&tokens[next], "[") ? closing(source, next, end) + 1 : next + 2;
    } else if (is_word(&tokens[at - 1], "*") && is_unary(source, at - 1)) {
        first = at - 1;
    } else {
        return image_use(source, at, begin);
    }
    for (; next < end && first > begin + 1 && is_word(&tokens[first - 1], "(") && is_word(&tokens[next], ")");
         next++)
        first--;
    if (next >= end || first <= begin)
        return BOTH;
    const struct token *before = &tokens[first - 1];
    if (is_word(before, "++") || is_word(before, "--") || is_macro(source, before) ||
        ((is_word(before, "&") || is_word(before, "*")) && is_unary(source, first - 1)))
        return BOTH;
    if (is_word(&tokens[next], "[") || is_word(&tokens[next], ".")) // of what stands in parentheses
        return BOTH;
    return use_by(&tokens[next]);
}

// ---- which elements

static bool is_same_token(const struct token *a, const struct token *b) {
    return a->length == b->length && memcmp(a->at, b->at, a->length) == 0;
}

// get_global_id(0)
static bool is_item(const struct source *source, size_t at, size_t end) {
    const struct token *tokens = &source->tokens[at];
    return at + 4 <= end && is_word(tokens, "get_global_id") && is_word(tokens + 1, "(") &&
           is_word(tokens + 2, "0") && is_word(tokens + 3, ")");
}

static bool is_type(const struct token *token) {
    return token->kind == TOKEN_WORD && !is_word(token, "return") && !is_word(token, "else") &&
           !is_word(token, "case");
}

// The body of the kernel, and what is added to the number of the work-item: the parameter + 1, 0 where nothing is.
struct body {
    size_t begin, end;
    uint8_t plus;
};

static bool is_in_macro(const struct source *source, const struct token *name) {
    for (size_t i = 0; i < source->macro_count; i++)
        if (mentions_word(source->macros[i].body, source->macros[i].body_length, name))
            return true;
    return false;
}

// Whether the word at this place is one that is only read there.
static bool is_read(const struct source *source, size_t at) {
    const struct token *token = &source->tokens[at], *next = token + 1, *before = token - 1;
    return !is_type(before) && !token->hidden && use_by(next) == PLAN_READS && !is_word(before, "++") &&
           !is_word(before, "--") &&
           !(is_unary(source, at - 1) && (is_word(before, "*") || is_word(before, "&")));
}

// The parameter + 1 that this word is, where the kernel never changes it; 0: it is none.
static uint8_t parameter_of(const struct source *source, const struct token *name, const struct body *body) {
    uint8_t found = 0;
    for (size_t i = 0; i < source->parameter_count; i++)
        if (source->parameters[i] && is_same_token(&source->tokens[source->parameters[i]], name) &&
            !is_word(&source->tokens[source->parameters[i]] - 1, "*"))
            found = (uint8_t)(i + 1);
    if (!found || is_macro(source, name) || is_in_macro(source, name))
        return 0;
    for (size_t i = body->begin + 1; i + 1 < body->end; i++)
        if (source->tokens[i].kind == TOKEN_WORD && is_same_token(&source->tokens[i], name) &&
            !is_read(source, i))
            return 0;
    return found;
}

static bool is_item_variable(const struct source *source, const struct token *name, struct body *body);

// get_global_id(0), or with `variables` one that is it. The number of tokens; 0: it is not.
static size_t item_length(const struct source *source, size_t at, size_t end, bool variables,
                          struct body *body) {
    if (is_item(source, at, end))
        return 4;
    return variables && at < end && source->tokens[at].kind == TOKEN_WORD &&
                   is_item_variable(source, &source->tokens[at], body)
               ? 1
               : 0;
}

// The number of the work-item, or the sum of it and a parameter.
static bool is_item_sum(const struct source *source, size_t from, size_t to, bool variables,
                        struct body *body) {
    const struct token *tokens = source->tokens;
    struct body inner = *body;
    inner.plus = 0;
    size_t length = item_length(source, from, to, variables, &inner);
    uint8_t plus = 0;
    if (length && from + length + 2 == to && is_word(&tokens[from + length], "+"))
        plus = parameter_of(source, &tokens[to - 1], body);
    else if (!length && from + 2 < to && is_word(&tokens[from + 1], "+")) {
        plus = parameter_of(source, &tokens[from], body);
        length = item_length(source, from + 2, to, variables, &inner);
        if (!length || from + 2 + length != to)
            return false;
    } else if (!length || from + length != to)
        return false;
    else
        plus = UINT8_MAX;
    if (!plus || (plus != UINT8_MAX && inner.plus))
        return false;
    body->plus = plus != UINT8_MAX ? plus : inner.plus;
    return true;
}

// A variable that is declared once, as the number of the work-item or such a sum, and never changed.
static bool is_item_variable(const struct source *source, const struct token *name, struct body *body) {
    size_t declared = 0;
    if (is_macro(source, name) || is_in_macro(source, name))
        return false;
    for (size_t i = body->begin + 1; i + 1 < body->end; i++) {
        const struct token *token = &source->tokens[i], *next = token + 1, *before = token - 1;
        if (token->kind != TOKEN_WORD || !is_same_token(token, name) || is_word(before, ".") ||
            is_word(before, "->"))
            continue;
        size_t stop = i;
        while (stop < body->end && !is_word(&source->tokens[stop], ";"))
            stop++;
        if (is_type(before) && is_word(next, "=") && is_item_sum(source, i + 2, stop, false, body))
            declared++;
        else if (!is_read(source, i))
            return false;
    }
    return declared == 1;
}

static bool get_number(const struct token *token, uint64_t *out) {
    *out = 0;
    for (uint32_t i = 0; i < token->length; i++) {
        if (i && strchr("uUlL", token->at[i]))
            continue;
        if (!is_digit(token->at[i]) || *out > UINT32_MAX || (i && token->at[0] == '0'))
            return false;
        *out = *out * 10 + (uint64_t)(token->at[i] - '0');
    }
    return token->length > 0;
}

// Adds the element that the pointer at `at` is used for; false when it is not known which.
static bool add_element(const struct source *source, size_t at, size_t begin, size_t end,
                        struct plan_use *use) {
    struct body body = {begin, end, 0};
    uint64_t number = 0;
    if (is_word(&source->tokens[at + 1], "[")) {
        const size_t from = at + 2, to = closing(source, at + 1, end);
        const struct token *index = &source->tokens[from];
        if (to >= end || is_word(&source->tokens[to + 1], "["))
            return false;
        if (is_item_sum(source, from, to, true, &body)) {
            const bool fits = !use->of_item || use->plus == body.plus;
            use->of_item = true;
            use->plus = body.plus;
            return fits;
        }
        if (to != from + 1 || index->kind != TOKEN_NUMBER || !get_number(index, &number))
            return false;
    }
    const bool none = use->end == use->first;
    use->first = none || number < use->first ? number : use->first;
    use->end = none || number >= use->end ? number + 1 : use->end;
    return true;
}

// Bytes of a scalar or vector of this name; 0: it is none.
static uint8_t type_bytes(const struct token *token) {
    static const struct {
        const char *name;
        uint8_t bytes;
    } types[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2}, {"half", 2},  {"int", 4},
                 {"uint", 4}, {"float", 4}, {"long", 8},  {"ulong", 8},  {"double", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].name);
        uint64_t lanes = 1;
        if (token->length < length || memcmp(token->at, types[i].name, length) != 0)
            continue;
        const struct token digits = {token->at + length, (uint32_t)(token->length - length), TOKEN_NUMBER,
                                     false};
        if (!digits.length || (get_number(&digits, &lanes) && lanes >= 2 && lanes <= 16))
            return (uint8_t)(types[i].bytes * (lanes == 3 ? 4 : lanes));
    }
    return 0;
}

// Bytes of what a parameter points to; 0: not known.
static uint8_t element_bytes_of(const struct source *source, size_t from, size_t name) {
    uint8_t bytes = 0;
    size_t pointers = 0, types = 0;
    for (size_t i = from; i < name; i++) {
        const struct token *token = &source->tokens[i];
        const uint8_t found = type_bytes(token);
        if (is_macro(source, token) || is_word(token, "struct") || is_word(token, "[") || is_word(token, "("))
            return 0;
        pointers += is_word(token, "*");
        types += found != 0;
        bytes = found ? found : bytes;
    }
    return pointers == 1 && types == 1 ? bytes : 0; // "long long" and the like: not known
}

static void find_elements(const struct source *source, size_t from, size_t name, size_t begin, size_t end,
                          struct plan_use *use) {
    const struct token *pointer = &source->tokens[name];
    struct plan_use found = *use;
    found.element = element_bytes_of(source, from, name);
    for (size_t i = 0; i < source->macro_count && found.element; i++)
        if (mentions_word(source->macros[i].body, source->macros[i].body_length, pointer))
            found.element = 0;
    for (size_t i = begin + 1; i < end && found.element; i++) {
        const struct token *token = &source->tokens[i];
        if (token->kind != TOKEN_WORD || !is_same_token(token, pointer) || is_word(token - 1, ".") ||
            is_word(token - 1, "->"))
            continue;
        const bool starred = is_word(token - 1, "*") && is_unary(source, i - 1);
        const bool addressed = is_word(token - 1, "&") && is_unary(source, i - 1);
        if (token->hidden || addressed || (!is_word(token + 1, "[") && !starred) ||
            !add_element(source, i, begin, end, &found))
            found.element = 0;
    }
    if (found.element)
        *use = found;
}

// ---- a parameter

// The first argument of an atomic function: p, p + ..., &p[...].
static bool is_atomic_at(const struct source *source, size_t at) {
    const struct token *tokens = source->tokens;
    const size_t open = is_word(&tokens[at - 1], "&") ? at - 2 : at - 1;
    if (tokens[at].hidden || open < 1 || !is_word(&tokens[open], "(") || is_macro(source, &tokens[open - 1]))
        return false;
    const char *name = tokens[open - 1].at, *end = name + tokens[open - 1].length;
    return (begins_with(name, end, "atomic_") || begins_with(name, end, "atom_")) &&
           !is_word(&tokens[open - 1], "atomic_init");
}

// Whether a pointer is used, and every time by an atomic function.
static bool is_atomic(const struct source *source, const struct token *name, size_t begin, size_t end) {
    size_t count = 0;
    if (is_in_macro(source, name))
        return false;
    for (size_t i = begin + 1; i < end; i++) {
        const struct token *token = &source->tokens[i];
        if (token->kind != TOKEN_WORD || !is_same_token(token, name) || is_word(token - 1, ".") ||
            is_word(token - 1, "->"))
            continue;
        if (!is_atomic_at(source, i))
            return false;
        count++;
    }
    return count > 0;
}

static uint8_t uses_of(const struct source *source, const struct token *name, size_t begin, size_t end) {
    uint8_t uses = 0;
    for (size_t i = 0; i < source->macro_count; i++)
        if (mentions_word(source->macros[i].body, source->macros[i].body_length, name))
            return BOTH;
    for (size_t i = begin + 1; i < end && uses != BOTH; i++) {
        const struct token *token = &source->tokens[i];
        if (token->kind == TOKEN_WORD && token->length == name->length &&
            memcmp(token->at, name->at, name->length) == 0 && !is_word(token - 1, ".") &&
            !is_word(token - 1, "->"))
            uses |= use_at(source, i, begin, end);
    }
    return uses;
}

// ---- the kernel

// Where its parameters open; 0: it is not there, or more than once.
static size_t find_kernel(const struct source *source, const char *kernel) {
    size_t found = 0;
    bool is_kernel = false;
    for (size_t i = 0; i + 1 < source->count; i++) {
        const struct token *token = &source->tokens[i];
        if (is_word(token, ";") || is_word(token, "}") || is_word(token, "{"))
            is_kernel = false;
        is_kernel |= is_word(token, "kernel") || is_word(token, "__kernel");
        if (!is_kernel || !is_word(token, kernel) || !is_word(token + 1, "("))
            continue;
        if (found)
            return 0;
        found = i + 1;
    }
    return found;
}

// Whether what a parameter points to is declared constant.
static bool is_constant(const struct source *source, size_t from, size_t name) {
    bool constant = false, pointer = false;
    for (size_t i = name; i-- > from;) {
        const struct token *token = &source->tokens[i];
        pointer |= is_word(token, "*");
        constant |= is_word(token, "constant") || is_word(token, "__constant") ||
                    (pointer && is_word(token, "const"));
    }
    return constant;
}

// Names of what stands between these parentheses.
static void find_parameters(struct source *source, size_t open, size_t close) {
    size_t name = 0;
    source->parameter_count = 0;
    for (size_t i = open + 1, depth = 0; i <= close && source->parameter_count < PARAMETERS_MOST; i++) {
        const struct token *token = &source->tokens[i];
        depth += is_word(token, "(") || is_word(token, "[");
        if (depth == 0 && token->kind == TOKEN_WORD)
            name = i;
        if (depth == 0 && (is_word(token, ",") || i == close)) {
            source->parameters[source->parameter_count++] = name;
            name = 0;
        }
        depth -= depth && (is_word(token, ")") || is_word(token, "]"));
    }
}

static void find_uses(struct source *source, const char *kernel, struct plan_use *uses, size_t count) {
    const size_t open = find_kernel(source, kernel), close = closing(source, open, source->count);
    size_t body = close + 1, index = 0, name = 0, from = open + 1;
    if (!open || body >= source->count || !is_word(&source->tokens[body], "{"))
        return;
    const size_t end = closing(source, body, source->count);
    find_parameters(source, open, close);
    for (size_t i = open + 1, depth = 0; i <= close && index < count && end < source->count; i++) {
        const struct token *token = &source->tokens[i];
        depth += is_word(token, "(") || is_word(token, "[");
        if (depth == 0 && token->kind == TOKEN_WORD)
            name = i;
        if (depth == 0 && (is_word(token, ",") || i == close)) {
            if (name)
                uses[index].how = uses_of(source, &source->tokens[name], body, end);
            if (name && is_constant(source, from, name))
                uses[index].how &= PLAN_READS;
            if (name)
                find_elements(source, from, name, body, end, &uses[index]);
            uses[index].atomic =
                name && end < source->count && is_atomic(source, &source->tokens[name], body, end);
            index++;
            name = 0;
            from = i + 1;
        }
        depth -= depth && (is_word(token, ")") || is_word(token, "]"));
    }
}

void plan_source_uses(const char *text, size_t length, const char *options, const char *kernel,
                      struct plan_use *uses, size_t count) {
    struct source *source = calloc(1, sizeof *source);
    for (size_t i = 0; i < count; i++)
        uses[i] = (struct plan_use){.how = BOTH};
    if (!source)
        return;
    if (options)
        take_options(source, options);
    cut_up(source, text, text + length);
    hide_arguments(source);
    if (!source->unclear)
        find_uses(source, kernel, uses, count);
    free(source->tokens);
    free(source);
}
