// SPDX-License-Identifier: Apache-2.0
// agent_attach_late: an agent that found its session gone (`tracesmith attach` gave up before the agent was loaded) takes the next one, and the
// one after that. Each session with --aggregate gets the notice that the agent has no sums.
#include "support/numbered.h"

#include "agentkit/agent.h"

static int prepared, begun, continued;

static bool prepare(void) {
    prepared++;
    return true;
}

static void begin(void) {
    begun++;
}

static void again(void) {
    continued++;
}

static const struct agent_spec spec = {
    .api = "test", .prepare = prepare, .begin = begin, .again = again, .not_in_children = true};

static void an_agent_takes_a_session_after_one_that_is_gone(void **unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        assert_false(agent_attach_late(&spec, "/nonexistent/session", ""));
        assert_false(agent_recording());
    }
    assert_int_equal(begun, 0);
    for (int i = 0; i < 3; i++) {
        struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
        assert_true(agent_attach_late(&spec, directory.path, ""));
        assert_true(agent_recording());
        assert_int_equal(begun, 1);
        assert_int_equal(continued, i);
        // While it is recorded, no other recording takes it.
        assert_false(agent_attach_late(&spec, directory.path, ""));
        agent_leave();
        assert_false(agent_recording());
        agent_park();
        session_directory_remove(&directory);
        assert_false(agent_attach_late(&spec, directory.path, ""));
    }
    assert_int_equal(prepared, 1); // the first attempt's preparations are used by the others
}

static bool has_notice(const struct session_directory *directory) {
    struct collector *collector;
    const tsmith_batch *batch;
    tsmith_error error;
    assert_int_equal(collector_create(directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    collector_set_closing(collector, true);
    while (collector_next(collector, &batch, &error) == TSMITH_OK) {
    }
    const tsmith_string notice =
        tsmith_dictionary_find_attribute(collector_dictionary(collector), "notice.test");
    const bool has = notice.length && strstr(notice.bytes, "adds nothing up (--aggregate)");
    collector_destroy(collector);
    return has;
}

static void each_session_with_sums_gets_the_notice(void **unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        const tsmith_capture_options options = {.size = sizeof options,
                                                .buffer_bytes = 1 << 20,
                                                .overflow = TSMITH_OVERFLOW_DROP_NEWEST,
                                                .aggregate = i % 2 ? 1000000000 : 0};
        struct session_directory directory;
        tsmith_error error;
        assert_int_equal(session_directory_create(&directory, &options, &error), TSMITH_OK);
        assert_true(agent_attach_late(&spec, directory.path, ""));
        agent_leave();
        assert_true(has_notice(&directory) == i % 2);
        agent_park();
        session_directory_remove(&directory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_agent_takes_a_session_after_one_that_is_gone),
                                       cmocka_unit_test(each_session_with_sums_gets_the_notice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
