// SPDX-License-Identifier: Apache-2.0
// The batch source of XRay logs, and the reader of basic mode. formats.c and src/api/xray.c open it.
#include "import/xray/xray.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/plural.h"

enum { BASIC = 0, RECORDER = 1, RECORD = 32, BASIC_VERSION_MAX = 3, RECORDER_VERSION_MAX = 5 };

// ---- the header

static struct xray_header read_header(const uint8_t *bytes) {
    uint32_t bits = bytes_get_u32(bytes + 4);
    return (struct xray_header){.version = bytes_get_u16(bytes),
                                .type = bytes_get_u16(bytes + 2),
                                .constant_tsc = bits & 1,
                                .nonstop_tsc = bits >> 1 & 1,
                                .frequency = bytes_get_u64(bytes + 8),
                                .buffer_size = bytes_get_u64(bytes + 16)};
}

// There is no magic number: two small numbers, a frequency that a processor can have (the flags next to it have
// garbage in their unused bits), and the record that every such log begins with.
bool xray_is(const struct import_place *place) {
    uint8_t bytes[XRAY_HEADER + RECORD];
    size_t there = seekable_peek(place, bytes, sizeof bytes);
    if (there < XRAY_HEADER)
        return false;
    struct xray_header header = read_header(bytes);
    const uint8_t *first = bytes + XRAY_HEADER;
    bool basic = header.type == BASIC,
         frequency = header.frequency >= 1000 && header.frequency <= 1000000000000;
    if (header.type > RECORDER || header.version < 1 || !(frequency || header.frequency == 0) ||
        header.version > (basic ? BASIC_VERSION_MAX : RECORDER_VERSION_MAX))
        return false;
    if (there == XRAY_HEADER)
        return frequency;
    if (basic)
        return there == sizeof bytes && bytes_get_u16(first) == 0 && first[3] <= XRAY_ENTER_ARGUMENT;
    return first[0] == (header.version == 1 ? 0x01 : 0x0f); // NewBuffer, BufferExtents
}

int64_t xray_time(const struct xray *xray, uint64_t tsc) {
    int64_t known;
    if (xray->session.to_time && xray->session.to_time(xray->session.context, tsc, &known))
        return known;
    const uint64_t limit = (uint64_t)1 << 61; // 73 years, so that the difference of two times is a number
    uint64_t frequency = xray->header.frequency ? xray->header.frequency : 1000000000;
    unsigned __int128 time = (unsigned __int128)tsc * 1000000000 / frequency;
    return (int64_t)(time < limit ? (uint64_t)time : limit);
}

// ---- basic records

static void add_basic(struct xray *xray, const uint8_t *bytes) {
    uint16_t type = bytes_get_u16(bytes);
    bool argument = type == 1;
    size_t at = argument ? 8 : 16; // of thread and process
    uint32_t tid = bytes_get_u32(bytes + at),
             pid = xray->header.version >= 3 ? bytes_get_u32(bytes + at + 4) : 0;
    if (type > 1 || (!argument && bytes[3] > XRAY_ENTER_ARGUMENT)) {
        xray->bad_records++;
        return;
    }
    struct xray_thread *thread = xray_find_thread(xray, pid, tid);
    struct xray_record record = {(enum xray_kind)bytes[3], (int32_t)bytes_get_u32(bytes + 4),
                                 bytes_get_u64(bytes + 8), bytes[2]};
    if (!thread)
        xray->too_many++;
    else if (argument)
        xray_add_argument(xray, thread, bytes_get_u64(bytes + 16));
    else
        xray_add_record(xray, thread, &record);
}

static bool run_basic(struct xray *xray) {
    int64_t there = seekable_read(&xray->file, xray->offset, xray->window, XRAY_WINDOW);
    int64_t whole = there - there % RECORD;
    for (int64_t at = 0; at < whole; at += RECORD)
        add_basic(xray, xray->window + at);
    xray->cut |= there < 0 || (there < XRAY_WINDOW && there % RECORD);
    xray->offset += whole > 0 ? (uint64_t)whole : 0;
    return whole > 0;
}

// ---- the end

static void note_loss(struct xray *xray, uint64_t count, bool lost, tsmith_reason reason, const char *text) {
    if (count)
        ledger_note(&xray->ledger, xray->dictionary, reason, lost ? count : 0, lost, "%llu %s",
                    (unsigned long long)count, text);
}

static void end(struct xray *xray) {
    xray_end_calls(xray);
    note_loss(xray, xray->unmatched_entries, false, TSMITH_REASON_UNMATCHED,
              "calls that were entered and not left");
    note_loss(xray, xray->unmatched_exits, false, TSMITH_REASON_UNMATCHED,
              "exits of functions that were not entered");
    note_loss(xray, xray->too_many, true, TSMITH_REASON_TABLE_FULL,
              "records of more threads or calls than can be kept");
    note_loss(xray, xray->bad_records, true, TSMITH_REASON_CORRUPT, "places where records could not be read");
    if (xray->session.buffers && xray->buffer_count >= xray->session.buffers)
        ledger_note(
            &xray->ledger, xray->dictionary, TSMITH_REASON_OVERWRITTEN, 0, true,
            "all %zu buffers of XRay's recorder were used: calls that did not fit are not in the log, "
            "and their number is unknown",
            xray->session.buffers);
    if (!xray->header.frequency && !xray->session.to_time)
        ledger_note(&xray->ledger, xray->dictionary, TSMITH_REASON_NO_TIMING, 0, false,
                    "the log does not state the frequency of its clock: times are its ticks");
    if (xray->cut) {
        ledger_note(&xray->ledger, xray->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                    "the log ends within a record or buffer");
        (void)status_set_at(&xray->stop, TSMITH_TRUNCATED, xray->file.size, xray->records,
                            "%s: ends within a record or buffer; everything before it (%llu %s) was read",
                            xray->name, (unsigned long long)xray->records,
                            plural(xray->records, "record", "records"));
    }
    gather_flush(&xray->gather);
    xray->failed |= !ledger_write(&xray->ledger, xray->dictionary, &xray->gather);
    xray->over = true;
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct xray *xray = self;
    for (;;) {
        tsmith_status status = gather_take(&xray->gather, out);
        if (status != TSMITH_OK || xray->failed || tsmith_dictionary_failed(xray->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", xray->name);
        if (*out)
            return TSMITH_OK;
        if (xray->over) {
            if (xray->cut && error)
                *error = xray->stop;
            return xray->cut ? TSMITH_TRUNCATED : TSMITH_END;
        }
        while (!xray->over && !xray->failed && !gather_is_full(&xray->gather))
            if (!(xray->header.type == BASIC ? run_basic(xray) : xray_fdr_run(xray)))
                end(xray);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct xray *)self)->dictionary;
}

static void destroy(void *self) {
    struct xray *xray = self;
    xray_end_calls(xray);
    gather_finish(&xray->gather);
    ledger_finish(&xray->ledger);
    seekable_close(&xray->file);
    tsmith_dictionary_destroy(xray->dictionary);
    free(xray->buffers);
    free(xray->window);
    free(xray->map.names);
    free(xray->name);
    free(xray);
}

static void describe(struct xray *xray) {
    char text[160];
    const struct xray_header *header = &xray->header;
    (void)snprintf(
        text, sizeof text,
        "{\"version\":%u,\"type\":%u,\"constant_tsc\":%s,\"nonstop_tsc\":%s,\"cycle_frequency\":%" PRIu64 "}",
        header->version, header->type, header->constant_tsc ? "true" : "false",
        header->nonstop_tsc ? "true" : "false", header->frequency);
    tsmith_dictionary_set_attribute(xray->dictionary, "import.format",
                                    header->type == BASIC ? "xray-basic" : "xray-fdr");
    tsmith_dictionary_set_attribute(xray->dictionary, "trace.xray_header", text);
}

static tsmith_status prepare(struct xray *xray, const struct import_place *place, const char *binary,
                             tsmith_error *error) {
    uint8_t bytes[XRAY_HEADER];
    if (!(xray->name = strdup(place->name)) || !(xray->window = malloc(XRAY_WINDOW)) ||
        tsmith_dictionary_create(&xray->dictionary) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", place->name);
    if (seekable_read(&xray->file, 0, bytes, sizeof bytes) != sizeof bytes)
        return status_set_errno(error, "%s: cannot be read", place->name);
    xray->header = read_header(bytes);
    xray->offset = XRAY_HEADER;
    describe(xray);
    tsmith_status status = binary ? xray_map_read(&xray->map, xray->dictionary, binary, error) : TSMITH_OK;
    if (status == TSMITH_OK && !binary)
        ledger_note(
            &xray->ledger, xray->dictionary, TSMITH_REASON_UNTRACED, 0, false,
            "functions are numbers: give the program that wrote the log (--binary or TRACESMITH_BINARY)");
    if (status == TSMITH_OK && xray->header.type == RECORDER)
        status = xray_fdr_index(xray, error);
    return status;
}

tsmith_status xray_open(const struct import_place *place, const char *binary,
                        const struct xray_session *session, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct seekable file;
    tsmith_status status = seekable_open(&file, place, error);
    if (status != TSMITH_OK)
        return status;
    struct xray *xray = calloc(1, sizeof *xray);
    if (!xray) {
        seekable_close(&file);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", place->name);
    }
    xray->file = file;
    if (session)
        xray->session = *session;
    status = prepare(xray, place, binary, error);
    if (status == TSMITH_OK && tsmith_source_create(&ops, xray, out) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", place->name);
    if (status != TSMITH_OK)
        destroy(xray);
    return status;
}
