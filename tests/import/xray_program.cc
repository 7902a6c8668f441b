// SPDX-License-Identifier: Apache-2.0
// Writes an XRay log: xray_program MODE ROUNDS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

#define TRACED extern "C" __attribute__((xray_always_instrument, noinline))

TRACED long leaf(long n) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++)
        sum += i;
    return sum;
}

TRACED __attribute__((xray_log_args(1))) long with_argument(long n) {
    return leaf(n) + 1;
}

TRACED long tail(long n) {
    return with_argument(n & 7);
}

TRACED long recurse(long n) {
    return n ? recurse(n - 1) + leaf(n) : 0;
}

static void work(int rounds) {
    static const char text[] = "custom!";
    for (int i = 0; i < rounds; i++) {
        leaf(10);
        with_argument(i);
        tail(i);
        recurse(5);
        __xray_customevent(text, sizeof text - 1);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 1;
    const char *mode = argv[1];
    int rounds = (int)strtol(argv[2], nullptr, 10);
    const char *options = strcmp(mode, "xray-fdr") == 0
                              ? "buffer_size=4096:buffer_max=400:func_duration_threshold_us=0:no_file_flush=false"
                              : "func_duration_threshold_us=0";
    if (__xray_log_select_mode(mode) != XRAY_REGISTRATION_OK ||
        __xray_log_init_mode(mode, options) != XRAY_LOG_INITIALIZED || __xray_patch() != SUCCESS)
        return 2;
    std::thread one(work, rounds), two(work, rounds);
    work(rounds);
    one.join();
    two.join();
    __xray_unpatch();
    if (__xray_log_finalize() != XRAY_LOG_FINALIZED || __xray_log_flushLog() != XRAY_LOG_FLUSHED)
        return 3;
    return 0;
}
