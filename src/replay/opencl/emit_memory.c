// SPDX-License-Identifier: Apache-2.0
// Memory of a program that is written (emit_walk.c calls this): its objects, what they hold, and results. The rules are
// those of memory.c, without a device.
#if __has_include(<CL/cl.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/opencl/emit.h"
#include "replay/opencl/execute.h"

static const char unknown_memory[] = "its memory is not in the recording";
static const char mapped[] =
    "the program had it mapped for writing: what it wrote there before an unmap is not recorded";
static const cl_mem_flags access_flags = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;

// ---- objects

static void refuse_memory(struct emit_memory *memory, const char *why) {
    memory->absent = true;
    memory->why = why;
}

static struct emit_memory *add_memory(struct emit *emit, const struct recording_record *record) {
    if (!ARRAY_RESERVE(emit->memories, emit->memory_capacity, emit->memory_count + 1)) {
        emit->failed = true;
        return NULL;
    }
    struct emit_memory *memory = &emit->memories[emit->memory_count];
    *memory = (struct emit_memory){
        .id = recording_value(record, RECORDING_KEY_OBJECT),
        .type = record->type,
        .size = recording_value(record, RECORDING_KEY_SIZE),
        .flags = recording_value(record, RECORDING_KEY_FLAGS) & access_flags,
        .context = emit_find(emit, recording_value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT),
        .parent = EMIT_NONE,
        .content = EMIT_NONE,
        .hold = EMIT_NONE};
    if (recording_value(record, RECORDING_KEY_FLAGS) & CL_MEM_USE_HOST_PTR &&
        record->type != RECORDING_SHARED)
        memory->held = "it is in host memory of the program (CL_MEM_USE_HOST_PTR), which may have written it "
                       "without mapping it";
    emit_add_object(emit, memory->id, RECORDING_BUFFER, (int)emit->memory_count++);
    if (memory->context == EMIT_NONE)
        refuse_memory(memory, "its context is not in the recording");
    return memory;
}

// The content that it was created with; a record without one made it with zeros.
static void take_first_content(struct emit *emit, struct emit_memory *memory,
                               const struct recording_record *record) {
    if (!recording_has_payload(record) || memory->why)
        return;
    memory->content = emit_add_payload(emit, record);
    if (memory->content == EMIT_NONE || emit->contents[memory->content].size != memory->size) {
        memory->content = EMIT_NONE;
        memory->why = recording_missing(emit->recording);
    }
}

void emit_make_buffer(struct emit *emit, const struct recording_record *record) {
    struct emit_memory *memory = add_memory(emit, record);
    if (memory && !memory->size)
        refuse_memory(memory, "it is damaged in the recording");
    if (memory)
        take_first_content(emit, memory, record);
}

void emit_make_part(struct emit *emit, const struct recording_record *record) {
    const int parent = emit_find_memory(emit, recording_value(record, RECORDING_KEY_PARENT));
    struct emit_memory *memory = add_memory(emit, record);
    if (!memory)
        return;
    memory->origin = recording_value(record, RECORDING_KEY_OFFSET);
    memory->parent = parent;
    memory->why = NULL;
    memory->absent = false;
    const struct emit_memory *whole = parent == EMIT_NONE ? NULL : &emit->memories[parent];
    if (!whole || whole->absent || whole->type != RECORDING_BUFFER || whole->released || !memory->size ||
        memory->origin > whole->size || memory->size > whole->size - memory->origin)
        refuse_memory(memory, "the buffer that it is a part of is not in the recording");
    else
        memory->context = whole->context;
}

static uint64_t at_least_one(uint64_t value) {
    return value ? value : 1;
}

// As many bytes as the driver reads of an image with these words; 0: they contradict themselves.
static uint64_t image_bytes(const uint64_t *words) {
    enum { PIXEL_MOST = 16 };
    const uint64_t kind = words[RECORDING_IMAGE_KIND];
    const bool rows = kind == CL_MEM_OBJECT_IMAGE2D || kind == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                      kind == CL_MEM_OBJECT_IMAGE3D,
               layers = kind == CL_MEM_OBJECT_IMAGE1D_ARRAY || kind == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    const uint64_t sides[] = {words[RECORDING_IMAGE_WIDTH], rows ? words[RECORDING_IMAGE_HEIGHT] : 1,
                              kind == CL_MEM_OBJECT_IMAGE3D ? words[RECORDING_IMAGE_DEPTH] : 1,
                              layers ? words[RECORDING_IMAGE_LAYERS] : 1};
    uint64_t product = words[RECORDING_IMAGE_ELEMENT];
    if (product > PIXEL_MOST || words[RECORDING_IMAGE_ORDER] > UINT32_MAX ||
        words[RECORDING_IMAGE_TYPE] > UINT32_MAX || kind > UINT32_MAX)
        return 0;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (__builtin_mul_overflow(product, at_least_one(sides[i]), &product))
            return 0;
    return product;
}

void emit_make_image(struct emit *emit, const struct recording_record *record) {
    const uint64_t within = recording_value(record, RECORDING_KEY_PARENT);
    const int parent = emit_find_memory(emit, within);
    struct emit_memory *memory = add_memory(emit, record);
    size_t count;
    if (!memory)
        return;
    memory->parent = parent;
    if (!recording_get_list(record, RECORDING_KEY_LIST, memory->words, RECORDING_IMAGE_WORDS, &count) ||
        count != RECORDING_IMAGE_WORDS || !memory->size || image_bytes(memory->words) != memory->size)
        refuse_memory(memory, "it is damaged in the recording");
    else if (within && (parent == EMIT_NONE || emit->memories[parent].released ||
                        emit->memories[parent].absent || emit->memories[parent].type == RECORDING_SHARED))
        refuse_memory(memory, "the memory that it lies in is not in the recording");
    memory->element = opencl_channel_element(memory->words[RECORDING_IMAGE_TYPE]);
    if (parent == EMIT_NONE)
        take_first_content(emit, memory, record);
}

// Shared memory is made where the program made it: other memory may have its address.
void emit_make_shared(struct emit *emit, const struct recording_record *record) {
    struct emit_memory *memory = add_memory(emit, record);
    if (!memory)
        return;
    memory->flags =
        recording_value(record, RECORDING_KEY_FLAGS) & (access_flags | CL_MEM_SVM_FINE_GRAIN_BUFFER);
    memory->address = recording_value(record, RECORDING_KEY_ADDRESS);
    memory->held =
        memory->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER
            ? "it is fine-grained shared memory: the program may have written it while a kernel used it"
            : "it is shared memory: the program may have written it without mapping it";
    if (!memory->size || !memory->address)
        refuse_memory(memory, "it is damaged in the recording");
    if (memory->absent)
        return;
    memory->made = true;
    emit->contexts[memory->context].used = true;
    emit_add_step(emit, EMIT_MAKE)->memory = (int)(memory - emit->memories);
}

// ---- what it holds

struct emit_memory *emit_root(struct emit *emit, int memory) {
    struct emit_memory *at = &emit->memories[memory];
    while (at->type != RECORDING_BUFFER && at->parent != EMIT_NONE)
        at = &emit->memories[at->parent];
    return at;
}

const char *emit_why(struct emit *emit, int memory) {
    if (memory == EMIT_NONE)
        return unknown_memory;
    const struct emit_memory *at = &emit->memories[memory], *root = emit_root(emit, memory);
    if (at->why || root->why)
        return at->why ? at->why : root->why;
    return at->released ? "its memory was released before" : NULL;
}

const char *emit_doubt(struct emit *emit, int memory) {
    const struct emit_memory *root = memory == EMIT_NONE ? NULL : emit_root(emit, memory);
    return !root ? NULL : root->doubt ? root->doubt : root->maps ? mapped : root->held;
}

void emit_doubted(struct emit *emit, int memory, const char *doubt) {
    struct emit_memory *root = memory == EMIT_NONE ? NULL : emit_root(emit, memory);
    if (root && doubt && !root->doubt)
        root->doubt = doubt;
}

void emit_written(struct emit *emit, int memory, tsmith_element element, const char *why) {
    if (memory == EMIT_NONE)
        return;
    struct emit_memory *root = emit_root(emit, memory);
    root->writer = emit->at + 1;
    root->writer_command = emit->command;
    if (element && root->type != RECORDING_IMAGE)
        root->element = element;
    if (why)
        root->why = why;
}

void emit_overwritten(struct emit *emit, int memory, uint64_t offset, uint64_t size) {
    struct emit_memory *root = emit_root(emit, memory);
    if (root == &emit->memories[memory] && offset == 0 && size == root->size && !root->absent)
        root->why = root->doubt = NULL;
}

static void make_once(struct emit *emit, int memory) {
    struct emit_memory *at = &emit->memories[memory];
    if (at->made)
        return;
    at->made = true;
    if (at->parent != EMIT_NONE)
        make_once(emit, at->parent);
    emit->contexts[at->context].used = true;
    emit_add_step(emit, EMIT_MAKE)->memory = memory;
}

void emit_use(struct emit *emit, int memory, int queue) {
    if (memory == EMIT_NONE || emit->memories[memory].absent)
        return;
    make_once(emit, memory);
    struct emit_memory *root = emit_root(emit, memory);
    root->used = emit->memories[memory].used = true;
    for (size_t i = 0; i < root->user_count; i++)
        if (root->users[i] == queue)
            return;
    if (!ARRAY_RESERVE(root->users, root->user_capacity, root->user_count + 1)) {
        emit->failed = true;
        return;
    }
    root->users[root->user_count++] = queue;
}

// A copy of all of it by itself: after the queues that use it, and before what uses it next.
static struct emit_step *add_copy(struct emit *emit, enum emit_kind kind, int memory) {
    make_once(emit, memory);
    struct emit_memory *root = emit_root(emit, memory);
    const size_t first = emit->list_count;
    for (size_t i = 0; i < root->user_count; i++)
        emit_add_list(emit, root->users[i]);
    root->hold = (int)emit->event_count++;
    struct emit_step *step = emit_add_step(emit, kind);
    step->memory = memory;
    step->event = root->hold;
    step->list = first;
    step->list_count = root->user_count;
    return step;
}

void emit_content(struct emit *emit, int memory, const struct recording_record *state, const char *why) {
    struct emit_memory *at = memory == EMIT_NONE ? NULL : &emit->memories[memory];
    if (!at || at->released || at->absent)
        return;
    int content = EMIT_NONE;
    if (state && !recording_has_payload(state)) {
        why = recording_text(emit->recording, state, RECORDING_KEY_TEXT);
        why = why ? why : "there is no copy of it";
    } else if (state) {
        content = emit_add_payload(emit, state);
        why = content == EMIT_NONE ? recording_missing(emit->recording) : NULL;
        if (!why && emit->contents[content].size != at->size)
            why = "its content is damaged in the recording";
    }
    at->why = why;
    at->doubt = NULL; // what it holds is what was found in it
    if (why)
        return;
    if (at->used || at->type == RECORDING_SHARED || at->parent != EMIT_NONE)
        add_copy(emit, EMIT_COPY_IN, memory)->content = content;
    else
        at->content = content;
}

// ---- results

int emit_add_result(struct emit *emit, int memory, const struct recording_record *content, const char *what,
                    const char *doubt) {
    const struct emit_memory *root = emit_root(emit, memory);
    char name[EMIT_NAME];
    const int bytes = emit_add_payload(emit, content);
    emit_memory_name(root, name, sizeof name);
    if (bytes == EMIT_NONE) {
        emit_omit(emit, "%s, %s %llu: not compared, its recorded data is not in the recording (only a hash)",
                  name, what, (unsigned long long)emit->command);
        return EMIT_NONE;
    }
    if (!ARRAY_RESERVE(emit->results, emit->result_capacity, emit->result_count + 1)) {
        emit->failed = true;
        return EMIT_NONE;
    }
    struct emit_result *result = &emit->results[emit->result_count];
    *result = (struct emit_result){
        .content = bytes, .element = root->element, .shared = root->type == RECORDING_SHARED, .doubt = doubt};
    int length = snprintf(result->what, sizeof result->what, "%s, %s %llu", name, what,
                          (unsigned long long)emit->command);
    const size_t writer = root->writer;
    const struct recording_record *wrote = writer ? &emit->process->records[writer - 1] : NULL;
    const int kernel =
        wrote ? emit_find(emit, recording_value(wrote, RECORDING_KEY_KERNEL), RECORDING_KERNEL) : EMIT_NONE;
    if (wrote && wrote->type == RECORDING_COMMAND && length > 0 && (size_t)length < sizeof result->what)
        snprintf(result->what + length, sizeof result->what - (size_t)length,
                 ", written by %.80s (command %llu)",
                 kernel != EMIT_NONE && emit->kernels[kernel].name
                     ? emit->kernels[kernel].name
                     : recording_command_name(recording_value(wrote, RECORDING_KEY_COMMAND)),
                 (unsigned long long)root->writer_command);
    return (int)emit->result_count++;
}

static const char *place_of(const struct emit *emit, const struct recording_record *record) {
    if (recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_VERIFY_COMMAND)
        return "as written before command";
    enum { NEAR = 8 }; // the release follows
    for (size_t i = emit->at; i < emit->process->count && i < emit->at + NEAR; i++)
        if (emit->process->records[i].type == RECORDING_RELEASE &&
            recording_value(&emit->process->records[i], RECORDING_KEY_OBJECT) ==
                recording_value(record, RECORDING_KEY_OBJECT))
            return "as released before command";
    return "as left before command";
}

void emit_verify(struct emit *emit, const struct recording_record *record) {
    const int memory = emit_find_memory(emit, recording_value(record, RECORDING_KEY_OBJECT));
    const uint64_t verify = recording_value(record, RECORDING_KEY_VERIFY),
                   state = chunk_table_find(&emit->states, chunk_key_of(verify));
    const char *why = emit_why(emit, memory);
    const struct recording_record *content = state ? &emit->process->records[state - 1] : NULL;
    if (!why && !content)
        why = "the recording ends before its copy arrived";
    if (!why && !recording_has_payload(content)) {
        why = recording_text(emit->recording, content, RECORDING_KEY_TEXT);
        why = why ? why : "there is no copy of it";
    }
    if (why) {
        emit_omit(emit, "memory %llu before command %llu is not compared: %s",
                  (unsigned long long)recording_value(record, RECORDING_KEY_OBJECT),
                  (unsigned long long)emit->command, why);
        return;
    }
    const int result =
        emit_add_result(emit, memory, content, place_of(emit, record), emit_doubt(emit, memory));
    if (result == EMIT_NONE)
        return;
    if (emit->contents[emit->results[result].content].size != emit->memories[memory].size) {
        emit->result_count--;
        emit_omit(emit, "memory %llu is not compared: its recorded data is damaged",
                  (unsigned long long)emit->memories[memory].id);
        return;
    }
    add_copy(emit, EMIT_COPY_OUT, memory)->result = result;
}

void emit_release(struct emit *emit, uint64_t id) {
    const int memory = emit_find_memory(emit, id);
    if (memory == EMIT_NONE || emit->memories[memory].released)
        return;
    emit->memories[memory].released = true;
    if (emit->memories[memory].made && emit->memories[memory].type != RECORDING_SHARED)
        emit_add_step(emit, EMIT_RELEASE)->memory = memory;
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
