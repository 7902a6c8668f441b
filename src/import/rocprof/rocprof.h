// SPDX-License-Identifier: Apache-2.0
// rocprofv3 JSON. It shares input, texts, rows and tracks with Chrome traces (chrome/source.h).
#ifndef IMPORT_ROCPROF_ROCPROF_H
#define IMPORT_ROCPROF_ROCPROF_H

#include "import/chrome/source.h"

// Whether the window begins as such a file does.
bool rocprof_is(const struct input *input);
// import_format.open.
tsmith_status rocprof_open(struct import_job *job, tsmith_source **out, tsmith_error *error);

#endif
