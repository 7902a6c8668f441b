// SPDX-License-Identifier: Apache-2.0
// The call stack of the thread that asks: program counters, innermost first, exact where the code is described
// (.eh_frame, or .debug_frame of the module's file), by frame pointers and marked so where it is not.
//
// A walk is async-signal-safe: no allocation, no lock, no system call (the exceptions are below). It reads the thread's own
// stack within its bounds, upwards only, so that a stack that the program has smashed ends the walk and nothing else.
//
// The fast walk carries the stack and the frame pointer alone and gets each frame's rule from the thread's cache; a
// frame whose rule needs more (a signal frame, a CFA in another register) makes it begin again as the full walk,
// which carries every register and evaluates CFI as it stands.
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/machine.h"
#include "unwind/unwind_table.h"

enum { UNWIND_SETS = 512, UNWIND_WAYS = 2, UNWIND_ENTERED = 8 };
enum { UNWIND_MEMOS = 4, UNWIND_MEMO_FRAMES = 64, UNWIND_MEMO_WORDS = 96, UNWIND_MEMO_MODULES = 4 };

// How to leave the frame of one program counter; 16 bytes. An entry whose key is 0 is free.
struct unwind_rule {
    uint64_t key;
    int32_t cfa_offset;
    int16_t frame_pointer; // where the caller's is, from the CFA; 0: it has not changed
    uint8_t action;
    uint8_t
        return_words; // below the CFA, where the return address is; 0: behind the frame pointer; UINT8_MAX: where the
                      // frame pointer would be, which has not changed
};

// A walk of the thread's own stack that has come again, and every word of it that the walk depends on: while they are all as
// they were it would end as it did, and they can be looked at side by side instead of one after the other.
struct unwind_memo {
    uint32_t number;            // 0: nothing is kept
    uint32_t misses;            // walks that began at `seen` and were another one since it was kept
    uint64_t seen;              // stack pointer of the last walk that began in this place
    uint64_t pc, stack_pointer; // where it begins
    uint64_t frame_pointer;     // if that matters
    bool has_frame_pointer;
    uint8_t module_count;
    uint16_t frame_count, word_count;
    uint64_t modules[UNWIND_MEMO_MODULES]; // code in those that can be closed
    uint64_t frames[UNWIND_MEMO_FRAMES];
    struct {
        uint64_t at, value;
    } words[UNWIND_MEMO_WORDS];
};

// What a thread keeps between its walks; its memory is the caller's, about 25 KiB.
struct unwind_thread {
    uint64_t low, high; // its stack
    uint64_t version;   // of the table that the cache is from
    uint64_t
        walking; // where a walk of its own stack began, 0: none. One in a signal handler that interrupts it leaves the
                 // cache alone; one from further up follows a handler that jumped out of it (longjmp)
    uint64_t walk; // which one this is
    uint32_t entered_next;
    struct unwind_entered entered[UNWIND_ENTERED]; // the modules met last
    uint32_t memo_number;
    struct unwind_memo memos[UNWIND_MEMOS];
    struct unwind_rule cache[UNWIND_SETS][UNWIND_WAYS];
};

// Whether what began at stack pointer `begun` (0: nothing) is still there, as the thread is at `now`.
static inline bool unwind_is_nested(const struct unwind_thread *thread, uint64_t begun, uint64_t now) {
    bool comparable =
        begun - thread->low < thread->high - thread->low && now - thread->low < thread->high - thread->low;
    return begun && !(comparable && now >= begun);
}

// For the calling thread; reads its bounds, which may allocate: before its first walk, not in a signal handler. False: the
// bounds are not to be had.
bool unwind_thread_init(struct unwind_thread *thread);

enum unwind_end {
    UNWIND_OUTERMOST, // the stack is whole
    UNWIND_FULL,      // there are more frames than room
    UNWIND_LOST,      // no rule for the last frame, or its result is not possible
    UNWIND_ELSEWHERE, // the stack pointer points to nothing that can be read
};

enum { UNWIND_STRUCK_MAX = 4 };

struct unwind_result {
    uint32_t count;
    uint32_t exact; // found by CFI; those from there on depend on a frame pointer, or on such a frame
    enum unwind_end end;
    uint32_t
        same; // not 0: the same frames, from outermost to innermost, as every walk of this thread with this number
    // Code was loaded or closed since the last refresh of the table (unwind_table.h) that the walk met, or what describes it is
    // not read yet: after the next refresh it may come out better.
    bool stale;
    // Frames that a signal struck: their program counter is where they stopped, and no return address. Of more than
    // UNWIND_STRUCK_MAX the innermost.
    uint32_t struck_count;
    uint32_t struck[UNWIND_STRUCK_MAX];
};

// Registers to start from.
struct unwind_registers {
    uint64_t values[CFI_REGISTERS];
};

// The calling function's, at the place where this stands.
__attribute__((always_inline)) static inline void unwind_capture(struct unwind_registers *registers) {
    machine_capture(registers->values);
}

// In a frame that was found by a frame pointer: between it and the frame that it called, callers may be missing. Frames that
// were found from it by CFI are not marked; they are as sure as it is.
#define UNWIND_GUESSED (UINT64_C(1) << 62)
// In a frame of generated code that is left right behind its call, as perf trampolines are (perf_trampoline.h). It is as sure as one found by CFI.
#define UNWIND_TRAMPOLINE (UINT64_C(1) << 61)

// Walks from `registers`, which unwind_capture filled in this function or in one that has not returned. The first
// frame is the program counter captured, the rest are return addresses (after a signal frame: where it struck), with
// UNWIND_GUESSED and UNWIND_TRAMPOLINE where that is so.
// Asks the system for the alternate signal stack if the stack pointer is not on the thread's own, and if it is not on that
// either what can be read there; and, at an address that no module has, whether the code there can be read (the fast walk once for
// each address and version of the table).
struct unwind_result unwind_walk(struct unwind_thread *thread, const struct unwind_registers *registers,
                                 uint64_t *frames, uint32_t capacity);

// The full walk alone: what the fast one is compared with.
struct unwind_result unwind_walk_full(const struct unwind_thread *thread,
                                      const struct unwind_registers *registers, uint64_t *frames,
                                      uint32_t capacity);

#endif
