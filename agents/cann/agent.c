// SPDX-License-Identifier: Apache-2.0
// The way in, what is asked of MSPTI, its buffers, and when it is flushed. Rules: agent.h.
#include "agent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "agentkit/buffer_pool.h"
#include "agentkit/control.h"
#include "agentkit/reader.h"
#include "agentkit/stacks.h"
#include "preload/preload.h"

enum {
    BUFFERS = 64,
    EXTRA_MOST = 64,
    FLUSH_MS = 100,
    STACKS_MS = 20,
    LAST_PASS_MS = 5000,
    CORRELATIONS_LOG2 = 40,
    CORRELATION_BIT = 42
};

struct mspti mspti;
static struct buffer_pool pool;

// MSPTI's times are of CLOCK_REALTIME, unless the program gave it another clock.
static bool read_clock(uint64_t *time) {
    struct timespec now;
    if (mspti.GetTimestamp)
        return mspti.GetTimestamp(time) == MSPTI_OK && *time;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return true;
}
struct foreign_clock mspti_clock = {.read = read_clock, .comparing = ATOMIC_FLAG_INIT};

static void begin(void) {
    reader_take_correlations(CORRELATIONS_LOG2, CORRELATION_BIT);
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {
    .api = AGENT_API, .begin = begin, .not_in_children = true, .sums = AGENT_SUMS_OF_RECORDS};

// ---- buffers

static void request_buffer(uint8_t **buffer, size_t *size, size_t *records) {
    *records = 0; // as many as fit
    *buffer = buffer_pool_take(&pool, size);
}

static void complete_buffer(uint8_t *buffer, size_t size, size_t valid) {
    uint32_t place;
    (void)size;
    if (!buffer_pool_find(&pool, buffer, &place))
        return;
    const size_t bytes = buffer_pool_bytes(&pool, place);
    if (agent_recording())
        records_read(buffer, valid < bytes ? valid : bytes);
    buffer_pool_give_back(&pool, place);
}

static void count_dropped(void) {
    size_t dropped = 0;
    if (mspti.ActivityGetNumDroppedRecords &&
        mspti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == MSPTI_OK && dropped)
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, dropped);
}

// ---- while it runs

static void flush(void) {
    (void)foreign_clock_compare(&mspti_clock);
    (void)mspti.ActivityFlushAll(1);
    count_dropped();
}

static void switch_off(void) {
    for (int kind = 1; kind < MSPTI_KIND_LIMIT; kind++)
        (void)mspti.ActivityDisable(kind);
}

static void last_pass(void) {
    flush();
    records_end();
    foreign_clock_tell_error(&mspti_clock, AGENT_API);
}

static void control_start(void) {
    static struct agent_control_work work = {.flush = flush,
                                             .over = switch_off,
                                             .last_pass = last_pass,
                                             .flush_ms = FLUSH_MS,
                                             .last_pass_ms = LAST_PASS_MS};
    work.period_ms = stacks_on ? STACKS_MS : FLUSH_MS;
    (void)agent_control_start(&work, agent.channel);
}

// ---- starting

static void called(void *context, int domain, uint32_t id, const struct mspti_callback_data *data) {
    (void)context;
    if (!data || data->site != MSPTI_ENTER || domain != MSPTI_DOMAIN_RUNTIME || id < MSPTI_LAUNCH_FIRST ||
        id > MSPTI_LAUNCH_LAST || !agent_recording() || !agent_on())
        return;
    const int64_t before = clock_trace_now();
    const uint32_t stack = stacks_capture();
    // The middle of the capture is farthest from the ends of the call: MSPTI's times have the error of its clock.
    if (stack)
        stacks_here_note(stack, before + (clock_trace_now() - before) / 2);
}

static bool find_functions(void *library) {
    bool all = true;
#define FIND(name, ...)                                                                                      \
    *(void **)&mspti.name = dlsym(library, "mspti" #name);                                                   \
    all = all && mspti.name;
    MSPTI_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, ...) *(void **)&mspti.name = dlsym(library, "mspti" #name);
    MSPTI_LATER_FUNCTIONS(FIND)
#undef FIND
    mspti.simulated = dlsym(library, "tracesmith_simulated") != NULL;
    if (!mspti.GetVersion || mspti.GetVersion(&mspti.version) != MSPTI_OK)
        mspti.version = 0;
    return all;
}

static bool enable(void) {
    static const struct {
        enum mspti_kind kind;
        const char *name;
    } kinds[] = {
#define KIND(NAME, number, type, bytes) {MSPTI_##NAME, #NAME},
        MSPTI_KINDS(KIND)
#undef KIND
    };
    bool kernels = false, collectives = false;
    for (size_t i = sizeof kinds / sizeof *kinds; i > 0; i--) {
        const enum mspti_kind kind = kinds[i - 1].kind;
        // Both have the same operations: HCCL is the older kind, so it comes after COMMUNICATION here.
        if (kind == MSPTI_HCCL && collectives)
            continue;
        const bool on = mspti.ActivityEnable((int)kind) == MSPTI_OK;
        kernels |= on && kind == MSPTI_KERNEL;
        collectives |= on && kind == MSPTI_COMMUNICATION;
        if (!on)
            agent_not_recorded(kinds[i - 1].name);
    }
    return kernels;
}

static void describe(void) {
    char text[64] = "MSPTI of an unknown version";
    if (mspti.version)
        snprintf(text, sizeof text, "MSPTI %u.%u.%u", mspti.version / 10000, mspti.version / 100 % 100,
                 mspti.version % 100);
    channel_attribute(agent.channel, "cann.mspti", text);
    if (mspti.simulated)
        channel_attribute(agent.channel, "simulated",
                          "cann: the runtime and MSPTI were mock libraries of the tests");
}

static void start(void) {
    void *library = dlopen("libmspti.so", RTLD_NOW | RTLD_LOCAL);
    if (!agent_attach(&spec))
        return;
    if (!library || !find_functions(library)) {
        agent_untraced(
            "CANN work is not recorded: libmspti.so was not found, or is incomplete; it comes with the CANN "
            "toolkit. Source the toolkit's set_env.sh");
        return;
    }
    describe();
    buffer_pool_extend(&pool, EXTRA_MOST, CANN_BUFFER_BYTES);
    if (!records_init() || !stacks_here_init() || !buffer_pool_make(&pool, BUFFERS, CANN_BUFFER_BYTES)) {
        agent_untraced("CANN work is not recorded: out of memory");
        return;
    }
    const int result = mspti.Subscribe(&mspti.subscriber, called, NULL);
    if (result != MSPTI_OK) {
        agent_untraced(
            "CANN work is not recorded: %s",
            result == MSPTI_MULTIPLE_SUBSCRIBERS
                ? "another tool in the process uses MSPTI (PyTorch's monitor?), which has one user; run "
                  "without it"
                : "MSPTI refused to be subscribed to");
        return;
    }
    (void)foreign_clock_compare(&mspti_clock);
    if (mspti.ActivityRegisterCallbacks(request_buffer, complete_buffer) != MSPTI_OK || !enable()) {
        agent_untraced("CANN work is not recorded: MSPTI refused to record kernels");
        return;
    }
    for (uint32_t id = MSPTI_LAUNCH_FIRST; stacks_on && id <= MSPTI_LAUNCH_LAST; id++)
        (void)mspti.EnableCallback(1, mspti.subscriber, MSPTI_DOMAIN_RUNTIME, id);
    stacks_refresh();
    control_start();
}

__attribute__((constructor)) static void wait_for_runtime(void) {
    preload_wait("libascendcl.so", start);
}
