// SPDX-License-Identifier: Apache-2.0
// Frames: the parts of a run that repeat, numbered from 1 in the order of their begin. A frame belongs to a process and
// has the device commands whose calls began in it, whenever they ran.
//
// docs/frames.md describes the three forms. One thread at a time while frames are made; read-only use from any thread.
#ifndef TRACESMITH_FRAMES_H
#define TRACESMITH_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a frame is. X("name", "argument", "doc")
#define TSMITH_FRAMES_TABLE(X)                                                                               \
    X("present", "", "from one present of the process to the next")                                          \
    X("wait", "", "from the end of one wait of the host to the end of the next that follows a launch")       \
    X("range", ":NAME", "a range of this name of a host thread; the name may contain * and ?")

// The attribute of a trace that states the form of its frames (`profile --frames`).
#define TSMITH_FRAMES_ATTRIBUTE "frames"

typedef struct tsmith_frames tsmith_frames;

typedef struct tsmith_frame_interval {
    uint64_t number;    // from 1
    int64_t start, end; // ns on the trace clock; what begins at the end belongs to the next
    uint32_t process;   // of the dictionary; 0: unknown
    uint32_t track;     // of the dictionary: the thread that presented, waited, or named the range
} tsmith_frame_interval;

// A call that launched commands in a frame.
typedef struct tsmith_frame_launch {
    int64_t start; // of the call
    uint32_t process;
    uint32_t call; // index of the timeline
} tsmith_frame_launch;

// INVALID_ARGUMENT, with the forms there are, when `form` is none.
TSMITH_API tsmith_status tsmith_frames_check(const char *form, tsmith_error *error);

// `form` NULL: that which the trace states, else "present". The frames are filled with all batches of a trace, in any order, and
// then finished with the timeline of the same trace, which must outlive them.
TSMITH_API tsmith_status tsmith_frames_create(const char *form, tsmith_frames **out, tsmith_error *error);
TSMITH_API void tsmith_frames_destroy(tsmith_frames *frames);
TSMITH_API tsmith_status tsmith_frames_add(tsmith_frames *frames, const tsmith_dictionary *dictionary,
                                           const tsmith_batch *batch, tsmith_error *error);
TSMITH_API tsmith_status tsmith_frames_finish(tsmith_frames *frames, const tsmith_dictionary *dictionary,
                                              const tsmith_timeline *timeline, tsmith_error *error);
// All of a source: create, add, finish, with a timeline of its own. OK or TRUNCATED with frames, or a failure without.
TSMITH_API tsmith_status tsmith_frames_read(tsmith_source *source, const char *form, tsmith_frames **out,
                                            tsmith_error *error);

// After finish. All is borrowed.
TSMITH_API const char *tsmith_frames_form(const tsmith_frames *frames);
TSMITH_API const tsmith_timeline *tsmith_frames_timeline(const tsmith_frames *frames);
TSMITH_API const tsmith_frame_interval *tsmith_frames_get(const tsmith_frames *frames, size_t *count);
// All launches, by process and start; and those of the frame's process that began in the frame, a part of them.
TSMITH_API const tsmith_frame_launch *tsmith_frames_launches(const tsmith_frames *frames, size_t *count);
TSMITH_API const tsmith_frame_launch *
tsmith_frame_launches(const tsmith_frames *frames, const tsmith_frame_interval *frame, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
