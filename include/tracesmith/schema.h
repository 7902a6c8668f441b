// SPDX-License-Identifier: Apache-2.0
// The vocabulary: every kind of event and every field an event can have, described once.
//
// From these tables come the batch columns, the columns of the file, the names in JSON and CSV, the option
// values of `view -t`, and docs/events.md (a test compares). Adding a kind or a field is one line. Numbers
// are stored in files: they are never changed and never used again. The rows of a table ascend by number, so that its limit,
// one past the largest, follows from its last row.
#ifndef TRACESMITH_SCHEMA_H
#define TRACESMITH_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "name", "one line of documentation")
#define TSMITH_KIND_TABLE(X)                                                                                 \
    X(KERNEL, 1, "kernel", "a kernel ran on a device")                                                       \
    X(MEMCPY, 2, "memcpy", "bytes were moved: read, write, copy, map, unmap, migrate")                       \
    X(MEMSET, 3, "memset", "memory was filled with a pattern")                                               \
    X(ALLOC, 4, "alloc", "a memory object was created")                                                      \
    X(FREE, 5, "free", "a memory object was released")                                                       \
    X(API, 6, "api", "a call of the GPU API by the program")                                                 \
    X(SYNC, 7, "sync", "a wait: of a host thread for device work, or of a queue for other commands")         \
    X(EVENT_RECORD, 8, "event_record", "an event or marker was recorded in a queue")                         \
    X(MARKER, 9, "marker", "an instant that the program marked")                                             \
    X(RANGE, 10, "range", "a time range of a host thread that the program named")                            \
    X(COLLECTIVE, 11, "collective", "a collective communication operation")                                  \
    X(COUNTER, 12, "counter", "a value of a counter at an instant")                                          \
    X(COMPILE, 13, "compile", "a program or kernel was compiled")                                            \
    X(GRAPH_LAUNCH, 14, "graph_launch", "a captured graph was launched as a whole")                          \
    X(FRAME, 15, "frame", "a frame was presented")                                                           \
    X(OVERHEAD, 16, "overhead", "time that profiling itself took")                                           \
    X(HOST_FUNCTION, 17, "host_function",                                                                    \
      "a host function ran: a native kernel, or an instrumented function")                                   \
    X(SAMPLE, 18, "sample", "a periodic sample of the executed code")                                        \
    X(LOSS, 19, "loss", "events that were not recorded: how many, in which time range, and why")             \
    X(OBJECT, 20, "object", "a context, queue or program was created or destroyed")                          \
    X(PROCESS, 21, "process", "a process started or ended")                                                  \
    X(FLOW, 22, "flow", "one end of an arrow between two events of an imported trace")                       \
    X(INSTRUCTION, 23, "instruction", "a work-item ran an instruction, on an interpreting device")           \
    X(INSTRUCTION_COUNT, 24, "instruction_count",                                                            \
      "how often a launch ran an instruction of its kernel, on an interpreting device")                      \
    X(OFF_CPU, 25, "off_cpu", "off-CPU time of a host thread: why it did not run, and its waker")            \
    X(DRIVER, 26, "driver", "GPU work in the operating system's kernel: fences, driver calls, faults, jobs") \
    X(SUM, 27, "sum",                                                                                        \
      "many events of one kind that the program added up in a time range (--aggregate), and no event "       \
      "itself")

typedef enum tsmith_kind {
    TSMITH_KIND_NONE = 0,
#define TSMITH_KIND_ENUM(NAME, number, name, doc) TSMITH_KIND_##NAME = number,
    TSMITH_KIND_TABLE(TSMITH_KIND_ENUM)
#undef TSMITH_KIND_ENUM
        TSMITH_KIND_LIMIT
} tsmith_kind;

// Sets of kinds are 64 bits, a bit per kind; kinds never go beyond 63. The bit of a kind, which must be below 64, and whether
// a set has a kind of any number.
#define TSMITH_KIND_BIT(kind) ((uint64_t)1 << (kind))

static inline int tsmith_kinds_have(uint64_t kinds, uint32_t kind) {
    return kind < 64 && (kinds >> kind & 1);
}

// How the values of a field are stored in a batch column.
// X(NAME, number, C type, "what it is")
#define TSMITH_TYPE_TABLE(X)                                                                                 \
    X(TIME, 1, int64_t, "nanoseconds on the trace clock")                                                    \
    X(I64, 2, int64_t, "signed integer")                                                                     \
    X(U64, 3, uint64_t, "unsigned integer")                                                                  \
    X(U32, 4, uint32_t, "unsigned integer")                                                                  \
    X(U8, 5, uint8_t, "small unsigned integer")                                                              \
    X(F64, 6, double, "IEEE 754 double")                                                                     \
    X(STRING, 7, uint32_t, "id of a string of the dictionary")                                               \
    X(TRACK, 8, uint32_t, "id of a track of the dictionary")                                                 \
    X(KIND, 9, uint8_t, "tsmith_kind")                                                                       \
    X(OPERATION, 10, uint8_t, "tsmith_operation")                                                            \
    X(DIRECTION, 11, uint8_t, "tsmith_direction")                                                            \
    X(REASON, 12, uint8_t, "tsmith_reason")                                                                  \
    X(BOOL, 13, uint8_t, "0 or 1")                                                                           \
    X(LIST, 14, uint64_t, "a list of unsigned integers per event")                                           \
    X(CERTAINTY, 15, uint8_t, "tsmith_certainty")

typedef enum tsmith_type {
#define TSMITH_TYPE_ENUM(NAME, number, ctype, doc) TSMITH_TYPE_##NAME = number,
    TSMITH_TYPE_TABLE(TSMITH_TYPE_ENUM)
#undef TSMITH_TYPE_ENUM
        TSMITH_TYPE_LIMIT
} tsmith_type;

// Number 37 was `inferred` (BOOL), which certainty replaced; readers of files convert it.
// X(NAME, number, "name", TYPE, "unit", "one line of documentation")
#define TSMITH_FIELD_TABLE(X)                                                                                \
    X(START, 1, "start", TIME, "ns", "begin of the event, or its instant; every event has one")              \
    X(DURATION, 2, "duration", I64, "ns", "length of the event; an instant has none")                        \
    X(KIND, 3, "kind", KIND, "", "kind of the event; every event has one")                                   \
    X(NAME, 4, "name", STRING, "", "kernel, function, range or counter name")                                \
    X(CORRELATION, 5, "correlation", U64, "",                                                                \
      "the same number on an API call and the device work it enqueued")                                      \
    X(QUEUED, 6, "queued", TIME, "ns", "time when the command was put into its queue")                       \
    X(SUBMITTED, 7, "submitted", TIME, "ns", "time when the driver submitted the command to the device")     \
    X(COMPLETED, 8, "completed", TIME, "ns", "time when the command and its children were complete")         \
    X(HOST_TRACK, 9, "host_track", TRACK, "", "the host thread that made the call")                          \
    X(QUEUE_TRACK, 10, "queue_track", TRACK, "", "the queue of a call or wait")                              \
    X(OPERATION, 11, "operation", OPERATION, "", "the exact operation (read, copy_rect, finish, create...)") \
    X(DIRECTION, 12, "direction", DIRECTION, "", "source and destination of moved bytes")                    \
    X(BYTES, 13, "bytes", U64, "bytes", "bytes moved, filled, allocated or freed")                           \
    X(GLOBAL_X, 14, "global_x", U64, "work-items", "global size, first dimension")                           \
    X(GLOBAL_Y, 15, "global_y", U64, "work-items", "global size, second dimension; none for 1-D")            \
    X(GLOBAL_Z, 16, "global_z", U64, "work-items", "global size, third dimension; none for 1-D and 2-D")     \
    X(LOCAL_X, 17, "local_x", U64, "work-items", "work-group (block) size; none when the driver chose it")   \
    X(LOCAL_Y, 18, "local_y", U64, "work-items", "work-group (block) size, second dimension")                \
    X(LOCAL_Z, 19, "local_z", U64, "work-items", "work-group (block) size, third dimension")                 \
    X(OFFSET_X, 20, "offset_x", U64, "work-items", "global offset; none when the program gave none")         \
    X(OFFSET_Y, 21, "offset_y", U64, "work-items", "global offset, second dimension")                        \
    X(OFFSET_Z, 22, "offset_z", U64, "work-items", "global offset, third dimension")                         \
    X(WAITS, 23, "waits", LIST, "", "correlation ids of the commands in its wait list")                      \
    X(OBJECT, 24, "object", U64, "", "the memory object, context, queue or program of the event")            \
    X(SOURCE, 25, "source", U64, "", "memory object read from")                                              \
    X(DESTINATION, 26, "destination", U64, "", "memory object written to")                                   \
    X(PARENT, 27, "parent", U64, "", "object that contains this one (sub-buffer) or owns it (program)")      \
    X(FLAGS, 28, "flags", U64, "", "the API's own flags, as the program gave them")                          \
    X(LIVE_BYTES, 29, "live_bytes", U64, "bytes",                                                            \
      "bytes alive in the process after this allocation or free")                                            \
    X(RESULT, 30, "result", I64, "", "return value of the call, or exit status of a process")                \
    X(BLOCKING, 31, "blocking", BOOL, "", "the call waited for the command to complete")                     \
    X(VALUE, 32, "value", F64, "", "value of a counter")                                                     \
    X(CATEGORY, 33, "category", STRING, "", "category or domain")                                            \
    X(TEXT, 34, "text", STRING, "", "a message, such as build options or the cause of a loss")               \
    X(LOST, 35, "lost", U64, "events", "how many events were not recorded")                                  \
    X(REASON, 36, "reason", REASON, "", "why they were not recorded")                                        \
    X(STACK, 38, "stack", U32, "", "id of the host call stack")                                              \
    X(SAMPLER_PERIOD, 39, "sampler_period", U64, "ns", "period of the sampler")                              \
    X(PRIORITY, 40, "priority", I64, "", "priority of a queue or stream")                                    \
    X(FILE, 41, "file", STRING, "", "source file")                                                           \
    X(LINE, 42, "line", U32, "", "line of the source file")                                                  \
    X(ADDRESS, 43, "address", U64, "", "memory address")                                                     \
    X(COUNT, 44, "count", U64, "", "how often it happened")                                                  \
    X(TAKEN, 45, "taken", U64, "", "how often the condition of a branch was true")                           \
    X(WOKEN, 46, "woken", TIME, "ns", "time when a waiting thread was ready to run again")                   \
    X(WAKER, 47, "waker", STRING, "", "name of the thread that woke this one, or interrupt")                 \
    X(WAKER_TID, 48, "waker_tid", U64, "", "id of the thread that woke this one")                            \
    X(WAKER_STACK, 49, "waker_stack", U32, "", "id of the call stack of the waking thread")                  \
    X(CERTAINTY, 50, "certainty", CERTAINTY, "",                                                             \
      "how sure its times are; without a value, they are as the source gave them")                           \
    X(SUMMED, 51, "summed", KIND, "", "kind of the events that a sum stands for; count has their number")    \
    X(TOTAL, 52, "total", I64, "ns", "the durations of these events, added up")                              \
    X(SHORTEST, 53, "shortest", I64, "ns", "the shortest of these durations")                                \
    X(LONGEST, 54, "longest", I64, "ns", "the longest of these durations")                                   \
    X(DELAY_TOTAL, 55, "delay_total", I64, "ns", "the times from queued to start of these events, added up") \
    X(DELAY_SHORTEST, 56, "delay_shortest", I64, "ns", "the shortest of these times")                        \
    X(DELAY_LONGEST, 57, "delay_longest", I64, "ns", "the longest of these times")

typedef enum tsmith_field {
    TSMITH_FIELD_NONE = 0,
#define TSMITH_FIELD_ENUM(NAME, number, name, type, unit, doc) TSMITH_FIELD_##NAME = number,
    TSMITH_FIELD_TABLE(TSMITH_FIELD_ENUM)
#undef TSMITH_FIELD_ENUM
        TSMITH_FIELD_LIMIT,
    // Fields of a trace that are not in this table are numbered from here, per trace (tsmith_dynamic_field).
    TSMITH_FIELD_DYNAMIC = 4096
} tsmith_field;

// The exact operation of an event; its kind decides which ones occur. X(NAME, number, "name", "doc")
#define TSMITH_OPERATION_TABLE(X)                                                                            \
    X(READ, 1, "read", "device memory to host memory")                                                       \
    X(WRITE, 2, "write", "host memory to device memory")                                                     \
    X(COPY, 3, "copy", "memory object to memory object")                                                     \
    X(FILL, 4, "fill", "pattern to memory object")                                                           \
    X(MAP, 5, "map", "made visible to the host")                                                             \
    X(UNMAP, 6, "unmap", "returned from the host")                                                           \
    X(MIGRATE, 7, "migrate", "moved to another device")                                                      \
    X(READ_RECT, 8, "read_rect", "rectangular read")                                                         \
    X(WRITE_RECT, 9, "write_rect", "rectangular write")                                                      \
    X(COPY_RECT, 10, "copy_rect", "rectangular copy")                                                        \
    X(READ_IMAGE, 11, "read_image", "image to host memory")                                                  \
    X(WRITE_IMAGE, 12, "write_image", "host memory to image")                                                \
    X(COPY_IMAGE, 13, "copy_image", "image to image")                                                        \
    X(FILL_IMAGE, 14, "fill_image", "color to image")                                                        \
    X(COPY_IMAGE_TO_BUFFER, 15, "copy_image_to_buffer", "image to buffer")                                   \
    X(COPY_BUFFER_TO_IMAGE, 16, "copy_buffer_to_image", "buffer to image")                                   \
    X(MAP_IMAGE, 17, "map_image", "image made visible to the host")                                          \
    X(SVM_COPY, 18, "svm_copy", "shared virtual memory copy")                                                \
    X(SVM_FILL, 19, "svm_fill", "shared virtual memory fill")                                                \
    X(SVM_MAP, 20, "svm_map", "shared virtual memory made visible to the host")                              \
    X(SVM_UNMAP, 21, "svm_unmap", "shared virtual memory returned from the host")                            \
    X(SVM_MIGRATE, 22, "svm_migrate", "shared virtual memory moved to another device")                       \
    X(SVM_FREE, 23, "svm_free", "shared virtual memory freed in queue order")                                \
    X(NDRANGE, 32, "ndrange", "kernel over a range of work-items")                                           \
    X(TASK, 33, "task", "kernel with one work-item")                                                         \
    X(NATIVE, 34, "native", "host function run by the queue")                                                \
    X(MARKER, 48, "marker", "completes when the commands it waits for have completed")                       \
    X(BARRIER, 49, "barrier", "later commands wait until it completes")                                      \
    X(FINISH, 50, "finish", "host waited for a whole queue (stream)")                                        \
    X(WAIT, 51, "wait", "host waited for events; CUPTI also records a query of an event so")                 \
    X(BLOCKING_CALL, 52, "blocking_call", "host waited inside a blocking transfer")                          \
    X(DEVICE_SYNC, 53, "device_sync", "host waited for a whole device")                                      \
    X(STREAM_WAIT, 54, "stream_wait", "later work of a queue (stream) waits for an event; no host waits")    \
    X(CREATE_CONTEXT, 64, "create_context", "context created")                                               \
    X(DESTROY_CONTEXT, 65, "destroy_context", "context destroyed")                                           \
    X(CREATE_QUEUE, 66, "create_queue", "queue (stream) created")                                            \
    X(DESTROY_QUEUE, 67, "destroy_queue", "queue (stream) destroyed")                                        \
    X(CREATE_PROGRAM, 68, "create_program", "program created")                                               \
    X(DESTROY_PROGRAM, 69, "destroy_program", "program destroyed")                                           \
    X(CREATE_KERNEL, 70, "create_kernel", "kernel object created")                                           \
    X(DESTROY_KERNEL, 71, "destroy_kernel", "kernel object destroyed")                                       \
    X(BUFFER, 80, "buffer", "memory object is a buffer")                                                     \
    X(SUB_BUFFER, 81, "sub_buffer", "memory object is a part of a buffer and owns no bytes")                 \
    X(IMAGE, 82, "image", "memory object is an image")                                                       \
    X(SVM, 83, "svm", "shared virtual memory")                                                               \
    X(PIPE, 84, "pipe", "memory object is a pipe")                                                           \
    X(BUILD, 96, "build", "program compiled and linked")                                                     \
    X(COMPILE, 97, "compile", "program compiled")                                                            \
    X(LINK, 98, "link", "programs linked")                                                                   \
    X(FIRST_LAUNCH, 99, "first_launch", "compiled for its first launch")                                     \
    X(PROCESS_START, 112, "process_start", "process started, or was first seen")                             \
    X(PROCESS_EXIT, 113, "process_exit", "process ended by itself, unless `text` states that it may not")    \
    X(PROCESS_KILLED, 114, "process_killed", "process was ended by a signal")                                \
    X(PREEMPTED, 128, "preempted", "ready to run, but another thread had the processor")                     \
    X(SLEEPING, 129, "sleeping", "waiting; a signal can end the wait")                                       \
    X(BLOCKED, 130, "blocked", "waiting; no signal can end the wait: a disk, a lock of the kernel")          \
    X(STOPPED, 131, "stopped", "stopped by a signal or a debugger")                                          \
    X(WAITING, 132, "waiting", "waiting; what for, and whether a signal can end it, is not known")           \
    X(FENCE_EMIT, 136, "fence_emit", "a fence was submitted to the device")                                  \
    X(FENCE_SIGNALED, 137, "fence_signaled", "a fence was reached by the device")                            \
    X(FENCE_WAIT, 138, "fence_wait", "a host thread waited for a fence, in the kernel")                      \
    X(IOCTL, 139, "ioctl", "a host thread called a driver by its device node")                               \
    X(DEVICE_MMAP, 140, "device_mmap", "a host thread mapped memory of a device, or of its driver")          \
    X(DEVICE_FAULT, 141, "device_fault", "a page fault of a host thread in such memory")                     \
    X(JOB_QUEUED, 142, "job_queued", "a job was queued in the kernel's GPU scheduler")                       \
    X(JOB_RUN, 143, "job_run", "the scheduler submitted a job to the device")                                \
    X(JOB_DONE, 144, "job_done", "a job of the scheduler completed")

typedef enum tsmith_operation {
    TSMITH_OPERATION_NONE = 0,
#define TSMITH_OPERATION_ENUM(NAME, number, name, doc) TSMITH_OPERATION_##NAME = number,
    TSMITH_OPERATION_TABLE(TSMITH_OPERATION_ENUM)
#undef TSMITH_OPERATION_ENUM
} tsmith_operation;

// X(NAME, number, "name", "doc")
#define TSMITH_DIRECTION_TABLE(X)                                                                            \
    X(HOST_TO_DEVICE, 1, "h2d", "host to device")                                                            \
    X(DEVICE_TO_HOST, 2, "d2h", "device to host")                                                            \
    X(DEVICE_TO_DEVICE, 3, "d2d", "within a device")                                                         \
    X(HOST_TO_HOST, 4, "h2h", "host to host")                                                                \
    X(PEER_TO_PEER, 5, "p2p", "device to another device")

typedef enum tsmith_direction {
    TSMITH_DIRECTION_NONE = 0,
#define TSMITH_DIRECTION_ENUM(NAME, number, name, doc) TSMITH_DIRECTION_##NAME = number,
    TSMITH_DIRECTION_TABLE(TSMITH_DIRECTION_ENUM)
#undef TSMITH_DIRECTION_ENUM
} tsmith_direction;

// Reasons for a loss. X(NAME, number, "name", "doc")
#define TSMITH_REASON_TABLE(X)                                                                               \
    X(RING_FULL, 1, "ring_full", "the ring was full and the newest events were dropped")                     \
    X(OVERWRITTEN, 2, "overwritten", "the ring was full and the oldest events were dropped")                 \
    X(NO_TIMING, 3, "no_timing", "the driver reported no times, or impossible times, for a command")         \
    X(NO_COMPLETION, 4, "no_completion", "a command was launched and its completion was not observed")       \
    X(PROCESS_DIED, 5, "process_died", "the process ended during recording; its last record may be missing") \
    X(NO_MEMORY, 6, "no_memory",                                                                             \
      "no memory, no space or (in a process that changed its user) no access for a ring")                    \
    X(CORRUPT, 7, "corrupt", "recorded bytes were damaged")                                                  \
    X(TABLE_FULL, 8, "table_full", "a table of names, tracks or pending commands was full")                  \
    X(UNTRACED, 9, "untraced", "a command of a kind that cannot be traced")                                  \
    X(VENDOR_DROPPED, 10, "vendor_dropped", "the vendor's own tracing dropped records")                      \
    X(STILL_RUNNING, 11, "still_running", "the process was still running when the recording ended")          \
    X(DISK_FULL, 12, "disk_full", "the trace could not be written further")                                  \
    X(UNMATCHED, 13, "unmatched", "a range has a begin without an end, or an end without a begin")           \
    X(NO_STACK, 14, "no_stack",                                                                              \
      "an event without its call stack: there was no space for it, or it could not be read")                 \
    X(PARTIAL_STACK, 15, "partial_stack",                                                                    \
      "a call stack does not reach the outermost function: code without unwind data, or another stack")      \
    X(THINNED, 16, "thinned", "left out by throttling (--max-overhead)")                                     \
    X(INTERRUPTED, 17, "interrupted",                                                                        \
      "emitted by a signal handler while its thread was inside another emission")                            \
    X(BLOCK_TIMEOUT, 18, "block_timeout",                                                                    \
      "with the policy block, the collector freed no space within the time limit")                           \
    X(FILES_DAMAGED, 19, "files_damaged",                                                                    \
      "the shared files of a process were truncated or overwritten while it was recorded")                   \
    X(DEEP_STACK, 20, "deep_stack",                                                                          \
      "a call stack has more frames than the limit; its outermost frames are missing (--stack-frames)")      \
    X(PYTHON_STACK, 21, "python_stack",                                                                      \
      "a call stack lacks Python functions: they are of another interpreter, or unreadable")                 \
    X(NOT_PERMITTED, 22, "not_permitted", "the system does not permit recording of such events")             \
    X(OFF_DUTY, 23, "off_duty", "recording was switched off, as requested (--duty)")                         \
    X(SUM_UNWRITTEN, 24, "sum_unwritten",                                                                    \
      "added up in a process that ended before it wrote the sum (--aggregate)")                              \
    X(SUM_FULL, 25, "sum_full",                                                                              \
      "added up without name and stack: the process had too many different ones (--aggregate)")

typedef enum tsmith_reason {
    TSMITH_REASON_NONE = 0,
#define TSMITH_REASON_ENUM(NAME, number, name, doc) TSMITH_REASON_##NAME = number,
    TSMITH_REASON_TABLE(TSMITH_REASON_ENUM)
#undef TSMITH_REASON_ENUM
        TSMITH_REASON_LIMIT
} tsmith_reason;

// How sure the times of an event are. X(NAME, number, "name", "doc")
#define TSMITH_CERTAINTY_TABLE(X)                                                                            \
    X(MEASURED, 1, "measured", "read from a clock when it happened")                                         \
    X(BOUNDED, 2, "bounded", "seen from outside: it began and ended within these bounds")                    \
    X(INFERRED, 3, "inferred", "concluded from other times")                                                 \
    X(UNTIMED, 4, "untimed", "not known: start is the time of its launch, or of the call that it belongs to")

typedef enum tsmith_certainty {
    TSMITH_CERTAINTY_NONE = 0,
#define TSMITH_CERTAINTY_ENUM(NAME, number, name, doc) TSMITH_CERTAINTY_##NAME = number,
    TSMITH_CERTAINTY_TABLE(TSMITH_CERTAINTY_ENUM)
#undef TSMITH_CERTAINTY_ENUM
} tsmith_certainty;

// One row of the field table (a dynamic field is described by the dictionary in the same form).
typedef struct tsmith_field_info {
    uint32_t field; // number: tsmith_field, or TSMITH_FIELD_DYNAMIC and up
    tsmith_type type;
    const char *name; // as in JSON, CSV and SQL
    const char *unit; // "" when it has none
    const char *doc;
} tsmith_field_info;

// The rows of the tables, by number; NULL for a number that is not there. Static storage. Any thread.
TSMITH_API const tsmith_field_info *tsmith_field_describe(uint32_t field);
TSMITH_API const char *tsmith_kind_name(tsmith_kind kind);
TSMITH_API const char *tsmith_kind_doc(tsmith_kind kind);
TSMITH_API const char *tsmith_operation_name(tsmith_operation operation);
TSMITH_API const char *tsmith_direction_name(tsmith_direction direction);
// Whether the operation makes memory visible to the host or returns it. Whether bytes are copied for that is up to
// the driver and not reported by any API: the bytes of such a command divided by its duration are no rate of a copy.
TSMITH_API bool tsmith_operation_is_map(tsmith_operation operation);
TSMITH_API const char *tsmith_reason_name(tsmith_reason reason);
TSMITH_API const char *tsmith_reason_doc(tsmith_reason reason);
// Whether a loss of this reason is of events that are missing or incomplete. An event without its call stack, or with
// a part of it, is neither, nor one that a sum counts without its name.
TSMITH_API bool tsmith_reason_is_of_events(tsmith_reason reason);
// Whether events of such a loss may be in the trace without a part: their times (no_timing), or their end or begin
// (unmatched). Of other reasons the event is missing.
TSMITH_API bool tsmith_reason_is_partial(tsmith_reason reason);
TSMITH_API const char *tsmith_certainty_name(tsmith_certainty certainty);
TSMITH_API const char *tsmith_type_name(tsmith_type type);
// Whether values of the type are numbers of one of the tables here (kinds, operations, directions, reasons, certainties), and
// the name of such a value: NULL for other types, and for a number that this version does not know.
TSMITH_API bool tsmith_type_has_names(tsmith_type type);
TSMITH_API const char *tsmith_value_name(tsmith_type type, uint64_t value);
// The value of this name; 0 when there is none.
TSMITH_API uint8_t tsmith_value_find(tsmith_type type, const char *name);

// By name; 0 (…_NONE) when there is no such name.
TSMITH_API tsmith_kind tsmith_kind_find(const char *name);
TSMITH_API uint32_t tsmith_field_find(const char *name);

// Bytes of one value of a type in a batch column (for LIST: of one element), 0 for an unknown type.
TSMITH_API uint32_t tsmith_type_size(tsmith_type type);

#ifdef __cplusplus
}
#endif
#endif
