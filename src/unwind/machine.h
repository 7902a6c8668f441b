// SPDX-License-Identifier: Apache-2.0
// The processor-specific part of walking a stack; everything else in this room is the same for all.
//
//     x86-64   A call pushes the return address: it is right below the CFA, and the caller's stack begins
//              after the saved frame pointer.
//     aarch64  A call leaves the return address in x30, and the function puts it anywhere in its frame; the frame pointer
//              points to it and the caller's own, wherever in its frame the function put them. It may be signed
//              (pointer authentication): the processor takes that off. The kernel does not describe its signal
//              frame: it is recognized by the code that returns from it.
//
// On other processors a stack is its innermost frame.
#ifndef UNWIND_MACHINE_H
#define UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/cfi.h"

// Whether a call pushes the return address; and the registers that it preserves, with the program counter.
#if defined(__x86_64__)
enum { MACHINE_PUSHES = true };
#define MACHINE_PRESERVED (UINT64_C(0xf0c8) | UINT64_C(1) << CFI_PC) // rbx, rbp, rsp, r12 to r15
#else
enum { MACHINE_PUSHES = false };
#define MACHINE_PRESERVED (UINT64_C(0xbff80000) | UINT64_C(1) << CFI_PC) // x19 to x29, sp
#endif

// The calling function's registers, at the place where this stands.
__attribute__((always_inline)) static inline void machine_capture(uint64_t *values) {
#if defined(__x86_64__)
    uint64_t pc;
    __asm__ volatile("movq %%rbx, 24(%1)\n\tmovq %%rbp, 48(%1)\n\tmovq %%rsp, 56(%1)\n\t"
                     "movq %%r12, 96(%1)\n\tmovq %%r13, 104(%1)\n\tmovq %%r14, 112(%1)\n\t"
                     "movq %%r15, 120(%1)\n\tleaq (%%rip), %0"
                     : "=&r"(pc)
                     : "r"(values)
                     : "memory");
    values[CFI_PC] = pc;
#elif defined(__aarch64__)
    uint64_t pc, stack_pointer;
    // Writes to x30, so that the compiler has saved the return address: an address that is still there is no caller's.
    __asm__ volatile("stp x19, x20, [%2, #152]\n\tstp x21, x22, [%2, #168]\n\tstp x23, x24, [%2, #184]\n\t"
                     "stp x25, x26, [%2, #200]\n\tstp x27, x28, [%2, #216]\n\tstr x29, [%2, #232]\n\t"
                     "mov %0, sp\n\tadr %1, ."
                     : "=&r"(stack_pointer), "=&r"(pc)
                     : "r"(values)
                     : "memory", "x30");
    values[CFI_STACK_POINTER] = stack_pointer;
    values[CFI_PC] = pc;
#else
    // A stack pointer that points to nothing: the stack is this function alone.
    memset(values, 0, CFI_REGISTERS * sizeof *values);
    values[CFI_PC] = (uint64_t)(uintptr_t)__builtin_return_address(0);
#endif
}

// What was stored as a return address, as an address.
static inline uint64_t machine_address(uint64_t stored) {
#if defined(__aarch64__)
    register uint64_t x30 __asm__("x30") = stored;
    __asm__("hint #7" : "+r"(x30)); // xpaclri; nothing where addresses are not signed
    return x30;
#else
    return stored;
#endif
}

// How the kernel's frame of an interrupted function is known where nothing describes it: by what its caller, as the handler
// sees it, is. `code` is the 8 bytes there.
static inline bool machine_is_signal_return(uint64_t code) {
#if defined(__aarch64__)
    return code == UINT64_C(0xd4000001d2801168); // mov x8, #139; svc #0
#else
    (void)code;
    return false;
#endif
}

// The interrupted function's registers, from the kernel's frame that `frame` stands on. False: it cannot be read.
static inline bool machine_interrupted(const struct cfi_frame *frame, struct cfi_frame *interrupted) {
#if defined(__aarch64__)
    // siginfo, then a ucontext: the fault's address, x0 to x30, sp, pc.
    enum { GENERAL = 128 + 176 + 8 };
    uint64_t at = frame->registers[CFI_STACK_POINTER] + GENERAL;
    interrupted->known = (UINT64_C(1) << CFI_REGISTERS) - 1;
    for (uint32_t reg = 0; reg < CFI_REGISTERS; reg++)
        if (!cfi_read(frame, at + reg * sizeof(uint64_t), &interrupted->registers[reg]))
            return false;
    return true;
#else
    (void)frame, (void)interrupted;
    return false;
#endif
}

#endif
