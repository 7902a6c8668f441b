// SPDX-License-Identifier: Apache-2.0
// Metrics of the GPU over time, as an option ("metrics", "metrics:US" for one sample every US microseconds, or
// "metrics:US:NAME+NAME" for metrics of the user's choice): CUPTI's PM Sampling API, read by a thread of its own. Rules: agent.h.
#ifndef CUDA_METRICS_H
#define CUDA_METRICS_H

#include "agent.h"

// Whether it was requested and its prerequisites are available; starts the thread. Once, after the agent subscribed;
// a line names a missing prerequisite.
void metrics_start(void);
// A context was made on a device, by CUPTI's number. Any thread; takes no lock, makes no system call.
void metrics_device(uint32_t device);
// Records the rest and gives the counters back. On the control thread; waits for the metrics' own thread, two seconds at most.
void metrics_end(void);

#endif
