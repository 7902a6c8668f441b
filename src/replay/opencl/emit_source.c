// SPDX-License-Identifier: Apache-2.0
// What the source of a kernel says of its parameters, where the recording does not: the type of their elements, and which of
// them are only read. A driver that has forgotten the types is no help to the program. Called by emit_commands.c.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "replay/compare.h"
#include "replay/opencl/emit.h"
#include "replay/plan.h"

enum { WORD = 64 };

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *skip_spaces(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

// Behind the parenthesis of "void NAME("; NULL: it is not found.
static const char *find_parameters(const char *source, const char *end, const char *kernel) {
    const size_t length = strlen(kernel);
    for (const char *at = source; (at = memmem(at, (size_t)(end - at), kernel, length)) != NULL;
         at += length) {
        const char *open = skip_spaces(at + length, end), *before = at;
        while (before > source && strchr(" \t\r\n", before[-1]))
            before--;
        if (open < end && *open == '(' && before - source > 4 && before != at &&
            memcmp(before - 4, "void", 4) == 0)
            return open + 1;
    }
    return NULL;
}

static bool is_qualifier(const char *word) {
    static const char *const words[] = {"global",   "constant", "local",     "private",    "const",
                                        "restrict", "volatile", "read_only", "read_write", "write_only"};
    while (*word == '_')
        word++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

// The type at the beginning of a parameter, without qualifiers: "unsigned int".
static tsmith_element element_of(const char *at, const char *end) {
    char type[2 * WORD] = "";
    for (;;) {
        char word[WORD] = "";
        size_t length = 0;
        at = skip_spaces(at, end);
        for (; at < end && is_word(*at); at++)
            if (length + 1 < sizeof word)
                word[length++] = *at;
        if (!length)
            return TSMITH_ELEMENT_U8;
        if (is_qualifier(word))
            continue;
        const bool unfinished = strcmp(word, "unsigned") == 0 || strcmp(word, "signed") == 0;
        if (strcmp(word, "signed") != 0)
            snprintf(type + strlen(type), sizeof type - strlen(type), unfinished ? "%s " : "%s*", word);
        if (!unfinished)
            return element_of_type(type);
    }
}

static void take_types(struct emit_kernel *kernel, const char *source, const char *end) {
    const char *at = find_parameters(source, end, kernel->name);
    for (size_t i = 0; at && i < kernel->parameter_count; i++) {
        int depth = 0;
        const char *begin = at;
        for (; at < end && (depth || (*at != ',' && *at != ')')); at++)
            depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        kernel->parameters[i].element = element_of(begin, at);
        at = at < end && *at == ',' ? at + 1 : NULL;
    }
}

void emit_read_source(struct emit *emit, struct emit_kernel *kernel) {
    const struct emit_program *program = &emit->programs[kernel->program];
    const struct recording_record *record = &emit->process->records[program->record];
    if (kernel->parameters || !kernel->argument_count)
        return;
    kernel->parameters = calloc(kernel->argument_count, sizeof *kernel->parameters);
    struct plan_use *uses = calloc(kernel->argument_count, sizeof *uses);
    emit->failed |= !kernel->parameters || !uses;
    kernel->parameter_count = kernel->argument_count;
    size_t size = 0;
    uint8_t *source = !emit->failed && record->type == RECORDING_PROGRAM &&
                              recording_value(record, RECORDING_KEY_FORM) == RECORDING_PROGRAM_SOURCE
                          ? recording_payload(emit->recording, record, &size)
                          : NULL;
    if (source) {
        const char *options =
            program->build ? recording_text(emit->recording, &emit->process->records[program->build - 1],
                                            RECORDING_KEY_TEXT)
                           : NULL;
        plan_source_uses((const char *)source, size, options, kernel->name, uses, kernel->argument_count);
        for (size_t i = 0; i < kernel->argument_count; i++)
            kernel->parameters[i].constant = !(uses[i].how & PLAN_WRITES);
        take_types(kernel, (const char *)source, (const char *)source + size);
    }
    free(source);
    free(uses);
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
