// SPDX-License-Identifier: Apache-2.0
// Converts a device's clock to the trace clock. Every device record has a time of the device's clock (QUEUED) and two host times
// around it, so each record bounds the offset from both sides. The bounds of many records intersect to a narrow interval. If the
// device uses a clock of the host, the offset of that clock is used: exactly 0 for CLOCK_MONOTONIC_RAW, the trace clock itself.
#ifndef COLLECT_DEVICE_CLOCK_H
#define COLLECT_DEVICE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

enum device_clock_model {
    DEVICE_CLOCK_UNKNOWN, // nothing observed yet
    DEVICE_CLOCK_HOST,    // a clock of the host
    DEVICE_CLOCK_FITTED,  // between the bounds
};

struct device_clock {
    uint32_t device, process;    // ids in the dictionary
    const _Atomic int64_t *kept; // offsets of the host's clocks, or NULL
    uint32_t clock;              // id in the dictionary, 0: not described yet
    enum device_clock_model model;
    int host;          // index of the host's clock
    int64_t low, high; // bounds of the offset
    int64_t widened;   // trace time up to which drift is accounted for in them
    int64_t offset;    // what is added to the device's times
    int64_t last_time; // device time observed last
    int64_t described_at;
};

// `kept` (may be NULL: compare now) has the host's clocks at the last comparison.
void device_clock_init(struct device_clock *clock, uint32_t device, uint32_t process,
                       const _Atomic int64_t *kept);
// The device's clock showed `time` between the trace times `not_before` and `not_after`.
void device_clock_observe(struct device_clock *clock, int64_t time, int64_t not_before, int64_t not_after);
// The offset to convert with; keeps a calibration pair with its error in the dictionary from time to time.
int64_t device_clock_offset(struct device_clock *clock, tsmith_dictionary *dictionary);

#endif
