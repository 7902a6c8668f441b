// SPDX-License-Identifier: Apache-2.0
// Calls a function in another process: finds a thread that is safe, stops it, and sets it to the function. Rules: inject.h. States of a
// thread:
//
//     runs --seized, interrupted--> stopped --unsafe--> let go, as if nothing had been
//                                          \--safe--> set to the function --let go--> in the function --returns--> runs
//
// A thread that does not stop in time is still ours: it is waited for, as one cannot let go of a thread that runs.
#include "inject/inject.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "inject/check.h"
#include "inject/frame.h"
#include "inject/loaded.h"
#include "inject/stack.h"
#include "unwind/cfi.h"

enum { THREADS_MOST = 4096 };

// ---- the target

tsmith_status inject_open(pid_t pid, struct inject_target **out, tsmith_error *error) {
    *out = NULL;
    // It has no memory, as a process that has ended.
    if (check_is_kernel_thread(pid))
        return status_set(error, TSMITH_ERROR_UNSUPPORTED, "process %d is a thread of the kernel", (int)pid);
    struct inject_target *target = calloc(1, sizeof *target);
    if (!target)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while looking at process %d",
                          (int)pid);
    target->pid = pid;
    const int problem = target_hold(target) ? 0 : errno;
    tsmith_status status = check_process(target, error);
    if (!status && problem)
        status = status_set(error, TSMITH_ERROR_PERMISSION, "the memory of process %d cannot be read: %s",
                            (int)pid, strerror(problem));
    if (!status)
        status = target_map(target, error);
    if (!status)
        status = check_libraries(target, error);
    if (status && status != TSMITH_ERROR_NOT_FOUND && target_is_over(target))
        status = status_set(error, TSMITH_ERROR_STATE,
                            "process %d has ended, or has replaced its program (exec), meanwhile", (int)pid);
    if (status)
        inject_close(target);
    else
        *out = target;
    return status;
}

void inject_close(struct inject_target *target) {
    if (!target)
        return;
    target_release(target);
    exports_finish(&target->exports);
    process_code_finish(&target->code);
    code_files_finish(&target->files);
    free(target);
}

bool inject_has_same(const struct inject_target *target, const char *own) {
    return loaded_at(target, own) != 0;
}

bool inject_has_library(const struct inject_target *target, const char *beginning) {
    return target_has_file(target, beginning);
}

// ---- stopping

static void nap(long ns) {
    const struct timespec moment = {.tv_nsec = ns};
    nanosleep(&moment, NULL);
}

// Lets it go; `signal_number` was on its way to it.
static void let_go(pid_t thread, int signal_number) {
    (void)ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_number);
}

enum stop { STOPPED, GONE, OTHER };

// Stops it. OTHER: it stopped for a reason of its own, and was let go.
static enum stop stop_thread(pid_t thread) {
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
        return GONE;
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
        return GONE; // it has ended
    for (;;) {
        const pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
        if (got == thread)
            break;
        if (got < 0 && errno != EINTR)
            return GONE;
        nap(10000);
    }
    if (!WIFSTOPPED(status))
        return GONE;
    if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
        return STOPPED;
    let_go(thread, status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
    return OTHER;
}

// ---- one thread

struct search {
    struct inject_target *target;
    const struct inject_call *call;
    uint64_t function;
    bool anew; // accepts threads whose time limits begin anew
    struct inject_report *report;
    bool replaced;   // the process has executed another program
    const char *why; // of the thread that was looked at last
    tsmith_status status;
};

static bool set_to_function(const struct search *search, pid_t thread, const struct frame_registers *frame) {
    const struct inject_call *call = search->call;
    enum { ERRNO_MOST = 255 };
    char text[1100], slashes[ERRNO_MOST + 2];
    int value = 0;
    const uint64_t at = frame_find_errno(search->target, frame);
    if (!at || !target_read(search->target, at, &value, sizeof value) || value < 0 || value > ERRNO_MOST)
        value = 0;
    memset(slashes, '/', sizeof slashes);
    slashes[value + 1] = '\0';
    const int length = snprintf(text, sizeof text, "%s%s%s", call->text, call->then ? slashes : "",
                                call->then ? call->then : "");
    return length > 0 && (size_t)length < sizeof text &&
           frame_call(search->target, thread, frame, search->function, text,
                      call->then ? call->number : value);
}

// While it is stopped. Whether the call was made. `stack` is where its stack was when it had room.
static bool use_thread(struct search *search, pid_t thread, uint64_t stack) {
    struct frame_registers frame;
    uint64_t registers[CFI_REGISTERS];
    search->target->thread = thread;
    if (!frame_get(thread, &frame)) {
        search->why = "its registers cannot be read";
        return false;
    }
    const enum frame_wait waits = frame_waits(search->target, &frame);
    frame_unwind_registers(&frame, registers);
    bool done = false;
    if (waits == FRAME_NOT_WAITING || (waits == FRAME_ANEW && !search->anew))
        search->why = waits == FRAME_ANEW ? "it waits with a time limit" : "it is not waiting";
    else if (registers[CFI_STACK_POINTER] != stack)
        search->why = "it has gone on";
    else if (!target_is_held(search->target, stack)) {
        search->why = "its stack is changed by another thread, or it runs another program";
        search->replaced = target_is_over(search->target);
    } else if (stack_is_safe(search->target, registers, &search->why)) {
        done = set_to_function(search, thread, &frame);
        search->why = "its stack cannot be written to";
    }
    if (!done && waits != FRAME_NOT_WAITING)
        (void)frame_undo_stop(thread, &frame);
    return done;
}

// The system call that it waits in, and its stack pointer; -1: it runs, or is gone, or cannot be interrupted (a disk).
static long waits_in(pid_t pid, pid_t thread, uint64_t *stack) {
    char path[64], line[256] = "", state[512] = "";
    char *at = line;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)thread);
    file = read ? fopen(path, "re") : NULL;
    const char *name_end = file && fgets(state, sizeof state, file) ? strrchr(state, ')') : NULL;
    if (file)
        fclose(file);
    if (!name_end || strncmp(name_end, ") S", 3) != 0)
        return -1;
    // Its number, six arguments, the stack pointer, the program counter.
    const long number = strtol(line, &at, 10);
    if (at == line)
        return -1;
    for (int field = 0; field < 7; field++)
        *stack = strtoull(at, &at, 16);
    return number;
}

// While a thread of the program stands still, this one goes first, where the system allows it: returns the priority of before.
static int hurry(void) {
    errno = 0;
    const int before = getpriority(PRIO_PROCESS, 0);
    if (!errno)
        (void)setpriority(PRIO_PROCESS, 0, -20);
    return before;
}

static bool try_thread(struct search *search, pid_t thread) {
    uint64_t stack = 0;
    if (!frame_is_known_call(waits_in(search->target->pid, thread, &stack))) {
        search->why = "it is not waiting";
        return false;
    }
    if (!stack_has_room(search->target, stack, thread == search->target->pid)) {
        search->why = "its stack has no room";
        return false;
    }
    const int before = hurry();
    const int64_t begun = clock_trace_now();
    const enum stop stop = stop_thread(thread);
    if (stop != STOPPED) {
        (void)setpriority(PRIO_PROCESS, 0, before);
        search->why = stop == GONE ? "it has ended" : "it was stopped by another process";
        return false;
    }
    const bool done = use_thread(search, thread, stack);
    let_go(thread, 0);
    const int64_t took = clock_trace_now() - begun;
    (void)setpriority(PRIO_PROCESS, 0, before);
    if (took > search->report->longest_ns)
        search->report->longest_ns = took;
    search->report->threads_tried += !done;
    if (done) {
        search->report->stopped_ns = took;
        search->report->thread = thread;
    }
    return done;
}

// ---- all threads

static size_t list_threads(pid_t pid, pid_t *threads) {
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && count < THREADS_MOST && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            threads[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (folder)
        closedir(folder);
    return count;
}

static bool find_function(struct search *search, tsmith_error *error) {
    const struct inject_target *target = search->target;
    const struct inject_call *call = search->call;
    const struct code_file *libc = target->libc;
    if (call->file)
        search->function = loaded_find(target, call->file, call->function);
    else if (libc && target_is_mapped(target, libc))
        search->function = exports_find(&target->exports, call->function);
    if (search->function && !call->file)
        search->function += target_bias(target, libc);
    if (!search->function)
        search->status =
            status_set(error, TSMITH_ERROR_UNSUPPORTED, "process %d has no function %s that can be called",
                       (int)target->pid, call->function);
    return search->function != 0;
}

static bool round_of_threads(struct search *search, int64_t until) {
    static pid_t threads[THREADS_MOST];
    const size_t count = list_threads(search->target->pid, threads);
    for (size_t i = 0; i < count; i++) {
        if (try_thread(search, threads[i]))
            return true;
        if (search->replaced || (i && clock_trace_now() > until))
            return false;
    }
    if (!count)
        search->why = "the process has ended";
    return false;
}

tsmith_status inject_call(struct inject_target *target, const struct inject_call *call, int64_t patience_ns,
                          struct inject_report *report, tsmith_error *error) {
    struct search search = {.target = target, .call = call, .report = report, .why = "it has no thread"};
    const int64_t begun = clock_trace_now(), until = begun + patience_ns;
    if (!find_function(&search, error))
        return search.status;
    for (;;) {
        if (check_again(target, error))
            return TSMITH_ERROR_STATE;
        if (round_of_threads(&search, until))
            return TSMITH_OK;
        if (search.replaced)
            return status_set(
                error, TSMITH_ERROR_STATE,
                "process %d has replaced its program (exec) meanwhile. Nothing was changed: try again",
                (int)target->pid);
        const int64_t now = clock_trace_now();
        if (now > until)
            return status_set(
                error, TSMITH_ERROR_BUSY,
                "no thread of process %d could be borrowed within %lld ms; of the last one: %s. Nothing "
                "was changed: try again, or with --patience 10s",
                (int)target->pid, (long long)(patience_ns / 1000000), search.why);
        search.anew = now - begun > patience_ns / 8;
        nap(1000000);
        (void)target_map(target, error); // a library may have been loaded meanwhile
    }
}
