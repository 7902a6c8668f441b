// SPDX-License-Identifier: Apache-2.0
// Profiling the calling process. The agent is played by this test: it does what a real one does, with the environment
// that the profiler has set and the switch that it turns.
#include "support/numbered.h"

#include <fcntl.h>

#include "tracesmith/profiler.h"

static char agents[] = "/tmp/tracesmith-test-XXXXXX";

static tsmith_capture_options options(void) {
    return (tsmith_capture_options){.size = sizeof(tsmith_capture_options), .agent_directory = agents};
}

struct agent {
    struct channel *channel;
    uint16_t shape;
    uint64_t calls, recorded;
};

static void agent_attach(struct agent *agent) {
    memset(agent, 0, sizeof *agent);
    assert_non_null(getenv(CHANNEL_ENVIRONMENT));
    assert_int_equal(channel_open(getenv(CHANNEL_ENVIRONMENT), "test", &agent->channel), TSMITH_OK);
    agent->shape = numbered_shape(agent->channel);
}

static void call(struct agent *agent, int count) {
    for (int i = 0; i < count; i++) {
        agent->calls++;
        if (channel_armed(agent->channel))
            agent->recorded += numbered_emit(agent->channel, agent->shape, 1, agent->calls, 0);
    }
}

static void on_and_off(void **unused) {
    (void)unused;
    const tsmith_capture_options chosen = options();
    tsmith_profiler *profiler;
    tsmith_error error;
    struct agent agent;
    struct numbered_seen seen = {0};
    const tsmith_batch *batch;
    assert_int_equal(tsmith_profiler_create(&chosen, &profiler, &error), TSMITH_OK);
    assert_non_null(strstr(getenv("OPENCL_LAYERS"), "libtracesmith-opencl.so"));
    tsmith_source *events = tsmith_profiler_events(profiler);
    agent_attach(&agent);
    call(&agent, 100); // not recording yet
    assert_int_equal(agent.recorded, 0);
    for (int round = 1; round <= 5; round++) {
        assert_int_equal(tsmith_profiler_start(profiler, &error), TSMITH_OK);
        assert_int_equal(tsmith_profiler_start(profiler, &error), TSMITH_ERROR_STATE);
        call(&agent, 1000 * round);
        // While it records there may be something or nothing, but no end.
        assert_true(tsmith_source_next(events, &batch, &error) != TSMITH_END);
        if (batch)
            numbered_see(&seen, batch);
        assert_int_equal(tsmith_profiler_stop(profiler, &error), TSMITH_OK);
        assert_int_equal(tsmith_profiler_stop(profiler, &error), TSMITH_ERROR_STATE);
        call(&agent, 50);
        assert_int_equal(numbered_drain(events, &seen), TSMITH_END);
        assert_int_equal(numbered_total(&seen), agent.recorded);
        assert_int_equal(numbered_drain(events, &seen), TSMITH_END); // and stays there
    }
    assert_int_equal(agent.recorded, 15000);
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    channel_close(agent.channel);
    tsmith_profiler_destroy(profiler);
    channel_detach(agent.channel);
}

static void one_at_a_time(void **unused) {
    (void)unused;
    const tsmith_capture_options chosen = options();
    tsmith_profiler *profiler, *second;
    tsmith_error error;
    assert_int_equal(tsmith_profiler_create(&chosen, &profiler, &error), TSMITH_OK);
    assert_int_equal(tsmith_profiler_create(&chosen, &second, &error), TSMITH_ERROR_STATE);
    assert_null(second);
    tsmith_profiler_destroy(profiler);
    assert_int_equal(tsmith_profiler_create(&chosen, &profiler, &error), TSMITH_OK);
    tsmith_profiler_destroy(profiler);
    tsmith_profiler_destroy(NULL);
}

static void no_blocking(void **unused) {
    (void)unused;
    tsmith_capture_options chosen = options();
    tsmith_profiler *profiler;
    tsmith_error error;
    chosen.overflow = TSMITH_OVERFLOW_BLOCK;
    assert_int_equal(tsmith_profiler_create(&chosen, &profiler, &error), TSMITH_ERROR_INVALID_ARGUMENT);
}

// The session is over: an agent that comes late attaches to nothing.
static void gone_session(void **unused) {
    (void)unused;
    const tsmith_capture_options chosen = options();
    tsmith_profiler *profiler;
    struct channel *channel;
    char directory[4096];
    assert_int_equal(tsmith_profiler_create(&chosen, &profiler, NULL), TSMITH_OK);
    snprintf(directory, sizeof directory, "%s", getenv(CHANNEL_ENVIRONMENT));
    tsmith_profiler_destroy(profiler);
    assert_int_not_equal(channel_open(directory, "test", &channel), TSMITH_OK);
    assert_null(channel);
    assert_int_equal(access(directory, F_OK), -1);
}

static int make_agents(void **unused) {
    (void)unused;
    char path[300];
    if (!mkdtemp(agents))
        return -1;
    snprintf(path, sizeof path, "%s/libtracesmith-opencl.so", agents);
    int fd = open(path, O_WRONLY | O_CREAT, 0600); // only its name matters: nothing here loads it
    return fd < 0 ? -1 : close(fd);
}

static int remove_agents(void **unused) {
    (void)unused;
    char path[300];
    snprintf(path, sizeof path, "%s/libtracesmith-opencl.so", agents);
    unlink(path);
    return rmdir(agents);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_and_off), cmocka_unit_test(one_at_a_time),
                                       cmocka_unit_test(no_blocking), cmocka_unit_test(gone_session)};
    return cmocka_run_group_tests(tests, make_agents, remove_agents);
}
