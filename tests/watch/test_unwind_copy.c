// SPDX-License-Identifier: Apache-2.0
// The stack of another process, unwound from a copy of its top: a child goes down paths that it notes (its own return
// addresses) and stops there; the walk must find them. And the same copy, damaged: no fault, no end that is none, and the frames that complete
// rows give, without the short form that most rows have.
#include "support/test.h"

#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch/process_code.h"
#include "watch/unwind_copy.h"

#if defined(__x86_64__)

enum { DEPTH = 12, COPY = 256 << 10, FRAMES = 256, PATHS = 40 };

static struct {
    uint64_t addresses[DEPTH];
    unsigned count;
} * notes; // shared with the child

typedef int step(unsigned path, unsigned left);
static step *volatile steps[3];

// As the perf trampolines of CPython: calls its fourth argument. NULL: steps call each other.
typedef int trampoline(unsigned path, unsigned left, unsigned unused, step *callee);
static trampoline *volatile through;
static const struct trampoline_form {
    uint8_t bytes[16];
    size_t after_call;
} trampoline_forms[] = {
    {{0x48, 0x83, 0xec, 0x08,        // sub $8, %rsp
      0xff, 0xd1,                    // call *%rcx
      0x48, 0x83, 0xc4, 0x08, 0xc3}, // add $8, %rsp; ret
     6},
    {{0xf3, 0x0f, 0x1e, 0xfa, // endbr64
      0x55, 0x48, 0x89, 0xe5, // push %rbp; mov %rsp, %rbp
      0xff, 0xd1,             // call *%rcx
      0x5d, 0xc3},            // pop %rbp; ret
     10},
};

static int descend(unsigned path, unsigned left) {
    if (left && through)
        return through(path / 3, left - 1, 0, steps[path % 3]);
    if (left)
        return steps[path % 3](path / 3, left - 1);
    return raise(SIGSTOP);
}

static void note(void *address) {
    notes->addresses[notes->count++] = (uint64_t)(uintptr_t)address;
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

static void stop_child(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static pid_t start_child(unsigned path) {
    int status;
    notes->count = 0;
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        _exit(descend(path, DEPTH) & 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        printf("skipped: a child cannot be looked at here\n");
        exit(77);
    }
    return child;
}

static void copy_child(pid_t child, struct unwind_copy *copy, uint8_t *bytes) {
    struct user_regs_struct registers;
    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &registers), 0);
    *copy = (struct unwind_copy){.pc = registers.rip, .known = 0xf0c8, .bytes = bytes};
    copy->registers[3] = registers.rbx;
    copy->registers[6] = registers.rbp;
    copy->registers[7] = registers.rsp;
    copy->registers[12] = registers.r12;
    copy->registers[13] = registers.r13;
    copy->registers[14] = registers.r14;
    copy->registers[15] = registers.r15;
    for (uint64_t at = registers.rsp; copy->size < COPY;) { // page by page: it may end
        const uint64_t part = 4096 - at % 4096 < COPY - copy->size ? 4096 - at % 4096 : COPY - copy->size;
        const struct iovec local = {bytes + copy->size, part}, remote = {(void *)(uintptr_t)at, part};
        if (process_vm_readv(child, &local, 1, &remote, 1, 0) != (ssize_t)part)
            break;
        copy->size += (uint32_t)part;
        at += part;
    }
    assert_true(copy->size > 0);
}

// The walk by complete rows, as far as there are any: the addresses, and how many. `whole`: its end is the stack's.
static uint32_t walk_by_rows(const struct unwind_copy *copy, const struct process_code *code, uint64_t *pcs,
                             bool *whole, bool *gave_up) {
    struct cfi_frame frame = {.low = copy->registers[CFI_STACK_POINTER], .known = copy->known};
    uint64_t pc = copy->pc, cfa;
    bool is_exact = true;
    uint32_t count = 0;
    frame.high = frame.low + copy->size;
    frame.bytes = copy->bytes;
    memcpy(frame.registers, copy->registers, sizeof frame.registers);
    *whole = *gave_up = false;
    while (count < FRAMES) {
        struct cfi_frame caller = {.low = frame.low, .high = frame.high, .bytes = frame.bytes};
        struct cfi_section section;
        struct cfi_row row;
        const struct code_mapping *mapping = process_code_find(code, pc - !is_exact);
        pcs[count++] = pc;
        *gave_up = !mapping || !code_mapping_row(mapping, pc - !is_exact, &section, &row);
        if (*gave_up)
            break;
        *whole = row.registers[row.return_register].how == CFI_UNDEFINED;
        if (*whole || !cfi_cfa(&section, &row, &frame, &cfa))
            break;
        cfi_apply(&section, &row, &frame, cfa, &caller);
        if (!(caller.known >> row.return_register & 1) || !(caller.known >> CFI_STACK_POINTER & 1) ||
            (caller.registers[CFI_STACK_POINTER] <= frame.registers[CFI_STACK_POINTER] && !is_exact &&
             !row.is_signal_frame))
            break;
        pc = caller.registers[row.return_register];
        *whole = !pc;
        if (!pc)
            break;
        is_exact = row.is_signal_frame;
        frame = caller;
    }
    return count;
}

static void compare_with_rows(const struct unwind_copy *copy, const struct process_code *code,
                              const struct unwind_copy_frame *frames, uint32_t count,
                              enum unwind_copy_end end) {
    uint64_t pcs[FRAMES];
    bool whole, gave_up;
    const uint32_t wanted = walk_by_rows(copy, code, pcs, &whole, &gave_up);
    assert_true(count == wanted || (gave_up && count > wanted));
    for (uint32_t i = 0; i < wanted; i++)
        assert_true(frames[i].pc == pcs[i]);
    assert_true(gave_up || whole == (end == UNWIND_COPY_OUTERMOST));
}

static void test_paths(void **state) {
    static uint8_t bytes[COPY];
    struct code_files files = {0};
    (void)state;
    for (unsigned i = 0; i < PATHS; i++) {
        struct process_code code = {0};
        struct unwind_copy copy;
        struct unwind_copy_frame frames[FRAMES];
        enum unwind_copy_end end;
        const pid_t child = start_child(i * 7919);
        assert_true(process_code_read(&code, &files, (unsigned)child));
        copy_child(child, &copy, bytes);
        const uint32_t count = unwind_copy_walk(&copy, &code, frames, FRAMES, &end);
        stop_child(child);
        assert_int_equal(end, UNWIND_COPY_OUTERMOST);
        compare_with_rows(&copy, &code, frames, count, end);
        // All that were noted, the last one innermost; what a compiler put in between was not.
        uint32_t at = 0;
        for (uint32_t level = DEPTH; level-- > 0; at++) {
            while (at < count && frames[at].pc != notes->addresses[level])
                at++;
            assert_true(at > 1 && at < count);
            assert_non_null(frames[at].mapping);
            assert_false(frames[at].is_guess);
        }
        // A copy that is too short is distinguished from a complete one.
        copy.size = 64;
        unwind_copy_walk(&copy, &code, frames, FRAMES, &end);
        assert_true(end == UNWIND_COPY_SHORT || end == UNWIND_COPY_LOST);
        process_code_finish(&code);
    }
    code_files_finish(&files);
}

// Through generated code without unwind data: the trampoline before each step, and above it the function that called it.
static void check_trampolines(const struct trampoline_form *form) {
    static uint8_t bytes[COPY];
    struct code_files files = {0};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    memcpy(page, form->bytes, sizeof form->bytes);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC)) {
        printf("skipped: no generated code here\n");
        exit(77);
    }
    through = (trampoline *)(uintptr_t)page;
    const uint64_t inside = (uint64_t)(uintptr_t)page + form->after_call;
    for (unsigned i = 0; i < PATHS; i++) {
        struct process_code code = {0};
        struct unwind_copy copy;
        struct unwind_copy_frame frames[FRAMES];
        enum unwind_copy_end end;
        unsigned trampolines = 0;
        const pid_t child = start_child(i * 7919);
        assert_true(process_code_read(&code, &files, (unsigned)child));
        copy_child(child, &copy, bytes);
        const uint32_t count = unwind_copy_walk(&copy, &code, frames, FRAMES, &end);
        assert_int_equal(end, UNWIND_COPY_OUTERMOST);
        for (uint32_t at = 0; at < count; at++) {
            assert_false(frames[at].is_guess);
            assert_true(!frames[at].mapping == (frames[at].pc == inside));
            trampolines += frames[at].pc == inside;
        }
        assert_int_equal(trampolines, DEPTH);
        assert_int_equal(notes->count, DEPTH);
        // The process is gone: what was read of its code is known, nothing else is asked of it.
        stop_child(child);
        assert_int_equal(unwind_copy_walk(&copy, &code, frames, FRAMES, &end), count);
        assert_int_equal(process_code_trampoline(&code, inside + 4096), PERF_TRAMPOLINE_NONE);
        process_code_finish(&code);
    }
    through = NULL;
    munmap(page, 4096);
    code_files_finish(&files);
}

static void test_trampolines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof trampoline_forms / sizeof trampoline_forms[0]; i++)
        check_trampolines(&trampoline_forms[i]);
}

static void test_damage(void **state) {
    static uint8_t bytes[COPY], damaged[COPY];
    struct code_files files = {0};
    struct process_code code = {0};
    struct unwind_copy copy;
    struct unwind_copy_frame frames[FRAMES];
    enum unwind_copy_end end;
    uint64_t random = 88172645463325252u;
    (void)state;
    const pid_t child = start_child(5);
    assert_true(process_code_read(&code, &files, (unsigned)child));
    copy_child(child, &copy, bytes);
    stop_child(child);
    for (int round = 0; round < 20000; round++) {
        struct unwind_copy broken = copy;
        memcpy(damaged, bytes, sizeof damaged);
        for (int i = 0; i < 1 + round % 8; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            const uint64_t value = i % 2 ? random : copy.registers[CFI_STACK_POINTER] + random % COPY;
            if (i == 7)
                broken.registers[random % CFI_REGISTERS] = value;
            else
                memcpy(damaged + random % (copy.size / 8) * 8 % (COPY - 8), &value, sizeof value);
        }
        // Exactly as large as it states, so that a read beyond it is detected.
        broken.size = (uint32_t)(random >> 40) % copy.size;
        uint8_t *exact = malloc(broken.size ? broken.size : 1);
        assert_non_null(exact);
        memcpy(exact, damaged, broken.size);
        broken.bytes = exact;
        const uint32_t count = unwind_copy_walk(&broken, &code, frames, FRAMES, &end);
        assert_true(count <= FRAMES);
        compare_with_rows(&broken, &code, frames, count, end);
        free(exact);
    }
    process_code_finish(&code);
    code_files_finish(&files);
}

static void test_gone(void **state) {
    struct code_files files = {0};
    struct process_code code = {0};
    (void)state;
    const pid_t child = start_child(1);
    assert_true(process_code_read(&code, &files, (unsigned)child));
    const size_t count = code.count;
    stop_child(child);
    assert_false(process_code_read(&code, &files, (unsigned)child));
    assert_int_equal(code.count, count); // what was known stays
    process_code_finish(&code);
    code_files_finish(&files);
}

int main(void) {
    steps[0] = plain, steps[1] = large, steps[2] = variable;
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths), cmocka_unit_test(test_trampolines),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_gone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) {
    printf("skipped: registers of another process are read here for x86-64 only\n");
    return 77;
}
#endif
