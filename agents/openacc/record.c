// SPDX-License-Identifier: Apache-2.0
// Writes the records of constructs and of the runtime's operations. The callbacks of agent.c call it. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include <stdbool.h>
#include <stdio.h>

#include "agent.h"
#include "agentkit/record_words.h"
#include "agentkit/texts.h"

// OWN(member of `fields`, name in the trace, type, unit)
#define OPENACC_FIELDS(OWN)                                                                                  \
    OWN(device, "openaccDevice", U64, "")                                                                    \
    OWN(file, "sourceFile", STRING, "")                                                                      \
    OWN(line, "sourceLine", U64, "")                                                                         \
    OWN(variable, "variable", STRING, "")                                                                    \
    OWN(gangs, "gangs", U64, "")                                                                             \
    OWN(workers, "workers", U64, "")                                                                         \
    OWN(vector, "vectorLength", U64, "")
static struct { OPENACC_FIELDS(OWN_FIELD_MEMBER) } fields;

#define PLACE_WORDS(WORD) RANGE_TICKS_WORDS(WORD) OWN_OR_NONE(WORD, file) OWN_OR_NONE(WORD, line)
#define DEVICE_WORDS(WORD) OWN_WORD(WORD, device)
#define LAUNCH_WORDS(WORD) OWN_OR_NONE(WORD, gangs) OWN_OR_NONE(WORD, workers) OWN_OR_NONE(WORD, vector)
#define TRANSFER_WORDS(WORD)                                                                                 \
    WORD(variable, fields.variable, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)                                                            \
    WORD(direction, TSMITH_FIELD_DIRECTION, RECORD_VALUE)                                                    \
    WORD(address, TSMITH_FIELD_ADDRESS, OPTIONAL(RECORD_VALUE))

#define OPENACC_RECORD_PARTS(PART)                                                                           \
    PART(place_words, PLACE_WORDS)                                                                           \
    PART(device_words, DEVICE_WORDS)                                                                         \
    PART(launch_words, LAUNCH_WORDS)                                                                         \
    PART(transfer_words, TRANSFER_WORDS)
OPENACC_RECORD_PARTS(RECORD_PART)
OPENACC_RECORD_PARTS(RECORD_PART_SHAPE)

// Forms of a record: the device is known, or is not.
static struct { uint16_t construct[2], call[2], launch[2], transfer[2]; } shapes;
static uint32_t category;

static void make_shapes(uint16_t made[2], tsmith_kind kind, void (*add)(struct record_shape *shape)) {
    for (int has_device = 0; has_device < 2; has_device++)
        made[has_device] = RECORD_REGISTER(agent.channel, kind, RECORD_SUBJECT_NAME, place_words_add,
                                           has_device ? device_words_add : NULL, add);
}

void record_init(void) {
    struct channel *channel = agent.channel;
    OPENACC_FIELDS(OWN_FIELD_REGISTER)
    category = channel_string_cstr(channel, "openacc");
    make_shapes(shapes.construct, TSMITH_KIND_RANGE, NULL);
    make_shapes(shapes.call, TSMITH_KIND_API, NULL);
    make_shapes(shapes.launch, TSMITH_KIND_API, launch_words_add);
    make_shapes(shapes.transfer, TSMITH_KIND_API, transfer_words_add);
}

// Whether a member is among the bytes that the runtime says are valid.
#define HAS(of, member) ((size_t)(of)->valid >= offsetof(__typeof__(*(of)), member) + sizeof(of)->member)

// ---- names

static const char *construct_text(const struct acc_operation *operation) {
    static const char *const texts[] = {
#define TEXT(name, number, text) [number] = text,
        ACC_CONSTRUCTS(TEXT)
#undef TEXT
    };
    const unsigned construct =
        operation && HAS(operation, construct) ? (unsigned)operation->construct : UINT32_MAX;
    return construct < sizeof texts / sizeof *texts ? texts[construct] : "construct";
}

// Data that is moved for a construct has its name: "acc parallel: enter data".
static uint32_t construct_name(enum acc_event event, const struct acc_operation *operation) {
    const char *what = event == ACC_ENTER_DATA ? "enter data" : event == ACC_EXIT_DATA ? "exit data" : NULL;
    const int of = operation && HAS(operation, construct) ? operation->construct : -1;
    char text[64];
    if (what && of != ACC_CONSTRUCT_enter_data && of != ACC_CONSTRUCT_exit_data)
        snprintf(text, sizeof text, "acc %s: %s", construct_text(operation), what);
    else
        snprintf(text, sizeof text, "acc %s", construct_text(operation));
    return texts_id(text);
}

static uint32_t operation_name(enum acc_event event, const struct acc_operation *operation) {
    switch (event) {
    case ACC_LAUNCH:
        return texts_id(operation && HAS(operation, launch.kernel) && operation->launch.kernel
                            ? operation->launch.kernel
                            : "acc launch");
    case ACC_UPLOAD:
        return texts_id("acc upload");
    case ACC_DOWNLOAD:
        return texts_id("acc download");
    default:
        return texts_id("acc wait");
    }
}

// ---- records

void record_ended(const struct nesting *opened, uint64_t end, enum acc_event event,
                  const struct acc_place *place, const struct acc_operation *operation) {
    enum {
        WORDS_MAX = 1 + RECORD_PART_WORDS(place_words) + RECORD_PART_WORDS(device_words) +
                    RECORD_PART_WORDS(transfer_words)
    };
    const bool is_construct = event <= ACC_COMPUTE,
               is_launch = event == ACC_LAUNCH && operation && HAS(operation, launch.vector),
               is_transfer =
                   (event == ACC_UPLOAD || event == ACC_DOWNLOAD) && operation && HAS(operation, data.device),
               has_device = HAS(place, device) && place->device >= 0,
               is_placed = HAS(place, line) && place->file && place->line > 0;
    const uint32_t name = is_construct ? construct_name(event, operation) : operation_name(event, operation);
    const uint32_t file = is_placed ? texts_id(place->file) : 0;
    const uint32_t variable = is_transfer ? texts_id(operation->data.variable) : 0;
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *const head = ring ? record_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return; // dropped, and counted
    uint64_t *at = head + 1;
    RECORD_PUT(at, place_words, .start = opened->start, .end = end, .category = category,
               .stack = opened->stack, .file = file, .line = is_placed ? (uint64_t)place->line : 0);
    if (has_device)
        RECORD_PUT(at, device_words, .device = (uint64_t)place->device);
    if (is_launch)
        RECORD_PUT(at, launch_words, .gangs = operation->launch.gangs, .workers = operation->launch.workers,
                   .vector = operation->launch.vector);
    if (is_transfer)
        RECORD_PUT(at, transfer_words, .variable = variable, .bytes = operation->data.bytes,
                   .direction = event == ACC_UPLOAD ? TSMITH_DIRECTION_HOST_TO_DEVICE
                                                    : TSMITH_DIRECTION_DEVICE_TO_HOST,
                   .address = (uintptr_t)operation->data.device);
    record_close(ring, head, at,
                 (is_construct  ? shapes.construct
                  : is_launch   ? shapes.launch
                  : is_transfer ? shapes.transfer
                                : shapes.call)[has_device],
                 name);
}
