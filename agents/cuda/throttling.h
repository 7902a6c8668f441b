// SPDX-License-Identifier: Apache-2.0
// Throttling: the events left out when recording would cost more than the user allows (profile --max-overhead P; what
// is measured and when: agentkit/overhead.h). Rules: agent.h.
//
// The cost of a thread is the time it spends in the callbacks of its launches and waits, measured of one in some 32, and
// in reading buffers that CUPTI hands back on it: most of these on the agent's own thread, or one of CUPTI's. After a
// window in which the costliest thread lost more than P the level is one more, and one less where it lost less than P / 4:
//
//     1   calls that neither launch, wait, copy, set nor allocate
//     2   and all of the driver's, which the runtime's calls consist of
//     3   and no call stacks are taken
//     4   and all of the runtime's
//     5   and launches are not noted: kernels have no host thread, and the ledger cannot say which are missing
//
// A call that is left out is one loss in the ledger, `thinned`; a launch without its stack, `no_stack`. What the devices did,
// waits and memory are always recorded: a P that cannot be reached in this way is exceeded, and `info` shows the result.
#ifndef CUDA_THINNING_H
#define CUDA_THINNING_H

#include "agent.h"
#include "agentkit/overhead.h"

enum throttling {
    THROTTLING_NOTHING,
    THROTTLING_OTHER_CALLS,
    THROTTLING_DRIVER,
    THROTTLING_STACKS,
    THROTTLING_CALLS,
    THROTTLING_NOTES,
};

void throttling_start(void);
// The control thread's look; `last` at the end of the process.
void throttling_look(bool last);
// Whether launches were not noted at some time, so that kernels without one may have had one.
bool throttling_hid_launches(void);
// A launch went without its stack.
void throttling_no_stack(void);

#endif
