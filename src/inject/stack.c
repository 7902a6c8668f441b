// SPDX-License-Identifier: Apache-2.0
// Judges the stack of a thread that waits in a system call. inject.c calls it. In doubt a thread is not safe.
#include "inject/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/unwind_copy.h"

enum { COPIED = 256 << 10, FRAMES_MOST = 512 };

// Functions of libc that wait and hold no lock of libc while they do, but the one of the stream they read from. All their names.
static const char *const waiting[] = {"accept",
                                      "accept4",
                                      "clock_nanosleep",
                                      "connect",
                                      "epoll_pwait",
                                      "epoll_pwait2",
                                      "epoll_wait",
                                      "fgetc",
                                      "fgets",
                                      "fread",
                                      "getc",
                                      "getchar",
                                      "getdelim",
                                      "getline",
                                      "__getdelim",
                                      "_IO_getc",
                                      "mq_receive",
                                      "mq_timedreceive",
                                      "msgrcv",
                                      "nanosleep",
                                      "pause",
                                      "poll",
                                      "__poll",
                                      "ppoll",
                                      "pselect",
                                      "read",
                                      "__read",
                                      "readv",
                                      "recv",
                                      "recvfrom",
                                      "recvmmsg",
                                      "recvmsg",
                                      "select",
                                      "__select",
                                      "sem_clockwait",
                                      "sem_timedwait",
                                      "sem_wait",
                                      "sleep",
                                      "syscall",
                                      "usleep",
                                      "wait",
                                      "wait3",
                                      "wait4",
                                      "waitid",
                                      "waitpid",
                                      "__waitpid",
                                      "__wait",
                                      "pthread_cond_wait",
                                      "pthread_join",
                                      "pthread_cond_timedwait",
                                      "thrd_join",
                                      "cnd_wait",
                                      "cnd_timedwait",
                                      "thrd_sleep",
                                      "pthread_cond_clockwait",
                                      "__nanosleep",
                                      "__sigtimedwait",
                                      "sigtimedwait",
                                      "sigwait",
                                      "sigwaitinfo",
                                      "__pselect",
                                      "__read_chk",
                                      "__poll_chk",
                                      "__ppoll_chk",
                                      "__recv_chk",
                                      "__fgets_chk",
                                      "__fread_chk",
                                      "fgets_unlocked",
                                      "fread_unlocked",
                                      "pthread_barrier_wait",
                                      "_IO_fgets",
                                      "_IO_fread",
                                      "_IO_getline",
                                      "__recvfrom_chk",
                                      "pthread_timedjoin_np"};

static bool waits(const char *name) {
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        if (strcmp(name, waiting[i]) == 0)
            return true;
    return false;
}

static bool begins_thread(const char *name) {
    return strcmp(name, "__libc_start_main") == 0 || strcmp(name, "clone") == 0 ||
           strcmp(name, "__clone") == 0 || strcmp(name, "clone3") == 0 || strcmp(name, "__clone3") == 0;
}

static bool is_libc(const struct inject_target *target, const struct unwind_copy_frame *frame) {
    return frame->mapping && frame->mapping->file == target->libc;
}

static bool exported(const struct inject_target *target, const struct unwind_copy_frame *frame,
                     bool (*accepts)(const char *name), bool *any) {
    return exports_at(&target->exports, frame->pc - !frame->is_exact - frame->mapping->bias, accepts, any);
}

// The frames of libc that begin the thread, from `at` on: a function that is not exported (start_thread, the caller of main), then one
// that is, or either alone; then at most the program's _start.
static bool is_beginning(const struct inject_target *target, const struct unwind_copy_frame *frames,
                         uint32_t count, uint32_t at) {
    uint32_t own = 0;
    bool any;
    for (; at < count && is_libc(target, &frames[at]); at++, own++) {
        if (exported(target, &frames[at], begins_thread, &any)) {
            at++, own++;
            break;
        }
        if (any)
            return false;
    }
    return own >= 1 && own <= 2 && at + 1 >= count && (at == count || !is_libc(target, &frames[at]));
}

static bool judge_frames(const struct inject_target *target, const struct unwind_copy_frame *frames,
                         uint32_t count, const char **why) {
    uint32_t at = 0;
    bool any;
    for (uint32_t i = 0; i < count; i++) {
        if (!frames[i].mapping || frames[i].is_guess)
            return *why = "it is in code without unwind tables", false;
        if (frames[i].mapping->file == target->loader)
            return *why = "it is in the loader", false;
        if (i && frames[i].is_exact)
            return *why = "it is in a signal handler", false;
    }
    while (at < count && is_libc(target, &frames[at]))
        at++;
    if (!at)
        return *why = "it does not wait in libc", false;
    if (!exported(target, &frames[at - 1], waits, &any))
        return *why = "it is in a function of libc that may hold a lock", false;
    while (at < count && !is_libc(target, &frames[at]))
        at++;
    // Without frames of libc at the end: another library has begun the thread.
    if (at < count && !is_beginning(target, frames, count, at))
        return *why = "libc has called the program from a function that may hold a lock", false;
    return true;
}

bool stack_has_room(const struct inject_target *target, uint64_t stack_pointer, bool is_main) {
    char path[64], line[4352];
    bool room = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)target->pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        char *at;
        const uint64_t begin = strtoull(line, &at, 16), end = *at == '-' ? strtoull(at + 1, NULL, 16) : 0;
        if (stack_pointer < begin || stack_pointer >= end)
            continue;
        // The main thread's stack grows by itself.
        room = stack_pointer - begin >= STACK_ROOM || (is_main && strstr(line, "[stack]"));
        break;
    }
    if (maps)
        fclose(maps);
    return room;
}

bool stack_is_safe(const struct inject_target *target, const uint64_t *registers, const char **why) {
    struct unwind_copy copy = {.pc = registers[CFI_PC], .known = (UINT64_C(1) << CFI_REGISTERS) - 1};
    static struct unwind_copy_frame frames[FRAMES_MOST];
    static uint8_t bytes[COPIED];
    enum unwind_copy_end end;
    memcpy(copy.registers, registers, sizeof copy.registers);
    copy.bytes = bytes;
    copy.size = (uint32_t)target_read_some(target, registers[CFI_STACK_POINTER], bytes, sizeof bytes);
    const uint32_t count = unwind_copy_walk(&copy, &target->code, frames, FRAMES_MOST, &end);
    if (end != UNWIND_COPY_OUTERMOST)
        return *why = "its stack cannot be followed to the end", false;
    return judge_frames(target, frames, count, why);
}
