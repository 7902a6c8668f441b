// SPDX-License-Identifier: Apache-2.0
// Where a replay went wrong first.
#ifndef REPLAY_CULPRIT_H
#define REPLAY_CULPRIT_H

#include "replay/execute.h"
#include "replay/plan.h"

// A result of a process, as the search needs it.
struct culprit_result {
    size_t record;
    bool exact, diverged;
};

// Fills *out when there is one. With another source of a kernel in the options the recording is replayed twice more, with and
// without it. OK, NO_MEMORY, or what a replay fails with.
tsmith_status culprit_find(struct execution *execution, struct tsmith_recording *recording,
                           const struct recorded_process *process, const struct culprit_result *results,
                           size_t count, const tsmith_replay_options *options, tsmith_replay_culprit *out,
                           tsmith_error *error);

#endif
