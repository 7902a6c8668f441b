// SPDX-License-Identifier: Apache-2.0
// The plan of a recording with many commands, of five shapes: making it (order and use of memory), and checking it (conflicts
// and needs). The smallest time of some rounds, in turns.
//
//     bench_plan [COMMANDS]     1,000,000 when not given
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "recording/record.h"
#include "replay/plan.h"

enum { ROUNDS = 5, BUFFERS = 16, WAIT_EVERY = 256, RECORDS_EACH = 3 };

struct made {
    struct recorded_process process;
    struct tsmith_recording recording;
    struct recording_writer writer;
    uint8_t *bytes;
    size_t length, capacity;
};

static void fail(const char *what) {
    fprintf(stderr, "bench_plan: %s\n", what);
    exit(1);
}

static void put(struct made *made) {
    struct recording_writer *writer = &made->writer;
    if (!recording_end(writer) || writer->length > made->capacity - made->length)
        fail("no room");
    memcpy(made->bytes + made->length, writer->bytes, writer->length);
    size_t offset = 0;
    if (recording_next(made->bytes + made->length, writer->length, &offset,
                       &made->process.records[made->process.count++]) != RECORDING_FOUND)
        fail("no record");
    made->length += writer->length;
}

static struct recording_writer *begin(struct made *made, enum recording_type type, uint64_t object) {
    recording_begin(&made->writer, type);
    if (object)
        recording_put(&made->writer, RECORDING_KEY_OBJECT, object);
    return &made->writer;
}

static void make_objects(struct made *made, bool loose) {
    for (uint64_t i = 0; i < 4; i++) {
        recording_put(begin(made, RECORDING_QUEUE, 1 + i), RECORDING_KEY_FLAGS, loose);
        put(made);
    }
    for (uint64_t i = 0; i < BUFFERS; i++) {
        recording_put(begin(made, RECORDING_BUFFER, 11 + i), RECORDING_KEY_SIZE, 1 << 20);
        put(made);
    }
    begin(made, RECORDING_KERNEL, 9);
    put(made);
}

static void set_buffer(struct made *made, uint64_t index, uint64_t buffer, bool constant) {
    struct recording_writer *w = begin(made, RECORDING_ARGUMENT, 0);
    recording_put(w, RECORDING_KEY_KERNEL, 9);
    recording_put(w, RECORDING_KEY_INDEX, index);
    recording_put(w, RECORDING_KEY_FORM, RECORDING_ARGUMENT_OBJECT);
    recording_put(w, RECORDING_KEY_TARGET, buffer);
    recording_put(w, RECORDING_KEY_FLAGS, constant ? RECORDING_ARGUMENT_CONSTANT : 0);
    put(made);
}

// Kernels with two buffers each over `queues` queues, each behind the event of the one before it in the other queue;
// in queues out of order each behind the last that wrote a buffer of it. The host waits now and then.
static void make(struct made *made, size_t commands, uint64_t queues, bool loose, size_t wait_every) {
    const bool wide = wait_every > WAIT_EVERY; // nothing waits but the host, and all only read
    uint64_t user[BUFFERS] = {0};
    const uint64_t global = 1 << 18;
    make_objects(made, loose);
    for (size_t i = 0; i < commands; i++) {
        const uint64_t first = i % BUFFERS, second = (i * 7 + 3) % BUFFERS,
                       waits[2] = {user[first], user[second]};
        const size_t wait_count = wide ? 0 : loose ? 2 : queues > 1 && i ? 1 : 0;
        set_buffer(made, 0, 11 + first, wide);
        set_buffer(made, 1, 11 + second, wide);
        struct recording_writer *w = begin(made, RECORDING_COMMAND, 0);
        recording_put(w, RECORDING_KEY_COMMAND, RECORDING_COMMAND_KERNEL);
        recording_put(w, RECORDING_KEY_QUEUE, 1 + i % queues);
        recording_put(w, RECORDING_KEY_KERNEL, 9);
        recording_put_list(w, RECORDING_KEY_GLOBAL, &global, 1);
        if (wait_count && loose)
            recording_put_list(w, RECORDING_KEY_WAITS, waits, 2);
        else if (wait_count)
            recording_put_list(w, RECORDING_KEY_WAITS, &(uint64_t){99 + i}, 1);
        recording_put(w, RECORDING_KEY_EVENT, 100 + i);
        put(made);
        user[first] = user[second] = 100 + i;
        if (i % wait_every == 0) {
            recording_put(begin(made, RECORDING_WAIT, 0), RECORDING_KEY_QUEUE, 1 + i % queues);
            put(made);
        }
    }
}

static void measure(const char *name, size_t commands, uint64_t queues, bool loose, size_t wait_every) {
    enum { BYTES_EACH = 256 };
    struct made made = {.capacity = (commands + 100) * BYTES_EACH};
    int64_t making = INT64_MAX, checking = INT64_MAX;
    struct plan plan;
    made.bytes = malloc(made.capacity);
    made.process.records =
        malloc((commands * RECORDS_EACH + commands / WAIT_EVERY + 100) * sizeof *made.process.records);
    if (!made.bytes || !made.process.records)
        fail("no memory");
    make(&made, commands, queues, loose, wait_every);
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t start = clock_trace_now();
        if (plan_make(&plan, &made.recording, &made.process, NULL) != TSMITH_OK)
            fail("no plan");
        const int64_t middle = clock_trace_now();
        if (plan_check(&plan, NULL) != TSMITH_OK)
            fail("not checked");
        const int64_t end = clock_trace_now();
        making = middle - start < making ? middle - start : making;
        checking = end - middle < checking ? end - middle : checking;
        if (round == ROUNDS - 1)
            printf("%-24s %9zu commands %9zu edges %9zu needs %5zu findings  made in %6.3f s  checked in "
                   "%6.3f s\n",
                   name, commands, plan.edge_count, plan.need_count, plan.hazard_count, (double)making / 1e9,
                   (double)checking / 1e9);
        plan_finish(&plan);
    }
    free(made.bytes);
    free(made.process.records);
    free(made.writer.bytes);
}

int main(int argc, char **argv) {
    const size_t commands = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    measure("one queue", commands, 1, false, WAIT_EVERY);
    measure("four queues, events", commands, 4, false, WAIT_EVERY);
    measure("out of order, events", commands, 1, true, WAIT_EVERY);
    measure("four out of order", commands, 4, true, WAIT_EVERY);
    measure("10,000 at once", commands, 1, true, 10000);
    return 0;
}
