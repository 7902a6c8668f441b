// SPDX-License-Identifier: Apache-2.0
// The agent of OpenMP target offloading, through OMPT. The runtime loads it by OMP_TOOL_LIBRARIES and calls it on the
// thread that executes a construct.
//
// A construct (target, target data, target update) is a range of the thread. What the runtime does for it (memory of the device,
// transfers, kernels) are calls in that range. Their times are those of the runtime's calls on the host: OMPT gives no times of
// a device in the runtimes that exist. Kernels and copies with device times come from the agent of the API that the runtime
// uses (CUDA, ...), and are attributed to the range by their launching calls.
//
// Rules: agentkit/agent.h.
#ifndef OPENMP_AGENT_H
#define OPENMP_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "agentkit/nesting.h"

// Registers shapes and fields.
void record_init(void);

// `opened` is what the callback at the beginning left, with OpenMP's number of the device; below 0: it has none.
void record_construct(const struct nesting *opened, uint64_t end, uint32_t name, const void *code);
void record_data_op(const struct nesting *opened, uint64_t end, enum ompt_data_op operation,
                    const void *address, uint64_t bytes);
void record_submit(const struct nesting *opened, uint64_t end, uint32_t teams);

// The id of a construct's name: what it is, and the place in the program. Takes a lock once for each place.
uint32_t construct_name(enum ompt_construct construct, const void *code);

#endif
