// SPDX-License-Identifier: Apache-2.0
// What was counted, as a trace: a row of launches, a row of counts, and a row of the chosen work-item's steps. The
// interpreter has no clock of its own, so a step of the stream takes one nanosecond, from the start of its launch on.
#include "api/instructions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

// For each address space, in this order.
enum moved { LOADS, LOAD_BYTES, STORES, STORE_BYTES, MOVED };

struct maker {
    const tsmith_instructions *from;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    uint32_t launches, counts, steps, loss;                                       // tracks
    uint32_t moved[MOVED][TSMITH_ADDRESS_SPACE_LIMIT], atomics, branches, access; // dynamic fields
    uint32_t accesses[4]; // strings, by enum oclgrind_access
    size_t launch_at, count_at, step_at, loss_at;
    bool failed;
};

// ---- the dictionary

static uint32_t add_track(struct maker *maker, tsmith_track_kind kind, uint32_t device, uint32_t parent,
                          const char *name) {
    const tsmith_track track = {.kind = (uint8_t)kind,
                                .name = tsmith_dictionary_intern_cstr(maker->dictionary, name),
                                .device = device,
                                .parent = parent};
    return tsmith_dictionary_add_track(maker->dictionary, &track);
}

static void describe(struct maker *maker) {
    const tsmith_instructions *from = maker->from;
    tsmith_dictionary *dictionary = maker->dictionary;
    char name[512];
    const tsmith_device device = {.name = tsmith_dictionary_intern_cstr(dictionary, from->device),
                                  .driver = tsmith_dictionary_intern_cstr(dictionary, "Oclgrind"),
                                  .api = tsmith_dictionary_intern_cstr(dictionary, "opencl"),
                                  .type = tsmith_dictionary_intern_cstr(dictionary, "interpreter")};
    const uint32_t id = tsmith_dictionary_add_device(dictionary, &device);
    maker->launches = add_track(maker, TSMITH_TRACK_QUEUE, id, 0, "interpreted launches");
    (void)snprintf(name, sizeof name, "instructions of %s", from->kernel);
    maker->counts = add_track(maker, TSMITH_TRACK_CUSTOM, id, maker->launches, name);
    (void)snprintf(name, sizeof name, "work-item %llu,%llu,%llu of %s (1 ns is a step)",
                   (unsigned long long)from->item[0], (unsigned long long)from->item[1],
                   (unsigned long long)from->item[2], from->kernel);
    maker->steps = from->step_count ? add_track(maker, TSMITH_TRACK_CUSTOM, id, maker->launches, name) : 0;
    maker->loss = add_track(maker, TSMITH_TRACK_LOSS, 0, 0, "loss");
    static const char *const words[MOVED] = {"loads", "load_bytes", "stores", "store_bytes"};
    for (int i = 0; i < MOVED; i++)
        for (int space = 0; space < TSMITH_ADDRESS_SPACE_LIMIT; space++) {
            (void)snprintf(name, sizeof name, "%s_%s", tsmith_address_space_name((tsmith_address_space)space),
                           words[i]);
            maker->moved[i][space] = tsmith_dictionary_field(dictionary, name, TSMITH_TYPE_U64,
                                                             i == LOADS || i == STORES ? "" : "bytes");
        }
    maker->atomics = tsmith_dictionary_field(dictionary, "atomics", TSMITH_TYPE_U64, "");
    maker->branches = tsmith_dictionary_field(dictionary, "branches", TSMITH_TYPE_U64, "");
    maker->access = tsmith_dictionary_field(dictionary, "access", TSMITH_TYPE_STRING, "");
    static const char *const accesses[] = {"", "load", "store", "atomic"};
    for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++)
        maker->accesses[i] = tsmith_dictionary_intern_cstr(dictionary, accesses[i]);
    tsmith_dictionary_set_attribute(dictionary, "device.kind", "interpreter");
    tsmith_dictionary_set_attribute(dictionary, "instructions.kernel", from->kernel);
}

// ---- events

static void set(struct maker *maker, uint32_t field, uint64_t bits) {
    maker->failed |= tsmith_batch_set(maker->batch, field, bits) != TSMITH_OK;
}

static void set_text(struct maker *maker, uint32_t field, const char *text) {
    if (*text)
        set(maker, field, tsmith_dictionary_intern_cstr(maker->dictionary, text));
}

static void set_own(struct maker *maker, uint32_t field, uint64_t value) {
    maker->failed |= tsmith_batch_set_dynamic(maker->batch, field, TSMITH_TYPE_U64, value) != TSMITH_OK;
}

static void append(struct maker *maker, tsmith_kind kind, int64_t start) {
    maker->failed |= tsmith_batch_append(maker->batch, kind, start) == UINT32_MAX;
}

static void add_launch(struct maker *maker, size_t index) {
    const tsmith_instructions_launch *launch = &maker->from->launches[index];
    append(maker, TSMITH_KIND_KERNEL, launch->start);
    if (launch->end >= launch->start)
        set(maker, TSMITH_FIELD_DURATION, (uint64_t)(launch->end - launch->start));
    set_text(maker, TSMITH_FIELD_NAME, launch->kernel);
    set(maker, TSMITH_FIELD_CORRELATION, index + 1);
    for (uint32_t i = 0; i < launch->dimensions && i < 3; i++) {
        set(maker, TSMITH_FIELD_GLOBAL_X + i, launch->global[i]);
        set(maker, TSMITH_FIELD_LOCAL_X + i, launch->local[i]);
        if (launch->offset[i])
            set(maker, TSMITH_FIELD_OFFSET_X + i, launch->offset[i]);
    }
}

static void set_place(struct maker *maker, const tsmith_instruction *instruction) {
    set_text(maker, TSMITH_FIELD_NAME, instruction->opcode);
    set_text(maker, TSMITH_FIELD_TEXT, instruction->text);
    set_text(maker, TSMITH_FIELD_FILE, instruction->file);
    if (instruction->line)
        set(maker, TSMITH_FIELD_LINE, instruction->line);
}

static void add_count(struct maker *maker, const struct instruction_count *count) {
    const struct oclgrind_counts *counts = &count->counts;
    append(maker, TSMITH_KIND_INSTRUCTION_COUNT, maker->from->launches[count->launch].start);
    set(maker, TSMITH_FIELD_CORRELATION, count->launch + 1u);
    set_place(maker, &maker->from->items[count->instruction]);
    set(maker, TSMITH_FIELD_COUNT, counts->executed);
    if (counts->branches) {
        set(maker, TSMITH_FIELD_TAKEN, counts->taken);
        set_own(maker, maker->branches, counts->branches);
    }
    if (counts->atomics)
        set_own(maker, maker->atomics, counts->atomics);
    for (int space = 0; space < TSMITH_ADDRESS_SPACE_LIMIT; space++) {
        const uint64_t values[MOVED] = {counts->loads[space], counts->load_bytes[space],
                                        counts->stores[space], counts->store_bytes[space]};
        for (int i = 0; i < MOVED; i++)
            if (values[i])
                set_own(maker, maker->moved[i][space], values[i]);
    }
}

static void add_step(struct maker *maker, const struct instruction_step *from) {
    const struct oclgrind_step *step = &from->step;
    append(maker, TSMITH_KIND_INSTRUCTION, maker->from->launches[from->launch].start + from->number);
    set(maker, TSMITH_FIELD_DURATION, 1);
    set(maker, TSMITH_FIELD_CORRELATION, from->launch + 1u);
    set_place(maker, &maker->from->items[step->instruction]);
    if (step->branch)
        set(maker, TSMITH_FIELD_TAKEN, step->taken);
    if (step->access == OCLGRIND_NONE || step->access > OCLGRIND_ATOMIC)
        return;
    maker->failed |= tsmith_batch_set_dynamic(maker->batch, maker->access, TSMITH_TYPE_STRING,
                                              maker->accesses[step->access]) != TSMITH_OK;
    set_text(maker, TSMITH_FIELD_CATEGORY, tsmith_address_space_name((tsmith_address_space)step->space));
    set(maker, TSMITH_FIELD_ADDRESS, step->address);
    set(maker, TSMITH_FIELD_BYTES, step->bytes);
}

static void add_loss(struct maker *maker, const tsmith_instructions_launch *launch) {
    append(maker, TSMITH_KIND_LOSS, launch->start);
    set(maker, TSMITH_FIELD_LOST, launch->steps_lost);
    set(maker, TSMITH_FIELD_REASON, TSMITH_REASON_TABLE_FULL);
    set_text(maker, TSMITH_FIELD_TEXT, "steps of the work-item beyond the limit (--steps)");
}

// ---- the source

// Fills the batch with what comes next, of one track; false when there is nothing left.
static bool fill(struct maker *maker) {
    const tsmith_instructions *from = maker->from;
    uint32_t room = TSMITH_BATCH_MAX;
    if (maker->launch_at < from->launch_count) {
        tsmith_batch_reset(maker->batch, maker->launches);
        for (; room && maker->launch_at < from->launch_count; room--)
            add_launch(maker, maker->launch_at++);
    } else if (maker->count_at < from->counted) {
        tsmith_batch_reset(maker->batch, maker->counts);
        for (; room && maker->count_at < from->counted; room--)
            add_count(maker, &from->counts[maker->count_at++]);
    } else if (maker->step_at < from->step_count) {
        tsmith_batch_reset(maker->batch, maker->steps);
        for (; room && maker->step_at < from->step_count; room--)
            add_step(maker, &from->steps[maker->step_at++]);
    } else {
        tsmith_batch_reset(maker->batch, maker->loss);
        for (; room && maker->loss_at < from->launch_count; maker->loss_at++)
            if (from->launches[maker->loss_at].steps_lost) {
                add_loss(maker, &from->launches[maker->loss_at]);
                room--;
            }
        return room < TSMITH_BATCH_MAX;
    }
    return true;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct maker *maker = self;
    if (!fill(maker))
        return TSMITH_END;
    if (tsmith_batch_finish(maker->batch) != TSMITH_OK || maker->failed ||
        tsmith_dictionary_failed(maker->dictionary))
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while writing a kernel's instructions");
    *out = maker->batch;
    return TSMITH_OK;
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct maker *)self)->dictionary;
}

static void destroy(void *self) {
    struct maker *maker = self;
    tsmith_dictionary_destroy(maker->dictionary);
    tsmith_batch_destroy(maker->batch);
    free(maker);
}

tsmith_status tsmith_instructions_source(const tsmith_instructions *instructions, tsmith_source **out,
                                         tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    *out = NULL;
    struct maker *maker = calloc(1, sizeof *maker);
    if (!maker || tsmith_dictionary_create(&maker->dictionary) != TSMITH_OK ||
        tsmith_batch_create(&maker->batch) != TSMITH_OK ||
        tsmith_source_create(&ops, maker, out) != TSMITH_OK) {
        if (maker)
            destroy(maker);
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while writing a kernel's instructions");
    }
    maker->from = instructions;
    describe(maker);
    return TSMITH_OK;
}
