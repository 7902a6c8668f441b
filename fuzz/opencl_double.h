// SPDX-License-Identifier: Apache-2.0
// An OpenCL driver that executes nothing real, for replays of hostile recordings. It trusts its caller as real drivers do:
// handles and pointers are used as they come, so that a wrong one ends the process here as it would there (a handle that is
// none by abort(), a pointer by the sanitizer, since every byte that a command is given is touched). What a driver is
// obliged to check (sizes, offsets, regions against its objects), it checks.
#ifndef FUZZ_OPENCL_DOUBLE_H
#define FUZZ_OPENCL_DOUBLE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DOUBLE_DEVICES = 2,
    DOUBLE_ALLOC_MOST =
        1 << 16, // bytes of one object: what a replay that is given up leaves behind stays small
    DOUBLE_ARGUMENTS = 6,
    DOUBLE_PATTERN = 128
};

enum double_kind {
    DOUBLE_CONTEXT = 1,
    DOUBLE_QUEUE,
    DOUBLE_MEMORY,
    DOUBLE_SAMPLER,
    DOUBLE_PROGRAM,
    DOUBLE_KERNEL,
    DOUBLE_EVENT,
    DOUBLE_SHARED
};

// Some bytes of an object that a command moves or fills, or a kernel changes.
struct double_move {
    uint8_t *to;
    const uint8_t *from; // NULL: the pattern; with no pattern a change of the first byte
    size_t region[3], to_row, to_slice, from_row, from_slice;
    uint8_t pattern[DOUBLE_PATTERN];
    size_t pattern_bytes;
};

struct double_object {
    enum double_kind kind;
    unsigned references;
    struct double_object *next; // of all
    // a queue
    bool any_order;
    struct double_object *last; // its latest event; a reference
    // memory
    uint8_t *bytes; // a part has those of its parent
    size_t size;
    struct double_object *parent; // of a part of a buffer, of an image in one; a reference
    cl_mem_object_type type;
    size_t element, extent[3], row, slice;
    unsigned maps;
    // a kernel
    struct double_object *arguments[DOUBLE_ARGUMENTS];
    // an event; a command until it is complete
    cl_int status;
    bool user, is_command;
    struct double_object **needs; // events it comes after, memory it uses: references
    size_t need_count;
    struct double_move move;
    bool moves;
};

static struct {
    struct double_object *objects;
    size_t bytes;
    bool deferred;    // commands run only when their state is queried, one at a time
    unsigned fail_at; // the call that fails; 0: none
    unsigned calls;
} opencl_double;

// ---- objects

static struct double_object *double_make(enum double_kind kind) {
    struct double_object *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->kind = kind;
    made->references = 1;
    made->next = opencl_double.objects;
    opencl_double.objects = made;
    return made;
}

// The object of a handle, which must be one of this kind.
static struct double_object *double_use(const void *handle, enum double_kind kind) {
    for (struct double_object *at = opencl_double.objects; at; at = at->next)
        if (at == handle && at->kind == kind)
            return at;
    abort();
}

static void double_drop(struct double_object *object) {
    if (--object->references)
        return;
    struct double_object **at = &opencl_double.objects;
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    if (object->parent)
        double_drop(object->parent);
    else if (object->bytes) {
        opencl_double.bytes -= object->size;
        free(object->bytes);
    }
    if (object->last)
        double_drop(object->last);
    for (size_t i = 0; i < object->need_count; i++)
        double_drop(object->needs[i]);
    free(object->needs);
    free(object);
}

// After a replay: whether anything is left, which goes then.
static bool double_finish(void) {
    const bool left = opencl_double.objects != NULL;
    for (struct double_object *at = opencl_double.objects, *next; at; at = next) {
        next = at->next;
        if (!at->parent)
            free(at->bytes);
        free(at->needs);
        free(at);
    }
    opencl_double.objects = NULL;
    opencl_double.bytes = 0;
    opencl_double.calls = 0;
    return left;
}

static bool double_fails(void) {
    return ++opencl_double.calls == opencl_double.fail_at;
}

static bool double_allocate(struct double_object *object, size_t size) {
    enum { ALL_MOST = 64 << 20 };
    if (!size || size > DOUBLE_ALLOC_MOST || opencl_double.bytes + size > ALL_MOST)
        return false;
    object->bytes = calloc(1, size);
    if (!object->bytes)
        abort();
    object->size = size;
    opencl_double.bytes += size;
    return true;
}

static void double_read(const void *bytes, size_t size) {
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
}

// ---- commands

static void double_execute(const struct double_move *move) {
    size_t at = 0;
    for (size_t z = 0; z < move->region[2]; z++)
        for (size_t y = 0; y < move->region[1]; y++) {
            uint8_t *to = move->to + z * move->to_slice + y * move->to_row;
            if (move->from)
                memmove(to, move->from + z * move->from_slice + y * move->from_row, move->region[0]);
            else if (!move->pattern_bytes)
                to[0] ^= 1;
            for (size_t x = 0; !move->from && move->pattern_bytes && x < move->region[0]; x++)
                to[x] = move->pattern[at++ % move->pattern_bytes];
        }
}

// One command that can run; false when there is none.
static bool double_step(void) {
    struct double_object *found = NULL;
    for (struct double_object *at = opencl_double.objects; at; at = at->next) {
        bool ready = at->kind == DOUBLE_EVENT && at->is_command && at->status > CL_COMPLETE;
        for (size_t i = 0; ready && i < at->need_count; i++)
            ready = at->needs[i]->kind != DOUBLE_EVENT || at->needs[i]->status <= CL_COMPLETE;
        found = ready ? at : found; // the list has the oldest last
    }
    if (!found)
        return false;
    found->status = CL_COMPLETE;
    for (size_t i = 0; i < found->need_count; i++)
        if (found->needs[i]->kind == DOUBLE_EVENT && found->needs[i]->status < 0)
            found->status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    if (found->moves && found->status == CL_COMPLETE)
        double_execute(&found->move);
    struct double_object **needs = found->needs;
    const size_t count = found->need_count;
    found->needs = NULL;
    found->need_count = 0;
    for (size_t i = 0; i < count; i++)
        double_drop(needs[i]);
    free(needs);
    double_drop(found); // what is enqueued holds itself
    return true;
}

static void double_need(struct double_object *event, struct double_object *needed) {
    event->needs = realloc(event->needs, (event->need_count + 1) * sizeof *event->needs);
    if (!event->needs)
        abort();
    needed->references++;
    event->needs[event->need_count++] = needed;
}

static cl_int double_enqueue(cl_command_queue handle, cl_uint count, const cl_event *waits,
                             const struct double_move *move, struct double_object *const *uses,
                             size_t use_count, cl_event *out) {
    struct double_object *queue = double_use(handle, DOUBLE_QUEUE);
    if ((count == 0) != (waits == NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    if (double_fails())
        return CL_OUT_OF_RESOURCES;
    struct double_object *event = double_make(DOUBLE_EVENT);
    event->is_command = true;
    event->status = CL_QUEUED;
    for (cl_uint i = 0; i < count; i++)
        double_need(event, double_use(waits[i], DOUBLE_EVENT));
    if (queue->last && !queue->any_order)
        double_need(event, queue->last);
    for (size_t i = 0; i < use_count; i++)
        double_need(event, uses[i]);
    event->moves = move != NULL;
    if (move)
        event->move = *move;
    if (queue->last)
        double_drop(queue->last);
    event->references += 2; // the queue's and its own
    queue->last = event;
    if (out)
        *out = (cl_event)(void *)event;
    else
        double_drop(event);
    while (!opencl_double.deferred && double_step())
        ;
    return CL_SUCCESS;
}

// A box of an object: false when it is not within.
static bool double_box(const struct double_object *memory, const size_t origin[3], const size_t region[3],
                       size_t unit, size_t row, size_t slice, size_t *offset) {
    size_t end = 0, at[3], length[3], pitch[3] = {unit, row, slice};
    for (size_t i = 0; i < 3; i++) {
        if (!region[i] || __builtin_mul_overflow(origin[i], pitch[i], &at[i]) ||
            __builtin_mul_overflow(region[i] - (i != 0), pitch[i], &length[i]) ||
            __builtin_add_overflow(end, at[i], &end) || __builtin_add_overflow(end, length[i], &end))
            return false;
    }
    *offset = at[0] + at[1] + at[2];
    return end <= memory->size;
}

static bool double_pitches(const size_t region[3], size_t *row, size_t *slice) {
    size_t least;
    *row = *row ? *row : region[0];
    if (*row < region[0] || __builtin_mul_overflow(*row, region[1], &least))
        return false;
    *slice = *slice ? *slice : least;
    return *slice >= least && *row && *slice % *row == 0;
}

#include "opencl_double_calls.h"

#endif
