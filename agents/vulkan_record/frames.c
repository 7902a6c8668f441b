// SPDX-License-Identifier: Apache-2.0
// Which frames are captured. They are counted as the trace counts them (docs/frames.md). Rules: recorder.h; all with the lock held.
#include "recording/range.h"

#include <string.h>

#include "base/clock.h"
#include "recorder.h"
#include "wire/channel.h"

static struct recording_range range;
static const _Atomic uint32_t *trigger;
static uint32_t triggers_seen;
static uint64_t ended; // frames
static bool submitted; // something in this frame
static int64_t begun;  // the frame
static bool wanted;    // the next one, because the last was long or a key was pressed
static uint64_t decided;
static bool taken; // the frame `decided`

bool frames_begin(const char *words, const char *directory) {
    if (!recording_range_parse(words, &range))
        return false;
    recorder.hashes_only = range.no_payload;
    // Ranges of NVTX and ranges of kernels are not those of Vulkan.
    if (range.form != RECORDING_RANGE_ALL && (!recording_range_of_frames(&range) || range.frames[0]))
        return false;
    if (range.form == RECORDING_RANGE_KEY)
        keys_begin((uint32_t)range.first);
    if (range.form == RECORDING_RANGE_FRAME) {
        trigger = channel_trigger(directory);
        triggers_seen = trigger ? *trigger : 0;
        return trigger != NULL;
    }
    return true;
}

static void end_frame(void) {
    const int64_t now = clock_trace_now();
    wanted = begun && (uint64_t)(now - begun) / 1000000 >= range.first;
    begun = now;
    submitted = false;
    ended++;
}

void frames_waited(void) {
    if (!range.presents && submitted)
        end_frame();
}

void frames_presented(void) {
    if (!range.presents)
        return;
    end_frame();
    if (range.form == RECORDING_RANGE_KEY)
        wanted = keys_pressed();
}

static bool takes_frame(uint64_t frame) {
    switch (range.form) {
    case RECORDING_RANGE_ALL:
        return true;
    case RECORDING_RANGE_FRAMES:
        return frame >= range.first && frame - range.first < range.count;
    case RECORDING_RANGE_FRAMES_EVERY:
        return frame % range.first == 0;
    case RECORDING_RANGE_FRAMES_AFTER:
    case RECORDING_RANGE_KEY:
        return wanted;
    default: {
        const uint32_t triggers = *trigger;
        const bool asked = triggers != triggers_seen;
        triggers_seen = triggers;
        return asked;
    }
    }
}

uint64_t frames_submitted(bool works) {
    const uint64_t frame = ended + 1;
    if (!begun)
        begun = clock_trace_now();
    submitted |= works;
    if (decided != frame) {
        decided = frame;
        taken = takes_frame(frame);
    }
    return taken ? frame : 0;
}
