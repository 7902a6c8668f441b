// SPDX-License-Identifier: Apache-2.0
// What it costs to rebuild what the device did: timeline, graph, states and simulation of a trace of 1 million commands
// and 1 million calls, on 4 queues and 2 threads. Each figure is the median of 5 runs over the same batches, which
// are made before the clock starts; memory is the peak of the process, batches included.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "tracesmith/simulate.h"
#include "tracesmith/states.h"
#include "tracesmith/timeline.h"

enum { COMMANDS = 1000000, QUEUES = 4, THREADS = 2, RUNS = 5, BATCHES = 2 * COMMANDS / 50000 };

static tsmith_batch *batches[BATCHES];
static size_t batch_count;

static void check(tsmith_status status) {
    if (status < 0) {
        fprintf(stderr, "bench_state: %s\n", tsmith_status_text(status));
        exit(1);
    }
}

// Command i of a queue: launched 3 us after the one before, queued behind it, sometimes waiting for another queue's.
static void fill(tsmith_batch *batch, uint32_t track, bool queue, uint32_t lane, uint32_t from,
                 uint32_t count) {
    tsmith_batch_reset(batch, track);
    for (uint32_t i = from; i < from + count; i++) {
        uint32_t lanes = queue ? QUEUES : THREADS, number = i * lanes + lane;
        int64_t at = (int64_t)number * 3000 + (queue ? 9000 : 0);
        (void)tsmith_batch_append(batch, queue ? TSMITH_KIND_KERNEL : TSMITH_KIND_API, at);
        check(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, queue ? 11000 : 1500));
        check(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, (uint64_t)number + 1));
        if (queue && i % 16 == 0 && number > 10)
            check(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, (uint64_t[]){number - 8}, 1));
    }
    check(tsmith_batch_finish(batch));
}

static void make(tsmith_dictionary *dictionary) {
    uint32_t process = tsmith_dictionary_add_process(dictionary, &(tsmith_process){.pid = 1});
    uint32_t device = tsmith_dictionary_add_device(dictionary, &(tsmith_device){.compute_units = 1});
    for (uint32_t lane = 0; lane < QUEUES + THREADS; lane++) {
        bool queue = lane < QUEUES;
        tsmith_track entry = {.kind = queue ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_THREAD,
                              .process = process,
                              .device = queue ? device : 0};
        uint32_t track = tsmith_dictionary_add_track(dictionary, &entry);
        uint32_t total = COMMANDS / (queue ? (uint32_t)QUEUES : THREADS);
        for (uint32_t from = 0; from < total; from += 50000) {
            check(tsmith_batch_create(&batches[batch_count]));
            fill(batches[batch_count++], track, queue, queue ? lane : lane - QUEUES, from, 50000);
        }
    }
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(double *values) {
    qsort(values, RUNS, sizeof *values, by_value);
    return values[RUNS / 2];
}

static double since(int64_t start) {
    return (double)(clock_trace_now() - start) / 1e9;
}

int main(void) {
    tsmith_dictionary *dictionary;
    double timeline_time[RUNS], graph_time[RUNS], states_time[RUNS], model_time[RUNS], simulation_time[RUNS];
    uint64_t edges = 0;
    check(tsmith_dictionary_create(&dictionary));
    make(dictionary);
    for (int run = 0; run < RUNS; run++) {
        tsmith_timeline *timeline;
        tsmith_graph *graph;
        tsmith_states *states;
        int64_t start = clock_trace_now();
        check(tsmith_timeline_create(NULL, &timeline));
        for (size_t i = 0; i < batch_count; i++)
            check(tsmith_timeline_add(timeline, dictionary, batches[i], NULL));
        check(tsmith_timeline_finish(timeline, dictionary, NULL));
        timeline_time[run] = since(start);
        start = clock_trace_now();
        check(tsmith_graph_create(timeline, dictionary, &graph, NULL));
        graph_time[run] = since(start);
        start = clock_trace_now();
        check(tsmith_states_create(timeline, graph, &states, NULL));
        states_time[run] = since(start);
        tsmith_simulation *simulation;
        tsmith_simulated simulated = {.size = sizeof simulated};
        start = clock_trace_now();
        check(tsmith_simulation_create(timeline, graph, dictionary, &simulation, NULL));
        model_time[run] = since(start);
        start = clock_trace_now();
        check(tsmith_simulation_run(simulation, NULL, &simulated, NULL));
        simulation_time[run] = since(start);
        tsmith_simulation_destroy(simulation);
        edges = 0;
        for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
            edges += tsmith_graph_edge_count(graph, (tsmith_edge_kind)kind);
        tsmith_states_destroy(states);
        tsmith_graph_destroy(graph);
        tsmith_timeline_destroy(timeline);
    }
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double timeline = median(timeline_time), graph = median(graph_time), states = median(states_time);
    printf("timeline of 1 M commands + 1 M calls: %.3f s (%.1f M events/s)\n", timeline,
           2.0 * COMMANDS / 1e6 / timeline);
    printf("graph of them, %.1f M edges:          %.3f s (%.1f M commands/s)\n", (double)edges / 1e6, graph,
           COMMANDS / 1e6 / graph);
    printf("states of them:                       %.3f s (%.1f M commands/s)\n", states,
           COMMANDS / 1e6 / states);
    printf("model of a simulation, calibrated:    %.3f s\n", median(model_time));
    printf("simulated once more:                  %.3f s\n", median(simulation_time));
    printf("peak memory:                          %ld MB\n", usage.ru_maxrss / 1024);
    for (size_t i = 0; i < batch_count; i++)
        tsmith_batch_destroy(batches[i]);
    tsmith_dictionary_destroy(dictionary);
    return 0;
}
