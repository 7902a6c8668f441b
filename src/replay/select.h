// SPDX-License-Identifier: Apache-2.0
// A part of a recording: some commands, and what they need.
#ifndef REPLAY_SELECT_H
#define REPLAY_SELECT_H

#include "replay/plan.h"

// Whether the options ask for a part.
bool select_is_asked(const tsmith_replay_options *options);
// By record, 1 for commands and comparisons that are left out; *count: commands asked for. Freed with free(). NO_MEMORY,
// or OK (also when there is no such command).
tsmith_status select_records(const struct plan *plan, const tsmith_replay_options *options,
                             uint8_t **left_out, uint64_t *count, tsmith_error *error);

// The same for captured frames of Vulkan: without the comparisons after submissions that are not asked for. The state before a frame is
// there whatever is asked for.
tsmith_status select_vulkan_records(const struct recorded_process *process,
                                    const tsmith_replay_options *options, uint8_t **left_out, uint64_t *count,
                                    tsmith_error *error);

#endif
