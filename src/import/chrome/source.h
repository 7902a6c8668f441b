// SPDX-License-Identifier: Apache-2.0
// The source around a trace of JSON. Input, texts and rows are the same for every format of JSON; the reader is not.
#ifndef IMPORT_CHROME_SOURCE_H
#define IMPORT_CHROME_SOURCE_H

#include "import/chrome/chrome.h"
#include "import/formats.h"

struct json_reader {
    const char *format; // the attribute "import.format"
    // Looks at the first bytes. `state` is NULL unless it sets it.
    tsmith_status (*begin)(struct chrome *chrome, void **state, tsmith_error *error);
    // As reader_run.
    tsmith_status (*run)(struct chrome *chrome, void *state, tsmith_error *error);
    void (*finish)(void *state); // of `state`, which may be NULL
};

// Opens the job with this reader; takes over its input and name, also when it fails.
tsmith_status json_source_open(const struct json_reader *reader, struct import_job *job, tsmith_source **out,
                               tsmith_error *error);

// A Chrome trace: import_format.open.
tsmith_status chrome_source_open(struct import_job *job, tsmith_source **out, tsmith_error *error);

#endif
