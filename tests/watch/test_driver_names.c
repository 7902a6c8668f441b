// SPDX-License-Identifier: Apache-2.0
// Calls of drivers by name, and what no table has by its parts.
#include "support/test.h"

#include <linux/ioctl.h>
#include <string.h>

#include "watch/driver_names.h"

static void check(const char *node, uint32_t request, const char *name, uint32_t bytes) {
    char text[64];
    driver_ioctl_name(node, request, text, sizeof text);
    assert_string_equal(text, name);
    assert_int_equal(driver_ioctl_bytes(node, request), bytes);
}

static void numbers_mean_what_their_node_says(void **state) {
    (void)state;
    check("renderD128", _IOWR('d', 0x09, uint64_t), "DRM_IOCTL_GEM_CLOSE", 8);
    check("card0", _IOWR('d', 0x45, uint32_t), "DRM driver command 0x05", 4);
    check("nvidiactl", _IOWR('F', 0x2a, char[32]), "NV_ESC_RM_CONTROL", 32);
    check("nvidia0", _IOWR('F', 201, int), "NV_ESC_REGISTER_FD", 4);
    check("nvidia-uvm", 0x30000001, "UVM_INITIALIZE", 0);
    check("nvidia-uvm", 51, "UVM_MIGRATE", 0);
    check("nvidia-uvm", 4000, "ioctl 4000", 0);
    check("other", _IOWR('d', 0x09, uint64_t), "ioctl 'd' 0x09", 8); // no GPU's
    check("kvm", _IO(0xae, 1), "ioctl 0x0000ae01", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_mean_what_their_node_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
