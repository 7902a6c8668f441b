// SPDX-License-Identifier: Apache-2.0
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "tracesmith/dictionary.h"

static void interning_gives_each_string_one_id(void **state) {
    (void)state;
    enum { STRINGS = 20000 };
    static uint32_t ids[STRINGS];
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    char text[32];
    for (int i = 0; i < STRINGS; i++) {
        (void)snprintf(text, sizeof text, "kernel_%d", i);
        ids[i] = tsmith_dictionary_intern_cstr(dictionary, text);
        assert_int_equal(ids[i], (uint32_t)i + 1);
    }
    for (int i = 0; i < STRINGS; i++) {
        (void)snprintf(text, sizeof text, "kernel_%d", i);
        assert_int_equal(tsmith_dictionary_intern_cstr(dictionary, text), ids[i]);
        assert_string_equal(tsmith_dictionary_string(dictionary, ids[i]).bytes, text);
    }
    assert_int_equal(tsmith_dictionary_string_count(dictionary), STRINGS + 1);
    assert_int_equal(tsmith_dictionary_intern_cstr(dictionary, ""), 0);
    assert_int_equal(tsmith_dictionary_intern_cstr(dictionary, NULL), 0);
    tsmith_dictionary_destroy(dictionary);
}

static void strings_keep_any_bytes(void **state) {
    (void)state;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    uint32_t with_nul = tsmith_dictionary_intern(dictionary, "a\0b\xff", 4);
    uint32_t shorter = tsmith_dictionary_intern(dictionary, "a", 1);
    assert_int_not_equal(with_nul, shorter);
    assert_int_equal(tsmith_dictionary_string(dictionary, with_nul).length, 4);
    assert_memory_equal(tsmith_dictionary_string(dictionary, with_nul).bytes, "a\0b\xff", 5);
    assert_int_equal(tsmith_dictionary_string(dictionary, 99).length, 0);
    uint32_t twice = tsmith_dictionary_append_string(dictionary, "a", 1);
    assert_int_not_equal(twice, shorter);
    assert_int_equal(tsmith_dictionary_intern(dictionary, "a", 1), shorter);
    tsmith_dictionary_destroy(dictionary);
}

// Of 20,000 frames and stacks, some of them read from a file before anybody interned, each has one id.
static void equal_frames_and_stacks_get_one_id(void **state) {
    (void)state;
    enum { FRAMES = 20000, READ = 1000 };
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    for (uint32_t i = 0; i < READ; i++) {
        tsmith_frame frame = {.module = i % 7, .address = i / 7};
        assert_int_equal(tsmith_dictionary_add_frame(dictionary, &frame), i + 1);
        if (i == 500) // twice in the file: the first is meant
            for (int twice = 0; twice < 2; twice++)
                assert_int_equal(tsmith_dictionary_add_stack(dictionary, &(tsmith_stack){0, 77}), twice + 1);
    }
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < FRAMES; i++) {
            tsmith_frame frame = {.module = i % 7, .address = i / 7};
            assert_int_equal(tsmith_dictionary_intern_frame(dictionary, &frame), i + 1);
            tsmith_stack stack = {i ? i + 2 : 0, i + 1};
            assert_int_equal(tsmith_dictionary_intern_stack(dictionary, &stack), i + 3);
        }
    }
    assert_int_equal(tsmith_dictionary_intern_stack(dictionary, &(tsmith_stack){0, 77}), 1);
    tsmith_module module = {.path = 3, .process = 1}, other = {.path = 3, .process = 2};
    assert_int_equal(tsmith_dictionary_intern_module(dictionary, &module), 1);
    assert_int_equal(tsmith_dictionary_intern_module(dictionary, &other), 2);
    assert_int_equal(tsmith_dictionary_intern_module(dictionary, &module), 1);
    // A parent that is not there yet could make a ring.
    uint32_t next = tsmith_dictionary_stack_count(dictionary);
    assert_int_equal(tsmith_dictionary_add_stack(dictionary, &(tsmith_stack){next, 1}), 0);
    assert_int_equal(tsmith_dictionary_intern_stack(dictionary, &(tsmith_stack){next, 1}), 0);
    assert_int_equal(tsmith_dictionary_stack_count(dictionary), next);
    assert_false(tsmith_dictionary_failed(dictionary));
    tsmith_dictionary_destroy(dictionary);
}

// A tree that branches everywhere, partly added by a reader, with rows that were written twice: the first id of what a row
// holds is what comes back, as looking through all rows finds it.
static void stacks_of_any_tree_get_one_id(void **state) {
    enum { ROWS = 4000, FRAMES = 5 };
    (void)state;
    tsmith_dictionary *dictionary;
    struct random random = {7};
    uint32_t found = 0, twice = 0;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    for (int i = 0; i < ROWS; i++) {
        uint32_t count = tsmith_dictionary_stack_count(dictionary), first = 0;
        uint32_t parent = (uint32_t)random_below(&random, count < 500 ? count : 500);
        tsmith_stack stack = {parent, 1 + (uint32_t)random_below(&random, FRAMES)};
        for (uint32_t id = 1; id < count && !first; id++) {
            const tsmith_stack *row = tsmith_dictionary_stack(dictionary, id);
            first = row->parent == stack.parent && row->frame == stack.frame ? id : 0;
        }
        if (random_below(&random, 4) == 0) {
            twice += first != 0;
            assert_int_equal(tsmith_dictionary_add_stack(dictionary, &stack), count);
        } else {
            found += first != 0;
            assert_int_equal(tsmith_dictionary_intern_stack(dictionary, &stack), first ? first : count);
        }
    }
    assert_true(found > 100 && twice > 100);
    tsmith_dictionary_destroy(dictionary);
}

// A path as a whole equals its frames interned one after the other, also if rows were added that were never looked up.
static void a_path_is_its_frames(void **state) {
    enum { PATHS = 3000, DEPTH = 12, FRAMES = 3 };
    (void)state;
    tsmith_dictionary *whole, *single;
    struct random random = {11};
    assert_int_equal(tsmith_dictionary_create(&whole), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&single), TSMITH_OK);
    for (int i = 0; i < PATHS; i++) {
        uint32_t frames[DEPTH], depth = (uint32_t)random_below(&random, DEPTH + 1);
        uint32_t parent = (uint32_t)random_below(&random, tsmith_dictionary_stack_count(whole)), id = parent;
        for (uint32_t at = 0; at < depth; at++)
            frames[at] = 1 + (uint32_t)random_below(&random, FRAMES);
        for (uint32_t at = 0; at < depth; at++)
            id = tsmith_dictionary_intern_stack(single, &(tsmith_stack){id, frames[at]});
        assert_int_equal(tsmith_dictionary_intern_path(whole, parent, frames, depth), id);
        assert_int_equal(tsmith_dictionary_stack_count(whole), tsmith_dictionary_stack_count(single));
        if (random_below(&random, 8) == 0) {
            tsmith_stack stack = {parent, FRAMES + 1};
            assert_int_equal(tsmith_dictionary_add_stack(whole, &stack),
                             tsmith_dictionary_add_stack(single, &stack));
        }
    }
    uint32_t count = tsmith_dictionary_stack_count(whole);
    for (uint32_t id = 1; id < count; id++)
        assert_memory_equal(tsmith_dictionary_stack(whole, id), tsmith_dictionary_stack(single, id),
                            sizeof(tsmith_stack));
    assert_int_equal(tsmith_dictionary_intern_path(whole, count, &(uint32_t){1}, 1), 0);
    assert_int_equal(tsmith_dictionary_stack_count(whole), count);
    tsmith_dictionary_destroy(whole);
    tsmith_dictionary_destroy(single);
}

static void entries_stay_where_they_are(void **state) {
    (void)state;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    assert_null(tsmith_dictionary_track(dictionary, 0));
    assert_int_equal(tsmith_dictionary_track_count(dictionary), 1);
    uint32_t first = tsmith_dictionary_add_track(dictionary, &(tsmith_track){.tid = 7});
    const tsmith_track *pointer = tsmith_dictionary_track(dictionary, first);
    for (uint64_t i = 0; i < 100000; i++)
        assert_int_equal(tsmith_dictionary_add_track(dictionary, &(tsmith_track){.tid = i}), i + 2);
    assert_ptr_equal(tsmith_dictionary_track(dictionary, first), pointer);
    assert_int_equal(pointer->tid, 7);
    assert_int_equal(tsmith_dictionary_track(dictionary, 100001)->tid, 99999);
    assert_null(tsmith_dictionary_track(dictionary, 100002));
    tsmith_dictionary_destroy(dictionary);
}

static void fields_and_attributes_are_found_by_name(void **state) {
    (void)state;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    uint32_t depth = tsmith_dictionary_field(dictionary, "depth", TSMITH_TYPE_U64, "levels");
    assert_true(depth > TSMITH_FIELD_DYNAMIC);
    assert_int_equal(tsmith_dictionary_field(dictionary, "depth", TSMITH_TYPE_U64, "levels"), depth);
    assert_int_not_equal(tsmith_dictionary_field(dictionary, "depth", TSMITH_TYPE_STRING, ""), depth);
    tsmith_field_info info;
    assert_true(tsmith_dictionary_describe_field(dictionary, depth, &info));
    assert_string_equal(info.name, "depth");
    assert_string_equal(info.unit, "levels");
    assert_int_equal(info.type, TSMITH_TYPE_U64);
    assert_true(tsmith_dictionary_describe_field(dictionary, TSMITH_FIELD_BYTES, &info));
    assert_string_equal(info.name, "bytes");
    assert_false(tsmith_dictionary_describe_field(dictionary, depth + 10, &info));
    assert_null(tsmith_dictionary_find_attribute(dictionary, "host").bytes);
    tsmith_dictionary_set_attribute(dictionary, "host", "one");
    tsmith_dictionary_set_attribute(dictionary, "host", "two");
    assert_string_equal(tsmith_dictionary_find_attribute(dictionary, "host").bytes, "two");
    tsmith_dictionary_destroy(dictionary);
}

// Every row of the tables is found by its number and its name, and no two rows share one.
static void schema_is_consistent(void **state) {
    (void)state;
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++) {
        const tsmith_field_info *info = tsmith_field_describe(field);
        if (field == 37) { // its number is never used again
            assert_null(info);
            continue;
        }
        assert_non_null(info);
        assert_int_equal(tsmith_field_find(info->name), field);
        assert_true(tsmith_type_size(info->type) > 0);
        assert_true(strlen(info->doc) > 10);
    }
    for (int kind = 1; kind < TSMITH_KIND_LIMIT; kind++)
        assert_int_equal(tsmith_kind_find(tsmith_kind_name((tsmith_kind)kind)), kind);
    for (int reason = 1; reason < TSMITH_REASON_LIMIT; reason++)
        assert_non_null(tsmith_reason_doc((tsmith_reason)reason));
    assert_null(tsmith_field_describe(TSMITH_FIELD_LIMIT));
    assert_null(tsmith_kind_name((tsmith_kind)TSMITH_KIND_LIMIT));
    assert_int_equal(tsmith_type_size((tsmith_type)99), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interning_gives_each_string_one_id),
        cmocka_unit_test(strings_keep_any_bytes),
        cmocka_unit_test(equal_frames_and_stacks_get_one_id),
        cmocka_unit_test(stacks_of_any_tree_get_one_id),
        cmocka_unit_test(a_path_is_its_frames),
        cmocka_unit_test(entries_stay_where_they_are),
        cmocka_unit_test(fields_and_attributes_are_found_by_name),
        cmocka_unit_test(schema_is_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
