// SPDX-License-Identifier: Apache-2.0
// Options of a build, up to the first NUL, and a source: as a recording has them. Words and names are inside their
// text, and no folder leads out of the root it is moved beneath.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recording/build_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char root[] = "/root-of-includes";

static void check_path(const char *path, size_t length) {
    for (size_t i = 0; i + 2 < length; i++)
        if (memcmp(path + i, "/..", 3) == 0 && (i + 3 == length || path[i + 3] == '/'))
            abort();
}

static void check_moved(const char *options) {
    char *moved = build_options_move(options, "/where/it/was/built", root);
    struct build_option word;
    const char *at = moved;
    // A quote that is not closed ends elsewhere in the new text: then only that nothing is read beyond its end.
    const bool quoted = strpbrk(options, "\"'") != NULL;
    while (moved && build_option_next(&at, &word))
        if (word.folder && !quoted) {
            if (word.folder_length < strlen(root) || memcmp(word.folder, root, strlen(root)) != 0)
                abort();
            check_path(word.folder, word.folder_length);
        }
    free(moved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size;
    char *options = malloc(length + 1), path[BUILD_PATH_MOST];
    if (!options)
        abort();
    if (length)
        memcpy(options, data, length);
    options[length] = '\0';
    struct build_option word;
    for (const char *at = options, *before = at; build_option_next(&at, &word); before = at) {
        if (at <= before || word.at < options || word.length > (size_t)(options + length - word.at))
            abort();
        if (word.folder && (word.folder < word.at || word.folder_length > word.length))
            abort();
        if (word.folder && build_path("/base/of/it", word.folder, word.folder_length, path)) {
            if (path[0] != '/')
                abort();
            check_path(path, strlen(path));
        }
    }
    check_moved(options);
    free(options);
    // The source in memory of its own size: it has no NUL at its end.
    const size_t left = size - length;
    char *source = malloc(left ? left : 1);
    if (!source)
        abort();
    if (left)
        memcpy(source, data + length, left);
    struct build_include include;
    for (const char *at = source, *before = at; build_include_next(&at, source + left, &include); before = at)
        if (at <= before || include.name < source || include.length > (size_t)(source + left - include.name))
            abort();
    free(source);
    return 0;
}
