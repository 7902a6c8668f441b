// SPDX-License-Identifier: Apache-2.0
// Names of tracks and devices: no two are alike if anything distinguishes
// them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>

#include "tracesmith/dictionary.h"

static tsmith_dictionary *made;

static uint32_t text(const char *bytes) {
    return tsmith_dictionary_intern_cstr(made, bytes);
}

static uint32_t add_process(uint64_t pid) {
    return tsmith_dictionary_add_process(made, &(tsmith_process){.pid = pid});
}

static uint32_t add_thread(uint32_t process, const char *name, uint64_t tid) {
    return tsmith_dictionary_add_track(
        made,
        &(tsmith_track){.kind = TSMITH_TRACK_THREAD, .name = text(name), .process = process, .tid = tid});
}

static uint32_t add_queue(uint32_t process, uint32_t device, const char *name, uint64_t queue) {
    return tsmith_dictionary_add_track(made, &(tsmith_track){.kind = TSMITH_TRACK_QUEUE,
                                                             .name = text(name),
                                                             .process = process,
                                                             .device = device,
                                                             .queue = queue});
}

static void is_called(uint32_t track, unsigned without, const char *expected) {
    char room[TSMITH_LABEL_SIZE], behind[TSMITH_LABEL_SIZE], whole[2 * TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(made, track, room);
    const size_t length = tsmith_track_distinction(made, track, without, behind);
    assert_int_equal(length, strlen(behind));
    (void)snprintf(whole, sizeof whole, "%.*s%s", (int)name.length, name.bytes, behind);
    assert_string_equal(whole, expected);
}

static void device_is_called(uint32_t device, const char *expected) {
    char room[TSMITH_LABEL_SIZE], behind[TSMITH_LABEL_SIZE], whole[2 * TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_device_name(made, device, room);
    (void)tsmith_device_distinction(made, device, behind);
    (void)snprintf(whole, sizeof whole, "%.*s%s", (int)name.length, name.bytes, behind);
    assert_string_equal(whole, expected);
}

static int begin(void **state) {
    (void)state;
    return tsmith_dictionary_create(&made) != TSMITH_OK;
}

static int end(void **state) {
    (void)state;
    tsmith_dictionary_destroy(made);
    return 0;
}

static void threads_of_one_name_show_their_number(void **state) {
    (void)state;
    const uint32_t process = add_process(40);
    const uint32_t main_thread = add_thread(process, "hashcat", 40),
                   other = add_thread(process, "reader", 41);
    is_called(main_thread, 0, "hashcat");
    const uint32_t second = add_thread(process, "hashcat", 42); // after a label was asked for
    is_called(main_thread, 0, "hashcat (tid 40)");
    is_called(second, 0, "hashcat (tid 42)");
    is_called(other, 0, "reader");
    tsmith_dictionary_rename_track(made, second, text("reader"));
    is_called(main_thread, 0, "hashcat");
    is_called(other, 0, "reader (tid 41)");
    is_called(second, 0, "reader (tid 42)");
    is_called(add_thread(process, "", 43), 0, "thread 43");
    const uint32_t nameless = add_thread(process, "worker", 0);
    is_called(nameless, 0, "worker");
    is_called(add_thread(process, "worker", 0), 0, "worker (#2)");
    is_called(nameless, 0, "worker (#1)");
}

static void two_processes_show_their_pids(void **state) {
    (void)state;
    const uint32_t one = add_process(40), two = add_process(50), none = add_process(0);
    const uint32_t first = add_thread(one, "python", 40);
    is_called(first, 0, "python");
    const uint32_t second = add_thread(two, "python", 50), third = add_thread(two, "python", 51);
    is_called(first, 0, "python (pid 40)");
    is_called(second, 0, "python (pid 50, tid 50)");
    is_called(third, TSMITH_LABEL_PROCESS, "python (tid 51)");
    const uint32_t device =
        tsmith_dictionary_add_device(made, &(tsmith_device){.name = text("cpu"), .api = text("opencl")});
    is_called(add_queue(one, device, "", 1), 0, "queue 1 (pid 40)");
    is_called(add_queue(two, device, "", 1), 0, "queue 1 (pid 50)");
    is_called(add_queue(none, device, "", 1), 0, "queue 1"); // a process that only represents a GPU
}

static void queues_of_two_devices_show_them(void **state) {
    (void)state;
    const tsmith_device gpu = {.name = text("H100"), .number = 1}, next = {.name = text("H100"), .number = 2};
    const uint32_t first = tsmith_dictionary_add_device(made, &gpu);
    device_is_called(first, "H100");
    const uint32_t queue = add_queue(0, first, "stream 7 ", 7);
    is_called(queue, 0, "stream 7");
    const uint32_t second = tsmith_dictionary_add_device(made, &next);
    is_called(add_queue(0, second, "", 7), 0, "stream 7 (device 1)");
    is_called(queue, 0, "stream 7 (device 0)");
    is_called(queue, TSMITH_LABEL_DEVICE, "stream 7");
    device_is_called(first, "H100 (device 0)");
    device_is_called(second, "H100 (device 1)");
    // Of another API, with a number of its own; and one that has nothing but its number.
    const uint32_t cpu = tsmith_dictionary_add_device(
        made, &(tsmith_device){.name = text("cpu"), .number = 1, .api = text("opencl")});
    is_called(add_queue(0, cpu, "", 1), 0, "queue 1 (cpu)");
    device_is_called(tsmith_dictionary_add_device(made, &(tsmith_device){.number = 9}), "device 8");
    device_is_called(tsmith_dictionary_add_device(made, &(tsmith_device){.vendor = text("x")}),
                     "unnamed device");
}

// Each of many is distinguished, and querying after every addition costs no more than querying once.
static void many_tracks(void **state) {
    (void)state;
    enum { MANY = 20000 };
    char expected[64];
    const uint32_t process = add_process(1);
    for (uint64_t i = 1; i <= MANY; i++) {
        (void)snprintf(expected, sizeof expected, i > 1 ? "worker (tid %u)" : "worker", (unsigned)i);
        is_called(add_thread(process, "worker", i), 0, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_of_one_name_show_their_number, begin, end),
        cmocka_unit_test_setup_teardown(two_processes_show_their_pids, begin, end),
        cmocka_unit_test_setup_teardown(queues_of_two_devices_show_them, begin, end),
        cmocka_unit_test_setup_teardown(many_tracks, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
