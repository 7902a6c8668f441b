// SPDX-License-Identifier: Apache-2.0
// Interned stacks: the same frames get the same number, a u32 that an event can carry.
//
// The table is one block of memory without pointers, which may be shared with another process; it only grows. Any number
// of threads add at once, and signal handlers too: a stack is written, then its slot is taken by one compare-and-swap;
// the loser of a race finds the winner's number. The number is the position of the stack (in units of 8 bytes), so it
// can be looked up without an index, and once returned the stack is complete even if its process is killed.
//
// When there is no more room, stacks get the number 0 ("none").
#ifndef WIRE_STACK_TABLE_H
#define WIRE_STACK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STACK_TABLE_FRAMES_MAX = (16 << 10) + 1,
    STACK_TABLE_BYTES_MIN = 64 * 1024,
    STACK_TABLE_BYTES_MAX = 128 << 20
};

// How far a stack can be trusted, for those who only see the table.
enum {
    STACK_PARTIAL = 1, // does not reach the outermost frame
    STACK_GUESSED = 2, // some frames rest on frame pointers
};

struct stack_view {
    const uint64_t *frames; // innermost first
    uint32_t count;
    uint32_t flags;
};

struct stack_table;

// Makes a table of `bytes` (at least STACK_TABLE_BYTES_MIN, at most STACK_TABLE_BYTES_MAX; an eighth is index) of zeroed memory that is the
// caller's and aligned to 8. NULL: it cannot be one.
struct stack_table *stack_table_init(void *memory, size_t bytes);

// What places a stack in every table.
uint64_t stack_table_hash(const uint64_t *frames, uint32_t count, uint32_t flags);
// The stack with this hash will be looked for soon.
void stack_table_prefetch(struct stack_table *table, uint64_t hash);

// The number of these frames, whose hash it is; 0: there is no room, or no frame, or more than STACK_TABLE_FRAMES_MAX. No
// lock, allocation or system call.
uint32_t stack_table_add(struct stack_table *table, uint64_t hash, const uint64_t *frames, uint32_t count,
                         uint32_t flags);

// The same for stacks that are in the table already; 0: it is not.
uint32_t stack_table_find(struct stack_table *table, uint64_t hash, const uint64_t *frames, uint32_t count,
                          uint32_t flags);

// Whether more than half of the room for stacks is taken.
bool stack_table_is_half_full(const struct stack_table *table);

// Checks the word at the position of a stack: the number of its frames. False: no stack begins so.
bool stack_table_head(uint64_t word, uint32_t *count, uint32_t *flags);

// A stack of a table that may be another process's: `bytes` is how much memory there is. False: no stack has that number.
bool stack_table_get(const struct stack_table *table, size_t bytes, uint32_t id, struct stack_view *stack);

#endif
