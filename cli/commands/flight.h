// SPDX-License-Identifier: Apache-2.0
// `profile --flight`: its options, and what it prints at the end.
#ifndef CLI_FLIGHT_H
#define CLI_FLIGHT_H

#include "cli/options/command.h"
#include "record.h"

bool flight_wanted(const struct invocation *invocation);
// Makes the flight recorder if it is wanted; its files are named after `path`. The exit code, after a complaint.
int flight_open(const struct invocation *invocation, const char *path, const tsmith_capture_options *options,
                tsmith_flight **out);
// Prints what was written, and gives the exit code.
int flight_conclude(const struct invocation *invocation, const tsmith_flight *flight,
                    const struct record_result *result);

#endif
