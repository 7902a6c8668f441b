// SPDX-License-Identifier: Apache-2.0
// A steady stream of events through the live collector to a file on disk: nothing may be lost.
// usage: bench_session [EVENTS/S] [SECONDS] [THREADS] [BUFFER MiB] [FILE]   (10000000 10 1 64 ./bench-session.sbt)
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/sbt.h"
#include "tracesmith/session.h"

enum { THREADS_MAX = 16, BURST = 1000 };

struct worker {
    pthread_t thread;
    tsmith_session *session;
    uint32_t names[4];
    uint64_t events;
    double rate;
    int64_t took;
};

// In bursts, each when it is due: what a busy program looks like.
static void *work(void *self) {
    struct worker *worker = self;
    int64_t begun = clock_trace_now();
    for (uint64_t done = 0; done < worker->events; done += BURST) {
        while ((double)(clock_trace_now() - begun) * worker->rate / 1e9 < (double)done)
            __asm__ volatile("" ::: "memory");
        for (int i = 0; i < BURST; i += 2) {
            tsmith_mark(worker->session, worker->names[i % 4]);
            tsmith_mark(worker->session, worker->names[(i + 1) % 4]);
        }
    }
    worker->took = clock_trace_now() - begun;
    return NULL;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int report(const char *path, const tsmith_session_statistics *statistics, double seconds, double cpu) {
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    if (tsmith_sbt_open(path, &trace, &error) || tsmith_sbt_summarize(trace, &summary, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("emitted %" PRIu64 " in %.2f s = %.2f M/s; kept %" PRIu64 ", dropped %" PRIu64
           "; in the file %" PRIu64 " events, %.2f bytes each; %.1f ns of processor time per event in all\n",
           statistics->emitted, seconds, (double)statistics->emitted / seconds / 1e6, statistics->kept,
           statistics->dropped, summary.events, (double)summary.bytes / (double)summary.events,
           cpu * 1e9 / (double)statistics->emitted);
    tsmith_sbt_close(trace);
    return statistics->dropped ? 1 : 0;
}

int main(int argc, char **argv) {
    double rate = argc > 1 ? atof(argv[1]) : 1e7, seconds = argc > 2 ? atof(argv[2]) : 10;
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    const char *path = argc > 5 ? argv[5] : "bench-session.sbt";
    const tsmith_session_options options = {
        .size = sizeof options, .path = path, .buffer_bytes = (size_t)(argc > 4 ? atoi(argv[4]) : 64) << 20};
    static struct worker workers[THREADS_MAX];
    static const char *const names[4] = {"load", "compute", "store", "wait"};
    tsmith_session *session;
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error;
    if (threads < 1 || threads > THREADS_MAX || tsmith_session_start(&options, &session, &error)) {
        fprintf(stderr, "%s\n", threads < 1 || threads > THREADS_MAX ? "1 to 16 threads" : error.message);
        return 1;
    }
    double before = cpu_seconds();
    for (int i = 0; i < threads; i++) {
        workers[i].session = session;
        workers[i].rate = rate / threads;
        workers[i].events = (uint64_t)(rate * seconds / threads) / BURST * BURST;
        for (int j = 0; j < 4; j++)
            workers[i].names[j] = tsmith_session_name(session, names[j]);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    int64_t longest = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        longest = workers[i].took > longest ? workers[i].took : longest;
    }
    if (tsmith_session_stop(session, &statistics, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return report(path, &statistics, (double)longest / 1e9, cpu_seconds() - before);
}
