// SPDX-License-Identifier: Apache-2.0
// Counting the open ranges of one name for another agent (watch.c).
#ifndef NVTX_WATCH_H
#define NVTX_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

// What the library exports: from now on open[0] is how many ranges of this name are open in the process, of any domain and
// thread, pushed or started, and open[1] how many were opened. `name` stays the caller's and is kept.
typedef void nvtx_watch(const char *name, _Atomic uint32_t *open);

void watch_begun(uint32_t name); // string; 0: none
void watch_ended(uint32_t name);

#endif
