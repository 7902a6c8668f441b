// SPDX-License-Identifier: Apache-2.0
// Which event of a trace a record of another file belongs to.
#ifndef API_JOIN_H
#define API_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/merge.h"
#include "tracesmith/view.h"

struct join_record {
    const tsmith_batch *batch;
    uint32_t row;
    uint32_t process; // of the other dictionary; 0: unknown
    uint64_t number;  // that orders or identifies it: ncu_id, et_rf_id
    uint64_t name;    // hash of its name
    uint64_t key;     // of what must be equal
    bool known;       // `number` is
};

// An event that a record may belong to.
struct join_event {
    uint64_t ordinal; // its place in the trace, in the order of the scan
    uint64_t number;  // that identifies it, or orders launches
    int64_t start;
    uint64_t name, key; // as in a record
    uint32_t process, name_id;
    uint64_t sizes[6]; // of a launch: global and local; 0: unknown
    bool wanted;       // a record has its name
};

struct join_hit {
    uint64_t ordinal;
    uint32_t record;
};

struct join {
    const tsmith_dictionary *dictionary, *other; // of the trace, and of the other file
    const struct join_rule *rule;
    const tsmith_batch **batches; // retained
    size_t batch_count, batch_capacity;
    struct join_record *records;
    size_t record_count, record_capacity;
    struct join_event *events;
    size_t event_count, event_capacity;
    struct join_hit *hits; // by ordinal, each ordinal once
    size_t hit_count, hit_capacity;
    uint64_t ambiguous, missing; // records that are not joined
    bool failed;                 // out of memory
};

// How records of a format are recognized. join_launches.c, join_operators.c
struct join_rule {
    const char *format; // of the other file
    // Fills in the records.
    void (*read)(struct join *join);
    // Adds the events of a batch that records may belong to.
    void (*look)(struct join *join, const tsmith_batch *batch, uint64_t ordinal);
    // Adds the hits, and counts the other records.
    void (*match)(struct join *join);
};
extern const struct join_rule join_launches, join_operators;

// Takes the records; false if there is no rule for the format.
bool join_begin(struct join *join, const char *format);
bool join_look(struct join *join, const tsmith_batch *batch, uint64_t ordinal);
bool join_match(struct join *join);
void join_finish(struct join *join);

// The value of a field in a row, of a type that is no list; false: unknown.
static inline bool join_value(const tsmith_batch *batch, uint32_t field, uint32_t row, uint64_t *out) {
    tsmith_view view;
    tsmith_view_batch(batch, &field, 1, &view);
    return tsmith_view_bits(&view, row, out);
}

// For rules.
void join_add_hit(struct join *join, const struct join_event *event, size_t record);
struct join_event *join_add_event(struct join *join);
// The hash of a string of a dictionary.
uint64_t join_name(const tsmith_dictionary *dictionary, uint32_t string);
// The dynamic field with this name and any type of whole numbers; 0: there is none.
uint32_t join_field(const tsmith_dictionary *dictionary, const char *name);

#endif
