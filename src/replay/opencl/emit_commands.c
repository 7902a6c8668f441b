// SPDX-License-Identifier: Apache-2.0
// The commands of a program that is written: which of them can be in it, what each needs before it, and what it does to
// memory. The rules are those of commands.c and transfers.c. Called by emit_walk.c.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/opencl/emit.h"

enum { VALUE_MOST = 4096, PATTERN_MOST = 128 };

static uint64_t value(const struct recording_record *record, enum recording_key key) {
    return recording_value(record, key);
}

// ---- launches

static const char *check_argument(struct emit *emit, const struct emit_argument *argument) {
    switch (argument->form) {
    case RECORDING_ARGUMENT_OBJECT:
        if (argument->target == EMIT_NONE ||
            (!argument->sampler && emit->memories[argument->target].type == RECORDING_SHARED))
            return "an argument of the kernel cannot be replayed";
        if (!argument->sampler && emit->memories[argument->target].released)
            return "an argument of the kernel was released before";
        return NULL;
    case RECORDING_ARGUMENT_SHARED:
        return argument->target == EMIT_NONE || argument->sampler ||
                       emit->memories[argument->target].type != RECORDING_SHARED ||
                       argument->offset >= emit->memories[argument->target].size
                   ? "shared memory of a kernel is not in the recording"
                   : NULL;
    case RECORDING_ARGUMENT_VALUE:
        return argument->size > VALUE_MOST ? "an argument of the kernel is too large" : NULL;
    case RECORDING_ARGUMENT_NULL:
    case RECORDING_ARGUMENT_LOCAL:
        return NULL;
    default:
        return "an argument of the kernel cannot be replayed";
    }
}

static const char *check_launch(struct emit *emit, const struct emit_kernel *kernel,
                                const struct recording_record *record) {
    uint64_t values[RECORDING_DIMENSIONS];
    size_t dimensions, offsets, locals;
    const char *why = kernel->program == EMIT_NONE ? "its program is not in the recording"
                                                   : emit->programs[kernel->program].why;
    if (!kernel->name || strlen(kernel->name) > EMIT_STRING)
        why = kernel->name ? "the name of its kernel is too long for a string of ISO C"
                           : "its kernel has no name";
    for (size_t i = 0; i < kernel->argument_count && !why; i++) {
        const struct emit_argument *argument = &kernel->arguments[i];
        if (argument->form)
            why = check_argument(emit, argument);
        if (!why && argument->form && argument->target != EMIT_NONE && !argument->sampler)
            why = emit_why(emit, argument->target);
    }
    for (size_t i = 0; i < kernel->use_count && !why; i++)
        why = emit_why(emit, kernel->uses[i]);
    if (!recording_get_list(record, RECORDING_KEY_GLOBAL, values, RECORDING_DIMENSIONS, &dimensions) ||
        !recording_get_list(record, RECORDING_KEY_GLOBAL_OFFSET, values, RECORDING_DIMENSIONS, &offsets) ||
        !recording_get_list(record, RECORDING_KEY_LOCAL, values, RECORDING_DIMENSIONS, &locals) ||
        !dimensions || (offsets && offsets != dimensions) || (locals && locals != dimensions))
        why = "its launch is damaged in the recording";
    return why;
}

// Those of a launch, as far as they have changed; the memory they are is made.
static void add_arguments(struct emit *emit, int index, int queue) {
    struct emit_kernel *kernel = &emit->kernels[index];
    for (size_t i = 0; i < kernel->argument_count; i++) {
        struct emit_argument *argument = &kernel->arguments[i];
        if (argument->form && argument->target != EMIT_NONE && !argument->sampler)
            emit_use(emit, argument->target, queue);
    }
    for (size_t i = 0; i < kernel->use_count; i++)
        emit_use(emit, kernel->uses[i], queue);
    for (size_t i = 0; i < kernel->argument_count; i++) {
        struct emit_argument *argument = &kernel->arguments[i], *copy;
        if (!argument->form || !argument->changed)
            continue;
        copy = malloc(sizeof *copy);
        if (!copy) {
            emit->failed = true;
            return;
        }
        argument->changed = false;
        *copy = *argument;
        struct emit_step *step = emit_add_step(emit, EMIT_ARGUMENT);
        if (emit->failed) {
            free(copy);
            return;
        }
        step->kernel = index;
        step->index = i;
        step->argument = copy;
        if (argument->sampler)
            emit->samplers[argument->target].used = true;
    }
    if (!kernel->use_count)
        return;
    const size_t first = emit->list_count;
    for (size_t i = 0; i < kernel->use_count; i++)
        emit_add_list(emit, kernel->uses[i]);
    struct emit_step *step = emit_add_step(emit, EMIT_USES);
    step->kernel = index;
    step->list = first;
    step->list_count = kernel->use_count;
}

static void kernel_written(struct emit *emit, const struct emit_kernel *kernel, const char *why) {
    const char *doubt = NULL;
    for (size_t i = 0; i < kernel->argument_count && !doubt; i++)
        if (kernel->arguments[i].form && kernel->arguments[i].target != EMIT_NONE &&
            !kernel->arguments[i].sampler)
            doubt = emit_doubt(emit, kernel->arguments[i].target);
    for (size_t i = 0; i < kernel->use_count && !doubt; i++)
        doubt = emit_doubt(emit, kernel->uses[i]);
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct emit_argument *argument = &kernel->arguments[i];
        const struct emit_parameter unknown = {TSMITH_ELEMENT_U8, false},
                                    *parameter =
                                        i < kernel->parameter_count ? &kernel->parameters[i] : &unknown;
        if (!argument->form || argument->constant || parameter->constant || argument->target == EMIT_NONE ||
            argument->sampler)
            continue;
        emit_written(emit, argument->target, argument->type ? argument->element : parameter->element, why);
        emit_doubted(emit, argument->target, doubt);
    }
    for (size_t i = 0; i < kernel->use_count; i++) {
        emit_written(emit, kernel->uses[i], TSMITH_ELEMENT_U8, why);
        emit_doubted(emit, kernel->uses[i], doubt);
    }
}

struct command {
    const struct recording_record *record;
    enum recording_command kind;
    int queue, kernel, memory, source, mapping, result, content;
    const char *why;
    bool blocking;
};

static struct command command_of(struct emit *emit, const struct recording_record *record) {
    return (struct command){.record = record,
                            .kind = (enum recording_command)value(record, RECORDING_KEY_COMMAND),
                            .queue = emit_find(emit, value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE),
                            .kernel = emit_find(emit, value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL),
                            .memory = emit_find_memory(emit, value(record, RECORDING_KEY_TARGET)),
                            .source = emit_find_memory(emit, value(record, RECORDING_KEY_SOURCE)),
                            .mapping =
                                emit_find(emit, value(record, RECORDING_KEY_MAPPING), RECORDING_COMMAND),
                            .result = EMIT_NONE,
                            .content = EMIT_NONE,
                            .blocking = value(record, RECORDING_KEY_BLOCKING) != 0};
}

static bool is_there(const struct emit *emit, int memory) {
    return memory != EMIT_NONE && !emit->memories[memory].released && !emit->memories[memory].absent;
}

static void take_read(struct emit *emit, struct command *command) {
    const uint64_t size = value(command->record, RECORDING_KEY_SIZE);
    const char *why = emit_why(emit, command->source);
    if (!is_there(emit, command->source))
        command->why = "its memory is not in the recording";
    else if (size > emit_root(emit, command->source)->size)
        command->why = "it reads beyond its memory";
    else if (why && recording_has_payload(command->record))
        emit_omit(emit, "command %llu: what it reads is not compared: %s", (unsigned long long)emit->command,
                  why);
    else if (size && recording_has_payload(command->record))
        command->result = emit_add_result(emit, command->source, command->record, "read by command",
                                          emit_doubt(emit, command->source));
}

static void take_write(struct emit *emit, struct command *command) {
    const bool box = command->kind != RECORDING_COMMAND_WRITE;
    const uint64_t size = value(command->record, RECORDING_KEY_SIZE);
    if (!is_there(emit, command->memory))
        command->why = "its memory is not in the recording";
    else if ((command->content = emit_add_payload(emit, command->record)) == EMIT_NONE)
        command->why = recording_missing(emit->recording);
    if (!command->why)
        emit_overwritten(emit, command->memory,
                         box && command->kind != RECORDING_COMMAND_WRITE_IMAGE
                             ? UINT64_MAX
                             : value(command->record, RECORDING_KEY_OFFSET),
                         size);
    emit_written(emit, command->memory, TSMITH_ELEMENT_U8, command->why);
    const uint64_t transfer = value(command->record, RECORDING_KEY_TRANSFER);
    if (transfer && chunk_table_find(&emit->marks, chunk_key_of(~transfer)))
        emit_doubted(
            emit, command->memory,
            "the program changed its memory while a write of it was on its way: which of the two the "
            "device received is unknown");
}

static void take_copy(struct emit *emit, struct command *command) {
    uint64_t origin[RECORDING_DIMENSIONS] = {0};
    size_t count = 0;
    recording_get_list(command->record, RECORDING_KEY_TARGET_ORIGIN, origin, RECORDING_DIMENSIONS, &count);
    command->why = emit_why(emit, command->source);
    if (!command->why && !is_there(emit, command->memory))
        command->why = "its memory is not in the recording";
    if (!command->why && command->kind == RECORDING_COMMAND_COPY)
        emit_overwritten(emit, command->memory, origin[0], value(command->record, RECORDING_KEY_SIZE));
    emit_written(emit, command->memory,
                 command->source == EMIT_NONE ? TSMITH_ELEMENT_U8 : emit_root(emit, command->source)->element,
                 command->why);
    emit_doubted(emit, command->memory, emit_doubt(emit, command->source));
}

static void take_fill(struct emit *emit, struct command *command) {
    const uint8_t *pattern;
    size_t length;
    if (!is_there(emit, command->memory) ||
        !recording_get_bytes(command->record, RECORDING_KEY_DATA, &pattern, &length) || length > PATTERN_MOST)
        command->why = "its memory or its pattern is not in the recording";
    if (!command->why && command->kind == RECORDING_COMMAND_FILL)
        emit_overwritten(emit, command->memory, value(command->record, RECORDING_KEY_OFFSET),
                         value(command->record, RECORDING_KEY_SIZE));
    emit_written(emit, command->memory, TSMITH_ELEMENT_U8, command->why);
}

static void take_map(struct emit *emit, struct command *command) {
    const uint64_t id = value(command->record, RECORDING_KEY_MAPPING);
    const bool writes =
        value(command->record, RECORDING_KEY_FLAGS) & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
    const char *why = emit_why(emit, command->source);
    if (!id || command->mapping != EMIT_NONE || !is_there(emit, command->source) ||
        value(command->record, RECORDING_KEY_SIZE) > emit_root(emit, command->source)->size) {
        command->why = "its map is damaged in the recording";
        return;
    }
    if (why && recording_has_payload(command->record))
        emit_omit(emit, "command %llu: what it maps is not compared: %s", (unsigned long long)emit->command,
                  why);
    else if (recording_has_payload(command->record) && command->blocking)
        command->result = emit_add_result(emit, command->source, command->record, "mapped by command",
                                          emit_doubt(emit, command->source));
    if (!ARRAY_RESERVE(emit->mappings, emit->mapping_capacity, emit->mapping_count + 1)) {
        emit->failed = true;
        return;
    }
    emit_root(emit, command->source)->maps += writes;
    command->mapping = (int)emit->mapping_count;
    emit->mappings[emit->mapping_count++] = (struct emit_mapping){id, command->source, writes, true};
    emit_add_object(emit, id, RECORDING_COMMAND, command->mapping);
}

static bool ranges_fit(const uint8_t *ranges, size_t count, uint64_t room, uint64_t size) {
    uint64_t used = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        const uint64_t from = emit_list_at(ranges, i), length = emit_list_at(ranges, i + 1);
        if (from > room || length > room - from || length > size - used)
            return false;
        used += length;
    }
    return count % 2 == 0;
}

static void take_unmap(struct emit *emit, struct command *command) {
    const uint8_t *ranges;
    const size_t count = recording_list(command->record, RECORDING_KEY_RANGES, &ranges);
    struct emit_mapping *mapping = command->mapping == EMIT_NONE ? NULL : &emit->mappings[command->mapping];
    if (!mapping || !mapping->open || mapping->memory != command->memory ||
        !is_there(emit, command->memory)) {
        command->why = "its map is not in the program";
        emit_written(emit, command->memory, TSMITH_ELEMENT_U8,
                     count ? "what was written into a map of it is lost" : NULL);
        return;
    }
    if (count) {
        const char *why = NULL;
        command->content = emit_add_payload(emit, command->record);
        if (command->content == EMIT_NONE)
            why = recording_missing(emit->recording);
        else if (!ranges_fit(ranges, count, emit_root(emit, command->memory)->size,
                             emit->contents[command->content].size)) {
            why = "what was written into a map of it is damaged in the recording";
            command->content = EMIT_NONE;
        }
        emit_written(emit, command->memory, TSMITH_ELEMENT_U8, why);
    }
    mapping->open = false;
    if (mapping->writes && emit_root(emit, command->memory)->maps)
        emit_root(emit, command->memory)->maps--;
}

static void take_kernel(struct emit *emit, struct command *command) {
    if (command->kernel == EMIT_NONE) {
        command->why = "its kernel is not in the recording";
        return;
    }
    struct emit_kernel *kernel = &emit->kernels[command->kernel];
    command->why = check_launch(emit, kernel, command->record);
    if (!command->why)
        emit_read_source(emit, kernel);
    kernel_written(emit, kernel, command->why);
    if (!command->why)
        kernel->used = true;
}

static void take_command(struct emit *emit, struct command *command) {
    switch (command->kind) {
    case RECORDING_COMMAND_KERNEL:
        take_kernel(emit, command);
        return;
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
        take_read(emit, command);
        return;
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_WRITE_IMAGE:
        take_write(emit, command);
        return;
    case RECORDING_COMMAND_COPY:
    case RECORDING_COMMAND_COPY_RECT:
    case RECORDING_COMMAND_COPY_IMAGE:
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        take_copy(emit, command);
        return;
    case RECORDING_COMMAND_FILL:
    case RECORDING_COMMAND_FILL_IMAGE:
        take_fill(emit, command);
        return;
    case RECORDING_COMMAND_MAP:
        take_map(emit, command);
        return;
    case RECORDING_COMMAND_UNMAP:
        take_unmap(emit, command);
        return;
    case RECORDING_COMMAND_MARKER:
    case RECORDING_COMMAND_BARRIER:
    case RECORDING_COMMAND_MIGRATE:
        return;
    default:
        command->why = "it is a command of a newer version";
    }
}

// A transfer between buffers, images or boxes whose kind the record's memory does not have is left out: the program would read
// beyond what is there.
static const char *check_kinds(const struct emit *emit, const struct command *command) {
    const uint32_t from = command->source == EMIT_NONE ? 0 : emit->memories[command->source].type,
                   to = command->memory == EMIT_NONE ? 0 : emit->memories[command->memory].type;
    const bool image_from = from == RECORDING_IMAGE, image_to = to == RECORDING_IMAGE;
    const bool shared_from = from == RECORDING_SHARED, shared_to = to == RECORDING_SHARED;
    bool good = true;
    switch (command->kind) {
    case RECORDING_COMMAND_READ:
        good = !image_from;
        break;
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_FILL:
        good = !image_to;
        break;
    case RECORDING_COMMAND_READ_RECT:
        good = !image_from && !shared_from;
        break;
    case RECORDING_COMMAND_WRITE_RECT:
        good = !image_to && !shared_to;
        break;
    case RECORDING_COMMAND_READ_IMAGE:
        good = image_from;
        break;
    case RECORDING_COMMAND_WRITE_IMAGE:
    case RECORDING_COMMAND_FILL_IMAGE:
        good = image_to;
        break;
    case RECORDING_COMMAND_COPY:
        good = !image_from && !image_to && shared_from == shared_to;
        break;
    case RECORDING_COMMAND_COPY_RECT:
        good = !image_from && !image_to && !shared_from && !shared_to;
        break;
    case RECORDING_COMMAND_COPY_IMAGE:
        good = image_from && image_to;
        break;
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
        good = image_from && !image_to && !shared_to;
        break;
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        good = !image_from && !shared_from && image_to;
        break;
    default:
        break;
    }
    return good ? NULL : "its memory is of another kind than its command";
}

static uint64_t product_of(const struct recording_record *record, uint64_t element) {
    uint64_t region[RECORDING_DIMENSIONS], product = element;
    size_t count;
    if (!recording_get_list(record, RECORDING_KEY_REGION, region, RECORDING_DIMENSIONS, &count) ||
        count != RECORDING_DIMENSIONS)
        return UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(product, region[i], &product))
            return UINT64_MAX;
    return product;
}

static uint64_t content_size(const struct emit *emit, const struct command *command) {
    return command->content == EMIT_NONE ? value(command->record, RECORDING_KEY_SIZE)
                                         : emit->contents[command->content].size;
}

// The driver reads and writes host memory: as much as the program has for it.
static const char *check_host(struct emit *emit, const struct command *command) {
    static const char beyond[] = "its size is not that of its data";
    const int memory = command->source != EMIT_NONE ? command->source : command->memory;
    const struct emit_memory *at = memory == EMIT_NONE ? NULL : &emit->memories[memory];
    const uint64_t size = content_size(emit, command), offset = value(command->record, RECORDING_KEY_OFFSET);
    const bool image = at && at->type == RECORDING_IMAGE;
    switch (command->kind) {
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
    case RECORDING_COMMAND_WRITE_IMAGE:
        return product_of(command->record, image ? at->words[RECORDING_IMAGE_ELEMENT] : 1) == size ? NULL
                                                                                                   : beyond;
    case RECORDING_COMMAND_MAP:
        if (image)
            return product_of(command->record, at->words[RECORDING_IMAGE_ELEMENT]) == size ? NULL : beyond;
        return offset <= at->size && size <= at->size - offset ? NULL : beyond;
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_WRITE:
        return offset <= at->size && size <= at->size - offset ? NULL : beyond;
    default:
        return NULL;
    }
}

static void leave_out(struct emit *emit, const struct command *command) {
    struct emit_step *step = emit_add_step(emit, EMIT_LEFT_OUT);
    step->command_kind = command->kind;
    step->kernel = command->kernel;
    step->why = command->why;
    emit_omit(emit, "command %llu (%s) is left out: %s", (unsigned long long)emit->command,
              recording_command_name((uint64_t)command->kind), command->why);
}

void emit_add_command(struct emit *emit, const struct recording_record *record) {
    struct command command = command_of(emit, record);
    const bool marker = !emit_is_wanted(emit, emit->at) && !emit_only_orders(record);
    if (command.queue == EMIT_NONE)
        command.why = "its queue is not in the program";
    if (!marker && !command.why)
        command.why = check_kinds(emit, &command);
    if (!marker && !command.why) {
        take_command(emit, &command);
        if (!command.why && command.kind != RECORDING_COMMAND_UNMAP)
            command.why = check_host(emit, &command);
    }
    if (command.why) {
        leave_out(emit, &command);
        return;
    }
    size_t waits, wait_count;
    if (!marker && command.kind == RECORDING_COMMAND_KERNEL)
        emit->launches++;
    emit->commands += !marker;
    // What has to be there before it, and then its own step; waits for copies follow those that were recorded.
    if (!marker && command.kind == RECORDING_COMMAND_KERNEL)
        add_arguments(emit, command.kernel, command.queue);
    else if (!marker) {
        emit_use(emit, command.source, command.queue);
        emit_use(emit, command.memory, command.queue);
    }
    emit_add_waits(emit, record, &waits, &wait_count);
    const int held[] = {command.source, command.memory};
    for (size_t i = 0; i < 2 && !marker; i++)
        if (held[i] != EMIT_NONE && emit_root(emit, held[i])->hold != EMIT_NONE)
            emit_add_list(emit, emit_root(emit, held[i])->hold);
    for (size_t i = 0;
         !marker && command.kernel != EMIT_NONE && i < emit->kernels[command.kernel].argument_count; i++) {
        const struct emit_argument *argument = &emit->kernels[command.kernel].arguments[i];
        if (argument->form && argument->target != EMIT_NONE && !argument->sampler &&
            emit_root(emit, argument->target)->hold != EMIT_NONE)
            emit_add_list(emit, emit_root(emit, argument->target)->hold);
    }
    wait_count = emit->list_count - waits;
    struct emit_step *step = emit_add_step(emit, EMIT_COMMAND);
    step->command_kind = command.kind;
    step->queue = command.queue;
    step->kernel = command.kernel;
    step->memory = command.memory;
    step->source = command.source;
    step->mapping = command.mapping;
    step->content = command.content;
    step->result = command.result;
    step->waits = waits;
    step->wait_count = wait_count;
    step->as_marker = marker;
    step->blocking = command.blocking && !marker;
    step->event = emit_add_event(emit, value(record, RECORDING_KEY_EVENT));
    emit->queues[command.queue].used = true;
    emit->queues[command.queue].open = !step->blocking;
    emit->contexts[emit->queues[command.queue].context].used = true;
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
