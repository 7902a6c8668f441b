// SPDX-License-Identifier: Apache-2.0
// The file as packets, one after the other, and each to whom it concerns.
#include "import/perfetto/perfetto.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"

enum {
    PACKET = 1,
    LOOK = 192,              // bytes that are examined to detect the format
    UNPACKED_MAX = 64 << 20, // of a packet of compressed packets
    PACKETS_PER_RUN = 256
};

// ---- whether it is one

static bool is_message(const struct proto_field *field) {
    struct proto_in in = proto_within(field);
    struct proto_field part;
    while (proto_next(&in, &part))
        ;
    return !in.bad;
}

// A packet has one message, numbers, and interned data. Other protobuf files have numbers where packets
// have messages (pprof), or several messages (XPlane).
static bool is_packet_field(const struct proto_field *field, unsigned *messages) {
    enum { INTERNED = 12, DEFAULTS = 59, SHARED = 6, TESTS = 900, LAST = 2000 };
    static const uint16_t numbers[] = {3, 8, 10, 13, 41, 42, 58, 79, 87, 98};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (field->number == numbers[i])
            return field->wire == PROTO_VARINT;
    if (field->number >= TESTS)
        return field->number <= LAST;
    *messages += field->number != INTERNED && field->number != DEFAULTS;
    // Higher numbers may be bytes that are no message.
    return field->wire == PROTO_BYTES && *messages <= 1 && (field->number > SHARED || is_message(field));
}

// Packets begin with what is in every trace; the length of the first leads to the next.
bool pf_is(struct input *input) {
    while (input->end - input->begin < LOOK && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    size_t have = input->end - input->begin;
    struct proto_in in = proto_in(input->window + input->begin, have);
    struct proto_field field;
    uint64_t length;
    if (have < 2 || *in.at++ != (PACKET << 3 | PROTO_BYTES) || !proto_get_varint(&in, &length) || length < 2)
        return false;
    bool whole = length <= (uint64_t)(in.end - in.at);
    struct proto_in packet = proto_in(in.at, whole ? (size_t)length : (size_t)(in.end - in.at));
    bool any = !whole && have >= LOOK; // the first field may be longer than what is here
    unsigned messages = 0;
    while (proto_next(&packet, &field)) {
        if (!is_packet_field(&field, &messages))
            return false;
        any = true;
    }
    if (whole)
        return any && !packet.bad &&
               ((size_t)(in.end - in.at) == length || in.at[length] == (PACKET << 3 | PROTO_BYTES));
    // Only its beginning is here. That much is no JSON after a line feed, whose '{' would be the length 123.
    return have >= LOOK && any;
}

// ---- packets

struct packet {
    uint64_t timestamp, clock, sequence_id, flags, dropped, process_pid;
    bool has_timestamp, has_clock, cleared, has_process;
    struct proto_field data, interned, defaults, thread;
};

static void read_packet_field(struct packet *packet, const struct proto_field *field) {
    switch (field->number) {
    case 8:
        packet->timestamp = field->value;
        packet->has_timestamp = true;
        break;
    case 10:
        packet->sequence_id = field->value;
        break;
    case 12:
        packet->interned = *field;
        break;
    case 13:
        packet->flags = field->value;
        break;
    case 41:
        packet->cleared = field->value != 0;
        break;
    case 42:
        packet->dropped = field->value;
        break;
    case 58:
        packet->clock = field->value;
        packet->has_clock = true;
        break;
    case 59:
        packet->defaults = *field;
        break;
    case 3:
    case 16:
    case 79:
    case 87:
    case 98:
        break; // who wrote it
    default:
        packet->data = *field;
    }
}

static void read_packets(struct pf *pf, struct proto_in in, bool unpacked);

static void read_compressed(struct pf *pf, const struct proto_field *field, bool unpacked) {
    size_t capacity = 1 << 20, used = 0;
    char *bytes = unpacked ? NULL : malloc(capacity);
    bool done = false, bad = !bytes;
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)field->bytes, .avail_in = (uInt)field->length};
    if (!bad && inflateInit(&stream) != Z_OK)
        bad = true;
    while (!bad && !done) {
        if (used == capacity && (capacity >= UNPACKED_MAX || !ARRAY_RESERVE(bytes, capacity, capacity * 2))) {
            bad = true;
            break;
        }
        stream.next_out = (Bytef *)bytes + used;
        stream.avail_out = (uInt)(capacity - used);
        int result = inflate(&stream, Z_NO_FLUSH);
        used = capacity - stream.avail_out;
        done = result == Z_STREAM_END;
        bad = !done && (result != Z_OK || (stream.avail_in == 0 && stream.avail_out));
    }
    if (bytes)
        (void)inflateEnd(&stream);
    if (bad)
        pf_problem(pf, PF_PROBLEM_BAD_COMPRESSION);
    if (used)
        read_packets(pf, proto_in(bytes, used), true);
    free(bytes);
}

static void read_zstd(struct pf *pf, const struct proto_field *field, bool unpacked) {
    unsigned long long size = ZSTD_getFrameContentSize(field->bytes, field->length);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN)
        size = UNPACKED_MAX;
    char *bytes = unpacked || size > UNPACKED_MAX ? NULL : malloc(size ? size : 1);
    size_t used = bytes ? ZSTD_decompress(bytes, size, field->bytes, field->length) : 0;
    if (!bytes || ZSTD_isError(used))
        pf_problem(pf, PF_PROBLEM_BAD_COMPRESSION);
    else
        read_packets(pf, proto_in(bytes, used), true);
    free(bytes);
}

// Kernel events: how many, and whether the kernel lost some.
static void count_ftrace(struct pf *pf, struct proto_in in) {
    enum { EVENT = 2, LOST = 3, COMPACT = 4, SWITCHES = 1, WAKINGS = 7 };
    struct proto_field field, part;
    uint64_t time;
    while (proto_next(&in, &field)) {
        if (field.number == EVENT)
            pf->ftrace_events++;
        if (field.number == LOST && field.value)
            pf_problem(pf, PF_PROBLEM_DROPPED);
        if (field.number != COMPACT || field.wire != PROTO_BYTES)
            continue;
        struct proto_in compact = proto_within(&field);
        while (proto_next(&compact, &part)) {
            struct proto_in times = proto_within(&part);
            while ((part.number == SWITCHES || part.number == WAKINGS) && part.wire == PROTO_BYTES &&
                   proto_get_varint(&times, &time))
                pf->ftrace_events++;
        }
    }
}

static int64_t time_of(struct pf *pf, struct pf_sequence *sequence, const struct packet *packet) {
    uint64_t clock = packet->has_clock ? packet->clock : sequence->clock ? sequence->clock : pf->trace_clock;
    return pf_time(pf, sequence, clock, packet->timestamp);
}

// The thread of the sequence, in the older form of track events.
static void read_thread(struct pf *pf, struct pf_sequence *sequence, struct proto_in in) {
    sequence->thread = pf_read_thread(pf, in, &sequence->delta_us);
}

static void read_data(struct pf *pf, struct pf_sequence *sequence, const struct packet *packet,
                      bool unpacked) {
    struct proto_in in = proto_within(&packet->data);
    int64_t time = packet->has_timestamp ? time_of(pf, sequence, packet) : 0;
    switch (packet->data.number) {
    case 1:
        count_ftrace(pf, in);
        break;
    case 2:
        pf_read_process_tree(pf, in);
        break;
    case 6:
        pf_read_clocks(pf, packet->sequence_id ? sequence : NULL, in);
        break;
    case 11:
        pf_read_event(pf, sequence, in, packet->has_timestamp, time);
        break;
    case 43:
        (void)pf_read_process(pf, in);
        break;
    case 44:
        read_thread(pf, sequence, in);
        break;
    case 50:
        read_compressed(pf, &packet->data, unpacked);
        break;
    case 133:
        read_zstd(pf, &packet->data, unpacked);
        break;
    case 52:
        pf_read_gpu_counters(pf, in, packet->has_timestamp, time);
        break;
    case 53:
        pf_read_render_stage(pf, sequence, in, packet->has_timestamp, time);
        break;
    case 54:
        pf_read_streaming(pf, sequence, in, packet->has_timestamp, time);
        break;
    case 61:
        pf_read_module_symbols(pf, in);
        break;
    case 66:
    case 135:
        if (!packet->has_timestamp)
            pf_problem(pf, PF_PROBLEM_NO_TIME);
        else if (packet->data.number == 66)
            pf_read_perf_sample(pf, sequence, in, time);
        else
            pf_read_stack_sample(pf, sequence, in, time);
        break;
    case 60:
        pf_read_track(pf, in);
        break;
    case 126:
        pf_read_attributes(pf, in);
        break;
    default:
        pf->unread[packet->data.number < 1024 ? packet->data.number : 0]++;
    }
}

// A sequence that lost packets cannot know any more what its numbers mean.
static void note_drop(struct pf *pf, struct pf_sequence *sequence, const struct packet *packet) {
    if (packet->dropped && sequence->seen)
        pf_problem(pf, PF_PROBLEM_DROPPED);
    if (packet->dropped && sequence->seen)
        sequence->valid = false;
    sequence->seen = true;
}

static void read_packet(struct pf *pf, struct proto_in in, bool unpacked) {
    enum { CLEARED = 1, NEEDS_STATE = 2 };
    struct packet packet = {.timestamp = 0};
    struct proto_field field;
    while (proto_next(&in, &field))
        read_packet_field(&packet, &field);
    if (in.bad) {
        pf_problem(pf, PF_PROBLEM_MALFORMED);
        return;
    }
    struct pf_sequence *sequence = pf_sequence(pf, packet.sequence_id);
    if (!sequence) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY);
        return;
    }
    note_drop(pf, sequence, &packet);
    if (packet.cleared || packet.flags & CLEARED)
        pf_clear_sequence(pf, sequence);
    if (packet.defaults.wire == PROTO_BYTES)
        pf_read_defaults(pf, sequence, proto_within(&packet.defaults));
    if (packet.interned.wire == PROTO_BYTES && sequence->valid)
        pf_read_interned(pf, sequence, proto_within(&packet.interned));
    if (packet.flags & NEEDS_STATE && !sequence->valid)
        pf_problem(pf, PF_PROBLEM_NO_STATE);
    else if (packet.data.wire == PROTO_BYTES)
        read_data(pf, sequence, &packet, unpacked);
}

static void read_packets(struct pf *pf, struct proto_in in, bool unpacked) {
    struct proto_field field;
    while (!pf->failed && proto_next(&in, &field))
        if (field.number == PACKET && field.wire == PROTO_BYTES)
            read_packet(pf, proto_within(&field), unpacked);
    if (in.bad)
        pf_problem(pf, PF_PROBLEM_MALFORMED);
}

// ---- the file

static tsmith_status note_cut(struct pf *pf, const char *what) {
    struct input *input = &pf->input;
    return status_set_at(&pf->stop, TSMITH_TRUNCATED, input->offset + input->begin, UINT64_MAX,
                         "%s: %s; everything before was read", pf->name, what);
}

// Skips `length` bytes, which need not be in the window yet. False when the file ends before.
static bool skip(struct input *input, uint64_t length) {
    for (;;) {
        uint64_t have = input->end - input->begin;
        if (length <= have) {
            input->begin += (size_t)length;
            return true;
        }
        length -= have;
        input->begin = input->end;
        if (input_more(input, NULL) != TSMITH_OK)
            return false;
    }
}

// The bytes after the last whole packet.
static tsmith_status end_of_file(struct pf *pf) {
    struct input *input = &pf->input;
    if (input->cut)
        return note_cut(pf, input->problem ? input->problem : "the file stops early");
    return input->begin == input->end ? TSMITH_END : note_cut(pf, "the file ends within a packet");
}

// One field of the file. OK, END, TRUNCATED, or a failure to read.
static tsmith_status read_one(struct pf *pf) {
    struct input *input = &pf->input;
    for (;;) {
        struct proto_in in = proto_in(input->window + input->begin, input->end - input->begin);
        const uint8_t *from = in.at;
        struct proto_field field;
        if (proto_next(&in, &field)) {
            if (field.number == PACKET && field.wire == PROTO_BYTES)
                read_packet(pf, proto_within(&field), false);
            else
                pf->unread[0]++;
            input->begin += (size_t)(in.at - from);
            return TSMITH_OK;
        }
        tsmith_status status = input_more(input, &pf->stop);
        if (status == TSMITH_OK)
            continue;
        if (status == TSMITH_END)
            return end_of_file(pf);
        if (status != TSMITH_ERROR_LIMIT)
            return status;
        // Longer than the window may be, or no field at all.
        uint64_t tag, length;
        in = proto_in(input->window + input->begin, input->end - input->begin);
        if (!proto_get_varint(&in, &tag) || (tag & 7) != PROTO_BYTES || !proto_get_varint(&in, &length))
            return note_cut(pf, "no packet begins here");
        pf_problem(pf, PF_PROBLEM_TOO_LARGE);
        uint64_t head = (uint64_t)(in.at - (const uint8_t *)input->window) - input->begin;
        if (length > UINT64_MAX - head || !skip(input, head + length))
            return note_cut(pf, "the file ends within a packet");
        return TSMITH_OK;
    }
}

static void end(struct pf *pf, tsmith_status status) {
    pf->over = true;
    pf->ended = status;
    if (status == TSMITH_TRUNCATED)
        pf_problem(pf, PF_PROBLEM_CUT);
    pf_end_events(pf);
    pf_write_ledger(pf);
    gather_flush(&pf->gather);
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct pf *pf = self;
    for (;;) {
        tsmith_status status = gather_take(&pf->gather, out);
        if (status == TSMITH_OK && *out)
            pf_write_dictionary(pf);
        if (status != TSMITH_OK || pf->failed || tsmith_dictionary_failed(pf->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", pf->name);
        if (*out)
            return TSMITH_OK;
        if (pf->over) {
            pf_write_dictionary(pf);
            if (pf->ended == TSMITH_TRUNCATED && error)
                *error = pf->stop;
            return pf->ended;
        }
        for (int i = 0; i < PACKETS_PER_RUN && status == TSMITH_OK && !gather_is_full(&pf->gather); i++)
            status = read_one(pf);
        if (status < 0) {
            if (error)
                *error = pf->stop;
            return status;
        }
        if (status != TSMITH_OK)
            end(pf, status);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct pf *)self)->dictionary;
}

static void destroy(void *self) {
    struct pf *pf = self;
    if (!pf)
        return;
    gather_finish(&pf->gather);
    pf_tracks_finish(pf);
    pf_state_finish(pf);
    pf_stacks_finish(pf);
    pf_event_finish(&pf->event);
    input_close(&pf->input);
    tsmith_dictionary_destroy(pf->dictionary);
    free(pf->scratch);
    free(pf->name);
    free(pf);
}

// Reads the first packets. A file of TraceSmith states that in the first one, and the trace's origin before any
// track.
static tsmith_status begin(struct pf *pf, tsmith_error *error) {
    tsmith_status status = read_one(pf);
    while (status == TSMITH_OK && pf->ours && pf->track_count == 0)
        status = read_one(pf);
    if (status < 0) {
        if (error)
            *error = pf->stop;
        return status;
    }
    if (!pf->ours)
        pf->verbatim = true;
    // A file of TraceSmith states the trace's earlier origin: that stays its origin.
    const char *format = pf->ours ? "perfetto-tracesmith" : "perfetto";
    tsmith_dictionary_set_attribute(pf->dictionary, "import.file", format);
    if (!tsmith_dictionary_find_attribute(pf->dictionary, "import.format").bytes)
        tsmith_dictionary_set_attribute(pf->dictionary, "import.format", format);
    if (status != TSMITH_OK)
        end(pf, status);
    return TSMITH_OK;
}

tsmith_status pf_open_input(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct pf *pf = calloc(1, sizeof *pf);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!pf) {
        input_close(input);
        free(name);
        return status_set(error, status, "out of memory");
    }
    pf->input = *input;
    pf->name = name;
    pf->trace_clock = PF_CLOCK_BOOTTIME;
    if (tsmith_dictionary_create(&pf->dictionary) == TSMITH_OK)
        status = begin(pf, error);
    if (status == TSMITH_OK && tsmith_source_create(&ops, pf, out) == TSMITH_OK)
        return TSMITH_OK;
    if (status == TSMITH_OK || status == TSMITH_ERROR_NO_MEMORY)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    destroy(pf);
    return status;
}
