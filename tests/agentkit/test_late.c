// SPDX-License-Identifier: Apache-2.0
// agent_attach_late: an agent that found its session gone (`tracesmith attach` gave up before the agent was loaded) takes the next one, and the
// one after that.
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_agent_takes_a_session_after_one_that_is_gone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
