// SPDX-License-Identifier: Apache-2.0
// A ring grows while the collector, which has counted its sub-buffers, has not looked at them yet, and a thread fills the new sub-buffer
// and after it an old one. The collector must not take the old one for what comes next. The scan of the library is compiled into this
// test, with a stop in front of each look; what the thread does is done there.
#include "support/numbered.h"

#include "collect/collect_private.h"

static void (*before_look)(void);

static bool look_at_subs(struct collect_channel *channel) {
    if (before_look)
        before_look();
    return collect_look_at_subs(channel);
}

#define collect_look_at_subs look_at_subs
#include "../../src/collect/collect_ring.c"
#undef collect_look_at_subs

static struct session_directory directory;
static struct collector *collector;
static struct channel *channel;
static struct ring_owner *owner;
static struct numbered_seen seen;
static uint16_t shape;
static uint64_t emitted;
static int looks_left, races;

static _Atomic uint32_t *state_of(uint32_t position) {
    return &layout_sub_at(owner->pool->rings, owner->owned[position])->state;
}

// Until the thread writes into its `sequence`th sub-buffer.
static void emit_until(uint64_t sequence) {
    while (owner->sequence < sequence)
        assert_true(numbered_emit(channel, shape, 1, ++emitted, 0));
}

// Two sub-buffers, the second being written. The thread finds the first one in use and asks for a third; while it waits for that the first
// becomes free, and the collector counts two.
static void race(void) {
    if (looks_left-- > 0)
        return;
    before_look = NULL;
    races++;
    assert_int_equal(owner->count, 2);
    assert_int_equal(owner->position, 1);
    assert_int_equal(atomic_load(state_of(0)), LAYOUT_SUB_FREE);
    atomic_store(state_of(0), LAYOUT_SUB_ABSENT); // not free when the thread looked
    emit_until(3);
    assert_int_equal(owner->count, 3);
    atomic_store(state_of(0), LAYOUT_SUB_FREE);
    emit_until(5);
    assert_int_equal(atomic_load(state_of(0)), LAYOUT_SUB_FULL);
}

static void settle(void) {
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    collector_set_settling(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            numbered_see(&seen, batch);
    assert_int_equal(status, TSMITH_END);
    collector_set_settling(collector, false);
}

// `look`: the one of the scan's three, from 0, that is late.
static void check_race(int look) {
    tsmith_error error;
    memset(&seen, 0, sizeof seen);
    emitted = 0;
    directory = numbered_session(64 * 1024, TSMITH_OVERFLOW_DROP_NEWEST);
    assert_int_equal(collector_create(&directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    shape = numbered_shape(channel);
    assert_true(numbered_emit(channel, shape, 1, ++emitted, 0));
    owner = channel_ring(channel)->owner;
    emit_until(2);
    settle();
    looks_left = look;
    before_look = race;
    settle();
    assert_null(before_look);
    channel_close(channel);
    collector_set_closing(collector, true);
    settle();
    assert_false(seen.wrong || seen.twice || seen.out_of_order);
    assert_int_equal(numbered_lost(&seen), 0);
    assert_int_equal(numbered_total(&seen), emitted);
    assert_int_equal(collector_totals(collector).asked, emitted);
    collector_destroy(collector);
    channel_detach(channel);
    session_directory_remove(&directory);
}

static void test_grows_between_looks(void **state) {
    (void)state;
    for (int look = 0; look < 3; look++)
        check_race(look);
    assert_int_equal(races, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grows_between_looks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
