// SPDX-License-Identifier: Apache-2.0
// From addresses to names: what the tables of a module take, how many distinct addresses a second are looked up in them, and
// what a trace of a million stacks, each with an innermost frame of its own, takes as a whole. Smallest of several runs.
//
//     bench_symbols [FILE...]     of libc when no file is given
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbols/symbols.h"
#include "tracesmith/stacks.h"

enum { ROUNDS = 15, ADDRESSES = 1 << 20, STACKS = 1000000 };

static volatile uint64_t sink;

static double ms_since(int64_t start) {
    return (double)(clock_now(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e6;
}

// An address that has lines, so that the first answer is a whole one: one in the middle of the code.
static uint64_t choose_one(struct symbols *symbols) {
    struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
    uint64_t found = 0;
    for (uint64_t at = 0x1000, end = 4 << 20; symbols && at < end; at += 0x1001)
        if (symbols_find(symbols, at, frames, SYMBOLS_DEPTH_MAX) && frames[0].file &&
            (!found || at < end / 4))
            found = at;
    return found;
}

// With symbols from other files, or from the file alone; and up to the first answer, by processor time and wall time.
static void measure_tables(const char *path, bool whole) {
    double least = 1e9, answer = 1e9, answer_wall = 1e9;
    size_t count = 0;
    bool lines = false;
    uint64_t address = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < ROUNDS; i++) {
        enum symbols_state state;
        struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
        int64_t start = clock_now(CLOCK_PROCESS_CPUTIME_ID), wall = clock_now(CLOCK_MONOTONIC);
        struct symbols *symbols = whole ? symbols_open(path, NULL, &state) : symbols_open_fd(fd, -1, &state);
        double took = ms_since(start);
        least = took < least ? took : least;
        sink += symbols && address ? symbols_find(symbols, address, frames, SYMBOLS_DEPTH_MAX) : 0;
        took = ms_since(start);
        answer = address && took < answer ? took : answer;
        took = (double)(clock_now(CLOCK_MONOTONIC) - wall) / 1e6;
        answer_wall = address && took < answer_wall ? took : answer_wall;
        count = symbols ? symbols_count(symbols) : 0;
        lines = symbols && symbols_have_lines(symbols);
        if (!address)
            address = choose_one(symbols);
        symbols_close(symbols);
    }
    printf("%s%s: tables of %zu functions%s in %.2f ms", path, whole ? ", with its debug file" : "", count,
           lines ? " and the ranges of all units" : "", least);
    if (address)
        printf("; up to the first answer with lines %.2f ms, %.2f by the clock", answer, answer_wall);
    printf("\n");
    (void)close(fd);
}

// Addresses, spread over the file's code, in no order.
static size_t choose(struct symbols *symbols, uint64_t *addresses, size_t limit) {
    struct symbols_frame frame;
    uint64_t step = 3, end = 64 << 20, count = 0;
    for (uint64_t at = 0x1000; at < end && count < limit; at += step)
        if (symbols_find(symbols, at, &frame, 1))
            addresses[count++] = at;
    for (uint64_t i = count, random = 88172645463325252u; i > 1; i--) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t other = random % i, kept = addresses[i - 1];
        addresses[i - 1] = addresses[other];
        addresses[other] = kept;
    }
    return count;
}

static void measure_look_up(const char *path) {
    enum symbols_state state;
    struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
    struct symbols *symbols = symbols_open(path, NULL, &state);
    uint64_t *addresses = malloc(ADDRESSES * sizeof *addresses);
    if (symbols && addresses) {
        int64_t begun = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        size_t count = choose(symbols, addresses, ADDRESSES), found = 0;
        double first = ms_since(begun), least = 1e9;
        for (int i = 0; i < ROUNDS && count; i++) {
            int64_t start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
            found = 0;
            for (size_t k = 0; k < count; k++)
                found += symbols_find(symbols, addresses[k], frames, SYMBOLS_DEPTH_MAX);
            double took = ms_since(start);
            least = took < least ? took : least;
        }
        sink += found;
        printf(
            "    %zu distinct addresses, %zu functions: %.2f M addresses/s; the first time, with all units "
            "read, %.0f ms\n",
            count, found, (double)count / least / 1e3, first);
    }
    free(addresses);
    symbols_close(symbols);
}

static void measure_trace(char **paths, int path_count) {
    double least = 1e9;
    tsmith_symbolize_counts counts = {.size = sizeof counts};
    const tsmith_symbolize_options live = {sizeof live, 1};
    for (int i = 0; i < 5; i++) {
        tsmith_dictionary *dictionary;
        if (tsmith_dictionary_create(&dictionary) != TSMITH_OK)
            return;
        for (uint32_t k = 0; k < STACKS; k++) {
            tsmith_module module = {
                .path = tsmith_dictionary_intern_cstr(dictionary, paths[k % (uint32_t)path_count])};
            tsmith_frame frame = {.module = tsmith_dictionary_intern_module(dictionary, &module),
                                  .address = 0x28000 + k / (uint32_t)path_count};
            tsmith_stack stack = {k / 2, tsmith_dictionary_intern_frame(dictionary, &frame)};
            (void)tsmith_dictionary_add_stack(dictionary, &stack);
        }
        int64_t start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        (void)tsmith_dictionary_symbolize(dictionary, &live, &counts, NULL);
        double took = ms_since(start);
        least = took < least ? took : least;
        tsmith_dictionary_destroy(dictionary);
    }
    printf("a trace of %d stacks, %llu frames, of which %llu have a name: %.0f ms\n", STACKS,
           (unsigned long long)counts.frames, (unsigned long long)counts.named, least);
}

static int take_libc(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so.6"))
        return 0;
    (void)snprintf(context, 4096, "%s", info->dlpi_name);
    return 1;
}

int main(int argc, char **argv) {
    static char libc[4096];
    char *found[] = {libc};
    dl_iterate_phdr(take_libc, libc);
    char **paths = argc > 1 ? argv + 1 : found;
    int count = argc > 1 ? argc - 1 : 1;
    for (int i = 0; i < count; i++) {
        measure_tables(paths[i], false);
        measure_tables(paths[i], true);
        measure_look_up(paths[i]);
    }
    measure_trace(paths, count);
    return 0;
}
