// SPDX-License-Identifier: Apache-2.0
// A trace that is still being written: what the page shows of it while it grows. files.c opens it and calls live_step until it has ended;
// requests ask for its state.
#ifndef CLI_STUDIO_LIVE_H
#define CLI_STUDIO_LIVE_H

#include "cli/studio/server.h"
#include "tracesmith/live.h"

enum live_state {
    LIVE_RECORDING, // a process writes the file
    LIVE_ENDED,     // it has its end: an ordinary trace
    LIVE_STOPPED,   // the process is gone and has written no end
    LIVE_TRUNCATED, // the file became shorter
    LIVE_REPLACED,  // its name leads to another file
    LIVE_FAILED     // it cannot be read
};

enum { LIVE_CHANGES = 4096 };

// Events from a time on were added to a track.
struct live_change {
    uint64_t revision;
    int64_t from; // on the trace clock
    uint32_t track;
};

// All under the lock of the file, but for `asked`.
struct live {
    enum live_state state;
    char *message;                            // of the last four
    uint64_t device, inode;                   // of the file that was opened
    uint64_t revision;                        // how often the trace has grown
    uint64_t generation;                      // how often it was opened
    uint64_t writer;                          // process; 0: not known
    bool is_session;                          // the writer is the collector of `session`
    char session[4096];                       // directory
    bool is_behind;                           // events are in the file that were not added up yet
    tsmith_source *source;                    // of all events, in the order of the file
    tsmith_live_sums *sums;                   // of those that it has yielded
    tsmith_live_totals totals;                // given last
    int64_t collector_time;                   // ns of processor time; 0: not known
    int64_t newest;                           // last end of the events in the file, on the trace clock
    int64_t newest_at;                        // when they were found there, on the trace clock
    atomic_int_least64_t asked;               // when a page asked last
    struct live_change changes[LIVE_CHANGES]; // a ring
    uint64_t change_count;                    // ever put in
    uint64_t whole;                           // in this revision everything changed
};

// Whether a process writes the file of an opened trace; file->live is made then. Called before the file is ready. False: out of memory.
bool live_begin(struct file *file);
void live_end(struct file *file);
// Takes in what was written since the last step; the lock of the file is held. `more`: at once again.
void live_step(struct file *file, bool *more);
// Notes that the complete file was opened anew.
void live_reopened(struct file *file);
// Whether a page has asked in the last seconds: else nothing is read.
bool live_is_wanted(struct file *file);
// 0 of a trace that was complete when it was opened.
uint64_t live_revision(struct file *file);
// Whether a command that opens the file by its name would read the trace that the page shows; an answer is made if not.
bool live_is_same_file(struct file *file, struct answer *out);
// The state, and what changed since the revision `seen` of the request.
void answer_live(struct file *file, const struct request *request, struct answer *out);

#endif
