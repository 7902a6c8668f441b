// SPDX-License-Identifier: Apache-2.0
// The part of `replay` that runs a recording on an interpreter (replay_instructions.c).
#ifndef CLI_REPLAY_INSTRUCTIONS_H
#define CLI_REPLAY_INSTRUCTIONS_H

#include <stdbool.h>

#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/instructions.h"

// Whether the options ask for it (--instructions, --check), and whether they make sense together; complains.
bool replay_is_interpreted(const struct invocation *invocation);
bool replay_check_words(const struct invocation *invocation);

tsmith_status replay_interpret(const struct invocation *invocation, tsmith_recording *recording,
                               const tsmith_replay_options *replay, tsmith_instructions **out,
                               tsmith_error *error);
// Adds what was counted and found, and writes the trace of it (--output). EXIT_NO when anything was found.
int replay_add_instructions(struct text *text, const struct invocation *invocation,
                            const tsmith_instructions *instructions, const uint64_t *verdicts, bool json);

#endif
