// SPDX-License-Identifier: Apache-2.0
// What recording an OpenCL program costs: the launch loop of tests/programs (a kernel that does next to nothing, a
// clFinish every 64), bare, bare and asking for the four times of each launch itself (what a program does that wants to
// know), with the agent loaded and no session, and recorded, in turn, and the medians of it all. What recording costs beyond
// the times themselves is the difference of "recorded" and "asks itself".
//
//     bench_opencl [-n LAUNCHES] [-r ROUNDS] [--calm | --one-worker]
//
// Per launch, in ns: the loop's wall time and the program's CPU time in the loop (both as the program measures them), and
// the CPU time of everything: program, agent, collector, writer, start and end included. Bytes per event from the file.
// --calm: the driver's device without threads (PoCL's "basic"). The default device wakes and sleeps on every other
// launch, which scatters times by a fifth; the calm one shows what is added. Its bare process has one thread and pays
// nothing for locks, a recorded one has two and does: that difference is in the figures too. --one-worker: the default
// device with a single worker: its two do their own fighting over every launch.
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MODE_BARE, MODE_ASKS, MODE_IDLE, MODE_RECORDED, MODES, ROUNDS_MAX = 1000 };
enum { LOOP_WALL, LOOP_CPU, ALL_CPU, FIGURES };

static const char *const mode_names[] = {"bare", "asks itself", "agent idle", "recorded"};
static const char *const figure_names[] = {"loop wall", "loop cpu", "cpu in all"};

struct paths {
    char command[PATH_MAX], agent[PATH_MAX], loop[PATH_MAX], trace[PATH_MAX];
};

static void die(const char *what) {
    perror(what);
    exit(1);
}

// Everything is found next to this program, in the build tree.
static struct paths find(void) {
    struct paths paths;
    char self[PATH_MAX - 64];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        die("/proc/self/exe");
    self[length] = '\0';
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(paths.command, sizeof paths.command, "%s/bin/tracesmith", self);
    snprintf(paths.agent, sizeof paths.agent, "%s/lib/tracesmith/libtracesmith-opencl.so", self);
    snprintf(paths.loop, sizeof paths.loop, "%s/tests/programs/cl_launch_loop", self);
    snprintf(paths.trace, sizeof paths.trace, "%s/bench/bench_opencl.sbt", self);
    if (access(paths.command, X_OK) || access(paths.agent, R_OK) || access(paths.loop, X_OK))
        die(paths.loop);
    return paths;
}

static double number_after(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) : -1;
}

static double cpu_ns(const struct rusage *used) {
    return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1e9 +
           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1e3;
}

// Runs `argv` with its output in `out` and its errors in `err`; the CPU time of it and all it started.
static double run(char *const argv[], const char *layer, char *out, char *err, size_t size) {
    int pipes[2][2];
    struct rusage used;
    int status = 0;
    if (pipe(pipes[0]) || pipe(pipes[1]))
        die("pipe");
    const pid_t child = fork();
    if (child == 0) {
        if (layer)
            setenv("OPENCL_LAYERS", layer, 1);
        dup2(pipes[0][1], STDOUT_FILENO);
        dup2(pipes[1][1], STDERR_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    char *const texts[] = {out, err};
    for (int i = 0; i < 2; i++) { // both are far smaller than a pipe
        size_t length = 0;
        ssize_t got;
        close(pipes[i][1]);
        while (length + 1 < size && (got = read(pipes[i][0], texts[i] + length, size - 1 - length)) > 0)
            length += (size_t)got;
        texts[i][length] = '\0';
        close(pipes[i][0]);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0) {
        fprintf(stderr, "%s failed: %s\n", argv[0], err);
        exit(1);
    }
    return cpu_ns(&used);
}

struct result {
    double figures[FIGURES];
    double events;
    bool whole; // nothing lost
};

static struct result measure(struct paths *paths, int mode, char *launches) {
    char out[8192];
    char err[8192];
    char *bare[] = {paths->loop, "-n", launches, mode == MODE_ASKS ? "--times" : NULL, NULL};
    char *recorded[] = {paths->command, "profile",   "-b", "64M",    "-o", paths->trace,
                        "--",           paths->loop, "-n", launches, NULL};
    const double cpu = run(mode == MODE_RECORDED ? recorded : bare, mode == MODE_IDLE ? paths->agent : NULL,
                           out, err, sizeof out);
    struct result result = {.whole = mode != MODE_RECORDED || strstr(err, "nothing lost")};
    result.figures[LOOP_WALL] = number_after(out, "\"wall_ns_per_launch\":");
    result.figures[LOOP_CPU] = number_after(out, "\"cpu_ns_per_launch\":");
    result.figures[ALL_CPU] = cpu / strtod(launches, NULL);
    // "FILE: 203,157 events, ..."
    const char *events = mode == MODE_RECORDED ? strstr(err, ".sbt: ") : NULL;
    for (events = events ? events + 6 : ""; *events && *events != ' '; events++)
        if (*events >= '0' && *events <= '9')
            result.events = result.events * 10 + (*events - '0');
    return result;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The value below which `part` of them are.
static double quantile(double *values, int count, double part) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    const double at = (count - 1) * part;
    const int below = (int)at;
    return values[below] + (at - below) * (values[below + (below + 1 < count)] - values[below]);
}

static void report(double values[MODES][FIGURES][ROUNDS_MAX], int rounds, const char *title, double part) {
    double bare[FIGURES];
    printf("%d rounds, ns per launch, %s\n%-12s", rounds, title, "");
    for (int figure = 0; figure < FIGURES; figure++)
        printf("%20s", figure_names[figure]);
    printf("\n");
    for (int mode = 0; mode < MODES; mode++) {
        printf("%-12s", mode_names[mode]);
        for (int figure = 0; figure < FIGURES; figure++) {
            const double value = quantile(values[mode][figure], rounds, part);
            if (mode == MODE_BARE)
                bare[figure] = value;
            printf("%12.0f (%+5.0f)", value, value - bare[figure]);
        }
        printf("\n");
    }
    printf("%-12s", "beyond asking");
    for (int figure = 0; figure < FIGURES; figure++)
        printf("%12s (%+5.0f)", "",
               quantile(values[MODE_RECORDED][figure], rounds, part) -
                   quantile(values[MODE_ASKS][figure], rounds, part));
    printf("\n");
}

int main(int argc, char **argv) {
    static double values[MODES][FIGURES][ROUNDS_MAX];
    struct paths paths = find();
    char *launches = "100000";
    int rounds = 11;
    int lossy = 0;
    struct result last = {.events = 0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            launches = argv[++i];
        else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
            rounds = (int)strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--calm") == 0)
            setenv("POCL_DEVICES", "basic", 1);
        else if (strcmp(argv[i], "--one-worker") == 0)
            setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    }
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    for (int round = 0; round < rounds; round++) {
        for (int mode = 0; mode < MODES; mode++) {
            last = measure(&paths, mode, launches);
            lossy += !last.whole;
            for (int figure = 0; figure < FIGURES; figure++)
                values[mode][figure][round] = last.figures[figure];
        }
    }
    report(values, rounds, "medians", 0.5);
    report(values, rounds, "lower quartiles (the better guess on a busy machine)", 0.25);
    struct stat file;
    if (stat(paths.trace, &file) == 0 && last.events > 0)
        printf("%-12s %.2f bytes per event\n", "file", (double)file.st_size / last.events);
    printf("%-12s %d of %d recordings\n", "lossy", lossy, rounds);
    unlink(paths.trace);
    return 0;
}
