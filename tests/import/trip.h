// SPDX-License-Identifier: Apache-2.0
// Importing a text and exporting it again, in memory.
#ifndef IMPORT_TRIP_H
#define IMPORT_TRIP_H

#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"

struct trip {
    tsmith_status status; // of the import
    tsmith_error error;
    char *json; // the export, NUL-terminated; NULL when the import could not be opened
    size_t length;
    uint64_t events;     // rows of all batches but losses
    uint64_t losses;     // entries of the ledger
    uint64_t lost;       // sum of LOST
    uint64_t attributes; // sum of the "import.<problem>" counters
};

struct trip_sink {
    struct trip *trip;
    tsmith_sink *exporter;
};

static inline tsmith_status trip_write(void *self, const tsmith_dictionary *dictionary,
                                       const tsmith_batch *batch, tsmith_error *error) {
    struct trip_sink *sink = self;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind, lost = 0;
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
        sink->trip->events += kind != TSMITH_KIND_LOSS;
        sink->trip->losses += kind == TSMITH_KIND_LOSS;
        sink->trip->lost += tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &lost) ? lost : 0;
    }
    return tsmith_sink_write(sink->exporter, dictionary, batch, error);
}

static inline tsmith_status trip_finish(void *self, const tsmith_dictionary *dictionary,
                                        tsmith_error *error) {
    struct trip_sink *sink = self;
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(dictionary); id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        const char *key = tsmith_dictionary_string(dictionary, attribute->key).bytes;
        const char *value = tsmith_dictionary_string(dictionary, attribute->value).bytes;
        if (strncmp(key, "import.", 7) == 0 && strspn(value, "0123456789") == strlen(value) &&
            !strchr(key + 7, '.'))
            sink->trip->attributes += strtoull(value, NULL, 10);
    }
    return tsmith_sink_finish(sink->exporter, dictionary, error);
}

static inline int trip_memory(const void *bytes, size_t length) {
    int fd = memfd_create("trip", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

// Reads the trace from `in`.
static inline struct trip trip_fd(int in, size_t hold_bytes) {
    static const tsmith_sink_ops ops = {trip_write, trip_finish, NULL};
    struct trip trip = {.status = TSMITH_OK};
    tsmith_import_options options = {.size = sizeof options, .hold_bytes = hold_bytes};
    tsmith_source *source = NULL;
    trip.status = tsmith_import_open_fd(in, "text", &options, &source, &trip.error);
    if (trip.status != TSMITH_OK) {
        assert_null(source);
        return trip;
    }
    int out = memfd_create("trip", MFD_CLOEXEC);
    struct trip_sink self = {&trip, NULL};
    tsmith_sink *sink = NULL;
    assert_int_equal(tsmith_export_open_fd("chrome", out, NULL, &self.exporter, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_create(&ops, &self, &sink), TSMITH_OK);
    trip.status = tsmith_pump(source, sink, NULL, NULL, &trip.error);
    trip.length = (size_t)lseek(out, 0, SEEK_END);
    trip.json = calloc(1, trip.length + 1);
    assert_non_null(trip.json);
    assert_int_equal(pread(out, trip.json, trip.length, 0), (ssize_t)trip.length);
    tsmith_sink_destroy(sink);
    tsmith_sink_destroy(self.exporter);
    tsmith_source_destroy(source);
    close(out);
    // For any input, the output is JSON.
    if (trip.status >= 0)
        assert_true(json_is_valid(trip.json, trip.length));
    return trip;
}

static inline struct trip trip_bytes(const void *bytes, size_t length) {
    int in = trip_memory(bytes, length);
    struct trip trip = trip_fd(in, 0);
    close(in);
    return trip;
}

static inline struct trip trip_text(const char *text) {
    return trip_bytes(text, strlen(text));
}

static inline void trip_free(struct trip *trip) {
    free(trip->json);
    *trip = (struct trip){.status = TSMITH_OK};
}

#endif
