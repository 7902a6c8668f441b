// SPDX-License-Identifier: Apache-2.0
// A file that a command writes its answer to: it gets its name when it is complete. On a full disk, or after a failure, nothing is
// left, and a file of that name stays as it was. A command that is killed may leave NAME.XXXXXX, but no half file under the name.
#ifndef CLI_PRESENT_OUT_FILE_H
#define CLI_PRESENT_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "tracesmith/output.h"

struct out_file {
    FILE *file;       // to write to; NULL: not open
    const char *path; // for messages, borrowed
    char *temporary;  // the name until it is complete; NULL: it is written in place
    bool *complete;   // shared with processes that are started while it is open
    pid_t owner;      // the process that gives it its name
    int failure;      // errno of the first failed write through out_file_output
};

// NULL and "-": standard output. A link, a device, and a file in a folder that cannot be written are written in place. The exit
// code; complains if it is not EXIT_DONE.
int out_file_open(struct out_file *out, const char *path);
// For writers of the library.
tsmith_output out_file_output(struct out_file *out);
// All was written, with this result; the exit code, after a complaint if it is not EXIT_DONE. A reader that has closed standard
// output is no failure. May be called in a process that the owner started.
int out_file_end(struct out_file *out, tsmith_status status, const tsmith_error *error);
// Gives it its name if out_file_end returned EXIT_DONE, otherwise removes it. The exit code; a zeroed struct is nothing.
int out_file_close(struct out_file *out);

#endif
