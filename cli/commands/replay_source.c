// SPDX-License-Identifier: Apache-2.0
// `replay --source` and `--save-source`: reads kernel sources from files and writes them to files.
#include "replay_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "new_file.h"

enum { SOURCE_MOST = 64 << 20 };

static char *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(SOURCE_MOST + 1) : NULL;
    size_t length = text ? fread(text, 1, SOURCE_MOST + 1, file) : 0;
    if (!text || ferror(file) || length > SOURCE_MOST || memchr(text, '\0', length)) {
        complain("--source: %s: %s", path,
                 !file || ferror(file) ? strerror(errno) : "the file contains no kernel source");
        free(text);
        text = NULL;
    }
    if (text)
        text[length] = '\0';
    if (file)
        fclose(file);
    return text;
}

// "KERNEL=FILE". The caller frees *kernel.
static const char *split(const char *option, const char *word, char **kernel) {
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1]) {
        complain("--%s: '%s' is not KERNEL=FILE", option, word);
        return NULL;
    }
    *kernel = strndup(word, (size_t)(equals - word));
    return *kernel ? equals + 1 : NULL;
}

bool replay_read_source(const char *word, char **kernel, char **source) {
    const char *file = split("source", word, kernel);
    *source = file ? read_file(file) : NULL;
    return *source != NULL;
}

static void print_saved_source(const char *kernel, const char *file, const char *path,
                               const tsmith_recorded_source *source) {
    struct text text = {0};
    text_add_safe(&text, text_string(file), 0);
    text_add_cstr(&text, ": ");
    text_add_bytes(&text, (double)source->length);
    if (source->included)
        text_add_format(&text, "; the replay uses the recorded copies of %zu included %s", source->included,
                        plural(source->included, "file", "files"));
    if (source->programs > 1)
        text_add_format(&text,
                        "; %zu programs have a kernel of this name, and this is the source of the first",
                        source->programs);
    struct text source_word = {0};
    text_add_format(&source_word, "%s=%s", kernel, file);
    text_add_cstr(&text, "\nnext: tracesmith replay ");
    text_add_shell(&text, path);
    text_add_cstr(&text, " --source ");
    text_add_shell(&text, text_cstr(&source_word));
    text_add_cstr(&text, " --timing\n");
    output_text(&text);
    text_finish(&source_word);
    text_finish(&text);
}

int replay_save_source(tsmith_recording *recording, const char *word, const char *path) {
    char *kernel = NULL;
    tsmith_recorded_source source = {.size = sizeof source};
    tsmith_error error;
    int code = EXIT_USAGE;
    const char *file = split("save-source", word, &kernel);
    if (file) {
        const tsmith_status status = tsmith_recording_source(recording, kernel, &source, &error);
        code = status < 0 ? exit_code_of_input(status) : EXIT_DONE;
        if (status < 0)
            complain("%s: %s", path, error.message);
    }
    if (source.text && strcmp(file, "-") == 0)
        code = output_write(source.text, source.length) ? EXIT_DONE : EXIT_LACKING;
    else if (source.text && !new_file_write("save-source", file, source.text, source.length))
        code = EXIT_LACKING;
    else if (source.text)
        print_saved_source(kernel, file, path, &source);
    free(source.text);
    free(kernel);
    return code;
}
