// SPDX-License-Identifier: Apache-2.0
// The way in, what is asked of the SDK, and when its buffers are flushed. Rules: agent.h.
//
// Two contexts: one, always active, for names of kernels and for streams; one for all else, active while recording is on. A
// dispatch that began while it was active has its record although it ends later: the SDK notes the contexts at the launch. The SDK
// numbers a stream when it is made, for those that listen then: a call on a stream without a number ends the program in SDK 1.0, and
// hangs in early builds of 1.1 (hip/stream.cpp, get_stream_id; rocm-systems pull requests 343 and 1142).
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "agentkit/control.h"
#include "agentkit/reader.h"
#include "agentkit/stacks.h"
#include "wire/agent_options.h"

enum {
    BUFFER_BYTES = 1 << 20,
    FLUSH_MS = 100,
    STACKS_MS = 20,
    LAST_PASS_MS = 5000,
    CORRELATIONS_LOG2 = 40,
    CORRELATION_BIT = 41
};

struct foreign_clock sdk_clock;

static struct sdk_id always, context, buffer;
static uint32_t version;
static atomic_bool ready;  // the contexts can be started
static atomic_bool active; // the second one is
static atomic_bool gone;   // the SDK ends

static bool option(const char *key) {
    return agent_option(AGENT_API, key) != NULL;
}

// ---- attaching

static bool read_clock(uint64_t *time) {
    return sdk.get_timestamp(time) == SDK_SUCCESS;
}

static void begin(void) {
    reader_take_correlations(CORRELATIONS_LOG2, CORRELATION_BIT);
    (void)stacks_start(agent.channel);
}

// What is still in flight will not be seen any more. What the SDK dropped is counted as that.
static void end(void) {
    const uint64_t open = launches_open(), dropped = records_dropped();
    if (open > dropped)
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, open - dropped);
    channel_ended(agent.channel, LAUNCH_TABLE_LIST, open);
}

static const struct agent_spec spec = {
    .api = AGENT_API, .begin = begin, .end = end, .not_in_children = true, .sums = AGENT_SUMS_OF_RECORDS};

// ---- what is asked of the SDK

static void call_entered(const struct sdk_callback_record *record) {
    if (sdk_callback_phase(record) == SDK_PHASE_ENTER && agent_on())
        launches_call(record, stacks_capture());
}

static void copy_entered(const struct sdk_callback_record *record) {
    if (sdk_callback_phase(record) == SDK_PHASE_ENTER && agent_on())
        launches_call(record, 0);
}

static const struct service {
    enum sdk_callback_kind kind;
    void (*call)(const struct sdk_callback_record *record);
    const char *name;
    struct sdk_id *context;
} services[] = {{SDK_CALLBACK_CODE_OBJECT, names_kernel, "names of kernels", &always},
                {SDK_CALLBACK_STREAM, launches_stream, "streams", &always},
                {SDK_CALLBACK_DISPATCH, launches_dispatch, "callbacks of dispatches", &context},
                {SDK_CALLBACK_COPY, copy_entered, "callbacks of copies", &context},
                {SDK_CALLBACK_MARKER, markers_call, "roctx", &context},
                {SDK_CALLBACK_HIP, call_entered, "callbacks of calls", &context}};

// Of events, only the call of HIP says in which stream they are. In SDK 1.0, hipStreamPerThread and hipStreamLegacy have no number.
static bool is_wanted(enum sdk_callback_kind kind) {
    return kind == SDK_CALLBACK_HIP      ? stacks_on || option("events")
           : kind == SDK_CALLBACK_STREAM ? version >= SDK_VERSION_STREAMS || option("streams")
                                         : true;
}

static void called_back(struct sdk_callback_record record, void *word, void *service) {
    (void)word;
    if (agent_recording())
        ((const struct service *)service)->call(&record);
}

// Kinds that are recorded only if an option asks for them.
static const char *const kind_options[SDK_KIND_COUNT] = {
    [SDK_KIND_HSA_CORE] = "hsa",         [SDK_KIND_HSA_AMD] = "hsa",       [SDK_KIND_HSA_IMAGE] = "hsa",
    [SDK_KIND_HSA_FINALIZE] = "hsa",     [SDK_KIND_EVENT] = "events",      [SDK_KIND_GRAPH] = "graphs",
    [SDK_KIND_MIGRATION] = "migrations", [SDK_KIND_DROPPED] = "migrations"};

static enum sdk_kind kind_named(const char *name, size_t length) {
    static const char *const names[] = {"",
#define NAME(NAME, number, name) name,
                                        SDK_KIND_TABLE(NAME)
#undef NAME
    };
    for (int kind = 1; kind < SDK_KIND_COUNT; kind++)
        if (strlen(names[kind]) == length && memcmp(names[kind], name, length) == 0)
            return (enum sdk_kind)kind;
    return SDK_KIND_UNKNOWN;
}

static void ask_for_buffers(void) {
    for (int number = 1; number < SDK_KINDS_MAX; number++) {
        const char *name = NULL;
        uint64_t length = 0;
        if (sdk.query_buffer_tracing_kind_name(number, &name, &length) != SDK_SUCCESS || !name)
            continue;
        const enum sdk_kind kind = kind_named(name, length ? (size_t)length : strlen(name));
        if (kind == SDK_KIND_UNKNOWN || (kind_options[kind] && !option(kind_options[kind])))
            continue;
        records_kind((uint32_t)number, kind);
        if (sdk.configure_buffer_tracing_service(context, number, NULL, 0, buffer) != SDK_SUCCESS)
            agent_not_recorded(name);
    }
}

static void ask_for_callbacks(void) {
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        const struct service *service = &services[i];
        const bool wanted = is_wanted(service->kind);
        if ((!wanted && service->kind == SDK_CALLBACK_STREAM) ||
            (wanted &&
             sdk.configure_callback_tracing_service(*service->context, (int)service->kind, NULL, 0,
                                                    called_back, (void *)(uintptr_t)service) != SDK_SUCCESS))
            agent_not_recorded(service->name);
    }
}

// Buffers are delivered on a thread that the agent has to itself, if the SDK can do that.
static void ask_for_thread(void) {
    struct sdk_id thread = {0};
    if (sdk.create_callback_thread && sdk.assign_callback_thread &&
        sdk.create_callback_thread(&thread) == SDK_SUCCESS)
        (void)sdk.assign_callback_thread(buffer, thread);
}

static bool ask_for_services(void) {
    if (sdk.create_context(&always) != SDK_SUCCESS || sdk.create_context(&context) != SDK_SUCCESS ||
        sdk.create_buffer(context, BUFFER_BYTES, BUFFER_BYTES / 2, SDK_BUFFER_LOSSLESS, records_buffer, NULL,
                          &buffer) != SDK_SUCCESS)
        return false;
    ask_for_buffers();
    ask_for_callbacks();
    ask_for_thread();
    return sdk.start_context(always) == SDK_SUCCESS;
}

// ---- while it runs

// Recording is switched on and off by the context.
static void set_active(bool on) {
    if (atomic_load(&gone) || atomic_exchange(&active, on) == on)
        return;
    (void)(on ? sdk.start_context(context) : sdk.stop_context(context));
}

// The process itself can switch recording off a moment before its channel is. Until the control thread has seen that, or the process
// switches it on again, `held_off` keeps that thread from switching it on. Both are read and acted upon under the lock.
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;
static bool held_off;

static void follow_channel(void) {
    pthread_mutex_lock(&switching);
    const bool on = channel_live(agent.channel) && channel_armed(agent.channel);
    held_off &= on;
    set_active(on && !held_off);
    pthread_mutex_unlock(&switching);
}

// None is under way when the SDK ends (finalize): it destroys the thread that a flush waits for, and a flush aborts the program then. Nor
// in a forked child: where the parent was in one, the buffer is locked there for ever.
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;

static void flush(void) {
    if (!agent_recording())
        return;
    pthread_mutex_lock(&flushing);
    if (!atomic_load(&gone))
        (void)sdk.flush_buffer(buffer);
    pthread_mutex_unlock(&flushing);
}

static bool periodic_pass(void) {
    follow_channel();
    return true;
}

static void compare_and_flush(void) {
    (void)foreign_clock_compare(&sdk_clock);
    flush();
}

static void last_pass(void) {
    flush();
    foreign_clock_tell_error(&sdk_clock, AGENT_API);
}

static void control_start(void) {
    static const struct agent_control_work work = {.look = periodic_pass,
                                                   .flush = compare_and_flush,
                                                   .over = follow_channel,
                                                   .last_pass = last_pass,
                                                   .period_ms = STACKS_MS,
                                                   .flush_ms = FLUSH_MS,
                                                   .last_pass_ms = LAST_PASS_MS};
    (void)agent_control_start(&work, agent.channel);
}

// The process itself switched recording; what has ended is recorded when this returns.
AGENT_EXPORT void tracesmith_agent_switched(int on);
AGENT_EXPORT void tracesmith_agent_switched(int on) {
    if (!agent_recording() || !atomic_load(&ready))
        return;
    pthread_mutex_lock(&switching);
    held_off = !on;
    set_active(on != 0);
    pthread_mutex_unlock(&switching);
    flush();
}

// ---- called by the SDK

static void describe(void) {
    uint32_t major = 0, minor = 0, patch = 0;
    char text[64];
    if (sdk.get_version(&major, &minor, &patch) == SDK_SUCCESS) {
        snprintf(text, sizeof text, "rocprofiler-sdk %u.%u.%u", major, minor, patch);
        channel_attribute(agent.channel, "rocm.sdk", text);
    }
    if (sdk.simulated)
        channel_attribute(agent.channel, "simulated",
                          "rocm: rocprofiler-sdk was a mock library of the tests");
}

static int initialize(void (*finalize)(struct sdk_client), void *data) {
    (void)finalize, (void)data;
    sdk_clock.read = read_clock;
    if (!launches_init() || !names_init()) {
        agent_untraced("ROCm work is not recorded: no memory");
        return 0;
    }
    records_init();
    markers_init();
    tracks_start();
    (void)foreign_clock_compare(&sdk_clock);
    // Threads that the SDK makes now have this mask: the program's handlers run in the program's threads only.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool asked = ask_for_services();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!asked) {
        agent_untraced("ROCm work is not recorded: rocprofiler-sdk refused a context or a buffer");
        return 0;
    }
    describe();
    stacks_refresh(); // the SDK is on every stack
    // Not by follow_channel: the SDK may hold a lock now that a thread in it waits for.
    set_active(channel_armed(agent.channel));
    atomic_store(&ready, true);
    control_start();
    return 0;
}

// The SDK is still whole, and has waited for the dispatches.
static void finalize(void *data) {
    (void)data;
    flush();
    atomic_store(&gone, true);
    flush(); // waits for one that was under way
}

AGENT_EXPORT sdk_configure_function rocprofiler_configure;
AGENT_EXPORT struct sdk_tool *rocprofiler_configure(uint32_t number, const char *runtime, uint32_t priority,
                                                    struct sdk_client *client) {
    static struct sdk_tool tool = {.size = sizeof tool, .initialize = initialize, .finalize = finalize};
    char why[400];
    version = number;
    (void)runtime, (void)priority; // of a tool that is not the first, nothing is different
    if (!agent_attach(&spec))
        return NULL;
    if (version < SDK_VERSION_LEAST) {
        agent_untraced("ROCm work is not recorded: rocprofiler-sdk has version %u.%u; version 1.0 (ROCm 7) "
                       "or newer is needed",
                       version / 10000, version / 100 % 100);
        return NULL;
    }
    if (!library_load(true, why, sizeof why)) {
        agent_untraced("ROCm work is not recorded: %s", why);
        return NULL;
    }
    if (client)
        client->name = "TraceSmith";
    return &tool;
}
