// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_PYTHON_NAME_H
#define EVENT_PYTHON_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

// The place in a name that PyTorch's profiler gives to a Python function: "torch/nn/module.py(1511): _call_impl" has the
// file in its first *file_length bytes. False for any other name, such as "<built-in method relu>".
bool python_name_place(tsmith_string name, size_t *file_length, uint32_t *line);

#endif
