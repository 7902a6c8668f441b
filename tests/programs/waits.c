// SPDX-License-Identifier: Apache-2.0
//
// Waits in known ways, and prints when, on CLOCK_MONOTONIC_RAW: sleeps of the clock; waits of a thread for a byte
// that another thread, named "waker", writes into a pipe; the same in a child process. And calls a function of its
// own a known number of times, recursively.
//
//   waits [-n ROUNDS] [--hold]
//
// --hold: a process ends once it was given a byte on standard input, after it has printed everything.

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 1000, DEPTH = 3 };

// Between the two times the kernel itself counted this many switches away: to wait, and because another thread was to run.
struct wait {
    int64_t before, after;
    long waited, preempted;
};

static struct wait sleeps[ROUNDS_MOST], reads[ROUNDS_MOST];
static int rounds = 20;
static bool holds;
static int request[2], answer[2];
static long waker_tid;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void begin_wait(struct wait *wait) {
    struct rusage usage;
    wait->before = now();
    getrusage(RUSAGE_THREAD, &usage);
    wait->waited = usage.ru_nvcsw;
    wait->preempted = usage.ru_nivcsw;
}

static void end_wait(struct wait *wait) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    wait->waited = usage.ru_nvcsw - wait->waited;
    wait->preempted = usage.ru_nivcsw - wait->preempted;
    wait->after = now();
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Calls itself, so that returns must be put to the right entries; not static, so that it has a symbol.
// Through a pointer, or the compiler makes a loop of it.
int waits_probed(int depth);
static int (*volatile again)(int depth) = waits_probed;
__attribute__((noinline)) int waits_probed(int depth) {
    return depth ? again(depth - 1) + 1 : 0;
}

// Waits until the other surely sleeps in its read: it announces the read, and its state shows it.
static void wait_until_sleeping(long tid) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", tid);
    for (;;) {
        FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file))
            fail(path);
        fclose(file);
        const char *end = strrchr(line, ')');
        if (end && end[2] == 'S')
            return;
        sched_yield();
    }
}

static void *wake(void *context) {
    long *reader = context;
    char byte;
    waker_tid = syscall(SYS_gettid);
    pthread_setname_np(pthread_self(), "waker");
    for (int i = 0; i < rounds; i++) {
        if (read(request[0], &byte, 1) != 1)
            fail("read");
        wait_until_sleeping(*reader);
        if (write(answer[1], "x", 1) != 1)
            fail("write");
    }
    return NULL;
}

static void print_waits(const char *name, const struct wait *waits, const char *after) {
    printf("\"%s\":[", name);
    for (int i = 0; i < rounds; i++)
        printf("%s[%lld,%lld,%ld,%ld]", i ? "," : "", (long long)waits[i].before, (long long)waits[i].after,
               waits[i].waited, waits[i].preempted);
    printf("]%s", after);
}

static void run(const char *role, const char *after) {
    const struct timespec nap = {.tv_nsec = 2000000};
    pthread_t waker;
    long reader = syscall(SYS_gettid);
    char byte;
    int sum = 0;
    if (pipe(request) || pipe(answer) || pthread_create(&waker, NULL, wake, &reader))
        fail("setting up");
    for (int i = 0; i < rounds; i++) {
        begin_wait(&sleeps[i]);
        nanosleep(&nap, NULL);
        end_wait(&sleeps[i]);
        if (write(request[1], "x", 1) != 1)
            fail("write");
        begin_wait(&reads[i]);
        if (read(answer[0], &byte, 1) != 1)
            fail("read");
        end_wait(&reads[i]);
        sum += waits_probed(DEPTH);
    }
    pthread_join(waker, NULL);
    if (sum != DEPTH * rounds)
        exit(1);
    printf("\"%s\":{\"pid\":%d,\"tid\":%ld,\"waker_tid\":%ld,\"calls\":%d,\"rounds\":%d,\"nap\":%ld,", role,
           getpid(), reader, waker_tid, rounds * (DEPTH + 1), rounds, nap.tv_nsec);
    print_waits("sleeps", sleeps, ",");
    print_waits("reads", reads, "}");
    printf("%s", after);
    fflush(stdout);
    if (holds && read(STDIN_FILENO, &byte, 1) != 1)
        fail("read");
}

int main(int argc, char **argv) {
    int status;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--hold") == 0)
            holds = true;
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
    if (rounds < 1 || rounds > ROUNDS_MOST)
        return 2;
    printf("{");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run("child", ",\n");
        return 0;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        fail("child");
    run("parent", "}\n");
    return 0;
}
