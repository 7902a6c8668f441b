// SPDX-License-Identifier: Apache-2.0
// Collects what an importer could not read and writes it as loss events. The importers and src/watch call it.
#include "event/ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

enum { ENTRIES_MAX = 1 << 12 };

struct ledger_entry {
    uint32_t text;
    tsmith_reason reason;
    uint64_t lost;
    bool covers;
};

void ledger_note(struct ledger *ledger, tsmith_dictionary *dictionary, tsmith_reason reason, uint64_t lost,
                 bool covers, const char *format, ...) {
    char text[512];
    if (ledger->count == ENTRIES_MAX)
        return;
    if (!ARRAY_RESERVE(ledger->entries, ledger->capacity, ledger->count + 1)) {
        ledger->failed = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ledger->entries[ledger->count++] =
        (struct ledger_entry){tsmith_dictionary_intern_cstr(dictionary, text), reason, lost, covers};
}

static bool write_entry(const struct ledger_entry *entry, struct gather *gather, uint32_t track, int64_t from,
                        int64_t span) {
    tsmith_batch *batch = gather_row(gather, track, 0, TSMITH_KIND_LOSS, from, 0);
    tsmith_status status = batch ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK && entry->covers && span >= 0)
        status = tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)span);
    if (status == TSMITH_OK && entry->lost)
        status = tsmith_batch_set(batch, TSMITH_FIELD_LOST, entry->lost);
    if (status == TSMITH_OK)
        status = tsmith_batch_set(batch, TSMITH_FIELD_REASON, entry->reason);
    if (status == TSMITH_OK)
        status = tsmith_batch_set(batch, TSMITH_FIELD_TEXT, entry->text);
    return status == TSMITH_OK;
}

bool ledger_write(struct ledger *ledger, tsmith_dictionary *dictionary, struct gather *gather) {
    int64_t from = gather->first_start, span = 0;
    if (!gather->any)
        span = -1; // no event has a time
    else if (__builtin_sub_overflow(gather->last_end, from, &span))
        span = 0;
    if (ledger->count) {
        tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                              .name = tsmith_dictionary_intern_cstr(dictionary, "import")};
        uint32_t id = tsmith_dictionary_add_track(dictionary, &track);
        for (size_t i = 0; i < ledger->count; i++)
            ledger->failed |= !write_entry(&ledger->entries[i], gather, id, from, span);
    }
    gather_flush(gather);
    return !ledger->failed;
}

void ledger_finish(struct ledger *ledger) {
    free(ledger->entries);
    *ledger = (struct ledger){0};
}
