// SPDX-License-Identifier: Apache-2.0
// Prints the lines of `replay` around its verdicts: where it runs, what it runs, what is damaged, and what to do next.
#ifndef CLI_REPLAY_SAY_H
#define CLI_REPLAY_SAY_H

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/replay.h"

// Where a recorded device or its driver is another than the one it is replayed on: one line each.
void say_foreign(struct text *text, tsmith_recording *recording, const tsmith_replay_options *options);
// Reads the whole file, so that all its damage is known. Returns an exit code.
int say_verify(struct trace *trace);
// Reports a damaged file, for every kind of replay.
void say_damage(struct text *text, const struct trace *trace, const tsmith_recording_summary *summary,
                bool json);
// The commands, one a line; the first of them where not `all`.
int say_commands(struct text *text, tsmith_recording *recording, bool all, bool json);
// How many commands ran of how many, where it was not all.
void say_extent(struct text *text, const tsmith_replay *replay, bool json);
// An element of a result, from its bits.
void say_value(struct text *text, tsmith_element element, uint64_t bits);
// What to try after these verdicts.
void say_next(struct text *text, tsmith_recording *recording, const tsmith_replay *replay,
              const uint64_t *verdicts, uint32_t times);

#endif
