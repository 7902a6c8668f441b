// SPDX-License-Identifier: Apache-2.0
// The commands of a recording on a device: kernels, and the choice among all the others.
#if __has_include(<CL/cl.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/opencl/execute.h"

enum { WAITS_MOST = 1 << 16 };

// ---- kernels

static const char *set_shared(struct run *run, const struct live *kernel, cl_uint index,
                              struct live_argument *argument, const struct live *target) {
    if (!target || target->type != RECORDING_SHARED || !target->handle.shared ||
        argument->offset >= target->size)
        return target && target->why ? target->why : "shared memory of a kernel could not be made";
    if (run->cl->clSetKernelArgSVMPointer(kernel->handle.kernel, index,
                                          (uint8_t *)target->handle.shared + argument->offset) != CL_SUCCESS)
        return "the kernel does not accept an argument as it was recorded";
    argument->changed = false;
    return NULL;
}

// The shared memory that the kernel gets at by pointers in other memory.
static const char *set_uses(struct run *run, struct live *kernel) {
    const void **pointers = calloc(kernel->use_count, sizeof *pointers);
    const char *why = pointers ? NULL : "out of memory while preparing the kernel";
    for (size_t i = 0; !why && i < kernel->use_count; i++) {
        struct live *used = &run->lives[kernel->uses[i]];
        why = memory_why(run, used);
        pointers[i] = used->handle.shared;
    }
    if (!why && run->cl->clSetKernelExecInfo(kernel->handle.kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                             kernel->use_count * sizeof *pointers, pointers) != CL_SUCCESS)
        why = "this device does not let the kernel use its shared memory";
    free(pointers);
    return why;
}

// Drivers follow a handle without looking at it: a value, or the handle of something else, must not come to be one.
static bool fits_declaration(const struct live_argument *argument, enum recording_argument_form form,
                             const struct live *target) {
    const bool sampler = target && target->type == RECORDING_SAMPLER;
    switch (form) {
    case RECORDING_ARGUMENT_VALUE:
        return argument->declared == DECLARED_UNKNOWN;
    case RECORDING_ARGUMENT_OBJECT:
        return argument->declared == DECLARED_UNKNOWN || (argument->declared == DECLARED_SAMPLER) == sampler;
    default:
        return true;
    }
}

// For a program that was created from its binary, the types of the arguments may be unknown to the recorder: a handle
// that is not memory is then recorded as a value.
static enum recording_argument_form form_of(const struct live_argument *argument) {
    static const void *const none;
    const bool no_memory = argument->form == RECORDING_ARGUMENT_VALUE &&
                           argument->declared == DECLARED_MEMORY && argument->size == sizeof none &&
                           memcmp(argument->data, &none, sizeof none) == 0;
    return no_memory ? RECORDING_ARGUMENT_NULL : argument->form;
}

static const char *set_argument(struct run *run, const struct live *kernel, cl_uint index,
                                struct live_argument *argument) {
    struct live *target = argument->target ? &run->lives[argument->target] : NULL;
    size_t size = argument->size;
    const void *value = argument->data;
    const enum recording_argument_form form = form_of(argument);
    if (!fits_declaration(argument, form, target))
        return "an argument of the kernel is not what the kernel declares";
    switch (form) {
    case RECORDING_ARGUMENT_OBJECT:
        if (!target || (!live_is_memory(target) && target->type != RECORDING_SAMPLER) ||
            target->type == RECORDING_SHARED)
            return "an argument of the kernel cannot be replayed";
        if (!target->handle.any)
            return target->why ? target->why : "an argument of the kernel could not be made";
        if (target->released)
            return "an argument of the kernel was released before";
        size = sizeof target->handle.any;
        value = &target->handle.any;
        break;
    case RECORDING_ARGUMENT_SHARED:
        return set_shared(run, kernel, index, argument, target);
    case RECORDING_ARGUMENT_NULL:
        size = sizeof(cl_mem);
        value = NULL;
        break;
    case RECORDING_ARGUMENT_LOCAL:
        value = NULL;
        break;
    case RECORDING_ARGUMENT_VALUE:
        break;
    default:
        return "an argument of the kernel cannot be replayed";
    }
    if (run->cl->clSetKernelArg(kernel->handle.kernel, index, size, value) != CL_SUCCESS)
        return "the kernel does not accept an argument as it was recorded";
    argument->changed = false;
    return NULL;
}

// Whether what the kernel computes can be compared: its arguments are there and hold what they held.
static const char *prepare_kernel(struct run *run, struct live *kernel) {
    const char *why = kernel->why;
    for (size_t i = 0; i < kernel->argument_count && !why; i++) {
        struct live_argument *argument = &kernel->arguments[i];
        if (argument->form && argument->changed)
            why = set_argument(run, kernel, (cl_uint)i, argument);
    }
    for (size_t i = 0; i < kernel->argument_count && !why; i++) {
        struct live_argument *argument = &kernel->arguments[i];
        struct live *target = argument->target ? &run->lives[argument->target] : NULL;
        if (target && live_is_memory(target))
            why = memory_why(run, target);
    }
    return !why && kernel->use_count ? set_uses(run, kernel) : why;
}

size_t record_sizes(const struct recording_record *record, enum recording_key key,
                    size_t out[RECORDING_DIMENSIONS]) {
    uint64_t values[RECORDING_DIMENSIONS];
    size_t count;
    if (!recording_get_list(record, key, values, RECORDING_DIMENSIONS, &count))
        return 0;
    for (size_t i = 0; i < count; i++)
        out[i] = values[i];
    return count;
}

// Of any memory that it reads, by its arguments or by pointers.
static const char *kernel_doubt(struct run *run, const struct live *kernel) {
    const char *doubt = NULL;
    for (size_t i = 0; i < kernel->argument_count && !doubt; i++) {
        struct live *target = kernel->arguments[i].target ? &run->lives[kernel->arguments[i].target] : NULL;
        if (target && live_is_memory(target))
            doubt = memory_doubt(run, target);
    }
    for (size_t i = 0; i < kernel->use_count && !doubt; i++)
        doubt = memory_doubt(run, &run->lives[kernel->uses[i]]);
    return doubt;
}

// What it writes holds what it computed, or no known loss.
static void kernel_written(struct run *run, struct live *kernel, const char *why) {
    const char *doubt = kernel_doubt(run, kernel);
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct live_argument *argument = &kernel->arguments[i];
        struct live *target = argument->target ? &run->lives[argument->target] : NULL;
        if (argument->constant || !target || !live_is_memory(target))
            continue;
        memory_written(run, target, argument->element, why);
        memory_doubted(run, target, doubt);
    }
    for (size_t i = 0; i < kernel->use_count; i++) {
        memory_written(run, &run->lives[kernel->uses[i]], 0, why);
        memory_doubted(run, &run->lives[kernel->uses[i]], doubt);
    }
}

static void run_kernel(struct run *run, struct command *command) {
    size_t offset[RECORDING_DIMENSIONS], global[RECORDING_DIMENSIONS], local[RECORDING_DIMENSIONS];
    struct live *kernel =
        live_find_type(run, recording_value(command->record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    if (!kernel) {
        run_note(run, "record %zu launches a kernel that is not in the recording", run->at);
        return;
    }
    const size_t dimensions = record_sizes(command->record, RECORDING_KEY_GLOBAL, global);
    const size_t offsets = record_sizes(command->record, RECORDING_KEY_GLOBAL_OFFSET, offset);
    const size_t locals = record_sizes(command->record, RECORDING_KEY_LOCAL, local);
    const char *why = prepare_kernel(run, kernel);
    if (!dimensions || (offsets && offsets != dimensions) || (locals && locals != dimensions))
        why = "its launch is damaged in the recording";
    bool empty = false; // a launch of no work-items is allowed, and some drivers end the process over it
    for (size_t i = 0; i < dimensions; i++)
        empty |= global[i] == 0 || (locals && local[i] == 0);
    if (empty && !why) {
        command->status = run->cl->clEnqueueMarkerWithWaitList(command->queue, command->wait_count,
                                                               command->waits, command->event);
        return;
    }
    if (kernel->handle.kernel && dimensions && !kernel->why && !why) {
        command->status = run->cl->clEnqueueNDRangeKernel(
            command->queue, kernel->handle.kernel, (cl_uint)dimensions, offsets ? offset : NULL, global,
            locals ? local : NULL, command->wait_count, command->waits, command->event);
        if (command->status != CL_SUCCESS) {
            run_note(run, "a kernel could not be launched as it was recorded (OpenCL error %d)",
                     command->status);
            why = "a kernel that writes it could not be launched on this device";
        }
    }
    kernel_written(run, kernel, why);
}

// ---- one command

// Events of commands that could not be replayed are not waited for.
static bool get_waits(struct run *run, struct command *command) {
    const uint8_t *ids;
    const size_t count = recording_list(command->record, RECORDING_KEY_WAITS, &ids);
    if (!count || count > WAITS_MOST)
        return count == 0;
    command->waits = malloc(count * sizeof *command->waits);
    for (size_t i = 0; command->waits && i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        cl_event event = live_event(run, id);
        if (event)
            command->waits[command->wait_count++] = event;
    }
    if (command->wait_count)
        return true;
    free(command->waits);
    command->waits = NULL;
    return true;
}

static bool use_memory(struct run *run, struct command *command, size_t queue, uint64_t id) {
    struct live *memory = live_memory(run, id);
    return !memory || memory_used(run, command, queue, memory);
}

// What the command reads and writes; copies of it that are on their way come first.
static bool use_memory_of_command(struct run *run, struct command *command, size_t queue) {
    bool room = use_memory(run, command, queue, recording_value(command->record, RECORDING_KEY_SOURCE)) &&
                use_memory(run, command, queue, recording_value(command->record, RECORDING_KEY_TARGET));
    const struct live *kernel =
        live_find_type(run, recording_value(command->record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    for (size_t i = 0; kernel && room && i < kernel->argument_count; i++)
        if (kernel->arguments[i].target && live_is_memory(&run->lives[kernel->arguments[i].target]))
            room = memory_used(run, command, queue, &run->lives[kernel->arguments[i].target]);
    for (size_t i = 0; kernel && room && i < kernel->use_count; i++)
        room = memory_used(run, command, queue, &run->lives[kernel->uses[i]]);
    return room;
}

// In a serial replay. Events of another context cannot be waited for by a queue, but by us.
static bool wait_for_last(struct run *run, struct command *command, size_t context) {
    run->error->status = TSMITH_OK;
    if (!run->last)
        return true;
    // What the host wrote into a map is written before the unmap, by us: nothing may be running that was to come first.
    const bool unmaps = command->kind == RECORDING_COMMAND_UNMAP;
    if (run->last_context != context || unmaps)
        return run_wait(run, run->last);
    command->waits = malloc(sizeof *command->waits);
    if (command->waits)
        command->waits[command->wait_count++] = run->last;
    return command->waits != NULL;
}

// Those have an event of their own, and share another (transfers.c).
static bool is_transfer(enum recording_command kind) {
    return kind == RECORDING_COMMAND_READ || kind == RECORDING_COMMAND_READ_RECT ||
           kind == RECORDING_COMMAND_READ_IMAGE || kind == RECORDING_COMMAND_WRITE ||
           kind == RECORDING_COMMAND_WRITE_RECT || kind == RECORDING_COMMAND_WRITE_IMAGE ||
           kind == RECORDING_COMMAND_MAP;
}

static tsmith_status dispatch(struct run *run, struct command *command) {
    switch (execute_option_leaves_out(run) ? RECORDING_COMMAND_MARKER : command->kind) {
    case RECORDING_COMMAND_KERNEL:
        run_kernel(run, command);
        return TSMITH_OK;
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
        return execute_read(run, command);
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_WRITE_IMAGE:
        return execute_write(run, command);
    case RECORDING_COMMAND_COPY:
    case RECORDING_COMMAND_COPY_RECT:
    case RECORDING_COMMAND_COPY_IMAGE:
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        execute_copy(run, command);
        return TSMITH_OK;
    case RECORDING_COMMAND_FILL:
    case RECORDING_COMMAND_FILL_IMAGE:
        execute_fill(run, command);
        return TSMITH_OK;
    case RECORDING_COMMAND_MAP:
        return execute_map(run, command);
    case RECORDING_COMMAND_UNMAP:
        return execute_unmap(run, command);
    case RECORDING_COMMAND_BARRIER:
        command->status = run->cl->clEnqueueBarrierWithWaitList(command->queue, command->wait_count,
                                                                command->waits, command->event);
        return TSMITH_OK;
    case RECORDING_COMMAND_MARKER:
    case RECORDING_COMMAND_MIGRATE: // the replay chooses the addresses of memory itself
        command->status = run->cl->clEnqueueMarkerWithWaitList(command->queue, command->wait_count,
                                                               command->waits, command->event);
        return TSMITH_OK;
    default:
        run_note(run, "record %zu is a command of a newer version and was left out", run->at);
        return TSMITH_OK;
    }
}

tsmith_status execute_command(struct run *run, const struct recording_record *record) {
    const struct live *queue =
        live_find_type(run, recording_value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    const uint64_t event = recording_value(record, RECORDING_KEY_EVENT);
    struct command command = {.record = record,
                              .kind = (enum recording_command)recording_value(record, RECORDING_KEY_COMMAND),
                              .blocking = recording_value(record, RECORDING_KEY_BLOCKING) != 0};
    if (!queue || !queue->handle.queue) {
        run_note(run, "record %zu is a command of an unknown queue", run->at);
        execute_refused(run, record);
        return TSMITH_OK;
    }
    const size_t context = queue->parent; // what is enqueued may move the queue
    command.queue = queue->handle.queue;
    if (run->serial)
        command.blocking = command.kind == RECORDING_COMMAND_MAP;
    const bool waits = command.blocking && command.kind == RECORDING_COMMAND_COPY; // of shared memory
    if (run->serial || execute_option_time_all(run) || waits ||
        (event && chunk_table_find(&run->awaited, (struct chunk_hash){event * 0x9e3779b97f4a7c15u, event})))
        command.event = &command.made;
    if (!(run->serial ? wait_for_last(run, &command, context)
                      : get_waits(run, &command) &&
                            use_memory_of_command(run, &command, (size_t)(queue - run->lives))))
        return run->error->status < 0 ? run->error->status : run_no_memory(run);
    execute_option_pace(run);
    tsmith_status status = dispatch(run, &command);
    free(command.waits);
    if (!command.made)
        return status;
    if (!is_transfer(command.kind))
        execute_option_time(run, command.made);
    if (run->serial) {
        if (run->last)
            run->cl->clReleaseEvent(run->last);
        run->last = command.made;
        run->last_context = context;
        return status;
    }
    if (waits)
        run->cl->clFlush(command.queue);
    if (waits && status == TSMITH_OK && !run_wait(run, command.made))
        status = run->error->status;
    struct live *live = live_add(run, event, RECORDING_COMMAND);
    if (live)
        live->handle.event = command.made;
    else
        run->cl->clReleaseEvent(command.made);
    return status;
}

#else
typedef int execute_without_opencl;
#endif
