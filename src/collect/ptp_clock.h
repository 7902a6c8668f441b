// SPDX-License-Identifier: Apache-2.0
// A PTP hardware clock of a network adapter (/dev/ptp0), which ptp4l keeps close to those of other hosts: it is compared with the
// trace clock while a program is recorded. How close it is kept, the device does not tell; the user states it.
#ifndef COLLECT_PTP_CLOCK_H
#define COLLECT_PTP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/status.h"

// A zeroed struct is none.
struct ptp_clock {
    bool is_open;
    int fd;
    int64_t error;    // ns: how far it may be from those of the other hosts
    uint32_t clock;   // id in the dictionary; 0: not there yet
    int64_t compared; // trace time of the last comparison
};

// INVALID_ARGUMENT, PERMISSION, NOT_FOUND, ... when the device cannot be read, or is no such clock.
tsmith_status ptp_clock_open(struct ptp_clock *ptp, const char *device, int64_t error_ns,
                             tsmith_error *error);
// Adds a comparison, of a clock TSMITH_CLOCK_PTP, if the last one is a second old, or `at_once`.
void ptp_clock_compare(struct ptp_clock *ptp, tsmith_dictionary *dictionary, bool at_once);
void ptp_clock_close(struct ptp_clock *ptp);

#endif
