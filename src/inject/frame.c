// SPDX-License-Identifier: Apache-2.0
// The signal frame of x86-64: what the kernel writes below a stack before a handler, and reads when it returns. inject.c calls it.
#include "inject/frame.h"

#if FRAME_SUPPORTED

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "unwind/cfi.h"

enum { RED_ZONE = 128, STATE_MOST = 16 << 10, TEXT_MOST = 1024, FRAME_BYTES = 1024 };
// The kernel's own numbers, which a debugger sees in place of a result: the call begins again.
enum { RESTART_SYS = 512, RESTART_NOINTR = 513, RESTART_NOHAND = 514, RESTART_BLOCK = 516 };

// struct ucontext of the kernel, with a mask of 64 signals.
struct kernel_context {
    uint64_t flags, link;
    uint64_t stack_at;
    int32_t stack_flags, stack_pad;
    uint64_t stack_size;
    uint64_t registers[18]; // r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, cr2;
    uint64_t state; // of the vector registers
    uint64_t reserved[8];
    uint64_t mask;
};
_Static_assert(offsetof(struct kernel_context, mask) == 40 + 256, "the kernel's layout");

// What the kernel writes into the unused part of the vector registers' memory, 464 bytes from its start.
struct state_words {
    uint32_t magic, bytes_with_magic;
    uint64_t features;
    uint32_t bytes, reserved[7];
};
enum { STATE_WORDS_AT = 464, MAGIC = 0x46505853, MAGIC_BEHIND = 0x46505845 };

bool frame_get(pid_t thread, struct frame_registers *out) {
    return ptrace(PTRACE_GETREGS, thread, NULL, &out->general) == 0;
}

void frame_unwind_registers(const struct frame_registers *frame, uint64_t *registers) {
    const struct user_regs_struct *is = &frame->general;
    const uint64_t by_number[CFI_REGISTERS] = {is->rax, is->rdx, is->rcx, is->rbx, is->rsi, is->rdi,
                                               is->rbp, is->rsp, is->r8,  is->r9,  is->r10, is->r11,
                                               is->r12, is->r13, is->r14, is->r15, is->rip};
    memcpy(registers, by_number, sizeof by_number);
}

// ---- system calls

// Those in which threads wait, and which begin again without a trace; `limit`: the argument that is a time limit from now on, -1: none.
static bool find_call(long number, int *limit, bool *is_milliseconds) {
    static const struct {
        long number;
        int limit;
        bool milliseconds;
    } calls[] = {{SYS_read, -1, false},           {SYS_readv, -1, false},    {SYS_poll, 2, true},
                 {SYS_ppoll, -1, false},          {SYS_select, -1, false},   {SYS_pselect6, -1, false},
                 {SYS_accept, -1, false},         {SYS_accept4, -1, false},  {SYS_recvfrom, -1, false},
                 {SYS_recvmsg, -1, false},        {SYS_wait4, -1, false},    {SYS_waitid, -1, false},
                 {SYS_pause, -1, false},          {SYS_nanosleep, 0, false}, {SYS_clock_nanosleep, 2, false},
                 {SYS_futex, 3, false},           {SYS_epoll_wait, 3, true}, {SYS_epoll_pwait, 3, true},
                 {SYS_mq_timedreceive, -1, false}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number) {
            *limit = calls[i].limit;
            *is_milliseconds = calls[i].milliseconds;
            return true;
        }
    return false;
}

bool frame_is_known_call(long number) {
    int limit;
    bool milliseconds;
    return find_call(number, &limit, &milliseconds);
}

static uint64_t argument(const struct user_regs_struct *is, int index) {
    const uint64_t arguments[] = {is->rdi, is->rsi, is->rdx, is->r10, is->r8, is->r9};
    return arguments[index];
}

// Whether beginning again changes when the call ends.
static bool is_exact(const struct user_regs_struct *is, int limit, bool milliseconds) {
    enum { OPERATION = 127, WAIT_BITSET = 9, LOCK_PI = 6, WAIT_REQUEUE_PI = 11 };
    if (limit < 0)
        return true;
    if (milliseconds)
        return (int)argument(is, limit) <= 0;
    switch (is->orig_rax) {
    case SYS_futex: {
        const uint64_t operation = is->rsi & OPERATION;
        return !argument(is, limit) || operation == WAIT_BITSET || operation == WAIT_REQUEUE_PI;
    }
    case SYS_clock_nanosleep: // what is left was written where it is read from
        return (is->rsi & TIMER_ABSTIME) || is->rdx == is->r10;
    default: // nanosleep
        return is->rdi == is->rsi;
    }
}

// Whether a signal is on its way to the thread: it has to see the end of its call.
static bool has_signal(const struct inject_target *target) {
    const char *const keys[] = {"SigPnd:", "ShdPnd:", "SigBlk:"};
    uint64_t sets[3] = {0}; // of the thread, of the process, blocked
    return !target_status_all(target->pid, target->thread, keys, 16, sets, 3) ||
           ((sets[0] | sets[1]) & ~sets[2]);
}

enum frame_wait frame_waits(const struct inject_target *target, const struct frame_registers *frame) {
    const struct user_regs_struct *is = &frame->general;
    int limit;
    bool milliseconds;
    if (!find_call((long)is->orig_rax, &limit, &milliseconds))
        return FRAME_NOT_WAITING;
    switch (-(int64_t)is->rax) {
    case RESTART_SYS:
    case RESTART_NOINTR:
    case RESTART_NOHAND:
    case RESTART_BLOCK:
    case EINTR:
        break;
    default:
        return FRAME_NOT_WAITING;
    }
    if (has_signal(target))
        return FRAME_NOT_WAITING;
    return is_exact(is, limit, milliseconds) ? FRAME_EXACT : FRAME_ANEW;
}

bool frame_undo_stop(pid_t thread, const struct frame_registers *frame) {
    struct user_regs_struct is = frame->general;
    if ((int64_t)is.rax != -EINTR)
        return true;
    is.rax = is.orig_rax;
    is.rip -= 2;
    return ptrace(PTRACE_SETREGS, thread, NULL, &is) == 0;
}

// ---- libc

uint64_t frame_find_return(const struct inject_target *target) {
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0,
                                   0,    0x0f, 0x05}; // mov $15, %rax; syscall
    uint64_t found = 0;
    for (size_t i = 0; i < target->code.count && !found; i++) {
        const struct code_mapping *mapping = &target->code.mappings[i];
        const size_t bytes = mapping->end - mapping->begin;
        if (mapping->file != target->libc || bytes > (64u << 20))
            continue;
        uint8_t *text = malloc(bytes);
        if (text && target_read(target, mapping->begin, text, bytes)) {
            const uint8_t *at = memmem(text, bytes, code, sizeof code);
            found = at ? mapping->begin + (uint64_t)(at - text) : 0;
        }
        free(text);
    }
    return found;
}

uint64_t frame_find_errno(const struct inject_target *target, const struct frame_registers *frame) {
    // __errno_location: endbr64 or nothing; mov OFFSET(%rip), %rax; add %fs:0, %rax; ret
    static const uint8_t begins[] = {0x48, 0x8b, 0x05},
                         ends[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3};
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t code[32];
    int32_t offset;
    uint64_t from_thread;
    const uint64_t value = exports_find(&target->exports, "__errno_location");
    uint64_t at = value + target_bias(target, target->libc);
    if (!value || !target_read(target, at, code, sizeof code))
        return 0;
    const uint8_t *is = code;
    if (memcmp(is, endbr, sizeof endbr) == 0)
        is += sizeof endbr, at += sizeof endbr;
    memcpy(&offset, is + sizeof begins, sizeof offset);
    if (memcmp(is, begins, sizeof begins) != 0 ||
        memcmp(is + sizeof begins + sizeof offset, ends, sizeof ends) != 0 ||
        !target_read(target, at + sizeof begins + sizeof offset + (uint64_t)(int64_t)offset, &from_thread,
                     sizeof from_thread))
        return 0;
    return frame->general.fs_base + from_thread;
}

// ---- the frame

// The vector registers as the kernel's frame has them; how many bytes, 0: they cannot be had.
static size_t get_state(pid_t thread, uint8_t *state) {
    struct iovec all = {state, STATE_MOST - 8}; // a multiple of 8, and room behind it
    uint64_t features;
    const uint32_t magic = MAGIC_BEHIND;
    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_X86_XSTATE, &all) != 0 || all.iov_len < 576)
        return 0;
    memcpy(&features, state + STATE_WORDS_AT,
           sizeof features); // where a debugger finds which parts there are
    const struct state_words words = {.magic = MAGIC,
                                      .bytes_with_magic = (uint32_t)(all.iov_len + sizeof(uint32_t)),
                                      .features = features,
                                      .bytes = (uint32_t)all.iov_len};
    memcpy(state + STATE_WORDS_AT, &words, sizeof words);
    memcpy(state + all.iov_len, &magic, sizeof magic);
    return all.iov_len + sizeof magic;
}

static bool fill(pid_t thread, const struct user_regs_struct *is, uint64_t state,
                 struct kernel_context *out) {
    enum { HAS_STATE = 1, KEEPS_SEGMENT = 2, STRICT_SEGMENT = 4, NO_STACK = 0x0f0f };
    *out = (struct kernel_context){
        .flags = HAS_STATE | KEEPS_SEGMENT | STRICT_SEGMENT,
        .stack_flags = NO_STACK, // refused, without an effect: the signal stack stays as it is
        .registers = {is->r8, is->r9, is->r10, is->r11, is->r12, is->r13, is->r14, is->r15, is->rdi, is->rsi,
                      is->rbp, is->rbx, is->rdx, is->rax, is->rcx, is->rsp, is->rip, is->eflags},
        .cs = (uint16_t)is->cs,
        .gs = (uint16_t)is->gs,
        .fs = (uint16_t)is->fs,
        .ss = (uint16_t)is->ss,
        .state = state};
    enum { AX = 13, IP = 16 };
    out->registers[AX] = is->orig_rax; // the call begins again
    out->registers[IP] = is->rip - 2;
    return ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof out->mask, &out->mask) == 0;
}

static uint64_t blocking_mask(void) {
    static const int own[] = {SIGSEGV, SIGBUS,  SIGILL,
                              SIGFPE,  SIGTRAP, SIGSYS}; // of what the thread itself does
    uint64_t mask = ~UINT64_C(0);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        mask &= ~(UINT64_C(1) << (own[i] - 1));
    return mask;
}

bool frame_call(const struct inject_target *target, pid_t thread, const struct frame_registers *frame,
                uint64_t function, const char *text, int number) {
    enum { ALIGNED = 64, WORD = 8, DIRECTION = 0x400, TRAP = 0x100 };
    _Alignas(64) static uint8_t state[STATE_MOST];
    struct kernel_context context;
    const uint64_t blocked = blocking_mask();
    const size_t text_bytes = strlen(text) + 1, state_bytes = get_state(thread, state);
    if (!state_bytes || text_bytes > TEXT_MOST)
        return false;
    const uint64_t text_at = (frame->general.rsp - RED_ZONE - text_bytes) & ~UINT64_C(15);
    const uint64_t state_at = (text_at - state_bytes) & ~(uint64_t)(ALIGNED - 1);
    const uint64_t context_at = (state_at - FRAME_BYTES) & ~UINT64_C(15), return_at = context_at - WORD;
    if (!fill(thread, &frame->general, state_at, &context) ||
        !target_write(target, text_at, text, text_bytes) ||
        !target_write(target, state_at, state, state_bytes) ||
        !target_write(target, context_at, &context, sizeof context) ||
        !target_write(target, return_at, &target->return_code, WORD))
        return false;
    struct user_regs_struct set = frame->general;
    set.rsp = return_at;
    set.rip = function;
    set.rdi = text_at;
    set.rsi = (unsigned long long)(long long)number;
    set.rax = 0;
    set.orig_rax = UINT64_MAX; // it is in no system call
    set.eflags &= ~(uint64_t)(DIRECTION | TRAP);
    if (ptrace(PTRACE_SETREGS, thread, NULL, &set) != 0)
        return false;
    // After the registers: if we end here, it runs with its own mask, which is as good.
    (void)ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof blocked, &blocked);
    return true;
}

#else

bool frame_get(pid_t thread, struct frame_registers *out) {
    (void)thread, (void)out;
    return false;
}
void frame_unwind_registers(const struct frame_registers *frame, uint64_t *registers) {
    (void)frame, (void)registers;
}
enum frame_wait frame_waits(const struct inject_target *target, const struct frame_registers *frame) {
    (void)target, (void)frame;
    return FRAME_NOT_WAITING;
}
bool frame_is_known_call(long number) {
    (void)number;
    return false;
}
bool frame_undo_stop(pid_t thread, const struct frame_registers *frame) {
    (void)thread, (void)frame;
    return true;
}
bool frame_call(const struct inject_target *target, pid_t thread, const struct frame_registers *frame,
                uint64_t function, const char *text, int number) {
    (void)target, (void)thread, (void)frame, (void)function, (void)text, (void)number;
    return false;
}
uint64_t frame_find_return(const struct inject_target *target) {
    (void)target;
    return 0;
}
uint64_t frame_find_errno(const struct inject_target *target, const struct frame_registers *frame) {
    (void)target, (void)frame;
    return 0;
}

#endif
