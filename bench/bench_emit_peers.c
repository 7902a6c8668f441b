// SPDX-License-Identifier: Apache-2.0
// bench_emit's loop through other tracers, on one thread: LTTng-UST (a session in overwrite mode, so that no consumer
// runs meanwhile; and its disabled site), OTF2 (enter and leave, with the same clock read per event). Median of
// RUNS runs, time of the emitting thread.
// usage: bench_emit_peers [EVENTS per run]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#if defined(TRACESMITH_LTTNG_UST)
#include <spawn.h>
#include <sys/wait.h>
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include "emit_lttng.h"
#pragma GCC diagnostic pop
#endif
#if defined(TRACESMITH_OTF2)
#include <otf2/otf2.h>
#endif

enum { RUNS = 5 };

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

#if defined(TRACESMITH_LTTNG_UST) || defined(TRACESMITH_OTF2)
static double median(double (*run)(uint64_t), uint64_t events) {
    double runs[RUNS];
    for (int i = 0; i < RUNS; i++)
        runs[i] = run(events);
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}
#endif

#if defined(TRACESMITH_LTTNG_UST)
extern char **environ;

static bool lttng(const char *const *words) {
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", 1, 0);
    if (posix_spawnp(&pid, "lttng", &quiet, NULL, (char *const *)(uintptr_t)words, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&quiet);
    return status == 0;
}

static double run_lttng(uint64_t events) {
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < events; i++)
        lttng_ust_tracepoint(tracesmith_bench, mark, (uint32_t)i & 3);
    return (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - begun) / (double)events;
}

static void measure_lttng(uint64_t events) {
    printf("LTTng-UST, disabled site  %6.2f ns\n", median(run_lttng, events));
    const char *const create[] = {"lttng", "create", "tracesmith-bench", "--snapshot", NULL};
    const char *const enable[] = {"lttng", "enable-event", "-u", "tracesmith_bench:mark", NULL};
    const char *const start[] = {"lttng", "start", NULL};
    const char *const destroy[] = {"lttng", "destroy", "tracesmith-bench", NULL};
    bool running = lttng(create) && lttng(enable) && lttng(start);
    if (running) {
        run_lttng(10000); // its buffers exist
        printf("LTTng-UST, mark           %6.2f ns\n", median(run_lttng, events / 4));
    } else {
        printf("LTTng-UST, mark           not measured: no session (Debian: apt install lttng-tools)\n");
    }
    lttng(destroy);
}
#endif

#if defined(TRACESMITH_OTF2)
static OTF2_FlushType on_flush(void *context, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                               bool final) {
    (void)context, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp after_flush(void *context, OTF2_FileType type, OTF2_LocationRef location) {
    (void)context, (void)type, (void)location;
    return (OTF2_TimeStamp)clock_trace_now();
}

static double run_otf2(uint64_t events) {
    static const OTF2_FlushCallbacks flush = {on_flush, after_flush};
    char folder[] = "/dev/shm/bench-otf2-XXXXXX";
    bool tsc = clock_tick_is_tsc();
    if (!mkdtemp(folder))
        exit(1);
    OTF2_Archive *archive = OTF2_Archive_Open(folder, "bench", OTF2_FILEMODE_WRITE, 1024 * 1024,
                                              4 * 1024 * 1024, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, 0);
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < events; i += 2) {
        OTF2_EvtWriter_Enter(writer, NULL, clock_tick(tsc), 0);
        OTF2_EvtWriter_Leave(writer, NULL, clock_tick(tsc), 0);
    }
    double cost = (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - begun) / (double)events;
    OTF2_Archive_CloseEvtWriter(archive, writer);
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_Close(archive);
    char path[300];
    snprintf(path, sizeof path, "%s/bench/0.evt", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/bench.otf2", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/bench", folder);
    rmdir(path);
    rmdir(folder);
    return cost;
}

static void measure_otf2(uint64_t events) {
    printf("OTF2, enter or leave      %6.2f ns, writing its file included\n", median(run_otf2, events));
}
#endif

int main(int argc, char **argv) {
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
#if defined(TRACESMITH_LTTNG_UST)
    measure_lttng(events);
#else
    printf("LTTng-UST                 not installed when this was built (Debian: liblttng-ust-dev)\n");
#endif
#if defined(TRACESMITH_OTF2)
    measure_otf2(events);
#else
    printf("OTF2                      not installed when this was built (Debian: libotf2-trace-dev)\n");
#endif
    (void)compare;
    (void)events;
    return 0;
}
