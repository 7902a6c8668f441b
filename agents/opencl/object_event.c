// SPDX-License-Identifier: Apache-2.0
// Writes OBJECT events; the wrappers of calls that create and release objects call it. Rules: agent.h.
#include "object_event.h"

static void write_object(const struct call *call, tsmith_operation operation, const struct object *object) {
    RECORD_WRITE(channel_ring(agent.channel), shapes.object, agent_call_name(call->function), object_words,
                 .start = call->start, .end = call->end, .operation = operation,
                 .object = object->handle.number, .parent = object->parent_number,
                 .queue = object->handle.kind == OBJECT_QUEUE ? object->queue.track : 0);
}

void object_record(struct call *call, tsmith_operation operation, cl_int result,
                   const struct object *object) {
    if (!agent_on())
        return;
    call_record(call, result);
    if (object)
        write_object(call, operation, object);
}

void object_end(struct call *call, tsmith_operation operation, struct object *object) {
    if (agent_on()) {
        call_record(call, CL_SUCCESS);
        write_object(call, operation, object);
    }
    if (object->handle.kind == OBJECT_QUEUE)
        object_linger(object);
    else
        object_recycle(object);
}
