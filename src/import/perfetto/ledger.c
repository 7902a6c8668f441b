// SPDX-License-Identifier: Apache-2.0
// What was wrong with a file and what of it was not read: events of kind LOSS, and attributes that count.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/perfetto/perfetto.h"

// Packets that hold events which are not read. X(field of TracePacket, "what")
#define UNREAD_TABLE(X)                                                                                      \
    X(2, "process lists")                                                                                    \
    X(5, "Chrome events of the oldest form")                                                                 \
    X(7, "system statistics")                                                                                \
    X(9, "process statistics")                                                                               \
    X(37, "heap profiles")                                                                                   \
    X(38, "battery counters")                                                                                \
    X(39, "Android log messages")                                                                            \
    X(40, "power rails")                                                                                     \
    X(46, "triggers")                                                                                        \
    X(57, "graphics frames")                                                                                 \
    X(62, "Vulkan memory events")                                                                            \
    X(63, "GPU log messages")                                                                                \
    X(65, "Vulkan API events")                                                                               \
    X(71, "GPU memory totals")                                                                               \
    X(73, "memory snapshots")                                                                                \
    X(74, "allocations")                                                                                     \
    X(75, "frees")                                                                                           \
    X(95, "Windows kernel events")                                                                           \
    X(117, "scheduler events")                                                                               \
    X(118, "CPU frequencies")                                                                                \
    X(129, "GPU frequencies")                                                                                \
    X(132, "journal entries")

#define UNREAD_KEY "packets_of_field_"

struct ledger {
    struct pf *pf;
    uint32_t track;
    bool spans; // there are events, so that the window is known
};

static void add_loss(struct ledger *ledger, tsmith_reason reason, uint64_t lost, const char *text) {
    struct pf *pf = ledger->pf;
    if (!ledger->track) {
        uint32_t index = pf_track_of_key(pf, UINT32_MAX, 0);
        if (!index)
            return;
        pf->tracks[index].entry.kind = TSMITH_TRACK_LOSS;
        pf->tracks[index].name = tsmith_dictionary_intern_cstr(pf->dictionary, "import");
        ledger->track = pf_track_id(pf, index);
    }
    int64_t start = pf->gather.first_start, span;
    if (__builtin_sub_overflow(pf->gather.last_end, start, &span))
        span = 0;
    tsmith_batch *batch = gather_row(&pf->gather, ledger->track, 0, TSMITH_KIND_LOSS, start, span);
    if (!batch)
        return;
    tsmith_status status = TSMITH_OK;
    if (ledger->spans)
        status = tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)span);
    if (lost && status == TSMITH_OK)
        status = tsmith_batch_set(batch, TSMITH_FIELD_LOST, lost);
    if (status == TSMITH_OK)
        status = tsmith_batch_set(batch, TSMITH_FIELD_REASON, (uint64_t)reason);
    if (status == TSMITH_OK)
        status =
            tsmith_batch_set(batch, TSMITH_FIELD_TEXT, tsmith_dictionary_intern_cstr(pf->dictionary, text));
    pf->failed |= status != TSMITH_OK;
}

static void count(struct pf *pf, const char *what, uint64_t number) {
    char key[128], value[24];
    (void)snprintf(key, sizeof key, "import.%s", what);
    (void)snprintf(value, sizeof value, "%" PRIu64, number);
    tsmith_dictionary_set_attribute(pf->dictionary, key, value);
}

// NO_TIME is counted as "no_time".
static void write_key(char key[32], const char *name) {
    size_t length = 0;
    for (; name[length] && length < 31; length++)
        key[length] = (char)(name[length] | (name[length] == '_' ? 0 : 0x20));
    key[length] = '\0';
}

static void put_problems(struct ledger *ledger) {
    static const struct {
        const char *attribute, *text;
        tsmith_reason reason;
        bool lost;
    } rows[PF_PROBLEM_COUNT] = {
#define ROW(NAME, lost, reason, text) [PF_PROBLEM_##NAME] = {#NAME, text, reason, lost},
        PF_PROBLEM_TABLE(ROW)
#undef ROW
    };
    struct pf *pf = ledger->pf;
    for (int i = 0; i < PF_PROBLEM_COUNT; i++) {
        if (!pf->problems[i])
            continue;
        char key[32];
        write_key(key, rows[i].attribute);
        count(pf, key, pf->problems[i]);
        // Dropped by the recorder, or behind the end of the file: how many is not known. An end before the begin: all are there,
        // and how long they lasted is not known.
        if (rows[i].lost || i == PF_PROBLEM_DROPPED || i == PF_PROBLEM_CUT || i == PF_PROBLEM_BACKWARDS)
            add_loss(ledger, rows[i].reason, rows[i].lost ? pf->problems[i] : 0, rows[i].text);
    }
}

static void put_unread(struct ledger *ledger) {
    static const struct {
        uint32_t field;
        const char *what;
    } known[] = {
#define ROW(field, what) {field, what},
        UNREAD_TABLE(ROW)
#undef ROW
    };
    struct pf *pf = ledger->pf;
    char text[96];
    for (uint32_t field = 0; field < sizeof pf->unread / sizeof *pf->unread; field++) {
        const char *what = NULL;
        if (!pf->unread[field])
            continue;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (known[i].field == field)
                what = known[i].what;
        (void)snprintf(text, sizeof text, UNREAD_KEY "%" PRIu32, field);
        count(pf, text, pf->unread[field]);
        (void)snprintf(text, sizeof text, "%s are not read from Perfetto traces", what ? what : "");
        if (what)
            add_loss(ledger, TSMITH_REASON_UNTRACED, pf->unread[field], text);
    }
}

void pf_write_ledger(struct pf *pf) {
    struct ledger ledger = {.pf = pf, .spans = pf->gather.any};
    put_problems(&ledger);
    put_unread(&ledger);
    if (pf->ftrace_events) {
        count(pf, "ftrace_events", pf->ftrace_events);
        add_loss(&ledger, TSMITH_REASON_UNTRACED, pf->ftrace_events,
                 "kernel events (ftrace: scheduling, GPU, ...) are not read from Perfetto traces");
    }
}

const char *pf_problem_doc(const char *attribute) {
    static const struct {
        const char *name, *text;
    } rows[] = {
#define ROW(NAME, lost, reason, text) {#NAME, text},
        PF_PROBLEM_TABLE(ROW)
#undef ROW
    };
    static const struct {
        const char *key, *text;
    } unread[] = {
#define ROW(field, what) {UNREAD_KEY #field, what ", which are not read"},
        UNREAD_TABLE(ROW)
#undef ROW
            {"ftrace_events", "kernel events (ftrace: scheduling, GPU, ...), which are not read"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char key[32];
        write_key(key, rows[i].name);
        if (strcmp(key, attribute) == 0)
            return rows[i].text;
    }
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (strcmp(unread[i].key, attribute) == 0)
            return unread[i].text;
    return NULL;
}
