// SPDX-License-Identifier: Apache-2.0
// From the records of a process to nodes and edges. One pass; every record adds edges for what it names, and gathers what
// it waits for only once, so that edges stay as many as the recording is long.
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"

enum { OUT_OF_ORDER = 1, ARGUMENTS_MOST = 4096 }; // CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE

#define RESERVE(owner, items, count, capacity)                                                               \
    ARRAY_RESERVE((owner)->items, (owner)->capacity, (owner)->count + 1)

// ---- objects

struct plan_object *plan_find(struct plan_builder *builder, uint64_t id) {
    const uint64_t index = id ? chunk_table_find(&builder->by_id, chunk_key_of(id)) : 0;
    return index ? &builder->objects[index - 1] : NULL;
}

static struct plan_object *find_type(struct plan_builder *builder, uint64_t id, uint32_t type) {
    struct plan_object *object = plan_find(builder, id);
    return object && object->type == type ? object : NULL;
}

// A number that is taken keeps its first meaning.
void plan_add_object(struct plan_builder *builder, uint64_t id, struct plan_object object) {
    if (!id || plan_find(builder, id))
        return;
    if (!RESERVE(builder, objects, object_count, object_capacity) ||
        !chunk_table_add(&builder->by_id, chunk_key_of(id), builder->object_count + 1)) {
        builder->failed = true;
        return;
    }
    builder->objects[builder->object_count++] = object;
}

uint32_t plan_add_memory(struct plan_builder *builder, enum plan_memory_kind kind, uint64_t id,
                         uint64_t size) {
    struct plan *plan = builder->plan;
    if (plan->memory_count == UINT32_MAX - 1 || !RESERVE(plan, memories, memory_count, memory_capacity)) {
        builder->failed = true;
        return 0;
    }
    plan->memories[plan->memory_count] = (struct plan_memory){.id = id, .size = size, .kind = kind};
    return (uint32_t)plan->memory_count++;
}

// ---- nodes and edges

static struct plan_node *last_node(struct plan_builder *builder) {
    return &builder->plan->nodes[builder->plan->node_count - 1];
}

// The number of it, + 1; 0 when memory is exhausted.
static uint32_t add_node(struct plan_builder *builder, enum plan_kind kind, uint32_t queue) {
    struct plan *plan = builder->plan;
    if (plan->node_count == UINT32_MAX - 1 || plan->edge_count >= UINT32_MAX ||
        plan->access_count >= UINT32_MAX || !RESERVE(plan, nodes, node_count, node_capacity)) {
        builder->failed = true;
        return 0;
    }
    plan->nodes[plan->node_count++] = (struct plan_node){.record = (uint32_t)builder->at,
                                                         .queue = queue,
                                                         .edge_first = (uint32_t)plan->edge_count,
                                                         .access_first = (uint32_t)plan->access_count,
                                                         .kind = (uint8_t)kind};
    return (uint32_t)plan->node_count;
}

// Into the node that was added last; from a number + 1, 0 is none.
static void add_edge(struct plan_builder *builder, uint32_t from) {
    struct plan *plan = builder->plan;
    if (!from || builder->failed)
        return;
    struct plan_node *node = last_node(builder);
    if (from >= plan->node_count || (node->edge_count && plan->edges[plan->edge_count - 1] == from - 1))
        return;
    if (!RESERVE(plan, edges, edge_count, edge_capacity)) {
        builder->failed = true;
        return;
    }
    plan->edges[plan->edge_count++] = from - 1;
    node->edge_count++;
}

static void add_waits(struct plan_builder *builder, const struct recording_record *record) {
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_WAITS, &ids);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const struct plan_object *event = plan_find(builder, id);
        if (event && (event->type == RECORDING_COMMAND || event->type == RECORDING_USER_EVENT))
            add_edge(builder, event->index + 1);
    }
}

// All commands of a queue: from now on one node represents them.
static void gather(struct plan_builder *builder, struct plan_open_queue *open) {
    add_edge(builder, open->barrier);
    for (size_t i = 0; i < open->open_count; i++)
        add_edge(builder, open->open[i] + 1);
    open->open_count = 0;
}

static void keep_open(struct plan_builder *builder, struct plan_open_queue *open, uint32_t node) {
    if (!RESERVE(open, open, open_count, open_capacity)) {
        builder->failed = true;
        return;
    }
    open->open[open->open_count++] = node - 1;
}

static void queue_edges(struct plan_builder *builder, uint32_t queue, uint64_t command, bool waits,
                        uint32_t node) {
    struct plan_open_queue *open = &builder->open[queue - 1];
    const bool gathers =
        (command == RECORDING_COMMAND_BARRIER || command == RECORDING_COMMAND_MARKER) && !waits;
    // What the host waited for since the command before it.
    const uint32_t before = builder->plan->queues[queue - 1].out_of_order ? open->barrier : open->last;
    if (builder->host > before)
        add_edge(builder, builder->host);
    if (!builder->plan->queues[queue - 1].out_of_order) {
        add_edge(builder, open->last);
        open->last = node;
        return;
    }
    if (gathers)
        gather(builder, open);
    else
        add_edge(builder, open->barrier);
    if (command == RECORDING_COMMAND_BARRIER)
        open->barrier =
            node; // one with a wait list does not gather what is before it, and still holds up what follows
    keep_open(builder, open, node);
}

// ---- records

static void make_queue(struct plan_builder *builder, const struct recording_record *record) {
    struct plan *plan = builder->plan;
    const uint64_t id = recording_value(record, RECORDING_KEY_OBJECT);
    if (!RESERVE(plan, queues, queue_count, queue_capacity) ||
        !RESERVE(builder, open, open_count, open_capacity)) {
        builder->failed = true;
        return;
    }
    plan->queues[plan->queue_count++] =
        (struct plan_queue){id, (recording_value(record, RECORDING_KEY_FLAGS) & OUT_OF_ORDER) != 0};
    builder->open[builder->open_count++] = (struct plan_open_queue){0};
    plan_add_object(builder, id,
                    (struct plan_object){.type = RECORDING_QUEUE, .index = (uint32_t)plan->queue_count - 1});
}

static void make_part(struct plan_builder *builder, const struct recording_record *record,
                      struct plan_object made, const struct plan_object *parent) {
    made.index = parent->index;
    made.offset = parent->offset + recording_value(record, RECORDING_KEY_OFFSET);
    made.flags |= parent->flags;
    if (record->type == RECORDING_IMAGE)
        made.size = parent->size; // at most
    if (made.offset - parent->offset <= parent->size &&
        made.size <= parent->size - (made.offset - parent->offset))
        plan_add_object(builder, recording_value(record, RECORDING_KEY_OBJECT), made);
}

// Rows of pixels, one after the other: the layout of an image in the plan. False when its size is impossible.
static bool lay_out(const struct recording_record *record, struct plan_object *made) {
    uint64_t words[RECORDING_IMAGE_WORDS];
    size_t count;
    if (!recording_get_list(record, RECORDING_KEY_LIST, words, RECORDING_IMAGE_WORDS, &count) ||
        count != RECORDING_IMAGE_WORDS)
        return false;
    made->pixel = words[RECORDING_IMAGE_ELEMENT];
    made->height = words[RECORDING_IMAGE_HEIGHT];
    if (!made->height) // of one dimension; layers are counted where the rows of others are
        made->height = words[RECORDING_IMAGE_LAYERS] ? words[RECORDING_IMAGE_LAYERS] : 1;
    const uint64_t depth = words[RECORDING_IMAGE_DEPTH]    ? words[RECORDING_IMAGE_DEPTH]
                           : words[RECORDING_IMAGE_LAYERS] ? words[RECORDING_IMAGE_LAYERS]
                                                           : 1;
    return !__builtin_mul_overflow(words[RECORDING_IMAGE_WIDTH], made->pixel, &made->row) &&
           !__builtin_mul_overflow(made->row, made->height, &made->size) &&
           !__builtin_mul_overflow(made->size, depth, &made->size);
}

static void make_memory(struct plan_builder *builder, const struct recording_record *record) {
    const uint64_t id = recording_value(record, RECORDING_KEY_OBJECT),
                   parent = recording_value(record, RECORDING_KEY_PARENT);
    struct plan_object made = {.type = record->type,
                               .size = recording_value(record, RECORDING_KEY_SIZE),
                               .flags = recording_value(record, RECORDING_KEY_FLAGS)};
    const struct plan_object *of = parent ? plan_find_memory(builder, parent) : NULL;
    if (of)
        make_part(builder, record, made, of);
    if (parent || record->type == RECORDING_SUB_BUFFER ||
        (record->type == RECORDING_IMAGE && !lay_out(record, &made)) || !id || plan_find(builder, id))
        return;
    made.index = plan_add_memory(builder, PLAN_BUFFER, id, made.size);
    plan_add_object(builder, id, made);
}

static void ask_source(struct plan_builder *builder, struct plan_kernel *kernel,
                       const struct recording_record *record) {
    struct plan *plan = builder->plan;
    const struct plan_object *program =
        find_type(builder, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    const struct recording_record *made = program ? &plan->process->records[program->index] : NULL;
    const char *name = recording_text(plan->recording, record, RECORDING_KEY_NAME);
    size_t size;
    if (!made || !name || recording_value(made, RECORDING_KEY_FORM) != RECORDING_PROGRAM_SOURCE)
        return;
    enum { USES = 64 };
    uint8_t *source = recording_payload(plan->recording, made, &size);
    kernel->uses = source ? malloc(USES * sizeof *kernel->uses) : NULL;
    if (kernel->uses) {
        kernel->use_count = USES;
        const struct recording_record *build =
            program->offset ? &plan->process->records[program->offset - 1] : NULL;
        plan_source_uses((const char *)source, size,
                         build ? recording_text(plan->recording, build, RECORDING_KEY_TEXT) : NULL, name,
                         kernel->uses, USES);
    }
    free(source);
}

static void make_kernel(struct plan_builder *builder, const struct recording_record *record) {
    const uint64_t id = recording_value(record, RECORDING_KEY_OBJECT);
    if (!RESERVE(builder, kernels, kernel_count, kernel_capacity)) {
        builder->failed = true;
        return;
    }
    struct plan_kernel *kernel = &builder->kernels[builder->kernel_count++];
    *kernel = (struct plan_kernel){0};
    const struct plan_object *cloned =
        find_type(builder, recording_value(record, RECORDING_KEY_CLONED), RECORDING_KERNEL);
    const struct plan_kernel *from = cloned ? &builder->kernels[cloned->index] : NULL;
    if (from && from->count) {
        if (ARRAY_RESERVE(kernel->arguments, kernel->capacity, from->count)) {
            kernel->count = from->count;
            memcpy(kernel->arguments, from->arguments, from->count * sizeof *kernel->arguments);
        } else {
            builder->failed = true;
        }
    }
    ask_source(builder, kernel, record);
    plan_add_object(
        builder, id,
        (struct plan_object){.type = RECORDING_KERNEL, .index = (uint32_t)builder->kernel_count - 1});
}

static void set_argument(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *object =
        find_type(builder, recording_value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    const uint64_t index = recording_value(record, RECORDING_KEY_INDEX);
    struct plan_kernel *kernel = object ? &builder->kernels[object->index] : NULL;
    if (!kernel || index >= ARGUMENTS_MOST)
        return;
    if (index >= kernel->count) {
        if (!ARRAY_RESERVE(kernel->arguments, kernel->capacity, (size_t)index + 1)) {
            builder->failed = true;
            return;
        }
        memset(kernel->arguments + kernel->count, 0, (index + 1 - kernel->count) * sizeof *kernel->arguments);
        kernel->count = index + 1;
    }
    kernel->arguments[index] = (uint32_t)builder->at + 1;
    kernel->kept = 0;
}

static void keep_arguments(struct plan_builder *builder, const struct recording_record *record) {
    struct plan *plan = builder->plan;
    const struct plan_object *object =
        find_type(builder, recording_value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    struct plan_kernel *kernel = object ? &builder->kernels[object->index] : NULL;
    if (!kernel || builder->failed)
        return;
    if (!kernel->kept) {
        if (plan->argument_count + kernel->count >= UINT32_MAX ||
            !ARRAY_RESERVE(plan->arguments, plan->argument_capacity,
                           plan->argument_count + kernel->count + 1)) {
            builder->failed = true;
            return;
        }
        if (kernel->count)
            memcpy(plan->arguments + plan->argument_count, kernel->arguments,
                   kernel->count * sizeof *kernel->arguments);
        kernel->kept = (uint32_t)plan->argument_count + 1;
        kernel->kept_count = (uint32_t)kernel->count;
        plan->argument_count += kernel->count;
    }
    last_node(builder)->arguments = kernel->kept;
    last_node(builder)->argument_count = (uint16_t)kernel->kept_count;
}

// The host uses what is mapped until it unmaps it. When is not known: after what it has waited for by then.
static void touch_mapping(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *mapping;
    if (recording_value(record, RECORDING_KEY_COMMAND) != RECORDING_COMMAND_UNMAP ||
        !plan_get_mapping(builder, recording_value(record, RECORDING_KEY_MAPPING), &mapping))
        return;
    const struct plan_object map = *mapping;
    const struct plan_object *memory =
        plan_find_memory(builder, recording_value(record, RECORDING_KEY_TARGET));
    const struct plan_object target = memory ? *memory : (struct plan_object){0};
    const uint32_t node = add_node(builder, PLAN_HOST, 0);
    if (!node)
        return;
    add_edge(builder, builder->host);
    plan_add_access(builder, map.index, 0, map.size, PLAN_READS | PLAN_WRITES);
    if (memory)
        plan_add_access(builder, target.index, map.offset, map.offset + map.size, (uint32_t)map.flags);
    builder->host = node;
}

static void make_command(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *queue =
        find_type(builder, recording_value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    const uint32_t number = queue ? queue->index + 1 : 0;
    const uint64_t command = recording_value(record, RECORDING_KEY_COMMAND);
    const uint8_t *ids;
    const bool waits = recording_list(record, RECORDING_KEY_WAITS, &ids) > 0;
    touch_mapping(builder, record);
    const uint32_t host = builder->host, node = add_node(builder, PLAN_COMMAND, number);
    if (!node)
        return;
    builder->plan->node_of[builder->at] = node;
    if (number)
        queue_edges(builder, number, command, waits, node);
    else
        add_edge(builder, host);
    add_waits(builder, record);
    plan_add_accesses(builder, record);
    if (command == RECORDING_COMMAND_KERNEL)
        keep_arguments(builder, record);
    plan_add_object(builder, recording_value(record, RECORDING_KEY_EVENT),
                    (struct plan_object){.type = RECORDING_COMMAND, .index = node - 1});
    if (recording_value(record, RECORDING_KEY_BLOCKING))
        builder->host = node;
}

// Where it was enqueued is not known: after all that is there already, so that no order is missed.
static void make_refused(struct plan_builder *builder, const struct recording_record *record) {
    const uint64_t event = recording_value(record, RECORDING_KEY_EVENT);
    const uint8_t *name;
    size_t length;
    if (recording_get_bytes(record, RECORDING_KEY_NAME, &name, &length) &&
        length == strlen("clSetEventCallback") && memcmp(name, "clSetEventCallback", length) == 0)
        builder->plan->callbacks = true;
    if (!event)
        return;
    const uint32_t node = add_node(builder, PLAN_HOST, 0);
    if (!node)
        return;
    add_edge(builder, builder->host);
    for (size_t i = 0; i < builder->open_count; i++) {
        struct plan_open_queue *open = &builder->open[i];
        add_edge(builder, open->last);
        const size_t before = open->open_count;
        gather(builder, open);
        if (before)
            keep_open(builder, open, node);
    }
    builder->plan->unknown++;
    plan_add_object(builder, event, (struct plan_object){.type = RECORDING_COMMAND, .index = node - 1});
}

static void make_wait(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *queue =
        find_type(builder, recording_value(record, RECORDING_KEY_QUEUE), RECORDING_QUEUE);
    struct plan_open_queue *open = queue ? &builder->open[queue->index] : NULL;
    const uint32_t node = add_node(builder, PLAN_HOST, 0);
    if (!node)
        return;
    add_edge(builder, builder->host);
    if (open) {
        add_edge(builder, open->last);
        gather(builder, open);
    }
    add_waits(builder, record);
    builder->host = node;
}

static void make_user_event(struct plan_builder *builder, const struct recording_record *record) {
    const uint32_t node = add_node(builder, PLAN_USER_EVENT, 0);
    if (!node)
        return;
    last_node(builder)->never = true; // until it is set
    plan_add_object(builder, recording_value(record, RECORDING_KEY_OBJECT),
                    (struct plan_object){.type = RECORDING_USER_EVENT, .index = node - 1});
}

static void set_user_event(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *event =
        find_type(builder, recording_value(record, RECORDING_KEY_OBJECT), RECORDING_USER_EVENT);
    struct plan_node *node = event ? &builder->plan->nodes[event->index] : NULL;
    if (!node || !node->never || recording_value(record, RECORDING_KEY_STATUS) != 0)
        return; // what waits for one that is set to an error is given up
    node->never = false;
    node->late = builder->host;
}

// In the end the host has what was read for it, if it has waited.
static void make_end(struct plan_builder *builder) {
    if (builder->plan->callbacks || !builder->read_count || !add_node(builder, PLAN_HOST, 0))
        return;
    add_edge(builder, builder->host);
    for (size_t i = 0; i < builder->read_count; i++)
        plan_add_access(builder, builder->memory - 1, builder->reads[i].from, builder->reads[i].to,
                        PLAN_READS);
}

static bool was_read_into(const struct plan_builder *builder, uint64_t from, uint64_t to) {
    for (size_t i = 0; i < builder->read_count; i++)
        if (builder->reads[i].from < to && from < builder->reads[i].to)
            return true;
    return false;
}

// The host changed what a write was taking. Where a read into the same memory was on its way too, it may have been that one.
static void make_changed(struct plan_builder *builder, const struct recording_record *record) {
    const uint64_t from = recording_value(record, RECORDING_KEY_HOST),
                   size = recording_value(record, RECORDING_KEY_SIZE);
    if (!builder->memory || !from || !size || from > UINT64_MAX - size ||
        was_read_into(builder, from, from + size) || !add_node(builder, PLAN_HOST, 0))
        return;
    add_edge(builder, builder->host);
    plan_add_access(builder, builder->memory - 1, from, from + size, PLAN_WRITES);
}

static void note_uses(struct plan_builder *builder, const struct recording_record *record) {
    const struct plan_object *kernel =
        find_type(builder, recording_value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    if (kernel)
        builder->kernels[kernel->index].shared = (uint32_t)builder->at + 1;
}

static void note_build(struct plan_builder *builder, const struct recording_record *record) {
    struct plan_object *program =
        find_type(builder, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    if (program)
        program->offset = builder->at + 1;
}

static void take_record(struct plan_builder *builder, const struct recording_record *record) {
    switch (record->type) {
    case RECORDING_QUEUE:
        make_queue(builder, record);
        break;
    case RECORDING_BUFFER:
    case RECORDING_SUB_BUFFER:
    case RECORDING_IMAGE:
    case RECORDING_SHARED:
        make_memory(builder, record);
        break;
    case RECORDING_PROGRAM:
        plan_add_object(builder, recording_value(record, RECORDING_KEY_OBJECT),
                        (struct plan_object){.type = RECORDING_PROGRAM, .index = (uint32_t)builder->at});
        break;
    case RECORDING_BUILD:
        note_build(builder, record);
        break;
    case RECORDING_KERNEL:
        make_kernel(builder, record);
        break;
    case RECORDING_ARGUMENT:
        set_argument(builder, record);
        break;
    case RECORDING_USES:
        note_uses(builder, record);
        break;
    case RECORDING_COMMAND:
        make_command(builder, record);
        break;
    case RECORDING_REFUSED:
        make_refused(builder, record);
        break;
    case RECORDING_WAIT:
        make_wait(builder, record);
        break;
    case RECORDING_USER_EVENT:
        make_user_event(builder, record);
        break;
    case RECORDING_USER_STATUS:
        set_user_event(builder, record);
        break;
    case RECORDING_CHANGED:
        make_changed(builder, record);
        break;
    case RECORDING_END:
        make_end(builder);
        break;
    default:
        break;
    }
}

static void finish_builder(struct plan_builder *builder) {
    for (size_t i = 0; i < builder->kernel_count; i++) {
        free(builder->kernels[i].arguments);
        free(builder->kernels[i].uses);
    }
    for (size_t i = 0; i < builder->open_count; i++)
        free(builder->open[i].open);
    chunk_table_finish(&builder->by_id);
    free(builder->objects);
    free(builder->kernels);
    free(builder->open);
    free(builder->reads);
}

tsmith_status plan_make(struct plan *plan, struct tsmith_recording *recording,
                        const struct recorded_process *process, tsmith_error *error) {
    struct plan_builder builder = {.plan = plan};
    *plan = (struct plan){.recording = recording, .process = process};
    plan->node_of = calloc(process->count + 1, sizeof *plan->node_of);
    builder.failed = !plan->node_of;
    for (; builder.at < process->count && !builder.failed; builder.at++)
        take_record(&builder, &process->records[builder.at]);
    const bool failed = builder.failed;
    finish_builder(&builder);
    return failed ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while planning the recording")
                  : plan_order(plan, error);
}

void plan_finish(struct plan *plan) {
    free(plan->nodes);
    free(plan->edges);
    free(plan->accesses);
    free(plan->arguments);
    free(plan->memories);
    free(plan->queues);
    free(plan->node_of);
    free(plan->order);
    free(plan->needs);
    free(plan->need_first);
    free(plan->hazards);
    *plan = (struct plan){0};
}
