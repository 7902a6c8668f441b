// SPDX-License-Identifier: Apache-2.0
// Reading a batch: the columns that a reader needs, found once per batch, with accessors that cannot mistake an unknown value
// for 0.
//
// A reader has a list of fields and one tsmith_view for each. tsmith_view_batch fills the views from a batch; the
// accessors read them row by row:
//
//     static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION};
//     tsmith_view views[2];
//     int64_t start, duration;
//     tsmith_view_batch(batch, fields, 2, views);
//     for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
//         if (tsmith_view_i64(&views[0], row, &start) && tsmith_view_i64(&views[1], row, &duration))
//             ...
//
// A field that the batch does not have has a view as well, in which every value is unknown. If the value is unknown, an
// accessor of a quantity returns false and leaves *out unchanged; compilers warn if the caller ignores the result. Ids
// (strings, tracks, stacks) and the words of the vocabulary (kinds, operations...) have the number 0 for "none", which
// tsmith_view_id and tsmith_view_word return.
//
// A view is valid as long as its batch is (tracesmith/batch.h), and is read by any number of threads.
#ifndef TRACESMITH_VIEW_H
#define TRACESMITH_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracesmith/batch.h"
#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// One column as a reader sees it. `valid` and `values` are for the accessors below.
typedef struct tsmith_view {
    const uint64_t *valid;   // bit i of word i/64; NULL: every event has a value
    const void *values;      // never NULL
    const uint32_t *offsets; // LIST only
    uint32_t field;          // 0: the batch does not have it
    tsmith_type type;        // 0: the batch does not have it
} tsmith_view;

// Fills views[i] for fields[i]. A field of 0 (one that the trace does not have) and a field that the batch does not have give
// a view without values; so does a field of the schema with values of another type.
TSMITH_API void tsmith_view_batch(const tsmith_batch *batch, const uint32_t *fields, size_t count,
                                  tsmith_view *views);
// The view of one field that must be of a type: for the fields that a trace brings with it.
TSMITH_API tsmith_view tsmith_view_typed(const tsmith_batch *batch, uint32_t field, tsmith_type type);
// The view of the column at an index below tsmith_batch_column_count, for readers of all columns.
TSMITH_API tsmith_view tsmith_view_at(const tsmith_batch *batch, uint32_t index);

// Gives the event that was last appended to a batch the value that a view has in a row; nothing where it is unknown. NO_MEMORY,
// INVALID_ARGUMENT as tsmith_batch_set.
TSMITH_API tsmith_status tsmith_view_copy(const tsmith_view *view, uint32_t row, tsmith_batch *to);

// Whether the batch has the column at all.
static inline int tsmith_view_exists(const tsmith_view *view) {
    return view->type != 0;
}

static inline int tsmith_view_has(const tsmith_view *view, uint32_t row) {
    return !view->valid || (view->valid[row / 64] >> (row % 64) & 1);
}

#if defined(__GNUC__)
#define TSMITH_VIEW_LOOK __attribute__((warn_unused_result))
#else
#define TSMITH_VIEW_LOOK
#endif

// TIME and I64.
TSMITH_VIEW_LOOK static inline int tsmith_view_i64(const tsmith_view *view, uint32_t row, int64_t *out) {
    if (!tsmith_view_has(view, row))
        return 0;
    *out = ((const int64_t *)view->values)[row];
    return 1;
}

TSMITH_VIEW_LOOK static inline int tsmith_view_u64(const tsmith_view *view, uint32_t row, uint64_t *out) {
    if (!tsmith_view_has(view, row))
        return 0;
    *out = ((const uint64_t *)view->values)[row];
    return 1;
}

TSMITH_VIEW_LOOK static inline int tsmith_view_u32(const tsmith_view *view, uint32_t row, uint32_t *out) {
    if (!tsmith_view_has(view, row))
        return 0;
    *out = ((const uint32_t *)view->values)[row];
    return 1;
}

TSMITH_VIEW_LOOK static inline int tsmith_view_f64(const tsmith_view *view, uint32_t row, double *out) {
    if (!tsmith_view_has(view, row))
        return 0;
    *out = ((const double *)view->values)[row];
    return 1;
}

// The same with the number that stands for "unknown" at the caller.
static inline int64_t tsmith_view_i64_or(const tsmith_view *view, uint32_t row, int64_t unknown) {
    return tsmith_view_has(view, row) ? ((const int64_t *)view->values)[row] : unknown;
}

static inline uint64_t tsmith_view_u64_or(const tsmith_view *view, uint32_t row, uint64_t unknown) {
    return tsmith_view_has(view, row) ? ((const uint64_t *)view->values)[row] : unknown;
}

// The values of a column in which every event has one, as an array of the type's C type: for START and KIND, which every event
// has. NULL otherwise.
static inline const void *tsmith_view_every(const tsmith_view *view) {
    return view->valid ? NULL : view->values;
}

// What each event of a batch is and when: for readers that select events by kind and time.
typedef struct tsmith_spans {
    const int64_t *starts;
    const uint8_t *kinds;
    tsmith_view durations;
} tsmith_spans;

// Fills it from a batch. False where the batch has no events, or lacks what every event has.
TSMITH_VIEW_LOOK static inline int tsmith_view_spans(const tsmith_batch *batch, tsmith_spans *out) {
    static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_KIND, TSMITH_FIELD_DURATION};
    tsmith_view views[3];
    tsmith_view_batch(batch, fields, 3, views);
    out->starts = (const int64_t *)tsmith_view_every(&views[0]);
    out->kinds = (const uint8_t *)tsmith_view_every(&views[1]);
    out->durations = views[2];
    return out->starts && out->kinds;
}

// STRING, TRACK, and stacks: the id; 0: none.
static inline uint32_t tsmith_view_id(const tsmith_view *view, uint32_t row) {
    return tsmith_view_has(view, row) ? ((const uint32_t *)view->values)[row] : 0;
}

// KIND, OPERATION, DIRECTION, REASON, CERTAINTY, and BOOL: the number; 0: none, or false.
static inline uint8_t tsmith_view_word(const tsmith_view *view, uint32_t row) {
    return tsmith_view_has(view, row) ? ((const uint8_t *)view->values)[row] : 0;
}

// LIST: how many elements, and where they begin; 0 where there is no list.
static inline uint32_t tsmith_view_list(const tsmith_view *view, uint32_t row, const uint64_t **out) {
    if (!view->offsets || !tsmith_view_has(view, row))
        return 0;
    *out = (const uint64_t *)view->values + view->offsets[row];
    return view->offsets[row + 1] - view->offsets[row];
}

// A known value of any type but LIST, widened as by tsmith_batch_get: for readers of whatever there is, which have asked
// tsmith_view_has.
static inline uint64_t tsmith_view_known(const tsmith_view *view, uint32_t row) {
    switch (view->type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
    case TSMITH_TYPE_U64:
    case TSMITH_TYPE_F64:
    case TSMITH_TYPE_LIST:
        return ((const uint64_t *)view->values)[row];
    case TSMITH_TYPE_U32:
    case TSMITH_TYPE_STRING:
    case TSMITH_TYPE_TRACK:
        return ((const uint32_t *)view->values)[row];
    default:
        return ((const uint8_t *)view->values)[row];
    }
}

// The same for a value that may be unknown.
TSMITH_VIEW_LOOK static inline int tsmith_view_bits(const tsmith_view *view, uint32_t row, uint64_t *out) {
    if (!tsmith_view_has(view, row))
        return 0;
    *out = tsmith_view_known(view, row);
    return 1;
}

// Whether a call of this function of a GPU API that returned `result` failed: not 0, and not an answer like "not ready" (CUDA, HIP, Level
// Zero), "in progress" (NCCL), or a success of Vulkan (those above 0).
TSMITH_API bool tsmith_call_failed(const char *function, int64_t result);

#ifdef __cplusplus
}
#endif
#endif
