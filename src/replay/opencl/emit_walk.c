// SPDX-License-Identifier: Apache-2.0
// The records of a process as the steps of a program, by the rules of execute.c and commands.c. Called by emit.c.
#if __has_include(<CL/cl.h>)

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/compare.h"
#include "replay/opencl/emit.h"

enum { ARGUMENTS_MOST = 4096, WAITS_MOST = 4096 };

// ---- what the files share

int emit_find(const struct emit *emit, uint64_t id, uint32_t type) {
    const uint64_t index = id ? chunk_table_find(&emit->by_id, chunk_key_of(id)) : 0;
    return index && emit->objects[index - 1].type == type ? emit->objects[index - 1].index : EMIT_NONE;
}

int emit_find_memory(const struct emit *emit, uint64_t id) {
    return emit_find(emit, id, RECORDING_BUFFER);
}

void emit_add_object(struct emit *emit, uint64_t id, uint32_t type, int index) {
    if (!id || chunk_table_find(&emit->by_id, chunk_key_of(id)))
        return; // the recording contradicts itself: the first one counts
    if (!ARRAY_RESERVE(emit->objects, emit->object_capacity, emit->object_count + 1) ||
        !chunk_table_add(&emit->by_id, chunk_key_of(id), emit->object_count + 1)) {
        emit->failed = true;
        return;
    }
    emit->objects[emit->object_count++] = (struct emit_object){type, index};
}

struct emit_step *emit_add_step(struct emit *emit, enum emit_kind kind) {
    static struct emit_step none;
    if (!ARRAY_RESERVE(emit->steps, emit->step_capacity, emit->step_count + 1)) {
        emit->failed = true;
        return &none;
    }
    struct emit_step *step = &emit->steps[emit->step_count++];
    *step = (struct emit_step){.kind = kind,
                               .record = &emit->process->records[emit->at],
                               .command = emit->command,
                               .queue = EMIT_NONE,
                               .kernel = EMIT_NONE,
                               .memory = EMIT_NONE,
                               .source = EMIT_NONE,
                               .mapping = EMIT_NONE,
                               .content = EMIT_NONE,
                               .result = EMIT_NONE,
                               .event = EMIT_NONE};
    return step;
}

size_t emit_add_list(struct emit *emit, int value) {
    if (!ARRAY_RESERVE(emit->lists, emit->list_capacity, emit->list_count + 1)) {
        emit->failed = true;
        return 0;
    }
    emit->lists[emit->list_count] = value;
    return emit->list_count++;
}

void emit_omit(struct emit *emit, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (emit->omission_count >= EMIT_OMISSIONS) {
        emit->omission_count++;
        return;
    }
    char *copy = strdup(text);
    if (!copy || !ARRAY_RESERVE(emit->omissions, emit->omission_capacity, emit->omission_count + 1)) {
        emit->failed = true;
        free(copy);
        return;
    }
    emit->omissions[emit->omission_count++] = copy;
}

static uint64_t value(const struct recording_record *record, enum recording_key key) {
    return recording_value(record, key);
}

uint64_t emit_list_at(const uint8_t *list, size_t index) {
    uint64_t one;
    memcpy(&one, list + 8 * index, sizeof one);
    return one;
}

// ---- which commands are in it

bool emit_only_orders(const struct recording_record *record) {
    const uint64_t kind = value(record, RECORDING_KEY_COMMAND);
    return kind == RECORDING_COMMAND_MARKER || kind == RECORDING_COMMAND_BARRIER ||
           kind == RECORDING_COMMAND_MIGRATE;
}

bool emit_is_wanted(const struct emit *emit, size_t record) {
    const uint8_t *left_out = emit->request->left_out;
    return !left_out || (!left_out[record] && !emit_only_orders(&emit->process->records[record]));
}

static void mark(struct emit *emit, struct chunk_table *table, uint64_t id) {
    if (id && !chunk_table_find(table, chunk_key_of(id)) && !chunk_table_add(table, chunk_key_of(id), 1))
        emit->failed = true;
}

// From the last to the first: a command that was left out stays as a marker if commands behind it depend on it, by its event
// or by a queue in order.
static void mark_needed(struct emit *emit, struct chunk_table *events, struct chunk_table *queues,
                        const struct chunk_table *unordered) {
    for (size_t i = emit->process->count; i-- > 0;) {
        const struct recording_record *record = &emit->process->records[i];
        const uint8_t *waits;
        const size_t count = recording_list(record, RECORDING_KEY_WAITS, &waits);
        const uint64_t event = value(record, RECORDING_KEY_EVENT), queue = value(record, RECORDING_KEY_QUEUE);
        if (record->type != RECORDING_COMMAND)
            continue;
        const bool orders =
            emit_only_orders(record) || (count && !chunk_table_find(unordered, chunk_key_of(queue)));
        emit->live[i] = emit_is_wanted(emit, i) || (event && chunk_table_find(events, chunk_key_of(event))) ||
                        (orders && chunk_table_find(queues, chunk_key_of(queue)));
        if (!emit->live[i])
            continue;
        for (size_t j = 0; j < count && j < WAITS_MOST; j++)
            mark(emit, events, emit_list_at(waits, j));
        mark(emit, queues, queue);
    }
}

// From the first to the last: one that has nothing before it orders nothing.
static void unmark_empty(struct emit *emit, const struct chunk_table *awaited,
                         const struct chunk_table *unordered) {
    struct chunk_table events = {0}, queues = {0};
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        const uint8_t *waits;
        const size_t count = recording_list(record, RECORDING_KEY_WAITS, &waits);
        const uint64_t event = value(record, RECORDING_KEY_EVENT), queue = value(record, RECORDING_KEY_QUEUE);
        if (record->type == RECORDING_USER_EVENT)
            mark(emit, &events, value(record, RECORDING_KEY_OBJECT));
        if (record->type != RECORDING_COMMAND || !emit->live[i])
            continue;
        const bool orders = emit_only_orders(record) || !chunk_table_find(unordered, chunk_key_of(queue)),
                   shared = event && chunk_table_find(awaited, chunk_key_of(event));
        bool after = emit_is_wanted(emit, i) || (orders && (shared || emit_only_orders(record)) &&
                                                 chunk_table_find(&queues, chunk_key_of(queue)));
        for (size_t j = 0; j < count && j < WAITS_MOST; j++)
            after |= chunk_table_find(&events, chunk_key_of(emit_list_at(waits, j))) != 0;
        emit->live[i] = after;
        if (after) {
            mark(emit, &events, event);
            mark(emit, &queues, queue);
        }
    }
    chunk_table_finish(&events);
    chunk_table_finish(&queues);
}

static void find_unordered(struct emit *emit, struct chunk_table *queues) {
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        if (record->type == RECORDING_QUEUE &&
            (value(record, RECORDING_KEY_FLAGS) & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
            mark(emit, queues, value(record, RECORDING_KEY_OBJECT));
    }
}

static void mark_live(struct emit *emit) {
    struct chunk_table events = {0}, queues = {0}, unordered = {0};
    emit->live = calloc(emit->process->count + 1, 1);
    if (!emit->live) {
        emit->failed = true;
        return;
    }
    find_unordered(emit, &unordered);
    mark_needed(emit, &events, &queues, &unordered);
    if (emit->request->left_out)
        unmark_empty(emit, &events, &unordered);
    chunk_table_finish(&unordered);
    chunk_table_finish(&events);
    chunk_table_finish(&queues);
    // Events that something waits for have a place.
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        const uint8_t *waits;
        const size_t count = recording_list(record, RECORDING_KEY_WAITS, &waits);
        if (record->type == RECORDING_COMMAND ? emit->live[i] : record->type == RECORDING_WAIT)
            for (size_t j = 0; j < count && j < WAITS_MOST; j++)
                mark(emit, &emit->marks, emit_list_at(waits, j));
    }
}

// ---- objects

static void add_context(struct emit *emit, const struct recording_record *record) {
    if (!ARRAY_RESERVE(emit->contexts, emit->context_capacity, emit->context_count + 1)) {
        emit->failed = true;
        return;
    }
    const uint64_t id = value(record, RECORDING_KEY_OBJECT);
    emit->contexts[emit->context_count] = (struct emit_context){.id = id, .record = emit->at};
    emit_add_object(emit, id, RECORDING_CONTEXT, (int)emit->context_count++);
}

static void add_queue(struct emit *emit, const struct recording_record *record) {
    if (!ARRAY_RESERVE(emit->queues, emit->queue_capacity, emit->queue_count + 1)) {
        emit->failed = true;
        return;
    }
    const uint64_t id = value(record, RECORDING_KEY_OBJECT), flags = value(record, RECORDING_KEY_FLAGS);
    const int context = emit_find(emit, value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT);
    if (context == EMIT_NONE || (flags & CL_QUEUE_ON_DEVICE)) {
        emit_omit(emit, "queue %llu: %s", (unsigned long long)id,
                  context == EMIT_NONE ? "its context is not in the recording"
                                       : "queues on the device are not replayed");
        return;
    }
    emit->queues[emit->queue_count] = (struct emit_queue){
        .id = id,
        .flags = flags & (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE),
        .device = value(record, RECORDING_KEY_DEVICE),
        .context = context};
    emit_add_object(emit, id, RECORDING_QUEUE, (int)emit->queue_count++);
}

static void add_program(struct emit *emit, const struct recording_record *record) {
    if (!ARRAY_RESERVE(emit->programs, emit->program_capacity, emit->program_count + 1)) {
        emit->failed = true;
        return;
    }
    const uint64_t id = value(record, RECORDING_KEY_OBJECT);
    struct emit_program *program = &emit->programs[emit->program_count];
    *program = (struct emit_program){
        .id = id,
        .record = emit->at,
        .context = emit_find(emit, value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT)};
    snprintf(program->name, sizeof program->name, "program_%llu", (unsigned long long)id);
    if (program->context == EMIT_NONE)
        program->why = "the context of its program is not in the recording";
    else if (record->type == RECORDING_PROGRAM && !recording_has_payload(record))
        program->why = "its program is missing from the recording";
    emit_add_object(emit, id, RECORDING_PROGRAM, (int)emit->program_count++);
}

static void name_kernel(const struct emit *emit, struct emit_kernel *kernel) {
    char word[EMIT_NAME - 16];
    emit_identifier(kernel->name ? kernel->name : "", word, sizeof word);
    snprintf(kernel->variable, sizeof kernel->variable, "kernel_%s", word);
    for (size_t i = 0, turn = 2; i < emit->kernel_count; i++)
        if (strcmp(emit->kernels[i].variable, kernel->variable) == 0) {
            snprintf(kernel->variable, sizeof kernel->variable, "kernel_%s_%zu", word, turn++);
            i = SIZE_MAX; // this one may be taken too
        }
}

static bool reserve_arguments(struct emit *emit, struct emit_kernel *kernel, size_t count) {
    if (count <= kernel->argument_count)
        return true;
    if (!ARRAY_RESERVE(kernel->arguments, kernel->argument_capacity, count)) {
        emit->failed = true;
        return false;
    }
    memset(&kernel->arguments[kernel->argument_count], 0,
           (count - kernel->argument_count) * sizeof *kernel->arguments);
    kernel->argument_count = count;
    return true;
}

static void add_kernel(struct emit *emit, const struct recording_record *record) {
    const int cloned = emit_find(emit, value(record, RECORDING_KEY_CLONED), RECORDING_KERNEL);
    struct emit_kernel kernel = {.id = value(record, RECORDING_KEY_OBJECT),
                                 .program =
                                     emit_find(emit, value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM),
                                 .name = recording_text(emit->recording, record, RECORDING_KEY_NAME)};
    name_kernel(emit, &kernel);
    if (cloned != EMIT_NONE && reserve_arguments(emit, &kernel, emit->kernels[cloned].argument_count))
        for (size_t i = 0; i < kernel.argument_count; i++) {
            kernel.arguments[i] = emit->kernels[cloned].arguments[i];
            kernel.arguments[i].changed = true;
        }
    if (!ARRAY_RESERVE(emit->kernels, emit->kernel_capacity, emit->kernel_count + 1)) {
        free(kernel.arguments);
        emit->failed = true;
        return;
    }
    emit->kernels[emit->kernel_count] = kernel;
    emit_add_object(emit, kernel.id, RECORDING_KERNEL, (int)emit->kernel_count++);
}

static void add_sampler(struct emit *emit, const struct recording_record *record) {
    struct emit_sampler sampler = {
        .id = value(record, RECORDING_KEY_OBJECT),
        .context = emit_find(emit, value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT)};
    size_t count;
    if (!recording_get_list(record, RECORDING_KEY_LIST, sampler.words, 3, &count) || count != 3 ||
        sampler.context == EMIT_NONE)
        return;
    if (!ARRAY_RESERVE(emit->samplers, emit->sampler_capacity, emit->sampler_count + 1)) {
        emit->failed = true;
        return;
    }
    emit->samplers[emit->sampler_count] = sampler;
    emit_add_object(emit, sampler.id, RECORDING_SAMPLER, (int)emit->sampler_count++);
}

static void take_argument(struct emit *emit, const struct recording_record *record) {
    const int kernel = emit_find(emit, value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    const uint64_t index = value(record, RECORDING_KEY_INDEX), target = value(record, RECORDING_KEY_TARGET);
    if (kernel == EMIT_NONE || index >= ARGUMENTS_MOST ||
        !reserve_arguments(emit, &emit->kernels[kernel], (size_t)index + 1))
        return;
    const int memory = emit_find_memory(emit, target), sampler = emit_find(emit, target, RECORDING_SAMPLER);
    struct emit_argument argument = {
        .form = (enum recording_argument_form)value(record, RECORDING_KEY_FORM),
        .size = value(record, RECORDING_KEY_SIZE),
        .target = memory != EMIT_NONE ? memory : sampler,
        .sampler = memory == EMIT_NONE && sampler != EMIT_NONE,
        .offset = value(record, RECORDING_KEY_OFFSET),
        .type = recording_text(emit->recording, record, RECORDING_KEY_NAME),
        .constant = (value(record, RECORDING_KEY_FLAGS) & RECORDING_ARGUMENT_CONSTANT) != 0,
        .changed = true};
    argument.element = element_of_type(argument.type);
    if (argument.form == RECORDING_ARGUMENT_VALUE &&
        !recording_get_bytes(record, RECORDING_KEY_DATA, &argument.data, &argument.size))
        argument.form = RECORDING_ARGUMENT_REFUSED;
    emit->kernels[kernel].arguments[index] = argument;
}

static void take_uses(struct emit *emit, const struct recording_record *record) {
    const int index = emit_find(emit, value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_LIST, &ids);
    int *uses = calloc(count + 1, sizeof *uses);
    if (index == EMIT_NONE || !uses) {
        emit->failed |= !uses;
        free(uses);
        return;
    }
    struct emit_kernel *kernel = &emit->kernels[index];
    free(kernel->uses);
    kernel->uses = uses;
    kernel->use_count = 0;
    for (size_t i = 0; i < count; i++) {
        const int memory = emit_find_memory(emit, emit_list_at(ids, i));
        if (memory != EMIT_NONE && emit->memories[memory].type == RECORDING_SHARED)
            uses[kernel->use_count++] = memory;
    }
}

// ---- events

int emit_event(struct emit *emit, uint64_t id) {
    return emit_find(emit, id, RECORDING_USER_EVENT);
}

int emit_add_event(struct emit *emit, uint64_t id) {
    if (!id || !chunk_table_find(&emit->marks, chunk_key_of(id)) || emit_event(emit, id) != EMIT_NONE)
        return EMIT_NONE;
    emit_add_object(emit, id, RECORDING_USER_EVENT, (int)emit->event_count);
    return (int)emit->event_count++;
}

// The events of a wait list that are there, at the end of the lists. Commands that cannot be replayed have none.
void emit_add_waits(struct emit *emit, const struct recording_record *record, size_t *first, size_t *count) {
    const uint8_t *ids;
    const size_t all = recording_list(record, RECORDING_KEY_WAITS, &ids);
    *first = emit->list_count;
    for (size_t i = 0; i < all && i < WAITS_MOST; i++) {
        const int event = emit_event(emit, emit_list_at(ids, i));
        if (event != EMIT_NONE)
            emit_add_list(emit, event);
    }
    *count = emit->list_count - *first;
}

// ---- the host

static void add_wait(struct emit *emit, const struct recording_record *record) {
    const int queue = emit_find(emit, value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    size_t waits, wait_count;
    if (queue != EMIT_NONE && emit->queues[queue].open) {
        emit_add_step(emit, EMIT_FINISH)->queue = queue;
        emit->queues[queue].open = false;
    }
    emit_add_waits(emit, record, &waits, &wait_count);
    if (!wait_count)
        return;
    struct emit_step *step = emit_add_step(emit, EMIT_WAIT);
    step->waits = waits;
    step->wait_count = wait_count;
}

static void add_user_event(struct emit *emit, const struct recording_record *record) {
    const int context = emit_find(emit, value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT);
    const int event =
        context == EMIT_NONE ? EMIT_NONE : emit_add_event(emit, value(record, RECORDING_KEY_OBJECT));
    if (event == EMIT_NONE)
        return;
    struct emit_step *step = emit_add_step(emit, EMIT_USER_EVENT);
    step->event = event;
    step->index = (size_t)context;
    emit->contexts[context].used = true;
}

static void add_user_status(struct emit *emit, const struct recording_record *record) {
    const int event = emit_event(emit, value(record, RECORDING_KEY_OBJECT));
    if (event != EMIT_NONE)
        emit_add_step(emit, EMIT_USER_STATUS)->event = event;
}

static void refuse_writes(struct emit *emit, const struct recording_record *record) {
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_WRITES, &ids);
    const char *why = recording_text(emit->recording, record, RECORDING_KEY_TEXT);
    for (size_t i = 0; i < count; i++)
        emit_written(emit, emit_find_memory(emit, emit_list_at(ids, i)), TSMITH_ELEMENT_U8,
                     why ? why : "a call that cannot be replayed");
}

// ---- the walk

static void take_build(struct emit *emit, const struct recording_record *record) {
    const int program = emit_find(emit, value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    const char *options = recording_text(emit->recording, record, RECORDING_KEY_TEXT);
    if (program == EMIT_NONE)
        return;
    emit->programs[program].build = emit->at + 1;
    if (options && strlen(options) > EMIT_STRING)
        emit->programs[program].why = "its build options are too long for a string of ISO C";
}

static void take_content(struct emit *emit, const struct recording_record *record) {
    const uint64_t verify = value(record, RECORDING_KEY_VERIFY),
                   state = chunk_table_find(&emit->states, chunk_key_of(verify));
    emit_content(emit, emit_find_memory(emit, value(record, RECORDING_KEY_OBJECT)),
                 state ? &emit->process->records[state - 1] : NULL,
                 "the recording ends before its copy arrived");
}

// What makes or changes an object.
static void take_object(struct emit *emit, const struct recording_record *record) {
    static void (*const takes[RECORDING_TYPE_LIMIT])(struct emit *, const struct recording_record *) = {
        [RECORDING_CONTEXT] = add_context,     [RECORDING_QUEUE] = add_queue,
        [RECORDING_BUFFER] = emit_make_buffer, [RECORDING_SUB_BUFFER] = emit_make_part,
        [RECORDING_IMAGE] = emit_make_image,   [RECORDING_SHARED] = emit_make_shared,
        [RECORDING_PROGRAM] = add_program,     [RECORDING_LINK] = add_program,
        [RECORDING_BUILD] = take_build,        [RECORDING_COMPILE] = take_build,
        [RECORDING_KERNEL] = add_kernel,       [RECORDING_SAMPLER] = add_sampler,
        [RECORDING_ARGUMENT] = take_argument,  [RECORDING_USES] = take_uses,
    };
    // Others: a DEVICE, a STATE, an INCLUDED file: read where they are needed.
    if (record->type < RECORDING_TYPE_LIMIT && takes[record->type])
        takes[record->type](emit, record);
}

static void take_record(struct emit *emit, const struct recording_record *record) {
    switch (record->type) {
    case RECORDING_COMMAND:
        if (emit->live[emit->at])
            emit_add_command(emit, record);
        emit->command++;
        return;
    case RECORDING_USER_EVENT:
        add_user_event(emit, record);
        return;
    case RECORDING_USER_STATUS:
        add_user_status(emit, record);
        return;
    case RECORDING_WAIT:
        add_wait(emit, record);
        return;
    case RECORDING_VERIFY:
        if (!emit->request->left_out || !emit->request->left_out[emit->at])
            emit_verify(emit, record);
        return;
    case RECORDING_CONTENT:
        take_content(emit, record);
        return;
    case RECORDING_RELEASE:
        emit_release(emit, value(record, RECORDING_KEY_OBJECT));
        return;
    case RECORDING_REFUSED:
        refuse_writes(emit, record);
        return;
    default:
        take_object(emit, record);
    }
}

void emit_walk(struct emit *emit) {
    const struct emit_request *request = emit->request;
    size_t feed = 0;
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        if (record->type == RECORDING_STATE &&
            !chunk_table_add(&emit->states, chunk_key_of(value(record, RECORDING_KEY_VERIFY)), i + 1))
            emit->failed = true;
        if (record->type == RECORDING_CHANGED)
            mark(emit, &emit->marks, ~value(record, RECORDING_KEY_TRANSFER));
    }
    mark_live(emit);
    for (emit->at = 0; emit->at < emit->process->count && !emit->failed && !emit->too_large; emit->at++) {
        for (; feed < request->feed_count && request->feeds[feed].before <= emit->at; feed++)
            emit_content(emit, emit_find_memory(emit, request->feeds[feed].memory),
                         &emit->process->records[request->feeds[feed].content], NULL);
        take_record(emit, &emit->process->records[emit->at]);
    }
}

void emit_finish(struct emit *emit) {
    for (size_t i = 0; i < emit->kernel_count; i++) {
        free(emit->kernels[i].arguments);
        free(emit->kernels[i].parameters);
        free(emit->kernels[i].uses);
    }
    for (size_t i = 0; i < emit->program_count; i++)
        free(emit->programs[i].options);
    for (size_t i = 0; i < emit->memory_count; i++)
        free(emit->memories[i].users);
    for (size_t i = 0; i < emit->step_count; i++)
        free(emit->steps[i].argument);
    for (size_t i = 0; i < emit->omission_count && i < EMIT_OMISSIONS; i++)
        free(emit->omissions[i]);
    free(emit->omissions);
    free(emit->objects);
    free(emit->contexts);
    free(emit->queues);
    free(emit->memories);
    free(emit->programs);
    free(emit->kernels);
    free(emit->samplers);
    free(emit->mappings);
    free(emit->steps);
    free(emit->lists);
    free(emit->results);
    free(emit->contents);
    free(emit->data);
    free(emit->live);
    free(emit->awaited);
    chunk_table_finish(&emit->by_id);
    chunk_table_finish(&emit->states);
    chunk_table_finish(&emit->marks);
    chunk_table_finish(&emit->content_of);
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
