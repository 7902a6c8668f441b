// SPDX-License-Identifier: Apache-2.0
// Running a program under a capture: what it is given, what it answers, what is left behind. The "agent" is this test
// itself, started again as the program: it opens the channel that a real agent would.
#include "support/numbered.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "tracesmith/capture.h"

static char folder[] = "/tmp/tracesmith-test-XXXXXX";
static char agents[300];
static char self[4096];

static tsmith_capture *create(int only_program) {
    tsmith_capture *capture;
    tsmith_error error;
    const tsmith_capture_options options = {
        .size = sizeof options, .agent_directory = agents, .only_program = only_program};
    if (tsmith_capture_create(&options, &capture, &error)) {
        print_message("%s\n", error.message);
        fail();
    }
    return capture;
}

struct result {
    int wait_status;
    struct numbered_seen seen;
    uint64_t starts, exits, kills;
    char directory[4096];
};

static void see(struct result *result, const tsmith_batch *batch) {
    numbered_see(&result->seen, batch);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t operation = 0;
        if (!tsmith_batch_get(batch, TSMITH_FIELD_OPERATION, row, &operation))
            continue;
        result->starts += operation == TSMITH_OPERATION_PROCESS_START;
        result->exits += operation == TSMITH_OPERATION_PROCESS_EXIT;
        result->kills += operation == TSMITH_OPERATION_PROCESS_KILLED;
    }
}

static struct result run_capture(tsmith_capture *capture, char *const *argv) {
    struct result result = {0};
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status = tsmith_capture_start(capture, argv, &error);
    if (status)
        print_message("%s\n", error.message);
    assert_int_equal(status, TSMITH_OK);
    while ((status = tsmith_source_next(tsmith_capture_source(capture), &batch, &error)) == TSMITH_OK ||
           status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            see(&result, batch);
    assert_int_equal(status, TSMITH_END);
    assert_false(result.seen.wrong || result.seen.out_of_order || result.seen.twice);
    result.wait_status = tsmith_capture_wait_status(capture);
    snprintf(result.directory, sizeof result.directory, "%s", tsmith_capture_directory(capture));
    return result;
}

static struct result run(char *const *argv) {
    tsmith_capture *capture = create(0);
    struct result result = run_capture(capture, argv);
    tsmith_capture_destroy(capture);
    assert_int_equal(access(result.directory, F_OK), -1); // all was delivered: nothing stays
    return result;
}

static void exit_codes(void **unused) {
    (void)unused;
    struct result result = run((char *[]){"true", NULL});
    assert_true(WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 0);
    result = run((char *[]){"sh", "-c", "exit 7", NULL});
    assert_int_equal(WEXITSTATUS(result.wait_status), 7);
    result = run((char *[]){"sh", "-c", "kill -TERM $$", NULL});
    assert_true(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGTERM);
}

static void cannot_be_run(void **unused) {
    (void)unused;
    tsmith_capture *capture = create(0);
    tsmith_error error;
    assert_int_equal(tsmith_capture_start(capture, (char *[]){"tracesmith-no-such-program", NULL}, &error),
                     TSMITH_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.message, "tracesmith-no-such-program"));
    assert_int_equal(tsmith_capture_start(capture, (char *[]){agents, NULL}, &error),
                     TSMITH_ERROR_PERMISSION);
    assert_int_equal(tsmith_capture_start(capture, (char *[]){NULL}, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    tsmith_capture_destroy(capture);
}

static void options_are_checked(void **unused) {
    (void)unused;
    tsmith_capture *capture;
    tsmith_error error;
    const char *const apis[] = {"opencl", "telepathy"};
    tsmith_capture_options options = {
        .size = sizeof options, .agent_directory = agents, .apis = apis, .api_count = 2};
    assert_int_equal(tsmith_capture_create(&options, &capture, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "telepathy"));
    assert_null(capture);
    options = (tsmith_capture_options){.size = sizeof options, .agent_directory = folder};
    assert_int_equal(tsmith_capture_create(&options, &capture, &error), TSMITH_ERROR_MISSING);
    options = (tsmith_capture_options){
        .size = sizeof options, .agent_directory = agents, .session_root = "/nowhere"};
    assert_int_equal(tsmith_capture_create(&options, &capture, &error), TSMITH_ERROR_NOT_FOUND);
    options = (tsmith_capture_options){
        .size = sizeof options, .agent_directory = agents, .overflow = (tsmith_overflow)9};
    assert_int_equal(tsmith_capture_create(&options, &capture, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    tsmith_overflow overflow;
    assert_true(tsmith_overflow_find("drop-oldest", &overflow) && overflow == TSMITH_OVERFLOW_DROP_OLDEST);
    assert_false(tsmith_overflow_find("drop", &overflow));
}

static void nobody_else_can_look(void **unused) {
    (void)unused;
    tsmith_capture *capture = create(0);
    struct stat status;
    char path[5000];
    assert_int_equal(stat(tsmith_capture_directory(capture), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(path, sizeof path, "%s/control", tsmith_capture_directory(capture));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(tsmith_capture_is_session(tsmith_capture_directory(capture)));
    assert_false(tsmith_capture_is_session("/tmp"));
    tsmith_capture_destroy(capture);
}

// The layer is appended to what the user has there, and the program's own variables are its own.
static void environment_is_extended(void **unused) {
    (void)unused;
    char expected[800], command[2000];
    setenv("OPENCL_LAYERS", "/mine.so", 1);
    setenv("TRACESMITH_TEST_MARK", "a b'c", 1);
    snprintf(expected, sizeof expected, "/mine.so:%s/libtracesmith-opencl.so", agents);
    snprintf(command, sizeof command,
             "test \"$OPENCL_LAYERS\" = '%s' && test \"$TRACESMITH_TEST_MARK\" = \"a b'c\" && test -d "
             "\"$TRACESMITH_SESSION\"",
             expected);
    struct result result = run((char *[]){"sh", "-c", command, NULL});
    unsetenv("OPENCL_LAYERS");
    assert_int_equal(WEXITSTATUS(result.wait_status), 0);
}

// Signals that the caller blocks or ignores for itself after it made the capture are as before in the program.
static void signals_are_restored(void **unused) {
    (void)unused;
    tsmith_capture *capture = create(0);
    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &before);
    void (*old)(int) = signal(SIGINT, SIG_IGN);
    struct result result =
        run_capture(capture, (char *[]){"sh", "-c", "kill -INT $$; kill -TERM $$; exit 3", NULL});
    signal(SIGINT, old);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_true(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGINT);
    tsmith_capture_destroy(capture);
}

static void signals_are_forwarded(void **unused) {
    (void)unused;
    tsmith_capture *capture = create(0);
    const tsmith_batch *batch;
    tsmith_error error;
    assert_int_equal(tsmith_capture_start(capture, (char *[]){"sleep", "1000", NULL}, &error), TSMITH_OK);
    tsmith_capture_signal(capture, SIGTERM);
    tsmith_status status;
    do
        status = tsmith_source_next(tsmith_capture_source(capture), &batch, &error);
    while (status == TSMITH_OK || status == TSMITH_AGAIN);
    assert_int_equal(status, TSMITH_END);
    assert_true(WIFSIGNALED(tsmith_capture_wait_status(capture)));
    tsmith_capture_signal(capture, SIGTERM); // no process is left
    tsmith_capture_destroy(capture);
}

static void program_and_its_children(void **unused) {
    (void)unused;
    tsmith_capture *capture = create(0);
    struct result result = run_capture(capture, (char *[]){self, "emit", "1000", "fork", NULL});
    const char *name;
    uint32_t processes;
    assert_int_equal(result.wait_status, 0);
    assert_int_equal(result.seen.count[1], 1000);
    assert_int_equal(result.seen.count[2], 1000); // the child of a plain fork, with its parent's ids
    assert_int_equal(result.starts, 2);
    assert_int_equal(result.exits, 2);
    assert_int_equal(numbered_lost(&result.seen), 0);
    assert_true(tsmith_capture_api_seen(capture, 0, &name, &processes));
    assert_string_equal(name, "test");
    assert_int_equal(processes, 2);
    assert_false(tsmith_capture_api_seen(capture, 1, &name, &processes));
    tsmith_capture_destroy(capture);
}

static void killed_program(void **unused) {
    (void)unused;
    struct result result = run((char *[]){self, "emit", "1000", "kill", NULL});
    assert_true(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGKILL);
    assert_int_equal(result.seen.count[1], 1000);
    assert_int_equal(result.kills, 1);
    assert_int_equal(result.seen.lost[TSMITH_REASON_PROCESS_DIED], 1);
}

// A process that several agents record dies once; a thread that waits in an agent loses nothing by it.
static void killed_with_two_agents(void **unused) {
    (void)unused;
    struct result result = run((char *[]){self, "emit", "1000", "two_agents", NULL});
    assert_true(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGTERM);
    assert_int_equal(result.seen.count[1], 1000);
    assert_int_equal(result.seen.count[2], 1000);
    assert_int_equal(result.seen.count[3], 10);
    assert_int_equal(result.kills, 1);
    assert_int_equal(result.seen.lost[TSMITH_REASON_PROCESS_DIED], 1);
    assert_int_equal(numbered_lost(&result.seen), 1);
}

// A shell that leaves a job behind. The recording continues until the job has ended, too; or it ends with the shell,
// and reports that a process continued.
static void background_job(void **unused) {
    (void)unused;
    char command[9000];
    for (int only_program = 0; only_program <= 1; only_program++) {
        snprintf(command, sizeof command, "'%s' emit 1000 %s & exec '%s' emit 500 wait_for_other", self,
                 only_program ? "stay_to_the_end" : "stay", self);
        tsmith_capture *capture = create(only_program);
        struct result result = run_capture(capture, (char *[]){"sh", "-c", command, NULL});
        tsmith_capture_destroy(capture);
        assert_int_equal(WEXITSTATUS(result.wait_status), 0);
        assert_int_equal(result.seen.count[1], 1000);
        assert_int_equal(result.seen.count[2], 500);
        assert_int_equal(result.exits, only_program ? 1 : 2);
        if (only_program)
            assert_true(result.seen.lost[TSMITH_REASON_STILL_RUNNING] > 0);
        else
            assert_int_equal(numbered_lost(&result.seen), 0);
    }
}

static void not_a_session(void **unused) {
    (void)unused;
    tsmith_source *source;
    tsmith_error error;
    char path[400];
    assert_int_equal(tsmith_capture_recover("/nowhere", &source, &error), TSMITH_ERROR_NOT_FOUND);
    assert_int_equal(tsmith_capture_recover(folder, &source, &error), TSMITH_ERROR_FORMAT);
    snprintf(path, sizeof path, "%s/control", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, "garbage garbage", 15) == 15);
    close(fd);
    assert_int_equal(tsmith_capture_recover(folder, &source, &error), TSMITH_ERROR_FORMAT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); // must not wait for a writer
    assert_int_equal(tsmith_capture_recover(folder, &source, &error), TSMITH_ERROR_FORMAT);
    assert_false(tsmith_capture_is_session(folder));
    unlink(path);
    tsmith_capture *capture = create(0);
    assert_int_equal(tsmith_capture_recover(tsmith_capture_directory(capture), &source, &error),
                     TSMITH_ERROR_BUSY);
    tsmith_capture_destroy(capture);
}

// ---- the program

// Waits until another process of the session has recorded, by the files it makes.
static void wait_for_other(const char *directory) {
    for (;;) {
        unsigned files = 0;
        DIR *listing = opendir(directory);
        for (struct dirent *entry = listing ? readdir(listing) : NULL; entry; entry = readdir(listing))
            files += strstr(entry->d_name, ".done") != NULL;
        if (listing)
            closedir(listing);
        if (files > 0)
            return;
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
}

static void emit_all(struct channel *channel, uint16_t shape, uint64_t emitter, uint64_t count) {
    for (uint64_t i = 1; i <= count; i++)
        numbered_emit(channel, shape, emitter, i, 0);
}

struct resting {
    struct channel *channel;
    uint16_t shape;
    pthread_barrier_t rests;
};

static void *rest(void *context) {
    struct resting *resting = context;
    emit_all(resting->channel, resting->shape, 3, 10);
    channel_rest(resting->channel, true);
    pthread_barrier_wait(&resting->rests);
    for (;;)
        pause();
    return NULL;
}

// As two agents in a process, and a thread of one of them.
static void die_with_two_agents(const char *directory, struct channel *first, uint16_t shape,
                                uint64_t count) {
    struct resting resting = {.channel = first, .shape = shape};
    struct channel *second;
    pthread_t thread;
    if (channel_open(directory, "other", &second) || pthread_barrier_init(&resting.rests, NULL, 2) ||
        pthread_create(&thread, NULL, rest, &resting))
        _exit(3);
    emit_all(second, numbered_shape(second), 2, count);
    pthread_barrier_wait(&resting.rests);
    kill(getpid(), SIGTERM);
}

static int be_program(char **argv) {
    const char *directory = getenv(CHANNEL_ENVIRONMENT);
    uint64_t count = strtoull(argv[0], NULL, 10);
    const char *then = argv[1] ? argv[1] : "";
    struct channel *channel;
    char done[5000];
    if (strcmp(then, "wait_for_other") == 0)
        wait_for_other(directory);
    if (channel_open(directory, "test", &channel))
        return 3;
    uint16_t shape = numbered_shape(channel);
    emit_all(channel, shape, strcmp(then, "wait_for_other") == 0 ? 2 : 1, count);
    if (strcmp(then, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            emit_all(channel, shape, 2, count);
            channel_close(channel);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else if (strcmp(then, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(then, "two_agents") == 0) {
        die_with_two_agents(directory, channel, shape, count);
    } else if (strncmp(then, "stay", 4) == 0) {
        snprintf(done, sizeof done, "%s/%d.done", directory, (int)getpid());
        close(open(done, O_WRONLY | O_CREAT, 0600));
        // Longer than the program, for which it is waited; or than the session, which does not wait for it.
        const bool to_the_end = strcmp(then, "stay_to_the_end") == 0;
        const struct timespec moment = {.tv_nsec = 1000000};
        for (int i = 0; to_the_end ? access(directory, F_OK) == 0 : i < 500; i++)
            nanosleep(&moment, NULL);
    }
    channel_close(channel);
    return 0;
}

static int make_folder(void **unused) {
    (void)unused;
    char path[400];
    if (!mkdtemp(folder))
        return -1;
    snprintf(agents, sizeof agents, "%s/agents", folder);
    snprintf(path, sizeof path, "%s/libtracesmith-opencl.so", agents);
    if (mkdir(agents, 0700))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT, 0600); // only its name matters: nothing here loads it
    close(fd);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    return length > 0 ? 0 : -1;
}

static int remove_folder(void **unused) {
    (void)unused;
    char path[400];
    snprintf(path, sizeof path, "%s/libtracesmith-opencl.so", agents);
    unlink(path);
    rmdir(agents);
    return rmdir(folder);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "emit") == 0)
        return be_program(argv + 2);
    signal(SIGINT, SIG_DFL); // a shell ignores it for its jobs in the background
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(cannot_be_run),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(nobody_else_can_look),
        cmocka_unit_test(environment_is_extended),
        cmocka_unit_test(signals_are_restored),
        cmocka_unit_test(signals_are_forwarded),
        cmocka_unit_test(program_and_its_children),
        cmocka_unit_test(killed_program),
        cmocka_unit_test(killed_with_two_agents),
        cmocka_unit_test(background_job),
        cmocka_unit_test(not_a_session),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
