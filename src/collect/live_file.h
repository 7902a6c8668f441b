// SPDX-License-Identifier: Apache-2.0
// The file in which a session's totals are published: a header, then two places for the totals that are used in turns. The
// collector (live.c) writes it; readers (src/api/live.c) check it.
#ifndef COLLECT_LIVE_FILE_H
#define COLLECT_LIVE_FILE_H

#include <stdint.h>

#include "tracesmith/live.h"

#define LIVE_FILE_NAME "live"
#define LIVE_REQUEST_NAME "live.wanted" // its time of modification is that of the last reading
#define LIVE_FILE_MAGIC UINT64_C(0x6576696c74736d74)
enum { LIVE_FILE_VERSION = 1 };

struct live_file_head {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;   // of the totals
    uint64_t current; // sequence of what was written last, in place `current & 1`; 0: nothing yet
};

struct live_file_place {
    uint32_t checksum; // crc32c of the totals
    uint32_t reserved;
    tsmith_live_totals totals;
};

static inline uint64_t live_file_at(uint64_t sequence) {
    return 4096 + (sequence & 1) * (uint64_t)sizeof(struct live_file_place);
}

#endif
