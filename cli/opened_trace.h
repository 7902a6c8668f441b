// SPDX-License-Identifier: Apache-2.0
// A trace of any format opened for a command that answers from it: the one place that reports its problems.
#ifndef CLI_OPENED_TRACE_H
#define CLI_OPENED_TRACE_H

#include <stdbool.h>

#include "cli/present/text.h"
#include "tracesmith/trace.h"
#include "tracesmith/view.h"

struct trace {
    const char *path;     // as messages have it
    tsmith_trace *opened; // NULL: `file` is all there is
    tsmith_sbt *file;
    const tsmith_dictionary *dictionary;
    tsmith_sbt_summary summary;
    bool is_whole; // as far as is known: damage is found when a frame is read
};

// Whether an answer may be written over what is at `path`: it is new, empty, a trace, or no regular file at all.
// Complains where it may not.
bool trace_may_replace(const char *path);

// The program that wrote the traces opened from here on (--binary); NULL: none given.
void trace_set_binary(const char *path);
const char *trace_binary(void);

// Import every foreign trace anew, and keep nothing of it.
void trace_no_cache(void);

// The traces opened from here on are for the analyses of these names only.
void trace_set_needs(const char *const *names, size_t count);

// Start no thread to read the traces opened from here on: other processes read others.
void trace_use_one_thread(void);

// Where imported traces are kept; NULL: nowhere. `path` is room for the name.
const char *trace_cache_folder(struct text *path);

// Whether it is a directory, which is not a trace; prints an error, with the remedy for a recording.
bool trace_is_directory(const char *path);

// Opens ("-": standard input) and summarizes; the exit code (EXIT_DONE, or a failure that was complained about).
int trace_open(const char *path, struct trace *out);
void trace_close(struct trace *trace);

// Notices of the agents to readers of the trace, one line each, each once (attributes "notice.<api>"). False past
// the last; *at begins at 0.
bool trace_notice(const tsmith_dictionary *dictionary, uint32_t *at, tsmith_string *out);
// The next number that the import of the trace counted (attribute "import.odd_time": "3"). False past the last; *at begins at 0.
struct import_count {
    tsmith_string number;
    const char *key, *what; // "odd_time", and what the number is of; NULL: it is not known
};
bool trace_import_count(const struct trace *trace, uint32_t *at, struct import_count *out);
// Takes up what reading the events has shown of damage.
void trace_refresh(struct trace *trace);
// After the answer: reports on stderr the trace's losses and the damage of the file, and gives the exit
// code that follows from it.
int trace_report(struct trace *trace);

// What is missing, by the ledger.
struct losses {
    uint64_t by_reason[TSMITH_REASON_LIMIT]; // 0: of a reason that is not known
    uint64_t uncounted;                      // entries without a number
    uint64_t absent;                         // entries that name kinds of data that the source does not have
};

// Adds the losses of a batch.
void losses_add(struct losses *losses, const tsmith_batch *batch);
// Reports it on stderr, for the trace at `path`.
void losses_complain(const struct losses *losses, const char *path);

uint64_t trace_lost(const struct trace *trace);
// Call stacks that are missing, or not whole, by the ledger.
uint64_t trace_stacks_incomplete(const struct trace *trace);
// Entries of the ledger without a number: of what was lost, and of what its source does not have, which is no loss.
struct losses trace_uncounted_losses(const struct trace *trace);
// "an unknown number of events was lost", or the text of these entries; "" if there are none.
const char *losses_uncounted_text(const struct losses *losses);
// The number of kernels and transfers, and of those with times. False if the file does not have it.
bool trace_timed(const struct trace *trace, uint64_t *timed, uint64_t *all);
// "sbt", "chrome-json"...: what was opened.
const char *trace_format(const struct trace *trace);
bool trace_is_foreign(const struct trace *trace);
// Bytes of the file that was opened; 0 of a pipe.
uint64_t trace_bytes(const struct trace *trace);
int64_t trace_duration(const struct trace *trace); // from the first start to the last end, ns

// The members every JSON answer begins with (no braces): trace, format, version (of .sbt), first_start, last_end,
// duration_ns.
void trace_add_json_head(struct text *text, const struct trace *trace);
// And those that are known once everything was read: complete, damaged_frames, lost...
void trace_add_json_state(struct text *text, const struct trace *trace);
// "processes":[...],"devices":[...],"tracks":[...]
void trace_add_json_tables(struct text *text, const struct trace *trace);
// "rank":..., and what else is known of it (no braces)
void trace_add_json_rank(struct text *text, const struct trace *trace, const tsmith_rank *rank);
// {"id":NUMBER,"name":...}
void trace_add_json_device(struct text *text, const struct trace *trace, uint32_t id, uint32_t number);

// The name of a track (tsmith_track_name) and its distinguishing suffix, without the parts in other columns (`without`,
// of TSMITH_LABEL_...). Where it is wider than `columns` (0: no limit) the name is cut. Safe for a terminal.
size_t trace_add_track_label(struct text *text, const tsmith_dictionary *dictionary, uint32_t track,
                             unsigned without, size_t columns);
// "device 1  NAME": by the API's own number, where it is known. In `columns`, 0: no limit.
size_t trace_add_device_label(struct text *text, const tsmith_dictionary *dictionary, uint32_t device,
                              size_t columns);
// The track's full name: as a JSON string, and unescaped (the caller escapes it).
void trace_add_track_json(struct text *text, const tsmith_dictionary *dictionary, uint32_t track);
void trace_add_track_raw(struct text *text, const tsmith_dictionary *dictionary, uint32_t track);
static inline tsmith_string trace_string(const struct trace *trace, uint32_t id) {
    return tsmith_dictionary_string(trace->dictionary, id);
}

// "recorded 1.0 s of 60 s (--duty)"; false for a trace of a recording without pauses.
bool trace_add_duty(struct text *text, const struct trace *trace);
// "sums of events, one in 10 s for each kernel, stack and device (--aggregate)"; false for a trace of events.
bool trace_add_aggregate(struct text *text, const struct trace *trace);
// Whether the kernels and transfers of a trace are in sums alone; then it complains that `what` needs single events.
bool trace_refuses_sums(const struct trace *trace, const char *what);
// What comes after the last slash of a program's path.
tsmith_string trace_base_name(tsmith_string path);
// The same of a process's name, which may be its whole command line: the options stay.
tsmith_string trace_program_name(tsmith_string process);

// Name and meaning of a kind of event and of a reason; never NULL, also for one of a newer version.
const char *trace_kind_name(int kind);
const char *trace_kind_doc(int kind);
const char *trace_reason_name(int reason);
const char *trace_reason_doc(int reason);

// The exit code for a status that came from reading.
int exit_code_of_input(tsmith_status status);

#endif
