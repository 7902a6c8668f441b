// SPDX-License-Identifier: Apache-2.0
// What `profile` records besides the GPU APIs: functions of XRay, what the system's kernel sees, and samples of threads. Each is set up before the program starts, joined with the
// capture, and reported on afterwards.
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include <stdbool.h>

#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/capture.h"
#include "tracesmith/host_sampler.h"
#include "tracesmith/watch.h"
#include "tracesmith/xray.h"

enum { PROBES_MOST = 32, NODES_MOST = 32 };

struct sources {
    tsmith_xray *xray; // NULL: not asked for
    tsmith_watch *watch;
    tsmith_host_sampler *sampler;
    bool sched, driver;
    struct {
        const char *word; // as given
        double ns;        // of a hit
    } probes[PROBES_MOST];
    size_t probe_count;
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
