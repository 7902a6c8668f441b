// SPDX-License-Identifier: Apache-2.0
// Walks the stack of the calling thread. src/agentkit/stacks.c calls it for each recorded call with a stack.
#include "unwind/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unwind/go_table.h"
#include "unwind/own_code.h"
#include "unwind/perf_trampoline.h"
#include "unwind/unwind_debug.h"
#include "unwind/unwind_table.h"

enum {
    RED_ZONE = 128, // below the stack pointer, a function may have left what its rules still name
    WORD = sizeof(uint64_t)
};

enum action {
    CFA_FROM_STACK_POINTER = 1,
    CFA_FROM_FRAME_POINTER,
    CFA_AT_FRAME_POINTER, // loaded from there: a function that aligned its stack
    TRAMPOLINE,           // CFA_FROM_STACK_POINTER, in code that is known by its instructions
    OUTERMOST,
    NEEDS_FULL,
    UNKNOWN,
};

// Where a walk may read: the stack that the stack pointer is on.
struct span {
    uint64_t low, high;
};

struct walk {
    uint64_t *frames;
    uint32_t capacity;
    struct unwind_result result;
};

static uint64_t load(uint64_t address) {
    return *(const uint64_t *)(uintptr_t)address;
}

static bool add_frame(struct walk *walk, uint64_t pc) {
    if (walk->result.count == walk->capacity) {
        walk->result.end = UNWIND_FULL;
        return false;
    }
    walk->frames[walk->result.count++] = pc;
    return true;
}

static bool end(struct walk *walk, enum unwind_end how) {
    walk->result.end = how;
    return false;
}

// From here on frames rest on a frame pointer.
static void mark_guess(struct walk *walk) {
    if (walk->result.exact == UINT32_MAX)
        walk->result.exact = walk->result.count;
}

// --- code without unwind data --------------------------------------------------------------------

// Whether `pc`, an address that is returned to, is in a perf trampoline. Only where the loader knows of no code.
static enum perf_trampoline trampoline_at(uint64_t pc) {
    uint8_t bytes[PERF_TRAMPOLINE_BYTES] = {0};
    (void)own_code_copy(pc, bytes, sizeof bytes); // a trampoline may end where its page does
    return perf_trampoline_of(bytes);
}

static void mark_trampoline(struct walk *walk) {
    walk->frames[walk->result.count - 1] |= UNWIND_TRAMPOLINE;
}

// --- rules ---------------------------------------------------------------------------------------

// DW_OP_breg of the frame pointer, DW_OP_deref: gcc's expression for a CFA that is stored in the frame, below its frame pointer.
static bool is_deref(const struct cfi_section *section, const struct cfi_rule *cfa, int32_t *offset) {
    const uint8_t *code = section->start + cfa->value;
    if (cfa->length != 3 || code[0] != 0x70 + CFI_FRAME_POINTER || code[1] & 0x80 || code[2] != 0x06)
        return false;
    *offset = code[1] & 0x40 ? code[1] - 0x80 : code[1];
    return true;
}

static uint8_t compress_cfa(const struct cfi_section *section, const struct cfi_row *row, int32_t *offset) {
    *offset = row->cfa.value;
    if (row->cfa.how == CFI_IS_EXPRESSION)
        return is_deref(section, &row->cfa, offset) ? CFA_AT_FRAME_POINTER : NEEDS_FULL;
    if (row->cfa_register == CFI_STACK_POINTER)
        return CFA_FROM_STACK_POINTER;
    return row->cfa_register == CFI_FRAME_POINTER ? CFA_FROM_FRAME_POINTER : NEEDS_FULL;
}

// Where the return address is, if a rule can give that.
static bool compress_return(const struct cfi_rule *back, struct unwind_rule *rule) {
    if (back->how != CFI_AT_OFFSET || back->value % WORD || back->value >= 0)
        return false;
    if (MACHINE_PUSHES || back->value > -UINT8_MAX * WORD)
        rule->return_words = (uint8_t)(back->value / -WORD);
    if (MACHINE_PUSHES || rule->return_words)
        return !MACHINE_PUSHES || back->value == -WORD;
    if (rule->frame_pointer)
        return back->value == rule->frame_pointer + WORD;
    rule->return_words = UINT8_MAX;
    rule->frame_pointer = (int16_t)back->value;
    return back->value >= INT16_MIN;
}

// The row as a rule that needs two registers, if it can be one.
static struct unwind_rule compress(const struct cfi_section *section, const struct cfi_row *row) {
    const struct cfi_rule *frame_pointer = &row->registers[CFI_FRAME_POINTER];
    const struct cfi_rule *back = &row->registers[CFI_RETURN];
    struct unwind_rule rule = {.action = NEEDS_FULL};
    if (row->is_signal_frame || row->go_calls_c || row->return_register != CFI_RETURN)
        return rule;
    if (back->how == CFI_UNDEFINED) {
        rule.action = OUTERMOST;
        return rule;
    }
    if (frame_pointer->how == CFI_AT_OFFSET && frame_pointer->value < 0 && frame_pointer->value >= INT16_MIN)
        rule.frame_pointer = (int16_t)frame_pointer->value;
    else if (frame_pointer->how != CFI_SAME)
        return rule;
    if (!compress_return(back, &rule) || row->registers[CFI_STACK_POINTER].how != CFI_SAME)
        return rule;
    rule.action = compress_cfa(section, row, &rule.cfa_offset);
    return rule;
}

// The code at a return address is read once in each version of the table.
static void make_trampoline_rule(uint64_t pc, struct unwind_rule *rule) {
    enum perf_trampoline kind = trampoline_at(pc);
    if (kind == PERF_TRAMPOLINE_NONE)
        return;
    *rule = (struct unwind_rule){.action = TRAMPOLINE, .cfa_offset = 2 * WORD};
    if (kind == PERF_TRAMPOLINE_POPS_FRAME_POINTER)
        rule->frame_pointer = -2 * WORD;
}

static struct unwind_rule make_rule(uint64_t key) {
    // Behind a frame whose caller's stack pointer is not known the fast walk cannot go on.
    struct unwind_rule rule = {.action = MACHINE_PUSHES ? UNKNOWN : NEEDS_FULL};
    struct cfi_section section;
    struct cfi_row row;
    enum unwind_found found = unwind_table_find(key, &section, &row);
    if (found == UNWIND_ROW)
        rule = compress(&section, &row);
    else if (found == UNWIND_NO_MODULE && MACHINE_PUSHES)
        make_trampoline_rule(key + 1, &rule);
    rule.key = key;
    return rule;
}

__attribute__((noinline)) static const struct unwind_rule *learn(struct unwind_rule *set, uint64_t key) {
    set[1] = set[0];
    set[0] = make_rule(key);
    return &set[0];
}

static const struct unwind_rule *rule_of(struct unwind_thread *thread, uint64_t key) {
    // Fibonacci hashing: the upper half of the product is mixed well.
    struct unwind_rule *set = thread->cache[(key * 0x9e3779b97f4a7c15u) >> 32 & (UNWIND_SETS - 1)];
    if (__builtin_expect(set[0].key == key, 1))
        return &set[0];
    return set[1].key == key ? &set[1] : learn(set, key);
}

// --- modules -------------------------------------------------------------------------------------

static bool module_has_pc(const struct unwind_entered *module, uint64_t pc) {
    return pc - module->begin < module->size;
}

// The module that the code at `pc` is of, seen to be there in this walk. NULL: the table is too old.
__attribute__((noinline)) static const struct unwind_entered *enter(struct unwind_thread *thread,
                                                                    uint64_t pc) {
    struct unwind_entered *module = thread->entered;
    for (uint32_t i = 0; i < UNWIND_ENTERED; i++, module++) {
        if (!module_has_pc(module, pc))
            continue;
        if (!module->identity || module->walk == thread->walk)
            return module;
        if (!unwind_table_still(pc, module))
            break;
        module->walk = thread->walk;
        return module;
    }
    module = &thread->entered[thread->entered_next++ % UNWIND_ENTERED];
    if (!unwind_table_enter(pc, module)) {
        module->size = 0;
        return NULL;
    }
    module->walk = thread->walk;
    return module;
}

static bool is_fresh(uint64_t pc) {
    struct unwind_entered module;
    return unwind_table_enter(pc, &module);
}

// --- by frame pointer ----------------------------------------------------------------------------

struct position {
    uint64_t pc; // as it is kept, with its mark
    uint64_t key, stack_pointer, frame_pointer;
};

static bool is_chain(const struct span *span, uint64_t at, uint64_t above) {
    return at > above && at % WORD == 0 && at <= span->high - 2 * WORD;
}

// One step where no rule is known: the frame pointer, if it points into the stack at what can be a frame.
static bool guess(struct walk *walk, const struct span *span, struct position *at) {
    uint64_t pointer = at->frame_pointer;
    walk->result.stale |= unwind_debug_is_wanted();
    if (pointer < at->stack_pointer || !is_chain(span, pointer, span->low))
        return end(walk, UNWIND_LOST);
    uint64_t next = load(pointer), pc = machine_address(load(pointer + WORD));
    struct cfi_section section;
    struct cfi_row row;
    if (!pc)
        return end(walk, UNWIND_LOST);
    // Code that the loader knows, or a chain that continues: otherwise it was just a number.
    if (!is_chain(span, next, pointer) && unwind_table_find(pc - 1, &section, &row) == UNWIND_NO_MODULE)
        return end(walk, UNWIND_LOST);
    mark_guess(walk);
    *at = (struct position){
        .pc = pc | UNWIND_GUESSED, .key = pc - 1, .stack_pointer = pointer + 2 * WORD, .frame_pointer = next};
    return true;
}

// --- the fast walk -------------------------------------------------------------------------------

// Where the return address is; `frame_pointer` is where the caller's frame pointer is.
static inline uint64_t return_place(const struct unwind_rule *rule, uint64_t cfa, uint64_t frame_pointer) {
    if (MACHINE_PUSHES)
        return cfa - WORD;
    if (rule->return_words == UINT8_MAX)
        return frame_pointer;
    return rule->return_words ? cfa - WORD * (uint64_t)rule->return_words : frame_pointer + WORD;
}

static inline bool saves_frame_pointer(const struct unwind_rule *rule) {
    return rule->frame_pointer && (MACHINE_PUSHES || rule->return_words != UINT8_MAX);
}

// One step up by `rule`. False: the walk has ended, or (NEEDS_FULL) must begin again.
static inline bool step_up(struct walk *walk, const struct span *span, const struct unwind_rule *rule,
                           struct position *at) {
    uint64_t cfa, offset = (uint64_t)(int64_t)rule->cfa_offset;
    if (__builtin_expect(rule->action == CFA_FROM_STACK_POINTER, 1)) {
        cfa = at->stack_pointer + offset;
    } else if (rule->action == TRAMPOLINE) {
        cfa = at->stack_pointer + offset;
        mark_trampoline(walk);
    } else if (rule->action == CFA_FROM_FRAME_POINTER) {
        cfa = at->frame_pointer + offset;
    } else if (rule->action == CFA_AT_FRAME_POINTER) {
        uint64_t place = at->frame_pointer + offset;
        if (place < span->low || place > span->high - WORD)
            return end(walk, UNWIND_LOST);
        cfa = load(place);
    } else if (rule->action == UNKNOWN) {
        return guess(walk, span, at);
    } else {
        return end(walk, rule->action == OUTERMOST ? UNWIND_OUTERMOST : UNWIND_LOST);
    }
    // Upwards only, and within the stack.
    if (cfa < at->stack_pointer + WORD || cfa > span->high || cfa % WORD)
        return end(walk, UNWIND_LOST);
    uint64_t place = cfa + (uint64_t)(int64_t)rule->frame_pointer, back = return_place(rule, cfa, place);
    if (back < span->low || back > span->high - WORD)
        return end(walk, UNWIND_LOST);
    if (saves_frame_pointer(rule)) {
        if (place < span->low || place > span->high - WORD)
            return end(walk, UNWIND_LOST);
        at->frame_pointer = load(place);
    }
    at->stack_pointer = cfa;
    at->pc = machine_address(load(back));
    at->key = at->pc - 1;
    return at->pc != 0 || end(walk, UNWIND_OUTERMOST);
}

// Frames that are the stack pointer and an offset, as most are, and may have saved the frame pointer: until one is not.
// `frames` has room for `room` more; returns how many it got.
static inline uint32_t walk_plain(struct unwind_thread *thread, const struct span *span, struct position *at,
                                  const struct unwind_entered **in, uint64_t *frames, uint32_t room) {
    uint64_t stack_pointer = at->stack_pointer, frame_pointer = at->frame_pointer, pc = at->pc, key = at->key;
    const uint64_t low = span->low, high = span->high, last = high - WORD - low;
    uint32_t count = 0;
    const struct unwind_entered *module = *in;
    while (count < room) {
        if (__builtin_expect(!module_has_pc(module, key), 0)) {
            const struct unwind_entered *next = enter(thread, key);
            if (!next)
                break;
            module = next;
        }
        const struct unwind_rule *rule = rule_of(thread, key);
        if (rule->action != CFA_FROM_STACK_POINTER && rule->action != CFA_FROM_FRAME_POINTER)
            break;
        uint64_t cfa = (rule->action == CFA_FROM_STACK_POINTER ? stack_pointer : frame_pointer) +
                       (uint64_t)(int64_t)rule->cfa_offset;
        uint64_t place = cfa + (uint64_t)(int64_t)rule->frame_pointer;
        if (cfa < stack_pointer + WORD || cfa > high || cfa % WORD)
            break;
        uint64_t back = return_place(rule, cfa, place);
        if (!MACHINE_PUSHES && back - low > last)
            break;
        uint64_t callers = frame_pointer;
        if (saves_frame_pointer(rule)) {
            if (place - low > last)
                break;
            callers = load(place);
        }
        uint64_t next = machine_address(load(back));
        if (next <= 1)
            break; // the end, or not code: step_up goes on from this frame
        frames[count++] = pc;
        frame_pointer = callers;
        stack_pointer = cfa;
        pc = next;
        key = next - 1;
    }
    *at = (struct position){pc, key, stack_pointer, frame_pointer};
    *in = module;
    return count;
}

// False: a frame needs the full walk. With `stale` set the walk is not worth continuing.
static bool walk_fast(struct unwind_thread *thread, const struct span *span,
                      const struct unwind_registers *registers, struct walk *walk) {
    struct position at = {.pc = registers->values[CFI_PC],
                          .key = registers->values[CFI_PC],
                          .stack_pointer = registers->values[CFI_STACK_POINTER],
                          .frame_pointer = registers->values[CFI_FRAME_POINTER]};
    static const struct unwind_entered nothing;
    const struct unwind_entered *in = &nothing;
    for (;;) {
        walk->result.count += walk_plain(thread, span, &at, &in, walk->frames + walk->result.count,
                                         walk->capacity - walk->result.count);
        if (!module_has_pc(in, at.key) && !(in = enter(thread, at.key))) {
            walk->result.stale = true;
            return true;
        }
        const struct unwind_rule *rule = rule_of(thread, at.key);
        if (!add_frame(walk, at.pc))
            return true;
        if (rule->action == NEEDS_FULL)
            return false;
        if (!step_up(walk, span, rule, &at))
            return true;
    }
}

// --- walks that come again -----------------------------------------------------------------------

// The memory read here may be anything by now, also memory that the address sanitizer poisons.
__attribute__((no_sanitize("address"))) static bool memo_holds(struct unwind_thread *thread,
                                                               const struct unwind_memo *memo,
                                                               const struct unwind_registers *registers) {
    if (!memo->number || registers->values[CFI_STACK_POINTER] != memo->stack_pointer ||
        registers->values[CFI_PC] != memo->pc ||
        (memo->has_frame_pointer && registers->values[CFI_FRAME_POINTER] != memo->frame_pointer))
        return false;
    uint64_t different = 0;
    for (uint32_t i = 0; i < memo->word_count; i++)
        different |= *(const uint64_t *)(uintptr_t)memo->words[i].at ^ memo->words[i].value;
    for (uint32_t i = 0; i < memo->module_count && !different; i++)
        different = enter(thread, memo->modules[i]) == NULL;
    return !different;
}

static bool memo_add(struct unwind_memo *memo, uint64_t at) {
    if (memo->word_count == UNWIND_MEMO_WORDS)
        return false;
    memo->words[memo->word_count].at = at;
    memo->words[memo->word_count++].value = load(at);
    return true;
}

// The code at `key` must be what it is now: a module that can be closed is asked for.
static bool memo_add_module(struct unwind_thread *thread, struct unwind_memo *memo, uint64_t key) {
    const struct unwind_entered *module = enter(thread, key);
    if (!module)
        return false;
    bool known = !module->identity;
    for (uint32_t i = 0; i < memo->module_count; i++)
        known |= module_has_pc(module, memo->modules[i]);
    if (known)
        return true;
    if (memo->module_count == UNWIND_MEMO_MODULES)
        return false;
    memo->modules[memo->module_count++] = key;
    return true;
}

// Walks again what was just walked to its end, and keeps the words on the way. A frame pointer matters where a frame is found
// by it: in the register, or where it was saved last.
static bool memo_walk(struct unwind_thread *thread, const struct span *span,
                      const struct unwind_registers *registers, struct unwind_memo *memo) {
    struct walk walk = {.frames = memo->frames, .capacity = UNWIND_MEMO_FRAMES};
    struct position at = {.pc = memo->pc,
                          .key = memo->pc,
                          .stack_pointer = memo->stack_pointer,
                          .frame_pointer = registers->values[CFI_FRAME_POINTER]};
    uint64_t saved = 0; // the frame pointer, in memory; 0: it is the register's
    walk.result.exact = UINT32_MAX;
    for (;;) {
        const struct unwind_rule *rule = rule_of(thread, at.key);
        if (!memo_add_module(thread, memo, at.key) || !add_frame(&walk, at.pc) ||
            rule->action == NEEDS_FULL || rule->action == UNKNOWN)
            return false;
        bool by_frame_pointer =
            rule->action == CFA_FROM_FRAME_POINTER || rule->action == CFA_AT_FRAME_POINTER;
        if (by_frame_pointer && !saved)
            memo->has_frame_pointer = true;
        if ((by_frame_pointer && saved && !memo_add(memo, saved)) ||
            (rule->action == CFA_AT_FRAME_POINTER &&
             !memo_add(memo, at.frame_pointer + (uint64_t)(int64_t)rule->cfa_offset)))
            return false;
        bool goes_on = step_up(&walk, span, rule, &at);
        if (rule->action == OUTERMOST)
            break;
        uint64_t place = at.stack_pointer + (uint64_t)(int64_t)rule->frame_pointer;
        if ((!goes_on && walk.result.end != UNWIND_OUTERMOST) ||
            !memo_add(memo, return_place(rule, at.stack_pointer, place)))
            return false;
        if (!goes_on)
            break;
        saved = saves_frame_pointer(rule) ? place : saved;
    }
    memo->frame_count = (uint16_t)walk.result.count;
    return walk.result.exact == UINT32_MAX;
}

// After a walk that no memo had: keeps it if another one began here before, and ever more rarely if those are always others.
static void memo_learn(struct unwind_thread *thread, struct unwind_memo *memo, const struct span *span,
                       const struct unwind_registers *registers, const struct unwind_result *result) {
    uint64_t stack_pointer = registers->values[CFI_STACK_POINTER];
    if (memo->seen != stack_pointer) {
        memo->seen = stack_pointer;
        memo->misses = 0;
        return;
    }
    memo->misses++;
    if ((memo->misses & (memo->misses - 1)) != 0 || result->end != UNWIND_OUTERMOST || result->stale ||
        result->exact != UINT32_MAX || result->count > UNWIND_MEMO_FRAMES ||
        stack_pointer - thread->low >= thread->high - thread->low)
        return;
    memo->number = 0;
    memo->pc = registers->values[CFI_PC];
    memo->stack_pointer = stack_pointer;
    memo->frame_pointer = registers->values[CFI_FRAME_POINTER];
    memo->has_frame_pointer = false;
    memo->module_count = 0;
    memo->word_count = 0;
    if (memo_walk(thread, span, registers, memo) && memo->frame_count == result->count)
        memo->number = ++thread->memo_number ? thread->memo_number : ++thread->memo_number;
}

static struct unwind_memo *memo_place(struct unwind_thread *thread, uint64_t stack_pointer) {
    return &thread->memos[(stack_pointer >> 4) % UNWIND_MEMOS];
}

// The walk, from a memo or by rules. False: a frame needs the full walk.
static bool walk_known_code(struct unwind_thread *thread, const struct span *span,
                            const struct unwind_registers *registers, struct walk *walk) {
    struct unwind_memo *memo = memo_place(thread, registers->values[CFI_STACK_POINTER]);
    if (walk->capacity >= UNWIND_MEMO_FRAMES && memo_holds(thread, memo, registers)) {
        memcpy(walk->frames, memo->frames, memo->frame_count * sizeof *walk->frames);
        walk->result.count = memo->frame_count;
        walk->result.end = UNWIND_OUTERMOST;
        walk->result.same = memo->number;
        memo->misses = 0;
        return true;
    }
    bool done = walk_fast(thread, span, registers, walk);
    if (done)
        memo_learn(thread, memo, span, registers, &walk->result);
    return done;
}

// --- the full walk -------------------------------------------------------------------------------

static bool is_within(const struct span *span, uint64_t address) {
    return address >= span->low && address < span->high;
}

// The stack that `address` is on, from a little below it.
static bool span_of(const struct span *stack, uint64_t address, struct span *span) {
    if (!is_within(stack, address) || address % WORD)
        return false;
    uint64_t below = address - stack->low < RED_ZONE ? stack->low : address - RED_ZONE;
    *span = (struct span){below, stack->high};
    return true;
}

struct full {
    struct cfi_frame frame;
    struct span own, current; // the thread's stack, and the one the walk is on
    bool is_exact;            // the program counter is where it stopped, not behind a call
    uint64_t mark;            // UNWIND_GUESSED, or 0
};

static bool guess_full(struct walk *walk, struct full *full) {
    uint64_t *registers = full->frame.registers;
    struct span span = {full->frame.low, full->frame.high};
    struct position at = {.stack_pointer = registers[CFI_STACK_POINTER],
                          .frame_pointer = registers[CFI_FRAME_POINTER]};
    if (!(full->frame.known >> CFI_FRAME_POINTER & 1))
        return end(walk, UNWIND_LOST);
    if (!guess(walk, &span, &at))
        return false;
    full->frame.known = UINT64_C(1) << CFI_PC | UINT64_C(1) << CFI_FRAME_POINTER;
    if (MACHINE_PUSHES)
        full->frame.known |= UINT64_C(1) << CFI_STACK_POINTER; // else it is what the stack pointer is above
    registers[CFI_PC] = at.key + 1;
    full->mark = UNWIND_GUESSED;
    registers[CFI_STACK_POINTER] = at.stack_pointer;
    registers[CFI_FRAME_POINTER] = at.frame_pointer;
    full->is_exact = false;
    return true;
}

// A signal can have struck on another stack: from an alternate one back to the thread's own.
static bool enter_stack(struct full *full, uint64_t old, uint64_t stack_pointer, bool may_switch) {
    struct span span;
    // An interrupted function may have no frame yet.
    if (!may_switch && stack_pointer < old + !full->is_exact)
        return false;
    // The outermost frame's caller would begin where the stack ends.
    if (stack_pointer == full->current.high)
        return true;
    if (!span_of(&full->current, stack_pointer, &span) &&
        !(may_switch && span_of(&full->own, stack_pointer, &span)))
        return false;
    if (!is_within(&full->current, stack_pointer))
        full->current = full->own;
    if (may_switch) {
        full->frame.low = span.low;
        full->frame.high = span.high;
    }
    return true;
}

// Whether the kernel's frame of an interrupted function begins here.
static bool is_signal_return(uint64_t pc) {
    uint64_t code;
    return !MACHINE_PUSHES && own_code_copy(pc, (uint8_t *)&code, sizeof code) == sizeof code &&
           machine_is_signal_return(code);
}

// From `caller`, whose stack pointer is `old` or above.
static bool step_to_caller(struct walk *walk, struct full *full, const struct cfi_frame *caller, uint64_t old,
                           bool is_signal_frame) {
    struct cfi_frame *frame = &full->frame;
    if (!enter_stack(full, old, caller->registers[CFI_STACK_POINTER], is_signal_frame))
        return end(walk, UNWIND_LOST);
    memcpy(frame->registers, caller->registers, sizeof caller->registers);
    frame->known = caller->known | UINT64_C(1) << CFI_PC;
    full->is_exact = is_signal_frame;
    return frame->registers[CFI_PC] != 0 || end(walk, UNWIND_OUTERMOST);
}

// What can be read from the stack pointer upwards: a stack that the program made itself ends somewhere in it. The kernel
// is asked for a byte of each page, and stops at the first that is not there.
static bool probe_stack(uint64_t stack_pointer, struct span *stack) {
    enum { PAGE = 4096, PAGES = 64 };
    struct iovec remote[PAGES];
    char bytes[PAGES];
    int saved = errno;
    stack->low = stack_pointer & ~(uint64_t)(PAGE - 1);
    for (uint64_t i = 0; i < PAGES; i++)
        remote[i] = (struct iovec){(void *)(uintptr_t)(stack->low + i * PAGE), 1};
    ssize_t pages = process_vm_readv(getpid(), &(struct iovec){bytes, PAGES}, 1, remote, PAGES, 0);
    errno = saved;
    stack->high = stack->low + (pages > 0 ? (uint64_t)pages * PAGE : 0);
    return pages > 0;
}

// Copies memory that need not be there.
static bool peek(uint64_t address, void *into, size_t size) {
    const int saved = errno;
    const ssize_t got = process_vm_readv(getpid(), &(struct iovec){into, size}, 1,
                                         &(struct iovec){(void *)(uintptr_t)address, size}, 1, 0);
    errno = saved;
    return got == (ssize_t)size;
}

// Where Go's stack pointer was when it called C; the walk is on that stack then. False: that is not to be had.
static bool enter_go_stack(struct full *full, uint64_t at, uint64_t *stack_pointer) {
    enum { GO_STACK_MAX = 1 << 30 };
    struct cfi_frame *frame = &full->frame;
    uint64_t goroutine, depth, bounds[2];
    struct span readable;
    if (!cfi_read(frame, at + GO_CALL_GOROUTINE, &goroutine) || !cfi_read(frame, at + GO_CALL_DEPTH, &depth))
        return false;
    *stack_pointer = depth;
    if (!goroutine) // the same stack
        return depth > at && depth < full->current.high && depth % WORD == 0;
    if (goroutine % WORD || !peek(goroutine, bounds, sizeof bounds) || bounds[0] >= bounds[1] ||
        bounds[1] - bounds[0] > GO_STACK_MAX || depth > bounds[1] - bounds[0] || depth % WORD ||
        bounds[1] % WORD || !probe_stack(bounds[1] - depth, &readable))
        return false;
    *stack_pointer = bounds[1] - depth;
    frame->low = *stack_pointer;
    frame->high = readable.high < bounds[1] ? readable.high : bounds[1];
    full->current = (struct span){frame->low, frame->high};
    return true;
}

static bool step_to_go(struct walk *walk, struct full *full) {
    struct cfi_frame *frame = &full->frame;
    uint64_t stack_pointer, pc;
    if (!enter_go_stack(full, frame->registers[CFI_STACK_POINTER], &stack_pointer) ||
        !cfi_read(frame, stack_pointer, &pc))
        return end(walk, UNWIND_LOST);
    frame->registers[CFI_PC] = pc;
    frame->registers[CFI_STACK_POINTER] = stack_pointer + WORD;
    frame->known &= UINT64_C(1) << CFI_FRAME_POINTER;
    frame->known |= UINT64_C(1) << CFI_STACK_POINTER | UINT64_C(1) << CFI_PC;
    full->is_exact = false;
    return pc != 0 || end(walk, UNWIND_OUTERMOST);
}

static bool leave_trampoline(struct walk *walk, struct full *full, enum perf_trampoline kind) {
    struct cfi_frame caller = full->frame;
    const uint64_t stack_pointer = full->frame.registers[CFI_STACK_POINTER];
    uint64_t pc;
    if (!cfi_read(&full->frame, stack_pointer + WORD, &pc) ||
        (kind == PERF_TRAMPOLINE_POPS_FRAME_POINTER &&
         !cfi_read(&full->frame, stack_pointer, &caller.registers[CFI_FRAME_POINTER])))
        return end(walk, UNWIND_LOST);
    mark_trampoline(walk);
    if (kind == PERF_TRAMPOLINE_POPS_FRAME_POINTER)
        caller.known |= UINT64_C(1) << CFI_FRAME_POINTER;
    if (CFI_PC != CFI_RETURN)
        caller.known &= ~(UINT64_C(1) << CFI_RETURN);
    caller.registers[CFI_STACK_POINTER] = stack_pointer + 2 * WORD;
    caller.registers[CFI_PC] = machine_address(pc);
    return step_to_caller(walk, full, &caller, stack_pointer, false);
}

// One step where nothing describes the code.
static bool step_undescribed(struct walk *walk, struct full *full, enum unwind_found found) {
    struct cfi_frame *frame = &full->frame, caller;
    const uint64_t pc = frame->registers[CFI_PC];
    if (!(frame->known >> CFI_STACK_POINTER & 1))
        return guess_full(walk, full);
    if (is_signal_return(pc) && machine_interrupted(frame, &caller))
        return step_to_caller(walk, full, &caller, frame->registers[CFI_STACK_POINTER], true);
    enum perf_trampoline kind =
        found == UNWIND_NO_MODULE && !full->is_exact ? trampoline_at(pc) : PERF_TRAMPOLINE_NONE;
    return kind == PERF_TRAMPOLINE_NONE ? guess_full(walk, full) : leave_trampoline(walk, full, kind);
}

static bool step_full(struct walk *walk, struct full *full) {
    struct cfi_section section;
    struct cfi_row row;
    struct cfi_frame *frame = &full->frame, caller;
    uint64_t cfa, pc = frame->registers[CFI_PC], old = frame->registers[CFI_STACK_POINTER];
    const uint64_t stack_pointer = UINT64_C(1) << CFI_STACK_POINTER;
    walk->result.stale |= !is_fresh(pc - !full->is_exact);
    enum unwind_found found = unwind_table_find(pc - !full->is_exact, &section, &row);
    if (found != UNWIND_ROW)
        return step_undescribed(walk, full, found);
    if (row.go_calls_c)
        return step_to_go(walk, full);
    if (row.registers[row.return_register].how == CFI_UNDEFINED)
        return end(walk, UNWIND_OUTERMOST);
    if (!cfi_cfa(&section, &row, frame, &cfa))
        return frame->known & stack_pointer ? end(walk, UNWIND_LOST) : guess_full(walk, full);
    cfi_apply(&section, &row, frame, cfa, &caller);
    uint64_t needed = stack_pointer | UINT64_C(1) << row.return_register;
    if ((caller.known & needed) != needed)
        return end(walk, UNWIND_LOST);
    caller.registers[CFI_PC] = machine_address(caller.registers[row.return_register]);
    if (CFI_PC != CFI_RETURN && !row.is_signal_frame)
        caller.known &= ~(UINT64_C(1) << CFI_RETURN); // the call that it waits for has overwritten its own
    return step_to_caller(walk, full, &caller, old, row.is_signal_frame);
}

static void walk_full(const struct span *own, const struct span *current,
                      const struct unwind_registers *registers, struct walk *walk) {
    struct full full = {.own = *own, .current = *current, .is_exact = true};
    struct span span;
    if (!span_of(current, registers->values[CFI_STACK_POINTER], &span))
        return;
    full.frame.low = span.low;
    full.frame.high = span.high;
    memcpy(full.frame.registers, registers->values, sizeof registers->values);
    full.frame.known = MACHINE_PRESERVED;
    while (add_frame(walk, full.frame.registers[CFI_PC] | full.mark)) {
        full.mark = 0;
        if (full.is_exact && walk->result.count > 1 && walk->result.struck_count < UNWIND_STRUCK_MAX)
            walk->result.struck[walk->result.struck_count++] = walk->result.count - 1;
        if (!step_full(walk, &full))
            break;
    }
}

// --- both ----------------------------------------------------------------------------------------

bool unwind_thread_init(struct unwind_thread *thread) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    memset(thread, 0, sizeof *thread);
    if (pthread_getattr_np(pthread_self(), &attributes))
        return false;
    bool known = pthread_attr_getstack(&attributes, &low, &size) == 0 && size > 2 * RED_ZONE;
    pthread_attr_destroy(&attributes);
    if (known) {
        thread->low = (uint64_t)(uintptr_t)low;
        thread->high = (thread->low + size) & ~(uint64_t)(WORD - 1);
    }
    return known;
}

// The stack that the walk begins on: the thread's, the alternate one, or one of the program's own.
static bool find_stack(const struct unwind_thread *thread, uint64_t stack_pointer, struct span *stack) {
    *stack = (struct span){thread->low, thread->high};
    if (__builtin_expect(is_within(stack, stack_pointer), 1))
        return true;
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) == 0 && !(alternate.ss_flags & SS_DISABLE)) {
        stack->low = (uint64_t)(uintptr_t)alternate.ss_sp;
        stack->high = (stack->low + alternate.ss_size) & ~(uint64_t)(WORD - 1);
        if (is_within(stack, stack_pointer))
            return true;
    }
    return probe_stack(stack_pointer, stack);
}

static struct walk begin(uint64_t *frames, uint32_t capacity) {
    return (struct walk){frames, capacity, {.exact = UINT32_MAX, .end = UNWIND_ELSEWHERE}};
}

static struct unwind_result finish(struct walk *walk) {
    if (walk->result.exact > walk->result.count)
        walk->result.exact = walk->result.count;
    return walk->result;
}

struct unwind_result unwind_walk_full(const struct unwind_thread *thread,
                                      const struct unwind_registers *registers, uint64_t *frames,
                                      uint32_t capacity) {
    struct walk walk = begin(frames, capacity);
    struct span own = {thread->low, thread->high}, stack;
    if (find_stack(thread, registers->values[CFI_STACK_POINTER], &stack))
        walk_full(&own, &stack, registers, &walk);
    else
        add_frame(&walk, registers->values[CFI_PC]);
    return finish(&walk);
}

struct unwind_result unwind_walk(struct unwind_thread *thread, const struct unwind_registers *registers,
                                 uint64_t *frames, uint32_t capacity) {
    struct walk walk = begin(frames, capacity);
    struct span own = {thread->low, thread->high}, stack, span;
    uint64_t stack_pointer = registers->values[CFI_STACK_POINTER], version = unwind_table_version();
    if (unwind_is_nested(thread, thread->walking, stack_pointer) ||
        !find_stack(thread, stack_pointer, &stack) || !span_of(&stack, stack_pointer, &span))
        return unwind_walk_full(thread, registers, frames, capacity);
    // A walk that a handler jumped out of may have left a rule half written.
    bool was_left = thread->walking != 0;
    thread->walking = stack_pointer;
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(thread->version != version || was_left, 0)) {
        memset(thread->cache, 0, sizeof thread->cache);
        memset(thread->entered, 0, sizeof thread->entered);
        for (uint32_t i = 0; i < UNWIND_MEMOS; i++)
            thread->memos[i].number = 0;
        thread->version = version;
    }
    thread->walk++;
    bool done = walk_known_code(thread, &span, registers, &walk);
    atomic_signal_fence(memory_order_seq_cst);
    thread->walking = 0;
    if (!done) {
        walk = begin(frames, capacity);
        walk_full(&own, &stack, registers, &walk);
    }
    return finish(&walk);
}
