// SPDX-License-Identifier: Apache-2.0
// Records come back as they were written, a changed byte is always noticed, a prefix gives the whole records in it; hashes
// of chunks differ when one bit does.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "recording/chunk.h"
#include "recording/record.h"

// Two records with every kind of entry, one after the other.
static size_t make(uint8_t *out) {
    struct recording_writer writer = {0};
    const uint64_t list[] = {1, UINT64_MAX, 0};
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        recording_begin(&writer, i ? RECORDING_QUEUE : RECORDING_BUFFER);
        recording_put(&writer, RECORDING_KEY_OBJECT, 0x1234567890abcdefu);
        recording_put(&writer, RECORDING_KEY_SIZE, 0);
        recording_put_text(&writer, RECORDING_KEY_NAME, "name");
        recording_put_list(&writer, RECORDING_KEY_LIST, list, 3);
        assert_true(recording_end(&writer));
        memcpy(out + length, writer.bytes, writer.length);
        length += writer.length;
    }
    free(writer.bytes);
    return length;
}

static void test_round_trip(void **state) {
    uint8_t bytes[1024];
    const size_t length = make(bytes);
    struct recording_record record;
    size_t offset = 0, count, size;
    uint64_t value, list[3];
    const uint8_t *text;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(recording_next(bytes, length, &offset, &record), RECORDING_FOUND);
        assert_int_equal(record.type, i ? RECORDING_QUEUE : RECORDING_BUFFER);
        assert_true(recording_get(&record, RECORDING_KEY_OBJECT, &value));
        assert_true(value == 0x1234567890abcdefu);
        assert_true(recording_get(&record, RECORDING_KEY_SIZE, &value));
        assert_true(value == 0);
        assert_false(recording_get(&record, RECORDING_KEY_OFFSET, &value));
        assert_true(recording_get_bytes(&record, RECORDING_KEY_NAME, &text, &size));
        assert_int_equal(size, 4);
        assert_memory_equal(text, "name", 4);
        assert_true(recording_get_list(&record, RECORDING_KEY_LIST, list, 3, &count));
        assert_int_equal(count, 3);
        assert_true(list[0] == 1 && list[1] == UINT64_MAX && list[2] == 0);
        assert_false(recording_get_list(&record, RECORDING_KEY_LIST, list, 2, &count));
    }
    assert_int_equal(recording_next(bytes, length, &offset, &record), RECORDING_DONE);
}

static void test_every_bit_counts(void **state) {
    uint8_t bytes[1024];
    const size_t length = make(bytes);
    (void)state;
    for (size_t bit = 0; bit < length * 8; bit++) {
        struct recording_record record;
        size_t offset = 0;
        unsigned found = 0;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        while (recording_next(bytes, length, &offset, &record) == RECORDING_FOUND)
            found++;
        assert_true(found < 2);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_prefix(void **state) {
    uint8_t bytes[1024];
    const size_t length = make(bytes);
    (void)state;
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *prefix = malloc(cut + 1); // so that a sanitizer sees a byte too many
        struct recording_record record;
        size_t offset = 0;
        unsigned found = 0;
        enum recording_result result;
        assert_non_null(prefix);
        memcpy(prefix, bytes, cut);
        while ((result = recording_next(prefix, cut, &offset, &record)) == RECORDING_FOUND)
            found++;
        assert_int_equal(found, cut >= length / 2);
        assert_int_equal(result, cut == 0 || cut == length / 2 ? RECORDING_DONE : RECORDING_TORN);
        free(prefix);
    }
}

static void test_hash(void **state) {
    struct random random = {7};
    static uint8_t bytes[4096];
    (void)state;
    assert_true(chunk_hash_is_zeros(chunk_hash_of(bytes, sizeof bytes)));
    assert_true(chunk_hash_is_zeros(chunk_hash_of(bytes, 1)));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_next(&random);
    struct chunk_table table = {0};
    uint64_t flipped[2] = {0, 0}, tries = 0;
    for (size_t size = 1; size <= sizeof bytes; size = size * 3 / 2 + 1) {
        const struct chunk_hash hash = chunk_hash_of(bytes, size);
        assert_false(chunk_hash_is_zeros(hash));
        assert_true(chunk_hash_equal(hash, chunk_hash_of(bytes, size)));
        assert_true(chunk_table_find(&table, hash) == 0);
        assert_true(chunk_table_add(&table, hash, size));
        for (size_t bit = 0; bit < size * 8; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const struct chunk_hash other = chunk_hash_of(bytes, size);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_true(chunk_table_find(&table, other) == 0);
            assert_true(chunk_table_add(&table, other, size));
            flipped[0] += (uint64_t)__builtin_popcountll(hash.low ^ other.low);
            flipped[1] += (uint64_t)__builtin_popcountll(hash.high ^ other.high);
            tries++;
        }
    }
    // One bit in flips half of them out, in each half of the hash.
    for (int half = 0; half < 2; half++)
        assert_true(is_between(flipped[half] * 100 / tries, 3100, 3300));
    chunk_table_finish(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_bit_counts),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
