// SPDX-License-Identifier: Apache-2.0
// What a sampler missed, in the loss ledger, and its figures as attributes of the trace ("sampler.cpu_ns").
#ifndef WATCH_SAMPLE_LOSSES_H
#define WATCH_SAMPLE_LOSSES_H

#include <stdint.h>

#include "event/ledger.h"
#include "tracesmith/dictionary.h"
#include "watch/spool.h"

// `samples`: how many are in the trace.
void sample_losses_note(const struct watch_samples_end *ended, uint64_t samples, struct ledger *ledger,
                        tsmith_dictionary *dictionary);

#endif
