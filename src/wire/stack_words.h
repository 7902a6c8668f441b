// SPDX-License-Identifier: Apache-2.0
// What the words of a call stack mean, in the file of stacks that a profiled process writes and the collector reads.
#ifndef WIRE_STACK_WORDS_H
#define WIRE_STACK_WORDS_H

#include <stdint.h>

// Words of a stack, innermost first. A word is a return address, or the program counter of a frame that a signal
// struck (STACKS_STRUCK); GUESSED: it was found by a frame pointer; TRAMPOLINE: generated code through which an interpreter calls one of
// its functions. An outermost word EPOCH
// is the number of times that code had taken the place of other code; without it 0.
#define STACKS_STRUCK (UINT64_C(1) << 63)
#define STACKS_GUESSED (UINT64_C(1) << 62)
#define STACKS_TRAMPOLINE (UINT64_C(1) << 61)
#define STACKS_EPOCH (UINT64_C(0xfc) << 56)
#define STACKS_PC ((UINT64_C(1) << 56) - 1)

// A Python function takes two words of a stack: PYTHON_CODE with its line in bits 32 to 55, PYTHON_FILE after it; bits 0
// to 31 are what `intern` gave for the name and for the file. No program counter has these top bytes.
#define PYTHON_CODE (UINT64_C(0xfe) << 56)
#define PYTHON_FILE (UINT64_C(0xfd) << 56)
#define PYTHON_TOP (UINT64_C(0xff) << 56) // of a word that is a program counter: the caller's own marks
#define PYTHON_WORD(word) ((word) >> 56)
#define PYTHON_LINE(word) ((uint32_t)((word) >> 32 & 0xffffff))

#endif
