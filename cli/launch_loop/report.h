// SPDX-License-Identifier: Apache-2.0
// What the launch loop reports in addition to its JSON, to compare a trace with: for each launch of the loop, in
// order, the call sites of its functions, as a number. The calls are listed innermost first, each as its return address
// - 1 in the program's file; the call of the API itself and what is outside of main are left out.
#ifndef LAUNCH_LOOP_REPORT_H
#define LAUNCH_LOOP_REPORT_H

#include <stdint.h>

enum {
    LOOP_REPORT_BYTES = 4096,   // of JSON, then
    LOOP_REPORT_PATHS = 1 << 22 // 8 bytes for each of at most `launches` launches
};

#define LOOP_PATH_START UINT64_C(0xcbf29ce484222325)

// FNV-1a, by words.
static inline uint64_t loop_path_add(uint64_t path, uint64_t address) {
    return (path ^ address) * UINT64_C(0x100000001b3);
}

#endif
