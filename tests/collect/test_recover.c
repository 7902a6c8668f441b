// SPDX-License-Identifier: Apache-2.0
// A collector that is killed at a chosen point, and what recover makes of its file and its session: every record
// once, at every point there is. Nothing waits for time here: the program (this process) and the collector (a child)
// go in step, and the collector ends itself at a chosen point, or is ended after a number of instructions.
//
// The truth is this process's own count of what it emitted.
#include "support/numbered.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "collect/recovery.h"
#include "tracesmith/sbt.h"

enum {
    THREADS = 3,
    CHUNKS = 8,
    PER_CHUNK = 700,
    CUSTOM = 8 /* emitter of the track that all threads write to */
};

enum stop {
    NEVER,
    BEFORE_WRITE,   // a batch was handed out and is not in the file
    WITHIN_WRITE,   // half of what was written is
    ALMOST_WRITTEN, // all but the last byte
    AFTER_WRITE,    // it is, and the collector does not know yet
    STEPS,          // after this many instructions from there on, until the next batch is delivered
};

struct plan {
    enum stop stop;
    uint32_t chunk, batch; // of the chunk
    bool ends_in_between;  // a thread ends with a range open, and the next one takes over its ring
    size_t buffer;
    tsmith_overflow overflow;
    uint32_t per_chunk; // records, 0: PER_CHUNK
};

static char folder[] = "/tmp/tracesmith-recover-XXXXXX";
static char path[300], out_path[300], again_path[300];

// ---- the collector

static off_t size_of(const char *file) {
    struct stat status;
    return stat(file, &status) ? 0 : status.st_size;
}

static void die_here(const struct plan *plan, tsmith_sink *sink, const tsmith_dictionary *dictionary,
                     const tsmith_batch *batch) {
    tsmith_error error;
    off_t before = size_of(path);
    if (plan->stop == BEFORE_WRITE)
        raise(SIGKILL);
    if (tsmith_sink_write(sink, dictionary, batch, &error))
        _exit(3);
    off_t after = size_of(path);
    // What a write that is killed leaves: its beginning.
    if (plan->stop == WITHIN_WRITE && truncate(path, before + (after - before) / 2))
        _exit(3);
    if (plan->stop == ALMOST_WRITTEN && truncate(path, after - 1))
        _exit(3);
    raise(plan->stop == STEPS ? SIGSTOP : SIGKILL);
}

static void collect(struct session_directory *directory, const struct plan *plan, int from, int to) {
    struct collector *collector;
    tsmith_sink *sink;
    const tsmith_batch *batch;
    tsmith_error error;
    char token;
    bool stepping = false;
    atomic_store(&directory->control->collector_pid, (uint32_t)getpid());
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    if (tsmith_sbt_writer_open(path, NULL, &sink, &error))
        _exit(3);
    session_directory_set_output(directory, path);
    if (collector_create(directory, COLLECT_SESSION, &collector, &error) || write(to, "x", 1) != 1)
        _exit(3);
    session_directory_describe(directory, collector_dictionary(collector));
    collector_set_settling(collector, true);
    for (uint32_t chunk = 0; read(from, &token, 1) == 1; chunk++) {
        tsmith_status status;
        for (uint32_t at = 0; (status = collector_next(collector, &batch, &error)) == TSMITH_OK; at++) {
            if (stepping)
                raise(SIGSTOP);
            if (chunk == plan->chunk && at == plan->batch && plan->stop != NEVER) {
                die_here(plan, sink, collector_dictionary(collector), batch);
                stepping = true;
            } else if (tsmith_sink_write(sink, collector_dictionary(collector), batch, &error)) {
                _exit(3);
            }
        }
        if (status != TSMITH_END || write(to, "x", 1) != 1)
            _exit(4);
    }
    _exit(0);
}

// ---- the program

struct emitter {
    struct channel *channel;
    uint16_t shape, custom, begin, end;
    uint32_t track;
    uint64_t index;
    uint64_t emitted;      // numbers of its own, from 1
    uint64_t on_track;     // of those on the common track
    uint64_t ranges, open; // begun in all; open at the moment
    uint64_t asked;        // records
    uint64_t abandoned;    // ranges of threads that have ended
    pthread_barrier_t *go, *done;
    uint32_t per_chunk;
};

static uint16_t shape_of(struct channel *channel, enum record_role role, enum record_subject subject) {
    struct record_shape shape = {.kind = role == RECORD_EVENT ? TSMITH_KIND_MARKER : TSMITH_KIND_RANGE,
                                 .role = (uint8_t)role,
                                 .subject = (uint8_t)subject,
                                 .field_count = 1,
                                 .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0}}};
    if (role != RECORD_END) {
        shape.fields[shape.field_count++] = (struct record_field){TSMITH_FIELD_CORRELATION, RECORD_VALUE, 0};
        shape.fields[shape.field_count++] = (struct record_field){TSMITH_FIELD_OBJECT, RECORD_VALUE, 0};
    }
    return channel_shape(channel, &shape);
}

static bool emit(struct emitter *emitter, uint16_t shape, uint32_t subject, uint64_t number,
                 uint64_t object) {
    struct ring *ring = channel_ring(emitter->channel);
    uint32_t words = shape == emitter->end ? 2 : 4;
    uint64_t *at = ring ? ring_reserve(ring, words) : NULL;
    emitter->asked++;
    if (!at)
        return false;
    at[0] = record_head(shape, words, subject);
    at[1] = clock_tick(ring->tick_is_tsc);
    if (words == 4) {
        at[2] = number;
        at[3] = object;
    }
    ring_commit(ring, words);
    return true;
}

// Numbers on the thread's own track, on one that all threads write to, and ranges that last for some chunks.
static void emit_chunk(struct emitter *emitter, uint32_t chunk) {
    for (uint32_t i = 0; i < emitter->per_chunk; i++) {
        emitter->asked++;
        numbered_emit(emitter->channel, emitter->shape, emitter->index, ++emitter->emitted, i % 5);
        if (i % 7 == 0)
            emit(emitter, emitter->custom, emitter->track, ++emitter->on_track, CUSTOM + emitter->index);
        if (i % 50 == emitter->index) {
            emit(emitter, emitter->begin, 0, ++emitter->ranges, emitter->index);
            emitter->open++;
        }
        // Now and then everything is closed, now and then much is open.
        if (emitter->open > (chunk % 3 ? 30u : 0u)) {
            emit(emitter, emitter->end, 0, 0, 0);
            emitter->open--;
        }
    }
}

// A thread that continues an emitter's numbers, and ends with ranges open.
static void *emit_some(void *self) {
    struct emitter *emitter = self, own = *emitter;
    own.open = 0;
    emit_chunk(&own, 1);
    own.abandoned += own.open;
    own.open = emitter->open;
    *emitter = own;
    return NULL;
}

static void *emit_main(void *self) {
    struct emitter *emitter = self;
    pthread_barrier_t *go = emitter->go,
                      *done = emitter->done; // the rest is another thread's between the two
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        pthread_barrier_wait(go);
        emit_chunk(emitter, chunk);
        pthread_barrier_wait(done);
    }
    while (emitter->open > 0) {
        emit(emitter, emitter->end, 0, 0, 0);
        emitter->open--;
    }
    return NULL;
}

// ---- stepping

// Lets the child go on for `steps` instructions, then ends it; false when it was ended before by its own doing. With
// UINT64_MAX: how many there are until it stops by itself.
static uint64_t step(pid_t child, uint64_t steps) {
    int status;
    uint64_t done = 0;
    for (; done < steps; done++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
            break;
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return done;
}

// ---- the answer

struct answer {
    struct numbered_seen seen;
    uint64_t ranges[THREADS], without_end;
    uint64_t starts, ends;
};

enum { NUMBERS = 16384 };

// Once each: `seen` has a place for every number of every emitter, and of every range.
static void see_others(struct answer *answer, const tsmith_batch *batch, uint8_t *seen) {
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind = 0, number = 0, emitter = 0, value = 0;
        (void)tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind);
        if (kind == TSMITH_KIND_PROCESS && tsmith_batch_get(batch, TSMITH_FIELD_OPERATION, row, &value)) {
            answer->starts += value == TSMITH_OPERATION_PROCESS_START;
            answer->ends += value != TSMITH_OPERATION_PROCESS_START;
        }
        if (kind != TSMITH_KIND_RANGE && kind != TSMITH_KIND_MARKER)
            continue;
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, row, &number) && number < NUMBERS);
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_OBJECT, row, &emitter) && emitter < 2 * CUSTOM);
        uint64_t place = (kind == TSMITH_KIND_RANGE ? 2 * CUSTOM + emitter : emitter) * NUMBERS + number;
        assert_int_equal(seen[place]++, 0);
        if (kind != TSMITH_KIND_RANGE)
            continue;
        assert_true(emitter < THREADS);
        answer->ranges[emitter]++;
        answer->without_end += !tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &value);
    }
}

static struct answer read_answer(const char *file) {
    struct answer answer = {.starts = 0};
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error;
    const tsmith_batch *batch;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    uint8_t *seen = calloc(3 * CUSTOM, NUMBERS);
    assert_non_null(seen);
    assert_int_equal(tsmith_sbt_open(file, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_verify(trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK) {
        numbered_see(&answer.seen, batch);
        see_others(&answer, batch, seen);
    }
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    free(seen);
    return answer;
}

static bool same_bytes(const char *a, const char *b) {
    FILE *left = fopen(a, "re"), *right = fopen(b, "re");
    int x, y;
    assert_true(left && right);
    do {
        x = getc(left);
        y = getc(right);
    } while (x == y && x != EOF);
    (void)fclose(left);
    (void)fclose(right);
    return x == y;
}

static void complete(struct session_directory *directory, const char *to) {
    tsmith_capture_completion done = {.size = sizeof done};
    tsmith_error error;
    tsmith_status status = tsmith_capture_complete(directory->path, to, NULL, NULL, &done, &error);
    if (status)
        print_message("%s\n", error.message);
    assert_int_equal(status, TSMITH_OK);
    assert_string_equal(done.note, "");
    assert_false(done.file_missing || done.file_damaged || done.file_whole || done.may_repeat);
}

static void check(struct session_directory *directory, const struct emitter *emitters, bool all_fits) {
    atomic_store(&directory->control->collector_pid, 0); // its number may be another's by now
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    complete(directory, out_path);
    complete(directory, again_path);
    assert_true(same_bytes(out_path, again_path));
    struct answer answer = read_answer(out_path);
    uint64_t asked = 0, rows = 0, abandoned = 0, ended = 0;
    assert_false(answer.seen.wrong);
    for (int i = 0; i < THREADS; i++) {
        const struct emitter *emitter = &emitters[i];
        asked += emitter->asked;
        abandoned += emitter->abandoned;
        ended += answer.ranges[i];
        rows += answer.seen.count[i] + answer.seen.count[CUSTOM + i] + answer.ranges[i];
        if (!all_fits)
            continue;
        assert_int_equal(answer.seen.count[i], emitter->emitted);
        assert_int_equal(answer.seen.count[CUSTOM + i], emitter->on_track);
        assert_int_equal(answer.ranges[i], emitter->ranges);
    }
    assert_int_equal(answer.starts, 1);
    // Every record is a row, or the end of a range that has one, or an end that found none, or lost.
    const uint64_t unmatched = answer.seen.lost[TSMITH_REASON_UNMATCHED];
    const uint64_t lost = answer.seen.lost[TSMITH_REASON_RING_FULL] +
                          answer.seen.lost[TSMITH_REASON_OVERWRITTEN] +
                          answer.seen.lost[TSMITH_REASON_NO_MEMORY] + answer.seen.lost[TSMITH_REASON_CORRUPT];
    ended = ended - answer.without_end + unmatched - answer.without_end;
    assert_int_equal(asked, rows + ended + lost);
    assert_int_equal(lost > 0, !all_fits);
    if (!all_fits)
        return;
    assert_int_equal(answer.without_end, abandoned);
    assert_int_equal(answer.seen.lost[TSMITH_REASON_UNMATCHED], abandoned);
    // The process is alive; the number of its threads that were about to record is unknown, which is stated.
    assert_int_equal(numbered_lost(&answer.seen), abandoned + answer.seen.lost[TSMITH_REASON_STILL_RUNNING]);
}

// ---- a run

static pid_t start_collector(struct session_directory *directory, const struct plan *plan, int to_child[2],
                             int from_child[2]) {
    char token;
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(from_child), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(to_child[1]);
        close(from_child[0]);
        if (plan->stop == STEPS && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        collect(directory, plan, to_child[0], from_child[1]);
    }
    close(to_child[0]);
    close(from_child[1]);
    if (read(from_child[0], &token, 1) != 1)
        return 0; // ptrace is not allowed
    return child;
}

static void prepare(struct emitter *emitters, struct channel *channel, pthread_barrier_t *go,
                    pthread_barrier_t *done) {
    tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM, .name = channel_string_cstr(channel, "common")};
    const struct emitter common = {.channel = channel,
                                   .shape = numbered_shape(channel),
                                   .custom = shape_of(channel, RECORD_EVENT, RECORD_SUBJECT_TRACK),
                                   .begin = shape_of(channel, RECORD_BEGIN, RECORD_SUBJECT_NAME),
                                   .end = shape_of(channel, RECORD_END, RECORD_SUBJECT_NAME),
                                   .track = channel_track(channel, &track),
                                   .go = go,
                                   .done = done};
    for (uint64_t i = 0; i < THREADS; i++) {
        emitters[i] = common;
        emitters[i].index = i;
    }
}

// Emits chunk by chunk; the collector takes each before the next, as long as it lives. False without ptrace.
static bool run(const struct plan *plan, uint64_t *steps) {
    struct session_directory directory = numbered_session(plan->buffer, plan->overflow);
    struct channel *channel;
    struct emitter emitters[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t go, done;
    int to_child[2], from_child[2], status;
    char token;
    pid_t child = start_collector(&directory, plan, to_child, from_child);
    if (!child) {
        session_directory_remove(&directory);
        return false;
    }
    assert_int_equal(channel_open(directory.path, "test", &channel), 0);
    pthread_barrier_init(&go, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    prepare(emitters, channel, &go, &done);
    for (int i = 0; i < THREADS; i++)
        emitters[i].per_chunk = plan->per_chunk ? plan->per_chunk : PER_CHUNK;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_main, &emitters[i]), 0);
    bool alive = true;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        if (plan->ends_in_between && chunk > 2) {
            pthread_t short_lived;
            assert_int_equal(pthread_create(&short_lived, NULL, emit_some, &emitters[0]), 0);
            pthread_join(short_lived, NULL);
        }
        pthread_barrier_wait(&go);
        pthread_barrier_wait(&done);
        if (!alive)
            continue;
        assert_int_equal(write(to_child[1], "x", 1), 1);
        if (plan->stop == STEPS && chunk == plan->chunk) {
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
            *steps = step(child, *steps);
            alive = false;
        } else {
            alive = read(from_child[0], &token, 1) == 1;
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (alive)
        kill(child, SIGKILL);
    if (plan->stop != STEPS)
        assert_int_equal(waitpid(child, &status, 0), child);
    close(to_child[1]);
    close(from_child[0]);
    check(&directory, emitters, plan->buffer == 0);
    channel_close(channel);
    channel_detach(channel);
    pthread_barrier_destroy(&go);
    pthread_barrier_destroy(&done);
    session_directory_remove(&directory);
    return true;
}

// ---- tests

static void at_every_batch(void **unused) {
    (void)unused;
    for (enum stop stop = BEFORE_WRITE; stop <= AFTER_WRITE; stop++)
        for (uint32_t chunk = 0; chunk < CHUNKS; chunk += 3)
            for (uint32_t batch = 0; batch < 6; batch++)
                run(&(struct plan){.stop = stop, .chunk = chunk, .batch = batch}, NULL);
}

static void at_the_end_of_it_all(void **unused) {
    (void)unused;
    run(&(struct plan){.stop = NEVER}, NULL);
    run(&(struct plan){.stop = NEVER, .ends_in_between = true}, NULL);
}

static void threads_that_end(void **unused) {
    (void)unused;
    for (enum stop stop = BEFORE_WRITE; stop <= AFTER_WRITE; stop++)
        for (uint32_t chunk = 2; chunk < CHUNKS; chunk++)
            for (uint32_t batch = 0; batch < 5; batch += 2)
                run(&(struct plan){.stop = stop, .chunk = chunk, .batch = batch, .ends_in_between = true},
                    NULL);
}

// With the collector gone the rings are soon full, the smaller ones while it is alive too: what is lost is counted once,
// and nothing else is.
static void rings_that_overflow(void **unused) {
    (void)unused;
    for (enum stop stop = BEFORE_WRITE; stop <= AFTER_WRITE; stop++)
        for (uint32_t chunk = 0; chunk < CHUNKS - 1; chunk++)
            for (tsmith_overflow policy = TSMITH_OVERFLOW_DROP_NEWEST; policy <= TSMITH_OVERFLOW_DROP_OLDEST;
                 policy++)
                run(&(struct plan){.stop = stop,
                                   .chunk = chunk,
                                   .batch = chunk % 5,
                                   .buffer = chunk % 4 < 2 ? 65536 : 32768,
                                   .overflow = policy,
                                   .ends_in_between = chunk % 2 == 1},
                    NULL);
}

// Any instruction between the write of a batch and the moment when the next one is handed out.
static void after_any_instruction(void **unused) {
    (void)unused;
    // Most steps would be a sanitizer's own code, which takes most of a minute to minutes; the other builds run this.
    if (getenv("TRACESMITH_SANITIZE"))
        skip();
    const int runs = getenv("TRACESMITH_SOAK") ? 400 : 12;
    uint64_t random = (uint64_t)clock_trace_now();
    for (uint32_t batch = 0; batch < 3; batch++) { // there is a fourth
        struct plan plan = {.stop = STEPS, .chunk = 4, .batch = batch, .per_chunk = 60};
        uint64_t all = UINT64_MAX;
        if (!run(&plan, &all))
            skip(); // ptrace is not allowed here
        for (int i = 0; i < runs / 3; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t steps = (random >> 20) % (all + 1);
            run(&plan, &steps);
        }
    }
}

static int make_folder(void **unused) {
    (void)unused;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/run.sbt", folder);
    snprintf(out_path, sizeof out_path, "%s/out.sbt", folder);
    snprintf(again_path, sizeof again_path, "%s/again.sbt", folder);
    return 0;
}

static int remove_folder(void **unused) {
    (void)unused;
    unlink(path);
    unlink(out_path);
    unlink(again_path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_every_batch), cmocka_unit_test(at_the_end_of_it_all),
        cmocka_unit_test(threads_that_end), cmocka_unit_test(rings_that_overflow),
        cmocka_unit_test(after_any_instruction)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
