// SPDX-License-Identifier: Apache-2.0
// SIGKILL at random moments of recordings of more than a second, with a file that has had several flushes by then: of
// a program with a session of its own, and of a collector next to its program. Afterwards one trace has what the file
// had and what was left, every record that was committed once.
//
// The truth is the program's own count, in memory it shares with us: `begun` before and `done` after each emission.
// usage: test_kill_joined [RUNS] (60, or 10,000 where TRACESMITH_SOAK is set, as ./dev soak does)
#include "support/numbered.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "collect/recovery.h"
#include "tracesmith/sbt.h"
#include "tracesmith/session.h"

enum { THREADS = 3, TOGETHER = 25, BURST = 25 };
static const long PAUSE = 3000000;       // ns between bursts
static const int64_t LEAST = 1000000000; // ns that a recording lasts at least
static const int64_t RANDOM = 700000000; // and so much more at most

struct truth {
    struct {
        _Alignas(64) _Atomic uint64_t begun;
        _Atomic uint64_t done;
    } of[THREADS];
    _Atomic uint32_t collecting; // the file is there
    _Atomic uint32_t stop;
};

struct run {
    bool session; // or a collector next to its program
    struct truth *truth;
    char root[128], file[160], joined[160], directory[512];
    pid_t victim, program; // the same of a session
    int64_t due;
    bool killed;
};

static unsigned long runs = 60; // of a second and more each; test_kill has 200 shorter ones
static uint64_t random_state = 88172645463325252u;
static char folder[64];

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void sleep_ns(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

// ---- the programs

struct emitter {
    struct truth *truth;
    tsmith_session *session; // or
    struct channel *channel;
    uint16_t shape;
    uint64_t index;
};

static bool emit(const struct emitter *emitter, uint64_t number) {
    if (emitter->channel)
        return numbered_emit(emitter->channel, emitter->shape, emitter->index, number, (uint32_t)number % 7);
    const tsmith_value values[2] = {{.field = TSMITH_FIELD_CORRELATION, .bits = number},
                                    {.field = TSMITH_FIELD_OBJECT, .bits = emitter->index}};
    tsmith_emit(emitter->session, TSMITH_KIND_MARKER, 0, 0, tsmith_session_now(emitter->session), -1, values,
                2);
    return true;
}

static void *emit_main(void *self) {
    const struct emitter *emitter = self;
    struct truth *truth = emitter->truth;
    for (uint64_t number = 1; !atomic_load(&truth->stop); number++) {
        atomic_store(&truth->of[emitter->index].begun, number);
        if (!emit(emitter, number))
            _exit(5);
        atomic_store(&truth->of[emitter->index].done, number);
        if (number % BURST == 0)
            sleep_ns(PAUSE);
    }
    return NULL;
}

static void emit_in_threads(const struct emitter *like) {
    struct emitter emitters[THREADS];
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        emitters[i] = *like;
        emitters[i].index = i;
        if (pthread_create(&threads[i], NULL, emit_main, &emitters[i]))
            _exit(3);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void session_main(const struct run *run) {
    const tsmith_session_options options = {
        .size = sizeof options, .path = run->file, .session_root = run->root, .buffer_bytes = 16 << 20};
    struct emitter emitter = {.truth = run->truth};
    if (tsmith_session_start(&options, &emitter.session, NULL))
        _exit(3);
    atomic_store(&run->truth->collecting, 1);
    emit_in_threads(&emitter); // until it is killed
    _exit(4);
}

static void collector_main(const struct run *run, struct session_directory *directory) {
    struct collector *collector;
    tsmith_sink *sink;
    const tsmith_batch *batch;
    tsmith_error error;
    atomic_store(&directory->control->collector_pid, (uint32_t)getpid());
    CONTROL_FILE_WRITE(&directory->file, collector_pid);
    if (tsmith_sbt_writer_open(run->file, NULL, &sink, &error))
        _exit(3);
    session_directory_set_output(directory, run->file);
    if (collector_create(directory, COLLECT_SESSION, &collector, &error))
        _exit(3);
    session_directory_describe(directory, collector_dictionary(collector));
    atomic_store(&run->truth->collecting, 1);
    for (;;) {
        tsmith_status status = collector_next(collector, &batch, &error);
        if (status == TSMITH_OK)
            status = tsmith_sink_write(sink, collector_dictionary(collector), batch, &error);
        else
            sleep_ns(1000000);
        if (status < 0)
            _exit(4);
    }
}

static void program_main(const struct run *run) {
    struct emitter emitter = {.truth = run->truth};
    if (channel_open(run->directory, "test", &emitter.channel))
        _exit(3);
    emitter.shape = numbered_shape(emitter.channel);
    emit_in_threads(&emitter);
    channel_close(emitter.channel);
    _exit(0);
}

// ---- a run

static void start(struct run *run, unsigned long number) {
    memset(run, 0, sizeof *run);
    run->session = number % 2 == 0;
    snprintf(run->root, sizeof run->root, "%s/%lu", folder, number);
    snprintf(run->file, sizeof run->file, "%s/run.sbt", run->root);
    snprintf(run->joined, sizeof run->joined, "%s/joined.sbt", run->root);
    assert_int_equal(mkdir(run->root, 0700), 0);
    void *truth = mmap(NULL, sizeof *run->truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(truth, MAP_FAILED);
    run->truth = truth;
    run->due = clock_trace_now() + LEAST + (int64_t)(next_random() % (uint64_t)RANDOM);
    struct session_directory directory;
    tsmith_error error;
    const tsmith_capture_options options = {
        .size = sizeof options, .buffer_bytes = 16 << 20, .session_root = run->root};
    if (!run->session) {
        assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
        snprintf(run->directory, sizeof run->directory, "%.500s", directory.path);
    }
    run->victim = fork();
    assert_true(run->victim >= 0);
    if (run->victim == 0 && run->session)
        session_main(run);
    if (run->victim == 0)
        collector_main(run, &directory);
    run->program = run->session ? run->victim : fork();
    assert_true(run->program >= 0);
    if (run->program == 0)
        program_main(run);
    if (!run->session)
        session_directory_close(&directory);
}

static void kill_victim(struct run *run) {
    int status;
    assert_int_equal(kill(run->victim, SIGKILL), 0);
    assert_int_equal(waitpid(run->victim, &status, 0), run->victim);
    assert_true(WIFSIGNALED(status));
    run->killed = true;
    sleep_ns(PAUSE); // its program continues without it for a moment
    atomic_store(&run->truth->stop, 1);
}

// Whether its time has come, and collector and threads have begun; or it has ended by itself, which it must not.
static bool to_be_killed(const struct run *run) {
    siginfo_t ended = {0};
    bool all = !run->killed && clock_trace_now() >= run->due;
    if (!all || (waitid(P_PID, (id_t)run->victim, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid))
        return all;
    all = atomic_load(&run->truth->collecting);
    for (int i = 0; all && i < THREADS; i++)
        all = atomic_load(&run->truth->of[i].done) > 0;
    return all;
}

// A session names its directory itself.
static void find_directory(struct run *run) {
    DIR *listing = opendir(run->root);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strncmp(entry->d_name, "tracesmith-", 11) == 0)
            snprintf(run->directory, sizeof run->directory, "%s/%.255s", run->root, entry->d_name);
    closedir(listing);
    assert_true(run->directory[0]);
}

static struct numbered_seen read_file(const char *path) {
    struct numbered_seen seen = {0};
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_open(path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    assert_int_equal(numbered_drain(source, &seen), TSMITH_END);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    return seen;
}

// How many events the file itself had.
static uint64_t check(struct run *run) {
    int status;
    tsmith_capture_completion done = {.size = sizeof done};
    tsmith_error error;
    if (!run->session) {
        assert_int_equal(waitpid(run->program, &status, 0), run->program);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0); // it never noticed
    } else {
        find_directory(run);
    }
    assert_int_equal(tsmith_capture_complete(run->directory, run->joined, NULL, NULL, &done, &error),
                     TSMITH_OK);
    assert_string_equal(done.note, "");
    struct numbered_seen seen = read_file(run->joined);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    for (int i = 0; i < THREADS; i++) {
        uint64_t begun = atomic_load(&run->truth->of[i].begun),
                 emitted = atomic_load(&run->truth->of[i].done);
        assert_int_equal(seen.last[i], seen.count[i]); // 1 .. n without a hole
        assert_true(is_between(seen.count[i], emitted, begun));
    }
    // Nothing is missing but what a killed thread may have been about to record.
    assert_int_equal(numbered_lost(&seen), seen.lost[TSMITH_REASON_PROCESS_DIED]);
    assert_true(run->session || seen.lost[TSMITH_REASON_PROCESS_DIED] == 0);
    assert_int_equal(tsmith_capture_remove(run->directory, &error), TSMITH_OK);
    unlink(run->file);
    unlink(run->joined);
    assert_int_equal(rmdir(run->root), 0);
    munmap(run->truth, sizeof *run->truth);
    return done.file_events;
}

static void killed_and_joined(void **unused) {
    (void)unused;
    static struct run running[TOGETHER];
    unsigned long with_events = 0;
    for (unsigned long done = 0; done < runs;) {
        unsigned long count = runs - done < TOGETHER ? runs - done : TOGETHER, killed = 0;
        for (unsigned long i = 0; i < count; i++)
            start(&running[i], done + i);
        while (killed < count) {
            sleep_ns(500000);
            for (unsigned long i = 0; i < count; i++)
                if (to_be_killed(&running[i])) {
                    kill_victim(&running[i]);
                    killed++;
                }
        }
        for (unsigned long i = 0; i < count; i++)
            with_events += check(&running[i]) > 0;
        done += count;
    }
    // Otherwise it would prove nothing about joining.
    assert_true(with_events > 0);
}

static int make_folder(void **unused) {
    (void)unused;
    snprintf(folder, sizeof folder, "/dev/shm/tracesmith-kill-XXXXXX");
    if (mkdtemp(folder))
        return 0;
    snprintf(folder, sizeof folder, "/tmp/tracesmith-kill-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused) {
    (void)unused;
    return rmdir(folder);
}

int main(int argc, char **argv) {
    if (getenv("TRACESMITH_SOAK"))
        runs = 10000;
    if (argc > 1)
        runs = strtoul(argv[1], NULL, 10);
    random_state ^= (uint64_t)clock_trace_now() * 2654435761u;
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_and_joined)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
