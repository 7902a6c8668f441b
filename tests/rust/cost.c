// SPDX-License-Identifier: Apache-2.0
// What the Rust example "cost" does, in C, for test_figures.sh: cost on|off COUNT FILE, or cost read 0 FILE.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/tracesmith.h"

void measured_ranges(tsmith_session *session, uint32_t name, uint64_t count);
void measured_read(tsmith_trace *trace, int64_t *sum, uint64_t *known);

__attribute__((noinline)) void measured_ranges(tsmith_session *session, uint32_t name, uint64_t count) {
    tsmith_session *volatile each = session;
    for (uint64_t i = 0; i < count; i++) {
        tsmith_session *one = each;
        tsmith_range_begin(one, name);
        tsmith_range_end(one);
    }
}

__attribute__((noinline)) void measured_read(tsmith_trace *trace, int64_t *sum, uint64_t *known) {
    const uint32_t fields[] = {TSMITH_FIELD_DURATION, TSMITH_FIELD_NAME};
    const tsmith_scan scan = {.size = sizeof scan, .fields = fields, .field_count = 2};
    tsmith_source *source;
    const tsmith_batch *batch;
    if (tsmith_sbt_scan(tsmith_trace_sbt(trace), &scan, &source, NULL) != TSMITH_OK)
        return;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
        tsmith_view views[2];
        tsmith_view_batch(batch, fields, 2, views);
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            int64_t duration;
            uint32_t name;
            if (!tsmith_view_i64(&views[0], row, &duration) || !tsmith_view_u32(&views[1], row, &name))
                continue;
            *sum += duration ^ (int64_t)name;
            ++*known;
        }
    }
    tsmith_source_destroy(source);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    if (strcmp(argv[1], "read") == 0) {
        int64_t sum = 0;
        uint64_t known = 0;
        tsmith_trace *trace;
        if (tsmith_trace_open(argv[3], NULL, &trace, NULL) != TSMITH_OK)
            return 1;
        measured_read(trace, &sum, &known);
        printf("%" PRId64 " %" PRIu64 "\n", sum, known);
        tsmith_trace_close(trace);
        return 0;
    }
    tsmith_session *session = NULL;
    const tsmith_session_options options = {
        .size = sizeof options, .path = argv[3], .overflow = TSMITH_OVERFLOW_BLOCK};
    if (strcmp(argv[1], "on") == 0 && tsmith_session_start(&options, &session, NULL) != TSMITH_OK)
        return 1;
    const uint32_t name = session ? tsmith_session_name(session, "step") : 0;
    measured_ranges(session, name, 1);
    measured_ranges(session, name, strtoull(argv[2], NULL, 10));
    return session && tsmith_session_stop(session, NULL, NULL) != TSMITH_OK;
}
