// SPDX-License-Identifier: Apache-2.0
// A flight recorder (tracesmith/flight.h): batches are kept as long as they are young enough and fit into the limit of memory;
// a trigger makes a file of them. Events are delivered up to a second after they happened, so a window is written when all of it
// was delivered. A file has its final name once it is complete.
#include "tracesmith/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/flight_triggers.h"
#include "base/clock.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/session_directory.h"
#include "event/select.h"
#include "tracesmith/sbt.h"
#include "tracesmith/stacks.h"
#include "tracesmith/time.h"
#include "tracesmith/view.h"

#define REQUEST_NAME "trigger.wanted" // in the session directory; the recorder removes it when it has seen it

static const int64_t DELIVERED_AFTER = 1000000000; // ns
static const int64_t LOOK = 50000000;              // ns between looks at files
static const int64_t DEFAULT_WINDOW = 30000000000; // ns
static const uint64_t DEFAULT_BYTES = 512u << 20;
enum { DEFAULT_MOST = 16, PENDING_MOST = 64 };

struct kept {
    const tsmith_batch *batch;
    uint64_t bytes;
    int64_t first_start, last_end;
};

// A window that is to be written.
struct pending {
    int64_t at, from, to; // trace times: of the trigger, and of the window
    char why[512];
};

struct tsmith_flight {
    tsmith_flight_options options;
    char *path;
    struct flight_triggers triggers;
    tsmith_sink *sink;
    struct kept *kept; // a ring: from `first`, in the order of delivery
    size_t first, count, capacity;
    uint64_t bytes;        // of them
    int64_t evicted_until; // end of what was dropped for lack of memory
    struct pending pending[PENDING_MOST];
    size_t pending_count;
    int64_t last_trigger; // the last that was taken
    bool has_trigger;
    int64_t looked;
    atomic_uint by_hand; // triggers that were not seen yet
    uint32_t next_number;
    tsmith_batch *room;
    uint32_t *rows;
    tsmith_flight_summary summary;
};

// ---- triggers

static void write_flight(void *context, int64_t at, const char *why) {
    struct tsmith_flight *flight = context;
    const tsmith_flight_options *options = &flight->options;
    const bool cooling = flight->has_trigger &&
                         at < tsmith_time_add(flight->last_trigger, options->cool_down) &&
                         at > tsmith_time_add(flight->last_trigger, -options->cool_down);
    flight->summary.triggers++;
    if (cooling || flight->pending_count == PENDING_MOST ||
        flight->summary.written + flight->pending_count >= options->most) {
        flight->summary.ignored++;
        return;
    }
    flight->has_trigger = true;
    flight->last_trigger = at;
    struct pending *pending = &flight->pending[flight->pending_count++];
    *pending = (struct pending){
        .at = at, .from = tsmith_time_add(at, -options->window), .to = tsmith_time_add(at, options->after)};
    (void)snprintf(pending->why, sizeof pending->why, "%s", why);
}

void tsmith_flight_trigger(tsmith_flight *flight) {
    atomic_fetch_add(&flight->by_hand, 1);
}

int tsmith_flight_requested(const char *directory) {
    char path[4096 + 32];
    return snprintf(path, sizeof path, "%s/" REQUEST_NAME, directory) < (int)sizeof path && unlink(path) == 0;
}

static void take_requests(struct tsmith_flight *flight, const char *directory, int64_t now) {
    const unsigned by_hand = atomic_exchange(&flight->by_hand, 0);
    for (unsigned i = 0; i < by_hand; i++)
        write_flight(flight, now, "signal");
    if (directory && tsmith_flight_requested(directory))
        write_flight(flight, now, "tracesmith trigger");
}

// ---- the window

static struct kept *kept_at(struct tsmith_flight *flight, size_t index) {
    return &flight->kept[(flight->first + index) % flight->capacity];
}

// Memory of the columns of a batch, which grow by doubling.
static uint64_t bytes_of(const tsmith_batch *batch) {
    uint64_t rows = 64, bytes = 256;
    while (rows < tsmith_batch_count(batch))
        rows *= 2;
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        const tsmith_view column = tsmith_view_at(batch, i);
        bytes += column.type == TSMITH_TYPE_LIST
                     ? rows * 4 + (uint64_t)column.offsets[tsmith_batch_count(batch)] * 8
                     : rows * tsmith_type_size(column.type);
        bytes += column.valid ? rows / 8 : 0;
    }
    return bytes;
}

static void drop_first(struct tsmith_flight *flight) {
    struct kept *kept = kept_at(flight, 0);
    tsmith_batch_release(kept->batch);
    flight->bytes -= kept->bytes;
    flight->first = (flight->first + 1) % flight->capacity;
    flight->count--;
}

static void drop_old(struct tsmith_flight *flight, int64_t now) {
    int64_t horizon = now - flight->options.window - DELIVERED_AFTER;
    for (size_t i = 0; i < flight->pending_count; i++)
        if (flight->pending[i].from < horizon)
            horizon = flight->pending[i].from;
    while (flight->count && kept_at(flight, 0)->last_end < horizon)
        drop_first(flight);
    while (flight->count && flight->bytes > flight->options.bytes) {
        const int64_t end = kept_at(flight, 0)->last_end;
        flight->evicted_until = end > flight->evicted_until ? end : flight->evicted_until;
        drop_first(flight);
    }
}

static bool grow(struct tsmith_flight *flight) {
    const size_t capacity = flight->capacity ? flight->capacity * 2 : 256;
    struct kept *grown = calloc(capacity, sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < flight->count; i++)
        grown[i] = *kept_at(flight, i);
    free(flight->kept);
    flight->kept = grown;
    flight->capacity = capacity;
    flight->first = 0;
    return true;
}

static bool keep_batch(struct tsmith_flight *flight, const tsmith_batch *batch) {
    const tsmith_batch *retained;
    if (flight->count == flight->capacity && !grow(flight))
        return false;
    if (tsmith_batch_retain(batch, &retained) != TSMITH_OK)
        return false;
    struct kept *kept = kept_at(flight, flight->count++);
    *kept = (struct kept){.batch = retained,
                          .bytes = bytes_of(retained),
                          .first_start = tsmith_batch_first_start(retained),
                          .last_end = tsmith_batch_last_end(retained)};
    flight->bytes += kept->bytes;
    return true;
}

// ---- a file

// "slow.sbt" makes "slow.3.sbt". The first number that no file has.
static bool name_file(struct tsmith_flight *flight, char *out, size_t room) {
    const size_t length = strlen(flight->path);
    const size_t cut = length > 4 && strcmp(flight->path + length - 4, ".sbt") == 0 ? length - 4 : length;
    for (;;) {
        struct stat there;
        const int got =
            snprintf(out, room, "%.*s.%" PRIu32 ".sbt", (int)cut, flight->path, flight->next_number++);
        if (got < 0 || (size_t)got >= room || flight->next_number == UINT32_MAX)
            return false;
        if (lstat(out, &there) && errno == ENOENT)
            return true;
    }
}

// Events that overlap the window. A whole batch inside is written as it is.
static tsmith_status write_batch(struct tsmith_flight *flight, const struct pending *window,
                                 const struct kept *kept, const tsmith_dictionary *dictionary,
                                 tsmith_sink *sink, tsmith_error *error) {
    tsmith_spans spans;
    uint32_t count = 0;
    if (kept->last_end < window->from || kept->first_start > window->to ||
        !tsmith_view_spans(kept->batch, &spans))
        return TSMITH_OK;
    const uint32_t all = tsmith_batch_count(kept->batch);
    for (uint32_t row = 0; row < all; row++) {
        const int64_t duration = tsmith_view_i64_or(&spans.durations, row, 0);
        if (spans.starts[row] <= window->to && tsmith_time_add(spans.starts[row], duration) >= window->from)
            flight->rows[count++] = row;
    }
    if (count == all)
        return tsmith_sink_write(sink, dictionary, kept->batch, error);
    if (!count)
        return TSMITH_OK;
    const tsmith_status status = select_batch(flight->room, kept->batch, flight->rows, count);
    return status ? status_set(error, status, "out of memory while writing a window")
                  : tsmith_sink_write(sink, dictionary, flight->room, error);
}

// What is true of the file, for its readers. The dictionary is the source's, which can add to it.
static void describe(const struct pending *window, uint32_t number, bool shortened,
                     tsmith_dictionary *dictionary) {
    const struct {
        const char *key, *text;
        int64_t time;
    } facts[] = {{"trigger", window->why, 0},
                 {"trigger_ns", NULL, window->at},
                 {"from_ns", NULL, window->from},
                 {"to_ns", NULL, window->to},
                 {"shortened", shortened ? "the memory did not suffice for the whole window" : "no", 0}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char key[64], text[32];
        (void)snprintf(key, sizeof key, "flight.%" PRIu32 ".%s", number, facts[i].key);
        (void)snprintf(text, sizeof text, "%" PRId64, facts[i].time);
        tsmith_dictionary_set_attribute(dictionary, key, facts[i].text ? facts[i].text : text);
    }
    const tsmith_symbolize_options live = {sizeof live, 1};
    (void)tsmith_dictionary_symbolize(dictionary, &live, NULL, NULL);
}

static tsmith_status write_file(struct tsmith_flight *flight, struct pending *window, const char *path,
                                tsmith_dictionary *dictionary, tsmith_error *error) {
    char part[4096 + 16];
    const tsmith_sbt_write_options options = {.size = sizeof options, .exclusive = 1};
    tsmith_sink *sink = NULL;
    (void)snprintf(part, sizeof part, "%s.part", path);
    tsmith_status status = tsmith_sbt_writer_open(part, &options, &sink, error);
    if (status)
        return status;
    for (size_t i = 0; status == TSMITH_OK && i < flight->count; i++)
        status = write_batch(flight, window, kept_at(flight, i), dictionary, sink, error);
    if (status == TSMITH_OK)
        status = tsmith_sink_finish(sink, dictionary, error);
    tsmith_sink_destroy(sink);
    if (status == TSMITH_OK && rename(part, path))
        status = status_set_errno(error, "cannot name %s", path);
    if (status)
        unlink(part);
    return status;
}

static void write_window(struct tsmith_flight *flight, struct pending *window,
                         const tsmith_dictionary *dictionary) {
    char path[4096];
    tsmith_error error = {0};
    tsmith_dictionary *own = (tsmith_dictionary *)(uintptr_t)dictionary; // see tsmith_flight_sink
    const bool shortened = flight->evicted_until >= window->from;
    if (shortened)
        window->from = tsmith_time_add(flight->evicted_until, 1);
    tsmith_status status = TSMITH_ERROR_INVALID_ARGUMENT;
    if (!name_file(flight, path, sizeof path))
        status_set(&error, status, "the name %s is too long", flight->path);
    else {
        describe(window, flight->next_number - 1, shortened, own);
        status = write_file(flight, window, path, own, &error);
    }
    if (status) {
        flight->summary.failed++;
        (void)snprintf(flight->summary.why, sizeof flight->summary.why, "%.255s", error.message);
        return;
    }
    flight->summary.written++;
    flight->summary.shortened += shortened;
    (void)snprintf(flight->summary.last, sizeof flight->summary.last, "%s", path);
}

// Those of which everything was delivered before `delivered`.
static void write_due(struct tsmith_flight *flight, const tsmith_dictionary *dictionary, int64_t delivered) {
    size_t left = 0;
    for (size_t i = 0; i < flight->pending_count; i++) {
        struct pending window = flight->pending[i];
        if (window.to < delivered)
            write_window(flight, &window, dictionary);
        else
            flight->pending[left++] = window;
    }
    flight->pending_count = left;
}

void tsmith_flight_look(tsmith_flight *flight, const tsmith_dictionary *dictionary,
                        const char *session_directory) {
    const int64_t now = clock_trace_now();
    if (now - flight->looked < LOOK)
        return;
    flight->looked = now;
    take_requests(flight, session_directory, now);
    flight_triggers_look(&flight->triggers, now, now - DELIVERED_AFTER, write_flight, flight);
    write_due(flight, dictionary, now - DELIVERED_AFTER);
    drop_old(flight, now);
}

// ---- the sink

static tsmith_status sink_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    struct tsmith_flight *flight = self;
    flight->summary.events += tsmith_batch_count(batch);
    flight_triggers_batch(&flight->triggers, dictionary, batch, write_flight, flight);
    if (!keep_batch(flight, batch))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while keeping a batch");
    drop_old(flight, clock_trace_now());
    return TSMITH_OK;
}

static tsmith_status sink_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    (void)error;
    write_due(self, dictionary, INT64_MAX);
    return TSMITH_OK;
}

void tsmith_flight_ended(tsmith_flight *flight, int wait_status) {
    const int64_t now = clock_trace_now();
    take_requests(flight, NULL, now);
    flight_triggers_look(&flight->triggers, now, INT64_MAX, write_flight, flight);
    flight_triggers_ended(&flight->triggers, now, wait_status, write_flight, flight);
}

tsmith_sink *tsmith_flight_sink(tsmith_flight *flight) {
    return flight->sink;
}

// ---- life

static tsmith_status take_options(const tsmith_flight_options *given, tsmith_flight_options *out,
                                  tsmith_error *error) {
    const tsmith_status status = sized_take(tsmith_flight_options, given, out, error);
    if (status)
        return status;
    out->path = out->path ? out->path : "flight.sbt";
    if (out->window < 0 || out->after < 0 || out->cool_down < 0)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the times of a flight recorder are negative");
    out->window = out->window ? out->window : DEFAULT_WINDOW;
    out->bytes = out->bytes ? out->bytes : DEFAULT_BYTES;
    out->most = out->most ? out->most : DEFAULT_MOST;
    return TSMITH_OK;
}

tsmith_status tsmith_flight_check(const tsmith_flight_options *options, tsmith_error *error) {
    tsmith_flight *flight;
    const tsmith_status status = tsmith_flight_create(options, &flight, error);
    tsmith_flight_destroy(flight);
    return status;
}

tsmith_status tsmith_flight_create(const tsmith_flight_options *options, tsmith_flight **out,
                                   tsmith_error *error) {
    static const tsmith_sink_ops ops = {.write = sink_write, .finish = sink_finish};
    tsmith_flight_options chosen;
    *out = NULL;
    tsmith_status status = take_options(options, &chosen, error);
    if (status)
        return status;
    tsmith_flight *flight = calloc(1, sizeof *flight);
    if (!flight)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a flight recorder");
    flight->options = chosen;
    flight->next_number = 1;
    flight->evicted_until = INT64_MIN;
    status = flight_triggers_parse(&flight->triggers, chosen.triggers, chosen.trigger_count, error);
    flight->options.triggers = NULL;
    flight->options.path = NULL;
    if (!status) {
        flight->path = strdup(chosen.path);
        flight->rows = malloc(TSMITH_BATCH_MAX * sizeof *flight->rows);
        if (!flight->path || !flight->rows || tsmith_batch_create(&flight->room) ||
            tsmith_sink_create(&ops, flight, &flight->sink))
            status =
                status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a flight recorder");
    }
    if (status)
        tsmith_flight_destroy(flight);
    else
        *out = flight;
    return status;
}

void tsmith_flight_summarize(const tsmith_flight *flight, tsmith_flight_summary *out) {
    sized_give(tsmith_flight_summary, &flight->summary, out);
}

void tsmith_flight_destroy(tsmith_flight *flight) {
    if (!flight)
        return;
    while (flight->count)
        drop_first(flight);
    tsmith_sink_destroy(flight->sink);
    tsmith_batch_destroy(flight->room);
    flight_triggers_finish(&flight->triggers);
    free(flight->kept);
    free(flight->rows);
    free(flight->path);
    free(flight);
}

// ---- from another process

tsmith_status tsmith_flight_request(const char *directory, tsmith_error *error) {
    enum { TRIES = 200 };
    const struct timespec moment = {.tv_nsec = 50000000};
    struct session_directory session;
    struct stat there;
    tsmith_status status = session_directory_look(&session, directory, error);
    if (status)
        return status;
    if (!session_directory_collected(&session)) {
        session_directory_close(&session);
        return status_set(error, TSMITH_ERROR_STATE, "the recording in %s has ended, or was killed",
                          directory);
    }
    const int fd =
        openat(session.fd, REQUEST_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        status = status_set_errno(error, "cannot send a request to the flight recorder in %s", directory);
    else
        close(fd);
    bool waiting = fd >= 0;
    for (int i = 0; waiting && i < TRIES; i++) {
        waiting = fstatat(session.fd, REQUEST_NAME, &there, AT_SYMLINK_NOFOLLOW) == 0;
        if (waiting)
            nanosleep(&moment, NULL);
    }
    if (waiting) {
        unlinkat(session.fd, REQUEST_NAME, 0);
        status = status_set(
            error, TSMITH_ERROR_STATE,
            "the recording in %s waits for no trigger: 'profile --flight' or 'profile --capture=frame' does",
            directory);
    }
    session_directory_close(&session);
    return status;
}
