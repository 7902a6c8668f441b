// SPDX-License-Identifier: Apache-2.0
// Computes in two functions, three times as much in one as in the other, and says how much processor time each took by its
// own clocks. Options: -t N threads, -c SECONDS of processor time for each, -f to do it in a forked child as well, -x to do
// it again after an exec, -k to be killed at the end.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MOST = 256, STEPS = 20000 };

struct job {
    pthread_t thread;
    long tid;
    int64_t heavy_ns, light_ns;
    int64_t begin, end; // of the work, on the trace's clock
    long switches;      // meanwhile, by the kernel's count
    uint64_t sum;
};

static double seconds = 0.5;
static struct job jobs[THREADS_MOST];

static int64_t cpu_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t trace_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static long switches_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

// Counts switches and takes a time with none in between.
static int64_t count_switches(long *switches) {
    int64_t time;
    do {
        *switches = switches_now();
        time = trace_now();
    } while (switches_now() != *switches);
    return time;
}

__attribute__((noinline)) uint64_t samples_heavy(uint64_t value);
__attribute__((noinline)) uint64_t samples_light(uint64_t value);
__attribute__((noinline)) uint64_t samples_run(struct job *job);

uint64_t samples_heavy(uint64_t value) {
    for (volatile int i = 0; i < 3 * STEPS; i++)
        value = value * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return value;
}

uint64_t samples_light(uint64_t value) {
    for (volatile int i = 0; i < STEPS; i++)
        value = value * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return value;
}

// Its result depends on nothing that a profiler could change.
uint64_t samples_run(struct job *job) {
    uint64_t value = 1, sum = 0;
    const int64_t begin = cpu_now();
    for (int64_t at = begin; (double)(at - begin) < seconds * 1e9 || !sum;) {
        value = samples_heavy(value);
        const int64_t middle = cpu_now();
        job->heavy_ns += middle - at;
        value = samples_light(value);
        at = cpu_now();
        job->light_ns += at - middle;
        sum = sum ? sum : value; // of the first round
    }
    job->sum = sum;
    return value;
}

static void *run_job(void *context) {
    struct job *job = context;
    long before, after;
    job->tid = syscall(SYS_gettid);
    job->begin = count_switches(&before);
    (void)samples_run(job);
    job->end = count_switches(&after);
    job->switches = after - before;
    return NULL;
}

static void report(const char *what, int threads) {
    char text[1 << 15];
    int length =
        snprintf(text, sizeof text, "{\"what\": \"%s\", \"pid\": %d, \"threads\": [", what, (int)getpid());
    for (int i = 0; i < threads; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "%s{\"tid\": %ld, \"begin\": %lld, \"end\": %lld, \"switches\": %ld, "
                           "\"heavy_ns\": %lld, \"light_ns\": %lld, \"sum\": %llu}",
                           i ? ", " : "", jobs[i].tid, (long long)jobs[i].begin, (long long)jobs[i].end,
                           jobs[i].switches, (long long)jobs[i].heavy_ns, (long long)jobs[i].light_ns,
                           (unsigned long long)jobs[i].sum);
    length += snprintf(text + length, sizeof text - (size_t)length, "]}\n");
    if (write(STDOUT_FILENO, text, (size_t)length) != length)
        _exit(1);
}

static void run_all(const char *what, int threads) {
    memset(jobs, 0, sizeof jobs);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]))
            exit(1);
    run_job(&jobs[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(jobs[i].thread, NULL);
    report(what, threads);
}

int main(int argc, char **argv) {
    int threads = 1, with_fork = 0, with_exec = 0, killed = 0, option;
    const char *what = "first";
    while ((option = getopt(argc, argv, "t:c:fxkn:")) != -1) {
        if (option == 't')
            threads = atoi(optarg);
        else if (option == 'c')
            seconds = strtod(optarg, NULL);
        else if (option == 'n')
            what = optarg;
        else if (option == '?')
            return 2;
        with_fork |= option == 'f';
        with_exec |= option == 'x';
        killed |= option == 'k';
    }
    if (threads < 1 || threads > THREADS_MOST)
        return 2;
    run_all(what, threads);
    if (with_fork) {
        const pid_t child = fork();
        if (child == 0) {
            run_all("forked", threads);
            _exit(0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    if (with_exec) {
        char text[32];
        snprintf(text, sizeof text, "%g", seconds);
        char *again[] = {argv[0], "-c", text, "-n", "executed", NULL};
        execv("/proc/self/exe", again);
        return 1;
    }
    if (killed)
        raise(SIGKILL);
    return 0;
}
