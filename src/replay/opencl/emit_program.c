// SPDX-License-Identifier: Apache-2.0
// repro.c: the sections of the fixed part that this program needs, its tables and its steps. Called by emit_files.c.
#if __has_include(<CL/cl.h>)

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "replay/opencl/emit.h"
#include "replay/opencl/emit_template.h"

// Words of repro.template.
struct features {
    bool memory, image, shared, part, results, no_results, contents, program, source, intermediate, binary,
        build, compile, link, kernel, sampler, event, user_event, transfer, brings, copy_in, copy_out,
        copy_image, copy_shared, map, map_buffer, map_image, map_shared, map_compare, map_write,
        map_write_shared, shared_results, translate, release;
};

struct writer {
    struct emit *emit;
    FILE *out;
    struct features features;
};

static bool has_feature(const struct features *features, const char *word, size_t length) {
#define FEATURE(name)                                                                                        \
    { #name, offsetof(struct features, name) }
    static const struct {
        const char *word;
        size_t at;
    } words[] = {
        FEATURE(memory),      FEATURE(image),        FEATURE(shared),           FEATURE(part),
        FEATURE(results),     FEATURE(no_results),   FEATURE(contents),         FEATURE(program),
        FEATURE(source),      FEATURE(intermediate), FEATURE(binary),           FEATURE(build),
        FEATURE(compile),     FEATURE(link),         FEATURE(kernel),           FEATURE(sampler),
        FEATURE(event),       FEATURE(user_event),   FEATURE(transfer),         FEATURE(brings),
        FEATURE(copy_in),     FEATURE(copy_out),     FEATURE(copy_image),       FEATURE(copy_shared),
        FEATURE(map),         FEATURE(map_buffer),   FEATURE(map_image),        FEATURE(map_shared),
        FEATURE(map_compare), FEATURE(map_write),    FEATURE(map_write_shared), FEATURE(shared_results),
        FEATURE(translate),   FEATURE(release)};
#undef FEATURE
    if (length == 3 && memcmp(word, "all", length) == 0)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
            return *(const bool *)((const char *)features + words[i].at);
    return false;
}

// ---- what is used

static bool is_shared(const struct emit *emit, int memory) {
    return memory != EMIT_NONE && emit->memories[memory].type == RECORDING_SHARED;
}

static void use_command(struct writer *writer, const struct emit_step *step) {
    const struct emit *emit = writer->emit;
    struct features *features = &writer->features;
    switch (step->as_marker ? RECORDING_COMMAND_MARKER : step->command_kind) {
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
        features->transfer = true;
        features->brings |= step->result != EMIT_NONE;
        return;
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_WRITE_IMAGE:
        features->transfer = features->contents = true;
        features->translate |= is_shared(emit, step->memory);
        return;
    case RECORDING_COMMAND_MAP:
        features->map = true;
        features->map_image |= emit->memories[step->source].type == RECORDING_IMAGE;
        features->map_shared |= is_shared(emit, step->source);
        features->map_buffer |=
            !is_shared(emit, step->source) && emit->memories[step->source].type != RECORDING_IMAGE;
        features->map_compare |= step->result != EMIT_NONE;
        return;
    case RECORDING_COMMAND_UNMAP:
        features->map_write |= step->content != EMIT_NONE;
        features->map_write_shared |= step->content != EMIT_NONE && is_shared(emit, step->memory);
        return;
    default:
        return;
    }
}

static void use_step(struct writer *writer, const struct emit_step *step) {
    struct emit *emit = writer->emit;
    struct features *features = &writer->features;
    const struct emit_memory *memory = step->memory == EMIT_NONE ? NULL : &emit->memories[step->memory];
    for (size_t i = 0; i < step->wait_count; i++)
        emit->awaited[emit->lists[step->waits + i]] = features->event = true;
    switch (step->kind) {
    case EMIT_MAKE:
        features->memory = features->contents = true;
        features->image |= memory->type == RECORDING_IMAGE;
        features->shared |= memory->type == RECORDING_SHARED;
        features->part |= memory->type == RECORDING_SUB_BUFFER;
        return;
    case EMIT_COPY_IN:
    case EMIT_COPY_OUT:
        features->transfer = true;
        features->copy_in |= step->kind == EMIT_COPY_IN;
        features->copy_out |= step->kind == EMIT_COPY_OUT;
        features->brings |= step->result != EMIT_NONE;
        features->translate |= step->kind == EMIT_COPY_IN && memory->type == RECORDING_SHARED;
        return;
    case EMIT_RELEASE:
        features->release = true;
        return;
    case EMIT_COMMAND:
        use_command(writer, step);
        return;
    default:
        return;
    }
}

// A program that a kernel needs, and those that it is linked of and includes.
static void use_program(struct emit *emit, int index) {
    struct emit_program *program = index == EMIT_NONE ? NULL : &emit->programs[index];
    if (!program || program->used)
        return;
    program->used = true;
    if (program->context != EMIT_NONE)
        emit->contexts[program->context].used = true;
    const struct recording_record *records[] = {&emit->process->records[program->record],
                                                program->build ? &emit->process->records[program->build - 1]
                                                               : NULL};
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *ids;
        const size_t count = records[i] && records[i]->type != RECORDING_PROGRAM
                                 ? recording_list(records[i], RECORDING_KEY_LIST, &ids)
                                 : 0;
        for (size_t j = 0; j < count; j++) {
            uint64_t id;
            memcpy(&id, ids + 8 * j, sizeof id);
            use_program(emit, emit_find(emit, id, RECORDING_PROGRAM));
        }
    }
}

static bool find_features(struct writer *writer) {
    struct emit *emit = writer->emit;
    struct features *features = &writer->features;
    emit->awaited = calloc(emit->event_count + 1, sizeof *emit->awaited);
    if (!emit->awaited)
        return false;
    for (size_t i = 0; i < emit->step_count; i++)
        use_step(writer, &emit->steps[i]);
    for (size_t i = 0; i < emit->step_count; i++)
        features->user_event |= emit->steps[i].kind == EMIT_USER_EVENT && emit->awaited[emit->steps[i].event];
    for (size_t i = 0; i < emit->kernel_count; i++)
        if (emit->kernels[i].used) {
            features->kernel = true;
            use_program(emit, emit->kernels[i].program);
        }
    for (size_t i = 0; i < emit->program_count; i++) {
        const struct emit_program *program = &emit->programs[i];
        const struct recording_record *record = &emit->process->records[program->record];
        const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
        if (!program->used)
            continue;
        features->program = true;
        features->link |= record->type == RECORDING_LINK;
        features->source |= record->type == RECORDING_PROGRAM && form == RECORDING_PROGRAM_SOURCE;
        features->binary |= record->type == RECORDING_PROGRAM && form == RECORDING_PROGRAM_BINARY;
        features->intermediate |= record->type == RECORDING_PROGRAM && form == RECORDING_PROGRAM_IL;
        if (program->build) {
            const bool build = emit->process->records[program->build - 1].type == RECORDING_BUILD;
            features->build |= build;
            features->compile |= !build;
        }
    }
    for (size_t i = 0; i < emit->sampler_count; i++)
        if (emit->samplers[i].used) {
            features->sampler = true;
            emit->contexts[emit->samplers[i].context].used = true;
        }
    for (size_t i = 0; i < emit->result_count; i++)
        features->shared_results |= emit->results[i].shared;
    features->results = emit->result_count > 0;
    features->contents |= features->results || features->map_write;
    features->no_results = !features->results;
    const bool copies = features->copy_in || features->copy_out;
    features->copy_image = copies && features->image;
    features->copy_shared = copies && features->shared;
    features->translate |= features->shared_results || features->map_write_shared;
    return true;
}

// ---- tables

struct word {
    uint64_t value;
    const char *name;
};
#define WORD(name)                                                                                           \
    { name, #name }

static void put_word(FILE *out, uint64_t value, const struct word *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (words[i].value == value) {
            fputs(words[i].name, out);
            return;
        }
    fprintf(out, "0x%" PRIx64, value);
}

static void put_flags(FILE *out, uint64_t value, const struct word *words, size_t count) {
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (value & words[i].value) {
            fprintf(out, "%s%s", any ? " | " : "", words[i].name);
            any = true;
        }
    if (!any)
        fputc('0', out);
}

static const struct word memory_flags[] = {WORD(CL_MEM_READ_WRITE), WORD(CL_MEM_WRITE_ONLY),
                                           WORD(CL_MEM_READ_ONLY), WORD(CL_MEM_SVM_FINE_GRAIN_BUFFER)};
static const struct word queue_flags[] = {WORD(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
                                          WORD(CL_QUEUE_PROFILING_ENABLE)};
static const struct word image_kinds[] = {
    WORD(CL_MEM_OBJECT_IMAGE1D), WORD(CL_MEM_OBJECT_IMAGE1D_BUFFER), WORD(CL_MEM_OBJECT_IMAGE1D_ARRAY),
    WORD(CL_MEM_OBJECT_IMAGE2D), WORD(CL_MEM_OBJECT_IMAGE2D_ARRAY),  WORD(CL_MEM_OBJECT_IMAGE3D)};
static const struct word channel_orders[] = {
    WORD(CL_R),    WORD(CL_A),    WORD(CL_RG),   WORD(CL_RA),        WORD(CL_RGB),
    WORD(CL_RGBA), WORD(CL_BGRA), WORD(CL_ARGB), WORD(CL_INTENSITY), WORD(CL_LUMINANCE)};
static const struct word channel_types[] = {
    WORD(CL_SNORM_INT8),     WORD(CL_SNORM_INT16),    WORD(CL_UNORM_INT8),   WORD(CL_UNORM_INT16),
    WORD(CL_SIGNED_INT8),    WORD(CL_SIGNED_INT16),   WORD(CL_SIGNED_INT32), WORD(CL_UNSIGNED_INT8),
    WORD(CL_UNSIGNED_INT16), WORD(CL_UNSIGNED_INT32), WORD(CL_HALF_FLOAT),   WORD(CL_FLOAT)};
static const struct word addressings[] = {WORD(CL_ADDRESS_NONE), WORD(CL_ADDRESS_CLAMP_TO_EDGE),
                                          WORD(CL_ADDRESS_CLAMP), WORD(CL_ADDRESS_REPEAT),
                                          WORD(CL_ADDRESS_MIRRORED_REPEAT)};
static const struct word filters[] = {WORD(CL_FILTER_NEAREST), WORD(CL_FILTER_LINEAR)};
#define PUT_WORD(out, value, words) put_word(out, value, words, sizeof words / sizeof *words)
#define PUT_FLAGS(out, value, words) put_flags(out, value, words, sizeof words / sizeof *words)

static size_t count_devices(const struct emit *emit) {
    size_t count = 0;
    for (size_t i = 0; i < emit->process->count; i++)
        count += emit->process->records[i].type == RECORDING_DEVICE;
    return count;
}

// Which of the recorded devices; the first one if it is not in the recording.
static size_t device_index(const struct emit *emit, uint64_t id) {
    size_t index = 0;
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        if (record->type != RECORDING_DEVICE)
            continue;
        if (recording_value(record, RECORDING_KEY_OBJECT) == id)
            return index;
        index++;
    }
    return 0;
}

enum { DEVICES_MOST = 64 };

static void put_devices(struct writer *writer) {
    const struct emit *emit = writer->emit;
    const size_t count = count_devices(emit);
    fprintf(writer->out,
            "\nenum { RECORDED_DEVICES = %zu };\nstatic const char *const recorded_devices[] = {",
            count ? count < DEVICES_MOST ? count : DEVICES_MOST : 1);
    for (size_t i = 0, put = 0; i < emit->process->count && put < DEVICES_MOST; i++) {
        const struct recording_record *record = &emit->process->records[i];
        const char *name = record->type == RECORDING_DEVICE
                               ? recording_text(emit->recording, record, RECORDING_KEY_NAME)
                               : NULL;
        if (record->type != RECORDING_DEVICE)
            continue;
        fputs(put++ ? ", " : "", writer->out);
        emit_string(writer->out, name ? name : "");
    }
    fputs(count ? "};\n" : "\"\"};\n", writer->out);
}

static void put_image(FILE *out, const struct emit_memory *memory) {
    const uint64_t *words = memory->words;
    fputs(",\n     .image_type = ", out);
    PUT_WORD(out, words[RECORDING_IMAGE_KIND], image_kinds);
    fputs(", .format = {", out);
    PUT_WORD(out, words[RECORDING_IMAGE_ORDER], channel_orders);
    fputs(", ", out);
    PUT_WORD(out, words[RECORDING_IMAGE_TYPE], channel_types);
    fprintf(out, "}, .pixel = %" PRIu64 ", .width = %" PRIu64, words[RECORDING_IMAGE_ELEMENT],
            words[RECORDING_IMAGE_WIDTH]);
    static const struct {
        const char *name;
        enum recording_image_word word;
    } others[] = {{"height", RECORDING_IMAGE_HEIGHT},
                  {"depth", RECORDING_IMAGE_DEPTH},
                  {"layers", RECORDING_IMAGE_LAYERS}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (words[others[i].word])
            fprintf(out, ", .%s = %" PRIu64, others[i].name, words[others[i].word]);
    if (memory->parent != EMIT_NONE)
        fprintf(out, ", .row_pitch = %" PRIu64, words[RECORDING_IMAGE_ROW]);
}

static void put_memories(struct writer *writer) {
    const struct emit *emit = writer->emit;
    FILE *out = writer->out;
    char name[EMIT_NAME];
    fputs("\nenum {\n", out);
    for (size_t i = 0; i < emit->memory_count; i++) {
        emit_memory_name(&emit->memories[i], name, sizeof name);
        if (emit->memories[i].made)
            fprintf(out, "    %s,\n", name);
    }
    fputs("    MEMORIES\n};\n\nstatic const struct memory memory_info[MEMORIES] = {\n", out);
    for (size_t i = 0; i < emit->memory_count; i++) {
        const struct emit_memory *memory = &emit->memories[i];
        if (!memory->made)
            continue;
        emit_memory_name(memory, name, sizeof name);
        fprintf(out, "    {.name = \"%s\", .size = %" PRIu64 ", ", name, memory->size);
        fputs(memory->type == RECORDING_SHARED ? ".shared = " : ".flags = ", out);
        PUT_FLAGS(out, memory->flags, memory_flags);
        fprintf(out, ", .context = context_%" PRIu64, emit->contexts[memory->context].id);
        if (memory->content != EMIT_NONE)
            fprintf(out, ", .content = %d", memory->content + 1);
        if (memory->parent != EMIT_NONE) {
            emit_memory_name(&emit->memories[memory->parent], name, sizeof name);
            fprintf(out, ", .parent = %s + 1", name);
        }
        if (memory->origin)
            fprintf(out, ", .origin = %" PRIu64, memory->origin);
        if (memory->address)
            fprintf(out, ", .address = UINT64_C(0x%" PRIx64 ")", memory->address);
        if (memory->type == RECORDING_IMAGE)
            put_image(out, memory);
        fputs("},\n", out);
    }
    fputs("};\n", out);
}

static void put_contents(struct writer *writer) {
    const struct emit *emit = writer->emit;
    fputs("\nstatic const struct content contents[] = {\n", writer->out);
    for (size_t i = 0; i < emit->content_count; i++)
        fprintf(writer->out, "    {%" PRId64 ", %zu},\n", emit->contents[i].offset, emit->contents[i].size);
    fputs(emit->content_count ? "};\n" : "    {-1, 0},\n};\n", writer->out);
}

static void put_results(struct writer *writer) {
    static const char *const elements[TSMITH_ELEMENT_LIMIT] = {"U8",  "I8",  "U16", "I16", "U32", "I32",
                                                               "U64", "I64", "F16", "F32", "F64"};
    const struct emit *emit = writer->emit;
    fprintf(writer->out, "\nenum { RESULTS = %zu };\nstatic const struct result results[RESULTS] = {\n",
            emit->result_count);
    for (size_t i = 0; i < emit->result_count; i++) {
        const struct emit_result *result = &emit->results[i];
        fputs("    {.what = ", writer->out);
        emit_string(writer->out, result->what);
        fprintf(writer->out, ", .content = %d, .element = %s", result->content,
                (unsigned)result->element < TSMITH_ELEMENT_LIMIT ? elements[result->element] : "U8");
        if (result->shared)
            fputs(", .shared = 1", writer->out);
        if (result->doubt) {
            fputs(",\n     .doubt = ", writer->out);
            emit_string(writer->out, result->doubt);
        }
        fputs("},\n", writer->out);
    }
    fputs("};\n", writer->out);
}

static void put_tables(struct writer *writer) {
    const struct emit *emit = writer->emit;
    FILE *out = writer->out;
    put_devices(writer);
    fputs("\n/* The numbers are those of the recording. */\nenum { ", out);
    for (size_t i = 0; i < emit->context_count; i++)
        if (emit->contexts[i].used)
            fprintf(out, "context_%" PRIu64 ", ", emit->contexts[i].id);
    fputs("CONTEXTS };\nenum { ", out);
    for (size_t i = 0; i < emit->queue_count; i++)
        if (emit->queues[i].used)
            fprintf(out, "queue_%" PRIu64 ", ", emit->queues[i].id);
    fputs("QUEUES };\n", out);
    if (writer->features.program) {
        fputs("enum { ", out);
        for (size_t i = 0; i < emit->program_count; i++)
            if (emit->programs[i].used)
                fprintf(out, "%s, ", emit->programs[i].name);
        fputs("PROGRAMS };\n", out);
    }
    if (writer->features.kernel) {
        fputs("enum { ", out);
        for (size_t i = 0; i < emit->kernel_count; i++)
            if (emit->kernels[i].used)
                fprintf(out, "%s, ", emit->kernels[i].variable);
        fputs("KERNELS };\n", out);
    }
    if (writer->features.sampler) {
        fputs("enum { ", out);
        for (size_t i = 0; i < emit->sampler_count; i++)
            if (emit->samplers[i].used)
                fprintf(out, "sampler_%" PRIu64 ", ", emit->samplers[i].id);
        fputs("SAMPLERS };\n", out);
    }
    if (writer->features.event)
        fprintf(out, "enum { EVENT_COUNT = %zu };\n", emit->event_count);
    if (writer->features.map)
        fprintf(out, "enum { MAPPINGS = %zu };\n", emit->mapping_count);
    if (writer->features.contents)
        put_contents(writer);
    if (writer->features.memory)
        put_memories(writer);
    if (writer->features.results)
        put_results(writer);
}

// ---- objects

static void put_contexts(struct writer *writer) {
    const struct emit *emit = writer->emit;
    FILE *out = writer->out;
    for (size_t i = 0; i < emit->context_count; i++) {
        const uint8_t *ids;
        if (!emit->contexts[i].used)
            continue;
        size_t count =
            recording_list(&emit->process->records[emit->contexts[i].record], RECORDING_KEY_DEVICES, &ids);
        count = count < DEVICES_MOST ? count : DEVICES_MOST;
        fprintf(out, "    make_context(context_%" PRIu64 ", ((const int[]){", emit->contexts[i].id);
        for (size_t j = 0; j < count; j++) {
            uint64_t id;
            memcpy(&id, ids + 8 * j, sizeof id);
            const size_t device = device_index(emit, id);
            fprintf(out, "%s%zu", j ? ", " : "", device < DEVICES_MOST ? device : 0);
        }
        fprintf(out, "%s}), %zu);\n", count ? "" : "0", count ? count : 1);
    }
    for (size_t i = 0; i < emit->queue_count; i++) {
        const struct emit_queue *queue = &emit->queues[i];
        if (!queue->used)
            continue;
        const size_t device = device_index(emit, queue->device);
        fprintf(out, "    make_queue(queue_%" PRIu64 ", context_%" PRIu64 ", %zu, ", queue->id,
                emit->contexts[queue->context].id, device < DEVICES_MOST ? device : 0);
        PUT_FLAGS(out, queue->flags, queue_flags);
        fputs(");\n", out);
    }
    for (size_t i = 0; i < emit->sampler_count; i++) {
        const struct emit_sampler *sampler = &emit->samplers[i];
        if (!sampler->used)
            continue;
        fprintf(out, "    make_sampler(sampler_%" PRIu64 ", context_%" PRIu64 ", %s, ", sampler->id,
                emit->contexts[sampler->context].id, sampler->words[0] ? "CL_TRUE" : "CL_FALSE");
        PUT_WORD(out, sampler->words[1], addressings);
        fputs(", ", out);
        PUT_WORD(out, sampler->words[2], filters);
        fputs(");\n", out);
    }
}

static void put_program_list(struct writer *writer, const struct recording_record *record) {
    const struct emit *emit = writer->emit;
    const uint8_t *ids;
    size_t count = recording_list(record, RECORDING_KEY_LIST, &ids), put = 0;
    fputs(count ? "((const int[]){" : "NULL", writer->out);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const int program = emit_find(emit, id, RECORDING_PROGRAM);
        if (program != EMIT_NONE)
            fprintf(writer->out, "%s%s", put++ ? ", " : "", emit->programs[program].name);
    }
    fputs(count ? "})" : "", writer->out);
}

static void put_build(struct writer *writer, const struct emit_program *program) {
    struct emit *emit = writer->emit;
    const struct recording_record *record = &emit->process->records[program->build - 1];
    FILE *out = writer->out;
    const uint8_t *names = NULL, *ids;
    size_t length = 0, at = 0;
    const size_t headers =
        record->type == RECORDING_COMPILE ? recording_list(record, RECORDING_KEY_LIST, &ids) : 0;
    const char *options = program->options ? program->options : "";
    fprintf(out, "    %s(%s, \"%s\", ", record->type == RECORDING_BUILD ? "build" : "compile", program->name,
            program->file);
    emit_string(out, options);
    if (record->type == RECORDING_COMPILE) {
        fprintf(out, ", %zu, ", headers);
        put_program_list(writer, record);
        fputs(headers ? ", ((const char *[]){" : ", NULL", out);
        recording_get_bytes(record, RECORDING_KEY_DATA, &names, &length);
        for (size_t i = 0; i < headers; i++) {
            const void *end = at < length ? memchr(names + at, 0, length - at) : NULL;
            fputs(i ? ", " : "", out);
            emit_string(out, end ? (const char *)names + at : "");
            at = end ? (size_t)((const uint8_t *)end - names) + 1 : length;
        }
        fputs(headers ? "})" : "", out);
    }
    fputs(");\n", out);
}

static void put_program(struct writer *writer, const struct emit_program *program) {
    struct emit *emit = writer->emit;
    const struct recording_record *record = &emit->process->records[program->record];
    const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
    FILE *out = writer->out;
    if (record->type == RECORDING_LINK) {
        const uint8_t *ids;
        fprintf(out, "    link_programs(%s, context_%" PRIu64 ", \"%s\", ", program->name,
                emit->contexts[program->context].id, program->name);
        emit_string(out, program->options ? program->options : "");
        fprintf(out, ", %zu, ", recording_list(record, RECORDING_KEY_LIST, &ids));
        put_program_list(writer, record);
        fputs(");\n", out);
        return;
    }
    fprintf(out, "    programs[%s] = program_from_%s(context_%" PRIu64 ", \"%s\");\n", program->name,
            form == RECORDING_PROGRAM_SOURCE   ? "source"
            : form == RECORDING_PROGRAM_BINARY ? "binary"
                                               : "il",
            emit->contexts[program->context].id, program->file);
}

static bool is_of_program(const struct recording_record *record) {
    return record->type == RECORDING_PROGRAM || record->type == RECORDING_LINK ||
           record->type == RECORDING_BUILD || record->type == RECORDING_COMPILE;
}

// Programs and their builds in the recorded order: what is linked and included is there before.
static void put_programs(struct writer *writer) {
    const struct emit *emit = writer->emit;
    for (size_t i = 0; i < emit->process->count; i++)
        for (size_t j = 0; is_of_program(&emit->process->records[i]) && j < emit->program_count; j++) {
            const struct emit_program *program = &emit->programs[j];
            if (program->used && program->record == i)
                put_program(writer, program);
            if (program->used && program->build == i + 1)
                put_build(writer, program);
        }
    for (size_t i = 0; i < emit->kernel_count; i++) {
        const struct emit_kernel *kernel = &emit->kernels[i];
        if (!kernel->used)
            continue;
        fprintf(writer->out, "    make_kernel(%s, %s, ", kernel->variable,
                emit->programs[kernel->program].name);
        emit_string(writer->out, kernel->name);
        fputs(");\n", writer->out);
    }
}

// ---- steps

enum { STEPS_OF_A_FUNCTION = 120 };

static bool needs_bytes(const struct emit_step *step) {
    return step->kind == EMIT_COPY_IN;
}

static bool needs_done(const struct emit_step *step) {
    if (step->kind != EMIT_COMMAND || step->as_marker)
        return false;
    switch (step->command_kind) {
    case RECORDING_COMMAND_READ:
    case RECORDING_COMMAND_READ_RECT:
    case RECORDING_COMMAND_READ_IMAGE:
    case RECORDING_COMMAND_WRITE:
    case RECORDING_COMMAND_WRITE_RECT:
    case RECORDING_COMMAND_WRITE_IMAGE:
        return true;
    default:
        return false;
    }
}

static bool is_same_entry(const struct emit_step *a, const struct emit_step *b, enum recording_key key) {
    const uint8_t *left = NULL, *right = NULL;
    size_t left_size = 0, right_size = 0;
    recording_get_bytes(a->record, key, &left, &left_size);
    recording_get_bytes(b->record, key, &right, &right_size);
    return left_size == right_size && (!left_size || memcmp(left, right, left_size) == 0);
}

// A launch that nothing waits for and that waits for nothing by events.
static bool is_plain_launch(const struct emit *emit, const struct emit_step *step) {
    return step->kind == EMIT_COMMAND && !step->as_marker && step->command_kind == RECORDING_COMMAND_KERNEL &&
           !emit_is_empty_launch(step) && !step->wait_count &&
           (step->event == EMIT_NONE || !emit->awaited[step->event]);
}

// The end of a row of launches that are the same, with nothing between them: a loop. first + 1: none.
static size_t end_of_loop(const struct emit *emit, size_t first, size_t end) {
    const struct emit_step *step = &emit->steps[first];
    size_t last = first + 1;
    if (!is_plain_launch(emit, step))
        return last;
    for (; last < end; last++) {
        const struct emit_step *next = &emit->steps[last];
        if (!is_plain_launch(emit, next) || next->kernel != step->kernel || next->queue != step->queue ||
            next->command != step->command + (last - first) ||
            !is_same_entry(step, next, RECORDING_KEY_GLOBAL) ||
            !is_same_entry(step, next, RECORDING_KEY_LOCAL) ||
            !is_same_entry(step, next, RECORDING_KEY_GLOBAL_OFFSET))
            break;
    }
    return last;
}

static size_t end_of_function(const struct emit *emit, size_t first) {
    size_t end = first;
    for (size_t units = 0; end < emit->step_count; units++) {
        if (units >= STEPS_OF_A_FUNCTION && emit->steps[end - 1].kind == EMIT_COMMAND)
            break;
        end = end_of_loop(emit, end, emit->step_count);
    }
    return end;
}

static void put_steps(struct writer *writer, size_t first, size_t end) {
    enum { LOOP_LEAST = 3 };
    const struct emit *emit = writer->emit;
    for (size_t i = first; i < end; i++) {
        const struct emit_step *step = &emit->steps[i];
        const size_t last = end_of_loop(emit, i, end);
        const bool titled = i && emit->steps[i - 1].record == step->record;
        if (last - i >= LOOP_LEAST && !titled) {
            fprintf(writer->out,
                    "\n    for (command = %" PRIu64 "; command <= %" PRIu64 "; command++) /* kernel ",
                    step->command, emit->steps[last - 1].command);
            emit_comment(writer->out, emit->kernels[step->kernel].name);
            fputs(" */\n    ", writer->out);
            emit_write_step(emit, step, writer->out);
            i = last - 1;
            continue;
        }
        if (!titled && step->record->type == RECORDING_COMMAND)
            emit_write_title(emit, step, writer->out);
        emit_write_step(emit, step, writer->out);
    }
}

static void put_commands(struct writer *writer) {
    const struct emit *emit = writer->emit;
    FILE *out = writer->out;
    size_t functions = 0;
    fputs("\n/* ---- objects of the recorded program */\n\nstatic void make_objects(void)\n{\n", out);
    put_contexts(writer);
    put_programs(writer);
    fputs("}\n\n/* ---- its commands */\n", out);
    for (size_t first = 0, end; first < emit->step_count; first = end, functions++) {
        bool bytes = false, done = false;
        end = end_of_function(emit, first);
        for (size_t i = first; i < end; i++) {
            done |= needs_done(&emit->steps[i]);
            bytes |= needs_bytes(&emit->steps[i]) || needs_done(&emit->steps[i]);
        }
        fprintf(out, "\nstatic void commands_%zu(void)\n{\n", functions);
        fputs(bytes ? "    unsigned char *bytes;\n" : "", out);
        fputs(done ? "    cl_event done;\n" : "", out);
        put_steps(writer, first, end);
        fputs("}\n", out);
    }
    fputs("\nstatic void run(void)\n{\n", out);
    for (size_t i = 0; i < functions; i++)
        fprintf(out, "    commands_%zu();\n", i);
    fputs("}\n", out);
}

static void put_header(struct writer *writer) {
    const struct emit *emit = writer->emit;
    fprintf(writer->out,
            "/* %" PRIu64 " %s of a recorded OpenCL program (%" PRIu64
            " %s), run again on any device. README.md\n"
            " * describes this directory. Exit status: 0 EXACT, 1 DIVERGED, 2 it cannot run.\n"
            " *\n"
            " * Written by `tracesmith replay --emit-c`. The kernels are the recorded program's own. */\n"
            "#define CL_TARGET_OPENCL_VERSION %d\n",
            emit->commands, emit->commands == 1 ? "command" : "commands", emit->launches,
            emit->launches == 1 ? "kernel launch" : "kernel launches",
            writer->features.intermediate ? 210
            : writer->features.shared     ? 200
                                          : 120);
    fputs("#define CL_USE_DEPRECATED_OPENCL_1_2_APIS\n", writer->out);
}

static void put_tolerance(struct writer *writer) {
    fprintf(writer->out,
            "#ifndef TOLERANCE_ULPS\n#define TOLERANCE_ULPS %" PRIu64 "\n#endif\n#ifndef TOLERANCE_ABSOLUTE\n"
            "#define TOLERANCE_ABSOLUTE %.17g\n#endif\n",
            writer->emit->request->ulps, writer->emit->request->absolute);
}

static void put_here(struct writer *writer, const char *name, size_t length) {
    if (length == 6 && memcmp(name, "header", 6) == 0)
        put_header(writer);
    else if (length == 9 && memcmp(name, "tolerance", 9) == 0)
        put_tolerance(writer);
    else if (length == 6 && memcmp(name, "tables", 6) == 0)
        put_tables(writer);
    else if (length == 8 && memcmp(name, "commands", 8) == 0)
        put_commands(writer);
}

// A line that begins a section. Whether the section is written.
static bool begin_section(struct writer *writer, const char *line, size_t length) {
    static const char here[] = "here ";
    bool wanted = false;
    if (length > sizeof here && memcmp(line, here, sizeof here - 1) == 0) {
        put_here(writer, line + sizeof here - 1, length - (sizeof here - 1));
        return false;
    }
    for (size_t at = 0, end; at < length; at = end + 1) {
        const char *space = memchr(line + at, ' ', length - at);
        end = space ? (size_t)(space - line) : length;
        wanted |= has_feature(&writer->features, line + at, end - at);
    }
    return wanted;
}

bool emit_write_program(struct emit *emit, FILE *out) {
    struct writer writer = {.emit = emit, .out = out};
    const char *text = (const char *)emit_template;
    bool wanted = false;
    if (!find_features(&writer) || !emit_name_programs(emit))
        return false;
    for (size_t at = 0; at < emit_template_size;) {
        const char *end = memchr(text + at, '\n', emit_template_size - at);
        const size_t length = end ? (size_t)(end - text) - at + 1 : emit_template_size - at;
        if (length > 4 && memcmp(text + at, "//@ ", 4) == 0)
            wanted = begin_section(&writer, text + at + 4, length - 5);
        else if (wanted)
            fwrite(text + at, 1, length, out);
        at += length;
    }
    return !ferror(out);
}

#else
typedef int emit_without_opencl; // a translation unit has something in it
#endif
