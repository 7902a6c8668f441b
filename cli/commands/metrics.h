// SPDX-License-Identifier: Apache-2.0
// `profile --metrics-listen`: the totals of the recording for Prometheus, over HTTP on the loopback interface. record.c asks it
// to look for connections while it pumps.
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "cli/options/command.h"
#include "tracesmith/capture.h"

struct metrics;

// Listens if it is wanted. The exit code, after a complaint. NULL in `out`: it is not wanted.
int metrics_open(const struct invocation *invocation, struct metrics **out);
// Writes the token into the session directory, if no file was given, and prints where to scrape.
void metrics_begin(struct metrics *metrics, tsmith_capture *capture);
// Answers pending requests, and never waits.
void metrics_look(struct metrics *metrics, tsmith_capture *capture);
void metrics_close(struct metrics *metrics);

#endif
