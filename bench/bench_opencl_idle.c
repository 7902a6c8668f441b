// SPDX-License-Identifier: Apache-2.0
// What the OpenCL agent costs a program while nothing is recorded, in instructions of the program per launch: they
// can be counted (valgrind's callgrind does), where a cost of a few ns is lost in the noise of clocks.
//
//     bench_opencl_idle [FEW MANY]
//
// The launch loop of tests/programs runs on PoCL's device without threads, with FEW and with MANY launches; the
// difference is the loop alone. Bare; with the agent loaded and no session; and attached to a session that is switched
// off, as between tsmith_profiler_create and _start. There the agent has the driver time commands, because a queue cannot
// be changed later; so once more in a program that asks for these times itself, which leaves the agent's own share.
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith/profiler.h"

enum mode { BARE, LOADED, TIMED, TIMED_OFF, OFF, MODES };

static char agents[PATH_MAX], agent[PATH_MAX + 32], loop[PATH_MAX];

static void die(const char *what) {
    perror(what);
    exit(1);
}

// Everything is found next to this program, in the build tree.
static void find(void) {
    char self[PATH_MAX - 64];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        die("/proc/self/exe");
    self[length] = '\0';
    for (int up = 0; up < 2; up++)
        *strrchr(self, '/') = '\0';
    snprintf(agents, sizeof agents, "%s/lib/tracesmith", self);
    snprintf(agent, sizeof agent, "%s/libtracesmith-opencl.so", agents);
    snprintf(loop, sizeof loop, "%s/tests/programs/cl_launch_loop", self);
    if (access(agent, R_OK) || access(loop, X_OK))
        die(loop);
}

// Instructions of a whole run; 0 when valgrind is not there.
static double count(const char *launches, bool timed) {
    int out[2];
    char text[16384];
    size_t length = 0;
    ssize_t got;
    int status = 0;
    if (pipe(out))
        die("pipe");
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execlp("valgrind", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", loop, "-n",
               launches, timed ? "--profiling" : NULL, NULL);
        _exit(127);
    }
    close(out[1]);
    while (length + 1 < sizeof text && (got = read(out[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(out[0]);
    if (child < 0 || waitpid(child, &status, 0) != child)
        die("waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return 0;
    const char *collected = strstr(text, "Collected : ");
    if (status != 0 || !collected) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
    return strtod(collected + strlen("Collected : "), NULL);
}

static double per_launch(const char *few, const char *many, enum mode mode) {
    const bool timed = mode == TIMED || mode == TIMED_OFF;
    const bool off = mode == TIMED_OFF || mode == OFF;
    tsmith_profiler *profiler = NULL;
    tsmith_error error;
    unsetenv("OPENCL_LAYERS");
    const tsmith_capture_options options = {.size = sizeof options, .agent_directory = agents};
    if (mode == LOADED)
        setenv("OPENCL_LAYERS", agent, 1);
    if (off && tsmith_profiler_create(&options, &profiler, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    const double first = count(few, timed);
    const double second = first > 0 ? count(many, timed) : 0;
    tsmith_profiler_destroy(profiler);
    return (second - first) / (strtod(many, NULL) - strtod(few, NULL));
}

int main(int argc, char **argv) {
    static const char *const names[] = {"bare", "agent loaded, no session", "program asks for times itself",
                                        "    the same, agent attached, off", "agent attached, off"};
    static const enum mode against[] = {BARE, BARE, BARE, TIMED, BARE};
    const char *few = argc == 3 ? argv[1] : "500", *many = argc == 3 ? argv[2] : "4500";
    double measured[MODES];
    find();
    setenv("POCL_DEVICES", "basic", 1);
    count("1", false); // fills the driver's cache of kernels
    printf("instructions per launch\n");
    for (int mode = 0; mode < MODES; mode++) {
        measured[mode] = per_launch(few, many, (enum mode)mode);
        if (measured[mode] == 0) {
            printf("valgrind is not installed: nothing counted\n");
            return 0;
        }
        const double base = measured[against[mode]];
        printf("%-36s %10.1f  %+8.1f  %+7.2f %%\n", names[mode], measured[mode], measured[mode] - base,
               (measured[mode] / base - 1) * 100);
        fflush(stdout);
    }
    return 0;
}
