// SPDX-License-Identifier: Apache-2.0
// Memory profiles of JAX, as jax.profiler.save_device_memory_profile writes them.
#ifndef IMPORT_JAX_MEMORY_JAX_MEMORY_H
#define IMPORT_JAX_MEMORY_JAX_MEMORY_H

#include "import/input.h"
#include "tracesmith/stream.h"

// Whether the input begins as a profile of pprof with two types of values does.
bool jax_memory_is(struct input *input);
// Takes over the input and the name.
tsmith_status jax_memory_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
