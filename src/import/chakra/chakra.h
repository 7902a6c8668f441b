// SPDX-License-Identifier: Apache-2.0
// Execution traces of Chakra (MLCommons, et_def.proto): nodes and their dependencies.
#ifndef IMPORT_CHAKRA_CHAKRA_H
#define IMPORT_CHAKRA_CHAKRA_H

#include "import/input.h"
#include "tracesmith/stream.h"

// Whether the input begins with a message of metadata, and after it a node, each behind its length.
bool chakra_is(struct input *input);
// Takes over the input and the name.
tsmith_status chakra_import_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
