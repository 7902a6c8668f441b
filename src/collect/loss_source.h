// SPDX-License-Identifier: Apache-2.0
// A source of rows of the loss ledger, one per batch, which a function of the caller finds one after the other.
#ifndef COLLECT_LOSS_SOURCE_H
#define COLLECT_LOSS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/schema.h"
#include "tracesmith/stream.h"

struct loss {
    uint64_t pid;             // 0: of no process
    const char *track, *text; // static
    tsmith_reason reason;
    int64_t since, until; // trace times; until 0: now
};

struct loss_finder {
    bool (*find)(void *self, struct loss *out); // false: no more
    void (*destroy)(void *self);
};

// Takes `self` over, also when it fails.
tsmith_status loss_source_create(const struct loss_finder *finder, void *self, tsmith_source **out);

#endif
