// SPDX-License-Identifier: Apache-2.0
// The sampler of device counters: a process of the collector's own that records into the session as any other does. It is
// a process because it calls a driver: one that hangs or crashes there costs its counters and nothing else.
#ifndef LAUNCH_SAMPLER_H
#define LAUNCH_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sampler {
    pid_t pid; // 0: none runs
    int stop;  // the end that is closed to stop it
};

// Starts sampling `rate` times a second. False with the reason in `why` when there is nothing to sample.
bool sampler_start(struct sampler *sampler, const char *agent_directory, const char *session_directory,
                   uint32_t rate, char *why, size_t size);
// Waits until it has handed over what it has; one that does not end is killed. Does nothing when none runs.
void sampler_stop(struct sampler *sampler);

#endif
