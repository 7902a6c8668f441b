// SPDX-License-Identifier: Apache-2.0
// Peak rates in the attributes of a trace: only those of this very device are believed.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "analyze/peaks.h"

#define TEXT "GPU X, compute 9.0 (Hopper), 132 SMs, 1980 MHz, 85029158912 bytes, "
#define REST "L2 52428800 bytes, 3 copy engines, ECC on"

static struct peaks found(const char *key, const char *value, tsmith_device device, const char *name) {
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device.name = tsmith_dictionary_intern_cstr(dictionary, name);
    const uint32_t id = tsmith_dictionary_add_device(dictionary, &device);
    tsmith_dictionary_set_attribute(dictionary, key, value);
    const struct peaks peaks = peaks_of(dictionary, id, 0, 0), none = peaks_of(dictionary, 0, 0, 0),
                       stated = peaks_of(dictionary, id, 3, 7);
    assert_true(isnan(none.flops) && isnan(none.bytes) && !none.bytes_source);
    assert_true(stated.flops > 2.5 && stated.flops < 3.5 && stated.bytes > 6.5 && stated.bytes < 7.5);
    assert_string_equal(stated.bytes_source, "stated");
    tsmith_dictionary_destroy(dictionary);
    assert_true(isnan(peaks.flops) && !peaks.flops_source); // no trace has it
    assert_true(isnan(peaks.bytes) == !peaks.bytes_source);
    return peaks;
}

// What agents/cuda/tracks.c writes.
static void cupti_bandwidth_is_that_of_the_device(void **state) {
    static const tsmith_device DEVICE = {
        .number = 2, .compute_units = 132, .clock_mhz = 1980, .memory_bytes = 85029158912};
    static const char KEY[] = "cuda.device.1";
    (void)state;
    struct peaks peaks = found(KEY, TEXT "3352320000 kB/s, " REST, DEVICE, "GPU X");
    assert_true(peaks.bytes >= 3352320000e3 && peaks.bytes <= 3352320000e3);
    assert_string_equal(peaks.bytes_source, "CUPTI");
    tsmith_device other = DEVICE;
    other.compute_units = 108;
    assert_true(isnan(found(KEY, TEXT "3352320000 kB/s, " REST, other, "GPU X").bytes));
    other = DEVICE;
    other.memory_bytes--;
    assert_true(isnan(found(KEY, TEXT "3352320000 kB/s, " REST, other, "GPU X").bytes));
    other = DEVICE;
    other.number = 0;
    assert_true(isnan(found(KEY, TEXT "3352320000 kB/s, " REST, other, "GPU X").bytes));
    assert_true(isnan(found(KEY, TEXT "3352320000 kB/s, " REST, DEVICE, "GPU Y").bytes));
    assert_true(isnan(found("cuda.device.0", TEXT "3352320000 kB/s, " REST, DEVICE, "GPU X").bytes));
    assert_true(isnan(found(KEY, TEXT "0 kB/s, " REST, DEVICE, "GPU X").bytes)); // CUPTI does not know it
    assert_true(isnan(found(KEY, TEXT "-1 kB/s, " REST, DEVICE, "GPU X").bytes));
    assert_true(isnan(found(KEY, TEXT "3352320000", DEVICE, "GPU X").bytes));
    assert_true(isnan(found(KEY, "", DEVICE, "GPU X").bytes));
}

static void imported_bandwidth_is_that_of_the_device(void **state) {
    static const char KEY[] = "import.device.1.memory_bandwidth";
    (void)state;
    const struct peaks peaks = found(KEY, "2039000000000 B/s, GPU X", (tsmith_device){0}, "GPU X");
    assert_true(peaks.bytes >= 2039e9 && peaks.bytes <= 2039e9);
    assert_true(isnan(found(KEY, "2039000000000 B/s, GPU X", (tsmith_device){0}, "GPU").bytes));
    assert_true(isnan(found(KEY, "2039000000000 B/s, GPU", (tsmith_device){0}, "GPU X").bytes));
    assert_true(isnan(found(KEY, "0 B/s, GPU X", (tsmith_device){0}, "GPU X").bytes));
    assert_true(
        isnan(found("import.device.2.memory_bandwidth", "1 B/s, GPU X", (tsmith_device){0}, "GPU X").bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cupti_bandwidth_is_that_of_the_device),
        cmocka_unit_test(imported_bandwidth_is_that_of_the_device),
    };
    return cmocka_run_group_tests_name("peaks", tests, NULL, NULL);
}
