// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h.
#include "object_event.h"

static void write(const struct call *call, tsmith_operation operation, const struct object *object) {
    enum { WORDS = 9 };
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = ring ? ring_reserve(ring, WORDS) : NULL;
    if (!at)
        return;
    at[0] = record_head(shapes.object, WORDS, agent_call_name(call->function));
    at[1] = call->start;
    at[2] = call->end;
    at[3] = operation;
    at[4] = object->number;
    at[5] = object->parent_number;
    at[6] = object->type == OBJECT_QUEUE ? object->queue.track : 0;
    at[7] = 0;
    at[8] = 0;
    ring_commit(ring, WORDS);
}

void object_record(struct call *call, tsmith_operation operation, cl_int result,
                   const struct object *object) {
    if (!agent_on())
        return;
    call_record(call, result);
    if (object)
        write(call, operation, object);
}

void object_end(struct call *call, tsmith_operation operation, struct object *object) {
    if (agent_on()) {
        call_record(call, CL_SUCCESS);
        write(call, operation, object);
    }
    if (object->type == OBJECT_QUEUE)
        object_linger(object);
    else
        object_recycle(object);
}
