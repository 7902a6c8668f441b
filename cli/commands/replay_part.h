// SPDX-License-Identifier: Apache-2.0
// Of `replay`: which part is run and how fast, how long it took, and where it went wrong.
#ifndef CLI_REPLAY_PART_H
#define CLI_REPLAY_PART_H

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/text.h"
#include "replay_sites.h"
#include "tracesmith/replay.h"

// --mode, --range, --kernel, --stream, --speed, --timing, --validate; false after a complaint. Words are the command line's.
// *frame: the number of --range frame:N, else 0.
bool replay_read_part(const struct invocation *invocation, tsmith_replay_options *options, uint64_t *frame);
// Finds the calls of a frame of the trace (0: none is asked for) for the options. Returns an exit code. *calls is to be freed, when
// the options are used no more.
int replay_take_frame(const struct invocation *invocation, const struct trace *trace, uint64_t frame,
                      tsmith_replay_options *options, uint64_t **calls);
// The recorded times, of the trace around the recording, where the options need them. Returns an exit code.
int replay_take_times(const struct trace *trace, tsmith_recording *recording,
                      const tsmith_replay_options *options);
void replay_add_times(struct text *text, const tsmith_replay *replay, bool json);
void replay_add_culprit(struct text *text, const tsmith_replay *replay, const struct sites *sites, bool json);
// How many results differ from replay to replay.
void replay_add_validation(struct text *text, uint64_t varying, bool json);

#endif
