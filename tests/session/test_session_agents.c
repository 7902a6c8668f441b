// SPDX-License-Identifier: Apache-2.0
// A session that records its own process's GPU calls, and a process that emits into the session it was started under. The
// agent is played by this test, as in test_profiler.c.
#include "support/numbered.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "tracesmith/sbt.h"
#include "tracesmith/session.h"

static char agents[] = "/tmp/tracesmith-test-XXXXXX";
static char path[300];

static tsmith_session *start(const tsmith_capture_options *capture) {
    const tsmith_session_options options = {.size = sizeof options, .path = path, .agents = capture};
    tsmith_session *session;
    tsmith_error error;
    assert_int_equal(tsmith_session_start(&options, &session, &error), TSMITH_OK);
    return session;
}

static uint64_t count_of(tsmith_kind kind) {
    tsmith_sbt *sbt;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_open(path, &sbt, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_summarize(sbt, &summary, NULL), TSMITH_OK);
    tsmith_sbt_close(sbt);
    return summary.kinds[kind];
}

static struct channel *play_agent(uint16_t *shape) {
    struct channel *channel;
    assert_non_null(getenv(CHANNEL_ENVIRONMENT));
    assert_int_equal(channel_open(getenv(CHANNEL_ENVIRONMENT), "test", &channel), TSMITH_OK);
    *shape = numbered_shape(channel);
    return channel;
}

static uint64_t calls(struct channel *channel, uint16_t shape, uint64_t first, uint64_t count) {
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < count; i++)
        if (channel_armed(channel))
            recorded += numbered_emit(channel, shape, 1, first + i, 0);
    return recorded;
}

static void one_file(void **unused) {
    (void)unused;
    const tsmith_capture_options capture = {.size = sizeof capture, .agent_directory = agents};
    uint16_t shape;
    setenv("OPENCL_LAYERS", "of-the-program.so", 1);
    tsmith_session *session = start(&capture);
    assert_string_equal(tsmith_session_note(session), "");
    assert_non_null(strstr(getenv("OPENCL_LAYERS"), "libtracesmith-opencl.so"));
    assert_non_null(strstr(getenv("OPENCL_LAYERS"), "of-the-program.so"));
    bool listed = false;
    for (const char *const *entry = tsmith_session_environment(session); *entry; entry++)
        listed |=
            strncmp(*entry, "OPENCL_LAYERS=", 14) == 0 && strcmp(*entry + 14, getenv("OPENCL_LAYERS")) == 0;
    assert_true(listed);
    struct channel *channel = play_agent(&shape);
    uint64_t recorded = calls(channel, shape, 1, 1000);
    assert_int_equal(tsmith_session_switch(session, 0, NULL), TSMITH_OK);
    recorded += calls(channel, shape, 1001, 1000); // off
    tsmith_mark(session, tsmith_session_name(session, "mark"));
    assert_int_equal(tsmith_session_switch(session, 1, NULL), TSMITH_OK);
    recorded += calls(channel, shape, 2001, 500);
    assert_int_equal(recorded, 1500);
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(tsmith_session_stop(session, &statistics, NULL), TSMITH_OK);
    assert_int_equal(statistics.kept, recorded + 1);
    assert_int_equal(statistics.dropped, 0);
    channel_close(channel);
    assert_int_equal(count_of(TSMITH_KIND_MARKER), recorded + 1);
    assert_int_equal(count_of(TSMITH_KIND_LOSS), 0);
    assert_string_equal(getenv("OPENCL_LAYERS"), "of-the-program.so");
    assert_null(getenv(CHANNEL_ENVIRONMENT));
}

static void what_the_program_changed_stays(void **unused) {
    (void)unused;
    const tsmith_capture_options capture = {.size = sizeof capture, .agent_directory = agents};
    setenv("OPENCL_LAYERS", "before.so", 1);
    tsmith_session *session = start(&capture);
    setenv("OPENCL_LAYERS", "meanwhile.so", 1);
    assert_int_equal(tsmith_session_stop(session, NULL, NULL), TSMITH_OK);
    assert_string_equal(getenv("OPENCL_LAYERS"), "meanwhile.so");
}

static void refused_options(void **unused) {
    (void)unused;
    tsmith_capture_options capture = {.size = sizeof capture, .recording = "all"};
    const tsmith_session_options options = {.size = sizeof options, .path = path, .agents = &capture};
    tsmith_session *session;
    tsmith_error error;
    assert_int_equal(tsmith_session_start(&options, &session, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "recording"));
    capture = (tsmith_capture_options){.size = sizeof capture, .agent_directory = "/nonexistent"};
    assert_int_not_equal(tsmith_session_start(&options, &session, &error), TSMITH_OK);
    assert_null(session);
    assert_null(getenv(CHANNEL_ENVIRONMENT));
    capture.agent_directory = agents;
    session = start(&capture); // the failure holds nothing
    assert_int_equal(tsmith_session_stop(session, NULL, NULL), TSMITH_OK);
}

// The program that child_attaches starts. Its exit status.
static int be_child(const char *directory_of_agents, const char *file) {
    const tsmith_capture_options capture = {.size = sizeof capture, .agent_directory = directory_of_agents};
    tsmith_session *mine, *second;
    if (tsmith_session_attach(&mine, NULL) != TSMITH_OK)
        return 1;
    for (int i = 0; i < 100; i++) {
        tsmith_range_begin(mine, tsmith_session_name(mine, "of the child"));
        tsmith_range_end(mine);
    }
    // It may have a session of its own, which reports the owner of the GPU calls, and switches no agents.
    const tsmith_session_options options = {.size = sizeof options, .path = file, .agents = &capture};
    if (tsmith_session_switch(mine, 0, NULL) != TSMITH_ERROR_STATE ||
        tsmith_session_start(&options, &second, NULL) != TSMITH_OK)
        return 2;
    if (!strstr(tsmith_session_note(second), "already") ||
        tsmith_session_stop(second, NULL, NULL) != TSMITH_OK)
        return 3;
    return tsmith_session_stop(mine, NULL, NULL) == TSMITH_OK ? 0 : 4;
}

static void child_attaches(void **unused) {
    (void)unused;
    const tsmith_capture_options capture = {.size = sizeof capture, .agent_directory = agents};
    tsmith_session *session = start(&capture), *none;
    tsmith_error error;
    char own[320];
    snprintf(own, sizeof own, "%s.child", path);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "child", agents, own, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(own);
    assert_int_equal(status, 0);
    assert_int_equal(tsmith_session_stop(session, NULL, NULL), TSMITH_OK);
    assert_int_equal(count_of(TSMITH_KIND_RANGE), 100);
    assert_int_equal(count_of(TSMITH_KIND_LOSS), 0);
    assert_int_equal(tsmith_session_attach(&none, &error), TSMITH_ERROR_STATE); // the session is over
    assert_null(none);
}

static int make_agents(void **unused) {
    (void)unused;
    char file[300];
    if (!mkdtemp(agents))
        return -1;
    snprintf(path, sizeof path, "%s/session.sbt", agents);
    snprintf(file, sizeof file, "%s/libtracesmith-opencl.so", agents);
    int fd = open(file, O_WRONLY | O_CREAT, 0600); // only its name matters: nothing here loads it
    return fd < 0 ? -1 : close(fd);
}

static int remove_agents(void **unused) {
    (void)unused;
    char file[300];
    snprintf(file, sizeof file, "%s/libtracesmith-opencl.so", agents);
    unlink(file);
    unlink(path);
    return rmdir(agents);
}

int main(int argc, char **argv) {
    if (argc == 3)
        return be_child(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_file),
                                       cmocka_unit_test(what_the_program_changed_stays),
                                       cmocka_unit_test(refused_options), cmocka_unit_test(child_attaches)};
    return cmocka_run_group_tests(tests, make_agents, remove_agents);
}
