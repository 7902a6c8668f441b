// SPDX-License-Identifier: Apache-2.0
// `replay --save-results`: writes each result of a replay to a file. `replay` passes it to the replayer as the receiver
// of results.
#include "replay_results.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/present/terminal.h"
#include "new_file.h"

bool results_begin(struct results_writer *writer, const char *directory, bool all) {
    *writer = (struct results_writer){.directory = directory, .all = all};
    return new_directory("save-results",
                         directory); // results of two replays side by side would be taken for one's
}

void results_take(void *context, const tsmith_replay_bytes *bytes) {
    struct results_writer *writer = context;
    char what[32], path[4096];
    if (writer->failed || (bytes->equal && !writer->all))
        return;
    snprintf(what, sizeof what, "%s", bytes->what);
    for (char *space = what; (space = strchr(space, ' ')) != NULL;)
        *space = '-';
    for (int side = 0; side < 2 && !writer->failed; side++) {
        const int length =
            snprintf(path, sizeof path, "%s/%" PRIu64 "-%06" PRIu64 "-%s-buffer-%" PRIu64 ".%s.%s",
                     writer->directory, bytes->pid, bytes->command, what, bytes->buffer,
                     side ? "replayed" : "recorded", tsmith_element_name(bytes->element));
        if (length < 0 || (size_t)length >= sizeof path) {
            complain("--save-results: %s: the path is too long", writer->directory);
            writer->failed = true;
            return;
        }
        writer->failed =
            !new_file_write("save-results", path, side ? bytes->replayed : bytes->recorded, bytes->size);
    }
    snprintf(path, sizeof path, "%s/%" PRIu64 "-%06" PRIu64 "-%s-buffer-%" PRIu64, writer->directory,
             bytes->pid, bytes->command, what, bytes->buffer);
    writer->failed = writer->failed || !pictures_write(&writer->pictures, path, bytes);
    writer->count += !writer->failed;
}

void results_finish(struct results_writer *writer) {
    pictures_finish(&writer->pictures);
}

void results_add_summary(struct text *text, const struct results_writer *writer) {
    text_add_safe(text, text_string(writer->directory), 0);
    text_add_cstr(text, ": ");
    text_add_counted(text, writer->count, "result", "results");
    text_add_cstr(text, ", as recorded and as replayed\n");
}
