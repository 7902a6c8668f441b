// SPDX-License-Identifier: Apache-2.0
// Memory snapshots of PyTorch: what torch.cuda.memory._dump_snapshot writes, a pickle.
//
// pickle.c reads values; whenever a dict is complete, read.c makes a small record of it (a frame, an entry of the history, a block,
// a segment) and frees the values, so that a file takes less memory than it has bytes. balance.c compares history and
// segments of each device: what had been allocated when the history begins. rows.c makes events of that, device by device;
// torch_memory.c is the source.
#ifndef IMPORT_TORCH_MEMORY_TORCH_MEMORY_H
#define IMPORT_TORCH_MEMORY_TORCH_MEMORY_H

#include "base/table.h"
#include "event/gather.h"
#include "event/ledger.h"
#include "import/torch_memory/pickle.h"
#include "tracesmith/stream.h"

enum {
    TM_FRAMES_MAX = 1024,  // of a stack
    TM_DEVICES_MAX = 4096, // devices
    TM_STREAMS_MAX = 1 << 18
};

// X(NAME, lost, reason, "text"): what can be wrong. lost: 1 when an event is missing for each.
#define TM_PROBLEM_TABLE(X)                                                                                  \
    X(MALFORMED, 1, TSMITH_REASON_CORRUPT, "entries, blocks or segments without an address or a size")       \
    X(NO_TIME, 0, TSMITH_REASON_NO_TIMING, "entries without a time: they are in order, 1 ns apart")          \
    X(UNREADABLE, 0, TSMITH_REASON_CORRUPT, "values that are no part of a snapshot as PyTorch writes it")    \
    X(DISAGREE, 0, TSMITH_REASON_UNTRACED,                                                                   \
      "blocks about which history and segments disagree: the history ends before the snapshot, or has gaps") \
    X(TOO_MANY, 1, TSMITH_REASON_TABLE_FULL, "entries of more devices or streams than can be distinguished") \
    X(UNMATCHED, 0, TSMITH_REASON_UNMATCHED, "annotations that begin and do not end, or end and do not begin")

enum tm_problem {
#define TM_PROBLEM_ENUM(NAME, lost, reason, text) TM_PROBLEM_##NAME,
    TM_PROBLEM_TABLE(TM_PROBLEM_ENUM)
#undef TM_PROBLEM_ENUM
        TM_PROBLEM_COUNT
};

// X(NAME, "name"): what an entry of the history says, as far as it is counted; all others are instants.
#define TM_ACTION_TABLE(X)                                                                                   \
    X(ALLOC, "alloc")                                                                                        \
    X(FREE, "free")                                                                                          \
    X(FREE_REQUESTED, "free_requested")                                                                      \
    X(FREE_COMPLETED, "free_completed")                                                                      \
    X(SEGMENT_ALLOC, "segment_alloc")                                                                        \
    X(SEGMENT_MAP, "segment_map")                                                                            \
    X(SEGMENT_FREE, "segment_free")                                                                          \
    X(SEGMENT_UNMAP, "segment_unmap")

enum tm_action {
    TM_OTHER_ACTION,
#define TM_ACTION_ENUM(NAME, name) TM_##NAME,
    TM_ACTION_TABLE(TM_ACTION_ENUM)
#undef TM_ACTION_ENUM
};

// What an object of the pickle was replaced by.
enum tm_kind { TM_FRAME, TM_STACK, TM_ENTRY, TM_BLOCK, TM_SEGMENT };

enum { TM_HAS_TIME = 1, TM_HAS_ADDRESS = 2, TM_HAS_SIZE = 4 };

struct tm_entry {
    int64_t time_us;
    uint64_t address, size;
    uint32_t stream;      // its number in `streams`
    uint32_t stack, name; // of the dictionary
    uint8_t action;       // tm_action
    uint8_t has;
};

struct tm_block {
    uint64_t address, size, requested;
    uint32_t stack, state; // state: a string
    uint8_t has_address, has_requested, live;
};

struct tm_segment {
    uint64_t address, size;
    uint64_t allocated, active;
    int64_t device;
    uint32_t stream, stack, type; // type: a string
    uint32_t first_block, block_count;
    bool has_allocated, has_active;
};

// A value of an entry that has no place in it.
struct tm_extra {
    uint32_t entry, key;
    pickle_value value;
};

// A list of numbers of entries, in the order of the file.
struct tm_device {
    int64_t number;
    pickle_value history; // the list; PICKLE_NONE: there is none
};

struct tm_frame {
    uint32_t function, file, line, id;
};

// Something that had been allocated when the history begins.
struct tm_before {
    uint64_t address, size;
    uint32_t stream, stack;
};

// What is known of a device before its first entry.
struct tm_balance {
    struct tm_before *before;
    size_t count, capacity;
    uint64_t allocated, reserved; // bytes, after the entry at hand
    bool has_allocated, has_reserved;
};

enum tm_stage { TM_READING, TM_BEFORE, TM_HISTORY, TM_SEGMENTS, TM_NEXT };

struct torch_memory {
    tsmith_dictionary *dictionary;
    char *name; // of the file, for messages
    struct input input;
    struct pickle pickle;
    uint8_t *roles; // by string: what a key means, 0: not looked up
    size_t role_capacity;
    uint8_t *actions; // by string: 1 + its tm_action
    size_t action_capacity;
    struct tm_frame *frames; // open addressing
    size_t frame_capacity, frame_count;
    struct tm_entry *entries;
    size_t entry_count, entry_capacity;
    struct tm_block *blocks;
    size_t block_count, block_capacity;
    struct tm_segment *segments;
    size_t segment_count, segment_capacity;
    struct tm_extra *extras; // in the order of entries
    size_t extra_count, extra_capacity;
    struct table streams; // number + 1 by what the file calls it
    uint64_t *stream_names;
    size_t stream_count, stream_capacity;
    // The result
    struct tm_device *devices;
    size_t device_count, device_capacity;
    bool has_segments;
    // Events
    enum tm_stage stage;
    size_t device_at, entry_at;
    struct tm_balance balance;
    struct table alive;  // of the device at hand: 1 + the number of the entry or before; 0: freed
    struct table tracks; // by device and stream
    int64_t last_ns, first_ns;
    uint32_t device_entry; // of the dictionary
    struct gather gather;
    struct ledger ledger;
    uint64_t problems[TM_PROBLEM_COUNT];
    bool over, failed, damaged;
    tsmith_status end_status;
    tsmith_error stop;
};

// ---- read.c

// pickle.complete: an object is whole.
void tm_complete(void *torch_memory, uint32_t object);
// The result of the pickle: segments, histories, annotations. False when it is no snapshot.
bool tm_read_result(struct torch_memory *memory);
// The number of the entry that this value of a history is; UINT32_MAX: it is none.
uint32_t tm_entry_of(const struct torch_memory *memory, pickle_value value);

// ---- balance.c

// What had been allocated on the device at hand before its history begins.
void tm_balance(struct torch_memory *memory);

// ---- rows.c

// Some rows more; false when all are there.
bool tm_rows_run(struct torch_memory *memory);
// The ranges that the program marked.
void tm_write_annotations(struct torch_memory *memory, const struct pickle_object *list);

static inline void tm_problem(struct torch_memory *memory, enum tm_problem problem) {
    memory->problems[problem]++;
}

// Whether the window begins as such a file does.
bool torch_memory_is(const struct input *input);
// Takes over the input and the name.
tsmith_status torch_memory_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
