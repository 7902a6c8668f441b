// SPDX-License-Identifier: Apache-2.0
// rocprofv3 JSON. It shares input, texts, rows and tracks with Chrome traces (chrome.h).
#ifndef IMPORT_ROCPROF_ROCPROF_H
#define IMPORT_ROCPROF_ROCPROF_H

#include "import/chrome/chrome.h"
#include "import/chrome/reader.h"

struct rocprof;

// Whether the window begins as such a file does.
bool rocprof_is(const struct input *input);
tsmith_status rocprof_create(struct chrome *chrome, struct rocprof **out);
void rocprof_destroy(struct rocprof *rocprof);
// As reader_run.
tsmith_status rocprof_run(struct chrome *chrome, struct rocprof *rocprof, tsmith_error *error);

#endif
