// SPDX-License-Identifier: Apache-2.0
// Of `replay`: the memory that a command writes, before and after it (--contents).
#ifndef CLI_REPLAY_CONTENTS_H
#define CLI_REPLAY_CONTENTS_H

#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/replay.h"

// Whether --contents is a command and fits the other options; false after a complaint.
bool replay_check_contents(const struct invocation *invocation);
// Runs up to the command and adds its memory; an exit code.
int replay_add_contents(struct text *text, const struct invocation *invocation, tsmith_recording *recording,
                        const tsmith_replay_options *options, bool json);

#endif
