// SPDX-License-Identifier: Apache-2.0
// fork while other threads use the channel: it waits for none of them, not even where a driver makes it wait for a thread
// that wants the channel, and the child's channel has all that the forking thread knew.
#include "support/numbered.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

#include "wire/channel_private.h"

enum { THREADS = 3, CHILDREN = 150, PER_FORK = 40, KNOWN = 400 };

static struct session_directory directory;
static struct collector *collector;

static void begin(void) {
    tsmith_error error;
    directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    assert_int_equal(collector_create(&directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
}

static void end(void) {
    collector_destroy(collector);
    session_directory_remove(&directory);
}

// ---- a driver with locks of its own

static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;
static sem_t driver_taken, fork_begun, may_end;
static bool driver_watched;

static void driver_before_fork(void) {
    if (driver_watched)
        sem_post(&fork_begun);
    pthread_mutex_lock(&driver);
}

static void driver_after_fork(void) {
    pthread_mutex_unlock(&driver);
}

struct call {
    struct channel *channel;
    uint32_t string, track;
    bool recorded;
};

// Inside the driver, under its lock, once a fork has begun.
static void *call_driver(void *self) {
    struct call *call = self;
    pthread_mutex_lock(&driver);
    sem_post(&driver_taken);
    sem_wait(&fork_begun);
    call->string = channel_string_cstr(call->channel, "a kernel");
    call->track = channel_thread_track(call->channel);
    call->recorded = numbered_emit(call->channel, numbered_shape(call->channel), 1, 1, 0);
    pthread_mutex_unlock(&driver);
    sem_wait(&may_end); // a race detector would take it for a thread that the child has forgotten to join
    return NULL;
}

static void no_wait_in_a_circle(void **unused) {
    (void)unused;
    struct call call = {.channel = NULL};
    pthread_t thread;
    int status;
    begin();
    assert_int_equal(sem_init(&driver_taken, 0, 0), 0);
    assert_int_equal(sem_init(&fork_begun, 0, 0), 0);
    assert_int_equal(sem_init(&may_end, 0, 0), 0);
    assert_int_equal(channel_open(directory.path, "test", &call.channel), TSMITH_OK);
    driver_watched = true;
    assert_int_equal(pthread_create(&thread, NULL, call_driver, &call), 0);
    sem_wait(&driver_taken);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(channel_string_cstr(call.channel, "a kernel") == 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sem_post(&may_end);
    pthread_join(thread, NULL);
    driver_watched = false;
    assert_int_not_equal(call.string, 0);
    assert_int_not_equal(call.track, 0);
    assert_true(call.recorded);
    channel_close(call.channel);
    channel_detach(call.channel);
    end();
}

// ---- threads that change the table all the time

struct changer {
    struct channel *channel;
    uint32_t index;
    _Atomic uint32_t *forks; // that have begun; CHILDREN + 1: no more come
};

// Each fork meets some changes: enough that the table grows now and then.
static void *change(void *self) {
    const struct changer *changer = self;
    char text[64];
    uint32_t forks;
    for (uint32_t i = 0; (forks = atomic_load(changer->forks)) <= CHILDREN;) {
        if (i >= forks * PER_FORK) {
            sched_yield();
            continue;
        }
        i++;
        snprintf(text, sizeof text, "thread %u has %u", changer->index, i);
        const uint32_t id = channel_string_cstr(changer->channel, text);
        const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM, .name = id};
        if (!id || !channel_track(changer->channel, &track))
            _exit(4);
    }
    return NULL;
}

static uint16_t named_shape(struct channel *channel) {
    const struct record_shape shape = {
        .kind = TSMITH_KIND_MARKER,
        .role = RECORD_EVENT,
        .subject = RECORD_SUBJECT_NAME,
        .field_count = 2,
        .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0}, {TSMITH_FIELD_CORRELATION, RECORD_VALUE, 0}}};
    return channel_shape(channel, &shape);
}

static bool emit_named(struct channel *channel, uint16_t shape, uint32_t name, uint64_t number) {
    struct ring *ring = channel_ring(channel);
    uint64_t *at = ring ? ring_reserve(ring, 3) : NULL;
    if (!at)
        return false;
    at[0] = record_head(shape, 3, name);
    at[1] = clock_tick(ring->tick_is_tsc);
    at[2] = number;
    ring_commit(ring, 3);
    return true;
}

// Text number `number` of the forking thread; a child adds a few.
static uint32_t text_of(struct channel *channel, uint64_t number) {
    char text[64];
    snprintf(text, sizeof text, "text %llu", (unsigned long long)number);
    return channel_string_cstr(channel, text);
}

// The status of its end. What the parent's thread has registered has its number here too; what is new gets another.
static int child_main(struct channel *channel, uint16_t shape, const uint32_t *ids) {
    for (uint64_t number = 1; number <= KNOWN; number++)
        if (text_of(channel, number) != ids[number - 1])
            return 5;
    const uint64_t numbers[] = {1, KNOWN, KNOWN + 1, KNOWN + 2};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const uint32_t id = text_of(channel, numbers[i]);
        if (!id || text_of(channel, numbers[i]) != id || !emit_named(channel, shape, id, numbers[i]))
            return 6;
    }
    channel_close(channel);
    return 0;
}

struct seen {
    uint64_t rows, lost;
    bool wrong;
};

static void see(struct seen *seen, const tsmith_batch *batch) {
    const tsmith_dictionary *dictionary = collector_dictionary(collector);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind = 0, name = 0, number = 0, lost = 0;
        char text[64];
        tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
        if (kind == TSMITH_KIND_LOSS && tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &lost))
            seen->lost += lost;
        if (kind != TSMITH_KIND_MARKER)
            continue;
        seen->rows++;
        tsmith_batch_get(batch, TSMITH_FIELD_NAME, row, &name);
        tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number);
        snprintf(text, sizeof text, "text %llu", (unsigned long long)number);
        seen->wrong |= strcmp(tsmith_dictionary_string(dictionary, (uint32_t)name).bytes, text) != 0;
    }
}

static void see_some(struct seen *seen) {
    const tsmith_batch *batch;
    tsmith_error error;
    while (collector_next(collector, &batch, &error) == TSMITH_OK)
        see(seen, batch);
}

static void fork_children(struct channel *channel, uint16_t shape, const uint32_t *ids,
                          _Atomic uint32_t *forks, struct seen *seen) {
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        atomic_fetch_add(forks, 1);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(child_main(channel, shape, ids));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        see_some(seen);
    }
}

static void children_have_a_whole_table(void **unused) {
    (void)unused;
    struct channel *channel;
    struct changer changers[THREADS];
    pthread_t threads[THREADS];
    uint32_t ids[KNOWN];
    _Atomic uint32_t forks = 0;
    struct seen seen = {0};
    begin();
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    const uint16_t shape = named_shape(channel);
    for (uint32_t i = 0; i < THREADS; i++) {
        changers[i] = (struct changer){channel, i, &forks};
        assert_int_equal(pthread_create(&threads[i], NULL, change, &changers[i]), 0);
    }
    for (uint64_t number = 1; number <= KNOWN; number++)
        ids[number - 1] = text_of(channel, number);
    fork_children(channel, shape, ids, &forks, &seen);
    atomic_store(&forks, CHILDREN + 1);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    channel_close(channel);
    collector_set_closing(collector, true);
    see_some(&seen);
    assert_false(seen.wrong);
    assert_int_equal(seen.rows, 4 * CHILDREN);
    assert_int_equal(seen.lost, 0);
    channel_detach(channel);
    end();
}

// The same at the worst moment: a thread has the lock, and nothing in the table is what it should be but the entries.
static void *hold_lock(void *self) {
    struct channel *channel = self;
    struct channel_process *process = channel->process;
    char nowhere[64];
    if (!channel_lock(channel))
        _exit(4);
    const struct channel_process before = *process;
    memset(nowhere, 0xff, sizeof nowhere);
    memcpy(&process->interned, nowhere, sizeof process->interned);
    memcpy(&process->threads_known.items, nowhere, sizeof process->threads_known.items);
    memset(process->counts, 0xff, sizeof process->counts);
    sem_post(&driver_taken);
    sem_wait(&fork_begun);
    process->interned = before.interned;
    process->threads_known = before.threads_known;
    memcpy(process->counts, before.counts, sizeof process->counts);
    channel_unlock(channel);
    return NULL;
}

static void child_makes_the_rest_anew(void **unused) {
    (void)unused;
    struct channel *channel;
    pthread_t thread;
    uint32_t ids[KNOWN];
    struct seen seen = {0};
    int status;
    begin();
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    const uint16_t shape = named_shape(channel);
    for (uint64_t number = 1; number <= KNOWN; number++)
        ids[number - 1] = text_of(channel, number);
    assert_true(emit_named(channel, shape, ids[0], 1));
    assert_int_equal(sem_init(&driver_taken, 0, 0), 0);
    assert_int_equal(sem_init(&fork_begun, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_lock, channel), 0);
    sem_wait(&driver_taken);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(child_main(channel, shape, ids));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sem_post(&fork_begun);
    pthread_join(thread, NULL);
    assert_true(emit_named(channel, shape, text_of(channel, 2), 2));
    channel_close(channel);
    collector_set_closing(collector, true);
    see_some(&seen);
    assert_false(seen.wrong);
    assert_int_equal(seen.rows, 2 + 4);
    assert_int_equal(seen.lost, 0);
    channel_detach(channel);
    end();
}

// ---- an API that does not work in children

static void others_go_on_in_children(void **unused) {
    (void)unused;
    struct channel *channel, *parents;
    struct seen seen = {0};
    int status;
    begin();
    assert_int_equal(channel_open(directory.path, "parents", &parents), TSMITH_OK);
    channel_not_in_children(parents);
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    const uint16_t shape = named_shape(channel), other = named_shape(parents);
    assert_true(emit_named(parents, other, text_of(parents, 1), 1));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool refused = !emit_named(parents, other, 0, 1) && !text_of(parents, 7);
        const bool done = emit_named(channel, shape, text_of(channel, 1), 1) &&
                          emit_named(channel, shape, text_of(channel, 2), 2);
        channel_close(channel);
        _exit(!refused || !done);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(emit_named(parents, other, text_of(parents, 3), 3));
    channel_close(parents);
    channel_close(channel);
    collector_set_closing(collector, true);
    see_some(&seen);
    assert_false(seen.wrong);
    assert_int_equal(seen.rows, 4);
    assert_int_equal(seen.lost, 1); // what the child asked of the API that is over there
    channel_detach(parents);
    channel_detach(channel);
    end();
}

int main(void) {
    // Before any channel is opened: the driver's handler runs after those of the channel, if it has any.
    pthread_atfork(driver_before_fork, driver_after_fork, driver_after_fork);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wait_in_a_circle), cmocka_unit_test(children_have_a_whole_table),
        cmocka_unit_test(child_makes_the_rest_anew), cmocka_unit_test(others_go_on_in_children)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
