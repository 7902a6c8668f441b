// SPDX-License-Identifier: Apache-2.0
// What GPU drivers write: render stages, which are work on the queues of a device, and counters.
#include <inttypes.h>
#include <stdio.h>

#include "import/perfetto/perfetto.h"

enum {
    SPACE_QUEUE = 1 << 23,   // of keys of tracks: hardware queues, per GPU
    SPACE_COUNTER = 1 << 24, // counters, per GPU
    SPACE_STAGE = 2,         // of pf.name_map: stages of the older form
    SPACE_OLD_QUEUE = 3,
    GPUS_MAX = 1 << 20
};

struct stage {
    int64_t duration;
    bool has_duration, has_event;
    uint64_t gpu, queue, context;
    bool queue_is_iid, has_number;
    uint32_t queue_name, stage_name, name, kernel;
    uint64_t grid[3], block[3];
    bool has_launch;
};

// ---- the older form: names of queues and stages by position, given once

static void read_descriptions(struct pf *pf, struct proto_in in, uint32_t which, uint32_t space) {
    struct proto_field field, part;
    uint32_t position = 0;
    while (proto_next(&in, &field)) {
        if (field.number != which || field.wire != PROTO_BYTES)
            continue;
        struct proto_in description = proto_within(&field);
        uint32_t *name = pf_map_at(pf, &pf->name_map, position++, space, true);
        while (name && proto_next(&description, &part))
            if (part.number == 1 && part.wire == PROTO_BYTES)
                *name = pf_intern(pf, &part);
        if (position >= PF_FIELDS_MAX)
            return;
    }
}

static uint32_t described(struct pf *pf, uint32_t space, uint64_t position) {
    const uint32_t *name = pf_map_at(pf, &pf->name_map, position, space, false);
    return name ? *name : 0;
}

// ---- launches

static void read_dimensions(uint64_t sizes[3], struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field))
        if (field.number >= 1 && field.number <= 3)
            sizes[field.number - 1] = field.value;
}

static void read_launch(struct stage *stage, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.wire != PROTO_BYTES)
            continue;
        if (field.number == 1)
            read_dimensions(stage->grid, proto_within(&field));
        else if (field.number == 2)
            read_dimensions(stage->block, proto_within(&field));
        stage->has_launch = true;
    }
}

static void add_sizes(struct pf *pf, const struct stage *stage) {
    for (uint32_t i = 0; stage->has_launch && i < 3 && stage->grid[i]; i++) {
        uint64_t block = stage->block[i] ? stage->block[i] : 1;
        pf_add_value(pf, &pf->event, TSMITH_FIELD_GLOBAL_X + i, TSMITH_TYPE_U64, stage->grid[i] * block);
        if (stage->block[i])
            pf_add_value(pf, &pf->event, TSMITH_FIELD_LOCAL_X + i, TSMITH_TYPE_U64, block);
    }
}

// ---- stages

// A name and a value, both texts, that a driver adds.
static void read_extra(struct pf *pf, struct proto_in in) {
    struct proto_field field;
    uint32_t name = 0, value = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES)
            name = pf_name(pf, pf_intern(pf, &field));
        else if (field.number == 2 && field.wire == PROTO_BYTES)
            value = pf_intern(pf, &field);
    }
    pf_add_value(pf, &pf->event, pf_field(pf, name, PF_STRING), TSMITH_TYPE_STRING, value);
}

static void read_number(struct pf *pf, struct pf_sequence *sequence, struct stage *stage,
                        const struct proto_field *field) {
    static const struct {
        uint32_t number;
        const char *name;
    } plain[] = {{1, "event_id"},
                 {8, "render_target_handle"},
                 {9, "render_pass_handle"},
                 {10, "submission_id"},
                 {12, "command_buffer_handle"},
                 {16, "render_pass_instance_id"},
                 {15, "render_subpass_index_mask"}};
    switch (field->number) {
    case 2:
        stage->duration = (int64_t)field->value;
        stage->has_duration = stage->duration >= 0;
        if (!stage->has_duration)
            pf_problem(pf, PF_PROBLEM_BACKWARDS);
        return;
    case 3:
        stage->queue = field->value;
        stage->has_number = true;
        stage->queue_name = described(pf, SPACE_OLD_QUEUE, field->value);
        return;
    case 4:
        stage->stage_name = described(pf, SPACE_STAGE, field->value);
        return;
    case 5:
        stage->context = field->value;
        return;
    case 11:
        stage->gpu = field->value;
        return;
    case 13:
        stage->queue = field->value;
        stage->queue_is_iid = true;
        (void)pf_text(pf, sequence, PF_SPECIFICATIONS, field->value, &stage->queue_name);
        return;
    case 14:
        (void)pf_text(pf, sequence, PF_SPECIFICATIONS, field->value, &stage->stage_name);
        return;
    case 19:
        (void)pf_text(pf, sequence, PF_KERNELS, field->value, &stage->kernel);
        return;
    case 20:
        (void)pf_text(pf, sequence, PF_NAMES, field->value, &stage->name);
        return;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i].number == field->number) {
            pf_add_named(pf, &pf->event, plain[i].name, TSMITH_TYPE_U64, field->value);
            return;
        }
    pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
}

static void read_part(struct pf *pf, struct stage *stage, const struct proto_field *field) {
    if (field->number == 6) {
        read_extra(pf, proto_within(field));
    } else if (field->number == 7) {
        read_descriptions(pf, proto_within(field), 2, SPACE_OLD_QUEUE);
        read_descriptions(pf, proto_within(field), 3, SPACE_STAGE);
    } else if (field->number == 17) {
        stage->name = pf_intern(pf, field);
    } else if (field->number == 21) {
        read_launch(stage, proto_within(field));
    } else {
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
    }
}

static uint32_t queue_track(struct pf *pf, struct pf_sequence *sequence, const struct stage *stage) {
    uint64_t gpu = stage->gpu < GPUS_MAX ? stage->gpu : GPUS_MAX;
    // Numbers of interned queues mean something in their sequence only; their names do everywhere.
    uint64_t key = stage->queue_is_iid ? (uint64_t)stage->queue_name << 32 : stage->queue & UINT32_MAX;
    uint32_t device = pf_gpu(pf, gpu), pid = 0;
    uint32_t track = device ? pf_track_of_key(pf, SPACE_QUEUE + gpu, key) : 0;
    if (!track)
        return 0;
    pf->tracks[track].entry.kind = TSMITH_TRACK_QUEUE;
    pf->tracks[track].entry.device = device;
    pf->tracks[track].entry.queue = stage->has_number ? stage->queue : 0;
    if (!stage->has_number)
        pf->tracks[track].entry.flags |= TSMITH_TRACK_UNNUMBERED;
    if (!pf->tracks[track].name)
        pf->tracks[track].name = stage->queue_name;
    if (stage->context && !pf->tracks[track].process &&
        pf_map_at(pf, &sequence->texts, PF_CONTEXTS, stage->context, false) &&
        pf_text(pf, sequence, PF_CONTEXTS, stage->context, &pid) && pid)
        pf->tracks[track].process = pf_process(pf, pid);
    return track;
}

void pf_read_render_stage(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                          int64_t time) {
    enum { SPECIFICATIONS = 7 };
    struct stage stage = {.duration = 0};
    struct proto_field field;
    pf_event_begin(&pf->event);
    while (proto_next(&in, &field)) {
        stage.has_event |= field.number != SPECIFICATIONS;
        if (field.wire == PROTO_BYTES)
            read_part(pf, &stage, &field);
        else
            read_number(pf, sequence, &stage, &field);
    }
    if (in.bad || !stage.has_event) {
        if (in.bad)
            pf_problem(pf, PF_PROBLEM_MALFORMED);
        return; // a packet may hold nothing but the names
    }
    if (!has_time) {
        pf_problem(pf, PF_PROBLEM_NO_TIME);
        return;
    }
    uint32_t track = queue_track(pf, sequence, &stage);
    if (!track) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    if (stage.context)
        pf_add_named(pf, &pf->event, "context", TSMITH_TYPE_U64, stage.context);
    add_sizes(pf, &stage);
    struct pf_event *event = &pf->event;
    event->start = time;
    event->duration = stage.duration;
    event->has_duration = stage.has_duration;
    event->kind = TSMITH_KIND_KERNEL;
    event->name = stage.kernel ? stage.kernel : stage.name ? stage.name : stage.stage_name;
    event->has_name = event->name != 0;
    event->category = stage.stage_name;
    event->has_category = event->category != 0;
    pf_put_event(pf, track, event);
}

// ---- counters

static uint32_t counter_track(struct pf *pf, uint64_t gpu, uint64_t counter) {
    uint32_t device = pf_gpu(pf, gpu < GPUS_MAX ? gpu : GPUS_MAX);
    uint32_t track =
        device ? pf_track_of_key(pf, SPACE_COUNTER + (gpu < GPUS_MAX ? gpu : GPUS_MAX), counter) : 0;
    if (track) {
        pf->tracks[track].entry.kind = TSMITH_TRACK_COUNTER;
        pf->tracks[track].entry.device = device;
    }
    return track;
}

static void read_descriptor(struct pf *pf, uint64_t gpu, struct proto_in in) {
    struct proto_field field, part;
    while (proto_next(&in, &field)) {
        if (field.number != 1 || field.wire != PROTO_BYTES)
            continue;
        struct proto_in specification = proto_within(&field);
        uint64_t counter = 0;
        uint32_t name = 0;
        while (proto_next(&specification, &part)) {
            if (part.number == 1)
                counter = part.value;
            else if (part.number == 2 && part.wire == PROTO_BYTES)
                name = pf_intern(pf, &part);
        }
        uint32_t track = counter_track(pf, gpu, counter);
        if (track && name)
            pf->tracks[track].name = name;
    }
}

static void read_value(struct pf *pf, uint64_t gpu, struct proto_in in, int64_t time) {
    struct proto_field field;
    uint64_t counter = 0;
    double value = 0;
    bool has_value = false;
    while (proto_next(&in, &field)) {
        if (field.number == 1) {
            counter = field.value;
        } else if (field.number == 2 || field.number == 3) {
            value = field.number == 2 ? (double)(int64_t)field.value : proto_double(&field);
            has_value = true;
        }
    }
    uint32_t track = has_value ? counter_track(pf, gpu, counter) : 0;
    if (track)
        pf_put_counter(pf, track, time, value);
    else
        pf_problem(pf, has_value ? PF_PROBLEM_TOO_MANY : PF_PROBLEM_UNREAD_FIELD);
}

void pf_read_gpu_counters(struct pf *pf, struct proto_in in, bool has_time, int64_t time) {
    struct proto_in look = in;
    struct proto_field field;
    uint64_t gpu = 0;
    while (proto_next(&look, &field))
        if (field.number == 3)
            gpu = field.value;
    while (proto_next(&in, &field)) {
        if (field.wire != PROTO_BYTES)
            continue;
        if (field.number == 1)
            read_descriptor(pf, gpu, proto_within(&field));
        else if (field.number == 2 && has_time)
            read_value(pf, gpu, proto_within(&field), time);
        else if (field.number == 2)
            pf_problem(pf, PF_PROBLEM_NO_TIME);
    }
    if (in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
}
