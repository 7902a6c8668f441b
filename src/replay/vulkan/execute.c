// SPDX-License-Identifier: Apache-2.0
// Running the captured frames of a process on a Vulkan device: the walk over the records. A frame begins with the state of all its
// resources, so frames that are not asked for are left out as a whole.
#include "replay/execute.h"

#include "base/status.h"

#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/vulkan/vulkan.h"

static bool look_ahead(struct vulkan_run *run) {
    for (size_t i = 0; i < run->process->count; i++) {
        const struct recording_record *record = &run->process->records[i];
        if (record->type == RECORDING_STATE &&
            !chunk_table_add(&run->states, chunk_key_of(recording_value(record, RECORDING_KEY_VERIFY)),
                             i + 1))
            return false;
    }
    return true;
}

static bool is_left_out(const struct vulkan_run *run, size_t record) {
    const struct execute_options *options = run->client->options;
    return options && options->left_out && options->left_out[record];
}

// Whether no submission of the frame that begins here is asked for.
static bool is_skipped(const struct vulkan_run *run) {
    for (size_t i = run->at + 1; i < run->process->count; i++) {
        const uint32_t type = run->process->records[i].type;
        if (type == RECORDING_VULKAN_FRAME)
            break;
        if (type == RECORDING_COMMAND && !is_left_out(run, i))
            return false;
    }
    return true;
}

static tsmith_status make_device(struct vulkan_run *run, const struct recording_record *record) {
    struct vulkan_device *device = NULL;
    const tsmith_status status = vulkan_device_make(run, record, &device);
    struct vulkan_live *live =
        status == TSMITH_OK
            ? vulkan_add(run, recording_value(record, RECORDING_KEY_OBJECT), VULKAN_NONE, device)
            : NULL;
    if (!live)
        vulkan_device_end(device);
    return status;
}

static void keep_commands(struct vulkan_run *run, const struct recording_record *record) {
    const uint64_t number = recording_value(record, RECORDING_KEY_OBJECT);
    const struct vulkan_live *owner =
        vulkan_find(run, recording_value(record, RECORDING_KEY_CONTEXT), VULKAN_NONE);
    struct vulkan_live *live = vulkan_find(run, number, VULKAN_COMMANDS);
    if (!live && owner)
        live = vulkan_add(run, number, VULKAN_COMMANDS, owner->device);
    if (live)
        live->record = run->at;
}

// A few bytes of a submission name a command buffer again, and all of its commands are put again.
static bool is_bounded(struct vulkan_run *run, const uint8_t *numbers, size_t count) {
    static const uint64_t most = (uint64_t)256 << 20;
    uint64_t total = 0;
    for (size_t i = 0; i < count && total <= most; i++) {
        uint64_t number;
        const uint8_t *bytes;
        size_t length = 0;
        memcpy(&number, numbers + 8 * i, sizeof number);
        const struct vulkan_live *live = vulkan_find(run, number, VULKAN_COMMANDS);
        if (live)
            recording_get_bytes(&run->process->records[live->record], RECORDING_KEY_DATA, &bytes, &length);
        total += length;
    }
    return total <= most;
}

// The recorded buffers, as new ones.
static bool record_all(struct vulkan_run *run, struct vulkan_device *device,
                       const struct recording_record *record, VkCommandBuffer *buffers, size_t count) {
    const uint8_t *numbers;
    bool good = recording_list(record, RECORDING_KEY_LIST, &numbers) == count;
    for (size_t i = 0; good && i < count; i++) {
        uint64_t number;
        memcpy(&number, numbers + 8 * i, sizeof number);
        const struct vulkan_live *live = vulkan_find(run, number, VULKAN_COMMANDS);
        buffers[i] = live && live->device == device ? vulkan_begin(device) : NULL;
        good = buffers[i] && vulkan_record(run, device, buffers[i], &run->process->records[live->record]);
        if (buffers[i])
            good &= device->EndCommandBuffer(buffers[i]) == VK_SUCCESS;
    }
    return good;
}

static tsmith_status submit(struct vulkan_run *run, const struct recording_record *record) {
    enum { MOST = 1 << 16 };
    const struct vulkan_live *live =
        vulkan_find(run, recording_value(record, RECORDING_KEY_CONTEXT), VULKAN_NONE);
    const uint8_t *numbers;
    const size_t count = recording_list(record, RECORDING_KEY_LIST, &numbers);
    run->submissions = run->at + 1;
    if (run->why[0])
        return TSMITH_OK;
    if (!live || count > MOST) {
        vulkan_give_up(run, "record %zu: a submission to a device that is missing", run->at);
        return TSMITH_OK;
    }
    if (!is_bounded(run, numbers, count)) {
        vulkan_give_up(run, "record %zu: a submission has more commands than are supported (256 MiB)",
                       run->at);
        return TSMITH_OK;
    }
    struct vulkan_device *device = live->device; // sets that are pushed move what is live
    VkCommandBuffer *buffers = calloc(count + 1, sizeof *buffers);
    vulkan_indirect_forget(run);
    tsmith_status status =
        buffers ? TSMITH_OK : status_set(run->error, TSMITH_ERROR_NO_MEMORY, "out of memory while replaying");
    if (buffers && !record_all(run, device, record, buffers, count))
        vulkan_give_up(
            run, "record %zu: a command cannot be replayed: what it uses is missing on this device", run->at);
    else if (buffers)
        status = vulkan_indirect_check(run);
    if (buffers && status == TSMITH_OK && !run->why[0])
        status = vulkan_submit(run, device, buffers, (uint32_t)count);
    for (size_t i = 0; buffers && status != TSMITH_ERROR_LIMIT && i < count; i++)
        if (buffers[i])
            device->FreeCommandBuffers(device->handle, device->pool, 1, &buffers[i]);
    if (status != TSMITH_ERROR_LIMIT)
        vulkan_pushed_end(run);
    free(buffers);
    return status;
}

static void release(struct vulkan_run *run, uint64_t number) {
    run->changes++;
    for (uint32_t kind = VULKAN_BUFFER; kind < VULKAN_KIND_LIMIT; kind++) {
        struct vulkan_live *live = vulkan_find(run, number, (enum vulkan_kind)kind);
        if (live)
            vulkan_release(live);
    }
}

static tsmith_status execute_record(struct vulkan_run *run, const struct recording_record *record) {
    if (recording_value(record, RECORDING_KEY_OBJECT) >= vulkan_own_numbers)
        return TSMITH_OK; // no recorder gives such a number: what uses it finds nothing
    switch (record->type) {
    case RECORDING_VULKAN_DEVICE:
        return make_device(run, record);
    case RECORDING_VULKAN_OBJECT:
        return vulkan_object(run, record);
    case RECORDING_VULKAN_FRAME:
        run->why[0] = '\0';
        vulkan_layouts_forget(run);
        run->skips = is_skipped(run);
        return TSMITH_OK;
    case RECORDING_VULKAN_SET:
        return run->skips ? TSMITH_OK : vulkan_set(run, record);
    case RECORDING_VULKAN_COMMANDS:
        keep_commands(run, record);
        return TSMITH_OK;
    case RECORDING_CONTENT:
        return run->skips || run->why[0] ? TSMITH_OK : vulkan_content(run, record);
    case RECORDING_COMMAND:
        return run->skips ? TSMITH_OK : submit(run, record);
    case RECORDING_VERIFY:
        return run->skips || is_left_out(run, run->at) ? TSMITH_OK : vulkan_verify(run, record);
    case RECORDING_RELEASE:
        release(run, recording_value(record, RECORDING_KEY_OBJECT));
        return TSMITH_OK;
    default:
        return TSMITH_OK;
    }
}

tsmith_status execute_vulkan_run(struct vulkan_execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error) {
    tsmith_error unasked;
    struct vulkan_run *run = calloc(1, sizeof *run);
    if (!run)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while replaying");
    *run = (struct vulkan_run){.execution = execution,
                               .recording = recording,
                               .process = process,
                               .options = options,
                               .client = client,
                               .error = error ? error : &unasked,
                               .skips = true,
                               .changes = 1};
    tsmith_status status =
        look_ahead(run) ? TSMITH_OK
                        : status_set(run->error, TSMITH_ERROR_NO_MEMORY, "out of memory while replaying");
    for (; status == TSMITH_OK && run->at < process->count; run->at++) {
        if (options->progress)
            options->progress(options->progress_context, run->at, process->count);
        status = execute_record(run, &process->records[run->at]);
    }
    // What still runs after a failure is left alone, with its memory: there is no way to stop it.
    for (size_t i = run->live_count; status != TSMITH_ERROR_LIMIT && i-- > 0;)
        if (run->lives[i].kind != VULKAN_NONE)
            vulkan_release(&run->lives[i]);
    for (size_t i = run->live_count; status != TSMITH_ERROR_LIMIT && i-- > 0;)
        if (run->lives[i].kind == VULKAN_NONE)
            vulkan_device_end(run->lives[i].device);
    chunk_table_finish(&run->by_number);
    chunk_table_finish(&run->states);
    table_finish(&run->by_handle);
    vulkan_bindings_end(run);
    free(run->laid_out);
    vulkan_indirect_forget(run);
    free(run->indirects);
    free(run->lives);
    free(run);
    return status;
}

#else // built without the Vulkan headers

tsmith_status execute_vulkan_open(const char *device, struct vulkan_execution **out, tsmith_error *error) {
    (void)device;
    *out = NULL;
    return status_set(error, TSMITH_ERROR_MISSING, "this TraceSmith cannot replay Vulkan");
}

const char *execute_vulkan_device(const struct vulkan_execution *execution) {
    (void)execution;
    return "";
}

tsmith_status execute_vulkan_run(struct vulkan_execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error) {
    (void)execution;
    (void)recording;
    (void)process;
    (void)options;
    (void)client;
    return status_set(error, TSMITH_ERROR_MISSING, "this TraceSmith cannot replay Vulkan");
}

void execute_vulkan_close(struct vulkan_execution *execution) {
    (void)execution;
}

#endif
