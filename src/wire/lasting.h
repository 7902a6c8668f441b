// SPDX-License-Identifier: Apache-2.0
// Objects that may be read after their end by a thread that still has their address. Such a thread reads the last contents or
// zeros, for the life of the process. The memory goes back to the system in blocks, as soon as all objects of a block have
// left; its addresses are not used again. Neither call takes a lock, so that a forked child can call both.
#ifndef WIRE_LASTING_H
#define WIRE_LASTING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct lasting {
    size_t bytes;         // of an object: a few KiB at most
    _Atomic uintptr_t at; // the block and, in its lower bits, how many objects of it were taken
};

// An object, all zero and aligned to 16 bytes. NULL: out of memory.
void *lasting_take(struct lasting *objects);
// The object has ended. It must not be written to any more. NULL is allowed.
void lasting_leave(const struct lasting *objects, void *object);

#endif
