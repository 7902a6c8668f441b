// SPDX-License-Identifier: Apache-2.0
// The records and their shapes. An event with only a name uses the short shape of its form.
//
//     START [END] [NAME, where the subject is a track] | LABEL [PAYLOAD] [COLOR]
//     START END [SEQ] [OP_ID] SIZES INPUT_OP_IDS       a range of PyTorch's: its name has them (base/torch_name.h)
//
// The domain is the event's CATEGORY, as in an imported trace of Nsight Systems, and so are the names of the fields.
// Rules: agent.h.
#include "agent.h"
#include "agentkit/record_words.h"

enum { WORDS_MAX = 8, VARIANTS = 1 + 2 * NVTX_PAYLOAD_LIMIT };

static uint16_t shapes[FORM_LIMIT][VARIANTS]; // [0]: the short one
static uint16_t resource_shape;
static uint16_t torch_shapes[4]; // by which of the two numbers a range has

// What a payload is called and how it is kept.
static const struct {
    const char *name;
    uint8_t type; // tsmith_type
} payloads[NVTX_PAYLOAD_LIMIT] = {
    [NVTX_PAYLOAD_U64] = {"uint64Value", TSMITH_TYPE_U64},
    [NVTX_PAYLOAD_I64] = {"int64Value", TSMITH_TYPE_I64},
    [NVTX_PAYLOAD_F64] = {"doubleValue", TSMITH_TYPE_F64},
    [NVTX_PAYLOAD_U32] = {"uint32Value", TSMITH_TYPE_U64},
    [NVTX_PAYLOAD_I32] = {"int32Value", TSMITH_TYPE_I64},
    [NVTX_PAYLOAD_F32] = {"floatValue", TSMITH_TYPE_F64},
    [NVTX_PAYLOAD_STRUCT] = {"payload", TSMITH_TYPE_STRING},
};

static struct { uint16_t category, color, payloads[NVTX_PAYLOAD_LIMIT], torch[TORCH_NAME_PARTS]; } fields;

#define START_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_TICK)
#define END_WORDS(WORD) WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)
// clang-format off
#define LABEL_WORDS(WORD) \
    WORD(domain, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING)) OWN_OR_NONE(WORD, category)
#define COLOR_WORDS(WORD) OWN_WORD(WORD, color)
#define RESOURCE_WORDS(WORD) \
    WORD(domain, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING)) \
    WORD(text, TSMITH_FIELD_TEXT, RECORD_STRING) OBJECT_WORD(WORD)
// clang-format on

#define NVTX_RECORD_PARTS(PART)                                                                              \
    PART(start_words, START_WORDS)                                                                           \
    PART(end_words, END_WORDS)                                                                               \
    PART(name_words, NAME_OR_NONE)                                                                           \
    PART(label_words, LABEL_WORDS)                                                                           \
    PART(color_words, COLOR_WORDS)                                                                           \
    PART(resource_words, RESOURCE_WORDS)

NVTX_RECORD_PARTS(RECORD_PART)
NVTX_RECORD_PARTS(RECORD_PART_SHAPE)

static bool on_track(enum form form) {
    return form == FORM_TRACK || form == FORM_OPEN;
}
static bool has_end(enum form form) {
    return form == FORM_RANGE || form == FORM_TRACK;
}

static struct record_shape shape_begin(enum form form) {
    struct record_shape shape =
        record_shape_begin(form == FORM_MARK ? TSMITH_KIND_MARKER : TSMITH_KIND_RANGE,
                           on_track(form) ? RECORD_SUBJECT_TRACK : RECORD_SUBJECT_NAME);
    start_words_add(&shape);
    if (has_end(form))
        end_words_add(&shape);
    if (on_track(form))
        name_words_add(&shape);
    return shape;
}

static void torch_init(struct channel *channel) {
#define FIELD_NAME(NAME, field) [TORCH_NAME_##NAME] = (field),
    static const char *const names[TORCH_NAME_PARTS] = {TORCH_NAME_TABLE(FIELD_NAME)};
#undef FIELD_NAME
    for (int i = 0; i < TORCH_NAME_PARTS; i++)
        fields.torch[i] = channel_field(channel, names[i],
                                        i <= TORCH_NAME_OP_ID ? TSMITH_TYPE_I64 : TSMITH_TYPE_STRING, "");
    for (unsigned numbers = 0; numbers < 4; numbers++) {
        struct record_shape shape = shape_begin(FORM_RANGE);
        for (int i = 0; i < TORCH_NAME_PARTS; i++)
            if (i > TORCH_NAME_OP_ID)
                record_shape_add(&shape, fields.torch[i], OPTIONAL(RECORD_DYNAMIC));
            else if (numbers >> i & 1)
                record_shape_add(&shape, fields.torch[i], RECORD_DYNAMIC);
        torch_shapes[numbers] = channel_shape(channel, &shape);
    }
}

void record_init(void) {
    struct channel *channel = agent.channel;
    fields.category = channel_field(channel, "nvtxCategory", TSMITH_TYPE_STRING, "");
    fields.color = channel_field(channel, "color", TSMITH_TYPE_U64, "");
    for (int type = 1; type < NVTX_PAYLOAD_LIMIT; type++)
        fields.payloads[type] =
            channel_field(channel, payloads[type].name, (tsmith_type)payloads[type].type, "");
    for (int form = 0; form < FORM_LIMIT; form++) {
        const struct record_shape simple = shape_begin((enum form)form);
        shapes[form][0] = channel_shape(channel, &simple);
        for (int variant = 1; variant < VARIANTS; variant++) {
            const int type = (variant - 1) % NVTX_PAYLOAD_LIMIT;
            struct record_shape shape = simple;
            label_words_add(&shape);
            if (type)
                record_shape_add(&shape, fields.payloads[type], RECORD_DYNAMIC);
            if (variant > NVTX_PAYLOAD_LIMIT)
                color_words_add(&shape);
            shapes[form][variant] = channel_shape(channel, &shape);
        }
    }
    struct record_shape shape = shape_begin(FORM_MARK);
    resource_words_add(&shape);
    resource_shape = channel_shape(channel, &shape);
    torch_init(channel);
}

static void write_torch(struct ring *ring, const struct label *label, uint64_t start, uint64_t end) {
    uint64_t *const head = ring_reserve(ring, WORDS_MAX);
    if (!head)
        return;
    uint64_t *at = head + 1;
    RECORD_PUT(at, start_words, start);
    RECORD_PUT(at, end_words, end);
    for (int i = 0; i < TORCH_NAME_PARTS; i++)
        if (i > TORCH_NAME_OP_ID || label->torch >> i & 1)
            *at++ = label->parts[i];
    record_close(ring, head, at, torch_shapes[label->torch & 3], label->name);
}

void record_write(enum form form, uint32_t track, const struct label *label, uint64_t start, uint64_t end) {
    struct ring *ring = channel_ring(agent.channel);
    if (ring && label->torch && form == FORM_RANGE) {
        write_torch(ring, label, start, end);
        return;
    }
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    uint32_t variant = 0;
    RECORD_PUT(at, start_words, start);
    if (has_end(form))
        RECORD_PUT(at, end_words, end);
    if (on_track(form))
        RECORD_PUT(at, name_words, label->name);
    if (label->domain | label->category | label->payload_type | label->has_color) {
        variant = 1u + label->payload_type + (label->has_color ? NVTX_PAYLOAD_LIMIT : 0u);
        RECORD_PUT(at, label_words, .domain = label->domain, .category = label->category);
        if (label->payload_type)
            *at++ = label->payload;
        if (label->has_color)
            RECORD_PUT(at, color_words, label->color);
    }
    record_close(ring, head, at, shapes[form][variant], on_track(form) ? track : label->name);
}

void record_resource(const char *what, uint64_t object, uint32_t domain, uint32_t name) {
    const uint32_t text = channel_string_cstr(agent.channel, what);
    struct ring *ring = nvtx_on() ? channel_ring(agent.channel) : NULL;
    enum { WORDS = 1 + RECORD_PART_WORDS(start_words) + RECORD_PART_WORDS(resource_words) };
    uint64_t *at = record_begin(ring, resource_shape, WORDS, name);
    if (!at)
        return;
    RECORD_PUT(at, start_words, agent_tick());
    RECORD_PUT(at, resource_words, .domain = domain, .text = text, .object = object);
    ring_commit(ring, WORDS);
}
