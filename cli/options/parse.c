// SPDX-License-Identifier: Apache-2.0
// Understanding a command line by the table, and saying what is wrong with it.
#include "command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/present/terminal.h"

const struct option *command_option(const struct command *command, const char *name) {
    for (const struct option *option = command->options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return option;
    return NULL;
}

const char *invocation_value(const struct invocation *invocation, const char *name) {
    const struct option *option = command_option(invocation->command, name);
    assert(option);
    return option ? invocation->values[option - invocation->command->options] : NULL;
}

const char *invocation_next(const struct invocation *invocation, const char *name, size_t *cursor) {
    while (*cursor < invocation->repeated_count) {
        const size_t at = (*cursor)++;
        if (strcmp(invocation->repeated[at].option->name, name) == 0)
            return invocation->repeated[at].value;
    }
    return NULL;
}

// ---- the nearest name

enum { NAME_MAX_LENGTH = 32 };

// Edit distance with swapped neighbors counted once (optimal string alignment).
static size_t distance(const char *a, const char *b) {
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        size_t *above = rows[(i + 2) % 3];
        size_t *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *nearest(const char *wrong, const char *(*name_at)(size_t index)) {
    const char *best = NULL;
    size_t best_distance = 0;
    for (size_t i = 0; name_at(i); i++) {
        const char *name = name_at(i);
        size_t away = distance(wrong, name);
        // What begins like it is near: "bench", "time".
        if (strlen(wrong) >= 3 && strncmp(wrong, name, strlen(wrong)) == 0)
            away = 1;
        if (away <= 1 + strlen(name) / 4 && (!best || away < best_distance)) {
            best = name;
            best_distance = away;
        }
    }
    return best;
}

// ---- options

// The options of the command being parsed, for nearest().
static const struct command *parsing;

static const char *option_name_at(size_t index) {
    for (const struct option *option = parsing->options; option->name; option++)
        if (index-- == 0)
            return option->name;
    for (const struct option *option = global_options; option->name; option++)
        if (index-- == 0)
            return option->name;
    return NULL;
}

static void complain_unknown(const char *word, size_t name_length) {
    char name[NAME_MAX_LENGTH + 1] = "";
    if (word[1] == '-' && name_length < sizeof name)
        memcpy(name, word + 2, name_length);
    const char *near = *name ? nearest(name, option_name_at) : NULL;
    if (near)
        complain("%s: unknown option '%s'; did you mean '--%s'?", parsing->name, word, near);
    else
        complain("%s: unknown option '%s'; see 'tracesmith help %s'", parsing->name, word, parsing->name);
}

static const struct option *find_in(const struct option *options, const char *word, size_t name_length) {
    for (; options->name; options++) {
        if (word[1] == '-' && strlen(options->name) == name_length &&
            memcmp(options->name, word + 2, name_length) == 0)
            return options;
        if (word[1] != '-' && options->letter && options->letter == word[1])
            return options;
    }
    return NULL;
}

static bool check_words(const struct option *option, const char *value) {
    return !option->word || option_each_word(option, value, NULL, NULL);
}

static void apply_global(const struct option *option, struct invocation *out) {
    if (strcmp(option->name, "help") == 0)
        out->help = true;
    else if (strcmp(option->name, "no-color") == 0)
        terminal_no_color();
    else if (strcmp(option->name, "no-cache") == 0)
        out->no_cache = true;
    else
        out->version = true;
}

// One word that begins with a dash; `next` is the word after it. *took_next: that was its value.
static bool parse_option(const char *word, const char *next, struct invocation *out, bool *took_next) {
    bool is_long = word[1] == '-';
    const char *equals = is_long ? strchr(word, '=') : NULL;
    size_t name_length = !is_long ? 1 : equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    const char *attached = equals ? equals + 1 : !is_long && word[2] ? word + 2 : NULL;
    const struct option *option = find_in(parsing->options, word, name_length);
    const struct option *global = option ? NULL : find_in(global_options, word, name_length);
    if (!option && !global) {
        complain_unknown(word, name_length);
        return false;
    }
    if (!(option ? option : global)->argument && attached) {
        complain("option '%s' takes no value", word);
        return false;
    }
    if (global) {
        apply_global(global, out);
        return true;
    }
    if (option->optional && !attached) {
        attached = "";
        out->bare_option = option;
        out->bare_word = next;
    }
    if (option->argument && !attached) {
        attached = next;
        *took_next = true;
        out->took_option = option;
        out->took_word = next;
    }
    if (option->argument && !attached) {
        complain("option '%s' needs a value: %s", word, option->argument);
        return false;
    }
    if (option->argument && !*attached && (option->kind == VALUE_FILE || option->kind == VALUE_TRACE)) {
        complain("option '%s' needs the name of a file", word);
        return false;
    }
    if (option->repeated && out->repeated_count == REPEATED_MAX) {
        complain("option '%s' may be given at most %d times", word, REPEATED_MAX);
        return false;
    }
    if (option->repeated) {
        out->repeated[out->repeated_count].option = option;
        out->repeated[out->repeated_count++].value = attached;
    }
    const char **value = &out->values[option - parsing->options];
    if (option->list && !option->repeated && *value) {
        complain("option '%s' is given twice; separate its values by commas", word);
        return false;
    }
    *value = option->argument ? attached : "";
    return !option->argument || (option->optional && !*attached) || check_words(option, attached);
}

bool command_reads_stdin_once(const struct command *command, size_t count) {
    if (count < 2)
        return true;
    complain("%s: standard input ('-') is named %zu times, but can be read only once; name files or named "
             "pipes instead",
             command->name, count);
    return false;
}

// query has a message of its own, because the second one may be the SQL.
static bool has_one_stdin(const struct invocation *out) {
    size_t count = 0;
    for (size_t i = 0; i < out->operand_count; i++)
        count += strcmp(out->operands[i], "-") == 0;
    const bool is_query = out->operand_count == 2 && strcmp(out->command->name, "query") == 0;
    return out->command->operand_kind != VALUE_TRACE || is_query ||
           command_reads_stdin_once(out->command, count);
}

const char *invocation_hint(const struct invocation *invocation, char *room, size_t size) {
    const char *word = invocation->bare_word;
    bool is_operand = false;
    for (size_t i = 0; i < invocation->operand_count; i++)
        is_operand |= invocation->operands[i] == word;
    const int length = is_operand
                           ? snprintf(room, size, "; if '%s' is the value of --%s, write --%s=%s", word,
                                      invocation->bare_option->name, invocation->bare_option->name, word)
                           : -1;
    return length > 0 && (size_t)length < size ? room : "";
}

static bool check_operands(const struct invocation *out) {
    const struct command *command = out->command;
    char hint[256];
    if (out->help || out->version)
        return true;
    if (out->operand_count < command->operands_least) {
        if (out->took_word)
            complain("%s needs %s ('%s' was taken as the value of --%s); see 'tracesmith help %s'",
                     command->name, command->operands, out->took_word, out->took_option->name, command->name);
        else
            complain("%s needs %s; see 'tracesmith help %s'", command->name, command->operands,
                     command->name);
        return false;
    }
    if (out->operand_count > command->operands_most) {
        complain("%s: unexpected argument '%s'%s; see 'tracesmith help %s'", command->name,
                 out->operands[command->operands_most], invocation_hint(out, hint, sizeof hint),
                 command->name);
        return false;
    }
    return has_one_stdin(out);
}

bool command_parse(const struct command *command, char **words, struct invocation *out) {
    *out = (struct invocation){.command = command, .operands = words, .operands_before_dashes = SIZE_MAX};
    parsing = command;
    bool only_operands = false;
    size_t count = 0;
    char **at = words;
    while (*at) {
        char *word = *at++;
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            out->operands_before_dashes = count;
        } else if (!only_operands && word[0] == '-' && word[1]) {
            bool took_next = false;
            if (!parse_option(word, *at, out, &took_next))
                return false;
            at += took_next;
        } else {
            words[count++] = word;
            // What follows the program's name is the program's.
            only_operands = only_operands || command->operand_kind == VALUE_PROGRAM;
        }
    }
    words[count] = NULL;
    out->operand_count = count;
    return check_operands(out);
}

// ---- lists of words

static const struct option *choosing;

static const char *choice_at(size_t index) {
    return choosing->word(index);
}

static bool find_word(const struct option *option, const char *word, size_t length, size_t *out) {
    for (size_t i = 0; option->word(i); i++) {
        if (strlen(option->word(i)) == length && memcmp(option->word(i), word, length) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static void complain_word(const struct option *option, const char *word, size_t length) {
    struct text all = {0};
    char name[NAME_MAX_LENGTH + 1] = "";
    if (length < sizeof name)
        memcpy(name, word, length);
    choosing = option;
    const char *near = nearest(name, choice_at);
    for (size_t i = 0; option->word(i); i++) {
        text_add_cstr(&all, i ? ", " : "");
        text_add_cstr(&all, option->word(i));
    }
    if (near)
        complain("--%s: unknown value '%.*s'; did you mean '%s'?", option->name, (int)length, word, near);
    else
        complain("--%s: unknown value '%.*s'; must be one of %s", option->name, (int)length, word,
                 text_cstr(&all));
    text_finish(&all);
}

bool option_each_word(const struct option *option, const char *list,
                      void (*each)(void *context, size_t index), void *context) {
    for (const char *at = list;;) {
        size_t length = strcspn(at, option->list ? "," : option->assigned ? "=" : "");
        size_t index;
        if (!find_word(option, at, length, &index)) {
            complain_word(option, at, length);
            return false;
        }
        if (each)
            each(context, index);
        if (!at[length] || option->assigned)
            return true;
        at += length + 1;
    }
}
