// SPDX-License-Identifier: Apache-2.0
// Which commands of a program are recorded, as a word; and what is kept of them.
#ifndef RECORDING_RANGE_H
#define RECORDING_RANGE_H

#include <stdbool.h>
#include <stdint.h>

// In the order of TSMITH_CAPTURE_RANGE_TABLE (tracesmith/capture.h), which describes each.
enum recording_range_form {
    RECORDING_RANGE_ALL,
    RECORDING_RANGE_KERNELS,
    RECORDING_RANGE_KERNEL,
    RECORDING_RANGE_BETWEEN,
    RECORDING_RANGE_QUEUE,
    RECORDING_RANGE_THREAD,
    RECORDING_RANGE_SIGNAL,
    RECORDING_RANGE_USER,
    RECORDING_RANGE_FRAME,
    RECORDING_RANGE_KEY, // `first`: F1 is 1
    RECORDING_RANGE_FRAMES,
    RECORDING_RANGE_FRAMES_EVERY,
    RECORDING_RANGE_FRAMES_AFTER,
    RECORDING_RANGE_LIMIT
};

// What a space in a range is, for words come after it.
#define RECORDING_RANGE_SPACE '\x1f'
enum { RECORDING_RANGE_NAME = 512 };

struct recording_range {
    enum recording_range_form form;
    uint64_t first, count;
    char from[RECORDING_RANGE_NAME], until[RECORDING_RANGE_NAME];
    char frames
        [RECORDING_RANGE_NAME]; // of a range of frames: the name of the ranges that they are; "": they end with waits
    bool no_payload, hashes,
        presents; // words after the range: "no-payload", "hashes", "presents": frames end with presents
};

// Whether the range is one of frames.
static inline bool recording_range_of_frames(const struct recording_range *range) {
    return range->form >= RECORDING_RANGE_FRAME && range->form <= RECORDING_RANGE_FRAMES_AFTER;
}

// "RANGE[ WORD]...", where a word may be "frames=NAME". False when it is not understood.
bool recording_range_parse(const char *text, struct recording_range *out);

#endif
