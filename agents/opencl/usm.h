// SPDX-License-Identifier: Apache-2.0
// Unified shared memory (cl_intel_unified_shared_memory), whose functions the program fetches by name. Rules: agent.h.
#ifndef OPENCL_USM_H
#define OPENCL_USM_H

// What the program is given in place of this function of the driver, NULL: the function itself. A wrapper calls the function of one
// driver: that of the one from which it was fetched first.
void *usm_wrapper(const char *name, void *function);

#endif
