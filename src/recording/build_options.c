// SPDX-License-Identifier: Apache-2.0
// Parses the include folders among a program's build options. The recorder and the replay call it.
#include "recording/build_options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Behind the word that begins at `at`: blanks between quotes are a part of it.
static const char *word_end(const char *at) {
    char quote = 0;
    for (; *at && (quote || !is_space(*at)); at++)
        if (quote ? *at == quote : *at == '"' || *at == '\'')
            quote = quote ? 0 : *at;
    return at;
}

static const char *skip_spaces(const char *at) {
    while (is_space(*at))
        at++;
    return at;
}

bool build_option_next(const char **options, struct build_option *out) {
    const char *at = skip_spaces(*options), *end = word_end(at), *folder = NULL;
    *out = (struct build_option){.at = at};
    if (!*at)
        return false;
    if (at[0] == '-' && at[1] == 'I') {
        folder = at + 2;
        if (folder == end) {
            folder = skip_spaces(end);
            end = word_end(folder);
        }
    }
    if (folder && folder < end) {
        const bool quoted = end - folder >= 2 && (*folder == '"' || *folder == '\'') && end[-1] == *folder;
        out->folder = folder + quoted;
        out->folder_length = (size_t)(end - folder) - 2u * quoted;
    }
    out->length = (size_t)(end - at);
    *options = end;
    return true;
}

// Appends the parts of a path, without "." and "..".
static bool add_parts(char out[BUILD_PATH_MOST], size_t *used, const char *path, size_t length) {
    for (size_t at = 0; at < length;) {
        const char *slash = memchr(path + at, '/', length - at);
        const size_t part = (slash ? (size_t)(slash - path) : length) - at;
        const char *name = path + at;
        at += part + 1;
        if (part == 0 || (part == 1 && name[0] == '.'))
            continue;
        if (part == 2 && name[0] == '.' && name[1] == '.') {
            while (*used && out[--*used] != '/') {
            }
            continue;
        }
        if (*used + part + 2 > BUILD_PATH_MOST)
            return false;
        out[(*used)++] = '/';
        memcpy(out + *used, name, part);
        *used += part;
    }
    return true;
}

bool build_path(const char *base, const char *path, size_t length, char out[BUILD_PATH_MOST]) {
    size_t used = 0;
    const bool absolute = length && path[0] == '/';
    if (memchr(path, '\0', length) || (!absolute && (!base || base[0] != '/')))
        return false;
    if (!absolute && !add_parts(out, &used, base, strlen(base)))
        return false;
    if (!add_parts(out, &used, path, length))
        return false;
    if (!used)
        out[used++] = '/';
    out[used] = '\0';
    return true;
}

struct words {
    char *text;
    size_t used, capacity;
    bool failed;
};

static void add(struct words *words, const char *text, size_t length) {
    if (words->failed)
        return;
    if (words->capacity - words->used <= length) {
        const size_t capacity = 2 * (words->capacity + length + 1);
        char *grown = realloc(words->text, capacity);
        words->failed = !grown;
        if (!grown)
            return;
        words->text = grown;
        words->capacity = capacity;
    }
    memcpy(words->text + words->used, text, length);
    words->used += length;
    words->text[words->used] = '\0';
}

static void add_folder(struct words *words, const char *root, const char *path) {
    const bool quote = strpbrk(root, " \t'") || strpbrk(path, " \t'");
    add(words, quote ? "-I \"" : "-I ", quote ? 4 : 3);
    add(words, root, strlen(root));
    add(words, path, strlen(path));
    add(words, quote ? "\" " : " ", quote ? 2 : 1);
}

char *build_options_move(const char *options, const char *folder, const char *root) {
    char path[BUILD_PATH_MOST];
    struct build_option option;
    struct words words = {0};
    add(&words, "", 0);
    while (build_option_next(&options, &option)) {
        const bool searches = option.length >= 2 && memcmp(option.at, "-I", 2) == 0;
        // Without a folder the next word would become it, and a quote in its name would end ours.
        if (searches && (!option.folder || memchr(option.folder, '"', option.folder_length)))
            continue;
        if (option.folder && build_path(folder, option.folder, option.folder_length, path)) {
            add_folder(&words, root, path);
            continue;
        }
        add(&words, option.at, option.length);
        add(&words, " ", 1);
    }
    add_folder(&words, root, folder);
    if (!words.failed)
        return words.text;
    free(words.text);
    return NULL;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

bool build_include_next(const char **source, const char *end, struct build_include *out) {
    static const char word[] = "include";
    const size_t length = sizeof word - 1;
    while (*source < end) {
        const char *at = skip_blanks(*source, end), *line = memchr(*source, '\n', (size_t)(end - *source));
        *source = line ? line + 1 : end;
        if (at == end || *at != '#')
            continue;
        at = skip_blanks(at + 1, end);
        if ((size_t)(end - at) < length || memcmp(at, word, length) != 0)
            continue;
        at = skip_blanks(at + length, end);
        if (at == end || (*at != '"' && *at != '<'))
            continue;
        const char *close = memchr(at + 1, *at == '<' ? '>' : '"', (size_t)(*source - at) - 1);
        if (!close || close == at + 1)
            continue;
        *out =
            (struct build_include){.name = at + 1, .length = (size_t)(close - at) - 1, .quoted = *at == '"'};
        return true;
    }
    return false;
}
