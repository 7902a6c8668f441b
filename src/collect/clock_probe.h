// SPDX-License-Identifier: Apache-2.0
// Compares this host's trace clock with those of other hosts while a program is recorded: a thread of the collector sends datagrams to
// the collectors of other hosts and answers theirs. Half the time between question and answer, without what the other host
// took, bounds the error. The profiled program is not involved.
#ifndef COLLECT_CLOCK_PROBE_H
#define COLLECT_CLOCK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/status.h"

struct clock_probe_options {
    const char
        *addresses;    // where to listen, then the peers: numeric addresses with ports, separated by commas
    const char *token; // the secret of the run
    const char *id;    // of this host's clock
    int64_t (*now)(void *context); // that clock, ns; NULL: the trace clock. Called by the thread
    void *context;
};

struct clock_probe;

// Whether the addresses and the token are well-formed: INVALID_ARGUMENT and why.
tsmith_status clock_probe_check(const char *addresses, const char *token, tsmith_error *error);
// Listens, and begins to ask the peers. PERMISSION, BUSY, IO, ... when the port is refused.
tsmith_status clock_probe_start(const struct clock_probe_options *options, struct clock_probe **out,
                                tsmith_error *error);
// The port on which it listens.
uint16_t clock_probe_port(const struct clock_probe *probe);
// Adds the comparisons since the last call to the dictionary: the best of each second and peer, of a clock TSMITH_CLOCK_OF <id>.
void clock_probe_take(struct clock_probe *probe, tsmith_dictionary *dictionary);
// Asks for the last time, at most for some milliseconds, and ends. Adds what is left, and what was counted as attributes
// "clock_probe.sent", "clock_probe.answered", "clock_probe.refused". NULL is nothing.
void clock_probe_stop(struct clock_probe *probe, tsmith_dictionary *dictionary);

#endif
