// SPDX-License-Identifier: Apache-2.0
// CUPTI's records -> records of the ring. On the thread on which CUPTI returns a buffer.
#ifndef CUDA_RECORDS_H
#define CUDA_RECORDS_H

#include "agent.h"

bool records_init(void);
// Whether the devices are described, in what was read before or in this buffer, whose descriptions are read first.
bool records_know_devices(uint8_t *buffer, size_t valid);
// All records of a buffer. Any number of threads at once, each with a buffer of its own.
void records_read(uint8_t *buffer, size_t valid);
// Asks CUPTI how many records it dropped, and writes them down.
void records_dropped(void *context, uint32_t stream);
// A module was unloaded: its kernels' names may be others' soon.
void records_names_changed(void);

#endif
