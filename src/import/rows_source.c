// SPDX-License-Identifier: Apache-2.0
// The source around importers that read record by record (torch_et, ncu).
#include "import/rows_source.h"

#include <stdlib.h>

#include "base/status.h"

void rows_source_cut(struct rows_source *rows, uint64_t offset, const char *why) {
    if (rows->damaged)
        return;
    rows->damaged = true;
    ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_CORRUPT, 0, true, "%s (at byte %llu)", why,
                (unsigned long long)offset);
    (void)status_set_at(&rows->stop, TSMITH_TRUNCATED, offset, UINT64_MAX,
                        "%s: %s (at byte %llu); everything readable was read", rows->name, why,
                        (unsigned long long)offset);
}

void rows_source_reject(struct rows_source *rows, uint64_t offset, const char *why) {
    (void)status_set_at(&rows->stop, TSMITH_ERROR_FORMAT, offset, UINT64_MAX, "%s: %s (at byte %llu)",
                        rows->name, why, (unsigned long long)offset);
    rows->rejected = rows->over = true;
}

static void check_rest(struct rows_source *rows) {
    const uint64_t at = rows->input.offset + rows->input.begin;
    bool spaces = true;
    const tsmith_status status = input_drain(&rows->input, &spaces, NULL);
    if (status < 0 || rows->input.cut)
        rows_source_cut(rows, at,
                        rows->input.problem ? rows->input.problem : "the compressed data is damaged");
    else if (!spaces)
        rows_source_cut(rows, at, "the file continues after its end; that part was not read");
}

void rows_source_end(struct rows_source *rows, const char *records) {
    if (rows->rejected)
        return;
    check_rest(rows);
    if (rows->bad)
        ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_CORRUPT, rows->bad, true,
                    "%llu %s that could not be read, the first at byte %llu", (unsigned long long)rows->bad,
                    records, (unsigned long long)rows->bad_at);
    gather_flush(&rows->gather);
    rows->failed |= !ledger_write(&rows->ledger, rows->dictionary, &rows->gather);
    rows->over = true;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rows_source *rows = self;
    for (;;) {
        const tsmith_status status = gather_take(&rows->gather, out);
        if (status != TSMITH_OK || rows->failed || tsmith_dictionary_failed(rows->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", rows->name);
        if (*out)
            return TSMITH_OK;
        if (rows->over) {
            if ((rows->damaged || rows->rejected) && error)
                *error = rows->stop;
            return rows->rejected ? TSMITH_ERROR_FORMAT : rows->damaged ? TSMITH_TRUNCATED : TSMITH_END;
        }
        while (!rows->over && !rows->failed && !gather_is_full(&rows->gather))
            rows->run(rows);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct rows_source *)self)->dictionary;
}

static void destroy(void *self) {
    struct rows_source *rows = self;
    gather_finish(&rows->gather);
    ledger_finish(&rows->ledger);
    input_close(&rows->input);
    tsmith_dictionary_destroy(rows->dictionary);
    free(rows->name);
    rows->release(rows);
}

tsmith_status rows_source_no_memory(struct input *input, char *name, tsmith_error *error) {
    (void)status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    input_close(input);
    free(name);
    return TSMITH_ERROR_NO_MEMORY;
}

tsmith_status rows_source_open(struct rows_source *rows, struct input *input, char *name, const char *format,
                               tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    rows->name = name;
    rows->input = *input;
    tsmith_status status = tsmith_dictionary_create(&rows->dictionary);
    if (status == TSMITH_OK) {
        tsmith_dictionary_set_attribute(rows->dictionary, "import.format", format);
        status = tsmith_source_create(&ops, rows, out);
    }
    if (status != TSMITH_OK) {
        (void)status_set(error, status, "%s: out of memory", name);
        destroy(rows);
    }
    return status;
}
