// SPDX-License-Identifier: Apache-2.0
//
// emit_events: puts a program's own events into a trace. Threads compute a picture of the Mandelbrot set
// tile by tile, and the trace shows what each was doing: nested ranges, a counter of tiles left, a marker
// for every tile that took unusually many steps, and one device-like event per tile with sizes and a field
// of the program's own, on a row of its own.
//
//   emit_events [-o FILE] [-t THREADS] [-n TILES_PER_SIDE] [--overflow drop-newest|drop-oldest|block]
//   tracesmith view --timeline emit_events.sbt
//
// It prints what it emitted, so that the trace can be compared with it.

#include "tracesmith/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { THREADS_MAX = 64, TILES_MAX = 512, TILE_PIXELS = 64, STEPS_MAX = 400 };

struct options {
    const char *path;
    unsigned threads;
    unsigned tiles_per_side;
    tsmith_overflow overflow;
};

// Everything that is registered once, before the threads start.
struct names {
    uint32_t tile, compute, encode, busy_tile, tiles_left, kernel, device, steps;
};

struct job {
    tsmith_session *session;
    struct names names;
    unsigned tiles_per_side;
    atomic_uint next_tile;
    atomic_uint workers;
    atomic_uint ranges, marks, counts, device_events;
    atomic_ullong checksum;
};

// How many steps the point takes to leave the circle of radius 2; STEPS_MAX when it stays.
static unsigned escape(double cx, double cy) {
    double x = 0;
    double y = 0;
    unsigned steps = 0;
    while (steps < STEPS_MAX && x * x + y * y < 4) {
        const double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        steps++;
    }
    return steps;
}

static uint64_t compute_tile(const struct job *job, unsigned tile, uint16_t *pixels) {
    const unsigned side = job->tiles_per_side * TILE_PIXELS;
    const unsigned left = tile % job->tiles_per_side * TILE_PIXELS;
    const unsigned top = tile / job->tiles_per_side * TILE_PIXELS;
    uint64_t steps = 0;
    for (unsigned y = 0; y < TILE_PIXELS; y++)
        for (unsigned x = 0; x < TILE_PIXELS; x++) {
            const unsigned here = escape(3.0 * (left + x) / side - 2.25, 3.0 * (top + y) / side - 1.5);
            pixels[y * TILE_PIXELS + x] = (uint16_t)here;
            steps += here;
        }
    return steps;
}

// Represents writing the tile: run lengths are counted and discarded.
static unsigned encode_tile(const uint16_t *pixels) {
    unsigned runs = 1;
    for (unsigned i = 1; i < TILE_PIXELS * TILE_PIXELS; i++)
        runs += pixels[i] != pixels[i - 1];
    return runs;
}

// The tile as an event of a device: when, how long, how large, and a number only this program knows.
static void emit_tile(struct job *job, int64_t start, int64_t end, uint64_t steps) {
    const tsmith_value values[] = {
        {TSMITH_FIELD_GLOBAL_X, TILE_PIXELS},
        {TSMITH_FIELD_GLOBAL_Y, TILE_PIXELS},
        {TSMITH_FIELD_BYTES, TILE_PIXELS * TILE_PIXELS * sizeof(uint16_t)},
        {job->names.steps, steps},
    };
    tsmith_emit(job->session, TSMITH_KIND_KERNEL, job->names.device, job->names.kernel, start, end - start,
                values, sizeof values / sizeof values[0]);
    atomic_fetch_add(&job->device_events, 1);
}

static void work_on(struct job *job, unsigned tile) {
    tsmith_session *session = job->session;
    const unsigned tiles = job->tiles_per_side * job->tiles_per_side;
    uint16_t pixels[TILE_PIXELS * TILE_PIXELS];

    tsmith_range_begin(session, job->names.tile);
    const int64_t start = tsmith_session_now(session);
    tsmith_range_begin(session, job->names.compute);
    const uint64_t steps = compute_tile(job, tile, pixels);
    tsmith_range_end(session);
    emit_tile(job, start, tsmith_session_now(session), steps);

    tsmith_range_begin(session, job->names.encode);
    const unsigned runs = encode_tile(pixels);
    tsmith_range_end(session);
    if (steps > (uint64_t)TILE_PIXELS * TILE_PIXELS * STEPS_MAX / 2) {
        tsmith_mark(session, job->names.busy_tile);
        atomic_fetch_add(&job->marks, 1);
    }
    tsmith_count(session, job->names.tiles_left, (double)(tiles - tile - 1));
    tsmith_range_end(session);

    atomic_fetch_add(&job->checksum, steps * 31 + runs);
    atomic_fetch_add(&job->counts, 1);
    atomic_fetch_add(&job->ranges, 3);
}

static void *work(void *argument) {
    struct job *job = argument;
    const unsigned tiles = job->tiles_per_side * job->tiles_per_side;
    char name[16];
    snprintf(name, sizeof name, "worker %u", atomic_fetch_add(&job->workers, 1) + 1);
    prctl(PR_SET_NAME, name); // the thread's row of the timeline takes this name
    for (unsigned tile; (tile = atomic_fetch_add(&job->next_tile, 1)) < tiles;)
        work_on(job, tile);
    return NULL;
}

static void register_names(struct job *job) {
    tsmith_session *session = job->session;
    job->names = (struct names){
        .tile = tsmith_session_name(session, "tile"),
        .compute = tsmith_session_name(session, "compute"),
        .encode = tsmith_session_name(session, "encode"),
        .busy_tile = tsmith_session_name(session, "busy tile"),
        .tiles_left = tsmith_session_name(session, "tiles left"),
        .kernel = tsmith_session_name(session, "mandelbrot_tile"),
        .device = tsmith_session_track(session, "mandelbrot engine"),
        .steps = tsmith_session_field(session, "steps", TSMITH_TYPE_U64, "steps"),
    };
}

static bool run_threads(struct job *job, unsigned count) {
    pthread_t threads[THREADS_MAX];
    unsigned started = 0;
    for (; started < count; started++) {
        const int failed = pthread_create(&threads[started], NULL, work, job);
        if (failed) {
            fprintf(stderr, "emit_events: cannot start thread %u: %s\n", started, strerror(failed));
            break;
        }
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return started == count;
}

static unsigned number(const char *option, const char *word, unsigned high) {
    char *end = NULL;
    const unsigned long value = word ? strtoul(word, &end, 10) : 0;
    if (!word || *end != '\0' || value == 0 || value > high) {
        fprintf(stderr, "emit_events: %s takes a number from 1 to %u\n", option, high);
        exit(2);
    }
    return (unsigned)value;
}

static struct options parse(int argc, char **argv) {
    struct options options = {"emit_events.sbt", 4, 16, TSMITH_OVERFLOW_DROP_NEWEST};
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "-o") == 0 && argv[i + 1])
            options.path = argv[i + 1];
        else if (strcmp(argv[i], "-t") == 0)
            options.threads = number("-t", argv[i + 1], THREADS_MAX);
        else if (strcmp(argv[i], "-n") == 0)
            options.tiles_per_side = number("-n", argv[i + 1], TILES_MAX);
        else if (strcmp(argv[i], "--overflow") != 0 || !argv[i + 1] ||
                 !tsmith_overflow_find(argv[i + 1], &options.overflow)) {
            fprintf(stderr, "usage: emit_events [-o FILE] [-t THREADS] [-n TILES_PER_SIDE]\n"
                            "                   [--overflow drop-newest|drop-oldest|block]\n");
            exit(2);
        }
    }
    return options;
}

int main(int argc, char **argv) {
    const struct options options = parse(argc, argv);
    static struct job job;
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    if (tsmith_session_start(&(tsmith_session_options){.size = sizeof(tsmith_session_options),
                                                       .path = options.path,
                                                       .overflow = options.overflow},
                             &job.session, &error) < 0) {
        fprintf(stderr, "emit_events: %s\n", error.message);
        return 1;
    }
    job.tiles_per_side = options.tiles_per_side;
    register_names(&job);
    const bool complete = run_threads(&job, options.threads);
    if (tsmith_session_stop(job.session, &statistics, &error) < 0) {
        fprintf(stderr, "emit_events: %s\n", error.message);
        return 1;
    }
    printf("{\"program\":\"emit_events\",\"threads\":%u,\"ranges\":%u,\"marks\":%u,"
           "\"counts\":%u,"
           "\"device_events\":%u,\"checksum\":%llu,\"emitted\":%llu,\"kept\":%llu,\"dropped\":%llu}\n",
           options.threads, job.ranges, job.marks, job.counts, job.device_events, job.checksum,
           (unsigned long long)statistics.emitted, (unsigned long long)statistics.kept,
           (unsigned long long)statistics.dropped);
    return complete && statistics.emitted == statistics.kept + statistics.dropped ? 0 : 1;
}
