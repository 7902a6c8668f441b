// SPDX-License-Identifier: Apache-2.0
// The peak rates of devices, as far as the user or the trace states them. None is looked up by a device's name, and none is
// computed from a number of multiprocessors: operations per cycle depend on the number format and are in no trace.
#ifndef ANALYZE_PEAKS_H
#define ANALYZE_PEAKS_H

#include "tracesmith/dictionary.h"

struct peaks {
    double flops; // per second; NAN: unknown
    double bytes;
    const char *flops_source, *bytes_source; // NULL: unknown
};

// Of a device of the dictionary (0: unknown). `flops`, `bytes`: what the user states of all devices, 0: nothing.
struct peaks peaks_of(const tsmith_dictionary *dictionary, uint32_t device, double flops, double bytes);

#endif
