// SPDX-License-Identifier: Apache-2.0
// A table of a process that is longer than what the collector reads of it at once: every entry is read, wherever a piece ends in it, the
// longest ones too.
#include "support/numbered.h"

#include <stdlib.h>

#include "collect/collector.h"

enum { STRINGS = 60, LONGEST = 1 << 20 }; // of a string: the agent cuts longer ones

static size_t length_of(int number) {
    const size_t n = (size_t)number;
    return number % 7 == 3 ? LONGEST - n : n * n * 37 % 90001 + 1;
}

static void make(char *text, int number) {
    for (size_t i = 0; i < length_of(number); i++)
        text[i] = (char)('a' + (i * 31 + (size_t)number * 17 + i / 4096) % 26);
    text[0] = (char)('A' + number % 26);
    text[length_of(number) / 2] = (char)('0' + number / 26);
}

static void test_pieces(void **state) {
    (void)state;
    struct session_directory directory = numbered_session(64 * 1024, TSMITH_OVERFLOW_DROP_NEWEST);
    struct numbered_seen seen = {.wrong = false};
    struct collector *collector;
    struct channel *channel;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_status status;
    char *text = malloc(LONGEST);
    assert_non_null(text);
    assert_int_equal(collector_create(&directory, COLLECT_SESSION, &collector, &error), TSMITH_OK);
    assert_int_equal(channel_open(directory.path, "test", &channel), TSMITH_OK);
    for (int number = 0; number < STRINGS; number++) {
        make(text, number);
        assert_true(channel_string(channel, text, length_of(number)) != 0);
    }
    assert_true(numbered_emit(channel, numbered_shape(channel), 1, 1, 0)); // described behind all of them
    channel_close(channel);
    collector_set_closing(collector, true);
    while ((status = collector_next(collector, &batch, &error)) == TSMITH_OK || status == TSMITH_AGAIN)
        if (status == TSMITH_OK)
            numbered_see(&seen, batch);
    assert_int_equal(status, TSMITH_END);
    assert_false(seen.wrong);
    assert_int_equal(numbered_lost(&seen), 0);
    assert_int_equal(numbered_total(&seen), 1);
    const tsmith_dictionary *dictionary = collector_dictionary(collector);
    int found = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_string_count(dictionary) && found < STRINGS; id++) {
        const tsmith_string string = tsmith_dictionary_string(dictionary, id);
        make(text, found);
        found += string.length == length_of(found) && memcmp(string.bytes, text, string.length) == 0;
    }
    assert_int_equal(found, STRINGS);
    free(text);
    collector_destroy(collector);
    channel_detach(channel);
    session_directory_remove(&directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
