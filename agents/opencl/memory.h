// SPDX-License-Identifier: Apache-2.0
// Memory objects: what memory.c and svm.c share. Rules: agent.h.
#ifndef OPENCL_MEMORY_H
#define OPENCL_MEMORY_H

#include "command.h"
#include "objects.h"

// After the driver's call: adds the object to the table and to the live bytes, and records API call and ALLOC
// event.
void memory_created(struct call *call, tsmith_operation operation, void *key, cl_int result,
                    struct object *parent, struct memory memory);
// Before the driver's call that gives it back: takes one reference away. The object when it was the last,
// NULL when it lives on or is not known.
struct object *memory_forget(const void *key);
// After it: records the FREE event (and those of the parents that only this object kept alive). NULL:
// nothing.
void memory_freed(struct call *call, struct object *object);
// Of an object of an earlier recording, which is forgotten: its bytes are not live any more.
void memory_forgotten(const struct object *object);

#endif
