// SPDX-License-Identifier: Apache-2.0
// Stacks that programs have smashed, and code that nothing describes: no walk reads outside the stack, every walk ends, and
// what rests on a frame pointer is marked.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

#if defined(__x86_64__)
enum { FRAMES_MAX = 128, SMASHED = 200000 };

static struct unwind_thread thread;

static void prepare(void) {
    assert_true(unwind_table_refresh(NULL));
    assert_true(unwind_thread_init(&thread));
}

// --- smashed -------------------------------------------------------------------------------------

struct smashed {
    uint8_t *memory;
    uint64_t low, high;
    struct random random;
};

// A page with nothing after it and nothing before it: one word too far is a fault.
static void make_stack(struct smashed *stack) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    stack->memory = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack->memory != MAP_FAILED);
    assert_int_equal(mprotect(stack->memory + page, page, PROT_READ | PROT_WRITE), 0);
    stack->low = (uint64_t)(uintptr_t)stack->memory + page;
    stack->high = stack->low + page;
}

// Code of ours, of libc's and unmapped; places on the stack, aligned and not; anything.
static uint64_t any_word(struct smashed *stack, const struct unwind_result *real, const uint64_t *frames) {
    uint64_t random = random_next(&stack->random);
    switch (random >> 8 & 7) {
    case 0:
    case 1:
    case 2:
        return frames[(random >> 16) % real->count] + (random >> 60 ? 0 : (random >> 32) % 64);
    case 3:
    case 4:
        return stack->low + (random >> 16) % (stack->high - stack->low) / 8 * 8;
    case 5:
        return stack->low - 64 + (random >> 16) % (stack->high - stack->low + 128);
    case 6:
        return (random >> 16) % 4096;
    default:
        return random;
    }
}

static void require_sane(const struct smashed *stack, const struct unwind_result *result) {
    assert_true(result->count >= 1 && result->count <= FRAMES_MAX);
    assert_true(result->exact <= result->count);
    assert_true(result->end != UNWIND_FULL || result->count == FRAMES_MAX);
    // Every frame takes a word of stack at least.
    assert_true(result->count <= 1 + (stack->high - stack->low) / 8);
}

static void test_smashed(void **state) {
    (void)state;
    prepare();
    struct smashed stack = {.random.state = 11};
    struct unwind_registers registers;
    uint64_t real[FRAMES_MAX], frames[FRAMES_MAX], longest = 0;
    unwind_capture(&registers);
    struct unwind_result found = unwind_walk(&thread, &registers, real, FRAMES_MAX);
    assert_true(found.count > 3);
    make_stack(&stack);
    thread.low = stack.low;
    thread.high = stack.high;
    for (uint32_t i = 0; i < SMASHED; i++) {
        for (uint64_t at = stack.low; i % 16 == 0 && at < stack.high; at += 8)
            *(uint64_t *)(uintptr_t)at = any_word(&stack, &found, real);
        for (int reg = 0; reg < CFI_REGISTERS; reg++)
            registers.values[reg] = any_word(&stack, &found, real);
        registers.values[CFI_STACK_POINTER] =
            stack.low + random_below(&stack.random, stack.high - stack.low) / 8 * 8;
        registers.values[CFI_PC] = real[random_below(&stack.random, found.count)];
        struct unwind_result fast = unwind_walk(&thread, &registers, frames, FRAMES_MAX);
        require_sane(&stack, &fast);
        longest = fast.count > longest ? fast.count : longest;
        struct unwind_result full = unwind_walk_full(&thread, &registers, frames, FRAMES_MAX);
        require_sane(&stack, &full);
    }
    assert_true(longest > 3); // some of it looked like a stack
    munmap(stack.memory, (stack.high - stack.low) * 3);
}

// --- another stack -------------------------------------------------------------------------------

static void test_elsewhere(void **state) {
    (void)state;
    prepare();
    uint64_t frames[8];
    struct unwind_registers registers = {0};
    enum { PAGE = 4096 };
    // A page that can be read and one that cannot: a stack that the program made itself, and its end.
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    unwind_capture(&registers);
    registers.values[CFI_STACK_POINTER] = (uint64_t)(uintptr_t)(pages + PAGE);
    struct unwind_result result = unwind_walk(&thread, &registers, frames, 8);
    assert_int_equal(result.end, UNWIND_ELSEWHERE);
    assert_int_equal(result.count, 1);
    assert_int_equal(frames[0], registers.values[CFI_PC]);
    // Whatever bytes are there, nothing beyond them is touched.
    struct random random = {3};
    for (size_t from = 0; from < PAGE; from += 8) {
        for (size_t i = 0; i < PAGE; i += 8) {
            uint64_t word = i % 3 ? registers.values[CFI_PC] + i % 64
                                  : (uint64_t)(uintptr_t)pages + random_next(&random) % (2 * PAGE);
            memcpy(pages + i, &word, sizeof word);
        }
        registers.values[CFI_STACK_POINTER] = (uint64_t)(uintptr_t)(pages + from);
        registers.values[CFI_FRAME_POINTER] = (uint64_t)(uintptr_t)pages + random_next(&random) % (2 * PAGE);
        result = unwind_walk(&thread, &registers, frames, 8);
        assert_true(result.count >= 1 && result.count <= 8);
        result = unwind_walk_full(&thread, &registers, frames, 8);
        assert_true(result.count >= 1 && result.count <= 8);
    }
    munmap(pages, 2 * PAGE);
}

static void test_room(void **state) {
    (void)state;
    prepare();
    uint64_t all[FRAMES_MAX], some[FRAMES_MAX] = {0};
    struct unwind_registers registers;
    unwind_capture(&registers);
    struct unwind_result whole = unwind_walk(&thread, &registers, all, FRAMES_MAX);
    assert_int_equal(whole.end, UNWIND_OUTERMOST);
    for (uint32_t room = 1; room <= whole.count; room++) {
        struct unwind_result part = unwind_walk(&thread, &registers, some, room);
        assert_int_equal(part.count, room);
        assert_int_equal(part.end, room < whole.count ? UNWIND_FULL : UNWIND_OUTERMOST);
        assert_memory_equal(some, all, room * sizeof *some);
        assert_int_equal(some[room], 0);
    }
}

// --- generated code ------------------------------------------------------------------------------

static struct unwind_result seen;
static uint64_t seen_frames[FRAMES_MAX];

static void look(void) {
    struct unwind_registers registers;
    unwind_capture(&registers);
    seen = unwind_walk(&thread, &registers, seen_frames, FRAMES_MAX);
}

static void *make_code(const uint8_t *bytes, size_t size) {
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(code != MAP_FAILED);
    memcpy(code, bytes, size);
    assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
    return code;
}

// Neither leaves its frame right behind the call (perf_trampoline.h): test_unwind_trampolines.c has code that does.
// push rbp; mov rbp, rsp; call rdi; nop; pop rbp; ret
static const uint8_t WITH_FRAME_POINTER[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x90, 0x5d, 0xc3};
// push rbp; xor ebp, ebp; call rdi; nop; pop rbp; ret
static const uint8_t WITHOUT[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x90, 0x5d, 0xc3};

__attribute__((noinline)) static uint64_t call_code(void *code) {
    void (*function)(void (*)(void));
    memcpy(&function, &code, sizeof function);
    function(look);
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void test_generated_code(void **state) {
    (void)state;
    prepare();
    void *code = make_code(WITH_FRAME_POINTER, sizeof WITH_FRAME_POINTER);
    uint64_t back = call_code(code);
    assert_int_equal(seen.end, UNWIND_OUTERMOST);
    assert_int_equal(seen_frames[1], (uint64_t)(uintptr_t)code + 6); // behind the call
    assert_int_equal(seen_frames[3], back);
    assert_int_equal(seen.exact, 2); // the frame in the code is known by look()'s CFI; its caller is not
    assert_true(seen.count > 5);
    munmap(code, 4096);
    code = make_code(WITHOUT, sizeof WITHOUT);
    call_code(code);
    assert_int_equal(seen_frames[1], (uint64_t)(uintptr_t)code + 5);
    assert_int_equal(seen.end, UNWIND_LOST);
    assert_int_equal(seen.count, 2);
    munmap(code, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_code),
        cmocka_unit_test(test_smashed),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    print_message("skipped: of other processors the walk alone is tested (stack.aarch64)\n");
    return 77;
}
#endif
