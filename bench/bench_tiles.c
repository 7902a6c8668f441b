// SPDX-License-Identifier: Apache-2.0
// Building the detail of a timeline (tracesmith/tiles.h) from the events of a trace, one core. Throughput is per second of processor
// time (user and system), the best of several rounds, so that a busy machine changes it little.
//
//     bench_tiles FILE.sbt [ROUNDS]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tracesmith/tracesmith.h"

enum { ROUNDS = 5 };

__attribute__((noreturn)) static void die(const char *what, const tsmith_error *error) {
    fprintf(stderr, "bench_tiles: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

static double cpu(void) {
    return (double)clock_now(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

// The columns that tiles are made of, decoded and not looked at.
static double decode(tsmith_sbt *trace) {
    static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION, TSMITH_FIELD_KIND,
                                      TSMITH_FIELD_NAME, TSMITH_FIELD_VALUE};
    const tsmith_scan scan = {
        .size = sizeof scan, .fields = fields, .field_count = sizeof fields / sizeof *fields};
    tsmith_source *source;
    const tsmith_batch *batch;
    tsmith_error error;
    const double begin = cpu();
    if (tsmith_sbt_scan(trace, &scan, &source, &error) != TSMITH_OK)
        die("scan", &error);
    tsmith_status status;
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK)
        continue;
    if (status < 0)
        die("scan", &error);
    tsmith_source_destroy(source);
    return cpu() - begin;
}

static double fill(tsmith_sbt *trace) {
    tsmith_tiles *tiles;
    tsmith_error error;
    const double begin = cpu();
    if (tsmith_tiles_create(trace, &tiles, &error) != TSMITH_OK || tsmith_tiles_fill(tiles, 0, &error) < 0)
        die("fill", &error);
    const double took = cpu() - begin;
    tsmith_tiles_destroy(tiles);
    return took;
}

int main(int argc, char **argv) {
    tsmith_sbt *trace;
    tsmith_error error;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_tiles FILE.sbt [ROUNDS]\n");
        return 2;
    }
    const int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    if (tsmith_sbt_open(argv[1], &trace, &error) != TSMITH_OK ||
        tsmith_sbt_summarize(trace, &summary, &error) != TSMITH_OK)
        die("open", &error);
    double decoded = 1e9, filled = 1e9;
    for (int i = 0; i < rounds; i++) {
        const double one = decode(trace), other = fill(trace);
        decoded = one < decoded ? one : decoded;
        filled = other < filled ? other : filled;
    }
    const double events = (double)summary.events;
    printf("decode   %.1f M events/s\n", events / decoded / 1e6);
    printf("detail   %.1f M events/s, decoding included (%.1f without)\n", events / filled / 1e6,
           events / (filled - decoded) / 1e6);
    tsmith_sbt_close(trace);
    return 0;
}
