// SPDX-License-Identifier: Apache-2.0
// The collector: turns a session directory into batches. It finds the channels of the processes, takes the
// sub-buffers they hand over, turns records into rows by their shapes, and hands out batches. Live, it runs
// while the programs run; over a dead directory (recover) the same code reads what is left.
//
// Nothing in the directory is believed: a program that scribbles over its files, or truncates them, gets a damaged
// trace, not a crash of the collector. What other processes wrote is copied out (pread) before it is examined, and
// every word of the copy is checked on each use; the files of this process itself are read in place. What the collector
// changes in the files of others it changes by system calls (collect_shared.c), never through a mapping: truncating a
// file turns every access to a mapping of it into SIGBUS, and a library must not catch the signals of its process.
//
// A sub-buffer is freed only when everything that came from it has been handed out in a batch, and the
// consumer has come back for more: a collector that is killed loses nothing that is not in its sink.
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/builder.h"
#include "collect/device_clock.h"
#include "collect/journal.h"
#include "collect/session_clock.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"
#include "wire/layout.h"
#include "wire/process.h"
#include "wire/record.h"
#include "wire/ring_pool.h"

struct collector;

// What a word of a record becomes; a shape, checked and with the dictionary's ids.
struct collect_step {
    uint8_t encoding; // enum record_encoding
    bool zero_is_none;
    tsmith_type type;
    uint32_t field;
};
struct collect_plan {
    uint8_t kind;
    uint8_t role;
    uint8_t subject;
    uint8_t step_count;
    bool list;       // the last step is a list
    uint32_t number; // in the whole session, from 1
    // Steps + 1 that determine the device's clock: the bounds of its QUEUED; 0: none.
    uint8_t queued, not_before, not_after;
    struct collect_step steps[RECORD_MAX_FIELDS];
};

// A place in a ring: a sub-buffer, and a word in it + 1, so that 0 is the position before its first word. Everything
// before a collector's position has been read.
static inline uint64_t collect_at(uint64_t sequence, uint64_t word) {
    return sequence << 32 | word;
}
#define COLLECT_SUB_END 0xffffffffu // "word" of a sub-buffer that was read to its end and taken

// One slot of a channel: the ring of one thread after the other.
struct collect_ring {
    uint64_t position;  // up to which it was read, but for the sub-buffer being read
    uint64_t accounted; // recover: the collector that was killed had read up to here and reported its losses
    bool begun;         // recover: something of it was read
    uint64_t expected;  // ordinal of the next record, if none is lost
    uint64_t asked;     // records that the owner counted as attempted, up to the sub-buffer read last
    uint64_t last;      // tick of the end of what was read
    uint64_t sequence;  // of the sub-buffer read last, or in part
    uint32_t thread;    // dictionary's track
    uint32_t local_thread; // the same of the channel
    bool torn;             // its thread may have been about to write when the process ended
    uint32_t held;         // sub-buffers taken and not freed yet
    uint32_t peek_sub;     // the sub-buffer read in part, with its sequence; 0: none
    uint64_t peek_sequence;
    uint64_t peek_bytes;
    uint64_t peek_records;
};

struct collect_ids {
    uint32_t *items; // local id -> dictionary's; [0] is 0
    size_t capacity;
    uint32_t count; // ids there are, 0 included
};

// A module that the process reported, and a stack of its file; with their ids in the dictionary.
struct collect_module {
    uint64_t begin, end, bias, epoch;
    uint32_t id;
};
struct collect_stack {
    uint32_t number; // 0: an empty place
    uint32_t id;
};
// Frames met last, by their words.
enum { COLLECT_FRAMES = 4096, COLLECT_WORDS = 32 << 10 };
struct collect_frame {
    uint64_t word, epoch;
    uint32_t id; // 0: an empty place
};

// An API of a channel, as far as its ledger was read.
struct collect_api {
    uint64_t lost_seen[LAYOUT_REASONS];
    uint32_t lost_reported;
    int64_t lost_until; // trace time up to which losses were reported; 0: none was
    char name[LAYOUT_API_BYTES];
};

enum collect_channel_state { COLLECT_LIVE, COLLECT_GONE, COLLECT_DONE };

// One process, or a part of it where its agents do not share a channel.
struct collect_channel {
    char *name; // of the files, without suffix
    enum collect_channel_state state;
    bool alive;            // its process, at the last look
    bool last_scan;        // GONE, and the scan being read is the last
    bool removed;          // its files
    uint64_t done_serial;  // sub-buffer taken last when it was done
    uint32_t journal;      // its number there; UINT32_MAX: none
    bool shares;           // its process was known by another channel
    int64_t process_start; // recover: as it is in the file; 0: not known
    bool table_told;       // recover: that the table is damaged is in the file
    bool started, ended,
        final_losses; // recover: the process's start, its end, what was missing at its end are in the file
    struct layout_channel *head;             // a copy of the first page and the ledgers behind it
    struct collect_api apis[LAYOUT_LEDGERS]; // in the order in which they joined
    uint32_t api_count;
    struct layout_rings
        *rings; // a copy of LAYOUT_DATA_AT bytes, as far as they are in use; of `local` the rings themselves
    void *shared;       // of another process, live: the same part of the file, mapped for its addresses only
    bool live;          // the process is still running: what was copied is examined again
    bool files_damaged; // truncated or overwritten: its files are not looked at any more
    int table_fd, rings_fd;
    struct ring_pool *local; // the channel is this process's: its sub-buffers are read in place
    uint32_t sub_bytes;
    struct process_seen seen;
    bool elsewhere;   // process_is_elsewhere
    uint32_t process; // ids in the dictionary
    uint32_t process_track, loss_track;
    uint64_t table_read; // bytes of entries read
    bool table_bad;
    struct collect_ids strings, tracks, devices, fields;
    struct collect_plan *plans; // by shape id; [0] unused
    uint32_t plan_count;
    int stacks_fd;                  // -1: not opened, or there is none
    struct collect_module *modules; // in the order in which they were reported
    size_t module_capacity;
    uint32_t module_count;
    int64_t generated_looked;     // when it was looked for last
    uint32_t generated;           // the module of code that the process made itself; 0: not known
    struct collect_stack *stacks; // by number, a power of two places
    uint32_t stack_places, stack_count;
    struct collect_frame *frames; // COLLECT_FRAMES
    uint64_t *stack_words;        // COLLECT_WORDS: a piece of the file, from word stack_words_at
    uint64_t stack_words_at;
    uint32_t stack_words_count;       // 0: what is there is older than the records that are read
    struct collect_ring *ring_states; // by slot
    size_t ring_capacity;
    uint32_t ring_count;
    uint32_t held;   // sub-buffers taken and not freed yet
    int64_t checked; // trace time of the last look whether the process lives
    int end_status;  // wait status, when has_end_status
    bool has_end_status;
};

struct collect_totals {
    uint64_t asked;     // records the programs asked for
    uint64_t kept;      // of those, read
    uint64_t delivered; // of those, in batches that the consumer has taken
    uint64_t dropped;   // of those, not recorded or not readable
    uint64_t rings;
};

enum collect_mode {
    COLLECT_SESSION,     // live
    COLLECT_DEAD,        // recover: `control` is a private copy
    COLLECT_BEFORE_BOOT, // recover, and the machine was started anew since: its processes and ticks are gone
};

struct session_directory;

// Over a session directory, which stays the caller's.
tsmith_status collector_create(const struct session_directory *directory, enum collect_mode mode,
                               struct collector **out, tsmith_error *error);
// Recover, before the first batch: what is in the file that the collector wrote. The state stays the caller's.
void collector_skip(struct collector *collector, const struct journal_state *state);
void collector_destroy(struct collector *collector);

// OK with a batch, AGAIN when there is nothing at the moment, END when closing and all has been handed out.
tsmith_status collector_next(struct collector *collector, const tsmith_batch **out, tsmith_error *error);
// Whether what the programs record can stay where it is for a moment: the rings are far from full, no thread waits, nothing
// is new, and the last round is not long ago. Who asks leaves the processors to the programs meanwhile, whose bursts then
// end before they are worked on. Not while closing or settling.
bool collector_can_rest(const struct collector *collector);
tsmith_dictionary *collector_dictionary(struct collector *collector);
// No more is to come: what is there is drained, then END. Back to live with `closing` false.
void collector_set_closing(struct collector *collector, bool closing);
// While settling, a round looks at everything, hands everything out, and END is returned when nothing was left.
void collector_set_settling(struct collector *collector, bool settling);
// The program whose end is reported (other processes see the end of a child before its parent waits for it), and its end.
void collector_program_started(struct collector *collector, uint64_t pid);
void collector_program_ended(struct collector *collector, int wait_status);
// Processes that record and are alive as far as is known.
uint32_t collector_live_processes(struct collector *collector);
bool collector_delivered(const struct collector *collector);
struct collect_totals collector_totals(const struct collector *collector);
// The APIs seen, one by one: name and number of processes. False past the last.
bool collector_api(const struct collector *collector, size_t index, const char **name, uint32_t *processes);

#endif
