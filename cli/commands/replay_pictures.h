// SPDX-License-Identifier: Apache-2.0
// Images of captured frames as pictures (PNG): recorded, replayed, and their difference. For `replay --save-results`.
#ifndef CLI_REPLAY_PICTURES_H
#define CLI_REPLAY_PICTURES_H

#include <stdbool.h>

#include "tracesmith/replay.h"

struct picture_format {
    uint64_t pid, object;
    uint32_t width, height, format;
};

struct pictures {
    struct picture_format *all;
    size_t count, capacity;
    bool failed; // out of memory
};

// Which of the recording's objects are images of which a picture can be made.
void pictures_find(struct pictures *pictures, tsmith_recording *recording);
void pictures_finish(struct pictures *pictures);
// Writes `stem`.recorded.png, .replayed.png and .difference.png of the first level and layer, if the result is an image. The
// difference is that of each channel, black where both are equal. False after a complaint.
bool pictures_write(const struct pictures *pictures, const char *stem, const tsmith_replay_bytes *bytes);

#endif
