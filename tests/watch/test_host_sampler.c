// SPDX-License-Identifier: Apache-2.0
// A sampler whose buffers are too small for any sample: all are counted as lost. What is said of refusals, and damaged records.
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tracesmith/batch.h"
#include "tracesmith/host_sampler.h"
#include "watch/perf_events.h"
#include "watch/watch.h"

static void refusals_are_explained(void **state) {
    char why[512];
    (void)state;
    perf_events_explain(EACCES, 3, why, sizeof why);
    assert_non_null(strstr(why, "perf_event_paranoid is 3"));
    perf_events_explain(EACCES, 2, why, sizeof why);
    assert_non_null(strstr(why, "seccomp"));
    assert_null(strstr(why, "sysctl"));
    perf_events_explain(EPERM, -2, why, sizeof why);
    assert_non_null(strstr(why, "seccomp"));
    perf_events_explain(ENOSYS, -2, why, sizeof why);
    assert_non_null(strstr(why, "CONFIG_PERF_EVENTS"));
    perf_events_explain(EMFILE, 1, why, sizeof why);
    assert_non_null(strstr(why, "ulimit -n"));
}

static void options_are_checked(void **state) {
    tsmith_host_sampler_options options = {.size = sizeof options, .rate = TSMITH_SAMPLE_RATE_MOST + 1};
    tsmith_host_sampler *sampler;
    tsmith_error error;
    (void)state;
    assert_int_equal(tsmith_host_sampler_create(&options, &sampler, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_null(sampler);
    options = (tsmith_host_sampler_options){.size = sizeof options, .buffer_bytes = 3 << 14};
    assert_int_equal(tsmith_host_sampler_create(&options, &sampler, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    options.buffer_bytes = 4096;
    assert_int_equal(tsmith_host_sampler_create(&options, &sampler, &error), TSMITH_ERROR_INVALID_ARGUMENT);
}

// A sample with 16 KiB of stack is longer than a buffer of 16 KiB.
static void lost_samples_are_counted(void **state) {
    const tsmith_host_sampler_options options = {.size = sizeof options, .buffer_bytes = 16 << 10};
    tsmith_host_sampler_totals totals = {.size = sizeof totals};
    tsmith_host_sampler *sampler;
    tsmith_capture *capture;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    char program[4096];
    uint64_t ring_full = 0;
    (void)state;
    snprintf(program, sizeof program, "%s/tests/programs/samples", getenv("TRACESMITH_BUILD_DIR"));
    if (access(program, X_OK))
        skip();
    char *argv[] = {program, "-c", "0.1", NULL};
    assert_int_equal(tsmith_host_sampler_create(&options, &sampler, &error), TSMITH_OK);
    if (tsmith_host_sampler_refusal(sampler)[0]) {
        print_message("%s\n", tsmith_host_sampler_refusal(sampler));
        tsmith_host_sampler_destroy(sampler);
        skip();
    }
    assert_int_equal(tsmith_capture_create(NULL, &capture, &error), TSMITH_OK);
    assert_int_equal(tsmith_host_sampler_join(sampler, capture, &error), TSMITH_OK);
    assert_int_equal(tsmith_host_sampler_join(sampler, capture, &error), TSMITH_ERROR_STATE);
    assert_int_equal(tsmith_capture_start(capture, argv, &error), TSMITH_OK);
    tsmith_source *source = tsmith_capture_source(capture);
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN) {
        uint64_t kind = 0, reason = 0, lost = 0;
        for (uint32_t row = 0; status == TSMITH_OK && row < tsmith_batch_count(batch); row++) {
            tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
            assert_true(kind != TSMITH_KIND_SAMPLE);
            if (kind == TSMITH_KIND_LOSS && tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason) &&
                reason == TSMITH_REASON_RING_FULL && tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &lost))
                ring_full += lost;
        }
    }
    assert_int_equal(status, TSMITH_END);
    tsmith_host_sampler_total(sampler, &totals);
    assert_true(totals.lost > 0 && totals.samples == 0 && totals.cpu_ns > 0);
    assert_int_equal(ring_full, totals.lost);
    tsmith_capture_destroy(capture);
    tsmith_host_sampler_destroy(sampler);
}

static void damaged_records_are_refused(void **state) {
    union {
        struct perf_event_header header;
        uint8_t bytes[512];
    } record;
    struct perf_sample sample;
    struct perf_origin origin;
    (void)state;
    memset(&record, 0xff, sizeof record);
    for (uint16_t size = sizeof record.header; size < sizeof record; size++) {
        record.header.size = size;
        assert_false(perf_sample_read(&record.header, &sample));
    }
    record.header.size = sizeof record.header + 8;
    assert_false(perf_origin_read(&record.header, &origin));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(lost_samples_are_counted),
        cmocka_unit_test(damaged_records_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
