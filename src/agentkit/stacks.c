// SPDX-License-Identifier: Apache-2.0
// The calling thread's part: what it keeps between its stacks, and one stack.
//
// A thread's state is made at its first call and left to the next thread that begins when it ends. A signal handler that
// interrupts a capture of its own thread works on its own stack alone, with less room and without Python's functions.
#include "agentkit/stacks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agentkit/stacks_private.h"
#include "base/thread_sanitizer.h"
#include "unwind/python.h"
#include "wire/channel_private.h"
#include "wire/memory.h"
#include "wire/stack_table.h"

enum {
    WORDS_MAX = STACK_TABLE_FRAMES_MAX - 1, // 1: the epoch
    WORDS_LEAST = 8,
    OURS_MAX = 8, // frames of ours at the beginning, which are left out
    NESTED_MAX = 160,
    BACKOFF = 1024,
    PATIENCE = 50 // ms
};

// The number of a walk that comes again (unwind.h), where its code and its file are the same.
struct kept {
    uint32_t same, number;
    uint64_t epoch, file;
};

struct thread {
    struct thread *other;   // of all there were
    _Atomic uint32_t owned; // by a living thread
    // The stack pointer of the call whose stack is being taken; 0: none is. Read by stacks_end.
    _Atomic uint64_t busy;
    struct kept kept[UNWIND_MEMOS];
    struct unwind_thread unwind;
    struct python_thread python;
    uint64_t words[STACK_TABLE_FRAMES_MAX + OURS_MAX]; // touched as far as a stack is deep
};

bool stacks_on;
static struct channel *channel;
static uint32_t words_max; // of a stack
static struct thread *_Atomic all;
static pthread_key_t key;
static __thread struct thread *here __attribute__((tls_model("initial-exec")));
static __thread uint32_t backoff __attribute__((tls_model("initial-exec")));
static __thread bool is_making
    __attribute__((tls_model("initial-exec"))); // what a handler must not begin again

static bool has_turn; // of the thread that forks

// A fork waits for no lock (wire/channel.c): for the turn it waits a little, and so do those that want it meanwhile.
static void before_fork(void) {
    has_turn = stacks_modules_take_turn();
}

static void after_fork_parent(void) {
    if (has_turn)
        stacks_modules_end_turn();
}

static void set_busy(struct thread *thread, uint64_t stack_pointer) {
    atomic_store_explicit(&thread->busy, stack_pointer, memory_order_relaxed);
}

static uint64_t get_busy(const struct thread *thread) {
    return atomic_load_explicit(&thread->busy, memory_order_relaxed);
}

static void after_fork_child(void) {
    thread_sanitizer_pause();
    for (struct thread *thread = atomic_load(&all); thread; thread = thread->other)
        if (thread != here) { // it is not there any more
            set_busy(thread, 0);
            atomic_store(&thread->owned, 0);
        }
    after_fork_parent();
    thread_sanitizer_resume();
}

// No lock: a signal handler of a thread that has it would wait for its own thread.
static void thread_end(void *thread) {
    here = NULL;
    atomic_store_explicit(&((struct thread *)thread)->owned, 0, memory_order_release);
}

static struct thread *take_idle(void) {
    struct thread *thread = atomic_load(&all);
    for (; thread; thread = thread->other) {
        uint32_t none = 0;
        if (!atomic_load_explicit(&thread->owned, memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&thread->owned, &none, 1, memory_order_acquire,
                                                    memory_order_relaxed))
            break;
    }
    return thread;
}

static struct thread *make_thread(void) {
    struct thread *thread = memory_take(sizeof *thread);
    if (!thread)
        return NULL;
    atomic_store(&thread->owned, 1);
    thread->other = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &thread->other, thread)) {
    }
    return thread;
}

// The thread's own state. What the C library does here may take locks.
static bool make_here(void) {
    struct thread *thread = take_idle();
    if (!thread)
        thread = make_thread();
    if (!thread)
        return false;
    set_busy(thread, 0);
    memset(thread->kept, 0, sizeof thread->kept);
    python_reset(&thread->python);
    if (!unwind_thread_init(&thread->unwind) || pthread_setspecific(key, thread)) {
        thread_end(thread);
        return false;
    }
    here = thread;
    return true;
}

// Once per thread, and again after a fork.
static bool make_ready(void) {
    const int saved = errno;
    bool is_ready = false;
    if (is_making) // a signal struck there
        return false;
    is_making = true;
    atomic_signal_fence(memory_order_seq_cst);
    is_ready = (stacks_file_current(channel) || stacks_file_open(channel)) && (here || make_here());
    atomic_signal_fence(memory_order_seq_cst);
    is_making = false;
    if (!is_ready)
        backoff = BACKOFF;
    errno = saved;
    return is_ready;
}

// How often code has taken the place of other code.
static uint64_t current_epoch(void) {
    return atomic_load_explicit(&channel->process->stack_epoch, memory_order_acquire);
}

static uint32_t intern_text(void *unused, const char *bytes, size_t length) {
    (void)unused;
    return channel_string(channel, bytes, length);
}

// Marks words that need a note; returns the number of the agent's own frames at the beginning, which are left out.
static uint32_t mark_words(uint64_t *words, const struct unwind_result *result) {
    uint32_t ours = 0;
    while (ours < result->count && stacks_modules_ours(words[ours]))
        ours++;
    for (uint32_t i = 0; i < result->struck_count; i++)
        words[result->struck[i]] |= STACKS_STRUCK;
    _Static_assert(STACKS_GUESSED == UNWIND_GUESSED && STACKS_TRAMPOLINE == UNWIND_TRAMPOLINE,
                   "the walk has marked them");
    return ours;
}

// Why a stack is not all that it should be: TSMITH_REASON_NONE, or what is counted for it.
static tsmith_reason why_cut(const struct unwind_result *result) {
    return result->end == UNWIND_OUTERMOST ? TSMITH_REASON_NONE
           : result->end == UNWIND_FULL    ? TSMITH_REASON_DEEP_STACK
                                           : TSMITH_REASON_PARTIAL_STACK;
}

// `cut`: outer frames are missing, for that reason.
static uint32_t keep_stack(uint64_t *words, uint32_t count, tsmith_reason cut, bool guessed) {
    uint64_t epoch = current_epoch();
    if (count > words_max) {
        count = words_max;
        cut = TSMITH_REASON_DEEP_STACK;
    }
    uint32_t flags = (cut ? STACK_PARTIAL : 0) | (guessed ? STACK_GUESSED : 0);
    if (epoch)
        words[count++] = STACKS_EPOCH | epoch;
    uint32_t stack = stacks_file_add(words, count, flags);
    if (!stack)
        channel_lose(channel, TSMITH_REASON_NO_STACK, 1);
    else if (cut)
        channel_lose(channel, cut, 1);
    return stack;
}

// A signal struck while this thread was at it.
static __attribute__((noinline)) uint32_t take_nested(struct thread *thread,
                                                      const struct unwind_registers *registers) {
    uint64_t words[NESTED_MAX + 1];
    struct unwind_result result = unwind_walk_full(&thread->unwind, registers, words, NESTED_MAX);
    uint32_t ours = mark_words(words, &result);
    return keep_stack(words + ours, result.count - ours, why_cut(&result), result.exact < result.count);
}

// The walk, after a look at what was loaded if it met code that was not known. Not when a signal has struck: what it
// interrupted may have the locks that this takes.
static struct unwind_result walk(struct thread *thread, const struct unwind_registers *registers) {
    const uint32_t room = words_max + OURS_MAX;
    struct unwind_result result;
    for (int i = 0; i < 3; i++) {
        result = unwind_walk(&thread->unwind, registers, thread->words, room);
        if (__builtin_expect(!result.stale, 1))
            return result;
        struct unwind_result whole = unwind_walk_full(&thread->unwind, registers, thread->words, room);
        if (whole.struck_count)
            return whole;
        stacks_refresh();
    }
    return unwind_walk_full(&thread->unwind, registers, thread->words, room);
}

static uint32_t number_stack(struct thread *thread, const struct unwind_result *result) {
    const struct python_intern intern = {.function = intern_text};
    uint32_t ours = mark_words(thread->words, result);
    const struct python_native native = {thread->words + ours, result->count - ours, words_max,
                                         result->end == UNWIND_OUTERMOST};
    struct python_missing missing;
    uint32_t count = python_merge(&thread->python, &native, &intern, &missing);
    tsmith_reason cut = missing.room     ? TSMITH_REASON_DEEP_STACK
                        : missing.frames ? TSMITH_REASON_PARTIAL_STACK
                                         : why_cut(result);
    if (missing.functions)
        channel_lose(channel, TSMITH_REASON_PYTHON_STACK, 1);
    return keep_stack(native.frames, count, cut, result->exact < result->count);
}

static uint32_t number_again(struct thread *thread, const struct unwind_result *result) {
    struct kept *kept = &thread->kept[result->same % UNWIND_MEMOS];
    uint64_t epoch = current_epoch(), in = stacks_file_of();
    if (kept->same != result->same || kept->epoch != epoch || kept->file != in || !kept->number)
        *kept = (struct kept){result->same, number_stack(thread, result), epoch, in};
    return kept->number;
}

uint32_t stacks_take(const struct unwind_registers *registers) {
    if (__builtin_expect(!here || !stacks_file_current(channel), 0)) {
        if (backoff > 0 ? backoff-- : !make_ready()) {
            channel_lose(channel, TSMITH_REASON_NO_STACK, 1);
            return 0;
        }
    }
    struct thread *thread = here;
    const uint64_t stack_pointer = registers->values[CFI_STACK_POINTER];
    const uint64_t busy = get_busy(thread);
    if (__builtin_expect(unwind_is_nested(&thread->unwind, busy, stack_pointer), 0))
        return take_nested(thread, registers);
    if (__builtin_expect(busy != 0, 0)) { // a signal handler has jumped out of that one
        thread->python.is_walking = false;
        memset(thread->kept, 0, sizeof thread->kept);
    }
    set_busy(thread, stack_pointer);
    atomic_signal_fence(memory_order_seq_cst);
    // Another session may have begun since the first look: stacks_end waits for threads that are busy.
    if (__builtin_expect(!stacks_file_current(channel), 0)) {
        set_busy(thread, 0);
        channel_lose(channel, TSMITH_REASON_NO_STACK, 1);
        return 0;
    }
    struct unwind_result result = walk(thread, registers);
    uint32_t stack =
        result.same && !python_found() ? number_again(thread, &result) : number_stack(thread, &result);
    atomic_signal_fence(memory_order_seq_cst);
    set_busy(thread, 0);
    return stack;
}

void stacks_refresh(void) {
    if (!stacks_on || !stacks_modules_take_turn())
        return;
    stacks_modules_refresh(channel);
    (void)python_look();
    stacks_modules_end_turn();
    if (stacks_file_current(channel))
        stacks_file_prepare();
}

// Once in the process.
static bool prepare(void) {
    static bool is_prepared;
    if (!is_prepared && pthread_key_create(&key, thread_end) == 0) {
        pthread_atfork(before_fork, after_fork_parent, after_fork_child);
        is_prepared = true;
    }
    return is_prepared;
}

bool stacks_start(struct channel *of) {
    stacks_end();
    if (!of->process->control->stacks || !prepare())
        return false;
    channel = of;
    atomic_fetch_add(&of->process->stack_users, 1);
    words_max = of->process->control->stacks < WORDS_LEAST ? WORDS_LEAST : of->process->control->stacks;
    words_max = words_max < WORDS_MAX ? words_max : WORDS_MAX;
    stacks_on = true;
    stacks_refresh();
    return true;
}

static bool is_any_busy(void) {
    for (const struct thread *thread = atomic_load(&all); thread; thread = thread->other)
        if (get_busy(thread))
            return true;
    return false;
}

// A thread marks itself as busy before it looks whose file this is, and here it is the other way round. The event path has no fence
// between the two: the first of these waits is longer than a store stays in a processor, and a thread that is stopped between them has
// passed a fence of the kernel.
void stacks_end(void) {
    const struct timespec moment = {.tv_nsec = 1000000};
    bool busy = true;
    if (!stacks_on)
        return;
    stacks_on = false;
    stacks_file_end();
    for (int i = 0; i < PATIENCE && busy; i++) {
        nanosleep(&moment, NULL);
        busy = is_any_busy();
    }
    stacks_file_forget(busy);
}
