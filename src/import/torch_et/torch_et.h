// SPDX-License-Identifier: Apache-2.0
// Execution traces of PyTorch (ExecutionTraceObserver): the operators of a run, their order and their data, without times.
#ifndef IMPORT_TORCH_ET_TORCH_ET_H
#define IMPORT_TORCH_ET_TORCH_ET_H

#include "import/input.h"
#include "tracesmith/stream.h"

// Whether the input begins as such a file does: an object with a schema before its nodes.
bool torch_et_is(struct input *input);
// Takes over the input and the name.
tsmith_status torch_et_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
