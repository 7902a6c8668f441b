// SPDX-License-Identifier: Apache-2.0
// The kit's sums against brute force: threads that add at once while another one writes, more rows than there is room for, events that
// are described as records, and a process that is killed between two periods. The truth is what the test itself adds up.
#define RECORD_HOOKED 1
#include "support/numbered.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "agentkit/agent.h"
#include "agentkit/record_words.h"
#include "agentkit/sums.h"
#include "support/test.h"

enum { NAMES = 8, KINDS = 3, THREADS = 4, ADDS = 20000, PERIODS = 200, TOO_MANY = SUMS_ROWS_MAX + 700 };
static const tsmith_kind kinds[KINDS] = {TSMITH_KIND_KERNEL, TSMITH_KIND_MEMCPY, TSMITH_KIND_API};

struct sum {
    uint64_t count, total, shortest, longest, delays, bytes;
};
struct sums {
    struct sum of[KINDS][NAMES];
    uint64_t others; // events in rows "(other)"
    uint64_t rows, events, ranges, lost[TSMITH_REASON_LIMIT];
};

static void add(struct sums *sums, int kind, int name, struct sum one) {
    struct sum *sum = &sums->of[kind][name];
    sum->shortest = !sum->count || one.shortest < sum->shortest ? one.shortest : sum->shortest;
    sum->longest = one.longest > sum->longest ? one.longest : sum->longest;
    sum->count += one.count;
    sum->total += one.total;
    sum->delays += one.delays;
    sum->bytes += one.bytes;
}

static void add_all(struct sums *to, const struct sums *from) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int name = 0; name < NAMES; name++)
            if (from->of[kind][name].count)
                add(to, kind, name, from->of[kind][name]);
}

// ---- the session

static struct session_directory directory;
static uint32_t names[NAMES];

// With a period that does not end within a test.
static void begin(void) {
    const tsmith_capture_options options = {.size = sizeof options,
                                            .buffer_bytes = 8 << 20,
                                            .overflow = TSMITH_OVERFLOW_DROP_NEWEST,
                                            .aggregate = INT64_C(3600000000000)};
    tsmith_error error;
    assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
}

static void open_channel(void) {
    char text[16];
    assert_int_equal(channel_open(directory.path, "test", &agent.channel), TSMITH_OK);
    for (int name = 0; name < NAMES; name++) {
        snprintf(text, sizeof text, "n%d", name);
        names[name] = channel_string_cstr(agent.channel, text);
    }
}

static uint64_t word(const tsmith_batch *batch, uint32_t field, uint32_t row) {
    uint64_t value = 0;
    (void)tsmith_batch_get(batch, field, row, &value);
    return value;
}

static void see_sum(const tsmith_dictionary *dictionary, const tsmith_batch *batch, uint32_t row,
                    struct sums *out) {
    const tsmith_string name =
        tsmith_dictionary_string(dictionary, (uint32_t)word(batch, TSMITH_FIELD_NAME, row));
    const struct sum sum = {.count = word(batch, TSMITH_FIELD_COUNT, row),
                            .total = word(batch, TSMITH_FIELD_TOTAL, row),
                            .shortest = word(batch, TSMITH_FIELD_SHORTEST, row),
                            .longest = word(batch, TSMITH_FIELD_LONGEST, row),
                            .delays = word(batch, TSMITH_FIELD_DELAY_TOTAL, row),
                            .bytes = word(batch, TSMITH_FIELD_BYTES, row)};
    int kind = 0;
    out->rows++;
    out->events += sum.count;
    if (name.length == 7 && memcmp(name.bytes, "(other)", 7) == 0)
        out->others += sum.count;
    while (kind < KINDS && kinds[kind] != word(batch, TSMITH_FIELD_SUMMED, row))
        kind++;
    assert_true(kind < KINDS && sum.count);
    if (name.length == 2 && name.bytes[0] == 'n')
        add(out, kind, name.bytes[1] - '0', sum);
}

static void see(const tsmith_dictionary *dictionary, const tsmith_batch *batch, struct sums *out) {
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint64_t kind = word(batch, TSMITH_FIELD_KIND, row);
        if (kind == TSMITH_KIND_SUM)
            see_sum(dictionary, batch, row, out);
        else if (kind == TSMITH_KIND_RANGE)
            out->ranges++;
        else if (kind == TSMITH_KIND_LOSS)
            out->lost[word(batch, TSMITH_FIELD_REASON, row)] += word(batch, TSMITH_FIELD_LOST, row);
        else
            assert_int_equal(kind, TSMITH_KIND_PROCESS);
    }
}

static struct sums end(enum collect_mode mode) {
    struct sums seen = {.rows = 0};
    struct collector *collector;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    assert_int_equal(collector_create(&directory, mode, &collector, &error), TSMITH_OK);
    collector_set_closing(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK)
        see(collector_dictionary(collector), batch, &seen);
    assert_int_equal(status, TSMITH_END);
    collector_destroy(collector);
    session_directory_remove(&directory);
    return seen;
}

static void end_channel(void) {
    sums_write();
    channel_close(agent.channel);
}

static void expect(const struct sums *seen, const struct sums *truth) {
    for (int kind = 0; kind < KINDS; kind++)
        for (int name = 0; name < NAMES; name++)
            assert_memory_equal(&seen->of[kind][name], &truth->of[kind][name], sizeof(struct sum));
}

// ---- threads

static struct adder {
    struct random random;
    struct sums truth;
} adders[THREADS];
static _Atomic uint32_t running;

static void add_one(struct random *random, struct sums *truth) {
    const int kind = (int)random_below(random, KINDS), name = (int)random_below(random, NAMES);
    const uint64_t took = random_below(random, 1000000), delay = random_below(random, 1000),
                   bytes = random_below(random, 1 << 20);
    const bool is_call = kinds[kind] == TSMITH_KIND_API;
    if (is_call)
        sums_add_time(sums_what(kinds[kind], SUMS_TIMED, 0, 0, names[name]), sums_who(sums_host, 0), took);
    else
        sums_add(sums_what(kinds[kind], SUMS_TIMED | SUMS_DELAYED, 0, 0, names[name]), sums_who(sums_host, 0),
                 took, delay, bytes);
    add(truth, kind, name, (struct sum){1, took, took, took, is_call ? 0 : delay, is_call ? 0 : bytes});
}

static void *add_many(void *self) {
    struct adder *adder = self;
    for (int i = 0; i < ADDS; i++)
        add_one(&adder->random, &adder->truth);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void threads_at_once(void **unused) {
    (void)unused;
    pthread_t threads[THREADS];
    struct sums truth = {.rows = 0};
    begin();
    open_channel();
    sums_start(agent.channel);
    assert_true(sums_on);
    atomic_store(&running, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        adders[i].random.state = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
    }
    for (int i = 0; i < PERIODS && atomic_load(&running); i++)
        sums_write();
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        add_all(&truth, &adders[i].truth);
    }
    end_channel();
    const struct sums seen = end(COLLECT_SESSION);
    expect(&seen, &truth);
    assert_int_equal(seen.events, THREADS * ADDS);
    for (int reason = 0; reason < TSMITH_REASON_LIMIT; reason++)
        assert_int_equal(seen.lost[reason], 0);
}

// ---- more rows than there is room for

static void no_room(void **unused) {
    (void)unused;
    char text[32];
    begin();
    open_channel();
    sums_start(agent.channel);
    for (int period = 0; period < 2; period++) {
        for (int i = 0; i < TOO_MANY; i++) {
            snprintf(text, sizeof text, "many %d", i);
            sums_add(
                sums_what(TSMITH_KIND_KERNEL, SUMS_TIMED, 0, 0, channel_string_cstr(agent.channel, text)),
                sums_who(sums_host, 0), (uint64_t)i, 0, 0);
        }
        sums_write();
    }
    end_channel();
    const struct sums seen = end(COLLECT_SESSION);
    assert_int_equal(seen.events, 2 * TOO_MANY);
    assert_int_equal(seen.rows, 2 * (SUMS_ROWS_MAX + 1));
    assert_int_equal(seen.others, 2 * (TOO_MANY - SUMS_ROWS_MAX));
    assert_int_equal(seen.lost[TSMITH_REASON_SUM_FULL], seen.others);
}

// ---- a process that is killed after its first period

enum { WRITTEN = 1000, UNWRITTEN = 321 };

static void add_until_killed(void) {
    struct random random = {99};
    struct sums truth = {.rows = 0};
    open_channel();
    sums_start(agent.channel);
    for (int i = 0; i < WRITTEN; i++)
        add_one(&random, &truth);
    sums_write();
    for (int i = 0; i < UNWRITTEN; i++)
        add_one(&random, &truth);
    kill(getpid(), SIGKILL);
}

static void killed(void **unused) {
    (void)unused;
    struct random random = {99};
    struct sums truth = {.rows = 0};
    int status;
    begin();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_until_killed();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    const struct sums seen = end(COLLECT_SESSION);
    sums_host = 0;
    for (int i = 0; i < WRITTEN; i++) { // as the child did
        const int kind = (int)random_below(&random, KINDS), name = (int)random_below(&random, NAMES);
        const uint64_t took = random_below(&random, 1000000), delay = random_below(&random, 1000),
                       bytes = random_below(&random, 1 << 20);
        const bool is_call = kinds[kind] == TSMITH_KIND_API;
        add(&truth, kind, name, (struct sum){1, took, took, took, is_call ? 0 : delay, is_call ? 0 : bytes});
    }
    expect(&seen, &truth);
    assert_int_equal(seen.events, WRITTEN);
    assert_int_equal(seen.lost[TSMITH_REASON_SUM_UNWRITTEN], UNWRITTEN);
}

// ---- events that are described as records

#define KERNEL_WORDS(WORD) SPAN_WORDS(WORD) NAME_OR_NONE(WORD) KERNEL_SIZES_WORDS(WORD) BYTES_OR_NONE(WORD)
#define CALL_WORDS(WORD) TICKS_WORDS(WORD) RESULT_WORD(WORD)
#define UNTIMED_WORDS(WORD) UNTIMED_TICK_WORDS(WORD) NAME_OR_NONE(WORD)
#define RECORDS(RECORD)                                                                                      \
    RECORD(kernel, KERNEL_WORDS)                                                                             \
    RECORD(call, CALL_WORDS)                                                                                 \
    RECORD(untimed, UNTIMED_WORDS)
#define PART(name, LIST) RECORD_PART(name##_words, LIST)
#define SHAPE(name, LIST) RECORD_PART_SHAPE(name##_words, LIST)
RECORDS(PART)
RECORDS(SHAPE)

static struct { uint16_t kernel, call, range, untimed; } shapes;

static void write_one(struct random *random, uint32_t queue, struct sums *truth, uint64_t *ranges) {
    struct ring *ring = channel_ring(agent.channel);
    const int name = (int)random_below(random, NAMES);
    const uint64_t took = random_below(random, 1000000), bytes = random_below(random, 3) * 1000;
    switch (random_below(random, 4)) {
    case 0:
        RECORD_WRITE(ring, shapes.kernel, queue, kernel_words, .start = 5, .duration = took,
                     .name = names[name], .global_x = 7, .bytes = bytes);
        add(truth, 0, name, (struct sum){1, took, took, took, 0, bytes});
        break;
    case 1: // ticks are converted once for the sum: how long one takes differs from machine to machine
        RECORD_WRITE(ring, shapes.call, names[name], call_words, .start = 100, .end = 100, .result = 1);
        add(truth, 2, name, (struct sum){.count = 1});
        break;
    case 2:
        RECORD_WRITE(ring, shapes.range, names[name], call_words, .start = 100, .end = 100 + took);
        ++*ranges;
        break;
    default:
        RECORD_WRITE(ring, shapes.untimed, queue, untimed_words, .start = 100,
                     .certainty = TSMITH_CERTAINTY_UNTIMED, .name = names[name]);
        add(truth, 1, name, (struct sum){.count = 1});
    }
}

static void records(void **unused) {
    (void)unused;
    struct random random = {7};
    struct sums truth = {.rows = 0};
    uint64_t ranges = 0;
    begin();
    open_channel();
    struct channel *channel = agent.channel;
    const tsmith_device device = {.name = names[0]};
    const tsmith_track track = {.kind = TSMITH_TRACK_QUEUE, .device = channel_device(channel, &device)};
    const uint32_t queue = channel_track(channel, &track);
    shapes.kernel = record_register(channel, TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK, kernel_words_add);
    shapes.call = record_register(channel, TSMITH_KIND_API, RECORD_SUBJECT_NAME, call_words_add);
    shapes.range = record_register(channel, TSMITH_KIND_RANGE, RECORD_SUBJECT_NAME, call_words_add);
    shapes.untimed = record_register(channel, TSMITH_KIND_MEMCPY, RECORD_SUBJECT_TRACK, untimed_words_add);
    sums_start_of_records(channel);
    assert_true(sums_on && record_hook);
    for (int i = 0; i < ADDS; i++)
        write_one(&random, queue, &truth, &ranges);
    atomic_store(&agent.over, true); // there is no spec to end
    assert_true(sums_end_of_records(60000));
    end_channel();
    const struct sums seen = end(COLLECT_SESSION);
    expect(&seen, &truth);
    assert_int_equal(seen.ranges, ranges);
    assert_int_equal(seen.events + ranges, ADDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed), // first: it forks
                                       cmocka_unit_test(threads_at_once), cmocka_unit_test(no_room),
                                       cmocka_unit_test(records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
