// SPDX-License-Identifier: Apache-2.0
// Memory objects that the program passes after it has given back its last reference (option `released`). Rules: agent.h.
//
// What is seen is written as markers on the calling thread's track: RELEASED_MARKER for each last release, with its stack, and
// RELEASED_USE for a later call with the same object. An address that the driver has given out again is another object, for which
// nothing is written. Whether a driver keeps an object for a kernel or a command is not known, so no more is said than what was passed.
#ifndef OPENCL_RELEASED_H
#define OPENCL_RELEASED_H

#include "command.h"
#include "objects.h"

// The analysis of memory knows them (src/analyze/memory_released.c).
#define RELEASED_MARKER "memory object released"
#define RELEASED_USE "memory object used after release"

extern bool released_on __attribute__((visibility("hidden")));

// Once, before the layer's table is filled.
void released_begin(struct channel *channel);
// For another session in the same process, which may have other options: forgets the objects of the one before.
void released_again(struct channel *channel);

// A call that may give back an object.
__attribute__((always_inline)) static inline struct call call_begin_to_release(enum call_id function) {
    return released_on ? call_begin_with_stack(function) : call_begin(function);
}

// Before the driver's call that may give it back, or after it where it may be refused. `object` is what memory_forget returned.
void released_note(const struct call *call, const void *key, const struct object *object);
// A new object has this address.
void released_given_out(const void *key);
// A call with an object that is not known. `number` is 0, or the object that it was.
void released_passed(enum call_id function, uint32_t stack, const void *key, uint64_t number, int argument);
// Before a launch: checks the memory objects that were set as arguments of the kernel.
void released_launch(cl_kernel kernel, uint32_t stack);
void released_kernel_gone(const struct object *kernel);

// After the driver took this allocation as an argument (clSetKernelArgMemPointerINTEL).
void released_set_pointer(cl_kernel kernel, cl_uint index, const void *pointer, uint32_t stack);
cl_int released_set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value);

#endif
