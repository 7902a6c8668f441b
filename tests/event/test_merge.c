// SPDX-License-Identifier: Apache-2.0
// Two dictionaries into one. The objects of an event must be the same afterwards, under any numbers: so entries
// are compared by what they mean, written out as text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <string.h>

#include "event/merge.h"

static uint32_t add_process(tsmith_dictionary *dictionary, uint64_t pid, const char *name) {
    tsmith_process process;
    memset(&process, 0x5a, sizeof process); // padding means nothing
    process.pid = pid;
    process.parent_pid = 1;
    process.start = 1000;
    process.name = tsmith_dictionary_intern_cstr(dictionary, name);
    process.command_line = process.host = 0;
    return tsmith_dictionary_add_process(dictionary, &process);
}

static uint32_t add_track(tsmith_dictionary *dictionary, uint32_t process, const char *name, uint64_t tid) {
    return tsmith_dictionary_add_track(
        dictionary, &(tsmith_track){.kind = TSMITH_TRACK_THREAD,
                                    .name = tsmith_dictionary_intern_cstr(dictionary, name),
                                    .process = process,
                                    .tid = tid});
}

static const char *text_of(const tsmith_dictionary *dictionary, uint32_t string) {
    return tsmith_dictionary_string(dictionary, string).bytes;
}

static void assert_track(const tsmith_dictionary *dictionary, uint32_t id, const char *name, uint64_t tid,
                         uint64_t pid) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
    assert_non_null(track);
    assert_string_equal(text_of(dictionary, track->name), name);
    assert_int_equal(track->tid, tid);
    assert_int_equal(tsmith_dictionary_process(dictionary, track->process)->pid, pid);
}

// The tracks of two views of the same recording, in another order: two threads that cannot be distinguished stay two.
static void same_recording(void **unused) {
    (void)unused;
    tsmith_dictionary *into, *from;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    uint32_t first = add_process(into, 10, "one"), second = add_process(into, 20, "two");
    uint32_t known[4] = {add_track(into, first, "main", 10), add_track(into, first, "twin", 11),
                         add_track(into, first, "twin", 11), add_track(into, second, "main", 20)};
    tsmith_dictionary_set_attribute(into, "host", "here");

    (void)tsmith_dictionary_intern_cstr(from, "shifts all ids");
    uint32_t other_second = add_process(from, 20, "two");
    uint32_t tracks[3] = {add_track(from, other_second, "main", 20)};
    uint32_t other_first = add_process(from, 10, "one");
    tracks[1] = add_track(from, other_first, "twin", 11);
    tracks[2] = add_track(from, other_first, "twin", 11);
    tsmith_dictionary_set_attribute(from, "host", "here");

    struct merge *merge = merge_create(into, MERGE_EQUAL);
    assert_non_null(merge);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_process_count(into), 3);
    assert_int_equal(tsmith_dictionary_track_count(into), 5);
    assert_int_equal(tsmith_dictionary_attribute_count(into), 2);
    // New ones are added, and taken in when they come.
    uint32_t third = add_track(from, other_first, "twin", 11),
             fourth = add_track(from, other_first, "late", 12);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_track_count(into), 7);

    tsmith_batch *batch;
    const tsmith_batch *merged;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    const uint32_t expected[5] = {known[3], known[1], known[2], 5, 6};
    const uint32_t asked[5] = {tracks[0], tracks[1], tracks[2], third, fourth};
    for (int i = 0; i < 5; i++) {
        tsmith_batch_reset(batch, asked[i]);
        assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_MARKER, i), UINT32_MAX);
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(merge_batch(merge, batch, &merged), TSMITH_OK);
        assert_int_equal(tsmith_batch_track(merged), expected[i]);
    }
    assert_track(into, 5, "twin", 11, 10);
    assert_track(into, 6, "late", 12, 10);
    tsmith_batch_destroy(batch);
    merge_destroy(merge);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

// Every kind of value of a batch is the same in terms of the other dictionary.
static void values(void **unused) {
    (void)unused;
    tsmith_dictionary *into, *from;
    tsmith_batch *batch;
    const tsmith_batch *merged;
    uint64_t value;
    tsmith_column waits;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    (void)tsmith_dictionary_intern_cstr(into, "something else");
    (void)tsmith_dictionary_field(into, "other", TSMITH_TYPE_I64, "");
    uint32_t shared = tsmith_dictionary_field(into, "shared", TSMITH_TYPE_F64, "W");
    uint32_t from_shared = tsmith_dictionary_field(from, "shared", TSMITH_TYPE_F64, "W");
    uint32_t own = tsmith_dictionary_field(from, "own", TSMITH_TYPE_STRING, "");
    assert_int_not_equal(shared, from_shared);
    uint32_t track = add_track(from, add_process(from, 7, "p"), "t", 7);
    const uint64_t list[3] = {5, 6, 7};
    double power = 12.5;
    memcpy(&value, &power, sizeof value);

    tsmith_batch_reset(batch, track);
    (void)tsmith_batch_append(batch, TSMITH_KIND_KERNEL, 100);
    tsmith_batch_set(batch, TSMITH_FIELD_NAME, tsmith_dictionary_intern_cstr(from, "kernel"));
    tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, 42);
    tsmith_batch_set(batch, TSMITH_FIELD_HOST_TRACK, track);
    tsmith_batch_set_dynamic(batch, from_shared, TSMITH_TYPE_F64, value);
    (void)tsmith_batch_append(batch, TSMITH_KIND_KERNEL, 200);
    tsmith_batch_set(batch, TSMITH_FIELD_DURATION, 50);
    tsmith_batch_set_dynamic(batch, own, TSMITH_TYPE_STRING, tsmith_dictionary_intern_cstr(from, "text"));
    tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, 3);
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);

    struct merge *merge = merge_create(into, MERGE_EQUAL);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(merge_batch(merge, batch, &merged), TSMITH_OK);
    assert_int_equal(tsmith_batch_count(merged), 2);
    assert_int_equal(tsmith_batch_first_start(merged), 100);
    assert_int_equal(tsmith_batch_last_end(merged), 250);
    assert_true(tsmith_batch_get(merged, TSMITH_FIELD_NAME, 0, &value));
    assert_string_equal(text_of(into, (uint32_t)value), "kernel");
    assert_false(tsmith_batch_get(merged, TSMITH_FIELD_NAME, 1, &value));
    assert_true(tsmith_batch_get(merged, TSMITH_FIELD_CORRELATION, 0, &value) && value == 42);
    assert_true(tsmith_batch_get(merged, TSMITH_FIELD_HOST_TRACK, 0, &value));
    assert_track(into, (uint32_t)value, "t", 7, 7);
    assert_true(tsmith_batch_get(merged, shared, 0, &value));
    assert_memory_equal(&value, &power, sizeof power);
    assert_true(
        tsmith_batch_get(merged, tsmith_dictionary_field(into, "own", TSMITH_TYPE_STRING, ""), 1, &value));
    assert_string_equal(text_of(into, (uint32_t)value), "text");
    assert_true(tsmith_batch_column(merged, TSMITH_FIELD_WAITS, &waits));
    assert_int_equal(waits.offsets[0], 0);
    assert_int_equal(waits.offsets[1], 0);
    assert_int_equal(waits.offsets[2], 3);
    assert_memory_equal(waits.values, list, sizeof list);
    merge_destroy(merge);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

// Older files identify a device by an attribute.
static bool identity_is_attribute;

static uint32_t add_device(tsmith_dictionary *dictionary, uint32_t process, const char *name, uint32_t units,
                           const char *identity) {
    char key[32];
    const uint32_t id = tsmith_dictionary_add_device(
        dictionary, &(tsmith_device){.name = tsmith_dictionary_intern_cstr(dictionary, name),
                                     .type = tsmith_dictionary_intern_cstr(dictionary, "gpu"),
                                     .process = process,
                                     .compute_units = units});
    (void)snprintf(key, sizeof key, "device.%u.uuid", id);
    if (identity && identity_is_attribute)
        tsmith_dictionary_set_attribute(dictionary, key, identity);
    else if (identity)
        tsmith_dictionary_complete_device(
            dictionary, id,
            &(tsmith_device){.identity = tsmith_dictionary_intern_cstr(dictionary, identity)});
    return id;
}

static void assert_device(const tsmith_dictionary *dictionary, uint32_t id, const char *name, uint32_t units,
                          const char *identity) {
    char key[32];
    const tsmith_device *device = tsmith_dictionary_device(dictionary, id);
    assert_non_null(device);
    assert_string_equal(text_of(dictionary, device->name), name);
    assert_int_equal(device->compute_units, units);
    (void)snprintf(key, sizeof key, "device.%u.uuid", id);
    assert_string_equal(identity_is_attribute ? tsmith_dictionary_find_attribute(dictionary, key).bytes
                                              : text_of(dictionary, device->identity),
                        identity);
}

// Two looks at the same devices, of which the second knows more: who they are decides, then what they are like.
static void devices_known_better(void **unused) {
    identity_is_attribute = *unused != NULL;
    tsmith_dictionary *into, *from;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    const uint32_t process = add_process(into, 10, "one");
    (void)add_device(into, process, "H100", 0, "GPU-a");
    const uint32_t nameless = add_device(into, process, "", 0, NULL);
    (void)add_device(into, process, "H100", 0, "GPU-c");
    const tsmith_track queue = {
        .kind = TSMITH_TRACK_QUEUE, .process = process, .device = nameless, .queue = 7};
    (void)tsmith_dictionary_add_track(into, &queue);

    (void)tsmith_dictionary_intern_cstr(from, "shifts all ids");
    const uint32_t sampler = add_process(from, 20, "two"), other = add_process(from, 10, "one");
    (void)add_device(from, sampler, "H100", 0, "GPU-c");
    (void)add_device(from, sampler, "H100", 132, "GPU-a");
    const uint32_t described = add_device(from, other, "T4", 40, "GPU-b");
    (void)add_device(from, other, "H100", 0, "GPU-d");
    tsmith_track known = queue;
    known.process = other;
    known.device = described;
    (void)tsmith_dictionary_add_track(from, &known);

    struct merge *merge = merge_create(into, MERGE_EQUAL);
    assert_non_null(merge);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_device_count(into), 5);
    assert_int_equal(tsmith_dictionary_track_count(into), 2);
    assert_device(into, 1, "H100", 132, "GPU-a");
    assert_device(into, 2, "T4", 40, "GPU-b");
    assert_device(into, 3, "H100", 0, "GPU-c");
    assert_device(into, 4, "H100", 0, "GPU-d");
    // What becomes known of one that was taken in already.
    tsmith_dictionary_complete_device(from, 1, &(tsmith_device){.compute_units = 114});
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_device_count(into), 5);
    assert_device(into, 3, "H100", 114, "GPU-c");
    merge_destroy(merge);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

static bool choose_device(void *context, enum merge_table table, uint32_t id) {
    return table != MERGE_TABLE_device || id == *(const uint32_t *)context;
}

// The identity of a device goes where the device goes; the second of two devices is the first of the part.
static void identities_of_a_part(void **unused) {
    (void)unused;
    identity_is_attribute = true;
    tsmith_dictionary *into, *from;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    const uint32_t process = add_process(from, 10, "one");
    (void)add_device(from, process, "H100", 1, "GPU-a");
    uint32_t chosen = add_device(from, process, "H100", 2, "GPU-b");
    tsmith_dictionary_set_attribute(from, "device.7.uuid", "GPU-none");
    tsmith_dictionary_set_attribute(from, "command", "program");
    struct merge *merge = merge_create(into, MERGE_USED);
    assert_true(merge_choose(merge, from, choose_device, &chosen));
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_device_count(into), 2);
    assert_device(into, 1, "H100", 2, "GPU-b");
    assert_int_equal(tsmith_dictionary_attribute_count(into), 3);
    assert_string_equal(tsmith_dictionary_find_attribute(into, "command").bytes, "program");
    merge_destroy(merge);
    tsmith_dictionary_destroy(into);
    // The order in which attributes are taken does not matter: here the first device is the part.
    chosen = 1;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    merge = merge_create(into, MERGE_USED);
    assert_true(merge_choose(merge, from, choose_device, &chosen));
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_device(into, 1, "H100", 1, "GPU-a");
    assert_null(tsmith_dictionary_find_attribute(into, "device.2.uuid").bytes);
    merge_destroy(merge);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

// Two recordings: process 10 here is not process 10 there, but a name is a name.
static void two_recordings(void **unused) {
    (void)unused;
    tsmith_dictionary *into, *from;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    add_track(into, add_process(into, 10, "rank"), "main", 10);
    (void)tsmith_dictionary_field(into, "watts", TSMITH_TYPE_F64, "W");
    add_track(from, add_process(from, 10, "rank"), "main", 10);
    (void)tsmith_dictionary_field(from, "watts", TSMITH_TYPE_F64, "W");
    uint32_t strings = tsmith_dictionary_string_count(into);
    struct merge *merge = merge_create(into, MERGE_APART);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_process_count(into), 3);
    assert_int_equal(tsmith_dictionary_track_count(into), 3);
    assert_int_equal(tsmith_dictionary_track(into, 2)->process, 2);
    assert_int_equal(tsmith_dictionary_string_count(into), strings);
    assert_int_equal(tsmith_dictionary_dynamic_field_count(into), 2);
    merge_destroy(merge);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

enum { STACK_TEXT = 200 };

// A stack as text, outermost first: its content must survive the change of numbers.
static void print_stack(const tsmith_dictionary *dictionary, uint32_t id, char out[STACK_TEXT]) {
    const tsmith_stack *stack = tsmith_dictionary_stack(dictionary, id);
    assert_non_null(stack);
    if (stack->parent)
        print_stack(dictionary, stack->parent, out);
    const tsmith_frame *frame = tsmith_dictionary_frame(dictionary, stack->frame);
    const tsmith_module *module = tsmith_dictionary_module(dictionary, frame->module);
    const size_t used = strlen(out);
    const int length =
        snprintf(out + used, STACK_TEXT - used, "%s+%llx;", module ? text_of(dictionary, module->path) : "?",
                 (unsigned long long)frame->address);
    assert_true(length > 0 && (size_t)length < STACK_TEXT - used);
}

static uint32_t add_path(tsmith_dictionary *dictionary, const char *path, const uint64_t *addresses,
                         unsigned depth) {
    tsmith_module module = {.path = tsmith_dictionary_intern_cstr(dictionary, path)};
    uint32_t stack = 0;
    for (unsigned i = 0; i < depth; i++) {
        tsmith_frame frame = {.module = tsmith_dictionary_intern_module(dictionary, &module),
                              .address = addresses[i]};
        tsmith_stack node = {stack, tsmith_dictionary_intern_frame(dictionary, &frame)};
        stack = tsmith_dictionary_intern_stack(dictionary, &node);
    }
    return stack;
}

// The same call path of two recordings is one, a frame keeps the name it got first, and events keep their path.
static void stacks(void **unused) {
    (void)unused;
    static const uint64_t path[] = {0x10, 0x20, 0x30, 0x40}, other[] = {0x10, 0x20, 0x99};
    tsmith_dictionary *into, *from;
    tsmith_batch *batch;
    const tsmith_batch *merged;
    char before[3][STACK_TEXT] = {""}, after[3][STACK_TEXT] = {""};
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    uint32_t known = add_path(into, "/lib/b", path, 4);
    uint32_t named = tsmith_dictionary_stack(into, known)->frame;
    tsmith_dictionary_add_symbol(into, &(tsmith_symbol){.frame = named, .function = 1, .file = 0, .line = 7});
    uint32_t asked[3] = {add_path(from, "/lib/a", path, 4), add_path(from, "/lib/b", path, 4),
                         add_path(from, "/lib/b", other, 3)};
    for (uint32_t frame = 1; frame < tsmith_dictionary_frame_count(from); frame++)
        for (uint32_t line = 1; line <= 2; line++)
            tsmith_dictionary_add_symbol(from, &(tsmith_symbol){.frame = frame, .line = 100 * frame + line});
    tsmith_batch_reset(batch, 0);
    for (int i = 0; i < 3; i++) {
        print_stack(from, asked[i], before[i]);
        (void)tsmith_batch_append(batch, TSMITH_KIND_API, i);
        tsmith_batch_set(batch, TSMITH_FIELD_STACK, asked[i]);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    struct merge *merge = merge_create(into, MERGE_APART);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(merge_batch(merge, batch, &merged), TSMITH_OK);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t id;
        assert_true(tsmith_batch_get(merged, TSMITH_FIELD_STACK, i, &id));
        print_stack(into, (uint32_t)id, after[i]);
        assert_string_equal(after[i], before[i]);
        assert_true(i != 1 || id == known);
    }
    assert_int_equal(tsmith_dictionary_stack_count(into), 1 + 4 + 4 + 1);
    assert_int_equal(tsmith_dictionary_frame_count(into), 1 + 4 + 4 + 1);
    // The one that had a name keeps it; the other eight bring theirs.
    assert_int_equal(tsmith_dictionary_symbol_count(into), 1 + 1 + 8 * 2);
    for (uint32_t id = 2; id < tsmith_dictionary_symbol_count(into); id++)
        assert_int_not_equal(tsmith_dictionary_symbol(into, id)->frame, named);
    merge_destroy(merge);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

// Another look at the same processes: theirs are ours by their numbers, what they are called does not matter; of a number
// that was given twice, the last.
static void same_processes(void **unused) {
    (void)unused;
    tsmith_dictionary *into, *from;
    tsmith_batch *batch;
    const tsmith_batch *merged;
    assert_int_equal(tsmith_dictionary_create(&into), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_create(&from), TSMITH_OK);
    const uint32_t older = add_process(into, 10, "before"), process = add_process(into, 10, "program");
    (void)add_track(into, older, "main", 10);
    const uint32_t known = add_track(into, process, "main", 10);
    tsmith_dictionary_set_attribute(into, "host", "here");

    (void)tsmith_dictionary_intern_cstr(from, "shifts all ids");
    const uint32_t same = add_process(from, 10, ""), other = add_process(from, 30, "");
    const uint32_t tracks[] = {add_track(from, same, "", 10), add_track(from, same, "", 11),
                               add_track(from, other, "", 30), add_track(from, 0, "", 10)};
    tsmith_dictionary_set_attribute(from, "host", "there");
    tsmith_dictionary_set_attribute(from, "import.format", "xray");

    struct merge *merge = merge_create(into, MERGE_SAME_PROCESSES);
    assert_non_null(merge);
    assert_int_equal(merge_take(merge, from), TSMITH_OK);
    assert_int_equal(tsmith_dictionary_process_count(into), 1 + 2 + 1); // 30 is new
    assert_int_equal(tsmith_dictionary_track_count(into), 1 + 2 + 2);   // threads 11 and 30 are new
    assert_string_equal(tsmith_dictionary_find_attribute(into, "host").bytes, "here");
    assert_null(tsmith_dictionary_find_attribute(into, "import.format").bytes);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    for (size_t i = 0; i < sizeof tracks / sizeof tracks[0]; i++) {
        tsmith_batch_reset(batch, tracks[i]);
        assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_OFF_CPU, 5), UINT32_MAX);
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(merge_batch(merge, batch, &merged), TSMITH_OK);
        const tsmith_track *track = tsmith_dictionary_track(into, tsmith_batch_track(merged));
        assert_int_equal(track->tid, i == 1 ? 11 : i == 2 ? 30 : 10);
        assert_true(i != 1 || track->process == process);
        assert_true((i != 0 && i != 3) || tsmith_batch_track(merged) == known);
    }
    merge_destroy(merge);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(into);
    tsmith_dictionary_destroy(from);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_recording),
                                       cmocka_unit_test(devices_known_better),
                                       cmocka_unit_test_prestate(devices_known_better, "attribute"),
                                       cmocka_unit_test(identities_of_a_part),
                                       cmocka_unit_test(values),
                                       cmocka_unit_test(two_recordings),
                                       cmocka_unit_test(stacks),
                                       cmocka_unit_test(same_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
