// SPDX-License-Identifier: Apache-2.0
// `analyze --ranks`: the traces are the ranks of one run; who is late, and who waits.
#include "analyze_parts.h"
#include "cli/convert.h"
#include "cli/present/terminal.h"
#include "tracesmith/ranks.h"

// Reads the trace of a rank; *truncated is set when it ends early.
static int add_rank(tsmith_ranks *ranks, const char *path, bool *truncated) {
    struct convert convert;
    tsmith_source *source = NULL;
    convert_init(&convert, "reading");
    tsmith_status status = tsmith_trace_stream(path, &convert.options, &source, &convert.error);
    if (status == TSMITH_OK)
        status = tsmith_ranks_add(ranks, path, source, &convert.error);
    progress_clear(&convert.progress);
    tsmith_source_destroy(source);
    int code = EXIT_DONE;
    if (status == TSMITH_TRUNCATED) {
        complain("%s", convert.error.message);
        *truncated = true;
    } else if (status != TSMITH_OK) {
        complain("%s", convert.error.message);
        code = exit_code_of_input(status);
    }
    convert_finish(&convert);
    return code;
}

int analyze_ranks(const char *const *paths, size_t count,
                  int (*put)(const void *context, const tsmith_report *report), const void *context) {
    tsmith_ranks *ranks = NULL;
    tsmith_error error;
    bool truncated = false;
    int code = EXIT_LACKING;
    if (tsmith_ranks_create(&ranks, &error) != TSMITH_OK) {
        complain("%s", error.message);
        return code;
    }
    code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++)
        code = add_rank(ranks, paths[i], &truncated);
    if (code == EXIT_DONE && tsmith_ranks_finish(ranks, &error) != TSMITH_OK) {
        complain("%s", error.message);
        code = EXIT_LACKING;
    }
    if (code == EXIT_DONE)
        code = put(context, tsmith_ranks_report(ranks));
    tsmith_ranks_destroy(ranks);
    return code == EXIT_DONE && truncated ? EXIT_DAMAGED : code;
}
