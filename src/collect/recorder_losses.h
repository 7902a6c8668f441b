// SPDX-License-Identifier: Apache-2.0
// Losses of recorders for replay. They write files of their own to the session directory, not to channels. A recorder that ran
// out of space notes this at the end of its file; here it becomes an event of the ledger.
#ifndef COLLECT_RECORDER_LOSSES_H
#define COLLECT_RECORDER_LOSSES_H

#include "tracesmith/status.h"
#include "tracesmith/stream.h"

// To be joined with a session: looks at the files when it is first asked. `directory` must outlive it.
tsmith_status recorder_losses_create(const char *directory, tsmith_source **out);

#endif
