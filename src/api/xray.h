// SPDX-License-Identifier: Apache-2.0
// The inside of tsmith_xray, for logs of a session whose collector was killed.
#ifndef API_XRAY_H
#define API_XRAY_H

#include <stdbool.h>

#include "tracesmith/xray.h"

// Whether the session in `directory` names a directory of logs. False: it names none.
bool xray_open_left(const char *directory, tsmith_xray **out);
// Hands over a source for each log (which `add` takes). `dictionary`: of the trace, with its clocks and processes. Once.
void xray_add_logs(tsmith_xray *xray, const tsmith_dictionary *dictionary,
                   tsmith_status (*add)(void *context, tsmith_source *taken), void *context);

#endif
