// SPDX-License-Identifier: Apache-2.0
// A session: this process's own channel, a collector in a thread of its own, and a file.
//
// The emitting side is the same as that of an agent: a ring per thread. Here the collector is in the same process and
// reads the very same memory, so nothing is copied on the way.
//
// Stopping while others emit: the channel's gate closes, so that the next emission of every thread takes the slow path
// and is counted as late; a record being written at this moment is stored into memory that stays mapped until its
// thread has left it. struct tsmith_session, its channel and its shapes are lasting for the same reason (wire/lasting.h): they
// read as they were or as zeros, and a process may start any number of sessions one after the other.
#define TRACESMITH_NO_INLINE_CHECK // the functions themselves are defined here
#include "tracesmith/session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/fork_hold.h"
#include "api/session_agents.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/thread_sanitizer.h"
#include "collect/collector.h"
#include "collect/recovery.h"
#include "collect/session_directory.h"
#include "tracesmith/sbt.h"
#include "wire/channel.h"
#include "wire/lasting.h"

// The shapes every session registers first, in this order: so their ids are constants on the event path.
enum fixed_shape { SHAPE_BEGIN, SHAPE_END, SHAPE_MARK, SHAPE_COUNT, SHAPES_FIXED };
enum { SHAPES_MAX = 256, SHAPES_EACH = 8 }; // of tsmith_emit; taken that many at a time

// Making a shape takes shapes_lock, then the channel's lock. Over a fork it is held, so that a child finds it free.
static pthread_mutex_t shapes_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
// This thread is making a shape: a signal handler on it must not wait for the lock.
static __thread volatile sig_atomic_t making_shape __attribute__((tls_model("initial-exec")));

static const long FIRST_NAP = 250000; // ns
static const long LONGEST_NAP = 4000000;

// A shape made for tsmith_emit, found again by what it is made of.
struct emit_shape {
    uint64_t signature;
    uint16_t id;
    uint8_t count;
    uint8_t kind;
    bool has_track;
    bool has_duration;
    uint32_t fields[TSMITH_EMIT_MAX_VALUES];
};

// The collecting side, gone after the stop.
struct collecting {
    struct session_directory directory;
    struct session_agents agents;
    struct collector *collector;
    tsmith_sink *sink;
    pthread_t thread;
    int64_t started;
    _Atomic bool stopping;
    tsmith_status failure; // of the sink; the thread's until it is joined
    tsmith_error failure_error;
    struct collect_totals at_failure;
};

static const tsmith_session_statistics no_statistics = {.size = sizeof no_statistics};

// The emitting side.
struct tsmith_session {
    // Of a channel that is over (all zeros). It is used when this session reads as zeros, because it has ended: channel_at is 0
    // then, and an emission finds a closed gate without a check of its own.
    struct channel_gate over;
    ptrdiff_t channel_at;          // from here
    uint64_t heads[SHAPES_FIXED];  // of their records, without a subject
    struct collecting *collecting; // NULL: attached to a session of another process
    pthread_mutex_t lock;          // of what follows
    tsmith_session_statistics live;
    pid_t owner; // the process that started it
    // Each has room for SHAPES_EACH. Read without the lock up to shape_count.
    struct emit_shape *_Atomic shapes[SHAPES_MAX / SHAPES_EACH];
    _Atomic uint32_t shape_count;
};

static_assert(offsetof(struct tsmith_session, over) == 0, "a session that is over is a channel that is over");
static struct lasting all_sessions = {.bytes = sizeof(struct tsmith_session)};
static struct lasting all_shapes = {.bytes = SHAPES_EACH * sizeof(struct emit_shape)};

static inline struct channel *channel_of(tsmith_session *session) {
    return (struct channel *)(void *)((char *)session + session->channel_at);
}

// ---- emitting

static inline void emit_one(tsmith_session *session, enum fixed_shape shape, uint32_t subject) {
    const uint64_t head = session->heads[shape] | (uint64_t)subject << 32;
    struct ring *ring = channel_ring(channel_of(session));
    uint64_t *at = ring ? ring_reserve(ring, 2) : NULL;
    if (__builtin_expect(!at, 0))
        return;
    at[0] = head;
    at[1] = clock_tick(ring->tick_is_tsc);
    ring_commit(ring, 2);
}

void tsmith_range_begin(tsmith_session *session, uint32_t name) {
    if (session)
        emit_one(session, SHAPE_BEGIN, name);
}

void tsmith_range_end(tsmith_session *session) {
    if (session)
        emit_one(session, SHAPE_END, 0);
}

void tsmith_mark(tsmith_session *session, uint32_t name) {
    if (session)
        emit_one(session, SHAPE_MARK, name);
}

void tsmith_count(tsmith_session *session, uint32_t counter, double value) {
    if (!session)
        return;
    const uint64_t head = session->heads[SHAPE_COUNT] | (uint64_t)counter << 32;
    struct ring *ring = channel_ring(channel_of(session));
    uint64_t *at = ring ? ring_reserve(ring, 3) : NULL;
    if (__builtin_expect(!at, 0))
        return;
    at[0] = head;
    at[1] = clock_tick(ring->tick_is_tsc);
    memcpy(&at[2], &value, sizeof value);
    ring_commit(ring, 3);
}

// The step of a value; false when it has no place in an event of the program's.
static bool emit_field(uint32_t field, struct record_field *out) {
    if (field >= TSMITH_FIELD_DYNAMIC) {
        *out = (struct record_field){(uint16_t)(field - TSMITH_FIELD_DYNAMIC), RECORD_DYNAMIC, 0};
        return field > TSMITH_FIELD_DYNAMIC && field - TSMITH_FIELD_DYNAMIC <= UINT16_MAX;
    }
    const tsmith_field_info *info = tsmith_field_describe(field);
    if (!info || info->type == TSMITH_TYPE_LIST || field == TSMITH_FIELD_START ||
        field == TSMITH_FIELD_DURATION || field == TSMITH_FIELD_KIND || field == TSMITH_FIELD_NAME)
        return false;
    uint8_t encoding = info->type == TSMITH_TYPE_STRING  ? RECORD_STRING
                       : info->type == TSMITH_TYPE_TRACK ? RECORD_TRACK
                                                         : RECORD_VALUE;
    *out = (struct record_field){(uint16_t)field, encoding, 0};
    return true;
}

static bool same_shape(const struct emit_shape *a, const struct emit_shape *b) {
    return a->signature == b->signature && a->count == b->count && a->kind == b->kind &&
           a->has_track == b->has_track && a->has_duration == b->has_duration &&
           memcmp(a->fields, b->fields, a->count * sizeof a->fields[0]) == 0;
}

static uint16_t find_shape(const tsmith_session *session, const struct emit_shape *wanted) {
    uint32_t count = atomic_load_explicit(&session->shape_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        const struct emit_shape *shape =
            &atomic_load_explicit(&session->shapes[i / SHAPES_EACH], memory_order_relaxed)[i % SHAPES_EACH];
        if (same_shape(shape, wanted))
            return shape->id;
    }
    return 0;
}

// The place of the next shape, under the lock; NULL: out of memory. No other caller finds the shape then.
static struct emit_shape *next_shape(tsmith_session *session, uint32_t count) {
    struct emit_shape *some =
        atomic_load_explicit(&session->shapes[count / SHAPES_EACH], memory_order_relaxed);
    if (!some && (some = lasting_take(&all_shapes)) != NULL)
        atomic_store_explicit(&session->shapes[count / SHAPES_EACH], some, memory_order_relaxed);
    return some ? &some[count % SHAPES_EACH] : NULL;
}

static void lock_shapes(void) {
    making_shape = 1;
    pthread_mutex_lock(&shapes_lock);
}

static void unlock_shapes(void) {
    pthread_mutex_unlock(&shapes_lock);
    making_shape = 0;
}

// A fork does not wait for a thread that makes a shape (wire/channel.c). A shape that it has not counted yet is made again.
static void renew_lock(void) {
    thread_sanitizer_pause();
    pthread_mutex_init(&shapes_lock, NULL);
    thread_sanitizer_resume();
}

static void prepare_forks(void) {
    pthread_atfork(NULL, NULL, renew_lock);
}

// 0 with the reason when there is none.
static uint16_t make_shape(tsmith_session *session, struct emit_shape *wanted, tsmith_reason *why) {
    struct record_shape shape = {.kind = wanted->kind,
                                 .role = RECORD_EVENT,
                                 .subject = wanted->has_track ? RECORD_SUBJECT_TRACK : RECORD_SUBJECT_NAME};
    shape.fields[shape.field_count++] = (struct record_field){TSMITH_FIELD_START, RECORD_VALUE, 0};
    if (wanted->has_duration)
        shape.fields[shape.field_count++] = (struct record_field){TSMITH_FIELD_DURATION, RECORD_VALUE, 0};
    if (wanted->has_track)
        shape.fields[shape.field_count++] =
            (struct record_field){TSMITH_FIELD_NAME, RECORD_STRING | RECORD_ZERO_IS_NONE, 0};
    for (uint8_t i = 0; i < wanted->count; i++)
        emit_field(wanted->fields[i], &shape.fields[shape.field_count++]);
    *why = making_shape ? TSMITH_REASON_INTERRUPTED : TSMITH_REASON_TABLE_FULL;
    if (making_shape)
        return 0;
    lock_shapes();
    uint16_t id = find_shape(session, wanted); // another thread may have been quicker
    uint32_t count = atomic_load_explicit(&session->shape_count, memory_order_relaxed);
    if (id == 0 && count < SHAPES_MAX && (id = channel_shape(channel_of(session), &shape)) != 0) {
        struct emit_shape *place = next_shape(session, count); // the session has not ended: it has an id
        wanted->id = id;
        if (place) {
            *place = *wanted;
            atomic_store_explicit(&session->shape_count, count + 1, memory_order_release);
        }
    }
    unlock_shapes();
    return id;
}

void tsmith_emit(tsmith_session *session, tsmith_kind kind, uint32_t track, uint32_t name, int64_t start,
                 int64_t duration, const tsmith_value *values, size_t value_count) {
    struct emit_shape wanted = {
        .kind = (uint8_t)kind, .has_track = track != 0, .has_duration = duration >= 0};
    uint64_t words[4 + TSMITH_EMIT_MAX_VALUES];
    struct record_field field;
    uint32_t count = 1;
    if (!session)
        return;
    words[count++] = (uint64_t)start;
    if (duration >= 0)
        words[count++] = (uint64_t)duration;
    if (track)
        words[count++] = name;
    for (size_t i = 0; i < value_count && wanted.count < TSMITH_EMIT_MAX_VALUES; i++) {
        if (!emit_field(values[i].field, &field))
            continue;
        wanted.fields[wanted.count++] = values[i].field;
        words[count++] = values[i].bits;
        wanted.signature = wanted.signature * 31 + values[i].field;
    }
    tsmith_reason why;
    uint16_t shape = find_shape(session, &wanted);
    if (shape == 0)
        shape = make_shape(session, &wanted, &why);
    if (shape == 0) {
        channel_lose(channel_of(session), why, 1);
        return;
    }
    struct ring *ring = channel_ring(channel_of(session));
    uint64_t *at = ring ? ring_reserve(ring, count) : NULL;
    if (!at)
        return;
    words[0] = record_head(shape, count, track ? track : name);
    memcpy(at, words, count * sizeof *words);
    ring_commit(ring, count);
}

int64_t tsmith_session_now(const tsmith_session *session) {
    (void)session; // every session has the one trace clock
    return clock_trace_now();
}

// ---- registering

uint32_t tsmith_session_name(tsmith_session *session, const char *name) {
    return session ? channel_string_cstr(channel_of(session), name) : 0;
}

uint32_t tsmith_session_track(tsmith_session *session, const char *name) {
    return session ? channel_track(channel_of(session),
                                   &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM,
                                                   .name = channel_string_cstr(channel_of(session), name)})
                   : 0;
}

uint32_t tsmith_session_field(tsmith_session *session, const char *name, tsmith_type type, const char *unit) {
    bool possible = type == TSMITH_TYPE_I64 || type == TSMITH_TYPE_U64 || type == TSMITH_TYPE_F64 ||
                    type == TSMITH_TYPE_STRING || type == TSMITH_TYPE_BOOL;
    uint32_t field = session && name && possible ? channel_field(channel_of(session), name, type, unit) : 0;
    return field ? TSMITH_FIELD_DYNAMIC + field : 0;
}

static bool register_shapes(tsmith_session *session) {
    const struct record_field start = {TSMITH_FIELD_START, RECORD_TICK, 0};
    const struct record_shape shapes[SHAPES_FIXED] = {
        [SHAPE_BEGIN] = {TSMITH_KIND_RANGE, RECORD_BEGIN, RECORD_SUBJECT_NAME, 1, {start}},
        [SHAPE_END] = {TSMITH_KIND_RANGE, RECORD_END, RECORD_SUBJECT_NAME, 1, {start}},
        [SHAPE_MARK] = {TSMITH_KIND_MARKER, RECORD_EVENT, RECORD_SUBJECT_NAME, 1, {start}},
        [SHAPE_COUNT] = {TSMITH_KIND_COUNTER,
                         RECORD_EVENT,
                         RECORD_SUBJECT_NAME,
                         2,
                         {start, {TSMITH_FIELD_VALUE, RECORD_VALUE, 0}}},
    };
    bool all = true;
    for (int i = 0; i < SHAPES_FIXED; i++) {
        const uint16_t id = channel_shape(channel_of(session), &shapes[i]);
        session->heads[i] = record_head(id, 1u + shapes[i].field_count, 0);
        all = all && id;
    }
    return all;
}

// ---- the collector's thread

static void publish(tsmith_session *session) {
    struct collect_totals totals = collector_totals(session->collecting->collector);
    pthread_mutex_lock(&session->lock);
    session->live.emitted = totals.kept + totals.dropped;
    session->live.kept = totals.kept;
    session->live.dropped = totals.dropped;
    session->live.threads = totals.rings;
    session->live.duration = clock_trace_now() - session->collecting->started;
    pthread_mutex_unlock(&session->lock);
}

static void fail_with(struct collecting *collecting, tsmith_status status, const tsmith_error *error) {
    collecting->failure = status;
    collecting->failure_error = *error;
    collecting->at_failure = collector_totals(collecting->collector);
    session_directory_end(&collecting->directory);
}

static void deliver(struct collecting *collecting, const tsmith_batch *batch) {
    tsmith_error error;
    if (collecting->failure)
        return; // nothing more can be written; what comes is only counted
    tsmith_status status =
        tsmith_sink_write(collecting->sink, collector_dictionary(collecting->collector), batch, &error);
    if (status)
        fail_with(collecting, status, &error);
}

static void *collect_main(void *self) {
    tsmith_session *session = self;
    struct collecting *collecting = session->collecting;
    bool settled =
        !collecting->agents.on; // all that agents of this process and its children have recorded was taken
    struct timespec nap = {.tv_nsec = FIRST_NAP};
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    do {
        if (atomic_load(&collecting->stopping)) {
            collector_set_settling(collecting->collector, !settled);
            collector_set_closing(collecting->collector, settled);
        }
        fork_hold_enter();
        status = collector_next(collecting->collector, &batch, &error);
        if (status == TSMITH_OK)
            deliver(collecting, batch);
        fork_hold_leave();
        if (status == TSMITH_END && !settled) {
            settled = true;
            status = TSMITH_AGAIN;
            continue;
        }
        if (status == TSMITH_OK) {
            nap.tv_nsec = FIRST_NAP;
            publish(session);
        } else if (status == TSMITH_AGAIN) {
            publish(session);
            nanosleep(&nap, NULL);
            nap.tv_nsec = nap.tv_nsec * 2 < LONGEST_NAP ? nap.tv_nsec * 2 : LONGEST_NAP;
        } else if (status < 0 && !collecting->failure) {
            fail_with(collecting, status, &error);
        }
    } while (status == TSMITH_OK || status == TSMITH_AGAIN);
    return NULL;
}

// ---- life

static tsmith_status open_channel(tsmith_session *session, const char *directory, tsmith_error *error) {
    struct channel *channel;
    tsmith_status status = channel_open(directory, "session", &channel);
    if (channel)
        session->channel_at = (char *)channel - (char *)session;
    if (!status && !register_shapes(session))
        status = TSMITH_ERROR_NO_SPACE;
    if (status)
        status_set(error, status, "cannot record in the session directory %s: %s", directory,
                   tsmith_status_text(status));
    return status;
}

static tsmith_status start_thread(tsmith_session *session, tsmith_error *error) {
    // Signals are the program's own threads' business.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = fork_hold_create(&session->collecting->thread, collect_main, session);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure)
        return status_set(error, TSMITH_ERROR_LIMIT, "cannot start the session's thread: %s",
                          strerror(failure));
    pthread_setname_np(session->collecting->thread, "tracesmith");
    return TSMITH_OK;
}

// The emitting side has ended. NULL is allowed.
static void retire_session(tsmith_session *session) {
    for (uint32_t i = 0; session && i < SHAPES_MAX / SHAPES_EACH; i++)
        lasting_leave(&all_shapes, atomic_load_explicit(&session->shapes[i], memory_order_relaxed));
    lasting_leave(&all_sessions, session);
}

// Takes down what there is of the collecting side.
static void finish_collecting(tsmith_session *session) {
    struct collecting *collecting = session->collecting;
    tsmith_sink_destroy(collecting->sink);
    collector_destroy(collecting->collector);
    if (session->channel_at)
        channel_detach(channel_of(session));
    session_agents_end(&collecting->agents);
    session_directory_remove(&collecting->directory);
    session->collecting = NULL;
    free(collecting);
}

// The capture options that correspond to a session's.
static tsmith_status capture_options(const tsmith_session_options *chosen, tsmith_capture_options *out,
                                     tsmith_error *error) {
    *out = (tsmith_capture_options){.size = sizeof *out};
    if (chosen->agents) {
        tsmith_status status = sized_take(tsmith_capture_options, chosen->agents, out, error);
        if (!status)
            status = session_agents_check(out, error);
        if (status)
            return status;
    }
    out->buffer_bytes = chosen->buffer_bytes;
    out->overflow = chosen->overflow;
    out->session_root = chosen->session_root;
    out->block_timeout = chosen->block_timeout;
    return TSMITH_OK;
}

static tsmith_status open_collecting(struct collecting *collecting, const tsmith_session_options *chosen,
                                     tsmith_error *error) {
    tsmith_status status = tsmith_sbt_writer_open(chosen->path, NULL, &collecting->sink, error);
    if (status)
        return status;
    session_directory_set_output(&collecting->directory, chosen->path);
    session_directory_set_command(&collecting->directory, program_invocation_name);
    return collector_create(&collecting->directory, COLLECT_SESSION, &collecting->collector, error);
}

static tsmith_status start(tsmith_session *session, const tsmith_session_options *chosen,
                           const tsmith_capture_options *capture, tsmith_error *error) {
    struct collecting *collecting = session->collecting;
    struct session_agents *agents = &collecting->agents;
    tsmith_status status = TSMITH_OK;
    if (chosen
            ->agents) // before the file, which may hold another trace: this fails where an API was named that has no agent
        status = session_agents_begin(agents, capture, collecting->directory.path, error);
    if (!status)
        status = open_collecting(collecting, chosen, error);
    if (!status)
        status = open_channel(session, collecting->directory.path, error);
    if (!status && agents->note[0])
        channel_attribute(channel_of(session), "notice.session", agents->note);
    pthread_once(&fork_once, prepare_forks);
    if (status)
        return status;
    session_directory_describe(&collecting->directory, collector_dictionary(collecting->collector));
    collecting->started = clock_trace_now();
    status = start_thread(session, error);
    if (!status && agents->on)
        own_process_switch(true);
    return status;
}

tsmith_status tsmith_session_start(const tsmith_session_options *options, tsmith_session **out,
                                   tsmith_error *error) {
    tsmith_session_options chosen = {0};
    tsmith_capture_options capture;
    *out = NULL;
    tsmith_status status = sized_take(tsmith_session_options, options, &chosen, error);
    if (!status)
        status = capture_options(&chosen, &capture, error);
    if (status != TSMITH_OK)
        return status;
    if (!chosen.path)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "a session needs the path of the file to write");
    struct tsmith_session *session = lasting_take(&all_sessions);
    struct collecting *collecting = calloc(1, sizeof *collecting);
    status = TSMITH_ERROR_NO_MEMORY;
    if (!session || !collecting) {
        status_set(error, status, "out of memory while creating a session");
        goto fail;
    }
    pthread_mutex_init(&session->lock, NULL);
    session->owner = getpid();
    session->collecting = collecting;
    status = session_directory_create(&collecting->directory, &capture, error);
    if (status)
        goto fail;
    status = start(session, &chosen, &capture, error);
    if (!status) {
        *out = session;
        return TSMITH_OK;
    }
    if (session->channel_at)
        channel_close(channel_of(session));
    finish_collecting(session);
    collecting = NULL;
fail:
    free(collecting);
    retire_session(session);
    return status;
}

tsmith_status tsmith_session_attach(tsmith_session **out, tsmith_error *error) {
    const char *directory = own_process_recorded();
    *out = NULL;
    if (!directory)
        return status_set(error, TSMITH_ERROR_STATE,
                          "this process is not being recorded; start it with `tracesmith profile`");
    tsmith_session *session = lasting_take(&all_sessions);
    if (!session)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while attaching to a session");
    pthread_mutex_init(&session->lock, NULL);
    session->owner = getpid();
    const tsmith_status status = open_channel(session, directory, error);
    pthread_once(&fork_once, prepare_forks);
    if (status) {
        retire_session(session);
        return status;
    }
    *out = session;
    return TSMITH_OK;
}

// ---- agents

const char *tsmith_session_note(const tsmith_session *session) {
    return session && session->collecting ? session->collecting->agents.note : "";
}

const char *const *tsmith_session_environment(const tsmith_session *session) {
    return session && session->collecting ? (const char *const *)session->collecting->agents.environment.all
                                          : NULL;
}

tsmith_status tsmith_session_switch(tsmith_session *session, int on, tsmith_error *error) {
    if (!session || session->owner != getpid() || !session->collecting)
        return status_set(error, TSMITH_ERROR_STATE,
                          "only the process that started a session can switch its agents on and off");
    if (session->collecting->agents.on) {
        if (!on)
            own_process_switch(false);
        session_directory_arm(&session->collecting->directory, on);
        if (on)
            own_process_switch(true);
    }
    return TSMITH_OK;
}

// ---- the end

static tsmith_session_statistics final_statistics(const struct collecting *collecting) {
    struct collect_totals totals = collector_totals(collecting->collector);
    tsmith_session_statistics statistics = {.emitted = totals.asked,
                                            .kept = totals.kept,
                                            .dropped = totals.dropped,
                                            .threads = totals.rings,
                                            .duration = clock_trace_now() - collecting->started};
    if (collecting->failure) {
        // Only what was in the file by then is kept.
        statistics.kept = collecting->at_failure.delivered;
        statistics.dropped = statistics.emitted - statistics.kept;
    }
    return statistics;
}

// The thread that collects, the file and the session directory belong to the parent, which continues. The child's
// events are in the parent's session, as those of a separate process.
static tsmith_status stop_in_child(tsmith_session *session, tsmith_session_statistics *statistics,
                                   tsmith_error *error) {
    channel_close(channel_of(session));
    sized_give(tsmith_session_statistics, &no_statistics, statistics);
    return status_set(error, TSMITH_ERROR_STATE,
                      "the session belongs to process %d, which started it; in a forked child only the "
                      "emissions of the child end",
                      (int)session->owner);
}

// The collector is in another process, which continues.
static tsmith_status stop_attached(tsmith_session *session, tsmith_session_statistics *statistics) {
    channel_close(channel_of(session));
    sized_give(tsmith_session_statistics, &no_statistics, statistics);
    retire_session(session);
    return TSMITH_OK;
}

tsmith_status tsmith_session_stop(tsmith_session *session, tsmith_session_statistics *statistics,
                                  tsmith_error *error) {
    if (!session) {
        sized_give(tsmith_session_statistics, &no_statistics, statistics);
        return TSMITH_OK;
    }
    if (session->owner != getpid())
        return stop_in_child(session, statistics, error);
    if (!session->collecting)
        return stop_attached(session, statistics);
    if (session->collecting->agents.on)
        own_process_switch(false);
    struct collecting *collecting = session->collecting;
    // In this order: no new emission, no thread waits for room any more, then the last drain.
    channel_close(channel_of(session));
    session_directory_end(&collecting->directory);
    atomic_store(&collecting->stopping, true);
    fork_hold_join(collecting->thread);
    tsmith_status status = collecting->failure;
    if (!status)
        status = tsmith_sink_finish(collecting->sink, collector_dictionary(collecting->collector), error);
    else if (error)
        *error = collecting->failure_error;
    const tsmith_session_statistics figures = final_statistics(collecting);
    sized_give(tsmith_session_statistics, &figures, statistics);
    finish_collecting(session);
    retire_session(session);
    return status;
}

void tsmith_session_statistics_get(const tsmith_session *session, tsmith_session_statistics *out) {
    sized_give(tsmith_session_statistics, &no_statistics, out);
    if (!session || session->owner != getpid()) // a forked child: the lock may be held by a thread it has not
        return;
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&session->lock; // changes nothing a caller sees
    pthread_mutex_lock(lock);
    sized_give(tsmith_session_statistics, &session->live, out);
    pthread_mutex_unlock(lock);
}
