// SPDX-License-Identifier: Apache-2.0
// Ranges and marks for another tool that listens to NVTX (Nsight Systems); TraceSmith's own agent is not called: it would
// record them twice.
#ifndef TRACESMITH_PYTHON_NVTX_H
#define TRACESMITH_PYTHON_NVTX_H

#include <stdbool.h>
#include <stdint.h>

// Whether a tool listens: settled once, when the module is first loaded.
extern bool nvtx_on;
void nvtx_look(void);

// Loads the tool's library at the first call. Ranges of start and end, which need not nest. False: the tool does not take it.
bool nvtx_start(const char *name, uint64_t *id);
void nvtx_end(uint64_t id);
void nvtx_mark(const char *name);

#endif
