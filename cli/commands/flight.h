// SPDX-License-Identifier: Apache-2.0
// `profile --flight` and `attach --flight`: their options, and what is printed at the end.
#ifndef CLI_FLIGHT_H
#define CLI_FLIGHT_H

#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "record.h"

bool flight_wanted(const struct invocation *invocation);
// Makes the flight recorder if it is wanted; its files are named after `path`. The exit code, after a complaint.
int flight_open(const struct invocation *invocation, const char *path, const tsmith_capture_options *options,
                tsmith_flight **out);
// What was written: an object of JSON, or a line for people and another one if a file could not be written.
void flight_add_json(struct text *line, const tsmith_flight_summary *summary);
void flight_say(const tsmith_flight_summary *summary);
// Of `profile`: prints what was written, and gives the exit code.
int flight_conclude(const struct invocation *invocation, const tsmith_flight *flight,
                    const struct record_result *result);

#endif
