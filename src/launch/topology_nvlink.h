// SPDX-License-Identifier: Apache-2.0
// Asking NVML for the NVLinks of this machine: `devices --topology` waits for the answer, a recording takes it at its end.
#ifndef LAUNCH_TOPOLOGY_NVLINK_H
#define LAUNCH_TOPOLOGY_NVLINK_H

#include <sys/types.h>

#include "event/topology.h"

// A child process that asks. It calls a driver: one that hangs or crashes there costs the answer and nothing else.
struct nvlink_query {
    pid_t pid; // 0: none
    int fd;    // where its answer can be read
    int64_t started;
};

// Asks if the machine has NVIDIA's driver. Without an agent or a process there is no answer.
void nvlink_query_start(struct nvlink_query *query, const char *agent_directory);
// Waits until the answer is complete or `patience` (ns since the start) is over, adds it to the topology, and ends the child. False when
// there was no answer. With NULL it only ends the child.
bool nvlink_query_finish(struct nvlink_query *query, int64_t patience, struct tsmith_topology *topology);

#endif
