// SPDX-License-Identifier: Apache-2.0
// What recorders for a replay could not keep. They write files of their own into the session's directory, not into channels; where
// one had no room it says so at its file's end, and here that becomes an event of the ledger.
#ifndef COLLECT_RECORDER_LOSSES_H
#define COLLECT_RECORDER_LOSSES_H

#include "tracesmith/status.h"
#include "tracesmith/stream.h"

// To be joined with a session: looks at the files when it is first asked. `directory` must outlive it.
tsmith_status recorder_losses_create(const char *directory, tsmith_source **out);

#endif
