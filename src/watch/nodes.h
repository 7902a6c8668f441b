// SPDX-License-Identifier: Apache-2.0
// Device nodes whose drivers are watched: those of GPUs, by the kernel's list of drivers, and what is named.
#ifndef WATCH_NODES_H
#define WATCH_NODES_H

#include <stddef.h>

#include "tracesmith/status.h"
#include "wire/agent_bpf.h"

// How many there are; NOT_FOUND when a path that is named is no character device.
tsmith_status watch_nodes_find(const char *const *paths, size_t path_count,
                               struct agent_bpf_node nodes[AGENT_BPF_NODES_MOST], unsigned *count,
                               tsmith_error *error);

#endif
