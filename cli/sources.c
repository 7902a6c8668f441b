// SPDX-License-Identifier: Apache-2.0
#include "sources.h"

#include "terminal.h"

int sources_open(struct sources *sources, const struct invocation *invocation, const char *program,
                 tsmith_capture_options *capture) {
    tsmith_error error;
    *sources = (struct sources){0};
    if (invocation_flag(invocation, "xray")) {
        const tsmith_xray_options options = {.size = sizeof options, .program = program};
        if (tsmith_xray_create(&options, &sources->xray, &error) < 0) {
            complain("%s", error.message);
            return EXIT_LACKING;
        }
        capture->environment = tsmith_xray_environment(sources->xray);
    }
    return EXIT_DONE;
}

tsmith_status sources_join(void *context, tsmith_capture *capture, tsmith_error *error) {
    const struct sources *sources = context;
    return sources->xray ? tsmith_xray_join(sources->xray, capture, error) : TSMITH_OK;
}

void sources_report(const struct sources *sources) {
    tsmith_error error;
    size_t unreadable = 0;
    if (!sources->xray)
        return;
    if (tsmith_xray_logs(sources->xray, &unreadable, &error) == 0)
        complain("--xray: the program logged no function: it must be built with clang -fxray-instrument, and "
                 "a process "
                 "that is killed logs nothing more");
    if (unreadable)
        complain("--xray: %zu of its logs could not be read: %s", unreadable, error.message);
}

void sources_close(struct sources *sources) {
    tsmith_xray_destroy(sources->xray);
    *sources = (struct sources){0};
}
