// SPDX-License-Identifier: Apache-2.0
// What `profile` records besides the GPU APIs: functions of XRay. Each is set up before the program starts, joined with the
// capture, and reported on afterwards.
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include <stdbool.h>

#include "command.h"
#include "text.h"
#include "tracesmith/capture.h"
#include "tracesmith/xray.h"

struct sources {
    tsmith_xray *xray; // NULL: not asked for
};

// As the options ask; adds to `capture` what the program's environment needs. `program` is its path. The exit code:
// EXIT_DONE, or of a failure that was complained about: nothing was run then.
int sources_open(struct sources *sources, const struct invocation *invocation, const char *program,
                 tsmith_capture_options *capture);
// For record_request.join.
tsmith_status sources_join(void *sources, tsmith_capture *capture, tsmith_error *error);
// After the recording: complains about what did not come.
void sources_report(const struct sources *sources);
// After the capture is gone.
void sources_close(struct sources *sources);

#endif
