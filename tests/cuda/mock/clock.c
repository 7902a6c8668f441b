// SPDX-License-Identifier: Apache-2.0
// The clock that the mock of the driver works by, and the one that CUPTI gives times on. They are CLOCK_REALTIME, unless
// the test wants to know every time exactly, or a clock that changes while CUDA initializes, as CUPTI's may:
//
//     MOCK_CLOCK=FROM-WHEN   FROM: the clock until then, `small` (counts from a second on) or `real`; it is the other one
//                              after it. WHEN: `init` (at the end of cuInit), `context` (in the first cuCtxCreate, before
//                              CUPTI's callback), `late` (after it), `kernel` (in the first launch), `never`.
//     MOCK_PPM=N             what both drift against CLOCK_MONOTONIC_RAW
//     MOCK_TRUTH=FILE        what was done when, one per line: what, correlation id, start and end on CLOCK_MONOTONIC_RAW
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mock.h"

static struct {
    bool exact, small_first;
    double drift;
    uint64_t began_raw, began_real, set_back;
    const char *when;
    FILE *truth;
} clocks;
static uint64_t (*_Atomic client)(void);
static uint64_t client_began, client_began_here; // both clocks when the client's was registered
static _Atomic uint64_t changed;                 // when CUPTI's clock changed, by the driver's

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

__attribute__((constructor)) static void read_settings(void) {
    const char *clock = getenv("MOCK_CLOCK"), *ppm = getenv("MOCK_PPM"), *truth = getenv("MOCK_TRUTH");
    clocks.began_raw = read_clock(CLOCK_MONOTONIC_RAW);
    clocks.began_real = read_clock(CLOCK_REALTIME);
    clocks.drift = ppm ? atof(ppm) * 1e-6 : 0;
    clocks.when = clock && strchr(clock, '-') ? strchr(clock, '-') + 1 : "never";
    clocks.small_first = clock && strncmp(clock, "small", 5) == 0;
    clocks.exact = clock != NULL;
    clocks.truth = clock && truth ? fopen(truth, "w") : NULL;
}

__attribute__((destructor)) static void close_truth(void) {
    if (clocks.truth)
        fclose(clocks.truth);
    clocks.truth = NULL;
}

uint64_t mock_time(void) {
    if (!clocks.exact)
        return read_clock(CLOCK_REALTIME) - clocks.set_back;
    const uint64_t since = read_clock(CLOCK_MONOTONIC_RAW) - clocks.began_raw;
    return clocks.began_real + since + (uint64_t)((double)since * clocks.drift);
}

void mock_clock_set(uint64_t now) {
    clocks.set_back = read_clock(CLOCK_REALTIME) - now;
}

void mock_clock_of_client(uint64_t (*clock)(void)) {
    client_began_here = mock_time();
    client_began = clock();
    atomic_store(&client, clock);
}

// By linear interpolation, as CUPTI does it.
static uint64_t time_of_client(uint64_t (*clock)(void), uint64_t time) {
    enum { ATTEMPTS = 20, CLOSE = 1000 };
    uint64_t here = 0, there = 0, width = UINT64_MAX;
    for (int i = 0; i < ATTEMPTS && width > CLOSE; i++) { // no interruption between the two
        const uint64_t before = mock_time(), now = clock(), after = mock_time();
        if (after - before < width) {
            width = after - before;
            here = before + width / 2;
            there = now;
        }
    }
    const double rate = (double)(there - client_began) / (double)(here - client_began_here + 1);
    return there + (uint64_t)(int64_t)((double)(int64_t)(time - here) * rate);
}

uint64_t mock_time_of_cupti(uint64_t time) {
    uint64_t (*const clock)(void) = atomic_load(&client);
    if (clock)
        return time_of_client(clock, time);
    const uint64_t change = atomic_load(&changed);
    if (!clocks.exact || (change && time >= change) != clocks.small_first)
        return time;
    return time - clocks.began_real + 1000000000u;
}

void mock_clock_changes(const char *when) {
    uint64_t never = 0;
    if (clocks.exact && strcmp(when, clocks.when) == 0)
        atomic_compare_exchange_strong(&changed, &never, mock_time());
}

static uint64_t raw(uint64_t time) {
    return clocks.began_raw + (uint64_t)((double)(time - clocks.began_real) / (1 + clocks.drift));
}

void mock_note(const char *what, uint32_t correlation, uint64_t start, uint64_t end) {
    if (clocks.truth)
        fprintf(clocks.truth, "%s %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", what, correlation, raw(start),
                raw(end));
}
