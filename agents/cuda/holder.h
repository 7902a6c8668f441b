// SPDX-License-Identifier: Apache-2.0
// Who else in the process may use CUPTI, in words.
#ifndef CUDA_HOLDER_H
#define CUDA_HOLDER_H

#include <stdbool.h>
#include <stddef.h>

// Libraries that need libcupti, other copies of it, tools of NVIDIA that are known by their files, a library that was
// to be injected before the agent; and a debugger. `before`: libcupti was in the process before the agent opened it.
// False: none was found in the process, and `out` states that.
bool holder_find(bool before, char *out, size_t size);

#endif
