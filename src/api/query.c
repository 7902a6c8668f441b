// SPDX-License-Identifier: Apache-2.0
// A query over a file: what its tables need of the reader, and of timeline, graph and states.
#include "query/query.h"

#include <stdlib.h>

#include "base/status.h"

struct joined {
    tsmith_sbt *trace;
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_states *states;
};

static tsmith_status scan(void *context, const tsmith_scan *filter, tsmith_source **out,
                          tsmith_error *error) {
    return tsmith_sbt_scan(((struct joined *)context)->trace, filter, out, error);
}

static tsmith_status aggregates(void *context, tsmith_aggregate **out, size_t *count, tsmith_error *error) {
    return tsmith_sbt_aggregates(((struct joined *)context)->trace, out, count, error);
}

static tsmith_status make_states(struct joined *joined, tsmith_error *error) {
    tsmith_source *source = NULL;
    tsmith_status status = tsmith_sbt_scan(joined->trace, NULL, &source, error);
    if (status >= 0)
        status = tsmith_timeline_read(source, NULL, &joined->timeline, error);
    if (status >= 0)
        status =
            tsmith_graph_create(joined->timeline, tsmith_source_dictionary(source), &joined->graph, error);
    if (status >= 0)
        status = tsmith_states_create(joined->timeline, joined->graph, &joined->states, error);
    tsmith_source_destroy(source);
    return status;
}

static void drop_states(struct joined *joined) {
    tsmith_states_destroy(joined->states);
    tsmith_graph_destroy(joined->graph);
    tsmith_timeline_destroy(joined->timeline);
    joined->states = NULL;
    joined->graph = NULL;
    joined->timeline = NULL;
}

static tsmith_status states(void *context, struct query_states *out, tsmith_error *error) {
    struct joined *joined = context;
    tsmith_status status = joined->states ? TSMITH_OK : make_states(joined, error);
    if (status < 0) {
        drop_states(joined);
        return status;
    }
    *out = (struct query_states){joined->timeline, joined->states};
    return TSMITH_OK;
}

static void close_joined(void *context) {
    struct joined *joined = context;
    drop_states(joined);
    free(joined);
}

tsmith_status tsmith_query_open(tsmith_sbt *trace, tsmith_query **out, tsmith_error *error) {
    struct query_backend backend = {
        .scan = scan, .aggregates = aggregates, .states = states, .close = close_joined};
    tsmith_sbt_summary summary = {.size = sizeof summary};
    *out = NULL;
    tsmith_status status = tsmith_sbt_dictionary(trace, &backend.dictionary, error);
    if (status >= 0)
        status = tsmith_sbt_summarize(trace, &summary, error);
    if (status < 0)
        return status;
    struct joined *joined = calloc(1, sizeof *joined);
    if (!joined)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a query");
    joined->trace = trace;
    backend.context = joined;
    for (int kind = 0; kind < TSMITH_KIND_LIMIT; kind++)
        backend.kinds[kind] = summary.kinds[kind];
    return query_create(&backend, out, error);
}
