// SPDX-License-Identifier: Apache-2.0
// The commands that record call it: profile, record, attach.
#include "cli/output_name.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/present/terminal.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/launcher.h"

bool output_name(const char *pattern, uint32_t pid, char out[OUTPUT_NAME_SIZE]) {
    tsmith_error error;
    if (tsmith_output_expand(pattern, pid, out, OUTPUT_NAME_SIZE, &error) == TSMITH_OK)
        return true;
    complain("--output: %s", error.message);
    return false;
}

// 1 + the rank whose trace it is; 0: unknown.
static uint32_t rank_of(const char *path) {
    tsmith_sbt *file = NULL;
    const tsmith_dictionary *dictionary = NULL;
    uint32_t rank = 0;
    if (tsmith_sbt_open(path, &file, NULL) >= 0 && tsmith_sbt_dictionary(file, &dictionary, NULL) >= 0)
        rank = tsmith_dictionary_find_rank(dictionary, 0).rank;
    tsmith_sbt_close(file);
    return rank;
}

tsmith_status output_may_replace(void *context, const char *path, tsmith_error *error) {
    tsmith_launch launch = {.size = sizeof launch};
    const uint32_t rank = tsmith_launch_find(0, &launch) ? rank_of(path) : 0;
    (void)context;
    if (!rank || (int64_t)rank - 1 == launch.rank)
        return TSMITH_OK;
    if (error) {
        *error = (tsmith_error){.status = TSMITH_ERROR_BUSY};
        (void)snprintf(error->message, sizeof error->message,
                       "%s has the trace of rank %" PRIu32 ", and this is rank %" PRId64, path, rank - 1,
                       launch.rank);
    }
    return TSMITH_ERROR_BUSY;
}

void output_explain_refused(tsmith_status status) {
    tsmith_launch launch = {.size = sizeof launch};
    if (status == TSMITH_ERROR_BUSY && tsmith_launch_find(0, &launch))
        complain("each rank needs a file of its own: --output run.%%r.sbt has the rank in its name");
}
