// SPDX-License-Identifier: Apache-2.0
// The walk through generated code without unwind data: CPython's perf trampolines, in code written here by the processor's manual. Each
// function notes its own return address on the way down; the walk must find these, and a trampoline before each.
#include "support/test.h"

#include <alloca.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

#if defined(__x86_64__) || defined(__aarch64__)

enum { DEPTH = 12, FRAMES_MAX = 128, PATHS = 300, MARKS = 2 };
static const uint64_t MARK = UNWIND_TRAMPOLINE | UNWIND_GUESSED;

// Calls its fourth argument.
typedef uint64_t trampoline(uint64_t path, uint64_t left, uint64_t unused,
                            uint64_t (*callee)(uint64_t, uint64_t));

static const struct form {
    const char *name;
    uint8_t bytes[32];
    size_t size, after_call;
    bool is_trampoline;
} forms[] = {
#if defined(__x86_64__)
    {"of CPython 3.12",
     {0x48, 0x83, 0xec, 0x08,        // sub $8, %rsp
      0xff, 0xd1,                    // call *%rcx
      0x48, 0x83, 0xc4, 0x08, 0xc3}, // add $8, %rsp; ret
     11,
     6,
     true},
    {"of CPython 3.14",
     {0xf3, 0x0f, 0x1e, 0xfa, // endbr64
      0x55, 0x48, 0x89, 0xe5, // push %rbp; mov %rsp, %rbp
      0xff, 0xd1,             // call *%rcx
      0x5d, 0xc3},            // pop %rbp; ret
     12,
     10,
     true},
    {"something else",
     {0x48, 0x83, 0xec, 0x18,        // sub $24, %rsp
      0xff, 0xd1,                    // call *%rcx
      0x48, 0x83, 0xc4, 0x18, 0xc3}, // add $24, %rsp; ret
     11,
     6,
     false},
#else
    {"of CPython 3.12",
     {0xfd, 0x7b, 0xbf, 0xa9,  // stp x29, x30, [sp, #-16]!
      0xfd, 0x03, 0x00, 0x91,  // mov x29, sp
      0x60, 0x00, 0x3f, 0xd6,  // blr x3
      0xfd, 0x7b, 0xc1, 0xa8,  // ldp x29, x30, [sp], #16
      0xc0, 0x03, 0x5f, 0xd6}, // ret
     20,
     12,
     true},
#endif
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static struct unwind_thread thread;
static const struct form *form;
static trampoline *volatile through[MARKS];
static uint64_t inside[MARKS]; // behind the call
static uint64_t noted[2 * DEPTH + 2];
static uint32_t noted_count, repeated;
static volatile uint64_t sink;
static void (*arrive)(void);

static uint64_t descend(uint64_t path, uint64_t left);

__attribute__((noinline)) static uint64_t plain(uint64_t path, uint64_t left) {
    noted[noted_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    return descend(path, left) + 1;
}
__attribute__((noinline)) static uint64_t variable(uint64_t path, uint64_t left) {
    volatile char *room = alloca(32 + path % 100);
    noted[noted_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    room[0] = 1;
    return descend(path, left) + (uint64_t)room[0];
}
__attribute__((noinline)) static uint64_t large(uint64_t path, uint64_t left) {
    volatile char room[600];
    noted[noted_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    room[left] = 1;
    return descend(path, left) + (uint64_t)room[left];
}

__attribute__((noinline)) static uint64_t descend(uint64_t path, uint64_t left) {
    static uint64_t (*const steps[])(uint64_t, uint64_t) = {plain, variable, large};
    noted[noted_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (left)
        sink += through[path % MARKS](path / 3, left - 1, 0, steps[path % 3]);
    else
        arrive();
    return sink++;
}

// One trampoline at a place of its page, and one that ends where its page ends and the next one cannot be read.
static uint8_t *make_code(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *code = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    uint8_t *places[MARKS] = {code + 64, code + page - (form->size + 3) / 4 * 4};
    if (page % 4 == 0 && form->after_call % 4)
        places[1] = code + page - form->size; // x86-64 has no alignment
    for (int i = 0; i < MARKS; i++) {
        memcpy(places[i], form->bytes, form->size);
        through[i] = (trampoline *)(uintptr_t)places[i];
        inside[i] = (uint64_t)(uintptr_t)places[i] + form->after_call;
    }
    __builtin___clear_cache((char *)code, (char *)code + page);
    if (mprotect(code, page, PROT_READ | PROT_EXEC) || mprotect(code + page, page, PROT_NONE)) {
        print_message("skipped: no generated code here\n");
        exit(77);
    }
    return code;
}

static bool is_inside(uint64_t pc) {
    return pc == inside[0] || pc == inside[1];
}

// Innermost first: every noted address, and a marked trampoline each.
static void require_noted(const uint64_t *frames, struct unwind_result result) {
    uint32_t at = 0;
    assert_int_equal(result.end, UNWIND_OUTERMOST);
    assert_int_equal(result.exact, result.count);
    for (uint32_t i = noted_count; i-- > 0;) {
        while (at < result.count && frames[at] != (noted[i] | (is_inside(noted[i]) ? UNWIND_TRAMPOLINE : 0)))
            assert_int_equal(frames[at++] & MARK, 0);
        assert_true(at++ < result.count);
    }
    for (; at < result.count; at++)
        assert_int_equal(frames[at] & MARK, 0);
}

__attribute__((noinline)) static void walk_through(void) {
    uint64_t frames[FRAMES_MAX], full[FRAMES_MAX];
    struct unwind_registers registers;
    unwind_capture(&registers);
    errno = ENOTTY;
    struct unwind_result result = unwind_walk_full(&thread, &registers, full, FRAMES_MAX);
    require_noted(full, result);
    for (int i = 0; i < 4; i++) {
        struct unwind_result fast = unwind_walk(&thread, &registers, frames, FRAMES_MAX);
        require_noted(frames, fast);
        assert_int_equal(fast.count, result.count);
        assert_int_equal(memcmp(frames, full, fast.count * sizeof *frames), 0);
        repeated += fast.same != 0;
    }
    assert_int_equal(errno, ENOTTY);
    sink++;
}

// Other code is not taken for one: the walk says that it has not reached the end, or that it guesses.
__attribute__((noinline)) static void walk_other(void) {
    uint64_t frames[FRAMES_MAX];
    struct unwind_registers registers;
    unwind_capture(&registers);
    for (int i = 0; i < 2; i++) {
        struct unwind_result result = i ? unwind_walk_full(&thread, &registers, frames, FRAMES_MAX)
                                        : unwind_walk(&thread, &registers, frames, FRAMES_MAX);
        assert_true(result.exact < result.count || result.end != UNWIND_OUTERMOST);
        for (uint32_t at = 0; at < result.count; at++)
            assert_int_equal(frames[at] & UNWIND_TRAMPOLINE, 0);
    }
    sink++;
}

static void test_forms(void **state) {
    (void)state;
    assert_true(unwind_table_refresh(NULL));
    assert_true(unwind_thread_init(&thread));
    for (form = forms; form < forms + FORMS; form++) {
        uint8_t *code = make_code();
        arrive = form->is_trampoline ? walk_through : walk_other;
        for (uint64_t path = 0; path < PATHS; path++) {
            noted_count = 0;
            sink += descend(path * 7919, 1 + path % DEPTH);
        }
        // The next ones may have its place, and a thread keeps what it saw there as long as the modules are the same.
        memset(thread.cache, 0, sizeof thread.cache);
        munmap(code, 2 * (size_t)sysconf(_SC_PAGESIZE));
        print_message("%s: %d paths, %u walks like one before\n", form->name, PATHS, repeated);
        // A stack that comes again is known as any other is, where rules of two registers suffice.
        assert_true(repeated > PATHS / 2 || !MACHINE_PUSHES || !form->is_trampoline);
        repeated = 0;
    }
}

// --- an address that is returned to, and is no code ------------------------------------------------

static uint64_t no_code;

__attribute__((noinline)) static void walk_smashed(void) {
    uint64_t frames[FRAMES_MAX], whole[FRAMES_MAX], *back = (uint64_t *)__builtin_frame_address(0) + 1,
                                                    kept = *back;
    struct unwind_registers registers;
    unwind_capture(&registers);
    *(volatile uint64_t *)back = no_code;
    struct unwind_result fast = unwind_walk(&thread, &registers, frames, FRAMES_MAX);
    struct unwind_result full = unwind_walk_full(&thread, &registers, whole, FRAMES_MAX);
    *(volatile uint64_t *)back = kept;
    // No caller is known where there is no return address: both walks end there.
    assert_true(fast.end != UNWIND_OUTERMOST || fast.exact < fast.count || !no_code);
    assert_int_equal(fast.end, full.end);
    assert_int_equal(fast.exact, full.exact);
    assert_int_equal(fast.count, full.count);
    assert_int_equal(memcmp(frames, whole, fast.count * sizeof *frames), 0);
    sink++;
}

static void test_no_code(void **state) {
    (void)state;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint8_t *none = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(none != MAP_FAILED);
    assert_int_equal(mprotect(none, page, PROT_READ | PROT_WRITE), 0);
    const uint64_t end = (uint64_t)(uintptr_t)none + page;
    const uint64_t addresses[] = {
        0, end,       end - 1,           end - 4,       end - 7, end + 1, end + page - 2,
        8, INT64_MAX, UINT64_C(1) << 47, UINT64_MAX - 2};
    assert_true(unwind_table_refresh(NULL));
    assert_true(unwind_thread_init(&thread));
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        no_code = addresses[i];
        walk_smashed();
    }
    munmap(none, 2 * page);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_no_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) {
    return 77;
}
#endif
