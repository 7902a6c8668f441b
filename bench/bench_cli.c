// SPDX-License-Identifier: Apache-2.0
// How long a user waits at the terminal for the answers of `view` and `info`, and how much memory they take.
//
//     bench_cli [EVENTS]     10 million launch-loop events on eight tracks, in a temporary file
//
// "first line" is until the first line can be read from the command's output, "first event" until a line that shows
// an event can; medians of nine. "all" is wall and CPU time and the peak resident size of a run to the end, its
// output thrown away. The command is the one of this build, build/bin/tracesmith.
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/sbt.h"

enum { TRACKS = 8, REPEATS = 9, WORDS = 8 };

extern char **environ;

static const char shown_name[] = "clEnqueueNDRangeKernel";

static double now(void) {
    return (double)clock_now(CLOCK_MONOTONIC) / 1e9;
}

__attribute__((noreturn)) static void die(const char *what) {
    fprintf(stderr, "bench_cli: %s\n", what);
    exit(1);
}

static void must(tsmith_status status, const tsmith_error *error) {
    if (status < 0)
        die(error ? error->message : tsmith_status_text(status));
}

// ---- the trace

static void write_trace(const char *path, uint64_t events) {
    tsmith_error error;
    tsmith_dictionary *dictionary;
    tsmith_sink *sink;
    tsmith_batch *batches[TRACKS];
    uint32_t tracks[TRACKS];
    must(tsmith_dictionary_create(&dictionary), NULL);
    must(tsmith_sbt_writer_open(path, NULL, &sink, &error), &error);
    uint32_t call = tsmith_dictionary_intern_cstr(dictionary, shown_name);
    uint32_t kernel = tsmith_dictionary_intern_cstr(dictionary, "tick");
    for (int i = 0; i < TRACKS; i++) {
        tracks[i] = tsmith_dictionary_add_track(
            dictionary, &(tsmith_track){.kind = i % 2 ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_THREAD});
        must(tsmith_batch_create(&batches[i]), NULL);
        tsmith_batch_reset(batches[i], tracks[i]);
    }
    int64_t time = 0;
    for (uint64_t i = 0; i < events; i++) {
        tsmith_batch *batch = batches[i % TRACKS];
        bool is_kernel = i % 2;
        time += (int64_t)(i * 2654435761u % 300);
        tsmith_batch_append(batch, is_kernel ? TSMITH_KIND_KERNEL : TSMITH_KIND_API, time);
        tsmith_batch_set(batch, TSMITH_FIELD_NAME, is_kernel ? kernel : call);
        tsmith_batch_set(batch, TSMITH_FIELD_DURATION, 100 + i * 40503 % 1900);
        tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, i / 2);
        if (tsmith_batch_count(batch) == TSMITH_BATCH_MAX || i + TRACKS >= events) {
            must(tsmith_batch_finish(batch), NULL);
            must(tsmith_sink_write(sink, dictionary, batch, &error), &error);
            tsmith_batch_reset(batch, tracks[i % TRACKS]);
        }
    }
    must(tsmith_sink_finish(sink, dictionary, &error), &error);
    tsmith_sink_destroy(sink);
    for (int i = 0; i < TRACKS; i++)
        tsmith_batch_destroy(batches[i]);
    tsmith_dictionary_destroy(dictionary);
}

// ---- running the command

// Starts it with its output in `out`, which is closed here.
static pid_t start(char *const *argv, int out) {
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        die(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(out);
    return pid;
}

// Seconds until a line with `word` in it came ("" is in every line). The rest is not read.
static double until_line(char *const *argv, const char *word) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("no pipe");
    double begin = now();
    pid_t pid = start(argv, ends[1]);
    FILE *in = fdopen(ends[0], "r");
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, in) > 0)
        if (strstr(line, word))
            break;
    double waited = now() - begin;
    free(line);
    fclose(in);
    waitpid(pid, NULL, 0);
    return waited;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median_until_line(char *const *argv, const char *word) {
    double seconds[REPEATS];
    for (int i = 0; i < REPEATS; i++)
        seconds[i] = until_line(argv, word);
    qsort(seconds, REPEATS, sizeof *seconds, compare);
    return seconds[REPEATS / 2];
}

static void measure(char *program, char *path, const char *words, bool shows_events) {
    char copy[64];
    char *argv[WORDS + 2] = {program};
    size_t count = 1;
    char *place = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &place); word && count < WORDS; word = strtok_r(NULL, " ", &place))
        argv[count++] = word;
    argv[count] = path;
    double first_line = median_until_line(argv, "");
    double first_event = shows_events ? median_until_line(argv, shown_name) : 0;
    double begin = now();
    struct rusage used;
    pid_t pid = start(argv, open("/dev/null", O_WRONLY | O_CLOEXEC));
    wait4(pid, NULL, 0, &used);
    double cpu = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
                 (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
    printf("%-18s %9.1f ms ", words, first_line * 1e3);
    if (shows_events)
        printf("%9.1f ms ", first_event * 1e3);
    else
        printf("%12s ", "");
    printf("%8.2f s wall %8.2f s CPU %8.1f MiB\n", now() - begin, cpu, (double)used.ru_maxrss / 1024);
}

int main(int argc, char **argv) {
    char self[PATH_MAX];
    char program[PATH_MAX + 32];
    char path[] = "/tmp/bench_cli_XXXXXX";
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int fd = mkstemp(path);
    if (length < 0 || fd < 0 || !events)
        die("usage: bench_cli [EVENTS]");
    self[length] = '\0';
    snprintf(program, sizeof program, "%s/../bin/tracesmith", dirname(self));
    // In a process of its own: a program that is started counts the memory of the one that starts it as its peak.
    int status = 0;
    pid_t writer = fork();
    if (writer == 0) {
        write_trace(path, events);
        _exit(0);
    }
    if (writer < 0 || waitpid(writer, &status, 0) < 0 || status != 0)
        die("the trace was not written");
    printf("%llu events, %d tracks\n%-18s %12s %12s %s\n", (unsigned long long)events, TRACKS,
           "tracesmith ...", "first line", "first event", "all");
    measure(program, path, "view", true);
    measure(program, path, "view -f json", true);
    measure(program, path, "view -f csv", true);
    measure(program, path, "view --stats", false);
    measure(program, path, "view --timeline", false);
    measure(program, path, "info", false);
    measure(program, path, "info --json", false);
    close(fd);
    unlink(path);
    return 0;
}
