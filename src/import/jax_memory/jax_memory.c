// SPDX-License-Identifier: Apache-2.0
// Memory profiles of JAX (jax.profiler.save_device_memory_profile): pprof's protobuf with the sample types "allocations" and "space". Such a
// profile has no history: what is alive, by call stack, device and kind. Each buffer becomes an event of kind alloc without a time.
// The profile is small, and is read as a whole (at most INPUT_WINDOW_MAX).
#include "import/jax_memory/jax_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "event/gather.h"
#include "event/ledger.h"
#include "import/proto_in.h"
#include "tracesmith/dictionary.h"

// Fields of Profile, and of the messages in it.
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRINGS, TIME = 9 };
enum {
    TYPES = 2,
    FRAMES_MAX = 1024,
    STRINGS_MAX = 1 << 22,
    BUFFERS_MAX = 1 << 20, // of a sample
    LOOK_BYTES = 4096
};

struct jax_memory {
    tsmith_dictionary *dictionary;
    char *name; // of the file, for messages
    struct input input;
    struct proto_in profile;
    struct proto_field *strings; // text of each
    size_t string_count, string_capacity;
    struct table functions, locations; // place in the profile by number
    struct table tracks;               // by string of the device
    struct gather gather;
    struct ledger ledger;
    int64_t time;
    uint64_t objects, unreadable;
    bool over, failed, damaged, begun;
    tsmith_error stop;
};

// ---- whether it is one

// The first of its fields: two types of values, each of two numbers.
bool jax_memory_is(struct input *input) {
    while (input->end - input->begin < LOOK_BYTES && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    struct proto_in in = proto_in(input->window + input->begin, input->end - input->begin);
    struct proto_field field, part;
    for (int i = 0; i < TYPES; i++) {
        if (!proto_next(&in, &field) || field.number != SAMPLE_TYPE || field.wire != PROTO_BYTES)
            return false;
        struct proto_in type = proto_within(&field);
        uint32_t seen = 0;
        while (proto_next(&type, &part)) {
            if (part.wire != PROTO_VARINT || part.number > 2)
                return false;
            seen |= 1u << part.number;
        }
        if (type.bad || seen != 6)
            return false;
    }
    return in.at < in.end &&
           (*in.at == (SAMPLE << 3 | PROTO_BYTES) || *in.at == (MAPPING << 3 | PROTO_BYTES) ||
            *in.at == (LOCATION << 3 | PROTO_BYTES) || *in.at == (STRINGS << 3 | PROTO_BYTES) ||
            *in.at == (FUNCTION << 3 | PROTO_BYTES));
}

// ---- the tables of the profile

static uint32_t text_of(struct jax_memory *jax, uint64_t number) {
    if (number >= jax->string_count)
        return 0;
    const struct proto_field *text = &jax->strings[number];
    return tsmith_dictionary_intern(jax->dictionary, (const char *)text->bytes, text->length);
}

static bool is_text(const struct jax_memory *jax, uint64_t number, const char *text) {
    return number < jax->string_count && jax->strings[number].length == strlen(text) &&
           memcmp(jax->strings[number].bytes, text, strlen(text)) == 0;
}

static void index_message(struct jax_memory *jax, struct table *table, const struct proto_field *message) {
    struct proto_in in = proto_within(message);
    struct proto_field part;
    while (proto_next(&in, &part))
        if (part.number == 1 && part.wire == PROTO_VARINT) {
            uint64_t *slot = table_add(table, part.value, NULL);
            jax->failed |= !slot;
            if (slot)
                *slot =
                    (uint64_t)(message->bytes - (const uint8_t *)jax->input.window) << 32 | message->length;
            return;
        }
}

static struct proto_in message_at(const struct jax_memory *jax, const struct table *table, uint64_t number) {
    const uint64_t *slot = table_find(table, number);
    return slot ? proto_in(jax->input.window + (*slot >> 32), (uint32_t)*slot) : proto_in(NULL, 0);
}

static void index_profile(struct jax_memory *jax) {
    struct proto_in in = jax->profile;
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number == TIME && field.wire == PROTO_VARINT && field.value <= INT64_MAX)
            jax->time = (int64_t)field.value;
        if (field.wire != PROTO_BYTES)
            continue;
        if (field.number == FUNCTION)
            index_message(jax, &jax->functions, &field);
        else if (field.number == LOCATION)
            index_message(jax, &jax->locations, &field);
        else if (field.number == STRINGS && jax->string_count < STRINGS_MAX) {
            struct proto_field *text = ARRAY_PUSH(jax->strings, jax->string_count, jax->string_capacity);
            jax->failed |= !text;
            if (text)
                *text = field;
        }
    }
    jax->damaged |= in.bad;
}

// The types must be those of JAX: their names are in the table of strings, which is at the end.
static bool has_types(const struct jax_memory *jax) {
    static const char *const NAMES[TYPES] = {"allocations", "space"};
    struct proto_in in = jax->profile;
    struct proto_field field, part;
    int at = 0;
    while (proto_next(&in, &field)) {
        if (field.number != SAMPLE_TYPE || field.wire != PROTO_BYTES)
            continue;
        struct proto_in type = proto_within(&field);
        while (proto_next(&type, &part))
            if (part.number == 1 && (at >= TYPES || !is_text(jax, part.value, NAMES[at])))
                return false;
        at++;
    }
    return at == TYPES;
}

// ---- samples

static uint32_t frame_of(struct jax_memory *jax, uint64_t function, uint64_t line) {
    struct proto_in in = message_at(jax, &jax->functions, function);
    struct proto_field part;
    tsmith_symbol symbol = {.line = line <= UINT32_MAX ? (uint32_t)line : 0};
    while (proto_next(&in, &part)) {
        if (part.number == 2 && part.wire == PROTO_VARINT)
            symbol.function = text_of(jax, part.value);
        else if (part.number == 4 && part.wire == PROTO_VARINT)
            symbol.file = text_of(jax, part.value);
    }
    const tsmith_module module = {.path = symbol.file, .flags = TSMITH_MODULE_PYTHON};
    const tsmith_frame frame = {
        .module = symbol.file ? tsmith_dictionary_intern_module(jax->dictionary, &module) : 0,
        .flags = TSMITH_FRAME_PYTHON,
        .address = (uint64_t)symbol.function << 32 | symbol.line};
    const uint32_t had = tsmith_dictionary_frame_count(jax->dictionary);
    symbol.frame = tsmith_dictionary_intern_frame(jax->dictionary, &frame);
    if (symbol.frame >= had)
        (void)tsmith_dictionary_add_symbol(jax->dictionary, &symbol);
    return symbol.frame;
}

// The frames of a location, the innermost first; how many there are now.
static size_t add_location(struct jax_memory *jax, uint64_t number, uint32_t *frames, size_t count) {
    struct proto_in in = message_at(jax, &jax->locations, number);
    struct proto_field part, value;
    while (count < FRAMES_MAX && proto_next(&in, &part)) {
        if (part.number != 4 || part.wire != PROTO_BYTES)
            continue;
        uint64_t function = 0, line = 0;
        struct proto_in one = proto_within(&part);
        while (proto_next(&one, &value)) {
            if (value.number == 1 && value.wire == PROTO_VARINT)
                function = value.value;
            else if (value.number == 2 && value.wire == PROTO_VARINT)
                line = value.value;
        }
        frames[count++] = frame_of(jax, function, line);
    }
    return count;
}

static uint32_t stack_of(struct jax_memory *jax, struct proto_in sample) {
    uint32_t frames[FRAMES_MAX], path[FRAMES_MAX];
    struct proto_numbers numbers = {.in = sample, .field = 1};
    uint64_t location;
    size_t count = 0;
    while (count < FRAMES_MAX && proto_next_number(&numbers, &location))
        count = add_location(jax, location, frames, count);
    for (size_t i = 0; i < count; i++)
        path[i] = frames[count - 1 - i];
    return count ? tsmith_dictionary_intern_path(jax->dictionary, 0, path, count) : 0;
}

struct buffer {
    uint32_t kind, device, stack;
    uint64_t count, bytes;
};

static void read_label(struct jax_memory *jax, struct proto_in in, struct buffer *buffer) {
    struct proto_field part;
    uint64_t key = 0, text = 0;
    while (proto_next(&in, &part)) {
        if (part.number == 1 && part.wire == PROTO_VARINT)
            key = part.value;
        else if (part.number == 2 && part.wire == PROTO_VARINT)
            text = part.value;
    }
    if (is_text(jax, key, "kind"))
        buffer->kind = text_of(jax, text);
    else if (is_text(jax, key, "device"))
        buffer->device = text_of(jax, text);
}

static uint32_t track_of(struct jax_memory *jax, uint32_t device) {
    bool is_new;
    uint64_t *slot = table_add(&jax->tracks, device, &is_new);
    if (!slot)
        return 0;
    if (is_new) {
        const tsmith_device row = {.name = device};
        const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM,
                                    .name = device,
                                    .device = tsmith_dictionary_add_device(jax->dictionary, &row)};
        *slot = tsmith_dictionary_add_track(jax->dictionary, &track);
    }
    return (uint32_t)*slot;
}

// The number of a device is what its name ends in: "TFRT_CPU_0", "cuda:1".
static bool number_of(const struct jax_memory *jax, uint32_t device, uint64_t *number) {
    const tsmith_string name = tsmith_dictionary_string(jax->dictionary, device);
    size_t at = name.length;
    *number = 0;
    while (at && name.bytes[at - 1] >= '0' && name.bytes[at - 1] <= '9')
        at--;
    if (at == name.length || name.length - at > 6)
        return false;
    for (; at < name.length; at++)
        *number = *number * 10 + (uint64_t)(name.bytes[at] - '0');
    return true;
}

static void write_buffer(struct jax_memory *jax, const struct buffer *buffer, uint64_t bytes) {
    const uint32_t track = track_of(jax, buffer->device),
                   before = tsmith_dictionary_field(jax->dictionary, "Before History", TSMITH_TYPE_U64, ""),
                   place = tsmith_dictionary_field(jax->dictionary, "Device Id", TSMITH_TYPE_I64, "");
    tsmith_batch *batch = track ? gather_row(&jax->gather, track, 0, TSMITH_KIND_ALLOC, jax->time, 0) : NULL;
    uint64_t number;
    jax->failed |= !batch || !before || !place;
    if (jax->failed)
        return;
    (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, buffer->kind);
    (void)tsmith_batch_set(batch, TSMITH_FIELD_OBJECT, ++jax->objects);
    (void)tsmith_batch_set(batch, TSMITH_FIELD_BYTES, bytes);
    (void)tsmith_batch_set(batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    (void)tsmith_batch_set_dynamic(batch, before, TSMITH_TYPE_U64, 1);
    if (buffer->stack)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_STACK, buffer->stack);
    if (number_of(jax, buffer->device, &number))
        jax->failed |= tsmith_batch_set_dynamic(batch, place, TSMITH_TYPE_I64, number) != TSMITH_OK;
}

// JAX adds up buffers of one size: the bytes are a multiple of their number.
static void read_sample(struct jax_memory *jax, struct proto_in in) {
    struct buffer buffer = {.stack = stack_of(jax, in)};
    struct proto_numbers values = {.in = in, .field = 2};
    struct proto_field part;
    const bool known = proto_next_number(&values, &buffer.count) && proto_next_number(&values, &buffer.bytes);
    while (proto_next(&in, &part))
        if (part.number == 3 && part.wire == PROTO_BYTES)
            read_label(jax, proto_within(&part), &buffer);
    if (in.bad || !known || buffer.bytes > INT64_MAX || !buffer.count) {
        jax->unreadable++;
        return;
    }
    const bool even = buffer.count <= BUFFERS_MAX && buffer.bytes % buffer.count == 0;
    for (uint64_t i = 0; i < (even ? buffer.count : 1) && !jax->failed; i++)
        write_buffer(jax, &buffer, even ? buffer.bytes / buffer.count : buffer.bytes);
}

// ---- the source

static void end(struct jax_memory *jax) {
    if (jax->unreadable)
        ledger_note(&jax->ledger, jax->dictionary, TSMITH_REASON_CORRUPT, jax->unreadable, true,
                    "%llu samples that could not be read", (unsigned long long)jax->unreadable);
    ledger_note(&jax->ledger, jax->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                "a memory profile has no history: it has what was alive when it was made");
    if (jax->damaged) {
        ledger_note(&jax->ledger, jax->dictionary, TSMITH_REASON_CORRUPT, 0, true, "the file is damaged");
        (void)status_set(&jax->stop, TSMITH_TRUNCATED, "%s: is damaged; everything readable was read",
                         jax->name);
    }
    gather_flush(&jax->gather);
    jax->failed |= !ledger_write(&jax->ledger, jax->dictionary, &jax->gather);
    jax->over = true;
}

static tsmith_status begin(struct jax_memory *jax, tsmith_error *error) {
    struct input *input = &jax->input;
    tsmith_status status = TSMITH_OK;
    while (!input->ended && status == TSMITH_OK)
        status = input_more(input, error);
    if (status != TSMITH_OK && status != TSMITH_END)
        return status;
    jax->damaged = input->cut;
    jax->profile = proto_in(input->window + input->begin, input->end - input->begin);
    index_profile(jax);
    if (!jax->failed && !has_types(jax))
        return status_set(
            error, TSMITH_ERROR_FORMAT,
            "%s: is a pprof profile, but not a memory profile of JAX; TraceSmith does not read it",
            jax->name);
    jax->begun = true;
    return TSMITH_OK;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct jax_memory *jax = self;
    tsmith_status status = jax->begun ? TSMITH_OK : begin(jax, error);
    if (status != TSMITH_OK)
        return status;
    for (;;) {
        struct proto_field field;
        status = gather_take(&jax->gather, out);
        if (status != TSMITH_OK || jax->failed || tsmith_dictionary_failed(jax->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", jax->name);
        if (*out)
            return TSMITH_OK;
        if (jax->over) {
            if (jax->damaged && error)
                *error = jax->stop;
            return jax->damaged ? TSMITH_TRUNCATED : TSMITH_END;
        }
        while (!jax->over && !jax->failed && !gather_is_full(&jax->gather)) {
            if (!proto_next(&jax->profile, &field))
                end(jax);
            else if (field.number == SAMPLE && field.wire == PROTO_BYTES)
                read_sample(jax, proto_within(&field));
        }
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct jax_memory *)self)->dictionary;
}

static void destroy(void *self) {
    struct jax_memory *jax = self;
    gather_finish(&jax->gather);
    ledger_finish(&jax->ledger);
    table_finish(&jax->functions);
    table_finish(&jax->locations);
    table_finish(&jax->tracks);
    input_close(&jax->input);
    tsmith_dictionary_destroy(jax->dictionary);
    free(jax->strings);
    free(jax->name);
    free(jax);
}

tsmith_status jax_memory_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct jax_memory *jax = calloc(1, sizeof *jax);
    if (!jax) {
        (void)status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
        input_close(input);
        free(name);
        return TSMITH_ERROR_NO_MEMORY;
    }
    jax->name = name;
    jax->input = *input;
    tsmith_status status = tsmith_dictionary_create(&jax->dictionary);
    if (status == TSMITH_OK) {
        tsmith_dictionary_set_attribute(jax->dictionary, "import.format", "jax-memory");
        status = tsmith_source_create(&ops, jax, out);
    }
    if (status != TSMITH_OK) {
        (void)status_set(error, status, "%s: out of memory", name);
        destroy(jax);
    }
    return status;
}
