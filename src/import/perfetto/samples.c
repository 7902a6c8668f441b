// SPDX-License-Identifier: Apache-2.0
// Samples of call stacks: perf's (traced_perf), those of a thread that samples itself (Chrome), and the newer form that any
// sampler writes (Python's). Each is an event on the track of its thread, named after the innermost function.
#include "import/perfetto/perfetto.h"

enum {
    SPACE_NO_THREAD = 1 << 25,  // of keys of tracks: samples without a thread, by process
    SPACE_TASK = (1 << 25) + 1, // threads without a process
    NANOSECONDS = 1             // unit of weights
};

static void add_sample(struct pf *pf, uint32_t track, int64_t time, uint32_t stack) {
    if (!track) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    struct pf_event *event = &pf->event;
    event->start = time;
    event->kind = TSMITH_KIND_SAMPLE;
    event->name = pf_innermost(pf, stack);
    event->has_name = event->name != 0;
    if (stack)
        pf_add_value(pf, event, TSMITH_FIELD_STACK, TSMITH_TYPE_U32, stack);
    pf_put_event(pf, track, event);
}

// 0 means not given.
static uint32_t track_of(struct pf *pf, uint64_t pid, uint64_t tid) {
    if (pid && tid)
        return pf_thread_track(pf, pid, tid);
    uint32_t track = pf_track_of_key(pf, tid ? SPACE_TASK : SPACE_NO_THREAD, tid ? tid : pid);
    if (track && tid) {
        pf->tracks[track].entry.kind = TSMITH_TRACK_THREAD;
        pf->tracks[track].entry.tid = tid;
    } else if (track) {
        pf->tracks[track].process = pid ? pf_process(pf, pid) : 0;
        pf->tracks[track].name = tsmith_dictionary_intern_cstr(pf->dictionary, "samples without a thread");
    }
    return track;
}

static void add_word(struct pf *pf, const char *name, const char *const *words, size_t count,
                     uint64_t value) {
    if (value < count && words[value])
        pf_add_named(pf, &pf->event, name, TSMITH_TYPE_STRING,
                     tsmith_dictionary_intern_cstr(pf->dictionary, words[value]));
}

#define WORDS(words) words, sizeof(words) / sizeof *(words)

// ---- perf

static const char *const PERF_MODES[] = {NULL, "kernel", "user", "hypervisor", "guest kernel", "guest user"};
static const char *const UNWIND_ERRORS[] = {"unknown",     NULL,          "memory invalid", "unwind info",
                                            "unsupported", "invalid map", "too deep",       "repeated frame",
                                            "invalid ELF"};

void pf_read_perf_sample(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, int64_t time) {
    struct proto_field field;
    uint64_t pid = 0, tid = 0, iid = 0, lost = 0;
    bool is_sample = true;
    pf_event_begin(&pf->event);
    while (proto_next(&in, &field)) {
        switch (field.number) {
        case 1:
            pf_add_named(pf, &pf->event, "cpu", TSMITH_TYPE_U64, field.value);
            break;
        case 2:
            pid = field.value;
            break;
        case 3:
            tid = field.value;
            break;
        case 4:
            iid = field.value;
            break;
        case 5:
            add_word(pf, "cpu_mode", WORDS(PERF_MODES), field.value);
            break;
        case 6:
            pf_add_named(pf, &pf->event, "timebase_count", TSMITH_TYPE_U64, field.value);
            break;
        case 16:
            add_word(pf, "unwind_error", WORDS(UNWIND_ERRORS), field.value);
            break;
        case 17: // records that the kernel had no room for
            lost = field.value;
            is_sample = false;
            break;
        case 18: // a sample that could not be had
            lost = 1;
            is_sample = false;
            break;
        case 19: // the sampler itself stopped
            is_sample = false;
            pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
            break;
        default:
            pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
        }
    }
    if (in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
    else if (is_sample)
        add_sample(pf, track_of(pf, pid, tid), time, iid ? pf_stack(pf, sequence, iid) : 0);
    else if (__builtin_add_overflow(pf->problems[PF_PROBLEM_SAMPLES], lost,
                                    &pf->problems[PF_PROBLEM_SAMPLES]))
        pf->problems[PF_PROBLEM_SAMPLES] = UINT64_MAX;
}

// ---- a thread that samples itself

void pf_read_streaming(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                       int64_t time) {
    struct proto_numbers stacks = {.in = in, .field = 1}, deltas = {.in = in, .field = 2};
    uint32_t track = sequence->thread  ? sequence->thread
                     : sequence->track ? pf_track_of_uuid(pf, sequence->track)
                                       : track_of(pf, 0, 0);
    uint64_t iid, delta;
    while (proto_next_number(&stacks, &iid)) {
        if (!proto_next_number(&deltas, &delta)) {
            pf_problem(pf, PF_PROBLEM_NO_TIME);
            continue;
        }
        if (has_time) {
            time = (int64_t)((uint64_t)time + delta * 1000);
        } else {
            sequence->delta_us = (int64_t)((uint64_t)sequence->delta_us + delta);
            time = pf_time(pf, sequence, PF_CLOCK_MONOTONIC, (uint64_t)sequence->delta_us * 1000);
        }
        pf_event_begin(&pf->event);
        add_sample(pf, track, time, pf_stack(pf, sequence, iid));
    }
    if (stacks.in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
}

// ---- any sampler

static const char *const MODES[] = {NULL, "user", "kernel", "hypervisor", "guest user", "guest kernel"};

static uint32_t read_task(struct pf *pf, struct proto_in in, uint64_t *iid) {
    struct proto_field field;
    uint64_t pid = 0, tid = 0;
    while (proto_next(&in, &field)) {
        if (field.number == 1)
            *iid = field.value;
        else if (field.number == 2)
            pid = field.value;
        else if (field.number == 3)
            tid = field.value;
        else
            pf_problem(pf, PF_PROBLEM_UNREAD_FIELD); // what runs on threads in turn
    }
    return track_of(pf, pid, tid);
}

void pf_read_task_context(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    uint64_t iid = 0;
    uint32_t track = read_task(pf, in, &iid);
    uint32_t *slot = pf_text_slot(pf, sequence, PF_TASK_CONTEXTS, iid, false);
    if (slot)
        *slot = track;
}

static bool are_ns(struct proto_in in, uint64_t *iid) {
    struct proto_field field;
    uint64_t unit = 0, multiplier = 1;
    while (proto_next(&in, &field)) {
        if (field.number == 1)
            *iid = field.value;
        else if (field.number == 3)
            unit = field.value;
        else if (field.number == 5)
            multiplier = field.value;
    }
    return unit == NANOSECONDS && multiplier == 1;
}

void pf_read_weight_unit(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    uint64_t iid = 0;
    bool ns = are_ns(in, &iid);
    uint32_t *slot = pf_text_slot(pf, sequence, PF_WEIGHTS, iid, false);
    if (slot)
        *slot = ns;
}

void pf_read_sample_defaults(struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    uint64_t iid;
    sequence->weights_are_ns = false;
    while (proto_next(&in, &field))
        if (field.number == 2 && field.wire == PROTO_BYTES)
            sequence->weights_are_ns = are_ns(proto_within(&field), &iid);
}

static void read_execution(struct pf *pf, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field)) {
        if (field.number == 2)
            pf_add_named(pf, &pf->event, "cpu", TSMITH_TYPE_U64, field.value);
        else if (field.number == 3)
            add_word(pf, "cpu_mode", WORDS(MODES), field.value);
    }
}

struct sample {
    uint32_t track, stack;
    uint64_t weight;
    bool has_weight, weight_is_ns;
};

static void read_part(struct pf *pf, const struct pf_sequence *sequence, struct sample *sample,
                      const struct proto_field *field) {
    uint32_t value = 0;
    uint64_t iid;
    switch (field->number) {
    case 1:
        sample->track = read_task(pf, proto_within(field), &iid);
        break;
    case 2:
        (void)pf_text(pf, sequence, PF_TASK_CONTEXTS, field->value, &sample->track);
        break;
    case 3:
        read_execution(pf, proto_within(field));
        break;
    case 5:
        sample->stack = pf_read_inline_stack(pf, sequence, proto_within(field));
        break;
    case 6:
        sample->stack = pf_stack(pf, sequence, field->value);
        break;
    case 7:
        pf_add_named(pf, &pf->event, "unwind_error", TSMITH_TYPE_STRING, pf_intern(pf, field));
        break;
    case 9:
        sample->weight_is_ns = are_ns(proto_within(field), &iid);
        break;
    case 10:
        (void)pf_text(pf, sequence, PF_WEIGHTS, field->value, &value);
        sample->weight_is_ns = value != 0;
        break;
    case 11:
        sample->weight = field->value;
        sample->has_weight = true;
        break;
    default:
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
    }
}

void pf_read_stack_sample(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, int64_t time) {
    struct sample sample = {.weight_is_ns = sequence->weights_are_ns};
    struct proto_field field;
    pf_event_begin(&pf->event);
    while (proto_next(&in, &field))
        read_part(pf, sequence, &sample, &field);
    if (in.bad) {
        pf_problem(pf, PF_PROBLEM_MALFORMED);
        return;
    }
    // The time that the sample represents.
    if (sample.has_weight && sample.weight_is_ns)
        pf_add_value(pf, &pf->event, TSMITH_FIELD_SAMPLER_PERIOD, TSMITH_TYPE_U64, sample.weight);
    else if (sample.has_weight)
        pf_add_named(pf, &pf->event, "weight", TSMITH_TYPE_U64, sample.weight);
    add_sample(pf, sample.track ? sample.track : track_of(pf, 0, 0), time, sample.stack);
}
