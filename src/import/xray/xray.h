// SPDX-License-Identifier: Apache-2.0
// Logs of LLVM XRay: basic mode, versions 1 to 3, and flight data recorder mode, versions 1 to 5.
//
// xray.c opens the log and reads basic records; fdr.c reads the buffers of the recorder; calls.c pairs entries
// and exits per thread; map.c finds the names of functions in the program's instrumentation map.
#ifndef IMPORT_XRAY_XRAY_H
#define IMPORT_XRAY_XRAY_H

#include "event/gather.h"
#include "event/ledger.h"
#include "import/seekable.h"
#include "tracesmith/stream.h"

// ---- names (map.c)

struct xray_map {
    uint32_t *names; // by function id: string, 0: none
    uint32_t count;  // of ids, the first is 1
};

// Reads the map and the symbols of an ELF file. ERROR_FORMAT when it has no map.
tsmith_status xray_map_read(struct xray_map *map, tsmith_dictionary *dictionary, const char *path,
                            tsmith_error *error);

// ---- calls (calls.c)

enum xray_kind { XRAY_ENTER, XRAY_EXIT, XRAY_TAIL_EXIT, XRAY_ENTER_ARGUMENT };

enum { XRAY_ARGUMENTS_MAX = 6 };

struct xray_thread;

struct xray_record {
    enum xray_kind kind;
    int32_t function;
    uint64_t tsc;
    uint32_t cpu;
};

struct xray;

// The thread, made when it is new; NULL when there are too many or memory is exhausted.
struct xray_thread *xray_find_thread(struct xray *xray, uint32_t pid, uint32_t tid);
void xray_add_record(struct xray *xray, struct xray_thread *thread, const struct xray_record *record);
// An argument of the call that the thread has just entered.
void xray_add_argument(struct xray *xray, struct xray_thread *thread, uint64_t argument);
// A custom event, or one of a type (`type` >= 0).
void xray_add_event(struct xray *xray, struct xray_thread *thread, uint64_t tsc, uint32_t cpu, int32_t type,
                    const void *bytes, size_t size);
// Calls still open are reported without a duration.
void xray_end_calls(struct xray *xray);

// ---- the log (xray.c)

struct xray_header {
    uint16_t version, type; // type 0: basic, 1: flight data recorder
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   // Hz; 0: unknown
    uint64_t buffer_size; // of a version 1 recorder
};

// A buffer of the recorder: what one thread wrote into it.
struct xray_buffer {
    uint64_t offset, size, tsc;
    uint32_t pid, tid;
};

// What is known of a log besides itself, by who had it written.
struct xray_session {
    bool (*to_time)(void *context, uint64_t tick, int64_t *time); // false: not a time of the session
    void *context;
    size_t buffers; // that the recorder had; 0: not known
};

struct xray {
    tsmith_dictionary *dictionary;
    struct xray_session session; // zeroed: nothing is known
    char *name;
    struct seekable file;
    struct xray_header header;
    struct xray_map map;
    struct gather gather;
    struct ledger ledger;
    struct xray_thread **threads; // hash table by process and thread
    size_t thread_slots, thread_count, open_calls;
    uint32_t fields[8];

    uint64_t offset; // basic: of the next record
    uint8_t *window; // what is read at once
    struct xray_buffer *buffers;
    size_t buffer_count, buffer_capacity, buffer_at;

    uint64_t records, unmatched_entries, unmatched_exits, too_many, bad_records;
    bool over, failed, cut;
    tsmith_error stop;
};

int64_t xray_time(const struct xray *xray, uint64_t tsc);

bool xray_is(const struct import_place *place);
// `session` may be NULL.
tsmith_status xray_open(const struct import_place *place, const char *binary,
                        const struct xray_session *session, tsmith_source **out, tsmith_error *error);

// ---- the recorder (fdr.c)

enum { XRAY_HEADER = 32, XRAY_WINDOW = 1 << 20 };

// Finds the buffers and orders them by thread and time.
tsmith_status xray_fdr_index(struct xray *xray, tsmith_error *error);
// Reads the next buffer; false when there is none left.
bool xray_fdr_run(struct xray *xray);

#endif
