// SPDX-License-Identifier: Apache-2.0
// Prints the findings of `replay` on the plan of a recording: conflicts that nothing orders.
#ifndef CLI_REPLAY_PLAN_H
#define CLI_REPLAY_PLAN_H

#include <stdbool.h>

#include "cli/present/text.h"
#include "replay_sites.h"
#include "tracesmith/plan.h"

// A command as findings name it: "kernel blur (command 12, queue 3)"; or as a JSON object.
void add_plan_command(struct text *text, const tsmith_plan_command *command, const struct sites *sites,
                      uint64_t pid, bool json);
// Adds the findings, those of the device tried the other way round where `confirm` is not NULL; returns the exit code.
int answer_hazards(tsmith_recording *recording, const tsmith_replay_options *confirm,
                   const struct sites *sites, struct text *text, bool json);
// The same for `count` other orders that are replayed.
int answer_permute(tsmith_recording *recording, const tsmith_permute_options *options,
                   const struct sites *sites, struct text *text, bool json);

#endif
