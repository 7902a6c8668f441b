// SPDX-License-Identifier: Apache-2.0
// Gives access to the commands of a recording and to the source of its programs. The public API calls it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "replay/recording.h"

static bool is_named(const struct recording_record *record, const char *name) {
    const uint8_t *bytes;
    size_t length;
    return recording_get_bytes(record, RECORDING_KEY_NAME, &bytes, &length) && length == strlen(name) &&
           memcmp(bytes, name, length) == 0;
}

bool recording_makes_kernel(const struct recorded_process *process, size_t from, uint64_t program,
                            const char *name) {
    for (size_t i = from; i < process->count; i++) {
        const struct recording_record *record = &process->records[i];
        if (record->type == RECORDING_KERNEL && recording_value(record, RECORDING_KEY_PROGRAM) == program &&
            is_named(record, name))
            return true;
    }
    return false;
}

static size_t count_included(const struct recorded_process *process, uint64_t program) {
    size_t count = 0;
    for (size_t i = 0; i < process->count; i++)
        count += process->records[i].type == RECORDING_INCLUDED &&
                 recording_value(&process->records[i], RECORDING_KEY_PROGRAM) == program;
    return count;
}

// The names of all kernels there are, once each, as far as there is room.
static void list_kernels(struct tsmith_recording *recording, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < recording->process_count; p++)
        for (size_t i = 0; i < recording->processes[p].count; i++) {
            const struct recording_record *record = &recording->processes[p].records[i];
            const char *name = record->type == RECORDING_KERNEL
                                   ? recording_text(recording, record, RECORDING_KEY_NAME)
                                   : NULL;
            char quoted[256];
            if (!name || strlen(name) > sizeof quoted - 3)
                continue;
            snprintf(quoted, sizeof quoted, "'%s'", name);
            if (strstr(text, quoted))
                continue;
            const int added = snprintf(text + used, size - used, "%s%s", used ? ", " : "", quoted);
            if (added < 0 || (size_t)added >= size - used) {
                text[used] = '\0';
                return;
            }
            used += (size_t)added;
        }
}

static tsmith_status take_source(struct tsmith_recording *recording, const struct recording_record *record,
                                 const char *kernel, tsmith_recorded_source *out, tsmith_error *error) {
    size_t size;
    const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
    if (form != RECORDING_PROGRAM_SOURCE)
        return status_set(error, TSMITH_ERROR_NOT_FOUND,
                          "the program with the kernel '%s' was created from %s and has no source", kernel,
                          form == RECORDING_PROGRAM_BINARY ? "a binary" : "an intermediate language");
    uint8_t *bytes = recording_payload(recording, record, &size);
    char *text = bytes ? realloc(bytes, size + 1) : NULL;
    if (!text) {
        const bool missing = !bytes;
        free(bytes);
        return missing ? status_set(error, TSMITH_ERROR_CORRUPT,
                                    "the source of '%s' is missing from the recording", kernel)
                       : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    text[size] = '\0';
    out->text = text;
    out->length = size;
    return TSMITH_OK;
}

static tsmith_status say_missing(tsmith_status status, struct tsmith_recording *recording, const char *kernel,
                                 tsmith_error *error) {
    char names[800];
    list_kernels(recording, names, sizeof names);
    return status_set(error, status, "no program in the recording has a kernel '%s'; available: %s", kernel,
                      *names ? names : "none");
}

tsmith_status recording_has_source_of(struct tsmith_recording *recording, const char *kernel,
                                      tsmith_error *error) {
    for (size_t p = 0; kernel && p < recording->process_count; p++)
        for (size_t i = 0; i < recording->processes[p].count; i++) {
            const struct recording_record *record = &recording->processes[p].records[i];
            if (record->type == RECORDING_PROGRAM &&
                recording_makes_kernel(&recording->processes[p], i,
                                       recording_value(record, RECORDING_KEY_OBJECT), kernel))
                return TSMITH_OK;
        }
    return kernel ? say_missing(TSMITH_ERROR_INVALID_ARGUMENT, recording, kernel, error) : TSMITH_OK;
}

tsmith_status tsmith_recording_source(tsmith_recording *recording, const char *kernel,
                                      tsmith_recorded_source *filled, tsmith_error *error) {
    tsmith_recorded_source full = {.size = sizeof full}, *const out = &full;
    sized_give(tsmith_recorded_source, out, filled);
    const struct recording_record *found = NULL;
    for (size_t p = 0; p < recording->process_count; p++) {
        const struct recorded_process *process = &recording->processes[p];
        for (size_t i = 0; i < process->count; i++) {
            const struct recording_record *record = &process->records[i];
            const uint64_t id = recording_value(record, RECORDING_KEY_OBJECT);
            if (record->type != RECORDING_PROGRAM || !recording_makes_kernel(process, i, id, kernel))
                continue;
            out->programs++;
            if (!found)
                out->included = count_included(process, id);
            found = found ? found : record;
        }
    }
    if (!found)
        return say_missing(TSMITH_ERROR_NOT_FOUND, recording, kernel, error);
    const tsmith_status status = take_source(recording, found, kernel, out, error);
    sized_give(tsmith_recorded_source, out, filled);
    return status;
}

// ---- commands

static tsmith_status list_commands(struct tsmith_recording *recording, const struct recorded_process *process,
                                   tsmith_recorded_command_take *each, void *context, tsmith_error *error) {
    struct chunk_table kernels = {0}; // by number: record + 1
    uint64_t command = 0;
    bool room = true;
    for (size_t i = 0; i < process->count && room; i++) {
        const struct recording_record *record = &process->records[i];
        const uint64_t object = recording_value(record, RECORDING_KEY_OBJECT),
                       kernel = recording_value(record, RECORDING_KEY_KERNEL),
                       target = recording_value(record, RECORDING_KEY_TARGET);
        if (record->type == RECORDING_KERNEL && !chunk_table_find(&kernels, chunk_key_of(object)))
            room = chunk_table_add(&kernels, chunk_key_of(object), i + 1);
        if (record->type != RECORDING_COMMAND)
            continue;
        const char *what = recording_command_name(recording_value(record, RECORDING_KEY_COMMAND));
        const uint64_t made = kernel ? chunk_table_find(&kernels, chunk_key_of(kernel)) : 0;
        each(context,
             &(tsmith_recorded_command){
                 .pid = process->pid,
                 .command = command++,
                 .what = what ? what : "unknown",
                 .kernel =
                     made ? recording_text(recording, &process->records[made - 1], RECORDING_KEY_NAME) : NULL,
                 .queue = recording_value(record, RECORDING_KEY_QUEUE),
                 .bytes = recording_value(record, RECORDING_KEY_SIZE),
                 .buffer = target ? target : recording_value(record, RECORDING_KEY_SOURCE)});
    }
    chunk_table_finish(&kernels);
    return room ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while listing the commands");
}

tsmith_status tsmith_recording_each_command(tsmith_recording *recording, tsmith_recorded_command_take *each,
                                            void *context, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < recording->process_count && status == TSMITH_OK; i++)
        status = list_commands(recording, &recording->processes[i], each, context, error);
    return status;
}
