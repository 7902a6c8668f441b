// SPDX-License-Identifier: Apache-2.0
// Clocks of several machines, simulated: what conditions say of their offsets holds, in each of many trials, and is as tight as it can
// be. `host_clocks solve` reads conditions and writes the answer, for test_host_clocks_reference.sh.
#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "state/host_orders.h"

enum { CLOCKS_MOST = 4, TRIALS = 1000 };
static const int64_t SECOND = 1000000000;

// A clock that shows offset + (1 + rate) * time, and `later` more in the second half of the run.
struct simulated {
    int64_t offset;
    double rate, later;
};

struct run {
    struct simulated clocks[CLOCKS_MOST];
    uint32_t count;
    int64_t length; // ns
    struct random random;
    struct host_clocks *solver;
};

static double uniform(struct run *run) {
    return (double)random_below(&run->random, 1u << 30) / (1u << 30);
}

static double read_clock(const struct run *run, uint32_t clock, double time) {
    const struct simulated *one = &run->clocks[clock];
    const double half = (double)run->length / 2;
    return time * (1 + one->rate) + (time > half ? (time - half) * one->later : 0);
}

static int64_t shown(const struct run *run, uint32_t clock, double time) {
    return run->clocks[clock].offset + (int64_t)floor(read_clock(run, clock, time));
}

// Clock minus clock 0 at a time, ns.
static double truth(const struct run *run, uint32_t clock, double time) {
    return (double)(run->clocks[clock].offset - run->clocks[0].offset) +
           (read_clock(run, clock, time) - read_clock(run, 0, time));
}

static struct run begin(uint64_t seed, uint32_t count, int64_t length, double rate) {
    struct run run = {.count = count, .length = length, .random = {seed}};
    for (uint32_t i = 0; i < count; i++)
        run.clocks[i] = (struct simulated){(int64_t)random_below(&run.random, 1000000) * SECOND,
                                           (2 * uniform(&run) - 1) * rate, 0};
    run.solver = host_clocks_create(count);
    assert_non_null(run.solver);
    return run;
}

static void add(struct run *run, const struct host_condition *condition) {
    assert_true(host_clocks_add(run->solver, condition));
}

// One probe of b by a: the ways take at least `least` ns, and as long again or much longer, each by its own.
static void probe(struct run *run, uint32_t a, uint32_t b, double time, double least) {
    const double there = least * (1 + pow(uniform(run), 8) * 50),
                 back = least * (1 + pow(uniform(run), 8) * 50);
    const int64_t sent = shown(run, a, time - there), got = shown(run, a, time + back),
                  met = shown(run, b, time);
    add(run, &(struct host_condition){a, b, HOST_CLOCKS_PROBE, sent + (got - sent) / 2, met, met - got - 1,
                                      met - sent + 1});
}

// Something that a did before something that b did; how long before is not known to the solver.
static void event(struct run *run, uint32_t a, uint32_t b, double time, double before) {
    const int64_t first = shown(run, a, time - before), second = shown(run, b, time);
    add(run,
        &(struct host_condition){a, b, HOST_CLOCKS_MESSAGES, first, second, INT64_MIN, second - first + 1});
}

static void solve(struct run *run) {
    assert_true(host_clocks_solve(run->solver, shown(run, 0, 0), shown(run, 0, (double)run->length)));
}

// Returns the largest bound, ns.
static double check(const struct run *run, uint32_t clock) {
    double bound = 0;
    for (int i = 0; i <= 100; i++) {
        const double time = (double)run->length * i / 100;
        const struct host_offset offset = host_clocks_offset(run->solver, clock, shown(run, 0, time));
        assert_true(offset.is_known);
        assert_true((double)offset.low <= truth(run, clock, time) + 1 &&
                    truth(run, clock, time) - 1 <= (double)offset.high);
        bound = fmax(bound, (double)(offset.high - offset.low) / 2);
    }
    return bound;
}

static size_t contradictions(const struct run *run) {
    size_t count;
    host_clocks_contradictions(run->solver, &count);
    return count;
}

static void the_error_is_below_the_bound(void **unused) {
    (void)unused;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        struct run run =
            begin(trial + 1, 2 + (uint32_t)trial % 3, (1 + (int64_t)(trial % 5)) * 20 * SECOND, 50e-6);
        for (int i = 0; i < 60; i++) {
            const double time = (double)run.length * uniform(&run);
            for (uint32_t b = 1; b < run.count; b++)
                for (uint32_t a = trial % 2 ? b - 1 : 0; a < b; a++)
                    probe(&run, a, b, time, 3000 + 1000 * b);
            event(&run, 0, run.count - 1, time, 100000 * uniform(&run));
            event(&run, run.count - 1, 0, time, 100000 * uniform(&run));
        }
        solve(&run);
        assert_int_equal(contradictions(&run), 0);
        for (uint32_t i = 1; i < run.count; i++) {
            assert_true(check(&run, i) < 100000);
            assert_true(host_clocks_is_measured(run.solver, i));
        }
        host_clocks_destroy(run.solver);
    }
}

// 50 ppm over ten minutes, a probe each second, ways of 4 us at least: within 20 us at all times.
static void drift_is_followed(void **unused) {
    (void)unused;
    for (uint64_t trial = 0; trial < 50; trial++) {
        struct run run = begin(trial + 1, 2, 600 * SECOND, 0);
        run.clocks[1].rate = trial % 2 ? 50e-6 : -50e-6;
        run.clocks[1].later = trial % 4 < 2 ? 0 : 2e-6; // then in two parts
        for (int second = 0; second < 600; second++)
            probe(&run, 0, 1, ((double)second + uniform(&run)) * 1e9, 4000);
        solve(&run);
        assert_int_equal(contradictions(&run), 0);
        assert_true(check(&run, 1) <= 20000);
        host_clocks_destroy(run.solver);
    }
}

static void events_alone_bound(void **unused) {
    (void)unused;
    struct run run = begin(3, 3, 10 * SECOND, 20e-6);
    for (int i = 0; i < 50; i++) {
        event(&run, 0, 1, 2e8 * i + 1e8, 1000);
        event(&run, 1, 0, 2e8 * i + 1.5e8, 3000);
        event(&run, 0, 2, 2e8 * i + 1e8, 1000); // and nothing comes back from clock 2
    }
    solve(&run);
    assert_true(check(&run, 1) <= 3000);
    assert_int_equal(host_clocks_sources(run.solver, 1), HOST_CLOCKS_MESSAGES);
    assert_true(host_clocks_is_measured(run.solver, 1));
    assert_false(host_clocks_is_measured(run.solver, 2));
    assert_false(host_clocks_offset(run.solver, 2, run.clocks[0].offset).is_known);
    assert_int_equal(host_clocks_sources(run.solver, 2), 0);
    host_clocks_destroy(run.solver);
}

// Messages say only in one direction when the other has collectives alone.
static void collectives_alone_measure_nothing(void **unused) {
    (void)unused;
    struct run run = begin(3, 3, 10 * SECOND, 20e-6);
    for (int i = 0; i < 50; i++) {
        const int64_t first = shown(&run, 1, 2e8 * i), second = shown(&run, 0, 2e8 * i + 1000);
        add(&run, &(struct host_condition){1, 0, HOST_CLOCKS_COLLECTIVES, first, second, INT64_MIN,
                                           second - first});
        event(&run, 0, 1, 2e8 * i + 1e8, 1000);
    }
    solve(&run);
    assert_true(check(&run, 1) <= 1100);
    assert_int_equal(host_clocks_sources(run.solver, 1), HOST_CLOCKS_MESSAGES | HOST_CLOCKS_COLLECTIVES);
    assert_false(host_clocks_is_measured(run.solver, 1));
    host_clocks_destroy(run.solver);
}

// ---- orders

static size_t kept(const struct host_orders *orders) {
    size_t count = 0;
    for (size_t i = 0; i < orders->count; i++)
        count += orders->lists[i].count;
    return count;
}

// Half of the messages go each way; they take 2 us and up.
static void add_orders(struct run *run, struct host_orders *orders, struct host_clocks *all, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t from = i % 2 ? 1 + (uint32_t)(i / 2 % (run->count - 1)) : 0,
                       to = i % 2 ? 0 : 1 + (uint32_t)(i / 2 % (run->count - 1));
        const double time = (double)run->length * uniform(run), way = 2000 + 1e6 * pow(uniform(run), 2);
        const int64_t sent = shown(run, from, time - way), got = shown(run, to, time);
        assert_true(host_orders_add(orders, from, sent, to, got, HOST_CLOCKS_MESSAGES));
        if (all)
            assert_true(host_clocks_add(all, &(struct host_condition){from, to, HOST_CLOCKS_MESSAGES, sent,
                                                                      got, INT64_MIN, got - sent}));
    }
}

// In a run of one part what is kept gives the bounds that all orders give.
static void hulls_lose_nothing(void **unused) {
    (void)unused;
    for (uint64_t trial = 0; trial < 20; trial++) {
        struct run run = begin(trial + 1, 2, 15 * SECOND, 50e-6), all = run;
        struct host_orders orders = {0};
        all.solver = host_clocks_create(run.count);
        assert_non_null(all.solver);
        add_orders(&run, &orders, all.solver, 20000);
        assert_true(host_orders_give(&orders, run.solver));
        assert_true(kept(&orders) < 1000);
        solve(&run);
        solve(&all);
        assert_int_equal(contradictions(&run), 0);
        assert_true(check(&run, 1) <= 6000);
        for (int64_t at = 0; at <= 15; at++) {
            const struct host_offset some =
                                         host_clocks_offset(run.solver, 1, shown(&run, 0, (double)at * 1e9)),
                                     every =
                                         host_clocks_offset(all.solver, 1, shown(&run, 0, (double)at * 1e9));
            assert_true(is_between(some.low - every.low + 3, 0, 6));
            assert_true(is_between(some.high - every.high + 3, 0, 6));
        }
        host_orders_finish(&orders);
        host_clocks_destroy(run.solver);
        host_clocks_destroy(all.solver);
    }
}

// A million messages in ten minutes, between clocks whose rates change.
static void orders_are_bounded(void **unused) {
    (void)unused;
    struct run run = begin(9, 4, 600 * SECOND, 50e-6);
    struct host_orders orders = {0};
    run.clocks[1].later = 2e-6;
    run.clocks[2].later = -1e-6;
    add_orders(&run, &orders, NULL, 1000000);
    assert_int_equal(orders.count, 6);
    for (size_t i = 0; i < orders.count; i++)
        assert_true(is_between(orders.lists[i].count, 1, HOST_ORDERS_OF_PAIR));
    assert_true(host_orders_give(&orders, run.solver));
    solve(&run);
    assert_int_equal(contradictions(&run), 0);
    for (uint32_t i = 1; i < 4; i++)
        assert_true(check(&run, i) <= 20000);
    host_orders_finish(&orders);
    host_clocks_destroy(run.solver);
}

// All on one hull, at the ends of time, and of many pairs: memory is bounded.
static void absurd_orders(void **unused) {
    (void)unused;
    struct host_orders orders = {0};
    struct random random = {7};
    struct host_clocks *clocks = host_clocks_create(300);
    assert_non_null(clocks);
    for (int64_t i = -50000; i < 50000; i++)
        assert_true(host_orders_add(&orders, 0, i * 65536, 1, i * 65536 + i * i, HOST_CLOCKS_MESSAGES));
    assert_true(is_between(orders.lists[0].count, 1, HOST_ORDERS_OF_PAIR));
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t mask = UINT64_MAX >> random_below(&random, 60);
        assert_true(host_orders_add(
            &orders, (uint32_t)random_below(&random, 300), (int64_t)(random_next(&random) & mask),
            (uint32_t)random_below(&random, 2), (int64_t)random_next(&random), HOST_CLOCKS_COLLECTIVES));
    }
    assert_true(kept(&orders) < 300000);
    assert_true(host_orders_give(&orders, clocks));
    host_orders_finish(&orders);
    host_clocks_destroy(clocks);
}

// A clock that jumps in the middle of the run: two conditions that no clocks satisfy, and which they are.
static void a_step_is_a_contradiction(void **unused) {
    (void)unused;
    struct run run = begin(4, 3, 60 * SECOND, 10e-6);
    for (int second = 0; second < 60; second++) {
        run.clocks[1].offset += second == 30 ? 5 * SECOND : 0;
        probe(&run, 0, 1, ((double)second + 0.5) * 1e9, 4000);
        probe(&run, 0, 2, ((double)second + 0.6) * 1e9, 4000);
    }
    solve(&run);
    size_t count;
    const struct host_contradiction *found = host_clocks_contradictions(run.solver, &count);
    assert_int_equal(count, 1);
    assert_int_equal(found->count, 2);
    assert_int_equal(found->first.a, 0);
    assert_int_equal(found->first.b, 1);
    assert_true(found->first.at_a > found->second.at_a && found->first.low > found->second.high);
    assert_true(found->by > 5 * SECOND - 60 * 1000000 && found->by < 5 * SECOND + 60 * 1000000);
    assert_false(host_clocks_offset(run.solver, 1, run.clocks[0].offset).is_known);
    assert_true(check(&run, 2) < 30000); // the other clock is known
    host_clocks_destroy(run.solver);
}

// Each pair for itself is consistent, and the three together are not.
static void a_triangle_is_a_contradiction(void **unused) {
    (void)unused;
    struct run run = begin(5, 4, 60 * SECOND, 10e-6);
    for (int second = 0; second < 60; second++) {
        const double time = ((double)second + 0.5) * 1e9;
        probe(&run, 0, 1, time, 4000);
        probe(&run, 0, 2, time, 4000);
        run.clocks[2].offset += 1000000;
        probe(&run, 1, 2, time, 4000);
        run.clocks[2].offset -= 1000000;
        probe(&run, 0, 3, time, 4000);
    }
    solve(&run);
    size_t count;
    const struct host_contradiction *found = host_clocks_contradictions(run.solver, &count);
    assert_int_equal(count, 1);
    assert_int_equal(found->count, 3);
    for (uint32_t clock = 0; clock < 3; clock++)
        assert_true(found->clocks[0] == clock || found->clocks[1] == clock || found->clocks[2] == clock);
    assert_true(is_between(found->by, 900000, 1000000));
    assert_false(host_clocks_offset(run.solver, 1, run.clocks[0].offset).is_known);
    assert_true(check(&run, 3) < 30000);
    host_clocks_destroy(run.solver);
}

static void absurd_conditions(void **unused) {
    (void)unused;
    for (uint64_t trial = 0; trial < 300; trial++) {
        struct run run = {.count = 4, .random = {trial + 1}, .solver = host_clocks_create(4)};
        for (uint64_t i = 0; i < trial; i++) {
            const uint64_t mask = UINT64_MAX >> random_below(&run.random, 60);
            add(&run, &(struct host_condition){
                          (uint32_t)random_below(&run.random, 4), (uint32_t)random_below(&run.random, 4),
                          HOST_CLOCKS_MESSAGES, (int64_t)random_next(&run.random),
                          (int64_t)random_next(&run.random), (int64_t)(random_next(&run.random) & mask),
                          (int64_t)(random_next(&run.random) & mask)});
        }
        assert_true(host_clocks_solve(run.solver, (int64_t)random_next(&run.random),
                                      (int64_t)random_next(&run.random)));
        for (uint32_t i = 0; i < 4; i++)
            host_clocks_offset(run.solver, i, (int64_t)random_next(&run.random));
        host_clocks_destroy(run.solver);
    }
}

// COUNT FROM TO, then a line per condition: A B SOURCE AT_A AT_B LOW HIGH. Writes five moments, and contradictions.
static int solve_input(void) {
    uint32_t count;
    int64_t from, to;
    struct host_condition one;
    if (scanf("%" SCNu32 " %" SCNd64 " %" SCNd64, &count, &from, &to) != 3)
        return 1;
    struct host_clocks *clocks = host_clocks_create(count);
    while (scanf("%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &one.a,
                 &one.b, &one.source, &one.at_a, &one.at_b, &one.low, &one.high) == 7)
        host_clocks_add(clocks, &one);
    if (!host_clocks_solve(clocks, from, to))
        return 1;
    for (int64_t i = 0; i < 5; i++)
        for (uint32_t clock = 0; clock < count; clock++) {
            const struct host_offset offset = host_clocks_offset(clocks, clock, from + (to - from) / 4 * i);
            printf("%d %" PRId64 " %" PRId64 "\n", offset.is_known, offset.low, offset.high);
        }
    size_t found_count;
    const struct host_contradiction *found = host_clocks_contradictions(clocks, &found_count);
    for (size_t i = 0; i < found_count; i++)
        printf("contradiction %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 "\n", found[i].count,
               found[i].first.a, found[i].first.b, found[i].by);
    host_clocks_destroy(clocks);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "solve") == 0)
        return solve_input();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_below_the_bound),
        cmocka_unit_test(drift_is_followed),
        cmocka_unit_test(events_alone_bound),
        cmocka_unit_test(collectives_alone_measure_nothing),
        cmocka_unit_test(hulls_lose_nothing),
        cmocka_unit_test(orders_are_bounded),
        cmocka_unit_test(absurd_orders),
        cmocka_unit_test(a_step_is_a_contradiction),
        cmocka_unit_test(a_triangle_is_a_contradiction),
        cmocka_unit_test(absurd_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
