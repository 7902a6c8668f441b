// SPDX-License-Identifier: Apache-2.0
// The state that a captured frame begins with: resources with the hash of their content, and its commands (`view --frame`).
#ifndef CLI_FRAME_STATE_H
#define CLI_FRAME_STATE_H

#include "cli/frame_filter.h"
#include "cli/opened_trace.h"

// Adds it to the answer: as text, or as members of a JSON object, each followed by a comma and a new line. Nothing where the frame
// was not captured, or is of OpenCL. The exit code, with a complaint when it is not EXIT_DONE.
int frame_state_add(struct text *text, const struct trace *trace, const struct frame_filter *filter,
                    bool json);

#endif
