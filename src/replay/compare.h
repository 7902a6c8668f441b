// SPDX-License-Identifier: Apache-2.0
// Comparing two buffers element by element. All bytes count: a last part that is shorter than an element is compared
// byte by byte.
#ifndef REPLAY_COMPARE_H
#define REPLAY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/replay.h"

struct compare_tolerance {
    uint64_t ulps;
    double absolute;
};

struct comparison {
    bool within;                         // every element that differs is within tolerance
    uint64_t different;                  // elements
    uint64_t most_ulps;                  // of floating point; UINT64_MAX against something that is no number
    double most_absolute;                // how far two values are apart at most; infinite against no number
    uint64_t offset, recorded, replayed; // the first that is too far off, or else that differs
};

size_t element_bytes(tsmith_element element);
// The number of representable values between two; 0 for equal ones, +0 and -0, and two NaNs.
uint64_t element_ulps(tsmith_element element, uint64_t a, uint64_t b);
struct comparison compare_buffers(tsmith_element element, const uint8_t *recorded, const uint8_t *replayed,
                                  size_t size, const struct compare_tolerance *tolerance);

// What replays gave for each element, least and most; for the verdict WITHIN_NOISE.
void envelope_extend(tsmith_element element, uint8_t *least, uint8_t *most, const uint8_t *replayed,
                     size_t size);
// Whether the recorded values lie in it, widened on both sides by ENVELOPE_MARGIN times its width: a few replays do
// not show all possible values. An element that is the same in every replay has no width.
enum { ENVELOPE_MARGIN = 2 };
bool envelope_holds(tsmith_element element, const uint8_t *least, const uint8_t *most,
                    const uint8_t *recorded, size_t size);
// For the name of a kernel argument's type ("float4*", "const uint *"); U8 for an unknown one.
tsmith_element element_of_type(const char *type);

#endif
