// SPDX-License-Identifier: Apache-2.0
// Any bytes as the records of a process: put right (lengths and checksums) where they look like one, written into a trace as
// frames, and read again with every entry and payload of them, and planned. Running them is the driver's affair, and not
// tried here.
#include "replay/plan.h"
#include "replay/recording.h"

#include "made_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void touch(struct tsmith_recording *recording, const struct recording_record *record) {
    volatile uint64_t sum = 0;
    for (int key = 0; key < RECORDING_KEY_LIMIT; key++) {
        const uint8_t *bytes;
        uint64_t list[4];
        size_t length, count;
        sum = sum + recording_value(record, (enum recording_key)key);
        if (recording_get_bytes(record, (enum recording_key)key, &bytes, &length))
            for (size_t i = 0; i < length; i++)
                sum = sum + bytes[i];
        (void)recording_get_list(record, (enum recording_key)key, list, 4, &count);
    }
    size_t size;
    uint8_t *payload = recording_payload(recording, record, &size);
    for (size_t i = 0; payload && i < size; i++)
        sum = sum + payload[i];
    free(payload);
    (void)recording_text(recording, record, RECORDING_KEY_TEXT);
}

// The plan of it: every order it gives is of nodes that are there, and no finding names others.
static void make_plan(tsmith_recording *recording) {
    tsmith_plan *plan;
    tsmith_hazard hazard = {.size = sizeof hazard};
    if (tsmith_plan_create(recording, &plan, NULL) != TSMITH_OK)
        return;
    for (size_t i = 0; tsmith_plan_hazard_get(plan, i, &hazard); i++)
        if (!hazard.first.what || !hazard.second.what || hazard.from >= hazard.to)
            abort();
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan *process = &plan->processes[i];
        uint32_t *order = malloc((process->node_count + 1) * sizeof *order);
        if (!order || plan_shuffle(process, NULL, i, order) != TSMITH_OK)
            abort();
        for (size_t j = 0; j < process->order_count; j++)
            if (order[j] >= process->node_count || process->order[j] >= process->node_count)
                abort();
        free(order);
    }
    tsmith_plan_destroy(plan);
}

static void read_all(tsmith_recording *recording, uint8_t how) {
    tsmith_recording_refusal refusal = {.size = sizeof refusal};
    (void)how;
    for (size_t i = 0; i < recording->process_count; i++)
        for (size_t j = 0; j < recording->processes[i].count; j++)
            touch(recording, &recording->processes[i].records[j]);
    for (size_t i = 0; tsmith_recording_refusal_get(recording, i, &refusal); i++)
        if (!refusal.function || !refusal.reason)
            abort();
    make_plan(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    made_recording(data, size, size && !(data[size - 1] & 1), 0, read_all);
    return 0;
}
