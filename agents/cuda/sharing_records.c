// SPDX-License-Identifier: Apache-2.0
// Decides which of CUPTI's records the other tool gets, and passes them on; sharing.c calls it. Rules: agent.h. The
// other tool's callbacks are called without a lock of ours being held: they may call CUPTI, which may call us.
#include "sharing_records.h"

#include <pthread.h>
#include <string.h>

#include "agentkit/map.h"
#include "launches.h"
#include "layouts.h"
#include "library.h"
#include "sharing.h"

enum { WINDOWS = 8, CALLS = 2048 };

// When a kind was on for them: by CUPTI's clock, and by the correlation ids that were newest.
struct window {
    uint64_t from, to;
    uint32_t first;
    uint32_t last;
};
static struct {
    struct window windows[WINDOWS];
    uint32_t count;
    bool on;
} kinds[CUPTI_KIND_LIMIT];
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; // of all of this file; never held while anybody is called

static cupti_buffer_wanted *_Atomic wanted;
static cupti_buffer_full *_Atomic full;
static struct buffer {
    uint8_t *at;
    size_t size, used;
} open; // theirs, being filled
static _Atomic uint64_t dropped, ever;
static atomic_bool system_threads;
static _Atomic uint8_t left_out[2][CALLS];
static struct map threads; // from the system's id to pthread_self()

static uint64_t (*_Atomic clock_of_theirs)(void);
static struct pair { uint64_t cupti, theirs; } older, newer; // both clocks at one time

// ---- what they want

void sharing_records_after_fork_child(void) {
    pthread_mutex_init(&lock, NULL);
}

void sharing_records_register(cupti_buffer_wanted *asks, cupti_buffer_full *gives) {
    atomic_store(&wanted, asks);
    atomic_store(&full, gives);
}

void sharing_records_system_threads(bool system) {
    atomic_store(&system_threads, system);
}

void sharing_records_leave_out(int domain, uint32_t id, bool out) {
    if (id < CALLS)
        atomic_store(&left_out[domain - 1][id], out);
}

void sharing_records_kind(uint32_t kind, bool on) {
    uint64_t now = 0;
    if (kind >= CUPTI_KIND_LIMIT || cupti.GetTimestamp(&now) != CUPTI_OK)
        return;
    const uint32_t newest = launches_newest();
    // A kind that is switched on overrides what was left out of it before.
    for (uint32_t id = 0; on && (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) && id < CALLS; id++)
        atomic_store_explicit(&left_out[kind == CUPTI_KIND_RUNTIME][id], 0, memory_order_relaxed);
    atomic_fetch_or(&ever, UINT64_C(1) << kind);
    pthread_mutex_lock(&lock);
    if (on && !kinds[kind].on)
        kinds[kind].windows[kinds[kind].count++ % WINDOWS] =
            (struct window){.from = now, .to = UINT64_MAX, .first = newest, .last = UINT32_MAX};
    else if (!on && kinds[kind].on) {
        struct window *window = &kinds[kind].windows[(kinds[kind].count - 1) % WINDOWS];
        window->to = now;
        window->last = newest;
    }
    kinds[kind].on = on;
    pthread_mutex_unlock(&lock);
}

bool sharing_records_now_on(uint32_t kind) {
    pthread_mutex_lock(&lock);
    const bool on = kind < CUPTI_KIND_LIMIT && kinds[kind].on;
    pthread_mutex_unlock(&lock);
    return on;
}

bool sharing_records_ever(uint32_t kind) {
    return kind < CUPTI_KIND_LIMIT && (atomic_load_explicit(&ever, memory_order_relaxed) >> kind & 1);
}

bool sharing_init(void) {
    enum { LOG2_BUCKETS = 9 };
    return map_init(&threads, LOG2_BUCKETS);
}

static const void *thread_key(uint32_t tid) {
    return (const void *)((uintptr_t)tid + 1); // NOLINT: no address; 0 and 1 are no keys
}

void sharing_thread(uint32_t tid) {
    (void)map_put(&threads, thread_key(tid), (uint32_t)(uintptr_t)pthread_self());
}

static uint32_t name_of_thread(uint32_t tid) {
    const uint32_t name = tid ? (uint32_t)map_get(&threads, thread_key(tid)) : 0;
    return name ? name : tid;
}

// ---- their clock

static void compare_clocks(void) {
    enum { APART = 100000000, ATTEMPTS = 5 }; // ns: what a rate is computed from
    uint64_t (*const clock)(void) = atomic_load(&clock_of_theirs);
    struct pair now = {0, 0};
    int64_t best = INT64_MAX;
    for (int i = 0; clock && i < ATTEMPTS; i++) {
        uint64_t time;
        const int64_t before = clock_trace_now();
        if (cupti.GetTimestamp(&time) != CUPTI_OK)
            return;
        const uint64_t there = clock();
        const int64_t width = clock_trace_now() - before;
        if (width < best) {
            best = width;
            now = (struct pair){time, there};
        }
    }
    if (!now.cupti)
        return;
    pthread_mutex_lock(&lock);
    if (!newer.cupti || now.cupti - newer.cupti >= APART) {
        older = newer;
        newer = now;
    }
    if (!older.cupti && now.cupti > newer.cupti)
        older = newer, newer = now;
    pthread_mutex_unlock(&lock);
}

void sharing_records_clock(uint64_t (*clock)(void)) {
    pthread_mutex_lock(&lock);
    older = newer = (struct pair){0, 0};
    pthread_mutex_unlock(&lock);
    atomic_store(&clock_of_theirs, clock);
    compare_clocks();
}

bool sharing_records_now(uint64_t *time) {
    uint64_t (*const clock)(void) = atomic_load(&clock_of_theirs);
    if (clock)
        *time = clock();
    return clock != NULL;
}

static uint64_t on_their_clock(const struct pair ends[2], uint64_t time) {
    if (!time || !ends[0].cupti)
        return time;
    const double rate =
        (double)(int64_t)(ends[1].theirs - ends[0].theirs) / (double)(int64_t)(ends[1].cupti - ends[0].cupti);
    return ends[1].theirs + (uint64_t)(int64_t)((double)(int64_t)(time - ends[1].cupti) * rate);
}

// ---- records

static uint64_t read_u64(const uint8_t *record, size_t size, uint16_t at) {
    uint64_t value = 0;
    if (at && at + sizeof value <= size)
        memcpy(&value, record + at, sizeof value);
    return value;
}

static uint32_t read_u32(const uint8_t *record, size_t size, uint16_t at) {
    uint32_t value = 0;
    if (at && at + sizeof value <= size)
        memcpy(&value, record + at, sizeof value);
    return value;
}

// Under the lock. What CUPTI itself would have given them: what was launched, or began, while the kind was on.
static bool is_within(const struct record_layout *layout, const uint8_t *record, size_t size, uint32_t kind) {
    const uint64_t time = read_u64(record, size, layout->times[0]);
    const uint32_t correlation = read_u32(record, size, layout->correlation);
    const uint32_t count = kinds[kind].count;
    for (uint32_t i = 0; i < count && i < WINDOWS; i++) {
        const struct window *window = &kinds[kind].windows[(count - 1 - i) % WINDOWS];
        const bool in_time = time >= window->from && time < window->to;
        const bool launched = correlation > window->first && correlation <= window->last;
        if (!layout->times[0]                  ? correlation > window->first
            : layout->flags & LAYOUT_OF_DEVICE ? launched || (in_time && correlation > window->first)
                                               : in_time)
            return true;
    }
    return false;
}

static bool is_wanted(const uint8_t *record, size_t size, uint32_t kind) {
    if (!sharing_records_ever(kind))
        return false;
    if (!record_layouts[kind].flags)
        return kinds[kind].count != 0;
    const int domain = kind == CUPTI_KIND_RUNTIME  ? CUPTI_DOMAIN_RUNTIME
                       : kind == CUPTI_KIND_DRIVER ? CUPTI_DOMAIN_DRIVER
                                                   : 0;
    const uint32_t call = domain ? read_u32(record, size, offsetof(struct cupti_api, cbid)) : 0;
    return is_within(&record_layouts[kind], record, size, kind) &&
           !(domain && call < CALLS &&
             atomic_load_explicit(&left_out[domain - 1][call], memory_order_relaxed));
}

// As they asked for it.
static void adapt_record(uint32_t kind, uint8_t *record, size_t size, const struct pair ends[2]) {
    enum { OF_THREAD = 2 };
    const struct record_layout *layout = &record_layouts[kind];
    for (size_t i = 0; ends[0].cupti && i < RECORD_TIMES && layout->times[i]; i++) {
        const uint64_t time = on_their_clock(ends, read_u64(record, size, layout->times[i]));
        if (time)
            memcpy(record + layout->times[i], &time, sizeof time);
    }
    if (!layout->thread || !read_u32(record, size, layout->thread) || !cupti.system_threads ||
        atomic_load_explicit(&system_threads, memory_order_relaxed))
        return;
    if (kind == CUPTI_KIND_OVERHEAD &&
        read_u32(record, size, offsetof(struct cupti_overhead, object_kind)) != OF_THREAD)
        return;
    const uint32_t name = name_of_thread(read_u32(record, size, layout->thread));
    memcpy(record + layout->thread, &name, sizeof name);
}

// ---- buffers

static void complete_buffer(struct buffer buffer) {
    cupti_buffer_full *const gives = atomic_load(&full);
    if (buffer.at && gives)
        gives(NULL, 0, buffer.at, buffer.size, buffer.used);
}

uint64_t sharing_records_dropped(void) {
    return atomic_exchange(&dropped, 0);
}

void sharing_dropped(uint64_t records) {
    if (atomic_load_explicit(&sharing_on, memory_order_relaxed))
        atomic_fetch_add(&dropped, records);
}

// One that has room for so much; without the lock.
static bool make_room(size_t bytes) {
    cupti_buffer_wanted *const asks = atomic_load(&wanted);
    struct buffer fresh = {NULL, 0, 0}, done = {NULL, 0, 0};
    size_t records = 0;
    if (!asks)
        return false;
    asks(&fresh.at, &fresh.size, &records);
    if (!fresh.at || fresh.size < bytes)
        return false;
    pthread_mutex_lock(&lock);
    done = open;
    open = fresh;
    pthread_mutex_unlock(&lock);
    complete_buffer(done);
    return true;
}

// Kineto flushes, and looks at its buffers, only if CUPTI has requested one. CUPTI does that with the first record; the
// copies come later, so theirs is requested as soon as a kind is enabled.
void sharing_records_open(void) {
    bool needed = false;
    pthread_mutex_lock(&lock);
    for (uint32_t kind = 0; kind < CUPTI_KIND_LIMIT && !open.at; kind++)
        needed |= kinds[kind].on;
    pthread_mutex_unlock(&lock);
    if (needed)
        (void)make_room(0);
}

void sharing_records_flush(void) {
    pthread_mutex_lock(&lock);
    const struct buffer mine = open;
    open = (struct buffer){NULL, 0, 0};
    pthread_mutex_unlock(&lock);
    complete_buffer(mine);
    sharing_records_open();
}

static void give_record(const uint8_t *record, size_t bytes) {
    for (int attempt = 0; attempt < 3; attempt++) {
        pthread_mutex_lock(&lock);
        const bool fits = open.at && open.size - open.used >= bytes;
        if (fits) {
            memcpy(open.at + open.used, record, bytes);
            open.used += bytes;
        }
        pthread_mutex_unlock(&lock);
        if (fits)
            return;
        if (!make_room(bytes))
            break;
    }
    atomic_fetch_add(&dropped, 1);
}

void sharing_buffer(uint8_t *buffer, size_t valid) {
    struct pair ends[2];
    void *next = NULL;
    compare_clocks();
    pthread_mutex_lock(&lock);
    ends[0] = older;
    ends[1] = newer;
    pthread_mutex_unlock(&lock);
    if (!valid || cupti.ActivityGetNextRecord(buffer, valid, &next) != CUPTI_OK)
        return;
    for (uint8_t *record = next; record;) {
        const int result = cupti.ActivityGetNextRecord(buffer, valid, &next);
        uint8_t *const end = result == CUPTI_OK && (uint8_t *)next > record ? next : buffer + valid;
        const size_t size = (size_t)(end - record);
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        pthread_mutex_lock(&lock);
        const bool wants = is_wanted(record, size, kind);
        pthread_mutex_unlock(&lock);
        if (wants) {
            adapt_record(kind, record, size, ends);
            give_record(record, size);
        }
        record = result == CUPTI_OK && end == next ? next : NULL;
    }
}
