// SPDX-License-Identifier: Apache-2.0
// `replay --emit-c` and `--minimize`: the recording, or the least part of it that diverges, as a C program.
#ifndef CLI_REPLAY_EMIT_H
#define CLI_REPLAY_EMIT_H

#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/replay.h"

// False after a complaint about options that have no meaning with it.
bool replay_check_emit(const struct invocation *invocation);
// Whether one of the two is given.
bool replay_makes_program(const struct invocation *invocation);
// With --minimize says what remains; writes the directory if --emit-c is given, and says what is in it. Returns the exit code.
int replay_add_program(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                       const tsmith_replay_options *options, bool json);

#endif
