// SPDX-License-Identifier: Apache-2.0
// Static probes (USDT): places in our libraries that perf, bpftrace, SystemTap, GDB and `profile --probe FILE:@NAME` know by
// name. A place is one instruction that does nothing, of the kind that the kernel emulates when it is probed (on x86 a nop
// of five bytes, which it need not even step through), and a note in the file, which is not loaded.
//
//     PROBE2(launch, correlation, queue);
//
// Arguments are integers or pointers, of at most 8 bytes. docs/sources.md lists all places.
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include <stdint.h>

#if defined(__x86_64__) || (defined(__aarch64__) && defined(__AARCH64EL__))

#if defined(__x86_64__)
#define PROBE_SITE "990: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#else
#define PROBE_SITE "990: nop\n"
#endif

// As SystemTap's format has it: name size, size and type of the note, "stapsdt"; the place, the base by which a linker that
// moves code afterwards is found out, no semaphore, provider, name and where the arguments are.
#define PROBE_NOTE(name, arguments)                                                                          \
    ".pushsection .note.stapsdt,\"?\",%%note\n"                                                              \
    ".balign 4\n"                                                                                            \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                                       \
    "991: .asciz \"stapsdt\"\n"                                                                              \
    "992: .balign 4\n"                                                                                       \
    "993: .8byte 990b, _.stapsdt.base, 0\n"                                                                  \
    ".asciz \"tracesmith\"\n"                                                                                \
    ".asciz \"" #name "\"\n"                                                                                 \
    ".asciz \"" arguments "\"\n"                                                                             \
    "994: .balign 4\n"                                                                                       \
    ".popsection\n"                                                                                          \
    ".ifndef _.stapsdt.base\n"                                                                               \
    ".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n"                                    \
    ".weak _.stapsdt.base\n"                                                                                 \
    ".hidden _.stapsdt.base\n"                                                                               \
    "_.stapsdt.base: .space 1\n"                                                                             \
    ".size _.stapsdt.base, 1\n"                                                                              \
    ".popsection\n"                                                                                          \
    ".endif\n"

#define PROBE2(name, a, b)                                                                                   \
    __asm__ volatile(PROBE_SITE PROBE_NOTE(name, "8@%0 8@%1")::"nor"((uint64_t)(a)), "nor"((uint64_t)(b)))

#else // no notes of this form here

#define PROBE2(name, a, b) ((void)(a), (void)(b))

#endif
#endif
