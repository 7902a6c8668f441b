// SPDX-License-Identifier: Apache-2.0
// SBT, TraceSmith's own file format: writing a file, opening it, reading a window of it. docs/sbt-format.md specifies
// the format.
#ifndef TRACESMITH_SBT_H
#define TRACESMITH_SBT_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/memory.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- writing

typedef struct tsmith_sbt_write_options {
    size_t size;           // sizeof(tsmith_sbt_write_options)
    int compression_level; // 0: fast, for recording (zstd 1); 1 to 3: the same with more effort; 4 to 19: small (9 is
        // good), a hundred times slower: every way to store a column is tried, frames are larger
    int no_index;  // leave the index out (a stream to a pipe)
    int exclusive; // fail when the file exists instead of replacing it
    // Asked before an existing regular file is replaced, while no other writer can replace it; it is replaced if this returns OK.
    // NULL: it is replaced.
    tsmith_status (*may_replace)(void *context, const char *path, tsmith_error *error);
    void *may_replace_context;
} tsmith_sbt_write_options;

// A sink that writes a file. What was written before a crash is readable: frames are complete or absent. The file is
// created with mode 0600. Two runs over the same batches give the same bytes. `options` may be NULL. ERROR_BUSY, with
// the process in the message, if a live process writes that file: it cannot be replaced until that process closes it.
TSMITH_API tsmith_status tsmith_sbt_writer_open(const char *path, const tsmith_sbt_write_options *options,
                                                tsmith_sink **out, tsmith_error *error);
// The same into a descriptor (a pipe, a socket), which the writer does not close.
TSMITH_API tsmith_status tsmith_sbt_writer_open_fd(int fd, const tsmith_sbt_write_options *options,
                                                   tsmith_sink **out, tsmith_error *error);
// The same, written to a function of the caller, from the first byte on: `out` is created after the function has accepted the
// file header. A batch is written before the sink's `write` returns. After a failure the function is not called again, and every
// call of the sink returns the same status; the bytes until then are a readable trace that ends early.
TSMITH_API tsmith_status tsmith_sbt_writer_open_output(const tsmith_output *output,
                                                       const tsmith_sbt_write_options *options,
                                                       tsmith_sink **out, tsmith_error *error);

// ---- reading

typedef struct tsmith_sbt tsmith_sbt;

// Opens a file and reads its header and, where there is one, its index; without one the frames are walked. A
// file that ends early or has damaged frames opens all the same (see tsmith_sbt_summary); one that is not
// SBT, or of a newer major version, does not. Handles of one file in several threads are independent.
TSMITH_API tsmith_status tsmith_sbt_open(const char *path, tsmith_sbt **out, tsmith_error *error);
// The same from a descriptor of a regular file, which is duplicated and never moved. `name` is for messages.
TSMITH_API tsmith_status tsmith_sbt_open_fd(int fd, const char *name, tsmith_sbt **out, tsmith_error *error);
TSMITH_API void tsmith_sbt_close(tsmith_sbt *trace);

// Takes in the frames that were appended to a file since it was opened or refreshed, and what they add to its dictionary; events
// are not read. An unfinished frame at the end of the file is left for the next time. END: the file is complete now, and nothing can be
// appended to it any more. OK: it is not. ERROR_CORRUPT: the file has been truncated; the trace keeps its list of frames, of which some are
// gone. Scans that have reached the end continue with the new frames. The thread rule is that of tsmith_sbt_dictionary:
// no other thread uses the trace or its dictionary during the call, and pointers into the dictionary's tables end with it.
TSMITH_API tsmith_status tsmith_sbt_refresh(tsmith_sbt *trace, tsmith_error *error);
// The id of the process that writes the file (found by its lock); 0: there is none, or it is not visible to this process.
TSMITH_API uint64_t tsmith_sbt_writer_process(const tsmith_sbt *trace);

// The dictionary of the file; read on first use. Lives as long as the trace.
TSMITH_API tsmith_status tsmith_sbt_dictionary(tsmith_sbt *trace, const tsmith_dictionary **out,
                                               tsmith_error *error);

enum { TSMITH_SUMMARY_KINDS = 64, TSMITH_SUMMARY_REASONS = 64 };

// Properties of a file that are known without decoding an event.
typedef struct tsmith_sbt_summary {
    size_t size; // sizeof(tsmith_sbt_summary), the caller's
    uint32_t version_major, version_minor;
    int complete;              // ended properly: the END frame is there and no frame is damaged
    uint64_t bytes;            // size of the file
    uint64_t frames;           // readable ones
    uint64_t damaged_frames;   // found by their checksum and left out
    uint64_t unknown_frames;   // of a newer minor version, skipped
    uint64_t first_bad_offset; // of a damaged or missing part, UINT64_MAX when there is none
    uint64_t events;
    int64_t first_start; // ns on the trace clock; both 0 when there are no events
    int64_t last_end;
    // Events by kind, and events lost by reason (sum of LOST of the loss events): with room for later kinds and reasons.
    uint64_t kinds[TSMITH_SUMMARY_KINDS];
    uint64_t lost[TSMITH_SUMMARY_REASONS];
} tsmith_sbt_summary;

// For a complete file this reads no more than opening did: only damage of frames that were already read is known (by
// a scan, or by tsmith_sbt_verify).
TSMITH_API tsmith_status tsmith_sbt_summarize(tsmith_sbt *trace, tsmith_sbt_summary *out,
                                              tsmith_error *error);

// Reads every frame and checks its checksum (some GB/s), so that the summary has all damage. Returns OK also for a damaged
// file, and an error only if the file cannot be read.
TSMITH_API tsmith_status tsmith_sbt_verify(tsmith_sbt *trace, tsmith_error *error);

// A frame of events, as the index of the file describes it.
typedef struct tsmith_sbt_event_frame {
    size_t size; // sizeof(tsmith_sbt_event_frame)
    uint32_t track;
    uint32_t events;
    int64_t first_start, last_end; // ns on the trace clock
    uint64_t offset, length;       // bytes: where the frame is in the file, its header included
} tsmith_sbt_event_frame;

// The frames of a file, of events and others, and one of them: false for one that a scan does not yield (other contents, a newer
// version, known to be damaged). No event is read. Frames are in the order of the file, which is the order of a scan.
TSMITH_API size_t tsmith_sbt_event_frame_count(const tsmith_sbt *trace);
TSMITH_API int tsmith_sbt_event_frame_at(const tsmith_sbt *trace, size_t index, tsmith_sbt_event_frame *out);

// Which events a scan yields. A zeroed one with `size` set means everything.
typedef struct tsmith_scan {
    size_t size;
    int has_window; // only batches that touch [from, to] ns on the trace clock (whole batches: the reader of
    int64_t from, to;       // them compares times where it matters)
    const uint32_t *tracks; // only these tracks; NULL: all
    size_t track_count;
    const uint32_t *fields; // decode only these columns (start and kind always come); NULL: all
    size_t field_count;
    // TSMITH_KIND_BIT of each: skip batches that have none of them; 0: all. Bits of kinds that this version does not have ask
    // for nothing, TSMITH_KIND_NONE's for those of a newer version.
    uint64_t kinds;
} tsmith_scan;

// A source over the file, in the order of its frames (those of one track may overlap in time). Several may be open at once,
// each with its own place; they are destroyed before the trace is closed. `scan` may be NULL.
TSMITH_API tsmith_status tsmith_sbt_scan(tsmith_sbt *trace, const tsmith_scan *scan, tsmith_source **out,
                                         tsmith_error *error);

// Totals per name, from the aggregate frames: no event is decoded.
typedef struct tsmith_aggregate {
    uint32_t name; // string id
    uint8_t kind;
    uint64_t count;
    uint64_t total, min, max; // ns of duration over the events that have one
    uint64_t timed;           // how many have one
} tsmith_aggregate;

// All (kind, name) totals of the file, largest total first; *out is freed with tsmith_free.
TSMITH_API tsmith_status tsmith_sbt_aggregates(tsmith_sbt *trace, tsmith_aggregate **out, size_t *count,
                                               tsmith_error *error);

// ---- repairing

typedef struct tsmith_sbt_recovery {
    size_t size; // sizeof(tsmith_sbt_recovery), the caller's
    uint64_t frames_kept;
    uint64_t frames_lost; // known to have been there
    uint64_t bytes_skipped;
    uint64_t events_kept;
} tsmith_sbt_recovery;

// Writes the readable part of a truncated or damaged file to a new, complete file, with the loss as an event.
TSMITH_API tsmith_status tsmith_sbt_recover(const char *damaged, const char *repaired,
                                            tsmith_sbt_recovery *out, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
