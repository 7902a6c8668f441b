// SPDX-License-Identifier: Apache-2.0
// One step of a program as statements of C; and how text of a recording gets into a program. emit_program.c calls it.
#if __has_include(<CL/cl.h>)

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/compare.h"
#include "replay/opencl/emit.h"

// ---- text

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void emit_identifier(const char *text, char *out, size_t room) {
    size_t length = 0;
    for (; text[length] && length + 1 < room; length++)
        out[length] = is_word(text[length]) ? text[length] : '_';
    out[length] = '\0';
}

void emit_comment(FILE *out, const char *text) {
    enum { MOST = 300 };
    for (size_t i = 0; text[i] && i < MOST; i++)
        fputc(is_word(text[i]) || strchr(" .,:;()<>=+-%!'&|[]", text[i]) ? text[i] : '_', out);
}

void emit_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || *text == '?') // ?: no trigraphs
            fprintf(out, "\\%c", *text);
        else if (*text >= ' ' && *text <= '~')
            fputc(*text, out);
        else
            fprintf(out, "\\%03o", (unsigned)(unsigned char)*text);
    }
    fputc('"', out);
}

void emit_memory_name(const struct emit_memory *memory, char *out, size_t room) {
    const char *kind = memory->type == RECORDING_IMAGE    ? "image"
                       : memory->type == RECORDING_SHARED ? "shared"
                       : memory->type == RECORDING_BUFFER ? "buffer"
                                                          : "part";
    snprintf(out, room, "%s_%" PRIu64, kind, memory->id);
}

struct name {
    char text[EMIT_NAME];
};

static struct name memory_name(const struct emit *emit, int memory) {
    struct name name = {""};
    if (memory != EMIT_NONE)
        emit_memory_name(&emit->memories[memory], name.text, sizeof name.text);
    return name;
}

static struct name queue_name(const struct emit *emit, int queue) {
    struct name name = {""};
    snprintf(name.text, sizeof name.text, "queue_%" PRIu64, emit->queues[queue].id);
    return name;
}

// ---- arguments of calls

static void put_waits(const struct emit *emit, const struct emit_step *step, FILE *out) {
    if (!step->wait_count) {
        fputs("0, NULL", out);
        return;
    }
    fprintf(out, "%zu, EVENTS(", step->wait_count);
    for (size_t i = 0; i < step->wait_count; i++)
        fprintf(out, "%sevents[%d]", i ? ", " : "", emit->lists[step->waits + i]);
    fputc(')', out);
}

static bool is_awaited(const struct emit *emit, int event) {
    return event != EMIT_NONE && emit->awaited[event];
}

static void put_waits_and_event(const struct emit *emit, const struct emit_step *step, FILE *out) {
    put_waits(emit, step, out);
    if (is_awaited(emit, step->event))
        fprintf(out, ", &events[%d]", step->event);
    else
        fputs(", NULL", out);
}

static void put_sizes(const struct emit_step *step, enum recording_key key, FILE *out) {
    uint64_t values[RECORDING_DIMENSIONS];
    size_t count = 0;
    if (!recording_get_list(step->record, key, values, RECORDING_DIMENSIONS, &count) || !count) {
        fputs("NULL", out);
        return;
    }
    fputs("SIZES(", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%" PRIu64, i ? ", " : "", values[i]);
    fputc(')', out);
}

// Three of them: boxes always have as many.
static void put_box(const struct emit_step *step, enum recording_key key, FILE *out) {
    uint64_t values[RECORDING_DIMENSIONS] = {0};
    size_t count = 0;
    recording_get_list(step->record, key, values, RECORDING_DIMENSIONS, &count);
    fprintf(out, "SIZES(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ")", values[0], values[1], values[2]);
}

static void put_pitches(const struct emit_step *step, enum recording_key key, FILE *out) {
    uint64_t values[RECORDING_DIMENSIONS] = {0};
    size_t count = 0;
    recording_get_list(step->record, key, values, RECORDING_DIMENSIONS, &count);
    fprintf(out, "%" PRIu64 ", %" PRIu64, values[0], values[1]);
}

static uint64_t first_of(const struct emit_step *step, enum recording_key key) {
    uint64_t values[RECORDING_DIMENSIONS] = {0};
    size_t count = 0;
    recording_get_list(step->record, key, values, RECORDING_DIMENSIONS, &count);
    return values[0];
}

static uint64_t value(const struct emit_step *step, enum recording_key key) {
    return recording_value(step->record, key);
}

static void put_bytes(const uint8_t *bytes, size_t size, FILE *out) {
    enum { ON_A_LINE = 16 };
    fputs("BYTES(", out);
    for (size_t i = 0; i < size; i++)
        fprintf(out, "%s%s0x%02x", i ? "," : "",
                i && i % ON_A_LINE == 0 ? "\n        "
                : i                     ? " "
                                        : "",
                bytes[i]);
    fputc(')', out);
}

// The type of OpenCL's headers, for a value of a scalar type; NULL for another one.
static const char *host_type(const char *type, size_t size, tsmith_element *element) {
    static const char *const words[] = {"char", "uchar", "short", "ushort", "int",
                                        "uint", "long",  "ulong", "float",  "double"};
    static const char *const types[] = {"cl_char", "cl_uchar", "cl_short", "cl_ushort", "cl_int",
                                        "cl_uint", "cl_long",  "cl_ulong", "cl_float",  "cl_double"};
    for (size_t i = 0; type && i < sizeof words / sizeof *words; i++)
        if (strcmp(type, words[i]) == 0) {
            *element = element_of_type(words[i]);
            return element_bytes(*element) == size ? types[i] : NULL;
        }
    return NULL;
}

// False for what has no literal.
static bool put_number(tsmith_element element, const uint8_t *bytes, FILE *out) {
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } number = {.u64 = 0};
    memcpy(&number, bytes, element_bytes(element));
    switch (element) {
    case TSMITH_ELEMENT_I8:
        return fprintf(out, "%d", number.i8) > 0;
    case TSMITH_ELEMENT_U8:
        return fprintf(out, "%u", number.u8) > 0;
    case TSMITH_ELEMENT_I16:
        return fprintf(out, "%d", number.i16) > 0;
    case TSMITH_ELEMENT_U16:
        return fprintf(out, "%u", number.u16) > 0;
    case TSMITH_ELEMENT_I32:
        return number.i32 != INT32_MIN && fprintf(out, "%" PRId32, number.i32) > 0;
    case TSMITH_ELEMENT_U32:
        return fprintf(out, "%" PRIu32 "u", number.u32) > 0;
    case TSMITH_ELEMENT_I64:
        return number.i64 != INT64_MIN && fprintf(out, "%" PRId64 "LL", number.i64) > 0;
    case TSMITH_ELEMENT_U64:
        return fprintf(out, "%" PRIu64 "ULL", number.u64) > 0;
    case TSMITH_ELEMENT_F32:
        return isfinite(number.f32) && fprintf(out, "%af", (double)number.f32) > 0;
    case TSMITH_ELEMENT_F64:
        return isfinite(number.f64) && fprintf(out, "%a", number.f64) > 0;
    default:
        return false;
    }
}

static void put_value(const struct emit_argument *argument, FILE *out) {
    tsmith_element element = TSMITH_ELEMENT_U8;
    const char *type = host_type(argument->type, argument->size, &element);
    char *text = NULL;
    size_t length = 0;
    FILE *memory = type ? open_memstream(&text, &length) : NULL;
    const bool literal = memory && put_number(element, argument->data, memory);
    if (memory)
        fclose(memory);
    if (literal && text) {
        fprintf(out, "sizeof(%s), &(%s){%s}));", type, type, text);
        if (element == TSMITH_ELEMENT_F32 || element == TSMITH_ELEMENT_F64) {
            double shown;
            float single;
            memcpy(&single, argument->data, sizeof single);
            shown = (double)single;
            if (element == TSMITH_ELEMENT_F64)
                memcpy(&shown, argument->data, sizeof shown);
            fprintf(out, " /* %.9g */", shown);
        }
    } else {
        fprintf(out, "%zu, ", argument->size);
        put_bytes(argument->data, argument->size, out);
        fputs("));", out);
        if (argument->type) {
            fputs(" /* ", out);
            emit_comment(out, argument->type);
            fputs(" */", out);
        }
    }
    free(text);
}

// ---- steps

static void write_argument(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const struct emit_argument *argument = step->argument;
    const char *kernel = emit->kernels[step->kernel].variable;
    if (argument->form == RECORDING_ARGUMENT_SHARED) {
        fprintf(out, "    CHECK(clSetKernelArgSVMPointer(kernels[%s], %zu, shared[%s] + %" PRIu64 "));\n",
                kernel, step->index, memory_name(emit, argument->target).text, argument->offset);
        return;
    }
    fprintf(out, "    CHECK(clSetKernelArg(kernels[%s], %zu, ", kernel, step->index);
    if (argument->form == RECORDING_ARGUMENT_OBJECT && argument->sampler)
        fprintf(out, "sizeof(cl_sampler), &samplers[sampler_%" PRIu64 "]));",
                emit->samplers[argument->target].id);
    else if (argument->form == RECORDING_ARGUMENT_OBJECT)
        fprintf(out, "sizeof(cl_mem), &memories[%s]));", memory_name(emit, argument->target).text);
    else if (argument->form == RECORDING_ARGUMENT_NULL)
        fputs("sizeof(cl_mem), NULL));", out);
    else if (argument->form == RECORDING_ARGUMENT_LOCAL)
        fprintf(out, "%zu, NULL)); /* local memory */", argument->size);
    else
        put_value(argument, out);
    fputc('\n', out);
}

static void write_uses(const struct emit *emit, const struct emit_step *step, FILE *out) {
    fprintf(out,
            "    CHECK(clSetKernelExecInfo(kernels[%s], CL_KERNEL_EXEC_INFO_SVM_PTRS, %zu * sizeof(void *),\n"
            "                              ((void *[]){",
            emit->kernels[step->kernel].variable, step->list_count);
    for (size_t i = 0; i < step->list_count; i++)
        fprintf(out, "%sshared[%s]", i ? ", " : "", memory_name(emit, emit->lists[step->list + i]).text);
    fputs("})));\n", out);
}

bool emit_is_empty_launch(const struct emit_step *step) {
    uint64_t global[RECORDING_DIMENSIONS], local[RECORDING_DIMENSIONS];
    size_t dimensions = 0, locals = 0;
    bool empty = false;
    recording_get_list(step->record, RECORDING_KEY_GLOBAL, global, RECORDING_DIMENSIONS, &dimensions);
    recording_get_list(step->record, RECORDING_KEY_LOCAL, local, RECORDING_DIMENSIONS, &locals);
    for (size_t i = 0; i < dimensions; i++)
        empty |= !global[i] || (locals && !local[i]);
    return empty;
}

static void write_kernel(const struct emit *emit, const struct emit_step *step, FILE *out) {
    uint64_t global[RECORDING_DIMENSIONS];
    size_t dimensions = 0;
    recording_get_list(step->record, RECORDING_KEY_GLOBAL, global, RECORDING_DIMENSIONS, &dimensions);
    if (emit_is_empty_launch(step)) {
        fprintf(out,
                "    /* a launch of no work-items: some drivers end the process over it */\n"
                "    CHECK(clEnqueueMarkerWithWaitList(queues[%s], ",
                queue_name(emit, step->queue).text);
    } else {
        fprintf(out, "    CHECK(clEnqueueNDRangeKernel(queues[%s], kernels[%s], %zu, ",
                queue_name(emit, step->queue).text, emit->kernels[step->kernel].variable, dimensions);
        put_sizes(step, RECORDING_KEY_GLOBAL_OFFSET, out);
        fputs(", ", out);
        put_sizes(step, RECORDING_KEY_GLOBAL, out);
        fputs(", ", out);
        put_sizes(step, RECORDING_KEY_LOCAL, out);
        fputs(", ", out);
    }
    put_waits_and_event(emit, step, out);
    fputs("));\n", out);
}

// A transfer keeps its own event and its memory until it is complete.
static void write_transfer_end(const struct emit *emit, const struct emit_step *step, FILE *out) {
    put_waits(emit, step, out);
    fputs(", &done));\n", out);
    if (is_awaited(emit, step->event))
        fprintf(out, "    CHECK(clRetainEvent(events[%d] = done));\n", step->event);
    fprintf(out, "    transfer(done, bytes, %d);\n", step->result == EMIT_NONE ? 0 : step->result + 1);
}

static void write_transfer(const struct emit *emit, const struct emit_step *step, bool write, FILE *out) {
    const int index = write ? step->memory : step->source;
    const struct name memory = memory_name(emit, index), queue = queue_name(emit, step->queue);
    const bool shared = emit->memories[index].type == RECORDING_SHARED;
    const uint64_t offset = value(step, RECORDING_KEY_OFFSET);
    const size_t size = write ? emit->contents[step->content].size : value(step, RECORDING_KEY_SIZE);
    const char *blocking = step->blocking ? "CL_TRUE" : "CL_FALSE", *verb = write ? "Write" : "Read";
    const enum recording_key origin = write ? RECORDING_KEY_TARGET_ORIGIN : RECORDING_KEY_SOURCE_ORIGIN,
                             pitch = write ? RECORDING_KEY_TARGET_PITCH : RECORDING_KEY_SOURCE_PITCH;
    if (write)
        fprintf(out, "    bytes = load(%d); /* %zu bytes */\n", step->content, size);
    else
        fprintf(out, "    bytes = new_bytes(%zu);\n", size);
    if (write && shared)
        fprintf(out, "    translate(bytes, %zu, %" PRIu64 ", 1);\n", size, offset);
    if (step->blocking)
        fputs("    flush_all();\n", out);
    if (shared) {
        fprintf(out, "    CHECK(clEnqueueSVMMemcpy(queues[%s], %s, ", queue.text, blocking);
        fprintf(out, write ? "shared[%s] + %" PRIu64 ", bytes, " : "bytes, shared[%s] + %" PRIu64 ", ",
                memory.text, offset);
        fprintf(out, "%zu, ", size);
    } else if (step->command_kind == RECORDING_COMMAND_READ_IMAGE ||
               step->command_kind == RECORDING_COMMAND_WRITE_IMAGE) {
        fprintf(out, "    CHECK(clEnqueue%sImage(queues[%s], memories[%s], %s, ", verb, queue.text,
                memory.text, blocking);
        put_box(step, origin, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        fputs(", 0, 0, bytes, ", out);
    } else if (step->command_kind == RECORDING_COMMAND_READ_RECT ||
               step->command_kind == RECORDING_COMMAND_WRITE_RECT) {
        fprintf(out, "    CHECK(clEnqueue%sBufferRect(queues[%s], memories[%s], %s, ", verb, queue.text,
                memory.text, blocking);
        put_box(step, origin, out);
        fputs(", SIZES(0, 0, 0), ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        fputs(", ", out);
        put_pitches(step, pitch, out);
        fputs(", 0, 0, bytes, ", out);
    } else {
        fprintf(out, "    CHECK(clEnqueue%sBuffer(queues[%s], memories[%s], %s, %" PRIu64 ", %zu, bytes, ",
                verb, queue.text, memory.text, blocking, offset, size);
    }
    write_transfer_end(emit, step, out);
}

static void write_copy(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const struct name from = memory_name(emit, step->source), to = memory_name(emit, step->memory),
                      queue = queue_name(emit, step->queue);
    const uint64_t size = value(step, RECORDING_KEY_SIZE);
    switch (step->command_kind) {
    case RECORDING_COMMAND_COPY_RECT:
        fprintf(out, "    CHECK(clEnqueueCopyBufferRect(queues[%s], memories[%s], memories[%s], ", queue.text,
                from.text, to.text);
        put_box(step, RECORDING_KEY_SOURCE_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_TARGET_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        fputs(", ", out);
        put_pitches(step, RECORDING_KEY_SOURCE_PITCH, out);
        fputs(", ", out);
        put_pitches(step, RECORDING_KEY_TARGET_PITCH, out);
        break;
    case RECORDING_COMMAND_COPY_IMAGE:
        fprintf(out, "    CHECK(clEnqueueCopyImage(queues[%s], memories[%s], memories[%s], ", queue.text,
                from.text, to.text);
        put_box(step, RECORDING_KEY_SOURCE_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_TARGET_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        break;
    case RECORDING_COMMAND_IMAGE_TO_BUFFER:
        fprintf(out, "    CHECK(clEnqueueCopyImageToBuffer(queues[%s], memories[%s], memories[%s], ",
                queue.text, from.text, to.text);
        put_box(step, RECORDING_KEY_SOURCE_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        fprintf(out, ", %" PRIu64, value(step, RECORDING_KEY_OFFSET));
        break;
    case RECORDING_COMMAND_BUFFER_TO_IMAGE:
        fprintf(out,
                "    CHECK(clEnqueueCopyBufferToImage(queues[%s], memories[%s], memories[%s], %" PRIu64 ", ",
                queue.text, from.text, to.text, value(step, RECORDING_KEY_OFFSET));
        put_box(step, RECORDING_KEY_TARGET_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
        break;
    default:
        if (emit->memories[step->memory].type == RECORDING_SHARED)
            fprintf(out,
                    "    CHECK(clEnqueueSVMMemcpy(queues[%s], %s, shared[%s] + %" PRIu64
                    ", shared[%s] + %" PRIu64 ", %" PRIu64,
                    queue.text, step->blocking ? "CL_TRUE" : "CL_FALSE", to.text,
                    first_of(step, RECORDING_KEY_TARGET_ORIGIN), from.text,
                    first_of(step, RECORDING_KEY_SOURCE_ORIGIN), size);
        else
            fprintf(out,
                    "    CHECK(clEnqueueCopyBuffer(queues[%s], memories[%s], memories[%s], %" PRIu64
                    ", %" PRIu64 ", %" PRIu64,
                    queue.text, from.text, to.text, first_of(step, RECORDING_KEY_SOURCE_ORIGIN),
                    first_of(step, RECORDING_KEY_TARGET_ORIGIN), size);
    }
    fputs(", ", out);
    put_waits_and_event(emit, step, out);
    fputs("));\n", out);
}

static void write_fill(const struct emit *emit, const struct emit_step *step, FILE *out) {
    enum { COLOR_BYTES = 16 };
    const struct name memory = memory_name(emit, step->memory), queue = queue_name(emit, step->queue);
    const uint64_t offset = value(step, RECORDING_KEY_OFFSET), size = value(step, RECORDING_KEY_SIZE);
    const uint8_t *pattern;
    uint8_t color[COLOR_BYTES] = {0};
    size_t length = 0;
    recording_get_bytes(step->record, RECORDING_KEY_DATA, &pattern, &length);
    if (step->command_kind == RECORDING_COMMAND_FILL_IMAGE) {
        memcpy(color, pattern, length < sizeof color ? length : sizeof color);
        fprintf(out, "    CHECK(clEnqueueFillImage(queues[%s], memories[%s], ", queue.text, memory.text);
        put_bytes(color, sizeof color, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_TARGET_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
    } else {
        const bool shared = emit->memories[step->memory].type == RECORDING_SHARED;
        if (shared)
            fprintf(out, "    CHECK(clEnqueueSVMMemFill(queues[%s], shared[%s] + %" PRIu64 ", ", queue.text,
                    memory.text, offset);
        else
            fprintf(out, "    CHECK(clEnqueueFillBuffer(queues[%s], memories[%s], ", queue.text, memory.text);
        put_bytes(pattern, length, out);
        fprintf(out, ", %zu, ", length);
        if (!shared)
            fprintf(out, "%" PRIu64 ", ", offset);
        fprintf(out, "%" PRIu64, size);
    }
    fputs(", ", out);
    put_waits_and_event(emit, step, out);
    fputs("));\n", out);
}

static void write_map(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const struct emit_memory *memory = &emit->memories[step->source];
    const uint64_t flags = value(step, RECORDING_KEY_FLAGS);
    const bool image = memory->type == RECORDING_IMAGE;
    fprintf(out, "    %s(%d, %s, %s, %s, ",
            image                              ? "map_image"
            : memory->type == RECORDING_SHARED ? "map_shared"
                                               : "map_buffer",
            step->mapping, queue_name(emit, step->queue).text, memory_name(emit, step->source).text,
            step->blocking ? "CL_TRUE" : "CL_FALSE");
    fprintf(out, "%s%s%s%s", flags & CL_MAP_READ ? "CL_MAP_READ" : "",
            flags & CL_MAP_READ && flags & CL_MAP_WRITE ? " | " : "",
            flags & CL_MAP_WRITE ? "CL_MAP_WRITE" : "",
            flags & CL_MAP_WRITE_INVALIDATE_REGION ? "CL_MAP_WRITE_INVALIDATE_REGION"
            : flags & (CL_MAP_READ | CL_MAP_WRITE) ? ""
                                                   : "0");
    fputs(", ", out);
    if (image) {
        put_box(step, RECORDING_KEY_SOURCE_ORIGIN, out);
        fputs(", ", out);
        put_box(step, RECORDING_KEY_REGION, out);
    } else {
        fprintf(out, "%" PRIu64 ", %" PRIu64, value(step, RECORDING_KEY_OFFSET),
                value(step, RECORDING_KEY_SIZE));
    }
    fputs(", ", out);
    put_waits(emit, step, out);
    fputs(");\n", out);
    if (is_awaited(emit, step->event))
        fprintf(out, "    CHECK(clRetainEvent(events[%d] = mappings[%d].done));\n", step->event,
                step->mapping);
    if (step->result != EMIT_NONE)
        fprintf(out, "    compare_map(%d, %d);\n", step->mapping, step->result);
}

static void write_unmap(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const struct name memory = memory_name(emit, step->memory), queue = queue_name(emit, step->queue);
    const uint8_t *ranges;
    const size_t count = recording_list(step->record, RECORDING_KEY_RANGES, &ranges);
    if (step->content != EMIT_NONE) {
        fprintf(out, "    write_map(%d, %d, SIZES(", step->mapping, step->content);
        for (size_t i = 0; i < count; i++) {
            uint64_t one;
            memcpy(&one, ranges + 8 * i, sizeof one);
            fprintf(out, "%s%" PRIu64, i ? ", " : "", one);
        }
        fprintf(out, "), %zu);\n", count / 2);
    }
    if (emit->memories[step->memory].type == RECORDING_SHARED)
        fprintf(out, "    CHECK(clEnqueueSVMUnmap(queues[%s], mappings[%d].at, ", queue.text, step->mapping);
    else
        fprintf(out, "    CHECK(clEnqueueUnmapMemObject(queues[%s], memories[%s], mappings[%d].at, ",
                queue.text, memory.text, step->mapping);
    put_waits_and_event(emit, step, out);
    fputs("));\n", out);
}

static void write_order(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const bool barrier = step->command_kind == RECORDING_COMMAND_BARRIER && !step->as_marker;
    fprintf(out, "    CHECK(clEnqueue%sWithWaitList(queues[%s], ", barrier ? "Barrier" : "Marker",
            queue_name(emit, step->queue).text);
    put_waits_and_event(emit, step, out);
    fputs("));\n", out);
}

void emit_write_title(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const int kernel = emit_find(emit, value(step, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    fprintf(out, "\n    command = %" PRIu64 "; /* ", step->command);
    emit_comment(out, recording_command_name(value(step, RECORDING_KEY_COMMAND)));
    if (kernel != EMIT_NONE && emit->kernels[kernel].name) {
        fputc(' ', out);
        emit_comment(out, emit->kernels[kernel].name);
    }
    if (step->as_marker)
        fputs(": not in this part; later commands are ordered by it", out);
    if (step->why) {
        fputs(": left out: ", out);
        emit_comment(out, step->why);
    }
    fputs(" */\n", out);
}

static void write_command(const struct emit *emit, const struct emit_step *step, FILE *out) {
    if (step->as_marker) {
        write_order(emit, step, out);
        return;
    }
    switch (step->command_kind) {
    case RECORDING_COMMAND_KERNEL:
        write_kernel(emit, step, out);
        return;
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
        write_transfer(emit, step, false, out);
        return;
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_WRITE_IMAGE:
        write_transfer(emit, step, true, out);
        return;
    case RECORDING_COMMAND_FILL:
    case RECORDING_COMMAND_FILL_IMAGE:
        write_fill(emit, step, out);
        return;
    case RECORDING_COMMAND_MAP:
        write_map(emit, step, out);
        return;
    case RECORDING_COMMAND_UNMAP:
        write_unmap(emit, step, out);
        return;
    case RECORDING_COMMAND_MARKER:
    case RECORDING_COMMAND_BARRIER:
    case RECORDING_COMMAND_MIGRATE:
        write_order(emit, step, out);
        return;
    default:
        write_copy(emit, step, out);
    }
}

static void write_whole_copy(const struct emit *emit, const struct emit_step *step, FILE *out) {
    const struct emit_memory *memory = &emit->memories[step->memory];
    const bool write = step->kind == EMIT_COPY_IN;
    if (write)
        fprintf(out, "    bytes = load(%d); /* what %s holds here */\n", step->content,
                memory_name(emit, step->memory).text);
    if (write && memory->type == RECORDING_SHARED)
        fprintf(out, "    translate(bytes, %" PRIu64 ", 0, 1);\n", memory->size);
    fprintf(out, "    copy_whole(%s, %d, %s, ", memory_name(emit, step->memory).text, write,
            write ? "bytes" : "NULL");
    fprintf(out, "%d, %zu, ", step->result == EMIT_NONE ? 0 : step->result + 1, step->list_count);
    if (step->list_count)
        fputs("((const int[]){", out);
    else
        fputs("NULL", out);
    for (size_t i = 0; i < step->list_count; i++)
        fprintf(out, "%s%s", i ? ", " : "", queue_name(emit, emit->lists[step->list + i]).text);
    fputs(step->list_count ? "}), " : ", ", out);
    if (is_awaited(emit, step->event))
        fprintf(out, "&events[%d]);", step->event);
    else
        fputs("NULL);", out);
    fputs(write ? "\n" : " /* compared */\n", out);
}

void emit_write_step(const struct emit *emit, const struct emit_step *step, FILE *out) {
    switch (step->kind) {
    case EMIT_MAKE:
        fprintf(out, "    make_memory(%s);\n", memory_name(emit, step->memory).text);
        return;
    case EMIT_COPY_IN:
    case EMIT_COPY_OUT:
        write_whole_copy(emit, step, out);
        return;
    case EMIT_RELEASE:
        fprintf(out, "    release_memory(%s);\n", memory_name(emit, step->memory).text);
        return;
    case EMIT_ARGUMENT:
        write_argument(emit, step, out);
        return;
    case EMIT_USES:
        write_uses(emit, step, out);
        return;
    case EMIT_LEFT_OUT: // its title says it
        return;
    case EMIT_COMMAND:
        write_command(emit, step, out);
        return;
    case EMIT_USER_EVENT:
        if (is_awaited(emit, step->event))
            fprintf(out, "    make_user_event(%d, context_%" PRIu64 ");\n", step->event,
                    emit->contexts[step->index].id);
        return;
    case EMIT_USER_STATUS:
        if (is_awaited(emit, step->event))
            fprintf(out, "    CHECK(clSetUserEventStatus(events[%d], %" PRId32 "));\n", step->event,
                    (int32_t)(int64_t)value(step, RECORDING_KEY_STATUS));
        return;
    case EMIT_FINISH:
        fprintf(out, "    flush_all();\n    CHECK(clFinish(queues[%s]));\n",
                queue_name(emit, step->queue).text);
        return;
    case EMIT_WAIT:
        fputs("    flush_all();\n    CHECK(clWaitForEvents(", out);
        put_waits(emit, step, out);
        fputs("));\n", out);
        return;
    }
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
