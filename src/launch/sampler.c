// SPDX-License-Identifier: Apache-2.0
// Starts and stops the process that samples device counters. src/api/capture.c calls it.
#include "launch/sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/launch_agents.h"
#include "wire/agent.h"

enum { WHY_MAX = 512 };
static const int64_t START_PATIENCE = 20000000000; // ns: a driver that is not in use may have to be loaded
static const int64_t STOP_PATIENCE = 3000000000;

// ---- the process

// One message: empty when sampling begins.
static void report_state(void *context, const char *why) {
    const int fd = *(const int *)context;
    char text[WHY_MAX] = "";
    if (why)
        snprintf(text, sizeof text, "%s", why);
    ssize_t written = write(fd, text, sizeof text);
    (void)written; // the reader is gone
    close(fd);
}

static void run(const char *agent, const char *session_directory, uint32_t rate, int stop, int report) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    // They are the program's; this process ends when the collector ends it, or has exited.
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "gpu counters");
    void *library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
    agent_sample_function *sample = NULL;
    if (library)
        *(void **)&sample = dlsym(library, AGENT_SAMPLE_SYMBOL);
    if (sample)
        sample(session_directory, rate, stop, report_state, &report);
    else
        report_state(&report, "its agent is not of this version");
    _exit(0); // no destructor of a driver runs
}

// ---- the collector

static bool read_start(int fd, char *why, size_t size) {
    char text[WHY_MAX];
    size_t have = 0;
    const int64_t deadline = clock_trace_now() + START_PATIENCE;
    while (have < sizeof text) {
        const int64_t left = deadline - clock_trace_now();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const int count = left > 0 ? poll(&ready, 1, (int)(left / 1000000) + 1) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        ssize_t got = count > 0 ? read(fd, text + have, sizeof text - have) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            snprintf(why, size,
                     count > 0 ? "the driver crashed when it was queried" : "the driver did not answer");
            return false;
        }
        have += (size_t)got;
    }
    text[sizeof text - 1] = '\0';
    snprintf(why, size, "%s", text);
    return text[0] == '\0';
}

bool sampler_start(struct sampler *sampler, const char *agent_directory, const char *session_directory,
                   uint32_t rate, char *why, size_t size) {
    char agent[4096];
    int stop[2] = {-1, -1}, report[2] = {-1, -1};
    bool begun = false;
    sampler->pid = 0;
    if (!launch_agent_path(agent_directory, "nvml", agent, sizeof agent)) {
        snprintf(why, size, "libtracesmith-nvml.so is not in %s", agent_directory);
        return false;
    }
    if (pipe2(stop, O_CLOEXEC) || pipe2(report, O_CLOEXEC)) {
        snprintf(why, size, "%s", strerror(errno));
        goto done;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(stop[1]);
        close(report[0]);
        run(agent, session_directory, rate, stop[0], report[1]);
    }
    close(report[1]);
    report[1] = -1;
    if (pid < 0)
        snprintf(why, size, "%s", strerror(errno));
    begun = pid > 0 && read_start(report[0], why, size);
    if (pid > 0) {
        *sampler = (struct sampler){.pid = pid, .stop = stop[1]};
        stop[1] = -1;
        if (!begun)
            sampler_stop(sampler);
    }
done:
    for (int i = 0; i < 2; i++) {
        if (stop[i] >= 0)
            close(stop[i]);
        if (report[i] >= 0)
            close(report[i]);
    }
    return begun;
}

void sampler_stop(struct sampler *sampler) {
    const struct timespec nap = {.tv_nsec = 1000000};
    const int64_t deadline = clock_trace_now() + STOP_PATIENCE;
    if (!sampler->pid)
        return;
    close(sampler->stop);
    for (bool killed = false;;) {
        const pid_t got = waitpid(sampler->pid, NULL, WNOHANG);
        if (got == sampler->pid || (got < 0 && errno != EINTR))
            break;
        if (!killed && clock_trace_now() > deadline) {
            kill(sampler->pid, SIGKILL);
            killed = true;
        }
        nanosleep(&nap, NULL);
    }
    sampler->pid = 0;
}
