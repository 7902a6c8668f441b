// SPDX-License-Identifier: Apache-2.0
// Plans of recordings made at random, against the rules of OpenCL written down a second time, here, as a matrix of what is
// before what: every conflict that is reported is one, and where there is one something is reported. Legal orders keep to
// the matrix, and so does every step on the way from one to another.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "recording/record.h"
#include "replay/plan.h"

enum { MOST = 40, QUEUES = 3, BUFFERS = 3, SIZE = 64, ROUNDS = 3000 };

struct used {
    unsigned buffer;
    uint64_t from, to;
    bool writes;
};

// What was made, as the test knows it.
struct model {
    bool before[MOST][MOST]; // of commands
    struct used used[MOST];
    unsigned count;
    bool waited[MOST]; // by the host
    unsigned queue[MOST];
    int kind[MOST]; // a RECORDING_COMMAND_
    bool listed[MOST];
    bool loose[QUEUES];
};

struct made {
    struct recorded_process process;
    struct tsmith_recording recording;
    struct recording_writer writer;
    uint8_t *bytes[512];
};

static void put(struct made *made) {
    struct recorded_process *process = &made->process;
    struct recording_record record;
    size_t offset = 0;
    assert_true(recording_end(&made->writer) && process->count < 512);
    uint8_t *bytes = malloc(made->writer.length);
    assert_non_null(bytes);
    memcpy(bytes, made->writer.bytes, made->writer.length);
    assert_int_equal(recording_next(bytes, made->writer.length, &offset, &record), RECORDING_FOUND);
    made->bytes[process->count] = bytes;
    process->records[process->count++] = record;
}

static struct recording_writer *begin(struct made *made, enum recording_type type, uint64_t object) {
    recording_begin(&made->writer, type);
    if (object)
        recording_put(&made->writer, RECORDING_KEY_OBJECT, object);
    return &made->writer;
}

// Numbers: queues from 1, buffers from 11, events from 101 on, one for each command.
static void make_objects(struct made *made, struct model *model, struct random *random) {
    for (unsigned i = 0; i < QUEUES; i++) {
        model->loose[i] = random_below(random, 2);
        recording_put(begin(made, RECORDING_QUEUE, 1 + i), RECORDING_KEY_FLAGS, model->loose[i]);
        put(made);
    }
    for (unsigned i = 0; i < BUFFERS; i++) {
        recording_put(begin(made, RECORDING_BUFFER, 11 + i), RECORDING_KEY_SIZE, SIZE);
        put(made);
    }
}

static void order(struct model *model, unsigned first, unsigned second) {
    for (unsigned i = 0; i < model->count; i++)
        model->before[i][second] |= i == first || model->before[i][first];
}

// The rules, one command after the other.
static void follow_rules(struct model *model, unsigned at, const unsigned *waits, unsigned wait_count) {
    const bool gathers = !wait_count && (model->kind[at] == RECORDING_COMMAND_BARRIER ||
                                         model->kind[at] == RECORDING_COMMAND_MARKER);
    for (unsigned i = 0; i < at; i++) {
        const bool same = model->queue[i] == model->queue[at];
        if (model->waited[i] || (same && (!model->loose[model->queue[at]] || gathers ||
                                          model->kind[i] == RECORDING_COMMAND_BARRIER)))
            order(model, i, at);
    }
    for (unsigned i = 0; i < wait_count; i++)
        order(model, waits[i], at);
}

static void host_waits(struct model *model, unsigned command) {
    model->waited[command] = true;
    for (unsigned i = 0; i < model->count; i++)
        model->waited[i] |= model->before[i][command];
}

static void make_command(struct made *made, struct model *model, struct random *random) {
    static const int kinds[] = {RECORDING_COMMAND_FILL,   RECORDING_COMMAND_FILL,   RECORDING_COMMAND_FILL,
                                RECORDING_COMMAND_READ,   RECORDING_COMMAND_READ,   RECORDING_COMMAND_READ,
                                RECORDING_COMMAND_MARKER, RECORDING_COMMAND_BARRIER};
    const unsigned at = model->count++, queue = (unsigned)random_below(random, QUEUES);
    unsigned waits[3], wait_count = 0;
    uint64_t ids[3];
    model->queue[at] = queue;
    model->kind[at] = kinds[random_below(random, 8)];
    while (at && wait_count < 3 && random_below(random, 3) == 0) {
        waits[wait_count] = (unsigned)random_below(random, at);
        ids[wait_count] = 101 + waits[wait_count];
        wait_count++;
    }
    struct recording_writer *w = begin(made, RECORDING_COMMAND, 0);
    recording_put(w, RECORDING_KEY_COMMAND, (uint64_t)model->kind[at]);
    recording_put(w, RECORDING_KEY_QUEUE, 1 + queue);
    recording_put_list(w, RECORDING_KEY_WAITS, ids, wait_count);
    recording_put(w, RECORDING_KEY_EVENT, 101 + at);
    struct used *used = &model->used[at];
    used->writes = model->kind[at] == RECORDING_COMMAND_FILL;
    if (used->writes || model->kind[at] == RECORDING_COMMAND_READ) {
        used->buffer = (unsigned)random_below(random, BUFFERS);
        used->from = random_below(random, SIZE);
        used->to = used->from + 1 + random_below(random, SIZE - used->from);
        recording_put(w, used->writes ? RECORDING_KEY_TARGET : RECORDING_KEY_SOURCE, 11 + used->buffer);
        recording_put(w, RECORDING_KEY_OFFSET, used->from);
        recording_put(w, RECORDING_KEY_SIZE, used->to - used->from);
    }
    const bool blocking = model->kind[at] == RECORDING_COMMAND_READ && random_below(random, 10) == 0;
    recording_put(w, RECORDING_KEY_BLOCKING, blocking);
    put(made);
    follow_rules(model, at, waits, wait_count);
    if (blocking)
        host_waits(model, at);
}

static void make_wait(struct made *made, struct model *model, struct random *random) {
    struct recording_writer *w = begin(made, RECORDING_WAIT, 0);
    const unsigned queue = (unsigned)random_below(random, QUEUES);
    if (model->count && random_below(random, 2)) {
        const unsigned command = (unsigned)random_below(random, model->count);
        const uint64_t id = 101 + command;
        recording_put_list(w, RECORDING_KEY_WAITS, &id, 1);
        host_waits(model, command);
    } else {
        recording_put(w, RECORDING_KEY_QUEUE, 1 + queue);
        for (unsigned i = 0; i < model->count; i++)
            if (model->queue[i] == queue)
                host_waits(model, i);
    }
    put(made);
}

static bool conflict(const struct model *model, unsigned a, unsigned b) {
    const struct used *x = &model->used[a], *y = &model->used[b];
    return (x->writes || y->writes) && x->buffer == y->buffer && x->from < y->to && y->from < x->to &&
           !model->before[a][b] && !model->before[b][a];
}

// The number of the command that a node is.
static unsigned command_of(const struct plan *plan, uint32_t node) {
    tsmith_plan_command command;
    plan_describe(plan, node, &command);
    return (unsigned)command.command;
}

static void check_hazards(const struct plan *plan, const struct model *model) {
    bool any = false;
    for (size_t i = 0; i < plan->hazard_count; i++) {
        const struct plan_hazard *hazard = &plan->hazards[i];
        const unsigned a = command_of(plan, hazard->first), b = command_of(plan, hazard->second);
        assert_true(a < b && conflict(model, a, b));
        assert_true(hazard->from < hazard->to);
    }
    for (unsigned a = 0; a < model->count; a++)
        for (unsigned b = a + 1; b < model->count; b++)
            any |= conflict(model, a, b);
    assert_int_equal(any, plan->hazard_count > 0);
}

static void check_order(const struct plan *plan, const struct model *model, const uint32_t *order_of,
                        size_t count) {
    unsigned seen[MOST], seen_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (plan->nodes[order_of[i]].kind != PLAN_COMMAND)
            continue;
        const unsigned command = command_of(plan, order_of[i]);
        for (unsigned j = 0; j < seen_count; j++)
            assert_true(seen[j] != command && !model->before[command][seen[j]]);
        seen[seen_count++] = command;
    }
    assert_int_equal(seen_count, model->count);
}

static void check_orders(const struct plan *plan, const struct model *model, uint64_t seed) {
    uint32_t other[512], step[512], pair[2], same[512];
    assert_int_equal(plan_shuffle(plan, NULL, seed, other), TSMITH_OK);
    check_order(plan, model, plan->order, plan->order_count);
    check_order(plan, model, other, plan->order_count);
    const uint64_t steps = plan_distance(plan->order, other, plan->order_count, plan->node_count);
    uint64_t inverted = 0; // counted the plain way
    for (size_t i = 0; i < plan->order_count; i++)
        for (size_t j = i + 1; j < plan->order_count; j++)
            inverted += other[i] > other[j];
    assert_int_equal(steps, inverted);
    memcpy(same, plan->order, plan->order_count * sizeof *same);
    for (uint64_t i = 1; i <= steps; i++) {
        assert_true(plan_between(plan->order, other, plan->order_count, plan->node_count, i, step, pair));
        check_order(plan, model, step, plan->order_count);
        size_t at = 0; // it differs from the step before by the two it names, which were neighbors
        while (same[at] == step[at])
            at++;
        assert_true(same[at] == pair[0] && same[at + 1] == pair[1] && step[at] == pair[1] &&
                    step[at + 1] == pair[0]);
        assert_memory_equal(same + at + 2, step + at + 2, (plan->order_count - at - 2) * sizeof *same);
        memcpy(same, step, plan->order_count * sizeof *same);
    }
    assert_memory_equal(same, other, plan->order_count * sizeof *same);
}

// The plain way: who can come first, and how many orders the others have after it.
static uint64_t count_plainly(const struct model *model, unsigned done) {
    uint64_t count = 0;
    if (done == (1u << model->count) - 1)
        return 1;
    for (unsigned i = 0; i < model->count; i++) {
        bool ready = !(done >> i & 1);
        for (unsigned j = 0; j < model->count && ready; j++)
            ready = !model->before[j][i] || (done >> j & 1);
        if (ready)
            count += count_plainly(model, done | 1u << i);
    }
    return count;
}

// As many orders as there are, and all of them listed: legal, and each once.
static void check_count(const struct plan *plan, const struct model *model) {
    enum { COUNTED = 7, LISTED = 200 };
    if (model->count > COUNTED)
        return;
    const uint64_t count = plan_count_orders(plan);
    assert_int_equal(count, count_plainly(model, 0));
    if (count > LISTED)
        return;
    uint32_t *orders = plan_list_orders(plan, count);
    assert_non_null(orders);
    for (uint64_t i = 0; i < count; i++) {
        check_order(plan, model, orders + i * model->count, model->count);
        for (uint64_t j = 0; j < i; j++)
            assert_memory_not_equal(orders + i * model->count, orders + j * model->count,
                                    model->count * sizeof *orders);
    }
    free(orders);
}

static void test_random(void **state) {
    struct random random = {20};
    unsigned with = 0;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct model model = {0};
        struct made made = {0};
        struct plan plan;
        made.process.records = calloc(512, sizeof *made.process.records);
        assert_non_null(made.process.records);
        make_objects(&made, &model, &random);
        const unsigned count = 2 + (unsigned)random_below(&random, round % 8 ? 8 : MOST - 2);
        while (model.count < count)
            random_below(&random, 6) ? make_command(&made, &model, &random)
                                     : make_wait(&made, &model, &random);
        assert_int_equal(plan_make(&plan, &made.recording, &made.process, NULL), TSMITH_OK);
        assert_int_equal(plan_check(&plan, NULL), TSMITH_OK);
        check_hazards(&plan, &model);
        with += plan.hazard_count > 0;
        if (round % 16 == 0)
            check_orders(&plan, &model, round);
        if (round % 4 == 0)
            check_count(&plan, &model);
        plan_finish(&plan);
        for (size_t i = 0; i < made.process.count; i++)
            free(made.bytes[i]);
        free(made.process.records);
        free(made.writer.bytes);
    }
    assert_true(with > ROUNDS / 10 && with < ROUNDS - ROUNDS / 10); // both happen
}

// What a kernel does with its arguments, by its source.
static void test_source(void **state) {
    static const struct {
        const char *source;
        uint8_t first, second; // 1: reads, 2: writes, 3: both, or unknown
    } cases[] = {
        {"__kernel void k(__global float *a, __global float *b) { b[0] = a[0]; }", 1, 2},
        {"kernel void k(global float *a, global float *b) { b[0] += a[0]; }", 1, 3},
        {"kernel void k(global float *a, global float *b) { *b = *a; }", 1, 2},
        {"kernel void k(global float *a, global float *b) { global float *p = a; p[0] = b[a[1]]; }", 3, 1},
        {"kernel void k(global float *a, global int *b) { a[b[0]]++; }", 3, 1},
        {"kernel void k(global float *a, global int *b) { --a[b[0]]; }", 3, 1},
        {"kernel void k(global float *a, global int *b) { atomic_inc(&b[0]); a[1] = 0; }", 2, 3},
        {"kernel void k(global float4 *a, global float4 *b) { a[1].xy = b[0].zw; }", 2, 1},
        {"kernel void k(global float *a, global float *b) { (a[1]) = 2; vstore4(0, 0, b); }", 2, 3},
        {"kernel void k(global float *a, global float *b) { ((a[1]))++; if (b[0] == 1) return; }", 3, 1},
        {"#define PUT(x) x = 1\nkernel void k(global float *a, global float *b) { PUT(a[0]); b[0] = 1; }", 3,
         2},
        {"#define GO b[0] = 1\nkernel void k(global float *a, global float *b) { GO; a[0] = b[1]; }", 2, 3},
        {"#include \"x.h\"\nkernel void k(global float *a, global float *b) { b[0] = a[0]; }", 3, 3},
        {"kernel void k(global float *a, global float *b) { /* a[0] = 1; */ b[0] = 1; // a[0] = 1\n}", 0, 2},
        {"kernel void k(global float *a, global float *b) { int c = a[0] & b[0]; int d = c * a[1]; }", 1, 1},
        {"kernel void k(global float *a, global float *b) { f(&a[0]); g(*&b[0]); }", 3, 3},
        {"kernel void j(global float *b) { b[0] = 1; } kernel void k(global float *a, global float *b) { "
         "j(a); b[0] = 1; }",
         3, 2},
        {"kernel void k(global float *a, global float *b) { for (int i = 0; i < 4; i++) b[i] = a[i] <= 2 ? "
         "a[i] : 1; }",
         1, 2},
        {"kernel void k(global float *a, global float *b) { b[0] <<= 1; a[0] == 1; }", 1, 3},
        {"kernel void other(global float *a, global float *b) { }", 3, 3},
        {"kernel void k(global float *a", 3, 3},
        {"kernel void k(global const float *a, global float *const b) { f(a, b); }", 1, 3},
        {"kernel void k(constant float *a, global float const *b) { f(a, b); }", 1, 1},
        {"kernel void k(read_only image2d_t a, write_only image2d_t b) { write_imagef(b, p, read_imagef(a, "
         "s, p)); }",
         1, 2},
        {"kernel void k(image2d_t a, image2d_t b) { int w = get_image_width(a); my_read(b); }", 0, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_use uses[2];
        plan_source_uses(cases[i].source, strlen(cases[i].source), NULL, "k", uses, 2);
        if (uses[0].how != cases[i].first || uses[1].how != cases[i].second)
            fail_msg("%s: %d and %d", cases[i].source, uses[0].how, uses[1].how);
        // A macro of the build may be anything.
        plan_source_uses(cases[i].source, strlen(cases[i].source), "-DX=(a,b)", "k", uses, 2);
        assert_true(uses[0].how >= cases[i].first && uses[1].how >= cases[i].second);
        if (strstr(cases[i].source, "(global float *a, global float *b) {"))
            assert_true((uses[0].how == 3 || !cases[i].first) && (uses[1].how == 3 || !cases[i].second));
    }
}

// Which elements of it.
static void test_elements(void **state) {
    static const struct {
        const char *source;
        struct plan_use use; // of the first argument; `how` is not looked at
    } cases[] = {
        {"kernel void k(global float *a) { a[1] = a[3]; }", {.element = 4, .first = 1, .end = 4}},
        {"kernel void k(global const uchar4 *a) { int i = get_global_id(0); x = a[i] + *a; }",
         {.element = 4, .of_item = true, .first = 0, .end = 1}},
        {"kernel void k(global double3 *a) { a[get_global_id(0)] = 1; }", {.element = 32, .of_item = true}},
        {"kernel void k(global int *a) { size_t i = get_global_id(0); if (i < 4) a[i] += 1; }",
         {.element = 4, .of_item = true}},
        {"kernel void k(global int *a) { size_t i = get_global_id(0); i += 1; a[i] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { size_t i = get_global_id(0); { size_t i = 4; a[i] = 1; } }",
         {.element = 0}},
        {"kernel void k(global int *a) { size_t i = get_global_id(1); a[i] = 1; }", {.element = 0}},
        {"kernel void k(global int *a, int i) { a[i] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { size_t i = get_global_id(0); a[i + 1] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { size_t i = get_global_id(0); f(&i); a[i] = 1; }", {.element = 0}},
        {"kernel void k(global int *a, int n) { a[n + get_global_id(0)] = 1; }",
         {.element = 4, .of_item = true, .plus = 2}},
        {"kernel void k(global int *a, int m, uint n) { size_t i = get_global_id(0) + n; if (i < m) a[i] = "
         "1; }",
         {.element = 4, .of_item = true, .plus = 3}},
        {"kernel void k(global int *a, int n) { int i = get_global_id(0); a[i + n] = a[n + i]; }",
         {.element = 4, .of_item = true, .plus = 2}},
        {"kernel void k(global int *a, int n) { n += 4; a[n + get_global_id(0)] = 1; }", {.element = 0}},
        {"kernel void k(global int *a, int n) { { int n = 4; a[n + get_global_id(0)] = 1; } }",
         {.element = 0}},
        {"kernel void k(global int *a, int n) { f(&n); a[n + get_global_id(0)] = 1; }", {.element = 0}},
        {"#define GO n++\nkernel void k(global int *a, int n) { GO; a[n + get_global_id(0)] = 1; }",
         {.element = 0}},
        {"kernel void k(global int *a, int m, int n) { a[m + get_global_id(0)] = a[n + get_global_id(0)]; }",
         {.element = 0}},
        {"kernel void k(global int *a, int n) { a[n + get_global_id(0)] = a[get_global_id(0)]; }",
         {.element = 0}},
        {"kernel void k(global int *a, global int *n) { a[n + get_global_id(0)] = 1; }", {.element = 0}},
        {"kernel void k(global int *a, int n) { size_t i = get_global_id(0) + n; a[i + n] = 1; }",
         {.element = 0}},
        {"kernel void k(global int *a, int n) { a[n * get_global_id(0)] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { a[0] = 1; f(a); }", {.element = 0}},
        {"kernel void k(global int *a) { f(&a[0]); }", {.element = 0}},
        {"kernel void k(global struct s *a) { a[0].x = 1; }", {.element = 0}},
        {"kernel void k(global long long *a) { a[0] = 1; }", {.element = 0}},
        {"kernel void k(global int **a) { a[0] = 0; }", {.element = 0}},
        {"#define int long\nkernel void k(global int *a) { a[0] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { a[0x10] = 1; }", {.element = 0}},
        {"kernel void k(global int *a) { a[0][1] = 1; }", {.element = 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_use use;
        plan_source_uses(cases[i].source, strlen(cases[i].source), "", "k", &use, 1);
        if (use.element != cases[i].use.element || use.of_item != cases[i].use.of_item ||
            use.plus != cases[i].use.plus || use.first != cases[i].use.first || use.end != cases[i].use.end)
            fail_msg("%s: %d %d %d %d", cases[i].source, use.element, use.of_item, (int)use.first,
                     (int)use.end);
    }
}

// Used by atomic functions, and in no other way.
static void test_atomics(void **state) {
    static const struct {
        const char *source;
        bool atomic;
    } cases[] = {
        {"kernel void k(global int *a) { atomic_inc(a); }", true},
        {"kernel void k(global int *a) { atomic_add(&a[get_global_id(0) % 7], 2); atom_inc(a + 3); }", true},
        {"kernel void k(global int *a) { atomic_inc(a); a[1] = 0; }", false},
        {"kernel void k(global int *a) { int x = a[0]; atomic_inc(a); }", false},
        {"kernel void k(global int *a) { f(a); }", false},
        {"kernel void k(global int *a) { }", false},
        {"kernel void k(global int *a, global int *b) { atomic_add(b, a[0]); }", false},
        {"kernel void k(global int *a) { atomic_init(a, 3); }", false},
        {"#define atomic_inc(p) (*(p))++\nkernel void k(global int *a) { atomic_inc(a); }", false},
        {"#define GO a[0] = 1\nkernel void k(global int *a) { atomic_inc(a); GO; }", false},
        {"kernel void k(global int *a) { global int *p = a; atomic_inc(a); }", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_use use;
        plan_source_uses(cases[i].source, strlen(cases[i].source), "", "k", &use, 1);
        if (use.atomic != cases[i].atomic)
            fail_msg("%s: %d", cases[i].source, use.atomic);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_source),
                                       cmocka_unit_test(test_elements), cmocka_unit_test(test_atomics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
