// SPDX-License-Identifier: Apache-2.0
// The packets of a data stream and the event records in them. A record becomes an event of kind marker, on the thread that its context names,
// else on a track of its stream. What cannot be decoded ends its packet: the next one begins where the length of the packet says.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "import/ctf/ctf.h"

enum { FIRST_BYTES = 64 << 10, RECORDS_PER_RUN = 1024 };
static const uint32_t MAGIC = 0xc1fc1fc1;

static void note_problem(struct ctf *ctf, const char *problem) {
    char text[300];
    (void)snprintf(text, sizeof text, "stream %.100s: %s, in event record %llu of it",
                   ctf->streams[ctf->stream_at].name, problem, (unsigned long long)ctf->records + 1);
    rows_source_cut(&ctf->rows, ctf->offset + ctf->bits.at / 8, text);
}

// The buffer has `bytes` of the stream, as far as there are so many.
static bool load(struct ctf *ctf, uint64_t bytes) {
    const struct ctf_stream *stream = &ctf->streams[ctf->stream_at];
    if (bytes > ctf->size - ctf->offset)
        bytes = ctf->size - ctf->offset;
    if (bytes > CTF_PACKET_MAX)
        bytes = CTF_PACKET_MAX;
    if (!ARRAY_RESERVE(ctf->buffer, ctf->buffer_capacity, (size_t)bytes + 1)) {
        ctf->rows.failed = true;
        return false;
    }
    for (ctf->have = 0; ctf->have < bytes;) {
        const ssize_t got = pread(stream->fd, ctf->buffer + ctf->have, (size_t)(bytes - ctf->have),
                                  (off_t)(ctf->offset + ctf->have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        ctf->have += (uint64_t)got;
    }
    ctf->bits = (struct ctf_bits){.bytes = (const uint8_t *)ctf->buffer, .end = ctf->have * 8};
    return ctf->have > 0;
}

// ---- times

static bool time_of(const struct ctf *ctf, uint64_t cycles, int64_t *out) {
    const struct ctf_clock *clock = ctf->stream_class->clock;
    if (!clock)
        return false;
    const __int128 billion = 1000000000,
                   all = (__int128)cycles + clock->cycles + (__int128)clock->seconds * clock->frequency;
    __int128 ns = all / clock->frequency * billion + all % clock->frequency * billion / clock->frequency;
    if (all < 0 && all % clock->frequency * billion % clock->frequency != 0)
        ns--;
    *out = ns > INT64_MAX / 4 ? INT64_MAX / 4 : ns < INT64_MIN / 4 ? INT64_MIN / 4 : (int64_t)ns;
    return true;
}

// ---- packets

static bool decode_root(struct ctf *ctf, struct ctf_class *root, const char *prefix) {
    const struct ctf_keep keep = {.prefix = prefix};
    return !root || ctf_decode(ctf, root, &keep, "", 0);
}

static const char *check_header(struct ctf *ctf) {
    const struct ctf_roles *roles = &ctf->roles;
    if (ctf->bits.problem)
        return ctf->bits.problem;
    if (roles->known[CTF_ROLE_MAGIC] && roles->values[CTF_ROLE_MAGIC] != MAGIC)
        return "a packet does not begin with its magic number";
    const uint64_t *found = table_find(
        &ctf->streams_by_id, roles->known[CTF_ROLE_STREAM_CLASS] ? roles->values[CTF_ROLE_STREAM_CLASS] : 0);
    if (!found)
        return "a packet is of a data stream that the metadata do not have";
    ctf->stream_class = (struct ctf_stream_class *)(uintptr_t)*found;
    return NULL;
}

static const char *decode_head(struct ctf *ctf) {
    memset(&ctf->roles, 0, sizeof ctf->roles);
    ctf->clock = 0;
    ctf->value_count = ctf->text_used = 0;
    ctf->elements = 0;
    ctf->stamp = ctf->packet_stamp =
        ctf->packet_stamp > ctf->record_stamp ? ctf->packet_stamp + 1 : ctf->record_stamp + 1;
    (void)decode_root(ctf, ctf->packet_header, NULL);
    const char *problem = check_header(ctf);
    if (problem)
        return problem;
    (void)decode_root(ctf, ctf->stream_class->context, "packet.");
    ctf->packet_values = ctf->value_count;
    return ctf->bits.problem;
}

// The rest of the packet, or of the stream, is missing.
static void lose_rest(struct ctf *ctf, bool of_stream) {
    const bool ends = !of_stream && ctf->roles.known[CTF_ROLE_END];
    ctf_note_loss(ctf, ctf->stream_track, ctf->last_time, ends ? ctf->last_end : INT64_MAX);
}

// Events that the tracer discarded since the packet before.
static void note_discarded(struct ctf *ctf, bool has_begin, int64_t begin, bool has_end, int64_t end) {
    const uint64_t count = ctf->roles.values[CTF_ROLE_DISCARDED] - (ctf->has_discarded ? ctf->discarded : 0);
    const int64_t from = ctf->has_discarded && ctf->last_end ? ctf->last_end : has_begin ? begin : 0;
    if (ctf->roles.known[CTF_ROLE_DISCARDED] && count && count < UINT64_MAX / 2) {
        const bool timed = has_end && end >= from;
        ctf_note_loss(ctf, ctf->stream_track, ctf->last_time, has_end ? end : INT64_MAX);
        tsmith_batch *batch = gather_row(&ctf->rows.gather, ctf->stream_track, 0, TSMITH_KIND_LOSS, from,
                                         timed ? end - from : 0);
        ctf->rows.failed |= !batch;
        if (!batch)
            return;
        (void)tsmith_batch_set(batch, TSMITH_FIELD_LOST, count);
        (void)tsmith_batch_set(batch, TSMITH_FIELD_REASON, TSMITH_REASON_RING_FULL);
        if (timed)
            (void)tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)(end - from));
    }
    // Begun anew, or of 32 bits and full: how many is not known.
    if (ctf->roles.known[CTF_ROLE_DISCARDED] && count >= UINT64_MAX / 2)
        ledger_note(&ctf->rows.ledger, ctf->rows.dictionary, TSMITH_REASON_RING_FULL, 0, true,
                    "stream %.100s: the counter of discarded records went back from %llu to %llu",
                    ctf->streams[ctf->stream_at].name, (unsigned long long)ctf->discarded,
                    (unsigned long long)ctf->roles.values[CTF_ROLE_DISCARDED]);
    if (ctf->roles.known[CTF_ROLE_DISCARDED]) {
        ctf->discarded = ctf->roles.values[CTF_ROLE_DISCARDED];
        ctf->has_discarded = true;
    }
}

static void note_packet(struct ctf *ctf) {
    int64_t begin = 0, end = 0;
    const bool has_begin = ctf->clock && time_of(ctf, ctf->clock, &begin),
               has_end =
                   ctf->roles.known[CTF_ROLE_END] && time_of(ctf, ctf->roles.values[CTF_ROLE_END], &end);
    note_discarded(ctf, has_begin, begin, has_end, end);
    const uint64_t number = ctf->roles.values[CTF_ROLE_SEQUENCE];
    if (ctf->roles.known[CTF_ROLE_SEQUENCE]) {
        // The first of a stream, too, may have been overwritten.
        if (number != (ctf->has_sequence ? ctf->sequence + 1 : 0))
            ctf_note_loss(ctf, ctf->stream_track, ctf->last_time,
                          !has_begin               ? INT64_MAX
                          : begin > ctf->last_time ? begin - 1
                                                   : ctf->last_time);
        if (ctf->has_sequence && number > ctf->sequence + 1)
            ledger_note(&ctf->rows.ledger, ctf->rows.dictionary, TSMITH_REASON_OVERWRITTEN, 0, true,
                        "stream %.100s lacks %llu packets", ctf->streams[ctf->stream_at].name,
                        (unsigned long long)(number - ctf->sequence - 1));
        ctf->sequence = number;
        ctf->has_sequence = true;
    }
    ctf->last_end = has_end ? end : ctf->last_end;
    ctf->last_time = has_begin && begin > ctf->last_time ? begin : ctf->last_time;
}

static void end_stream(struct ctf *ctf) {
    ctf->in_stream = ctf->in_packet = false;
    ctf->stream_at++;
}

static const char *set_lengths(struct ctf *ctf) {
    const struct ctf_roles *roles = &ctf->roles;
    const uint64_t left = (ctf->size - ctf->offset) * 8, at = ctf->bits.at;
    ctf->total = roles->known[CTF_ROLE_TOTAL]     ? roles->values[CTF_ROLE_TOTAL]
                 : roles->known[CTF_ROLE_CONTENT] ? roles->values[CTF_ROLE_CONTENT]
                                                  : left;
    const uint64_t content = roles->known[CTF_ROLE_CONTENT] ? roles->values[CTF_ROLE_CONTENT] : ctf->total;
    if (content > ctf->total || content < at || ctf->total % 8)
        return "the lengths of a packet contradict each other";
    if (ctf->total == 0 || content / 8 > CTF_PACKET_MAX)
        return "a packet is empty, or larger than 256 MiB";
    if (!load(ctf, (content + 7) / 8))
        return "a packet cannot be read";
    ctf->bits.at = at;
    ctf->bits.end = content < ctf->bits.end ? content : ctf->bits.end;
    if (ctf->total > left)
        note_problem(ctf, "the file ends within a packet");
    return NULL;
}

static void begin_packet(struct ctf *ctf) {
    const char *problem = NULL;
    if (ctf->offset >= ctf->size) {
        end_stream(ctf);
        return;
    }
    for (uint64_t bytes = FIRST_BYTES;; bytes *= 4) {
        problem = load(ctf, bytes) ? decode_head(ctf) : "a packet cannot be read";
        if (!problem || !ctf->bits.short_of || ctf->have < bytes)
            break;
    }
    if (!problem)
        problem = set_lengths(ctf);
    if (problem) {
        note_problem(ctf, problem);
        lose_rest(ctf, true);
        end_stream(ctf);
        return;
    }
    note_packet(ctf);
    ctf->in_packet = true;
}

static void end_packet(struct ctf *ctf) {
    ctf->in_packet = false;
    if (ctf->total / 8 > ctf->size - ctf->offset)
        lose_rest(ctf, true);
    if (ctf->roles.known[CTF_ROLE_END] && ctf->last_end > ctf->last_time)
        ctf->last_time = ctf->last_end;
    ctf->offset += ctf->total / 8;
}

// ---- records

static const struct ctf_value *value_of(const struct ctf *ctf, uint32_t field) {
    for (size_t i = 0; field && i < ctf->value_count; i++)
        if (ctf->values[i].field == field)
            return &ctf->values[i];
    return NULL;
}

static uint32_t track_of(struct ctf *ctf) {
    const struct ctf_value *tid = value_of(ctf, ctf->tid_field), *pid = value_of(ctf, ctf->pid_field);
    bool is_new;
    if (!tid)
        return ctf->stream_track;
    const uint64_t process_id = pid ? pid->bits : UINT64_MAX;
    uint64_t *process = table_add(&ctf->processes, process_id, &is_new);
    if (process && is_new && pid)
        *process = tsmith_dictionary_add_process(ctf->rows.dictionary, &(tsmith_process){.pid = process_id});
    uint64_t *slot = process ? table_add(&ctf->threads, table_hash(process_id) ^ tid->bits, &is_new) : NULL;
    if (slot && is_new) {
        const tsmith_track track = {
            .kind = TSMITH_TRACK_THREAD, .process = (uint32_t)*process, .tid = tid->bits};
        *slot = tsmith_dictionary_add_track(ctf->rows.dictionary, &track);
    }
    return slot ? (uint32_t)*slot : 0;
}

static void write_record(struct ctf *ctf, struct ctf_record_class *of) {
    int64_t time = 0;
    const bool timed = time_of(ctf, ctf->clock, &time);
    const uint32_t track = track_of(ctf);
    tsmith_batch *batch = track ? gather_row(&ctf->rows.gather, track, 0, TSMITH_KIND_MARKER, time, 0) : NULL;
    ctf->rows.failed |= !batch;
    if (!batch)
        return;
    if (of->name)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_NAME, of->name);
    if (!timed)
        (void)tsmith_batch_set(batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    for (size_t i = 0; i < ctf->value_count; i++)
        if (tsmith_batch_set_dynamic(batch, ctf->values[i].field, ctf->values[i].type, ctf->values[i].bits) ==
            TSMITH_ERROR_NO_MEMORY)
            ctf->rows.failed = true;
    if (timed) {
        ctf_note_side(ctf, of, track, time);
        ctf->last_time = time > ctf->last_time ? time : ctf->last_time;
    }
    ctf->records++;
}

static const char *read_record(struct ctf *ctf) {
    const uint64_t from = ctf->bits.at;
    ctf->stamp = ++ctf->record_stamp;
    if (ctf->record_stamp <= ctf->packet_stamp)
        ctf->stamp = ctf->record_stamp = ctf->packet_stamp + 1;
    ctf->value_count = ctf->packet_values;
    ctf->text_used = 0;
    ctf->elements = 0;
    ctf->roles.known[CTF_ROLE_RECORD_CLASS] = false;
    if (!decode_root(ctf, ctf->stream_class->header, NULL))
        return ctf->bits.problem;
    const uint64_t *found =
        table_find(&ctf->stream_class->records,
                   ctf->roles.known[CTF_ROLE_RECORD_CLASS] ? ctf->roles.values[CTF_ROLE_RECORD_CLASS] : 0);
    if (!found)
        return "a record has a class that the metadata do not have";
    struct ctf_record_class *of = (struct ctf_record_class *)(uintptr_t)*found;
    if (!decode_root(ctf, ctf->stream_class->common, "context.") ||
        !decode_root(ctf, of->specific, "context.") || !decode_root(ctf, of->payload, ""))
        return ctf->bits.problem;
    if (ctf->bits.at == from)
        return "a record has no bits";
    write_record(ctf, of);
    return NULL;
}

// ---- streams

static void begin_stream(struct ctf *ctf) {
    struct ctf_stream *stream = &ctf->streams[ctf->stream_at];
    struct stat stat;
    ctf->offset = ctf->records = 0;
    ctf->size = fstat(stream->fd, &stat) == 0 && stat.st_size > 0 ? (uint64_t)stat.st_size : 0;
    ctf->has_discarded = ctf->has_sequence = false;
    ctf->last_end = 0;
    ctf->last_time = INT64_MIN;
    const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM,
                                .name = tsmith_dictionary_intern_cstr(ctf->rows.dictionary, stream->name)};
    ctf->stream_track = tsmith_dictionary_add_track(ctf->rows.dictionary, &track);
    ctf->rows.failed |= !ctf->stream_track;
    ctf->in_stream = true;
}

void ctf_read_some(struct ctf *ctf) {
    if (!ctf->in_stream) {
        if (ctf->stream_at < ctf->stream_count)
            begin_stream(ctf);
        else if (!ctf_write_ranges(ctf, RECORDS_PER_RUN))
            rows_source_end(&ctf->rows, "event records");
        return;
    }
    if (!ctf->in_packet) {
        begin_packet(ctf);
        return;
    }
    for (int i = 0; i < RECORDS_PER_RUN && !ctf->rows.failed; i++) {
        if (ctf->bits.at >= ctf->bits.end) {
            end_packet(ctf);
            return;
        }
        const char *problem = read_record(ctf);
        if (problem) {
            note_problem(ctf, problem);
            lose_rest(ctf, false);
            rows_source_bad(&ctf->rows, ctf->offset + ctf->bits.at / 8);
            end_packet(ctf);
            return;
        }
    }
}
