// SPDX-License-Identifier: Apache-2.0
// Which commands are recorded. Rules: recorder.h.
#include "recording/range.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "recorder.h"
#include "wire/channel.h"

static struct recording_range range;
static const _Atomic uint32_t *trigger; // odd: recording
static _Atomic uint64_t launches; // those that count: without the lock as long as they come before the range
// Under recorder.lock:
static bool open;
static uint32_t threads;

static _Atomic uint32_t user_ranges[2]; // of the name: open now, opened since; written by the NVTX agent

// Frames that end with waits: those that have ended, whether something was enqueued in this one, and when it began.
static struct {
    _Atomic uint64_t ended;
    atomic_bool enqueued;
    _Atomic int64_t begun;
    atomic_bool wanted; // the next one, because the last was long
} waits;
// Under recorder.lock: the frame of the last command, whether it is recorded, and the triggers that were followed.
static uint64_t frame_seen;
static bool frame_taken;
static uint32_t triggers_seen;

static __thread uint32_t this_thread __attribute__((tls_model("initial-exec")));

// The NVTX agent is next to this one. NVTX may load it later: it is the same library then.
static bool watch_ranges(const char *name) {
    void (*watch)(const char *name, _Atomic uint32_t *open) = NULL;
    char path[4096];
    Dl_info here;
    if (!dladdr((void *)(uintptr_t)watch_ranges, &here) || !here.dli_fname)
        return false;
    const char *slash = strrchr(here.dli_fname, '/');
    const int length = slash ? (int)(slash - here.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*s/libtracesmith-nvtx.so", length, here.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&watch = dlsym(library, "tracesmith_nvtx_watch");
    if (watch)
        watch(name, user_ranges);
    return watch != NULL;
}

bool range_begin(const char *words, const char *session_directory) {
    if (!recording_range_parse(words, &range) || range.presents)
        return false; // OpenCL presents nothing
    recorder_options = (struct recorder_options){.no_payload = range.no_payload, .hashes = range.hashes};
    if (range.form == RECORDING_RANGE_USER)
        return watch_ranges(range.from);
    if (recording_range_of_frames(&range) && range.frames[0] && !watch_ranges(range.frames))
        return false;
    if (range.form != RECORDING_RANGE_SIGNAL && range.form != RECORDING_RANGE_FRAME)
        return true;
    trigger = channel_trigger(session_directory);
    triggers_seen = trigger ? atomic_load(trigger) : 0; // those before this process are not for it
    return trigger != NULL;
}

bool range_whole(void) {
    return range.form == RECORDING_RANGE_ALL;
}

uint32_t range_thread(void) {
    if (!this_thread)
        this_thread = ++threads;
    return this_thread;
}

static bool counts(uint64_t launch) {
    return launch >= range.first && launch - range.first < range.count;
}

// Of kernels of another name than the range begins with: the last this thread launched, as kernels were then.
static __thread struct {
    const void *kernel;
    uint64_t kernels;
} other __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t kernels; // were made: what is a kernel's name may be another's when its handle is

void range_kernel_made(void) {
    atomic_fetch_add_explicit(&kernels, 1, memory_order_release);
}

static bool is_other(const void *kernel) {
    return other.kernel == kernel && other.kernels == atomic_load_explicit(&kernels, memory_order_acquire);
}

// With the lock held.
static bool has_name(const struct object *kernel, const char *name) {
    if (kernel && kernel->kernel->name && strcmp(kernel->kernel->name, name) == 0)
        return true;
    other.kernel = kernel ? kernel->handle : NULL;
    other.kernels = atomic_load_explicit(&kernels, memory_order_relaxed);
    return false;
}

// Counts a launch that comes before those of the range.
static bool comes_before(void) {
    uint64_t before = atomic_load_explicit(&launches, memory_order_relaxed);
    while (before + 1 < range.first)
        if (atomic_compare_exchange_weak(&launches, &before, before + 1))
            return true;
    return false;
}

// ---- frames

// The number of the frame that it is now, from 1; 0: none.
static uint64_t frame_now(void) {
    if (!range.frames[0])
        return atomic_load(&waits.ended) + 1;
    return atomic_load_explicit(&user_ranges[0], memory_order_acquire) ? atomic_load(&user_ranges[1]) : 0;
}

void range_waited(void) {
    if (!recording_range_of_frames(&range) || range.frames[0] || !atomic_exchange(&waits.enqueued, false))
        return;
    if (range.form == RECORDING_RANGE_FRAMES_AFTER) {
        const int64_t now = clock_trace_now(), begun = atomic_exchange(&waits.begun, now);
        atomic_store(&waits.wanted, begun && (uint64_t)(now - begun) / 1000000 >= range.first);
    }
    atomic_fetch_add(&waits.ended, 1);
}

static void frame_enqueued(void) {
    if (range.form == RECORDING_RANGE_FRAMES_AFTER && !atomic_load(&waits.begun))
        atomic_store(&waits.begun, clock_trace_now()); // the first frame begins with its first command
    atomic_store_explicit(&waits.enqueued, true, memory_order_relaxed);
}

// With the lock held. Whether a frame is recorded is decided when its first command comes, so that it is whole.
static bool takes_frame(uint64_t frame) {
    switch (range.form) {
    case RECORDING_RANGE_FRAMES:
        return frame >= range.first && frame - range.first < range.count;
    case RECORDING_RANGE_FRAMES_EVERY:
        return frame % range.first == 0;
    case RECORDING_RANGE_FRAMES_AFTER:
        return atomic_load(&waits.wanted);
    default: {
        const uint32_t triggers = atomic_load_explicit(trigger, memory_order_relaxed);
        const bool asked = triggers != triggers_seen;
        triggers_seen = triggers;
        return asked;
    }
    }
}

static bool in_frame(void) {
    const uint64_t frame = frame_now();
    frame_enqueued();
    if (frame != frame_seen) {
        frame_seen = frame;
        frame_taken = frame && takes_frame(frame);
    }
    return frame_taken;
}

// Without the lock, before the first frame that is recorded. Not in doubt: whether a frame is recorded depends on its first command.
static bool waits_for_frame(void) {
    const uint64_t frame = frame_now();
    if (range.form != RECORDING_RANGE_FRAMES || (frame >= range.first && frame - range.first < range.count))
        return false;
    frame_enqueued();
    return true;
}

bool range_waits(const void *kernel) {
    if (!this_thread)
        return false; // it has no number yet
    switch (range.form) {
    case RECORDING_RANGE_KERNELS:
        return !kernel || comes_before();
    case RECORDING_RANGE_KERNEL:
    case RECORDING_RANGE_BETWEEN:
        return !kernel || is_other(kernel);
    case RECORDING_RANGE_SIGNAL:
        return !(atomic_load_explicit(trigger, memory_order_relaxed) & 1);
    case RECORDING_RANGE_USER:
        return atomic_load_explicit(&user_ranges[0], memory_order_relaxed) == 0;
    case RECORDING_RANGE_KEY: // of Vulkan: range_begin refuses it
        return true;
    case RECORDING_RANGE_FRAME:
    case RECORDING_RANGE_FRAMES:
    case RECORDING_RANGE_FRAMES_EVERY:
    case RECORDING_RANGE_FRAMES_AFTER:
        return waits_for_frame();
    default:
        return false;
    }
}

// From the first launch of one kernel to the next of the other, as often as that happens.
static bool is_between_kernels(const struct object *kernel) {
    const bool was = open;
    if (!was)
        open = has_name(kernel, range.from);
    else if (has_name(kernel, range.until))
        open = false;
    return was || open;
}

bool range_takes(const struct object *queue, const struct object *kernel) {
    const uint32_t thread = range_thread();
    switch (range.form) {
    case RECORDING_RANGE_KERNELS:
        // What is enqueued after the last launch is not in it.
        return kernel ? counts(atomic_fetch_add(&launches, 1) + 1) : counts(launches) && counts(launches + 1);
    case RECORDING_RANGE_KERNEL:
        return has_name(kernel, range.from) && counts(atomic_fetch_add(&launches, 1) + 1);
    case RECORDING_RANGE_BETWEEN:
        return is_between_kernels(kernel);
    case RECORDING_RANGE_QUEUE:
        return queue && queue->number == range.first;
    case RECORDING_RANGE_THREAD:
        return thread == range.first;
    case RECORDING_RANGE_SIGNAL:
        return atomic_load_explicit(trigger, memory_order_relaxed) & 1;
    case RECORDING_RANGE_USER:
        return atomic_load_explicit(&user_ranges[0], memory_order_relaxed) > 0;
    case RECORDING_RANGE_FRAME:
    case RECORDING_RANGE_FRAMES:
    case RECORDING_RANGE_FRAMES_EVERY:
    case RECORDING_RANGE_FRAMES_AFTER:
        return in_frame();
    default:
        return true;
    }
}
