// SPDX-License-Identifier: Apache-2.0
// Replays on two devices that are compared with each other.
#ifndef REPLAY_TWO_DEVICES_H
#define REPLAY_TWO_DEVICES_H

#include "replay/results.h"

// The process that replay->process names, once on both devices. OK, or what a replay fails with.
tsmith_status two_devices_run(struct tsmith_replay *replay, const tsmith_replay_options *options,
                              tsmith_error *error);
// The first command after which the devices differ, of the first process where they do, into replay->culprit.
tsmith_status two_devices_find_first(struct tsmith_replay *replay, const tsmith_replay_options *options,
                                     tsmith_error *error);

#endif
