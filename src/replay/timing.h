// SPDX-License-Identifier: Apache-2.0
// How long commands took, recorded and over several replays.
#ifndef REPLAY_TIMING_H
#define REPLAY_TIMING_H

#include "replay/recording.h"

// A zeroed struct is empty.
struct timing {
    struct timing_sample {
        size_t process, record;
        int64_t duration;
    } * samples;
    size_t count, capacity;
    tsmith_replay_time *times; // after the last replay
    size_t time_count;
};

bool timing_add(struct timing *timing, size_t process, size_t record, int64_t duration); // false: no memory
bool timing_conclude(struct timing *timing, struct tsmith_recording *recording);
void timing_finish(struct timing *timing);

#endif
