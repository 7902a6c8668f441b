// SPDX-License-Identifier: Apache-2.0
// Writes OBJECT events; the wrappers of calls that create and release objects call it. Rules: agent.h.
#include "object_event.h"

static void write_object(const struct call *call, tsmith_operation operation, const struct object *object) {
    enum { WORDS = 1 + RECORD_PART_WORDS(object_words) };
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = record_begin(ring, shapes.object, WORDS, agent_call_name(call->function));
    if (!at)
        return;
    RECORD_PUT(at, object_words, .start = call->start, .end = call->end, .operation = operation,
               .object = object->number, .parent = object->parent_number,
               .queue = object->type == OBJECT_QUEUE ? object->queue.track : 0);
    ring_commit(ring, WORDS);
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
    if (object->type == OBJECT_QUEUE)
        object_linger(object);
    else
        object_recycle(object);
}
