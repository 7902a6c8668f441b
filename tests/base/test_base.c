// SPDX-License-Identifier: Apache-2.0
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"

// The check value of CRC-32C (its catalog entry) and the examples of RFC 3720, appendix B.4.
static void crc_matches_published_values(void **state) {
    (void)state;
    unsigned char bytes[32];
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x46dd794eu);
}

static void crc_is_the_same_with_and_without_the_instruction(void **state) {
    (void)state;
    unsigned char bytes[1000];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t length = 0; length <= sizeof bytes; length += 7) {
        uint32_t whole = crc32c(0, bytes, length);
        assert_int_equal(whole, crc32c_portable(0, bytes, length));
        assert_int_equal(whole,
                         crc32c(crc32c(0, bytes, length / 3), bytes + length / 3, length - length / 3));
    }
}

static void arena_pieces_do_not_overlap(void **state) {
    (void)state;
    struct arena arena = {0};
    enum { PIECES = 500 };
    unsigned char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = arena_take(&arena, i * 13, 8);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], (int)(i & 0xff), i * 13);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t byte = 0; byte < i * 13; byte++)
            assert_int_equal(pieces[i][byte], i & 0xff);
    assert_null(arena_take(&arena, SIZE_MAX, 1));
    assert_string_equal(arena_copy(&arena, "ab\0cd", 2), "ab");
    arena_finish(&arena);
}

static void array_refuses_what_overflows(void **state) {
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    assert_false(array_reserve(&items, &capacity, SIZE_MAX / 2, 16));
    assert_null(items);
    assert_true(array_reserve(&items, &capacity, 100, 16));
    assert_true(capacity >= 100);
    free(items);
}

static void array_push_keeps_what_was_pushed(void **state) {
    (void)state;
    struct {
        uint32_t *items;
        size_t count, capacity;
    } numbers = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t *added = ARRAY_PUSH(numbers.items, numbers.count, numbers.capacity);
        assert_non_null(added);
        assert_ptr_equal(added, &numbers.items[i]);
        *added = i * 7;
        assert_int_equal(numbers.count, i + 1);
        assert_true(numbers.capacity >= numbers.count);
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(numbers.items[i], i * 7);
    free(numbers.items);
}

static void array_macros_leave_the_array_on_failure(void **state) {
    (void)state;
    uint64_t *items = NULL;
    size_t count = 0, capacity = 0;
    uint64_t *first = ARRAY_PUSH(items, count, capacity);
    assert_non_null(first);
    *first = 5;
    const size_t had = capacity;
    assert_false(ARRAY_RESERVE(items, capacity, SIZE_MAX / 4));
    size_t too_many = SIZE_MAX / 4;
    assert_null(ARRAY_PUSH(items, too_many, capacity));
    assert_int_equal(too_many, SIZE_MAX / 4);
    assert_int_equal(capacity, had);
    assert_ptr_equal(items, first);
    assert_int_equal(items[0], 5);
    free(items);
}

static void error_carries_the_cause(void **state) {
    (void)state;
    tsmith_error error;
    errno = ENOSPC;
    assert_int_equal(status_set_errno(&error, "cannot write %s", "x.sbt"), TSMITH_ERROR_NO_SPACE);
    assert_int_equal(error.system_errno, ENOSPC);
    assert_non_null(strstr(error.message, "cannot write x.sbt: "));
    assert_int_equal(status_set_at(&error, TSMITH_ERROR_CORRUPT, 64, 3, "frame"), TSMITH_ERROR_CORRUPT);
    assert_int_equal(error.offset, 64);
    assert_int_equal(error.record, 3);
    char wide[2 * TSMITH_ERROR_MESSAGE_SIZE];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    (void)status_set(&error, TSMITH_ERROR_IO, "%s", wide);
    assert_int_equal(strlen(error.message), TSMITH_ERROR_MESSAGE_SIZE - 1);
    (void)status_set(NULL, TSMITH_ERROR_IO, "not requested");
}

static void tick_samples_lie_between_readings_of_the_clock(void **state) {
    (void)state;
    bool tsc = clock_tick_is_tsc();
    int64_t before = clock_trace_now();
    struct clock_sample first = clock_sample_take(tsc), second = clock_sample_take(tsc);
    int64_t after = clock_trace_now();
    assert_true(before <= first.trace && first.trace <= second.trace && second.trace <= after);
    assert_true(first.tick < second.tick);
    assert_true(first.error >= 0 && first.error <= after - before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_matches_published_values),
        cmocka_unit_test(crc_is_the_same_with_and_without_the_instruction),
        cmocka_unit_test(arena_pieces_do_not_overlap),
        cmocka_unit_test(array_refuses_what_overflows),
        cmocka_unit_test(array_push_keeps_what_was_pushed),
        cmocka_unit_test(array_macros_leave_the_array_on_failure),
        cmocka_unit_test(error_carries_the_cause),
        cmocka_unit_test(tick_samples_lie_between_readings_of_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
