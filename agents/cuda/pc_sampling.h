// SPDX-License-Identifier: Apache-2.0
// Samples of where the device is, as an option ("pc-samples", or "pc-samples:N" for one every 2^N cycles of an SM): which
// instructions of which function, and why they stalled. CUPTI's PC Sampling API in its continuous mode, in which kernels
// run as they do without it. Rules: agent.h.
#ifndef CUDA_PC_SAMPLING_H
#define CUDA_PC_SAMPLING_H

#include "agent.h"

struct cupti_module_data;

// Whether it was requested and its prerequisites are available. Once, after libcupti was found; a line names a
// missing prerequisite.
void pc_sampling_init(void);
// From CUPTI's callbacks on the program's threads: a context was made, or goes; a module was loaded, or goes. They do
// nothing unless samples were asked for.
void pc_sampling_context(void *context);
void pc_sampling_context_ends(void *context);
void pc_sampling_module(const struct cupti_module_data *module);
void pc_sampling_module_ends(void);

// On the control thread: records what there is. The last time, switches sampling off before.
void pc_sampling_look(void);
void pc_sampling_end(void);

#endif
