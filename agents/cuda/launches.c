// SPDX-License-Identifier: Apache-2.0
// Notes launches and waits in CUPTI's callbacks, by correlation id (agentkit/launch_table.h). Rules: agent.h.
#include "launches.h"

#include <string.h>
#include <unistd.h>

#include "agentkit/launch_table.h"
#include "buffers.h"
#include "kinds.h"
#include "library.h"
#include "sharing.h"
#include "throttling.h"
#include "unified_memory.h"
#include "windows.h"
#include "wire/memory.h"

enum { NAMES = 2048 };

// Of a note's value, the rest of which is the track: a call of the driver within a launch of the runtime, where CUPTI gives the two
// different ids; the record may have either.
#define INNER (UINT32_C(1) << 30)

static struct launch_table table;
static _Atomic uint32_t *outers; // of INNER: the id of the call of the runtime
static _Atomic uint32_t newest;

// From CALL_MANAGED on, there is more to do than to note the call.
enum call_class {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_WAIT,
    CALL_NOTED,
    CALL_MANAGED, // noted too
    CALL_RANGE_BEGINS,
    CALL_RANGE_ENDS,
    CALL_RESET
};
static uint8_t classes[2][NAMES]; // by domain - 1

// The launch or wait that the thread is in: a call of the runtime makes calls of the driver.
static __thread struct {
    uint32_t correlation;
    uint32_t depth;
    uint32_t track; // of the thread, asked for at its first launch
} here __attribute__((tls_model("initial-exec")));

bool launches_init(void) {
    outers = memory_take(LAUNCH_TABLE_PLACES * sizeof *outers);
    return launch_table_init(&table) && outers;
}

// ---- which calls

static bool is_extra_launch(const char *name) {
    for (vendor_list launch = vendor.launches; launch && *launch; launch++)
        if (strcmp(*launch, name) == 0)
            return true;
    return false;
}

// `name` is as CUDA has it, `own` as the vendor has it.
static enum call_class classify(const char *name, const char *own) {
    static const char *const launches[] = {CUDA_LAUNCH_CALLS(CUDA_CALL_NAME)};
    static const char *const waits[] = {CUDA_WAIT_CALLS(CUDA_CALL_NAME)};
    // Who records an event is of use where the times of events are recorded.
    static const char *const events[] = {"cuEventRecord",
                                         "cuEventRecordWithFlags",
                                         "cudaEventRecord",
                                         "cudaEventRecordWithFlags",
                                         "cuCtxRecordEvent",
                                         "cuGreenCtxRecordEvent",
                                         "cudaExecutionCtxRecordEvent"};
    // What a program with managed memory calls; a pool of managed memory (CUDA 13.0) is found by its type.
    static const char *const managed[] = {
        "cuMemAllocManaged", "cudaMallocManaged", "cuMemPrefetchAsync",     "cudaMemPrefetchAsync",
        "cuMemAdvise",       "cudaMemAdvise",     "cuMemGetDefaultMemPool", "cudaMemGetDefaultMemPool",
        "cuMemGetMemPool",   "cudaMemGetMemPool"};
    static const char *const resets[] = {"cuDevicePrimaryCtxReset", "cudaDeviceReset"};
    // Who allocates, copies and sets is asked for only where stacks are wanted.
    static const char *const noted[] = {"cuMemAlloc",    "cudaMalloc",     "cuMemcpy",     "cudaMemcpy",
                                        "cuMemsetD",     "cudaMemset",     "cuModuleLoad", "cuLibraryLoad",
                                        "cuMemCreate",   "cuMemFree",      "cudaFree",     "cuMemHostAlloc",
                                        "cudaHostAlloc", "cuMemAllocAsync"};
    if (CUDA_CALL_IN(name, launches) || is_extra_launch(own))
        return CALL_LAUNCH;
    if (CUDA_CALL_IN(name, waits) || (cuda_option(CUDA_OPTION_EVENTS) && CUDA_CALL_IN(name, events)))
        return CALL_WAIT;
    if (CUDA_CALL_IN(name, managed))
        return CALL_MANAGED;
    if (CUDA_CALL_IN(name, resets))
        return CALL_RESET;
    if (cuda_option(CUDA_OPTION_RANGE) && strncmp(name, "cuProfilerSt", strlen("cuProfilerSt")) == 0)
        return strncmp(name, "cuProfilerStart", cuda_call_length(name)) == 0 ? CALL_RANGE_BEGINS
                                                                             : CALL_RANGE_ENDS;
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++)
        if (strncmp(name, noted[i], strlen(noted[i])) == 0)
            return CALL_NOTED;
    return CALL_OTHER;
}

// By name, so that what a newer CUDA numbers otherwise, or adds, is found too.
bool launches_subscribe(int *result) {
    for (int domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++) {
        for (uint32_t id = 1; id < NAMES; id++) {
            const char *name = NULL;
            char text[128];
            if (cupti.GetCallbackName(domain, id, &name) != CUPTI_OK || !name)
                continue;
            classes[domain - 1][id] = (uint8_t)classify(vendor_cuda_name(domain, name, text), name);
            if (classes[domain - 1][id] == CALL_OTHER ||
                (classes[domain - 1][id] == CALL_NOTED && !stacks_on))
                continue;
            *result = cupti.EnableCallback(1, cupti.subscriber, domain, id);
            sharing_own_call(domain, id);
            if (*result != CUPTI_OK)
                return false;
        }
    }
    return true;
}

bool launches_matter(int domain, uint32_t id) {
    return id < NAMES && classes[domain - 1][id] != CALL_OTHER && classes[domain - 1][id] < CALL_RANGE_BEGINS;
}

// ---- at the call

static void enter(enum call_class class, uint32_t correlation, uint32_t stack) {
    if (!here.track) {
        here.track = channel_thread_track(agent.channel);
        sharing_thread((uint32_t)gettid());
    }
    if (!correlation || !here.track)
        return;
    launch_table_note(&table, correlation,
                      &(struct launch_note){(class == CALL_LAUNCH ? LAUNCH_OPEN : 0) | here.track, stack,
                                            clock_trace_now()});
    here.correlation = correlation;
    atomic_store_explicit(&newest, correlation, memory_order_relaxed);
}

static void enter_inner(uint32_t correlation) {
    struct launch_note outer;
    (void)launch_table_find(&table, here.correlation, &outer);
    atomic_store_explicit(&outers[correlation % LAUNCH_TABLE_PLACES], here.correlation, memory_order_relaxed);
    launch_table_note(&table, correlation,
                      &(struct launch_note){INNER | here.track, outer.stack, outer.time});
}

// As taken where the call is: this is inlined up to launches_call.
__attribute__((always_inline)) static inline uint32_t stack_of_call(uint32_t level) {
    if (level < THROTTLING_STACKS)
        return stacks_capture();
    if (stacks_on)
        throttling_no_stack();
    return 0;
}

static void enter_within(enum call_class class, uint32_t correlation) {
    if (class == CALL_LAUNCH && here.correlation && here.correlation != correlation)
        enter_inner(correlation);
}

static void leave(enum call_class class, const struct cupti_callback_data *data) {
    struct launch launch;
    uint64_t ended = 0;
    here.depth -= here.depth > 0;
    if (here.depth > 0 || here.correlation != data->correlation)
        return;
    here.correlation = 0;
    // A launch that failed has no record of the device.
    if (class == CALL_LAUNCH && data->result && *data->result != 0 &&
        launches_find(data->correlation, LAUNCH_RECORD, &launch, &ended) && ended)
        channel_ended(agent.channel, LAUNCH_TABLE_LIST, ended);
}

// False: the call itself is not noted.
static bool special_call(enum call_class class, bool entered) {
    if (class == CALL_MANAGED) {
        if (entered)
            unified_memory_used();
        return stacks_on;
    }
    // A reset destroys the context with the records that CUPTI has not handed over (NVIDIA's sample cupti_trace_injection
    // flushes here too). This asks for finished records only and waits for nothing.
    if (class == CALL_RESET) {
        if (entered && !atomic_load(&library_gone))
            buffers_flush(0);
        return false;
    }
    // The call itself is no part of the range.
    if (entered == (class == CALL_RANGE_ENDS))
        windows_switch(class == CALL_RANGE_BEGINS);
    return false;
}

void launches_call(int domain, uint32_t id, const struct cupti_callback_data *data) {
    if (domain < CUPTI_DOMAIN_DRIVER || domain > CUPTI_DOMAIN_RUNTIME || id >= NAMES || !agent_recording())
        return;
    const enum call_class class = (enum call_class)classes[domain - 1][id];
    if (class == CALL_OTHER)
        return;
    if (class >= CALL_MANAGED && !special_call(class, data->site == 0))
        return;
    const uint32_t level = agent_overhead_level();
    const uint64_t entered = agent_overhead_entered();
    if (data->site != 0)
        leave(class, data);
    else if (here.depth++ > 0)
        enter_within(class, data->correlation);
    else if (level < THROTTLING_NOTES && channel_armed(agent.channel) && windows_open())
        enter(class, data->correlation, stack_of_call(level));
    if (entered)
        agent_overhead_measured(agent_tick() - entered);
}

void launches_captured(void) {
    struct launch launch;
    uint64_t ended = 0;
    if (here.correlation && launches_find(here.correlation, LAUNCH_RECORD, &launch, &ended) && ended)
        channel_ended(agent.channel, LAUNCH_TABLE_LIST, ended);
}

// ---- at the record

bool launches_find(uint32_t correlation, enum launch_use use, struct launch *out, uint64_t *ended) {
    struct launch_note note;
    struct launch of_outer;
    const bool known = launch_table_find(&table, correlation, &note);
    *out = (struct launch){.track = note.value & (INNER - 1), .stack = note.stack, .time = note.time};
    const uint32_t outer =
        note.value & INNER
            ? atomic_load_explicit(&outers[correlation % LAUNCH_TABLE_PLACES], memory_order_relaxed)
            : 0;
    if (known && use == LAUNCH_RECORD && launch_table_close(&table, correlation))
        ++*ended;
    else if (use == LAUNCH_RECORD && outer)
        (void)launches_find(outer, use, &of_outer, ended);
    return known;
}

uint32_t launches_newest(void) {
    return atomic_load_explicit(&newest, memory_order_relaxed);
}

uint64_t launches_made(void) {
    return atomic_load_explicit(&table.begun, memory_order_relaxed);
}

uint64_t launches_open(void) {
    return launch_table_open(&table);
}
