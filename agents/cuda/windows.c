// SPDX-License-Identifier: Apache-2.0
// Keeps the times at which recording was switched on and off; records.c and launches.c ask it. Rules: agent.h. The
// newest switches are kept, each with its time; what is older than all that are kept was recorded under the oldest of
// them.
#include "windows.h"

#include <string.h>

#include "buffers.h"
#include "layouts.h"
#include "library.h"
#include "wire/agent.h"

enum { PLACES = 256 };

atomic_bool windows_any, windows_closed;

// time << 1 | on
static _Atomic int64_t switches[PLACES];
static _Atomic uint32_t count;

static void note_switch(bool on, int64_t time) {
    const uint32_t next = atomic_load_explicit(&count, memory_order_relaxed);
    atomic_store_explicit(&switches[next % PLACES], (int64_t)((uint64_t)time << 1 | on),
                          memory_order_relaxed);
    atomic_store_explicit(&count, next + 1, memory_order_release);
}

void windows_init(bool on) {
    note_switch(on, 0);
    atomic_store(&windows_closed, !on);
    atomic_store(&windows_any, !on);
}

void windows_switch(bool on) {
    note_switch(on, clock_trace_now());
    atomic_store(&windows_closed, !on);
    atomic_store(&windows_any, true);
}

static bool on_at(int64_t time) {
    const uint32_t made = atomic_load_explicit(&count, memory_order_acquire);
    const uint32_t oldest = made > PLACES ? made - PLACES : 0;
    bool on = false;
    for (uint32_t i = made; i > oldest; i--) {
        const int64_t change = atomic_load_explicit(&switches[(i - 1) % PLACES], memory_order_relaxed);
        on = change & 1;
        if (change >> 1 <= time)
            break;
    }
    return on;
}

bool windows_contain(struct reader *reader, const void *record) {
    const uint32_t kind = ((const struct cupti_api *)record)->kind;
    const struct record_layout *layout = kind < CUPTI_KIND_LIMIT ? &record_layouts[kind] : NULL;
    struct launch launch;
    uint64_t start, time, unused = 0;
    uint32_t correlation = 0;
    if (!layout || !layout->flags || layout->flags & LAYOUT_ANY_TIME)
        return true;
    memcpy(&start, (const char *)record + layout->times[0], sizeof start);
    if (layout->correlation)
        memcpy(&correlation, (const char *)record + layout->correlation, sizeof correlation);
    // Calls are noted while recording is on only. What has no sound time is counted where it is read.
    return launches_find(correlation, LAUNCH_LOOK, &launch, &unused)
               ? true
               : start && (!reader_time(&reader->base, start, &time) || on_at((int64_t)time));
}

// Called in the process itself, by the library that it profiles itself with.
AGENT_EXPORT agent_switched_function tracesmith_agent_switched;
AGENT_EXPORT void tracesmith_agent_switched(int on) {
    if (!agent_recording() || !cupti.ActivityFlushAll)
        return;
    windows_switch(on != 0);
    // What has ended by now is in the trace when the caller asks for it.
    if (on)
        return;
    if (!atomic_load(&library_gone))
        buffers_flush(0);
    buffers_flushed();
}
