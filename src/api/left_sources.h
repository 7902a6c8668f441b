// SPDX-License-Identifier: Apache-2.0
// What other sources left in the directory of a session whose collector was killed: records of the kernel (watch.h) and logs of
// XRay (xray.h).
#ifndef API_LEFT_SOURCES_H
#define API_LEFT_SOURCES_H

#include "collect/recovery.h"
#include "tracesmith/xray.h"

struct left_sources {
    char directory[4096];
    int spool, samples; // -1: none
    tsmith_xray *xray;
};

// Joins them with the recovery, when it has delivered all that the programs recorded. `left` must outlive its source.
void left_sources_join(struct left_sources *left, const char *directory, struct recovery *recovery);
void left_sources_finish(struct left_sources *left);

#endif
