// SPDX-License-Identifier: Apache-2.0
// The session directory: made by who collects, found by who records through its environment.
#ifndef CAPTURE_SESSION_DIRECTORY_H
#define CAPTURE_SESSION_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/layout.h"
#include "tracesmith/capture.h"

struct session_directory {
    char path[4096];
    int fd;
    struct layout_control *control; // mapped whole
    bool private_copy;              // recover: nothing in the directory is changed
};

// Makes one (0700, unpredictable name) with its control file. `options` may be NULL.
tsmith_status session_directory_create(struct session_directory *directory,
                                       const tsmith_capture_options *options, tsmith_error *error);
// Opens one whose collector is gone. BUSY when it is not gone.
tsmith_status session_directory_open(struct session_directory *directory, const char *path,
                                     tsmith_error *error);
// Tells the recording side that it is over.
void session_directory_end(struct session_directory *directory);
void session_directory_close(struct session_directory *directory);
// How many processes say that they could not attach to the session.
uint32_t session_directory_unrecorded(const struct session_directory *directory);
// Removes it with everything in it.
void session_directory_remove(struct session_directory *directory);
// Whether the machine has not been started anew since: ticks and processes still mean something.
bool session_directory_same_boot(const struct session_directory *directory);

#endif
