// SPDX-License-Identifier: Apache-2.0
// Which statements can be computed from partials. SQLite has checked the statement before it runs; here only its outline is read: the
// columns of the answer, and GROUP BY.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "query/partial.h"

struct token {
    const char *at;
    size_t length;
    bool is_word, is_quoted;
};

struct tokens {
    struct token *items;
    size_t count, capacity;
};

// Part of the tokens.
struct range {
    const struct token *first;
    size_t count;
};

static bool is_word_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '$' || (byte & 0x80);
}

static const char *skip_space(const char *at) {
    for (;;) {
        if (strchr(" \t\r\n\f", *at) && *at) {
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

// The end of a quoted text or name, in which the quote is written twice.
static const char *skip_quoted(const char *at) {
    const char quote = *at == '[' ? ']' : *at;
    for (at++; *at; at++)
        if (*at == quote) {
            if (at[1] != quote || quote == ']')
                return at + 1;
            at++;
        }
    return at;
}

static bool read_tokens(const char *sql, struct tokens *tokens) {
    for (const char *at = skip_space(sql), *end; *at; at = skip_space(end)) {
        struct token *token = ARRAY_PUSH(tokens->items, tokens->count, tokens->capacity);
        if (!token)
            return false;
        *token = (struct token){.at = at};
        token->is_quoted = strchr("'\"`[", *at) != NULL; // not at the end
        token->is_word = is_word_byte(*at);
        end = at + 1;
        if (token->is_quoted)
            end = skip_quoted(at);
        else if (token->is_word)
            while (is_word_byte(*end) || (*end == '.' && *at >= '0' && *at <= '9'))
                end++;
        token->length = (size_t)(end - at);
    }
    while (tokens->count && tokens->items[tokens->count - 1].at[0] == ';')
        tokens->count--;
    return true;
}

static bool is_token(const struct token *token, const char *text) {
    return token->length == strlen(text) && strncasecmp(token->at, text, token->length) == 0;
}

static bool is_one_of(const struct token *token, const char *const *words) {
    for (; token->is_word && *words; words++)
        if (is_token(token, *words))
            return true;
    return false;
}

static bool is_same(struct range left, struct range right) {
    for (size_t i = 0; left.count == right.count && i < left.count; i++)
        if (left.first[i].length != right.first[i].length ||
            (left.first[i].is_quoted ? strncmp : strncasecmp)(left.first[i].at, right.first[i].at,
                                                              left.first[i].length) != 0)
            return false;
    return left.count == right.count;
}

// The tokens up to `separator` outside of parentheses, taken off `rest`.
static struct range split_at(struct range *rest, const char *separator) {
    size_t depth = 0, i = 0;
    for (; i < rest->count; i++) {
        const char byte = rest->first[i].at[0];
        if (!depth && is_token(&rest->first[i], separator))
            break;
        depth += byte == '(';
        depth -= byte == ')' && depth;
    }
    const struct range part = {rest->first, i};
    rest->first += i + (i < rest->count);
    rest->count -= i + (i < rest->count);
    return part;
}

static tsmith_status refuse_statement(tsmith_error *error, const char *why, const struct token *token) {
    return status_set(
        error, TSMITH_ERROR_UNSUPPORTED,
        "a partial of this statement cannot be made: %s%s%.*s. Run it on each trace without --partial.", why,
        token ? " " : "", token ? (int)token->length : 0, token ? token->at : "");
}

// ---- columns

static const struct {
    const char *name;
    enum partial_kind kind;
} AGGREGATES[] = {{"count", PARTIAL_COUNT},       {"sum", PARTIAL_SUM},
                  {"total", PARTIAL_TOTAL},       {"avg", PARTIAL_AVG},
                  {"min", PARTIAL_MIN},           {"max", PARTIAL_MAX},
                  {"median", PARTIAL_PERCENTILE}, {"percentile", PARTIAL_PERCENTILE}};
static const char *const OTHER_AGGREGATES[] = {
    "stddev", "group_concat", "string_agg", "json_group_array", "json_group_object", "count",
    "sum",    "total",        "avg",        "median",           "percentile",        NULL};

// The end of the parenthesis that begins at `open`; the count if there is none.
static size_t closing(struct range range, size_t open) {
    size_t depth = 0;
    for (size_t i = open; i < range.count; i++) {
        depth += range.first[i].at[0] == '(';
        if (range.first[i].at[0] == ')' && --depth == 0)
            return i;
    }
    return range.count;
}

// Tokens of a range; the statement may end where a parenthesis is missing.
static struct range inner(struct range range, size_t from, size_t to) {
    to = to < range.count ? to : range.count;
    from = from < to ? from : to;
    return (struct range){range.first + from, to - from};
}

// An aggregate inside of an expression that is none itself; min and max of one argument are aggregates.
static const struct token *find_aggregate(struct range range) {
    static const char *const EXTREMA[] = {"min", "max", NULL};
    for (size_t i = 0; i + 1 < range.count; i++) {
        if (range.first[i + 1].at[0] != '(')
            continue;
        struct range arguments = inner(range, i + 2, closing(range, i + 1));
        if (is_one_of(&range.first[i], OTHER_AGGREGATES) ||
            (is_one_of(&range.first[i], EXTREMA) && split_at(&arguments, ",").count && !arguments.count))
            return &range.first[i];
    }
    return NULL;
}

static struct range without_alias(struct range item) {
    for (size_t i = 1, depth = 0; i < item.count; i++) {
        depth += item.first[i - 1].at[0] == '(';
        depth -= item.first[i - 1].at[0] == ')' && depth;
        if (!depth && is_token(&item.first[i], "as"))
            return inner(item, 0, i);
    }
    return item;
}

static char *copy_text(struct range range) {
    const struct token *last = range.count ? &range.first[range.count - 1] : NULL;
    return last ? strndup(range.first->at, (size_t)(last->at + last->length - range.first->at)) : strdup("");
}

// The alias, without quotes, or the text.
static char *column_name(struct range item, struct range expression) {
    struct range alias = inner(item, expression.count, item.count);
    if (alias.count && is_token(alias.first, "as"))
        alias = inner(alias, 1, alias.count);
    if (!alias.count)
        return copy_text(expression);
    char *name = copy_text(alias);
    if (name && alias.first->is_quoted && strlen(name) >= 2) {
        memmove(name, name + 1, strlen(name) - 2);
        name[strlen(name) - 2] = '\0';
    }
    return name;
}

// An aggregate that is a column of its own; `expression` becomes its tokens, without an alias. KEY if it is none.
static enum partial_kind read_aggregate(struct range item, struct range *expression) {
    if (item.count < 3 || item.first[1].at[0] != '(' || !item.first[0].is_word)
        return PARTIAL_KEY;
    const size_t end = closing(item, 1);
    struct range rest = inner(item, end + (end < item.count), item.count);
    if (rest.count && is_token(rest.first, "as"))
        rest = inner(rest, 1, rest.count);
    if (rest.count > 1 || (rest.count && !rest.first->is_word && !rest.first->is_quoted))
        return PARTIAL_KEY; // FILTER, OVER, an operator
    *expression = inner(item, 0, end + 1);
    for (size_t i = 0; i < sizeof AGGREGATES / sizeof *AGGREGATES; i++)
        if (is_token(item.first, AGGREGATES[i].name))
            return AGGREGATES[i].kind;
    return PARTIAL_KEY;
}

static tsmith_status write_aggregate(struct range expression, struct partial_column *column, FILE *out,
                                     tsmith_error *error) {
    struct range rest = inner(expression, 2, expression.count - 1);
    struct range argument = split_at(&rest, ",");
    const struct token *within = find_aggregate(argument);
    const bool is_percentile = is_token(expression.first, "percentile");
    column->percent = 50;
    if (within)
        return refuse_statement(error, "an aggregate cannot contain", within);
    if (argument.count && is_token(argument.first, "distinct"))
        return refuse_statement(error, "it needs all values for", argument.first);
    if (is_percentile && rest.count == 1)
        column->percent = strtod(rest.first->at, NULL);
    if (rest.count != (size_t)is_percentile || (!argument.count && column->kind != PARTIAL_COUNT) ||
        !(column->percent >= 0 && column->percent <= 100))
        return refuse_statement(error, "these are not the arguments of", expression.first);
    char *text = copy_text(argument);
    const bool is_every = !argument.count || is_token(argument.first, "*");
    fprintf(out, "partial_state(%d,(%s))", (int)column->kind, is_every ? "1" : text ? text : "");
    free(text);
    return TSMITH_OK;
}

static tsmith_status write_key(struct range item, FILE *out, tsmith_error *error) {
    const struct token *within = find_aggregate(item);
    if (within)
        return refuse_statement(error, "a column must be an aggregate and nothing else, and here is", within);
    char *text = copy_text(item);
    fputs(text ? text : "", out);
    free(text);
    return TSMITH_OK;
}

// ---- GROUP BY

// Whether an expression of GROUP BY is this column: by its text, its name or its number.
static bool is_grouped(struct range by, struct range item, const char *name, size_t number) {
    char text[24];
    struct range expression = without_alias(item);
    const int length = snprintf(text, sizeof text, "%zu", number);
    if (is_same(by, expression))
        return true;
    if (by.count != 1)
        return false;
    const size_t quote = by.first->is_quoted && by.first->length >= 2;
    return (by.first->length - 2 * quote == strlen(name) &&
            strncasecmp(by.first->at + quote, name, strlen(name)) == 0) ||
           (by.first->length == (size_t)length && memcmp(by.first->at, text, by.first->length) == 0);
}

// Every key is grouped by, and everything that is grouped by is a key: otherwise groups of two traces cannot be told apart.
static tsmith_status check_groups(struct range items, struct range groups, const struct partial_plan *plan,
                                  tsmith_error *error) {
    size_t keys = 0, found = 0;
    struct range left = groups;
    for (size_t i = 0; i < plan->count; i++)
        keys += plan->columns[i].kind == PARTIAL_KEY;
    while (left.count) {
        const struct range by = split_at(&left, ",");
        bool known = false;
        struct range rest = items;
        for (size_t i = 0; i < plan->count && !known; i++) {
            const struct range item = split_at(&rest, ",");
            known =
                plan->columns[i].kind == PARTIAL_KEY && is_grouped(by, item, plan->columns[i].name, i + 1);
        }
        if (!known)
            return refuse_statement(
                error, "GROUP BY has something that is no column of the answer:", by.count ? by.first : NULL);
        found++;
    }
    if (found == keys && plan->count > keys)
        return TSMITH_OK;
    return refuse_statement(error,
                            found == keys ? "it has no aggregate"
                                          : "a column is neither an aggregate nor an expression of GROUP BY",
                            NULL);
}

// ---- the statement

static tsmith_status write_columns(struct range items, struct partial_plan *plan, FILE *out,
                                   tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    fputs("SELECT ", out);
    while (items.count && status == TSMITH_OK) {
        const struct range item = split_at(&items, ",");
        struct range expression = without_alias(item);
        struct partial_column *column = ARRAY_PUSH(plan->columns, plan->count, plan->capacity);
        if (!column)
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a statement");
        *column = (struct partial_column){.kind = read_aggregate(item, &expression)};
        column->name = column_name(item, expression);
        if (plan->count > 1)
            fputs(", ", out);
        status = column->kind == PARTIAL_KEY ? write_key(item, out, error)
                                             : write_aggregate(expression, column, out, error);
    }
    return status;
}

// Whether a space between two tokens has no meaning; of others one is kept.
static bool joins(const struct token *left, const struct token *right) {
    return strchr("(.,", left->at[0]) || strchr("),.", right->at[0]) ||
           (right->at[0] == '(' && left->is_word);
}

static char *write_text(const struct tokens *tokens) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; out && i < tokens->count; i++) {
        const struct token *token = &tokens->items[i], *left = i ? token - 1 : NULL;
        if (left && left->at + left->length != token->at && !joins(left, token))
            fputc(' ', out);
        for (size_t k = 0; k < token->length; k++) {
            const char byte = token->at[k];
            fputc(!token->is_quoted && byte >= 'A' && byte <= 'Z' ? byte + 32 : byte, out);
        }
        if (token->at[0] == ',')
            fputc(' ', out);
    }
    if (out && fclose(out) == 0)
        return text;
    return NULL;
}

static tsmith_status check_words(const struct tokens *tokens, tsmith_error *error) {
    static const char *const REFUSED[] = {"having", "order", "limit",   "union",  "intersect", "except",
                                          "window", "with",  "explain", "create", NULL};
    if (!tokens->count || !is_token(&tokens->items[0], "select"))
        return refuse_statement(error, "it is no SELECT", NULL);
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->items[i].at[0] == ';')
            return refuse_statement(error, "it is more than one statement", NULL);
        if (i && is_token(&tokens->items[i], "select"))
            return refuse_statement(error, "a SELECT within it sees one trace only", NULL);
        if (i == 1 && is_token(&tokens->items[i], "distinct"))
            return refuse_statement(error, "it needs all values for", &tokens->items[i]);
        if (is_one_of(&tokens->items[i], REFUSED))
            return refuse_statement(error, "it has", &tokens->items[i]);
    }
    return TSMITH_OK;
}

tsmith_status partial_plan_make(const char *sql, struct partial_plan *plan, tsmith_error *error) {
    struct tokens tokens = {0};
    size_t size;
    *plan = (struct partial_plan){0};
    FILE *out = open_memstream(&plan->sql, &size);
    tsmith_status status =
        out && read_tokens(sql, &tokens)
            ? check_words(&tokens, error)
            : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a statement");
    if (status == TSMITH_OK) {
        struct range rest = {tokens.items + 1, tokens.count - 1};
        const struct range items = split_at(&rest, "from"), from = split_at(&rest, "group");
        struct range groups = rest;
        if (groups.count && is_token(groups.first, "by"))
            groups = inner(groups, 1, groups.count);
        status = write_columns(items, plan, out, error);
        if (status == TSMITH_OK)
            status = check_groups(items, groups, plan, error);
        if (status == TSMITH_OK && from.count)
            fprintf(out, " FROM %.*s",
                    (int)(tokens.items[tokens.count - 1].at + tokens.items[tokens.count - 1].length -
                          from.first->at),
                    from.first->at);
        plan->text = write_text(&tokens);
    }
    if (out && fclose(out) != 0 && status == TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a statement");
    free(tokens.items);
    if (status != TSMITH_OK)
        partial_plan_finish(plan);
    return status;
}

void partial_plan_finish(struct partial_plan *plan) {
    for (size_t i = 0; i < plan->count; i++)
        free(plan->columns[i].name);
    free(plan->columns);
    free(plan->sql);
    free(plan->text);
    *plan = (struct partial_plan){0};
}
