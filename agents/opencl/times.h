// SPDX-License-Identifier: Apache-2.0
// The times that a driver gives for a command, and whether they are possible. Rules: agent.h.
//
// Times of a command are accepted if they
//   - are all there (not 0) and in order: queued, submitted, start, end;
//   - span no more than there was between the call that enqueued it and now;
//   - are not those of the command before it in the same queue, where that runs in order;
//   - place QUEUED, by the device's clock, within the call. Where that clock stands against the host's, the commands before
//     tell: each call bounds it from both sides. Any clock will do that runs at the speed of time; one that is stepped is
//     believed again once two commands, far enough apart and with none between that contradicts them, agree on where it is.
// The first command of a device has nothing to be compared with but itself. A command whose times are rejected has no times.
#ifndef OPENCL_TIMES_H
#define OPENCL_TIMES_H

#include "agent.h"
#include "agentkit/pending.h"
#include "objects.h"

// How many ns of the trace clock a tick is; before the first command.
void times_begin(void);
// False when the driver gives none (yet).
bool times_get(cl_event event, struct queue *queue, struct pending_times *times);
// `begun` and `returned` are the ticks of the call; `now` is any earlier tick, 0 at first, made newer when that is too early
// to tell.
bool times_believed(const struct pending_times *times, struct queue *queue, uint64_t begun, uint64_t returned,
                    uint64_t *now);

#endif
