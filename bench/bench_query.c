// SPDX-License-Identifier: Apache-2.0
// SQL over 10 million kernels (500 names on 8 queues) in a file, and the same questions of SQLite's own tables with the
// same rows, in memory, in the same run. Rows per second of this core's time, best of 5, in turn.
//
//     bench_query [EVENTS]
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/batch.h"
#include "tracesmith/query.h"
#include "tracesmith/sbt.h"

enum { QUEUES = 8, NAMES = 500, REPEATS = 5 };

static uint64_t events = 10000000;

static void check(tsmith_status status, const tsmith_error *error) {
    if (status < 0) {
        fprintf(stderr, "bench_query: %s\n", error ? error->message : tsmith_status_text(status));
        exit(1);
    }
}

static double cpu(void) {
    return (double)clock_now(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

// ---- the rows

static uint32_t name_of(uint64_t number) {
    return (uint32_t)(number * 31 % NAMES);
}

static int64_t duration_of(uint64_t number) {
    return (int64_t)(5000 + number * 7919 % 2500);
}

static void name_text(uint32_t name, char *text, size_t size) {
    (void)snprintf(text, size, "void at::native::vectorized_elementwise_kernel<%u, float>(int, float)", name);
}

static void fill(tsmith_batch *batch, const uint32_t *names, uint32_t queue, uint64_t first, uint32_t rows) {
    check(batch_begin_columns(batch, queue + 1, rows), NULL);
    int64_t *starts = batch_add_column(batch, TSMITH_FIELD_START, TSMITH_TYPE_TIME, NULL);
    int64_t *durations = batch_add_column(batch, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, NULL);
    uint8_t *kinds = batch_add_column(batch, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, NULL);
    uint32_t *ids = batch_add_column(batch, TSMITH_FIELD_NAME, TSMITH_TYPE_STRING, NULL);
    uint64_t *numbers = batch_add_column(batch, TSMITH_FIELD_CORRELATION, TSMITH_TYPE_U64, NULL);
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t number = (first + i) * QUEUES + queue;
        starts[i] = (int64_t)number * 1000;
        durations[i] = duration_of(number);
        kinds[i] = TSMITH_KIND_KERNEL;
        ids[i] = names[name_of(number)];
        numbers[i] = number + 1;
    }
    batch_set_bounds(batch, starts[0], starts[rows - 1] + 8000);
}

static void write_trace(const char *path) {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    uint32_t names[NAMES];
    char text[128];
    check(tsmith_dictionary_create(&dictionary), NULL);
    check(tsmith_batch_create(&batch), NULL);
    check(tsmith_sbt_writer_open(path, NULL, &sink, &error), &error);
    for (uint32_t i = 0; i < NAMES; i++) {
        name_text(i, text, sizeof text);
        names[i] = tsmith_dictionary_intern_cstr(dictionary, text);
    }
    for (uint32_t i = 0; i < QUEUES; i++)
        (void)tsmith_dictionary_add_track(dictionary,
                                          &(tsmith_track){.kind = TSMITH_TRACK_QUEUE, .queue = i});
    uint64_t each = events / QUEUES;
    for (uint64_t first = 0; first < each; first += TSMITH_BATCH_MAX)
        for (uint32_t queue = 0; queue < QUEUES; queue++) {
            uint64_t left = each - first;
            fill(batch, names, queue, first, (uint32_t)(left < TSMITH_BATCH_MAX ? left : TSMITH_BATCH_MAX));
            check(tsmith_sink_write(sink, dictionary, batch, &error), &error);
        }
    check(tsmith_sink_finish(sink, dictionary, &error), &error);
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(dictionary);
}

static void must_run(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK)
        return;
    fprintf(stderr, "bench_query: %s: %s\n", sql, message ? message : "");
    exit(1);
}

static sqlite3 *fill_peer(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    char text[128];
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        exit(1);
    must_run(db, "CREATE TABLE kernel(start INTEGER, duration INTEGER, name_id INTEGER);"
                 "CREATE TABLE strings(id INTEGER PRIMARY KEY, value TEXT);");
    for (uint32_t i = 0; i < NAMES; i++) {
        char *sql;
        name_text(i, text, sizeof text);
        sql = sqlite3_mprintf("INSERT INTO strings VALUES(%u, %Q)", i, text);
        must_run(db, sql);
        sqlite3_free(sql);
    }
    if (sqlite3_prepare_v2(db, "INSERT INTO kernel VALUES(?, ?, ?)", -1, &insert, NULL) != SQLITE_OK)
        exit(1);
    must_run(db, "BEGIN");
    for (uint64_t number = 0; number < events; number++) {
        sqlite3_bind_int64(insert, 1, (int64_t)number * 1000);
        sqlite3_bind_int64(insert, 2, duration_of(number));
        sqlite3_bind_int64(insert, 3, name_of(number));
        (void)sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    must_run(db, "COMMIT");
    sqlite3_finalize(insert);
    return db;
}

// ---- the questions

static double ask(tsmith_query *query, const char *sql, int64_t *sum) {
    size_t used;
    tsmith_error error;
    tsmith_status status;
    double began = cpu();
    *sum = 0;
    check(tsmith_query_prepare(query, sql, strlen(sql), &used, &error), &error);
    while ((status = tsmith_query_next(query, &error)) == TSMITH_OK)
        *sum += tsmith_query_value(query, tsmith_query_column_count(query) - 1).integer;
    check(status, &error);
    return cpu() - began;
}

static double ask_peer(sqlite3 *db, const char *sql, int64_t *sum) {
    sqlite3_stmt *statement = NULL;
    double began = cpu();
    *sum = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        exit(1);
    while (sqlite3_step(statement) == SQLITE_ROW)
        *sum += sqlite3_column_int64(statement, sqlite3_column_count(statement) - 1);
    sqlite3_finalize(statement);
    return cpu() - began;
}

static void measure(tsmith_query *query, sqlite3 *db, const char *what, const char *sql,
                    const char *peer_sql) {
    double best = 1e9, peer_best = 1e9;
    int64_t sum = 0, peer_sum = 0;
    for (int i = 0; i < REPEATS; i++) {
        double seconds = ask(query, sql, &sum);
        best = seconds < best ? seconds : best;
        if (i > 2) // the peer is slow and steady
            continue;
        seconds = ask_peer(db, peer_sql, &peer_sum);
        peer_best = seconds < peer_best ? seconds : peer_best;
    }
    if (sum != peer_sum) {
        fprintf(stderr, "bench_query: %s: %" PRId64 " and not %" PRId64 "\n", what, sum, peer_sum);
        exit(1);
    }
    printf("%-44s %8.2f M rows/s   SQLite's own table %8.2f\n", what, (double)events / best / 1e6,
           (double)events / peer_best / 1e6);
}

int main(int argc, char **argv) {
    char path[4096], window[256], peer_window[256];
    tsmith_sbt *trace;
    tsmith_query *query;
    tsmith_error error;
    struct rusage usage;
    const char *folder = getenv("TMPDIR");
    events = argc > 1 ? strtoull(argv[1], NULL, 10) / QUEUES * QUEUES : events;
    (void)snprintf(path, sizeof path, "%s/bench_query-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    write_trace(path);
    check(tsmith_sbt_open(path, &trace, &error), &error);
    (void)unlink(path);
    check(tsmith_query_open(trace, &query, &error), &error);
    sqlite3 *db = fill_peer();
    measure(
        query, db, "two columns, grouped by name", "SELECT name, sum(duration) FROM kernel GROUP BY name",
        "SELECT value, sum(total) FROM (SELECT name_id, sum(duration) AS total FROM kernel GROUP BY name_id) "
        "JOIN strings ON id = name_id GROUP BY value");
    measure(query, db, "the same, by queue", "SELECT track, sum(duration) FROM kernel GROUP BY track",
            "SELECT start / 1000 % 8, sum(duration) FROM kernel GROUP BY 1");
    measure(query, db, "sum of a column", "SELECT sum(duration) FROM kernel",
            "SELECT sum(duration) FROM kernel");
    measure(query, db, "count of rows", "SELECT count(*) FROM kernel", "SELECT count(*) FROM kernel");
    (void)snprintf(window, sizeof window,
                   "SELECT sum(duration) FROM kernel WHERE start BETWEEN %llu AND %llu",
                   (unsigned long long)events * 500, (unsigned long long)events * 500 + 1000000);
    (void)snprintf(peer_window, sizeof peer_window, "%s", window);
    measure(query, db, "a window of 1 ms of them", window, peer_window);
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("most resident, the peer's tables included: %ld MB\n", usage.ru_maxrss / 1024);
    tsmith_query_close(query);
    tsmith_sbt_close(trace);
    sqlite3_close(db);
    return 0;
}
