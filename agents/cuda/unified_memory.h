// SPDX-License-Identifier: Apache-2.0
// CUPTI's counters of unified memory: migrations, and with `--cuda faults` page faults. CUPTI configures them for one
// device at a time. A program without managed memory is never configured: they are requested at its first managed
// allocation, or with the first context of a device if `--cuda managed` or `--cuda faults` asks for that.
#ifndef CUDA_UNIFIED_MEMORY_H
#define CUDA_UNIFIED_MEMORY_H

#include "agent.h"

void unified_memory_init(void);
// A context of a device was created. Any thread.
void unified_memory_context(uint32_t device);
// The program allocates managed memory, or gives the driver a hint about it. Any thread.
void unified_memory_used(void);

#endif
