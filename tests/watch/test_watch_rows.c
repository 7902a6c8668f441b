// SPDX-License-Identifier: Apache-2.0
// Records of the kernel become events: fences and jobs of drivers that are not on this machine, a recording that was
// killed, and random bytes.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "watch/watch.h"

static void put(int fd, const void *record, size_t size) {
    const struct watch_size head = {(uint32_t)size, AGENT_BPF_INTERFACE};
    assert_true(file_write(fd, &head, sizeof head) && file_write(fd, record, size));
}

static void put_fence(int fd, unsigned what, unsigned long long time, unsigned long long sequence) {
    const bool is_device =
        what == AGENT_BPF_FENCE_SIGNALED || what == AGENT_BPF_JOB_RUN || what == AGENT_BPF_JOB_DONE;
    const struct agent_bpf_fence record = {
        .head = {AGENT_BPF_FENCE, is_device ? 0 : 10, is_device ? 0 : 11, what},
        .time = time,
        .context = 7,
        .sequence = sequence};
    put(fd, &record, sizeof record);
}

static void put_name(int fd, unsigned tid, const char name[AGENT_BPF_COMM]) {
    struct agent_bpf_name record = {.head = {AGENT_BPF_NAME, 10, tid, 0}};
    memcpy(record.name, name, sizeof record.name);
    put(fd, &record, sizeof record);
}

struct seen {
    unsigned operations[256], losses[TSMITH_REASON_LIMIT], rows;
    int64_t start[256], duration[256];
    const char *track[256];
    uint64_t tid[256];
};

static tsmith_status read_all(int fd, struct seen *seen, tsmith_source **source) {
    struct host_clock clock = {0};
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    memset(seen, 0, sizeof *seen);
    assert_int_equal(watch_source(fd, NULL, &clock, source, &error), TSMITH_OK);
    while ((status = tsmith_source_next(*source, &batch, &error)) == TSMITH_OK) {
        const tsmith_dictionary *dictionary = tsmith_source_dictionary(*source);
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t operation = 0, reason, start = 0, duration = 0;
            seen->rows++;
            if (tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason) && reason < TSMITH_REASON_LIMIT)
                seen->losses[reason]++;
            if (!tsmith_batch_get(batch, TSMITH_FIELD_OPERATION, row, &operation))
                continue;
            const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
            tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start);
            tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &duration);
            seen->operations[operation & 255]++;
            seen->start[operation & 255] = (int64_t)start;
            seen->duration[operation & 255] = (int64_t)duration;
            seen->track[operation & 255] = tsmith_dictionary_string(dictionary, track->name).bytes;
            seen->tid[operation & 255] = track->tid;
        }
    }
    return status;
}

static void drivers_tell(void **state) {
    const struct watch_end end = {.head.type = WATCH_END};
    struct seen seen;
    tsmith_source *source;
    const int fd = file_temporary();
    (void)state;
    assert_true(fd >= 0);
    put_fence(fd, AGENT_BPF_JOB_QUEUED, 1000, 1);
    put_fence(fd, AGENT_BPF_FENCE_EMIT, 1100, 1);
    put_fence(fd, AGENT_BPF_JOB_RUN, 1200, 1);
    put_fence(fd, AGENT_BPF_FENCE_WAIT_START, 1300, 1);
    put_fence(fd, AGENT_BPF_JOB_DONE, 1900, 1);
    put_fence(fd, AGENT_BPF_FENCE_SIGNALED, 2000, 1);
    put_fence(fd, AGENT_BPF_FENCE_WAIT_END, 2100, 1);
    // The last name of a thread counts. It may fill the record, without a NUL.
    put_name(fd, 12, "another thread\0");
    put_name(fd, 11, "an earlier one\0");
    put_name(fd, 11, "sixteen letters!");
    put_name(fd, 9, "one before it\0\0");
    put(fd, &end, sizeof end);
    assert_int_equal(read_all(fd, &seen, &source), TSMITH_END);
    static const struct {
        tsmith_operation operation;
        int64_t start, duration;
        uint64_t tid;
        const char *track;
    } expected[] = {{TSMITH_OPERATION_JOB_QUEUED, 1000, 0, 11, "sixteen letters!"},
                    {TSMITH_OPERATION_FENCE_EMIT, 1100, 0, 11, "sixteen letters!"},
                    {TSMITH_OPERATION_JOB_RUN, 1200, 0, 0, "GPU scheduler"},
                    {TSMITH_OPERATION_FENCE_WAIT, 1300, 800, 11, "sixteen letters!"},
                    {TSMITH_OPERATION_JOB_DONE, 1900, 0, 0, "GPU scheduler"},
                    {TSMITH_OPERATION_FENCE_SIGNALED, 2000, 0, 0, "fences signaled"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const unsigned operation = expected[i].operation;
        assert_int_equal(seen.operations[operation], 1);
        assert_int_equal(seen.start[operation], expected[i].start);
        assert_int_equal(seen.duration[operation], expected[i].duration);
        assert_int_equal(seen.tid[operation], expected[i].tid);
        assert_string_equal(seen.track[operation], expected[i].track);
    }
    assert_int_equal(seen.rows, sizeof expected / sizeof expected[0]);
    tsmith_source_destroy(source);
    close(fd);
}

static void killed_is_said(void **state) {
    struct seen seen;
    tsmith_source *source;
    const int fd = file_temporary();
    (void)state;
    assert_true(fd >= 0);
    put_fence(fd, AGENT_BPF_FENCE_EMIT, 1100, 1);
    put_fence(fd, AGENT_BPF_FENCE_EMIT, 1200, 2);
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 5), 0); // in the middle of the last
    assert_int_equal(read_all(fd, &seen, &source), TSMITH_END);
    assert_int_equal(seen.operations[TSMITH_OPERATION_FENCE_EMIT], 1);
    assert_int_equal(seen.losses[TSMITH_REASON_PROCESS_DIED], 1);
    tsmith_source_destroy(source);
    close(fd);
}

static void put_kernel_call(int fd, unsigned type, unsigned probe, unsigned long long time,
                            unsigned long long first, unsigned long long second) {
    const struct agent_bpf_kernel_call record = {
        .head = {type, 10, 11, probe}, .time = time, .values = {first, second}};
    put(fd, &record, sizeof record);
}

struct kernel_call_seen {
    uint64_t start, duration, result, offset, pointer, returned;
    bool has_duration, has_result, has_returned;
};

static void look_at_call(const tsmith_batch *batch, uint32_t row, const tsmith_dictionary *dictionary,
                         struct kernel_call_seen *seen) {
    tsmith_dictionary *own =
        (tsmith_dictionary *)(uintptr_t)dictionary; // a field that is there is found, and not made
    const uint32_t offset = tsmith_dictionary_field(own, "arg_offset", TSMITH_TYPE_I64, ""),
                   pointer = tsmith_dictionary_field(own, "arg_2", TSMITH_TYPE_U64, ""),
                   returned = tsmith_dictionary_field(own, "returned", TSMITH_TYPE_U64, "");
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &seen->start));
    assert_true(tsmith_batch_get(batch, offset, row, &seen->offset));
    assert_true(tsmith_batch_get(batch, pointer, row, &seen->pointer));
    seen->has_duration = tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &seen->duration);
    seen->has_result = tsmith_batch_get(batch, TSMITH_FIELD_RESULT, row, &seen->result);
    seen->has_returned = tsmith_batch_get(batch, returned, row, &seen->returned);
}

// Register values are cut to the types in the kernel's description; an address is distinguished from an error. A call
// inside of another of the same function, and one that is not left.
static void calls_of_the_kernel(void **state) {
    const struct watch_end end = {.head.type = WATCH_END};
    struct {
        struct watch_probe probe;
        char name[8];
    } probe = {.probe = {.head = {.type = WATCH_PROBE},
                         .is_of_kernel = 1,
                         .signature = {.count = 2,
                                       .arguments = {{"offset", 4, 1, 0, 0}, {"", 8, 0, 1, 0}},
                                       .result = {"", 8, 0, 1, 0}}},
               .name = "function"};
    struct kernel_call_seen seen[4] = {{0}};
    struct host_clock clock = {0};
    const tsmith_batch *batch;
    tsmith_source *source;
    tsmith_error error;
    size_t count = 0;
    const int fd = file_temporary();
    (void)state;
    assert_true(fd >= 0);
    put(fd, &probe, sizeof probe);
    put_kernel_call(fd, AGENT_BPF_KERNEL_ENTER, 0, 1000, 0xabcdef01fffffffeu, 0xffff888000001000u);
    put_kernel_call(fd, AGENT_BPF_KERNEL_ENTER, 0, 1100, 0xabcdef0100000005u, 0);
    put_kernel_call(fd, AGENT_BPF_KERNEL_LEAVE, 0, 1200, (unsigned long long)-14, 0);
    put_kernel_call(fd, AGENT_BPF_KERNEL_LEAVE, 0, 1300, 0xffff888000002000u, 0);
    put_kernel_call(fd, AGENT_BPF_KERNEL_ENTER, 0, 1400, 7, 8);
    put_kernel_call(fd, AGENT_BPF_KERNEL_ENTER, 1, 1500, 7, 8); // of no probe
    put(fd, &end, sizeof end);
    assert_int_equal(watch_source(fd, NULL, &clock, &source, &error), TSMITH_OK);
    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t kind;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
            if (kind == TSMITH_KIND_HOST_FUNCTION && count < 4)
                look_at_call(batch, row, tsmith_source_dictionary(source), &seen[count++]);
        }
    assert_int_equal(count, 3); // by their starts
    assert_true(seen[0].start == 1000 && seen[0].duration == 300 && (int64_t)seen[0].offset == -2);
    assert_true(seen[0].pointer == 0xffff888000001000u && seen[0].returned == 0xffff888000002000u &&
                !seen[0].has_result);
    assert_true(seen[1].start == 1100 && seen[1].duration == 100 && seen[1].offset == 5);
    assert_true(seen[1].has_result && (int64_t)seen[1].result == -14 && !seen[1].has_returned);
    assert_true(seen[2].start == 1400 && !seen[2].has_duration && !seen[2].has_result &&
                !seen[2].has_returned);
    tsmith_source_destroy(source);
    close(fd);
}

// Every type of record in every size, of bytes that mean nothing.
static void nonsense_is_survived(void **state) {
    static const unsigned types[] = {AGENT_BPF_OFF_CPU,
                                     AGENT_BPF_ENTER,
                                     AGENT_BPF_LEAVE,
                                     AGENT_BPF_FENCE,
                                     AGENT_BPF_COPY,
                                     AGENT_BPF_DRIVER,
                                     WATCH_PROBE,
                                     WATCH_MODULE,
                                     WATCH_STACK,
                                     WATCH_KERNEL_STACK,
                                     WATCH_END,
                                     0,
                                     0xffffffff,
                                     AGENT_BPF_KERNEL_ENTER,
                                     AGENT_BPF_KERNEL_LEAVE,
                                     WATCH_SAMPLE,
                                     WATCH_SAMPLED,
                                     WATCH_SWITCHED,
                                     WATCH_SAMPLES_END,
                                     WATCH_REFUSED};
    struct random random = {20260101};
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct seen seen;
        tsmith_source *source;
        const int fd = file_temporary();
        assert_true(fd >= 0);
        for (int i = 0; i < 40; i++) {
            union {
                struct agent_bpf_head head;
                uint8_t bytes[2048];
            } record;
            for (size_t at = 0; at < sizeof record.bytes; at++)
                record.bytes[at] =
                    round % 3 ? (uint8_t)random_next(&random) : (uint8_t)(random_next(&random) % 3);
            record.head.type = types[random_next(&random) % (sizeof types / sizeof types[0])];
            put(fd, &record,
                sizeof record.head + random_next(&random) % (sizeof record - sizeof record.head));
        }
        assert_int_equal(read_all(fd, &seen, &source), TSMITH_END);
        assert_true(seen.rows > 0); // at least that something is missing
        tsmith_source_destroy(source);
        close(fd);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drivers_tell), cmocka_unit_test(killed_is_said),
                                       cmocka_unit_test(calls_of_the_kernel),
                                       cmocka_unit_test(nonsense_is_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
