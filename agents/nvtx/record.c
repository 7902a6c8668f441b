// SPDX-License-Identifier: Apache-2.0
// The records and their shapes. An event that says nothing but its name takes the short shape of its form.
//
//     START [END] [NAME, where the subject is a track] | CATEGORY nvtxCategory [payload] [color]
//
// The domain is the event's CATEGORY, as in an imported trace of Nsight Systems, and so are the names of the fields.
// Rules: agent.h.
#include "agent.h"

enum { WORDS_MAX = 8, VARIANTS = 1 + 2 * NVTX_PAYLOAD_LIMIT };

static uint16_t shapes[FORM_LIMIT][VARIANTS]; // [0]: the short one
static uint16_t resource_shape;

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

static bool on_track(enum form form) {
    return form == FORM_TRACK || form == FORM_OPEN;
}
static bool has_end(enum form form) {
    return form == FORM_RANGE || form == FORM_TRACK;
}

static void add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){.field = field, .encoding = encoding};
}

static struct record_shape begin(enum form form) {
    struct record_shape shape = {.kind = form == FORM_MARK ? TSMITH_KIND_MARKER : TSMITH_KIND_RANGE,
                                 .role = RECORD_EVENT,
                                 .subject = on_track(form) ? RECORD_SUBJECT_TRACK : RECORD_SUBJECT_NAME};
    add(&shape, TSMITH_FIELD_START, RECORD_TICK);
    if (has_end(form))
        add(&shape, TSMITH_FIELD_DURATION, RECORD_TICK_END);
    if (on_track(form))
        add(&shape, TSMITH_FIELD_NAME, RECORD_STRING | RECORD_ZERO_IS_NONE);
    return shape;
}

void record_init(void) {
    struct channel *channel = agent.channel;
    const uint16_t category = channel_field(channel, "nvtxCategory", TSMITH_TYPE_STRING, "");
    const uint16_t color = channel_field(channel, "color", TSMITH_TYPE_U64, "");
    uint16_t fields[NVTX_PAYLOAD_LIMIT] = {0};
    for (int type = 1; type < NVTX_PAYLOAD_LIMIT; type++)
        fields[type] = channel_field(channel, payloads[type].name, (tsmith_type)payloads[type].type, "");
    for (int form = 0; form < FORM_LIMIT; form++) {
        const struct record_shape simple = begin((enum form)form);
        shapes[form][0] = channel_shape(channel, &simple);
        for (int variant = 1; variant < VARIANTS; variant++) {
            const int type = (variant - 1) % NVTX_PAYLOAD_LIMIT;
            struct record_shape shape = simple;
            add(&shape, TSMITH_FIELD_CATEGORY, RECORD_STRING | RECORD_ZERO_IS_NONE);
            add(&shape, category, RECORD_DYNAMIC | RECORD_ZERO_IS_NONE);
            if (type)
                add(&shape, fields[type], RECORD_DYNAMIC);
            if (variant > NVTX_PAYLOAD_LIMIT)
                add(&shape, color, RECORD_DYNAMIC);
            shapes[form][variant] = channel_shape(channel, &shape);
        }
    }
    struct record_shape shape = begin(FORM_MARK);
    add(&shape, TSMITH_FIELD_CATEGORY, RECORD_STRING | RECORD_ZERO_IS_NONE);
    add(&shape, TSMITH_FIELD_TEXT, RECORD_STRING);
    add(&shape, TSMITH_FIELD_OBJECT, RECORD_VALUE);
    resource_shape = channel_shape(channel, &shape);
}

void record_write(enum form form, uint32_t track, const struct label *label, uint64_t start, uint64_t end) {
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!at)
        return;
    uint32_t variant = 0, words = 1;
    at[words++] = start;
    if (has_end(form))
        at[words++] = end;
    if (on_track(form))
        at[words++] = label->name;
    if (label->domain | label->category | label->payload_type | label->has_color) {
        variant = 1u + label->payload_type + (label->has_color ? NVTX_PAYLOAD_LIMIT : 0u);
        at[words++] = label->domain;
        at[words++] = label->category;
        if (label->payload_type)
            at[words++] = label->payload;
        if (label->has_color)
            at[words++] = label->color;
    }
    at[0] = record_head(shapes[form][variant], words, on_track(form) ? track : label->name);
    ring_commit(ring, words);
}

void record_resource(const char *what, uint64_t object, uint32_t domain, uint32_t name) {
    const uint32_t text = channel_string_cstr(agent.channel, what);
    struct ring *ring = agent_on() ? channel_ring(agent.channel) : NULL;
    uint64_t *at = ring ? ring_reserve(ring, 5) : NULL;
    if (!at)
        return;
    at[0] = record_head(resource_shape, 5, name);
    at[1] = agent_tick();
    at[2] = domain;
    at[3] = text;
    at[4] = object;
    ring_commit(ring, 5);
}
