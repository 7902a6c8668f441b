// SPDX-License-Identifier: Apache-2.0
// Any SQL over a small trace; and, after a NUL byte in the input, over any bytes as a trace.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "query/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 1000, STEPS_MAX = 200000, STEPS_EACH = 1000 };

static void check(tsmith_status status) {
    if (status < 0)
        abort();
}

// A trace with a bit of everything, made once.
static int make_trace(void) {
    static const char *const names[] = {"blur", "", "it's", "\xff\xfe", "a\"b"};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    tsmith_sink *sink;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    if (fd < 0)
        abort();
    check(tsmith_sbt_writer_open_fd(fd, NULL, &sink, NULL));
    check(tsmith_dictionary_create(&dictionary));
    check(tsmith_batch_create(&batch));
    uint32_t own = tsmith_dictionary_field(dictionary, "own \"field\"", TSMITH_TYPE_F64, "");
    for (uint32_t track = 1; track <= 3; track++) {
        (void)tsmith_dictionary_add_track(
            dictionary, &(tsmith_track){.kind = (uint8_t)track,
                                        .name = tsmith_dictionary_intern_cstr(dictionary, names[track % 3])});
        tsmith_batch_reset(batch, track);
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t list[] = {i, UINT64_MAX};
            double real = (double)i / 3;
            uint64_t bits;
            memcpy(&bits, &real, sizeof bits);
            tsmith_batch_append(batch, (tsmith_kind)(1 + i % 7), (int64_t)i * 100);
            check(tsmith_batch_set(batch, TSMITH_FIELD_NAME,
                                   tsmith_dictionary_intern_cstr(dictionary, names[i % 5])));
            if (i % 3)
                check(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, i));
            check(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, i / 2));
            if (i % 4 == 0)
                check(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, 2));
            if (i % 4 == 1)
                check(tsmith_batch_set_dynamic(batch, own, TSMITH_TYPE_F64, bits));
        }
        check(tsmith_batch_finish(batch));
        check(tsmith_sink_write(sink, dictionary, batch, NULL));
    }
    check(tsmith_sink_finish(sink, dictionary, NULL));
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(dictionary);
    return fd;
}

static int count_steps(void *context) {
    int *steps = context;
    *steps += STEPS_EACH;
    return *steps > STEPS_MAX;
}

static void ask(tsmith_query *query, const char *sql, size_t length) {
    size_t at = 0, used = 0;
    tsmith_error error;
    int rows = 0, steps = 0;
    sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, 100000);
    sqlite3_progress_handler(query->db, STEPS_EACH, count_steps, &steps);
    while (rows < ROWS_MAX &&
           tsmith_query_prepare(query, sql + at, length - at, &used, &error) == TSMITH_OK) {
        at += used;
        if (used == 0)
            abort();
        while (rows++ < ROWS_MAX && tsmith_query_next(query, &error) == TSMITH_OK)
            for (size_t i = 0; i < tsmith_query_column_count(query); i++) {
                tsmith_sql_value value = tsmith_query_value(query, i);
                if (value.text.length && value.text.bytes[value.text.length - 1] == 1)
                    steps++; // the last byte is there to be read
            }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int made = -1;
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    char path[64];
    int given = -1;
    tsmith_sbt *trace = NULL;
    tsmith_query *query = NULL;
    if (made < 0)
        made = make_trace();
    if (end) {
        size_t rest = size - length - 1;
        given = memfd_create("given", MFD_CLOEXEC);
        if (given < 0 || write(given, end + 1, rest) != (ssize_t)rest)
            goto done;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", given >= 0 ? given : made);
    if (tsmith_sbt_open(path, &trace, NULL) != TSMITH_OK ||
        tsmith_query_open(trace, &query, NULL) != TSMITH_OK)
        goto done;
    ask(query, (const char *)data, length);
done:
    tsmith_query_close(query);
    tsmith_sbt_close(trace);
    if (given >= 0)
        close(given);
    return 0;
}
