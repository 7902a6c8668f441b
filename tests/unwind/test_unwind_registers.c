// SPDX-License-Identifier: Apache-2.0
// The walk from registers and the top of a stack, as the system's kernel provides them for a thread that waits
// (profile --sched
// --stacks): here they come from a signal that is raised in a system call. The program goes down paths that it notes
// (its own return addresses); the walk must find them. stack.aarch64 runs this for the other processor.
#include <alloca.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "watch/process_code.h"
#include "watch/unwind_copy.h"

#if defined(__x86_64__) || defined(__aarch64__)

enum { DEPTH = 12, COPY = 256 << 10, FRAMES = 256, PATHS = 40 };

static struct {
    uint64_t addresses[DEPTH];
    unsigned count;
} notes;

static struct unwind_copy copy;
static uint8_t bytes[COPY];

// Everything above the stack pointer, also what sanitizers keep free there: the environment is beyond the first function's frame.
__attribute__((no_sanitize("address"))) static void copy_stack(const volatile uint8_t *from, uint32_t size) {
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = from[i];
}

static void take(int number, siginfo_t *info, void *context) {
    const mcontext_t *from = &((const ucontext_t *)context)->uc_mcontext;
    uint64_t stack_pointer;
    (void)number;
    (void)info;
    memset(&copy, 0, sizeof copy);
#if defined(__x86_64__)
    static const int of_number[][2] = {{3, REG_RBX},  {6, REG_RBP},  {7, REG_RSP}, {12, REG_R12},
                                       {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};
    for (size_t i = 0; i < sizeof of_number / sizeof of_number[0]; i++)
        copy.registers[of_number[i][0]] = (uint64_t)from->gregs[of_number[i][1]];
    copy.pc = (uint64_t)from->gregs[REG_RIP];
    copy.known = 0xf0c8;
    stack_pointer = (uint64_t)from->gregs[REG_RSP];
#else
    for (int i = 0; i < 31; i++)
        copy.registers[i] = from->regs[i];
    copy.registers[31] = stack_pointer = from->sp;
    copy.pc = from->pc;
    copy.known = 0xffffffff;
#endif
    const uint64_t above = (uint64_t)(uintptr_t)environ - stack_pointer;
    copy.size = above < COPY ? (uint32_t)above : COPY;
    copy_stack((const volatile uint8_t *)(uintptr_t)stack_pointer, copy.size);
    copy.bytes = bytes;
}

static void check(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

typedef int step(unsigned path, unsigned left);
static step *volatile steps[3];

static int descend(unsigned path, unsigned left) {
    if (left)
        return steps[path % 3](path / 3, left - 1);
    return raise(SIGUSR1);
}

static void note(void *address) {
    notes.addresses[notes.count++] = (uint64_t)(uintptr_t)__builtin_extract_return_addr(address);
}

__attribute__((noinline)) static int plain(unsigned path, unsigned left) {
    note(__builtin_return_address(0));
    return descend(path, left) + 1;
}
__attribute__((noinline)) static int large(unsigned path, unsigned left) {
    volatile char room[600];
    note(__builtin_return_address(0));
    room[left] = 1;
    return descend(path, left) + room[left];
}
__attribute__((noinline)) static int variable(unsigned path, unsigned left) {
    volatile char *room = alloca(32 + path % 100);
    note(__builtin_return_address(0));
    room[0] = 1;
    return descend(path, left) + room[0];
}

static void walk_paths(void) {
    struct code_files files = {0};
    for (unsigned i = 0; i < PATHS; i++) {
        struct process_code code = {0};
        struct unwind_copy_frame frames[FRAMES];
        enum unwind_copy_end end;
        notes.count = 0;
        copy.size = 0;
        check(descend(i * 7919, DEPTH) >= 0, "a signal is raised");
        check(copy.size > 0 && notes.count == DEPTH, "a stack is copied");
        check(process_code_read(&code, &files, (unsigned)getpid()), "the code is known");
        const uint32_t count = unwind_copy_walk(&copy, &code, frames, FRAMES, &end);
        check(end == UNWIND_COPY_OUTERMOST, "the stack is whole");
        check(frames[0].pc == copy.pc && frames[0].is_exact, "it begins where it stopped");
        uint32_t at = 0;
        for (uint32_t level = DEPTH; level-- > 0; at++) {
            while (at < count && frames[at].pc != notes.addresses[level])
                at++;
            check(at >= 1 && at < count, "every function is found, in order");
            check(frames[at].mapping && !frames[at].is_guess, "by its rules");
        }
        // Too little of it.
        copy.size = 64;
        unwind_copy_walk(&copy, &code, frames, FRAMES, &end);
        check(end == UNWIND_COPY_SHORT || end == UNWIND_COPY_LOST, "too little is too little");
        process_code_finish(&code);
    }
    code_files_finish(&files);
}

int main(void) {
    const struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    steps[0] = plain, steps[1] = large, steps[2] = variable;
    if (sigaction(SIGUSR1, &action, NULL))
        return 1;
    walk_paths();
    return 0;
}

#else
int main(void) {
    printf("skipped: registers are read here for x86-64 and aarch64\n");
    return 77;
}
#endif
