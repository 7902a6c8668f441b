// SPDX-License-Identifier: Apache-2.0
// A channel that is continued in one session after the other, as the agents of `attach` do: what was registered keeps its id, a thread's
// events arrive, and neither mappings nor entries become more with the number of sessions. APIs that were in sessions without each other, and
// have the same numbers for different things, keep their own in a session of both.
#include "support/numbered.h"

#include "wire/channel_private.h"

enum { SESSIONS = 40, SETTLED = 4 };

static size_t count_mappings(void) {
    char line[4352];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "tracesmith-") != NULL;
    fclose(maps);
    return count;
}

static void does_not_grow(void **unused) {
    (void)unused;
    struct channel *channel = NULL;
    uint16_t shape = 0;
    uint32_t name = 0;
    uint64_t entries = 0;
    for (int i = 0; i < SESSIONS; i++) {
        struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
        struct channel *before = channel;
        assert_int_equal(channel_open_again(before, directory.path, "test", &channel), TSMITH_OK);
        if (!i)
            shape = numbered_shape(channel);
        const uint32_t string = channel_string_cstr(channel, "a name that an agent keeps");
        assert_true(!i || string == name);
        name = string;
        channel_attribute(channel, "of this session", "only");
        assert_true(numbered_emit(channel, shape, 1, (uint64_t)i + 1, 0));
        assert_true(channel->process->threads == 1);
        channel_close(channel);
        channel_park(channel);
        assert_false(numbered_emit(channel, shape, 1, 1, 0)); // late: counted, and nothing else
        session_directory_remove(&directory);
        if (i == SETTLED)
            entries = channel->process->kept_bytes;
        if (i > SETTLED)
            assert_int_equal(channel->process->kept_bytes, entries);
        assert_int_equal(count_mappings(), 0);
        // Two take turns: one has the thread's ring until the thread writes into the other.
        assert_true(i < 3 || channel->process != before->process);
    }
    assert_non_null(channel);
}

struct api {
    const char *name;
    struct channel *channel;
    uint16_t shape;
    uint64_t count;
};

// One event of each API. The first session registers its shape.
static void record(struct api *const *apis, int count) {
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    for (int i = 0; i < count; i++) {
        struct api *api = apis[i];
        assert_int_equal(channel_open_again(api->channel, directory.path, api->name, &api->channel),
                         TSMITH_OK);
        api->shape = api->shape ? api->shape : numbered_shape(api->channel);
        struct record_shape known;
        assert_true(channel_find_shape(api->channel, api->shape, &known));
        assert_true(numbered_emit(api->channel, api->shape, 1, ++api->count, 0));
        assert_true(api->channel->process == apis[0]->channel->process);
    }
    for (int i = count; i-- > 0;) {
        channel_close(apis[i]->channel);
        channel_park(apis[i]->channel);
    }
    session_directory_remove(&directory);
}

// APIs that were in one process's channel are continued in any order, together or alone.
static void each_is_continued(void **unused) {
    struct api one = {.name = "one"}, two = {.name = "two"};
    struct api *const sets[][2] = {{&one, &two}, {&one, NULL}, {&two, NULL}};
    (void)unused;
    record(sets[0], 2);
    for (int i = 0; i < SESSIONS; i++) {
        const int set = i * 7 % 11 % 3;
        record(sets[set], sets[set][1] ? 2 : 1);
    }
    assert_true(one.shape && two.shape && one.shape != two.shape);
    assert_true(one.count > SESSIONS / 3 && two.count > SESSIONS / 3);
}

// Their first sessions are their own: the same number is a shape of another kind, and a string of another text.
static void first_alone(struct api *api, tsmith_kind kind) {
    struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    const struct record_shape shape = {.kind = (uint8_t)kind,
                                       .role = RECORD_EVENT,
                                       .subject = RECORD_SUBJECT_NAME,
                                       .field_count = 1,
                                       .fields = {{TSMITH_FIELD_START, RECORD_TICK, 0}}};
    assert_int_equal(channel_open(directory.path, api->name, &api->channel), TSMITH_OK);
    api->shape = channel_shape(api->channel, &shape);
    assert_true(channel_string_cstr(api->channel, api->name) != 0);
    channel_close(api->channel);
    channel_park(api->channel);
    session_directory_remove(&directory);
}

static void open_and_check(struct api *api, const struct session_directory *directory, tsmith_kind kind,
                           uint32_t *name) {
    struct record_shape known;
    assert_int_equal(channel_open_again(api->channel, directory->path, api->name, &api->channel), TSMITH_OK);
    assert_true(channel_find_shape(api->channel, api->shape, &known));
    assert_int_equal(known.kind, kind);
    const uint32_t string = channel_string_cstr(api->channel, api->name);
    assert_true(!*name || *name == string);
    *name = string;
}

static void each_keeps_its_own(void **unused) {
    static const tsmith_kind kinds[] = {TSMITH_KIND_MARKER, TSMITH_KIND_RANGE};
    struct api apis[] = {{.name = "one"}, {.name = "two"}};
    uint32_t names[2] = {0};
    uint64_t kept[2] = {0};
    (void)unused;
    for (int i = 0; i < 2; i++)
        first_alone(&apis[i], kinds[i]);
    assert_int_equal(apis[0].shape, apis[1].shape);
    for (int i = 0; i < SESSIONS; i++) {
        struct session_directory directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
        struct channel *new = NULL;
        // Also behind one that is new: its channel has the ids of none of them.
        if (i % 3 == 0)
            assert_int_equal(channel_open(directory.path, "new", &new), TSMITH_OK);
        for (int k = 0; k < 2; k++) {
            const int which = (i + k) % 2;
            open_and_check(&apis[which], &directory, kinds[which], &names[which]);
        }
        assert_true(apis[0].channel->process != apis[1].channel->process);
        assert_true(!new ||
                    (new->process != apis[0].channel->process &&new->process != apis[1].channel->process));
        for (int k = 0; k < 2; k++) {
            channel_close(apis[k].channel);
            channel_park(apis[k].channel);
            assert_true(i <= SETTLED || apis[k].channel->process->kept_bytes == kept[k]);
            kept[k] = apis[k].channel->process->kept_bytes;
        }
        channel_close(new);
        if (new)
            channel_detach(new);
        session_directory_remove(&directory);
        assert_int_equal(count_mappings(), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(does_not_grow), cmocka_unit_test(each_is_continued),
                                       cmocka_unit_test(each_keeps_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
