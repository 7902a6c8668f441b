// SPDX-License-Identifier: Apache-2.0
// The file is a sequence of protobuf messages, each behind its length as a varint: GlobalMetadata, then one Node after the other. A node becomes
// an event: of kind kernel or collective if it runs on a device, otherwise of kind range. `correlation` is its number, `waits` are the
// numbers of its data_deps. Attributes become fields of their names; those that TraceSmith's own exporter writes (kind, times in ns) give the
// event back.
#include "import/chakra/chakra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/chakra_fields.h"
#include "base/hash.h"
#include "base/table.h"
#include "import/proto_in.h"
#include "import/rows_source.h"

enum { TYPE_COUNT = 8, LOOK_BYTES = 4096, HEAD_MAX = 10, NODES_PER_RUN = 256, DEPENDENCIES_MAX = 1 << 20 };

struct number {
    uint64_t bits;
    tsmith_type type;
};

// What a node says; what it does not say is unknown.
struct node {
    uint64_t id, type, start_us, duration_us;
    struct proto_field name;
    bool has_start, has_duration, has_start_ns, has_duration_ns, is_cpu, has_is_cpu;
    int64_t start_ns, duration_ns;
    uint64_t stream, tid, device, pid;
    bool has_stream, has_tid;
    uint8_t kind; // as our own exporter wrote it; 0: it did not
    uint32_t track_name;
};

struct chakra {
    struct rows_source rows;
    bool begun; // the metadata was read
    struct table tracks, processes, devices;
    uint64_t *numbers; // dependencies of a node
    size_t number_count, number_capacity;
    char *text;
    size_t text_capacity;
};

// ---- whether it is one

static bool is_text(const struct proto_field *field) {
    for (size_t i = 0; i < field->length; i++)
        if (field->bytes[i] < 0x20)
            return false;
    return true;
}

static bool is_metadata(struct proto_in in) {
    struct proto_field field;
    bool any = false;
    while (proto_next(&in, &field)) {
        if (field.wire != PROTO_BYTES || field.number > METADATA_ATTR ||
            (field.number == METADATA_VERSION && !is_text(&field)))
            return false;
        any = true;
    }
    return any && !in.bad;
}

static uint32_t wire_of(uint32_t number) {
    static const uint8_t wires[] = {
        [NODE_ID] = PROTO_VARINT,       [NODE_NAME] = PROTO_BYTES,      [NODE_TYPE] = PROTO_VARINT,
        [NODE_CTRL_DEPS] = PROTO_BYTES, [NODE_DATA_DEPS] = PROTO_BYTES, [NODE_START] = PROTO_VARINT,
        [NODE_DURATION] = PROTO_VARINT, [NODE_INPUTS] = PROTO_BYTES,    [NODE_OUTPUTS] = PROTO_BYTES,
        [NODE_ATTR] = PROTO_BYTES};
    return number && number <= NODE_ATTR ? wires[number] : UINT32_MAX;
}

static bool is_dependency(uint32_t number, uint32_t wire) {
    return (number == NODE_CTRL_DEPS || number == NODE_DATA_DEPS) && wire == PROTO_VARINT;
}

// `whole`: the message ends where the bytes do.
static bool is_node(struct proto_in in, bool whole) {
    struct proto_field field;
    uint32_t seen = 0;
    while (proto_next(&in, &field)) {
        if (field.wire != wire_of(field.number) && !is_dependency(field.number, field.wire))
            return false;
        if (field.number == NODE_TYPE && field.value >= TYPE_COUNT)
            return false;
        seen |= 1u << field.number;
    }
    return (seen & (1u << NODE_NAME | 1u << NODE_TYPE)) && (!in.bad || !whole);
}

bool chakra_is(struct input *input) {
    while (input->end - input->begin < LOOK_BYTES && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    struct proto_in in = proto_in(input->window + input->begin, input->end - input->begin);
    uint64_t length;
    if (!proto_get_varint(&in, &length) || length > (uint64_t)(in.end - in.at) || length < 2 ||
        !is_metadata(proto_in(in.at, (size_t)length)))
        return false;
    in.at += length;
    if (in.at == in.end)
        return input->ended; // no node
    if (!proto_get_varint(&in, &length))
        return false;
    const bool whole = length <= (uint64_t)(in.end - in.at);
    return is_node(proto_in(in.at, whole ? (size_t)length : (size_t)(in.end - in.at)), whole);
}

// ---- attributes

static int64_t zigzag(uint64_t value) {
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static struct number number_of_double(double value) {
    struct number number = {.type = TSMITH_TYPE_F64};
    memcpy(&number.bits, &value, sizeof value);
    return number;
}

// The value of an attribute that is one number; false: it is a text, bytes or a list.
static bool attribute_number(const struct proto_field *field, struct number *out) {
    float single;
    const uint32_t bits = (uint32_t)field->value;
    switch (field->number) {
    case 3:
        *out = number_of_double(proto_double(field));
        return true;
    case 5:
        memcpy(&single, &bits, sizeof single);
        *out = number_of_double((double)single);
        return true;
    case 7:
        *out = (struct number){(uint64_t)(int64_t)(int32_t)bits, TSMITH_TYPE_I64};
        return true;
    case 9:
    case 25:
        *out = (struct number){field->value, TSMITH_TYPE_I64};
        return true;
    case 11:
    case 13:
    case 19:
    case 21:
        *out = (struct number){field->value, TSMITH_TYPE_U64};
        return true;
    case 15:
    case 17:
        *out = (struct number){(uint64_t)zigzag(field->value), TSMITH_TYPE_I64};
        return true;
    case 23:
        *out = (struct number){(uint64_t)(int64_t)(int32_t)bits, TSMITH_TYPE_I64};
        return true;
    case 27:
        *out = (struct number){field->value != 0, TSMITH_TYPE_BOOL};
        return true;
    default:
        return false;
    }
}

struct attribute {
    struct proto_field name, value; // number 0: it has none
};

static struct attribute attribute_of(const struct proto_field *message) {
    struct attribute attribute = {0};
    struct proto_in in = proto_within(message);
    struct proto_field field;
    while (proto_next(&in, &field))
        if (field.number == 1 && field.wire == PROTO_BYTES)
            attribute.name = field;
        else if (field.number > 2)
            attribute.value = field;
    return attribute;
}

static bool is_called(const struct attribute *attribute, const char *name) {
    return attribute->name.length == strlen(name) &&
           memcmp(attribute->name.bytes, name, attribute->name.length) == 0;
}

static uint32_t string_of(struct chakra *chakra, const struct proto_field *field) {
    return tsmith_dictionary_intern(chakra->rows.dictionary, (const char *)field->bytes, field->length);
}

// What decides on the event before its fields are set.
static void look_at_attribute(struct chakra *chakra, struct node *node, const struct attribute *attribute) {
    struct number number;
    if (attribute->value.number == 29) {
        if (is_called(attribute, "kind"))
            for (uint8_t kind = 1; kind < TSMITH_KIND_LIMIT; kind++) {
                const char *name = tsmith_kind_name((tsmith_kind)kind);
                if (name && attribute->value.length == strlen(name) &&
                    memcmp(name, attribute->value.bytes, attribute->value.length) == 0)
                    node->kind = kind;
            }
        if (is_called(attribute, "track"))
            node->track_name = string_of(chakra, &attribute->value);
        return;
    }
    if (!attribute_number(&attribute->value, &number) || number.type == TSMITH_TYPE_F64)
        return;
    static const struct {
        const char *name;
        size_t value;
        size_t has; // 0: none
    } known[] = {{"start_ns", offsetof(struct node, start_ns), offsetof(struct node, has_start_ns)},
                 {"duration_ns", offsetof(struct node, duration_ns), offsetof(struct node, has_duration_ns)},
                 {"stream", offsetof(struct node, stream), offsetof(struct node, has_stream)},
                 {"tid", offsetof(struct node, tid), offsetof(struct node, has_tid)},
                 {"device", offsetof(struct node, device), 0},
                 {"pid", offsetof(struct node, pid), 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_called(attribute, known[i].name)) {
            memcpy((char *)node + known[i].value, &number.bits, sizeof number.bits);
            if (known[i].has)
                ((char *)node)[known[i].has] = 1;
            if (known[i].value == offsetof(struct node, device))
                node->device++; // 0: unknown
        }
    if (is_called(attribute, "is_cpu_op")) {
        node->has_is_cpu = true;
        node->is_cpu = number.bits != 0;
    }
}

// ---- tracks

static uint32_t entry_of(struct chakra *chakra, struct table *table, uint64_t key, bool *is_new,
                         uint64_t **slot) {
    *slot = table_add(table, key, is_new);
    chakra->rows.failed |= !*slot;
    return *slot ? (uint32_t) * *slot : 0;
}

static uint32_t process_of(struct chakra *chakra, uint64_t pid) {
    bool is_new;
    uint64_t *slot;
    if (!pid)
        return 0;
    uint32_t id = entry_of(chakra, &chakra->processes, pid, &is_new, &slot);
    if (slot && is_new)
        *slot = id = tsmith_dictionary_add_process(chakra->rows.dictionary, &(tsmith_process){.pid = pid});
    return id;
}

static uint32_t device_of(struct chakra *chakra, uint64_t number) {
    bool is_new;
    uint64_t *slot;
    if (!number || number > UINT32_MAX)
        return 0;
    uint32_t id = entry_of(chakra, &chakra->devices, number, &is_new, &slot);
    if (slot && is_new)
        *slot = id = tsmith_dictionary_add_device(chakra->rows.dictionary,
                                                  &(tsmith_device){.number = (uint32_t)number});
    return id;
}

static uint32_t track_of(struct chakra *chakra, const struct node *node, bool on_device) {
    tsmith_track track = {.process = process_of(chakra, node->pid), .name = node->track_name};
    bool is_new;
    uint64_t *slot;
    if (on_device) {
        track.kind = TSMITH_TRACK_QUEUE;
        track.device = device_of(chakra, node->device);
        track.queue = node->stream;
        track.flags = node->has_stream ? 0 : TSMITH_TRACK_UNNUMBERED;
    } else {
        track.kind = node->has_tid ? TSMITH_TRACK_THREAD : TSMITH_TRACK_CUSTOM;
        track.tid = node->tid;
    }
    const int64_t words[] = {track.kind, track.flags, (int64_t)track.process << 32 | track.device,
                             (int64_t)(on_device ? track.queue : track.tid), track.name};
    uint32_t id = entry_of(chakra, &chakra->tracks, hash_words(words, 5), &is_new, &slot);
    if (slot && is_new)
        *slot = id = tsmith_dictionary_add_track(chakra->rows.dictionary, &track);
    return id;
}

// ---- fields

static void set(struct chakra *chakra, tsmith_batch *batch, const char *name, tsmith_type type,
                const char *unit, uint64_t bits) {
    const uint32_t field = tsmith_dictionary_field(chakra->rows.dictionary, name, type, unit);
    if (!field || tsmith_batch_set_dynamic(batch, field, type, bits) == TSMITH_ERROR_NO_MEMORY)
        chakra->rows.failed = true;
}

// The numbers of a list as JSON.
static void set_list(struct chakra *chakra, tsmith_batch *batch, const char *name) {
    size_t length = 0;
    if (!chakra->number_count)
        return;
    if (!ARRAY_RESERVE(chakra->text, chakra->text_capacity, chakra->number_count * 21 + 3)) {
        chakra->rows.failed = true;
        return;
    }
    for (size_t i = 0; i < chakra->number_count; i++)
        length += (size_t)snprintf(chakra->text + length, chakra->text_capacity - length, "%c%llu",
                                   i ? ',' : '[', (unsigned long long)chakra->numbers[i]);
    chakra->text[length++] = ']';
    set(chakra, batch, name, TSMITH_TYPE_STRING, "json",
        tsmith_dictionary_intern(chakra->rows.dictionary, chakra->text, length));
}

static void read_numbers(struct chakra *chakra, struct proto_in in, uint32_t field) {
    struct proto_numbers numbers = {.in = in, .field = field};
    uint64_t number;
    chakra->number_count = 0;
    while (chakra->number_count < DEPENDENCIES_MAX && proto_next_number(&numbers, &number)) {
        uint64_t *place = ARRAY_PUSH(chakra->numbers, chakra->number_count, chakra->number_capacity);
        if (place)
            *place = number;
        chakra->rows.failed |= !place;
    }
}

static void set_attribute(struct chakra *chakra, tsmith_batch *batch, const struct attribute *attribute) {
    char name[128];
    struct number number;
    if (!attribute->name.length || !attribute->value.number)
        return;
    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(attribute->name.length < 100 ? attribute->name.length : 100), attribute->name.bytes);
    if (attribute_number(&attribute->value, &number)) {
        set(chakra, batch, name, number.type, "", number.bits);
    } else if (attribute->value.number == 29) {
        set(chakra, batch, name, TSMITH_TYPE_STRING, "", string_of(chakra, &attribute->value));
    } else { // lists and bytes, as they are in the file
        static const char digits[] = "0123456789abcdef";
        const size_t length = attribute->value.length;
        if (!ARRAY_RESERVE(chakra->text, chakra->text_capacity, 2 * length + 1)) {
            chakra->rows.failed = true;
            return;
        }
        for (size_t i = 0; i < length; i++) {
            chakra->text[2 * i] = digits[attribute->value.bytes[i] >> 4];
            chakra->text[2 * i + 1] = digits[attribute->value.bytes[i] & 15];
        }
        set(chakra, batch, name, TSMITH_TYPE_STRING, "protobuf",
            tsmith_dictionary_intern(chakra->rows.dictionary, chakra->text, 2 * length));
    }
}

static void set_data(struct chakra *chakra, tsmith_batch *batch, const struct proto_field *message) {
    static const char *const parts[] = {"values", "shapes", "types"};
    struct proto_in in = proto_within(message);
    struct proto_field field;
    while (proto_next(&in, &field)) {
        char name[32];
        if (field.wire != PROTO_BYTES || field.number > 3 || !field.length)
            continue;
        (void)snprintf(name, sizeof name, "%s_%s", message->number == NODE_INPUTS ? "input" : "output",
                       parts[field.number - 1]);
        set(chakra, batch, name, TSMITH_TYPE_STRING, "", string_of(chakra, &field));
    }
}

// What is in fields of the schema.
static bool is_own(const struct attribute *attribute) {
    static const char *const names[] = {"start_ns", "duration_ns", "kind",   "track",
                                        "stream",   "tid",         "device", "pid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_called(attribute, names[i]))
            return true;
    return false;
}

static void set_fields(struct chakra *chakra, tsmith_batch *batch, struct proto_in in) {
    static const char *const types[TYPE_COUNT] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                  "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                  "COMM_RECV_NODE", "COMM_COLL_NODE"};
    const struct proto_in whole = in;
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number == NODE_TYPE && field.wire == PROTO_VARINT && field.value < TYPE_COUNT)
            set(chakra, batch, "type", TSMITH_TYPE_STRING, "",
                tsmith_dictionary_intern_cstr(chakra->rows.dictionary, types[field.value]));
        else if ((field.number == NODE_INPUTS || field.number == NODE_OUTPUTS) && field.wire == PROTO_BYTES)
            set_data(chakra, batch, &field);
        else if (field.number == NODE_ATTR && field.wire == PROTO_BYTES) {
            const struct attribute attribute = attribute_of(&field);
            if (!is_own(&attribute))
                set_attribute(chakra, batch, &attribute);
        }
    }
    read_numbers(chakra, whole, NODE_CTRL_DEPS);
    set_list(chakra, batch, "ctrl_deps");
    read_numbers(chakra, whole, NODE_DATA_DEPS);
    if (chakra->number_count)
        (void)tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, chakra->numbers,
                                    (uint32_t)chakra->number_count);
}

// ---- nodes

static bool read_parts(struct chakra *chakra, struct proto_in in, struct node *node) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.wire != wire_of(field.number)) {
            if (is_dependency(field.number, field.wire) || field.number > NODE_ATTR)
                continue;
            return false;
        }
        if (field.number == NODE_ID) {
            node->id = field.value;
        } else if (field.number == NODE_NAME) {
            node->name = field;
        } else if (field.number == NODE_TYPE) {
            node->type = field.value;
        } else if (field.number == NODE_START) {
            node->start_us = field.value;
            node->has_start = true;
        } else if (field.number == NODE_DURATION) {
            node->duration_us = field.value;
            node->has_duration = true;
        } else if (field.number == NODE_ATTR) {
            const struct attribute attribute = attribute_of(&field);
            look_at_attribute(chakra, node, &attribute);
        }
    }
    return !in.bad;
}

static tsmith_kind kind_of(const struct node *node, bool on_device) {
    if (node->kind && node->kind != TSMITH_KIND_LOSS)
        return (tsmith_kind)node->kind;
    if (node->type >= 5 && node->type < TYPE_COUNT)
        return TSMITH_KIND_COLLECTIVE;
    return on_device ? TSMITH_KIND_KERNEL : TSMITH_KIND_RANGE;
}

static void read_node(struct chakra *chakra, struct proto_in in, uint64_t offset) {
    struct node node = {0};
    const bool good = read_parts(chakra, in, &node);
    const bool timed = node.has_start_ns || node.has_start || node.has_duration;
    const uint64_t limit = INT64_MAX / 4000;
    if (!good || node.start_us > limit || node.duration_us > limit ||
        (node.has_duration_ns && node.duration_ns < 0) || node.start_ns > INT64_MAX / 4 ||
        node.start_ns < INT64_MIN / 4 || node.duration_ns > INT64_MAX / 4) {
        rows_source_bad(&chakra->rows, offset);
        return;
    }
    const bool on_device = node.has_is_cpu ? !node.is_cpu : node.has_stream || node.type >= 5;
    const int64_t start = node.has_start_ns ? node.start_ns : (int64_t)node.start_us * 1000;
    const bool ended = node.has_duration_ns || (node.has_duration && !node.has_start_ns);
    const int64_t duration = node.has_duration_ns ? node.duration_ns : (int64_t)node.duration_us * 1000;
    const uint32_t track = track_of(chakra, &node, on_device);
    tsmith_batch *batch = track ? gather_row(&chakra->rows.gather, track, 0, kind_of(&node, on_device), start,
                                             ended ? duration : 0)
                                : NULL;
    if (!batch) {
        chakra->rows.failed = true;
        return;
    }
    if (node.name.length)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, string_of(chakra, &node.name));
    (void)tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, node.id);
    if (ended)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    if (!timed)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    set_fields(chakra, batch, in);
}

static void read_metadata(struct chakra *chakra, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        char name[128], value[64];
        struct number number;
        if (field.number == METADATA_VERSION && field.wire == PROTO_BYTES)
            tsmith_dictionary_set_attribute(
                chakra->rows.dictionary, "trace.version",
                tsmith_dictionary_string(chakra->rows.dictionary, string_of(chakra, &field)).bytes);
        if (field.number != METADATA_ATTR || field.wire != PROTO_BYTES)
            continue;
        const struct attribute attribute = attribute_of(&field);
        (void)snprintf(name, sizeof name, "trace.%.*s",
                       (int)(attribute.name.length < 100 ? attribute.name.length : 100),
                       attribute.name.bytes);
        const char *text = value;
        if (attribute.value.number == 29)
            text =
                tsmith_dictionary_string(chakra->rows.dictionary, string_of(chakra, &attribute.value)).bytes;
        else if (!attribute_number(&attribute.value, &number) || number.type == TSMITH_TYPE_F64)
            continue;
        else
            (void)snprintf(value, sizeof value, number.type == TSMITH_TYPE_I64 ? "%lld" : "%llu",
                           (unsigned long long)number.bits);
        tsmith_dictionary_set_attribute(chakra->rows.dictionary, name, text);
    }
    chakra->begun = true;
}

// The next message, as far as it is in the window. False where it does not end there.
static bool read_message(struct chakra *chakra) {
    struct input *input = &chakra->rows.input;
    struct proto_in in = proto_in(input->window + input->begin, input->end - input->begin);
    const uint64_t offset = input->offset + input->begin;
    uint64_t length;
    if (!proto_get_varint(&in, &length) || length > (uint64_t)(in.end - in.at))
        return false;
    input->begin = (size_t)((const char *)in.at - input->window) + (size_t)length;
    const struct proto_in message = proto_in(in.at, (size_t)length);
    if (chakra->begun)
        read_node(chakra, message, offset);
    else
        read_metadata(chakra, message);
    return true;
}

static void run(struct rows_source *rows) {
    struct chakra *chakra = (struct chakra *)rows;
    struct input *input = &rows->input;
    for (int i = 0; i < NODES_PER_RUN && !rows->over && !rows->failed; i++) {
        if (read_message(chakra))
            continue;
        const tsmith_status status = input->ended ? TSMITH_END : input_more(input, NULL);
        if (status == TSMITH_OK)
            continue;
        if (input->begin < input->end || status == TSMITH_ERROR_LIMIT)
            rows_source_cut(rows, input->offset + input->begin,
                            status == TSMITH_ERROR_LIMIT
                                ? "a node is larger than 64 MiB, or no node begins here"
                                : "the file ends within a node, or no node begins here");
        input->begin = input->end;
        rows_source_end(rows, "nodes");
    }
}

static void release(struct rows_source *rows) {
    struct chakra *chakra = (struct chakra *)rows;
    table_finish(&chakra->tracks);
    table_finish(&chakra->processes);
    table_finish(&chakra->devices);
    free(chakra->numbers);
    free(chakra->text);
    free(chakra);
}

tsmith_status chakra_import_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    struct chakra *chakra = calloc(1, sizeof *chakra);
    if (!chakra)
        return rows_source_no_memory(input, name, error);
    chakra->rows.run = run;
    chakra->rows.release = release;
    return rows_source_open(&chakra->rows, input, name, "chakra", out, error);
}
