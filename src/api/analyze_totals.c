// SPDX-License-Identifier: Apache-2.0
// The answer `kernels` from the totals of a file: joins the file reader and the analyses, which do not know each other.
#include <stdlib.h>

#include "base/status.h"
#include "tracesmith/analyze.h"
#include "tracesmith/sbt.h"

static int64_t clamp_time(uint64_t time) {
    return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

static tsmith_status add_totals(tsmith_analysis *analysis, const tsmith_aggregate *aggregates, size_t count,
                                const tsmith_sbt_summary *summary, tsmith_error *error) {
    uint64_t covered = 0;
    size_t kept = 0;
    tsmith_kernel_total *totals = malloc((count + 1) * sizeof *totals);
    if (!totals)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while adding up the kernels");
    for (size_t i = 0; i < count; i++) {
        const tsmith_aggregate *one = &aggregates[i];
        if (one->kind != TSMITH_KIND_KERNEL)
            continue;
        covered += one->count;
        totals[kept++] = (tsmith_kernel_total){one->name, one->count, clamp_time(one->total),
                                               clamp_time(one->min), clamp_time(one->max)};
    }
    tsmith_status status =
        covered == summary->kinds[TSMITH_KIND_KERNEL]
            ? tsmith_analysis_add_totals(analysis, totals, kept,
                                         (tsmith_interval){summary->first_start, summary->last_end}, error)
            : status_set(error, TSMITH_ERROR_NOT_FOUND,
                         "The file's totals do not cover all its kernels: read its events.");
    free(totals);
    return status;
}

// Losses are events of their own; a scan for them alone skips everything else.
static tsmith_status add_losses(tsmith_analysis *analysis, tsmith_sbt *trace, tsmith_error *error) {
    const tsmith_scan scan = {.size = sizeof scan, .kinds = TSMITH_KIND_BIT(TSMITH_KIND_LOSS)};
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(trace, &scan, &source, error);
    if (status != TSMITH_OK)
        return status;
    while ((status = tsmith_source_next(source, &batch, error)) == TSMITH_OK) {
        status = tsmith_analysis_add(analysis, tsmith_source_dictionary(source), batch, error);
        if (status != TSMITH_OK)
            break;
    }
    if (status == TSMITH_END || status == TSMITH_TRUNCATED)
        status = tsmith_analysis_finish(analysis, tsmith_source_dictionary(source), error);
    tsmith_source_destroy(source);
    return status;
}

tsmith_status tsmith_analysis_read_totals(tsmith_analysis *analysis, tsmith_sbt *trace, tsmith_error *error) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_aggregate *aggregates = NULL;
    size_t count;
    tsmith_status status = tsmith_sbt_summarize(trace, &summary, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_aggregates(trace, &aggregates, &count, error);
    if (status == TSMITH_OK)
        status = add_totals(analysis, aggregates, count, &summary, error);
    free(aggregates);
    return status == TSMITH_OK ? add_losses(analysis, trace, error) : status;
}
