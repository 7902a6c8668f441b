// SPDX-License-Identifier: Apache-2.0
// The source line of a device instruction, as far as CUPTI knows it: the code objects that were loaded
// are kept, since a program may unload them. Rules: agent.h.
#ifndef CUDA_PC_SOURCE_H
#define CUDA_PC_SOURCE_H

#include "agent.h"

struct cupti_pc;

struct pc_source {
    uint32_t file; // string id; 0: not known
    uint32_t line; // 0: not known
};

// False: CUPTI has nothing for it.
bool pc_source_init(void);
// A code object that was loaded. Any thread; up to KEPT_MAX of all together, what is beyond has no lines.
void pc_source_keep(const void *cubin, size_t bytes);
// Who reads samples, one at a time per context; several contexts may be read at once.
struct pc_source pc_source_find(const struct cupti_pc *pc);

#endif
