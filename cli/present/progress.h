// SPDX-License-Identifier: Apache-2.0
// A progress bar on stderr: only on a terminal, only for work that lasts, gone when it is done.
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// A zeroed struct with `what` set is ready. Nothing is drawn while `disabled`.
struct progress {
    const char *what;
    bool disabled;
    bool drawn;
    int64_t started; // ns
    int64_t last;
};

// `share` of the work is done, 0 to 1; negative when that is not known. Cheap enough to call for every batch.
void progress_show(struct progress *progress, double share);
void progress_clear(struct progress *progress);

#endif
