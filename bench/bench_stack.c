// SPDX-License-Identifier: Apache-2.0
// What a call stack of 23 frames, of code without frame pointers, costs by each means, in the same run: per batch of
// calls the smallest time of many, the means in turn. Then what it takes to be ready, with libLLVM loaded if it is there.
//
//     bench_stack               everything
//     bench_stack MEANS COUNT   one of walk, intern, call, full, backtrace, unw_step, unw_backtrace or none, COUNT times:
//                               for valgrind --tool=callgrind --toggle-collect=measured
//
// "call" is all that an agent does for the stack of a call, in a session of its own.
#include <stdlib.h>

#include "../tests/unwind/others.h"
#include "agentkit/stacks.h"
#include "base/clock.h"
#include "collect/session_directory.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"
#include "wire/stack_table.h"

enum { FRAMES_MAX = 128, ROUNDS = 400, CALLS = 500, TABLE_BYTES = 1 << 20 };

enum means { NONE, WALK, INTERN, CALL, FULL, BACKTRACE, UNW_STEP, UNW_BACKTRACE, MEANS };
static const char *const NAMES[MEANS] = {"none", "walk",      "intern",   "call",
                                         "full", "backtrace", "unw_step", "unw_backtrace"};

static struct unwind_thread thread;
static struct stack_table *table;
static volatile uint64_t sink;
static uint32_t depth_seen;
#ifdef OTHERS_LIBUNWIND
static struct libunwind libunwind;
#endif
static bool has_libunwind;

void measured(enum means means, uint32_t count);

static uint32_t by_own(bool full, bool intern) {
    uint64_t frames[FRAMES_MAX];
    struct unwind_registers registers;
    unwind_capture(&registers);
    struct unwind_result result = full ? unwind_walk_full(&thread, &registers, frames, FRAMES_MAX)
                                       : unwind_walk(&thread, &registers, frames, FRAMES_MAX);
    if (intern)
        sink += stack_table_add(table, stack_table_hash(frames, result.count, 0), frames, result.count, 0);
    return result.count;
}

static uint32_t by_libunwind(bool cached) {
    uint64_t frames[FRAMES_MAX];
    int count = 0;
#ifdef OTHERS_LIBUNWIND
    unw_context_t context;
    if (cached)
        count = libunwind.backtrace((void **)frames, FRAMES_MAX);
    else if (libunwind.getcontext(&context) == 0)
        count = libunwind_walk(&libunwind, &context, frames, FRAMES_MAX);
#endif
    (void)cached, (void)frames;
    return (uint32_t)count;
}

// `count` stacks by one of the means.
__attribute__((noinline)) void measured(enum means means, uint32_t count) {
    void *frames[FRAMES_MAX];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        switch (means) {
        case WALK:
            depth = by_own(false, false);
            break;
        case INTERN:
            depth = by_own(false, true);
            break;
        case CALL:
            sink += stacks_capture();
            depth = 22; // itself left out
            break;
        case FULL:
            depth = by_own(true, false);
            break;
        case BACKTRACE:
            depth = (uint32_t)backtrace(frames, FRAMES_MAX);
            break;
        case UNW_STEP:
            depth = by_libunwind(false);
            break;
        case UNW_BACKTRACE:
            depth = by_libunwind(true);
            break;
        default:
            break;
        }
    }
    depth_seen = depth;
    __asm__ volatile("" ::: "memory");
}

// 15 functions, each with a frame of its own size and four registers saved, and a return address of its own: as on a real
// stack, no rule is used twice in a walk.
#define LEVEL(number, next)                                                                                  \
    __attribute__((noinline)) static uint64_t level_##number(uint64_t a, uint64_t b,                         \
                                                             void (*arrived)(void)) {                        \
        volatile uint64_t local[number + 1] = {a};                                                           \
        sink += next(a + 1, b ^ a, arrived);                                                                 \
        return a * b + local[a % (number + 1)];                                                              \
    }
__attribute__((noinline)) static uint64_t level_0(uint64_t a, uint64_t b, void (*arrived)(void)) {
    arrived();
    return a * b;
}
LEVEL(1, level_0)
LEVEL(2, level_1)
LEVEL(3, level_2)
LEVEL(4, level_3)
LEVEL(5, level_4)
LEVEL(6, level_5)
LEVEL(7, level_6)
LEVEL(8, level_7)
LEVEL(9, level_8)
LEVEL(10, level_9)
LEVEL(11, level_10)
LEVEL(12, level_11)
LEVEL(13, level_12)
LEVEL(14, level_13)
LEVEL(15, level_14)

static enum means chosen;
static uint32_t chosen_count;

static void arrived_for_one(void) {
    measured(chosen, 100);
    measured(chosen, chosen_count);
}

static void arrived_for_all(void) {
    double best[MEANS];
    uint32_t depths[MEANS];
    for (int means = 0; means < MEANS; means++)
        best[means] = 1e9;
    for (int round = 0; round < ROUNDS; round++)
        for (int means = 0; means < MEANS; means++) {
            if (means >= UNW_STEP && !has_libunwind)
                continue;
            uint32_t calls = means == FULL || means == BACKTRACE || means == UNW_STEP ? CALLS / 25 : CALLS;
            int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
            measured((enum means)means, calls);
            double each = (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - begun) / calls;
            best[means] = each < best[means] ? each : best[means];
            depths[means] = depth_seen;
        }
    for (int means = WALK; means < MEANS; means++)
        if (best[means] < 1e9)
            printf("%-14s %8.1f ns  %u frames\n", NAMES[means], best[means], depths[means]);
}

// ---- as an agent has it

// Another path for each number: its digits select the functions.
typedef uint64_t digits_function(uint64_t number, uint32_t digits);
static digits_function *const digits_functions[8];

__attribute__((noinline)) static uint64_t arrive(uint64_t number) {
    if (chosen == CALL)
        sink += stacks_capture();
    else if (chosen == WALK)
        sink += by_own(false, false);
    return number + 1;
}

__attribute__((always_inline)) static inline uint64_t next_digit(uint64_t number, uint32_t digits) {
    return digits ? digits_functions[number >> 3 * ((digits - 1) % 5) & 7](number, digits - 1)
                  : arrive(number);
}

#define DIGIT(n)                                                                                             \
    __attribute__((noinline)) static uint64_t digit_##n(uint64_t number, uint32_t digits) {                  \
        volatile uint64_t room[2 * (n) + 1];                                                                 \
        room[0] = number;                                                                                    \
        return next_digit(number, digits) + room[0];                                                         \
    }
DIGIT(0)
DIGIT(1)
DIGIT(2)
DIGIT(3)
DIGIT(4)
DIGIT(5)
DIGIT(6)
DIGIT(7)
static digits_function *const digits_functions[8] = {digit_0, digit_1, digit_2, digit_3,
                                                     digit_4, digit_5, digit_6, digit_7};

static double take_new(enum means means, uint64_t count) {
    chosen = means;
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t number = 0; number < count; number++)
        sink += next_digit(number, 17);
    return (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - begun) / (double)count;
}

static void measure_new(void) {
    enum { NEW = 10000 };
    double first = take_new(CALL, NEW), none = 1e9, walk = 1e9, again = 1e9;
    for (int round = 0; round < 20; round++) {
        double times[] = {take_new(NONE, NEW), take_new(WALK, NEW), take_new(CALL, NEW)};
        none = times[0] < none ? times[0] : none;
        walk = times[1] < walk ? times[1] : walk;
        again = times[2] < again ? times[2] : again;
    }
    printf("%d different   %8.1f ns each, %.1f when they come again (walk alone: %.1f)\n", NEW, first - none,
           again - none, walk - none);
}

// The agent's part of a session; the collector is not there.
static bool begin_session(struct session_directory *directory) {
    const tsmith_capture_options options = {.size = sizeof options, .stacks = 1};
    struct channel *channel;
    tsmith_error error;
    if (session_directory_create(directory, &options, &error) ||
        channel_open(directory->path, "bench", &channel))
        return false;
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    bool started = stacks_start(channel);
    int64_t middle = clock_now(CLOCK_THREAD_CPUTIME_ID);
    sink += stacks_capture();
    int64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID);
    printf("an agent       attached in %.1f us; first stack of the process %.1f us\n",
           (double)(middle - begun) / 1e3, (double)(end - middle) / 1e3);
    return started;
}

static void measure_readiness(const char *when) {
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    unwind_table_refresh(NULL);
    int64_t middle = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 1000; i++)
        unwind_table_refresh(NULL);
    int64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID);
    printf("%-14s ready in %.1f us; where nothing is new: %.3f us; for a thread %zu bytes\n", when,
           (double)(middle - begun) / 1e3, (double)(end - middle) / 1e6, sizeof thread);
}

// Addresses all over a large module, each asked once: what a miss costs.
static void measure_misses(const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *place = handle ? dlsym(handle, "LLVMContextCreate") : NULL;
    struct cfi_section section;
    struct cfi_row row;
    if (!place)
        return;
    measure_readiness("libLLVM opened");
    enum { ASKED = 20000 };
    uint32_t found = 0;
    int64_t begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < ASKED; i++)
        found += unwind_table_find((uint64_t)(uintptr_t)place + i * 1000 + 7, &section, &row) == UNWIND_ROW;
    int64_t end = clock_now(CLOCK_THREAD_CPUTIME_ID);
    printf("%s: %d addresses met for the first time, %.0f ns each, %u with a rule\n", name, ASKED,
           (double)(end - begun) / ASKED, found);
}

int main(int argc, char **argv) {
#ifdef OTHERS_LIBUNWIND
    has_libunwind = libunwind_open(&libunwind);
#endif
    table = stack_table_init(calloc(1, TABLE_BYTES), TABLE_BYTES);
    measure_readiness("at the start");
    if (!table || !unwind_thread_init(&thread))
        return 1;
    struct session_directory directory;
    if (!begin_session(&directory))
        return 1;
    // With main, its callers in libc and _start, and the functions that take the stack, the levels make 23 frames.
    if (argc > 2) {
        while (chosen < MEANS && strcmp(NAMES[chosen], argv[1]) != 0)
            chosen++;
        chosen_count = (uint32_t)strtoul(argv[2], NULL, 10);
        level_15(3, 4, arrived_for_one);
        session_directory_remove(&directory);
        return chosen == MEANS;
    }
    level_15(3, 4, arrived_for_all);
    measure_new();
    session_directory_remove(&directory);
    measure_misses("libLLVM-14.so.1");
    return 0;
}
