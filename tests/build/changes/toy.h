// SPDX-License-Identifier: Apache-2.0
// Toy traces: text, "toy-trace 1" and then a line per range: start, duration, name.
#ifndef IMPORT_TOY_TOY_H
#define IMPORT_TOY_TOY_H

#include "import/formats.h"

bool toy_probe(struct import_job *job);
// import_format.open.
tsmith_status toy_open(struct import_job *job, tsmith_source **out, tsmith_error *error);

#endif
