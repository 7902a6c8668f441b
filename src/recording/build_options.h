// SPDX-License-Identifier: Apache-2.0
// The include directories among the build options of a program: the recorder reads them to find the included files,
// and a replay redirects them to its copies.
#ifndef RECORDING_BUILD_OPTIONS_H
#define RECORDING_BUILD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { BUILD_PATH_MOST = 4096 };

// A word of the options. `folder` (not terminated, without quotes) is where an -I searches, and NULL for other words;
// "-I" and its folder are one word.
struct build_option {
    const char *at, *folder;
    size_t length, folder_length;
};

// The next word at *options, which moves behind it. False at the end.
bool build_option_next(const char **options, struct build_option *out);

// The absolute path of `path` as seen from the folder `base`, without "." and ".." (as far as names go: links are not
// looked at). False when it has no room or `base` is needed and not absolute.
bool build_path(const char *base, const char *path, size_t length, char out[BUILD_PATH_MOST]);

// The same options with every folder looked for beneath `root` instead, relative ones from `folder`, and `folder` itself
// as the last to search. In memory that the caller frees; NULL when there is none.
char *build_options_move(const char *options, const char *folder, const char *root);

// The next file that a source includes: the name between the quotes or brackets. What a preprocessor would leave out is
// found too. False at the end.
struct build_include {
    const char *name;
    size_t length;
    bool quoted; // "name", not <name>
};
bool build_include_next(const char **source, const char *end, struct build_include *out);

#endif
