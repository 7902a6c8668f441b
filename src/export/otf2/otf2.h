// SPDX-License-Identifier: Apache-2.0
// An OTF2 archive, the parts behind otf2.c: definitions, and events in order on lanes.
#ifndef EXPORT_OTF2_OTF2_H
#define EXPORT_OTF2_OTF2_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/table.h"
#include "export/order.h"
#include "export/origin.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stacks.h"

// A value of an event. An event that waits is a row of these: first a head (ref: its region; type: how many series
// follow; bits: OTF2_EVENT_*), then its series (ref: the metric), then its attributes.
struct otf2_value {
    uint32_t ref;
    uint32_t type; // OTF2_Type
    uint64_t bits;
};

struct otf2_open_slice {
    int64_t end;
    uint32_t region;
};

// A location: events in ascending time, slices within one another.
struct otf2_lane {
    OTF2_EvtWriter *writer;
    uint64_t location, last; // last: time of the last event
    uint64_t events;         // counted when the writer is closed
    struct otf2_open_slice *open;
    size_t depth, capacity;
    bool has_regions;
};

// A track of the dictionary.
struct otf2_track {
    struct otf2_lane *lanes;
    size_t lane_count, lane_capacity;
    struct waiting *waiting; // each `length` values at `at`
    size_t waiting_count, waiting_capacity;
    struct otf2_value *values;
    size_t value_count, value_capacity;
};

struct otf2_field {
    uint32_t field;
    tsmith_type type;
    OTF2_AttributeRef attribute;
};

struct otf2 {
    char *path;
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *definitions;
    OTF2_AttributeList *attributes;
    const tsmith_dictionary *dictionary; // of the call
    tsmith_status status;                // the first failure; what comes after it is dropped
    tsmith_error error;
    bool finished;
    struct origin origin;
    struct otf2_track **tracks; // by track id
    size_t track_capacity;
    uint64_t locations;
    uint32_t *strings; // ref + 1 by id; 0: not defined
    size_t string_capacity;
    uint32_t string_count, region_count, metric_count;
    struct table constants, regions, metrics, paths;
    tsmith_stack_names *stacks; // NULL until a stack is defined
    struct otf2_field *fields;
    size_t field_count, field_capacity;
    size_t held;         // bytes that wait
    uint64_t first, end; // of all events
    uint64_t lost;       // sum of the ledger
    struct waiting_scratch sorting;
};

// ---- archive.c

// Makes the directory (or empties one that holds an archive) and opens the archive in it.
tsmith_status otf2_archive_open(struct otf2 *otf2, const char *path, bool exclusive, tsmith_error *error);
// Closes the archive. One that is not finished loses its anchor, so that no reader takes it for complete.
void otf2_archive_close(struct otf2 *otf2);
void otf2_no_memory(struct otf2 *otf2);
// Keeps the first failure. True when the code is success.
bool otf2_check(struct otf2 *otf2, OTF2_ErrorCode code, const char *what);

// ---- definitions.c

// Strings as OTF2 numbers them: for any text, for a static one of ours, for the dictionary.
OTF2_StringRef otf2_text(struct otf2 *otf2, const char *bytes, size_t length);
OTF2_StringRef otf2_constant(struct otf2 *otf2, const char *text);
OTF2_StringRef otf2_string(struct otf2 *otf2, uint32_t id);
// A call stack as flame graphs have it.
OTF2_StringRef otf2_path(struct otf2 *otf2, uint32_t stack);
OTF2_AttributeRef otf2_attribute(struct otf2 *otf2, uint32_t field, tsmith_type type);
// `name` is a string of the dictionary, or UINT64_MAX when the event has none.
OTF2_RegionRef otf2_region(struct otf2 *otf2, uint64_t name, tsmith_kind kind, bool instant,
                           OTF2_Paradigm paradigm);
OTF2_MetricRef otf2_metric(struct otf2 *otf2, uint64_t name, const struct otf2_field *field, OTF2_Type type);
OTF2_Type otf2_type(tsmith_type type);
// The index in otf2->fields; SIZE_MAX when the field has no description.
size_t otf2_field(struct otf2 *otf2, uint32_t field, tsmith_type type);
void otf2_definitions_finish(struct otf2 *otf2);

// ---- tree.c

OTF2_Paradigm otf2_paradigm(const struct otf2 *otf2, uint32_t track);
// The clock, machines, processes, devices and locations, when everything else is written.
void otf2_put_tree(struct otf2 *otf2);

// ---- lanes.c

// The track with its first lane; NULL after a failure.
struct otf2_track *otf2_track(struct otf2 *otf2, uint32_t id);
// Room for `count` values; NULL after a failure.
struct otf2_value *otf2_track_room(struct otf2 *otf2, struct otf2_track *track, size_t count);
void otf2_wait(struct otf2 *otf2, struct otf2_track *track, int64_t start, int64_t end, size_t at);
// Writes the earliest `most` of what waits and, with `end`, ends what is open.
void otf2_put_waiting(struct otf2 *otf2, struct otf2_track *track, size_t most, bool end);
// Writes older halves while too much waits.
void otf2_bound(struct otf2 *otf2);
void otf2_close_lanes(struct otf2 *otf2);
void otf2_lanes_finish(struct otf2 *otf2);

#endif
