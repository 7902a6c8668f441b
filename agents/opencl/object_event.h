// SPDX-License-Identifier: Apache-2.0
// OBJECT events: contexts, queues and programs, created and given back. Rules: agent.h.
#ifndef OPENCL_OBJECT_EVENT_H
#define OPENCL_OBJECT_EVENT_H

#include "command.h"
#include "objects.h"

// After a call that creates: its API event, and the OBJECT event of what it made (NULL: nothing).
void object_record(struct call *call, tsmith_operation operation, cl_int result, const struct object *object);
// After a call that gave the last reference back: its API and OBJECT events; recycles the entry.
void object_end(struct call *call, tsmith_operation operation, struct object *object);

#endif
