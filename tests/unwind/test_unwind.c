// SPDX-License-Identifier: Apache-2.0
// Thousands of call paths through functions of every shape, each of which notes its own return address on the way down:
// what the walk finds must be these, and what glibc's backtrace() and libunwind find, frame by frame. And the same at
// every single instruction of a piece of code, from a signal handler on another stack.
#include "others.h"
#include "support/test.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "unwind/unwind.h"
#include "unwind/unwind_table.h"
#include "wire/stack_table.h"

#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OTHERS_ADDRESS_SANITIZER 1
#endif
#endif

#ifndef TEST_PATHS
#ifdef OTHERS_ADDRESS_SANITIZER
#define TEST_PATHS 1000
#else
#define TEST_PATHS 4000 // an emulator is asked for less
#endif
#endif
enum { DEPTH_MAX = 200, FRAMES_MAX = 512, PATHS = TEST_PATHS, STEPS_MAX = 20000 };

static struct unwind_thread thread;
#ifdef OTHERS_LIBUNWIND
static struct libunwind libunwind;
static bool has_libunwind;
#endif

// The record of the functions on the stack themselves.
static struct {
    uint64_t addresses[DEPTH_MAX];
    uint32_t count;
    struct random random;
    uint32_t left;
    uint32_t paths, signals, sorts;
    uint32_t repeated; // walks that were found to be the same as one before
    bool foreign;      // there are frames of libc's or the kernel's in between
} truth;

static volatile uint64_t sink;

#define NOTE() (truth.addresses[truth.count++] = (uint64_t)(uintptr_t)__builtin_return_address(0))

static void print_difference(const char *whose, const uint64_t *ours, uint32_t count, const uint64_t *theirs,
                             int other) {
    print_message("ours (%u) and %s (%d):\n", count, whose, other);
    for (uint32_t i = 0; i < count || (int)i < other; i++) {
        uint64_t left = i < count ? ours[i] : 0, right = (int)i < other ? theirs[i] : 0;
        print_message("%3u %#18lx %#18lx %s\n", i, left, right, left == right ? "" : "*");
    }
}

static void require_same(const char *whose, const uint64_t *ours, uint32_t count, const uint64_t *theirs,
                         int other) {
    // The address sanitizer's backtrace() is one more frame.
    for (; other > (int)count; other--)
        theirs++;
    // The innermost is where each was called from, which cannot be the same place.
    if ((int)count == other && !memcmp(ours + 1, theirs + 1, (count - 1) * sizeof *ours))
        return;
    print_difference(whose, ours, count, theirs, other);
    fail();
}

// Walks by all means there are from the calling function.
__attribute__((noinline)) static struct unwind_result walk_all(uint64_t *frames) {
    uint64_t full[FRAMES_MAX], other[FRAMES_MAX];
    struct unwind_registers registers;
    unwind_capture(&registers);
    struct unwind_result result = unwind_walk(&thread, &registers, frames, FRAMES_MAX);
    struct unwind_result again = unwind_walk_full(&thread, &registers, full, FRAMES_MAX);
    if (result.end != UNWIND_OUTERMOST || result.exact != result.count)
        print_difference("none", frames, result.count, NULL, 0);
    assert_int_equal(result.end, UNWIND_OUTERMOST);
    assert_int_equal(result.exact, result.count);
    assert_int_equal(again.end, UNWIND_OUTERMOST);
    for (int i = 0; i < 3; i++) {
        uint64_t repeated[FRAMES_MAX];
        struct unwind_result same = unwind_walk(&thread, &registers, repeated, FRAMES_MAX);
        truth.repeated += same.same != 0;
        assert_int_equal(same.exact, same.count);
        require_same("the same walk again", repeated, same.count, frames, (int)result.count);
    }
    require_same("the full walk", frames, result.count, full, (int)again.count);
    int count = backtrace((void **)other, FRAMES_MAX);
    require_same("backtrace()", frames, result.count, other, count);
#ifdef OTHERS_LIBUNWIND
    unw_context_t context;
    if (has_libunwind && libunwind.getcontext(&context) == 0) {
        count = libunwind_walk(&libunwind, &context, other, FRAMES_MAX);
        require_same("libunwind", frames, result.count, other, count);
    }
#endif
    return result;
}

// The noted addresses, innermost first, are found in this order; without foreign frames, next to each other.
__attribute__((noinline)) static void arrive(void) {
    uint64_t frames[FRAMES_MAX];
    struct unwind_result result = walk_all(frames);
    uint32_t at = 0, missing = truth.count;
    for (uint32_t i = truth.count; i-- > 0;) {
        uint32_t from = at;
        while (at < result.count && frames[at] != truth.addresses[i])
            at++;
        if (at == result.count)
            break;
        // In front of the first: walk_all and this function, in the function that noted last.
        assert_true(truth.foreign || i == truth.count - 1 || at == from);
        at++;
        missing--;
    }
    assert_int_equal(missing, 0);
    truth.paths++;
}

static void go(void);

__attribute__((noinline)) static void plain(void) {
    NOTE();
    go();
    sink++;
}

__attribute__((noinline)) static void many_registers(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    NOTE();
    uint64_t e = a * b, f = c + d, g = a ^ c;
    go();
    sink += a + b + c + d + e + f + g;
}

__attribute__((noinline)) static void variable_size(size_t size) {
    NOTE();
    char *bytes = alloca(16 + size);
    bytes[size] = 1;
    __asm__ volatile("" : : "r"(bytes) : "memory");
    go();
    sink += (uint64_t)bytes[size];
}

__attribute__((noinline)) static void aligned(size_t size) {
    NOTE();
    _Alignas(128) char wide[256];
    char *bytes = alloca(16 + size);
    wide[size % 256] = bytes[size % 16] = 1;
    __asm__ volatile("" : : "r"(bytes), "r"(wide) : "memory");
    go();
    sink += (uint64_t)(bytes[size % 16] + wide[size % 256]);
}

__attribute__((noinline)) static void big(void) {
    NOTE();
    volatile char bytes[20000];
    bytes[19999] = 1;
    go();
    sink += (uint64_t)bytes[19999];
}

__attribute__((noinline)) static void with_frame_pointer(void) {
    NOTE();
    sink += (uint64_t)(uintptr_t)__builtin_frame_address(0);
    go();
    sink++;
}

// Called by a jump: its return address is the one in the caller of the function that jumps.
__attribute__((noinline)) static void jumped_to(uint64_t number) {
    NOTE();
    go();
    sink += number;
}

// Unless the compiler, not asked to optimize, calls: then there is a frame that notes nothing.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(OTHERS_ADDRESS_SANITIZER)
enum { JUMPS = true };
#else
enum { JUMPS = false };
#endif

__attribute__((noinline)) static void jumps(uint64_t number) {
    sink += number;
    truth.foreign |= !JUMPS;
    jumped_to(number + 1);
}

static int in_sort(const void *a, const void *b) {
    uint32_t count = truth.count;
    NOTE();
    go();
    truth.count = count;
    return memcmp(a, b, 1);
}

__attribute__((noinline)) static void sorts(void) {
    char items[] = {3, 1, 2};
    NOTE();
    truth.sorts++;
    truth.foreign = true;
    qsort(items, 3, 1, in_sort);
    sink += (uint64_t)items[0];
}

static void in_signal(int number) {
    (void)number;
    uint32_t count = truth.count;
    go();
    truth.count = count;
}

__attribute__((noinline)) static void raises(void) {
    NOTE();
    truth.signals++;
    truth.foreign = true;
    raise(SIGUSR1);
    sink++;
}

__attribute__((noinline)) static void go(void) {
    uint32_t count = truth.count;
    NOTE();
    if (!truth.left) {
        arrive();
    } else {
        truth.left--;
        uint64_t random = random_next(&truth.random) >> 8;
        switch (random % 10) {
        case 0:
            plain();
            break;
        case 1:
            many_registers(random, random >> 3, random >> 5, random >> 7);
            break;
        case 2:
            variable_size(random % 300);
            break;
        case 3:
            aligned(random % 100);
            break;
        case 4:
            big();
            break;
        case 5:
            with_frame_pointer();
            break;
        case 6:
            jumps(random);
            break;
        case 7:
            raises();
            break;
        case 8:
            sorts();
            break;
        default:
            jumped_to(random);
            break;
        }
    }
    sink++;
    truth.count = count;
}

static void prepare(void) {
    assert_true(unwind_table_refresh(NULL));
    assert_true(unwind_thread_init(&thread));
}

static void test_paths(void **state) {
    (void)state;
    prepare();
    stack_t alternate = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
    struct sigaction action = {.sa_handler = in_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    truth.random.state = 5;
    for (uint32_t i = 0; i < PATHS; i++) {
        truth.count = 0;
        truth.foreign = false;
        truth.left = (uint32_t)random_below(&truth.random, 30);
        go();
    }
    assert_true(truth.paths >= PATHS);
    assert_true(truth.signals > PATHS / 40 && truth.sorts > PATHS / 40);
    print_message("%u stacks: %u signals, %u sorts on the way\n", truth.paths, truth.signals, truth.sorts);
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
}

// --- other callers in the same place -------------------------------------------------------------

__attribute__((noinline)) static void inner(void) {
    uint64_t frames[FRAMES_MAX];
    walk_all(frames);
    sink++;
}

// From three places: only a return address distinguishes them.
__attribute__((noinline)) static void middle(uint64_t from) {
    if (from % 3 == 0) {
        inner();
        sink += 1;
    } else if (from % 3 == 1) {
        inner();
        sink += 2;
    } else {
        inner();
        sink += 3;
    }
}

// Found by its frame pointer; how far the callers are apart differs, but not where the innermost is.
__attribute__((noinline)) static void apart(size_t size, size_t rest, uint64_t from) {
    char *bytes = alloca(16 + size * 64);
    bytes[size] = 1;
    __asm__ volatile("" : : "r"(bytes) : "memory");
    if (rest == SIZE_MAX) {
        middle(from);
    } else if (size % 2) {
        apart(rest, SIZE_MAX, from);
        sink += 1;
    } else {
        apart(rest, SIZE_MAX, from);
        sink += 2;
    }
    sink += (uint64_t)bytes[size];
}

__attribute__((noinline)) static void outer(uint64_t from) {
    size_t size = from / 9 % 4;
    if (from / 3 % 3 == 0) {
        apart(size, 3 - size, from);
        sink += 1;
    } else if (from / 3 % 3 == 1) {
        apart(size, 3 - size, from);
        sink += 2;
    } else {
        apart(size, 3 - size, from);
        sink += 3;
    }
}

static void test_same_place(void **state) {
    (void)state;
    prepare();
    struct random random = {3};
    uint32_t before = truth.repeated;
    for (uint32_t i = 0; i < PATHS; i++) {
        uint64_t from = random_below(&random, 36), times = 1 + random_below(&random, 3);
        while (times--)
            outer(from);
    }
    print_message("%u walks like one before\n", truth.repeated - before);
    assert_true(truth.repeated - before > PATHS / 4);
}

static void *other_thread(void *argument) {
    test_paths(argument);
    return NULL;
}

static void test_thread(void **state) {
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, other_thread, state), 0);
    pthread_join(id, NULL);
}

// --- every instruction ---------------------------------------------------------------------------

#if defined(__x86_64__)
static uint32_t steps;

static void on_step(int number) {
    (void)number;
    uint64_t frames[FRAMES_MAX];
    if (steps++ < STEPS_MAX)
        walk_all(frames);
}

// In assembly, so that CFI knows of what they push.
#define STEPPING(name, change)                                                                               \
    void name(void);                                                                                         \
    __asm__(".pushsection .text\n\t.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t"             \
            "pushfq\n\t.cfi_adjust_cfa_offset 8\n\t" change ", (%rsp)\n\t"                                   \
            "popfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.popsection")
STEPPING(begin_stepping, "orq $0x100");
STEPPING(end_stepping, "andq $~0x100");

static int by_value(const void *a, const void *b) {
    return *(const char *)a - *(const char *)b;
}

static void test_every_instruction(void **state) {
    (void)state;
    prepare();
    stack_t alternate = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
    struct sigaction action = {.sa_handler = on_step, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    char items[] = {3, 1, 2}, text[64];
    begin_stepping();
    qsort(items, 3, 1, by_value);
    snprintf(text, sizeof text, "%d %s %f", items[0], "word", 1.5);
    sink += strtoul(text, NULL, 10);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); // the kernel's own code
    end_stepping();
    signal(SIGTRAP, SIG_DFL);
    print_message("%u instructions\n", steps);
    assert_true(steps > 500);
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    free(alternate.ss_sp);
}
#endif

int main(void) {
#ifdef OTHERS_LIBUNWIND
    has_libunwind = libunwind_open(&libunwind);
    print_message("libunwind: %s\n", has_libunwind ? "yes" : "no, left out");
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_same_place),
        cmocka_unit_test(test_thread),
#if defined(__x86_64__)
        cmocka_unit_test(test_every_instruction),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    print_message("skipped: stacks of other processors are their innermost frame\n");
    return 77;
}
#endif
