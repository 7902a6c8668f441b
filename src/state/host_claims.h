// SPDX-License-Identifier: Apache-2.0
// What the trace of one host states about its trace clock: its name, and comparisons with UTC, with PTP hardware clocks and with the
// trace clocks of other hosts. From those of several traces follow the conditions of host_clocks.h.
#ifndef STATE_HOST_CLAIMS_H
#define STATE_HOST_CLAIMS_H

#include "state/host_clocks.h"
#include "tracesmith/dictionary.h"

struct host_claim {
    int64_t there, here, error; // the other clock, this trace's clock, the bound; ns
};

struct host_claim_list {
    char *of;        // the other clock: "UTC", "PTP", or the name of a trace clock
    uint32_t source; // HOST_CLOCKS_UTC or HOST_CLOCKS_PTP: a clock that all hosts share; HOST_CLOCKS_PROBE
    struct host_claim *items; // by `here`
    size_t count, capacity;
};

struct host_claims {
    char *clock;         // the name of the trace clock; NULL: not stated
    int64_t ticks_error; // ns: times of the program's calls are within this of the trace clock
    struct host_claim_list *lists;
    size_t count, capacity;
};

enum { HOST_CLAIMS_MOST = 1024 }; // of one list

// A zeroed struct is a valid one that states nothing.
void host_claims_finish(struct host_claims *claims);
// What the dictionary has; of comparisons with one clock the best of each of HOST_CLAIMS_MOST stretches of time. False when memory is
// exhausted.
bool host_claims_read(struct host_claims *claims, const tsmith_dictionary *dictionary);
// A new list, of a clock that has none yet; NULL when memory is exhausted.
struct host_claim_list *host_claims_add_list(struct host_claims *claims, const char *of, size_t length);

// Numbers the clocks of `count` traces: those of one name get one number, from 0 on, in the order of the traces; a trace that states
// none has a clock of its own. Makes the conditions that their claims are. NULL when memory is exhausted.
struct host_clocks *host_claims_relate(const struct host_claims *const *traces, size_t count,
                                       uint32_t *numbers);

#endif
