// SPDX-License-Identifier: Apache-2.0
// `profile --otlp`: the totals of the recording as metrics, and its ranges as spans, for an OpenTelemetry collector on this machine:
// OTLP over HTTP, as JSON. record.c hands it batches and lets it work while it pumps.
//
// It never waits while the program runs: one message is under way at a time, and has two seconds. What a collector does not take is
// counted and dropped.
#ifndef CLI_OTLP_H
#define CLI_OTLP_H

#include "cli/options/command.h"
#include "tracesmith/capture.h"

struct otlp;

// Reads the option and the environment (TRACEPARENT, TRACESTATE, OTEL_SERVICE_NAME). The exit code, after a complaint. NULL in
// `out`: it is not wanted. `program` is the program's path.
int otlp_open(const struct invocation *invocation, const char *program, struct otlp **out);
// The program starts now.
void otlp_begin(struct otlp *otlp);
// Notes the ranges of a batch.
void otlp_take(struct otlp *otlp, const tsmith_dictionary *dictionary, const tsmith_batch *batch);
// Sends and receives what can be without waiting, and begins a message if one is due.
void otlp_look(struct otlp *otlp, tsmith_capture *capture);
// The recording is complete: sends the last values, for at most two seconds, and prints what was delivered.
void otlp_end(struct otlp *otlp, tsmith_capture *capture, int wait_status);
void otlp_close(struct otlp *otlp);

#endif
