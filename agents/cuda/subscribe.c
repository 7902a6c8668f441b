// SPDX-License-Identifier: Apache-2.0
// Subscribes with CUPTI and enables the kinds of records; the agent calls it once, when it attaches. Rules: agent.h.
//
// CUPTI has one subscriber per process, until 13.3 update 1: from then on those that use the second interface and allow it can
// share. So that one is used where it is there, and a tool that came before us keeps what it has.
//
// Kernels are recorded as CONCURRENT_KERNEL, which does not serialize them. Graphs are recorded node by node, unless the
// user wants them whole. Kinds for kernels are never enabled alone: with graphs, a CUPTI that has only those enabled
// does not recycle its memory and in the end gives no times.
#include "subscribe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentkit/control.h"
#include "agentkit/stacks.h"
#include "buffers.h"
#include "graph_nodes.h"
#include "holder.h"
#include "kinds.h"
#include "launches.h"
#include "library.h"
#include "metrics.h"
#include "pc_sampling.h"
#include "records.h"
#include "shapes.h"
#include "sharing.h"
#include "tracks.h"
#include "unified_memory.h"

// What fails that is not `needed` is left out.
static const struct {
    uint32_t kind, since;
    bool needed;
} kinds[] = {
#define KIND(name, number, since, needed) {CUPTI_KIND_##name, since, needed},
    CUDA_ENABLED_KINDS(KIND)
#undef KIND
};
#define KIND(name, number, since, needed) _Static_assert(CUPTI_KIND_##name == (number), #name);
CUDA_ENABLED_KINDS(KIND)
#undef KIND
enum { KINDS = sizeof kinds / sizeof *kinds };

// Within cuInit, where we are called, some of it is too early. What was refused then is asked for again when the program
// has made its first context.
static _Atomic uint32_t refused_kinds; // a bit per place in `kinds`
static void enable_refused(void);

// ---- what CUPTI calls

static uint32_t stream_of(void *context, void *stream) {
    uint32_t id = 0;
    return cupti.GetStreamIdEx(context, stream, 0, &id) == CUPTI_OK ? id : 0;
}

static void record_object(tsmith_operation operation, uint64_t number, uint64_t parent, uint64_t bytes) {
    struct ring *ring = channel_armed(agent.channel) ? channel_ring(agent.channel) : NULL;
    TRACK_RECORD_WRITE(ring, object, ring ? ring->owner->thread_track : 0,
                       .start = (uint64_t)clock_trace_now(), .operation = operation, .object = number,
                       .parent = parent, .bytes = bytes);
}

// The driver may have registered exit handlers of its own after ours, within cuInit.
static void exit_first(void) {
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&done))
        agent_control_exit_first();
}

static void device_in_use(void *context) {
    uint32_t device;
    if (cupti.GetDeviceId(context, &device) != CUPTI_OK)
        return;
    unified_memory_context(device);
    metrics_device(device);
}

// Once a context or stream is made, and before it goes.
static void on_resource(uint32_t id, const struct cupti_resource_data *data) {
    const struct cupti_module_data *module = data->descriptor;
    uint32_t context = 0;
    if (cupti.GetContextId(data->context, &context) != CUPTI_OK)
        context = 0;
    switch (id) {
    case CUPTI_RESOURCE_CONTEXT_CREATED:
        foreign_clock_compare(&cupti_clock); // CUPTI's clock may have changed meanwhile
        sharing_look();
        exit_first();
        enable_refused();
        record_object(TSMITH_OPERATION_CREATE_CONTEXT, context, 0, 0);
        pc_sampling_context(data->context);
        device_in_use(data->context);
        break;
    case CUPTI_RESOURCE_CONTEXT_DESTROY:
        pc_sampling_context_ends(data->context);
        record_object(TSMITH_OPERATION_DESTROY_CONTEXT, context, 0, 0);
        break;
    case CUPTI_RESOURCE_STREAM_CREATED:
        record_object(TSMITH_OPERATION_CREATE_QUEUE, stream_of(data->context, data->stream), context, 0);
        break;
    case CUPTI_RESOURCE_STREAM_DESTROY:
        record_object(TSMITH_OPERATION_DESTROY_QUEUE, stream_of(data->context, data->stream), context, 0);
        break;
    case CUPTI_RESOURCE_GRAPH_NODE_CREATED:
        launches_captured();
        graph_nodes_made(data->descriptor);
        break;
    case CUPTI_RESOURCE_GRAPH_NODE_CLONED:
        graph_nodes_cloned(data->descriptor);
        break;
    case CUPTI_RESOURCE_MODULE_LOADED:
        record_object(TSMITH_OPERATION_CREATE_PROGRAM, module ? module->id : 0, context,
                      module ? module->bytes : 0);
        pc_sampling_module(module);
        break;
    case CUPTI_RESOURCE_MODULE_UNLOAD:
        pc_sampling_module_ends();
        buffers_flushed(); // the waiting records refer to its kernels
        record_object(TSMITH_OPERATION_DESTROY_PROGRAM, module ? module->id : 0, context,
                      module ? module->bytes : 0);
        records_names_changed();
        break;
    default:
        break;
    }
}

// What CUPTI reports and continues after: the first error and the first warning, and how many there were.
static struct report {
    _Atomic uint64_t count;
    atomic_bool written; // the text is
    char text[400];
} reports[CUPTI_STATE_WARNING + 1];

static void tell_report(uint32_t id, uint64_t count) {
    static const char *const keys[] = {
        [CUPTI_STATE_ERROR] = "notice.cuda-errors", [CUPTI_STATE_WARNING] = "cuda.cupti.warnings"};
    char text[512];
    snprintf(text, sizeof text, "%s reported %llu %s%s, the first: %s", vendor.interface,
             (unsigned long long)count, id == CUPTI_STATE_ERROR ? "error" : "warning", count > 1 ? "s" : "",
             reports[id].text);
    channel_attribute(agent.channel, keys[id], text);
}

// On any thread, also a worker of CUPTI's: nothing is asked of it but the name of the error.
static void note_report(uint32_t id, const struct cupti_state_data *data) {
    if (atomic_fetch_add(&reports[id].count, 1))
        return;
    snprintf(reports[id].text, sizeof reports[id].text, "%s (%d)%s%s", library_error(data->result),
             data->result, data->message ? ", " : "", data->message ? data->message : "");
    atomic_store(&reports[id].written, true);
    tell_report(id, 1);
}

void subscribe_tell_reports(void) {
    for (uint32_t id = CUPTI_STATE_ERROR; id <= CUPTI_STATE_WARNING; id++) {
        const uint64_t count = atomic_load(&reports[id].count);
        if (count > 1 && atomic_load(&reports[id].written))
            tell_report(id, count);
    }
}

static void on_state(uint32_t id, const struct cupti_state_data *data) {
    char text[512];
    if (id == CUPTI_STATE_ERROR || id == CUPTI_STATE_WARNING)
        note_report(id, data);
    if (id != CUPTI_STATE_FATAL_ERROR)
        return;
    snprintf(text, sizeof text,
             "%s stopped recording: %s%s%s; what was recorded before is in the trace (a newer version may "
             "help: set "
             "%s)",
             vendor.interface, library_error(data->result), data->message ? ", " : "",
             data->message ? data->message : "", vendor.variable);
    agent_notice(text);
    channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1);
    // CUPTI finalizes itself, and a later call would initialize it again.
    atomic_store(&library_gone, true);
    sharing_released();
}

static void callback(void *unused, int domain, uint32_t id, const void *data) {
    (void)unused;
    if (!data)
        return;
    if (atomic_load_explicit(&sharing_on, memory_order_relaxed))
        sharing_call(domain, id, data);
    if (!agent_recording())
        return;
    if (domain == CUPTI_DOMAIN_RESOURCE)
        on_resource(id, data);
    else if (domain == CUPTI_DOMAIN_STATE)
        on_state(id, data);
    else
        launches_call(domain, id, data);
}

// ---- whether it was ended

static bool can_tell_end;     // as CUPTI says at first that our callback is enabled
static uint32_t looks_at_end; // that saw it ended, one after the other

// The answer is undefined while another thread enables a callback.
static int ask_enabled(uint32_t *enabled) {
    *enabled = 0;
    return cupti.GetCallbackState ? cupti.GetCallbackState(enabled, cupti.subscriber, CUPTI_DOMAIN_RESOURCE,
                                                           CUPTI_RESOURCE_CONTEXT_CREATED)
                                  : CUPTI_NOT_SUPPORTED;
}

// A tool that finds CUPTI by dlsym can detach it from the process (cuptiFinalize: JAX at the end of its trace, jax-ml/jax#40260). It
// reports nothing then, and the next call initializes it anew, after which programs with graphs are known to crash
// (pytorch/pytorch#112507). So it is left alone as soon as that is seen.
static void look_for_end(void) {
    uint32_t enabled;
    if (!can_tell_end || atomic_load(&library_gone))
        return;
    const int result = ask_enabled(&enabled);
    const bool ended = (result == CUPTI_OK && !enabled) || result == CUPTI_INVALID_PARAMETER;
    looks_at_end = ended ? looks_at_end + 1 : 0;
    if (looks_at_end < 2)
        return;
    atomic_store(&library_gone, true);
    sharing_released();
    agent_untraced(
        "another tool in the program has ended %s (cuptiFinalize): what the program does from then on "
        "is not recorded; run without that tool",
        vendor.interface);
}

bool subscribe_usable(void) {
    return !atomic_load(&library_gone) && !looks_at_end;
}

void subscribe_look_last(void) {
    look_for_end();
    if (looks_at_end == 1)
        look_for_end();
}

// ---- subscribing

static int set_shared(enum cupti_attribute attribute, uint32_t value, size_t size) {
    uint8_t small = (uint8_t)value;
    return cupti.ActivitySetAttribute_v2(cupti.subscriber, (int)attribute, &size,
                                         size == sizeof small ? (void *)&small : &value);
}

// 13.3 itself may crash where several subscribers request records of the device at once (release notes of 13.3 update 1).
static bool may_share(void) {
    return cupti_has(CUPTI_13_3_UPDATE_1) && cupti.Subscribe_v2 && cupti.GetTimestamp_v2 &&
           cupti.ActivityRegisterCallbacks_v2 && cupti.ActivityEnable_v2 && cupti.ActivitySetAttribute_v2 &&
           cupti.ActivityGetNextRecord_v2;
}

static char holder[64];   // the holder of CUPTI, if known
static bool unsubscribed; // only the activity interface is used

int subscribe_take(void) {
    struct cupti_subscriber_params params = {.size = sizeof params,
                                             .name = "TraceSmith",
                                             .old_name = holder,
                                             .old_size = sizeof holder,
                                             .allow_multiple = 1};
    // A driver that is too old for sharing fails in different ways: at subscribing, also with the error for another
    // holder, or with the first request. A holder that there is holds the first interface as well. CUPTI serves
    // several subscribers of the second interface; a program's own profiler that uses the first one is served by us,
    // which takes the first one.
    if (may_share() && sharing_needed() && cupti.Subscribe(&cupti.subscriber, callback, NULL) == CUPTI_OK)
        return CUPTI_OK;
    if (may_share() && cupti.Subscribe_v2(&cupti.subscriber, callback, NULL, &params) == CUPTI_OK) {
        uint64_t time;
        cupti.shared = cupti.GetTimestamp_v2(cupti.subscriber, &time) == CUPTI_OK;
        if (cupti.shared)
            return CUPTI_OK;
        cupti.Unsubscribe(cupti.subscriber);
    }
    return cupti.Subscribe(&cupti.subscriber, callback, NULL);
}

int subscribe_kind(uint32_t kind) {
    const int result = cupti.shared ? cupti.ActivityEnable_v2(cupti.subscriber, (int)kind, NULL)
                                    : cupti.ActivityEnable((int)kind);
    if (result == CUPTI_OK)
        sharing_own_kind(kind);
    return result;
}

static int enable_callbacks(void) {
    static const struct {
        int domain;
        uint32_t first, last;
    } wanted[] = {
        {CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_RESOURCE_STREAM_DESTROY},
        {CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED, CUPTI_RESOURCE_MODULE_UNLOAD},
        {CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPH_NODE_CREATED, CUPTI_RESOURCE_GRAPH_NODE_CREATED},
        {CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR, CUPTI_STATE_WARNING}};
    int result = CUPTI_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        for (uint32_t id = wanted[i].first; id <= wanted[i].last; id++) {
            cupti.EnableCallback(1, cupti.subscriber, wanted[i].domain, id);
            sharing_own_call(wanted[i].domain, id);
        }
    if (stacks_on) {
        cupti.EnableCallback(1, cupti.subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPH_NODE_CLONED);
        sharing_own_call(CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPH_NODE_CLONED);
    }
    launches_subscribe(&result);
    return result;
}

static bool wants_graphs(void) {
    return cupti_has(CUPTI_11_6) && cuda_option(CUDA_OPTION_GRAPHS);
}

static int enable_graphs(void) {
    if (!wants_graphs())
        return CUPTI_OK;
    const int result = subscribe_kind(CUPTI_KIND_GRAPH_TRACE);
    if (result == CUPTI_OK)
        sharing_own_kind(CUPTI_KIND_DEVICE_GRAPH_TRACE); // see prepare
    return result;
}

// Calls that frameworks make many times per launch, and that neither launch, wait, nor move anything.
static bool is_idle_call(const char *name) {
    static const char *const idle[] = {
        "cudaGetDevice",  "cudaGetLastError",           "cudaPeekAtLastError", "cuCtxGetCurrent",
        "cuCtxGetDevice", "cuDevicePrimaryCtxGetState", "cuKernelGetAttribute"};
    return CUDA_CALL_IN(name, idle);
}

static int leave_out(int domain, uint32_t id, bool out) {
    const bool runtime = domain == CUPTI_DOMAIN_RUNTIME;
    int (*const one)(uint32_t, uint8_t) =
        runtime ? cupti.ActivityEnableRuntimeApi : cupti.ActivityEnableDriverApi;
    int (*const shared)(void *, uint32_t, uint8_t) =
        runtime ? cupti.ActivityEnableRuntimeApi_v2 : cupti.ActivityEnableDriverApi_v2;
    if (cupti.shared)
        return shared ? shared(cupti.subscriber, id, !out) : CUPTI_NOT_SUPPORTED;
    return one ? one(id, !out) : CUPTI_NOT_SUPPORTED;
}

void subscribe_leave_out_calls(bool out) {
    enum { CALLS = 2048 };
    char text[512] = "";
    size_t length = 0;
    for (int domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++)
        for (uint32_t id = 1; id < CALLS; id++) {
            const char *name = NULL;
            if (cupti.GetCallbackName(domain, id, &name) != CUPTI_OK || !name || !is_idle_call(name) ||
                leave_out(domain, id, out) != CUPTI_OK)
                continue;
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", name);
            length = length < sizeof text ? length : sizeof text - 1;
        }
    if (out && length)
        vendor_attribute("calls_left_out", text);
}

static void enable_refused(void) {
    const uint32_t refused = atomic_exchange(&refused_kinds, 0);
    for (size_t i = 0; i < KINDS; i++) {
        const int result = refused >> i & 1 ? subscribe_kind(kinds[i].kind) : CUPTI_OK;
        if (result == CUPTI_OK || !kinds[i].needed)
            continue;
        agent_untraced("kernels are not recorded: %s returned %s (%d)", vendor.interface,
                       library_error(result), result);
    }
    if (refused)
        subscribe_leave_out_calls(true); // a kind that is switched on has all calls
}

static int switch_on(int (*function)(uint8_t), enum cupti_attribute attribute) {
    return cupti.shared ? set_shared(attribute, 1, 1) : function ? function(1) : CUPTI_NOT_SUPPORTED;
}

static void enable_events(void) {
    if (cupti_has(CUPTI_12_8) && cuda_option(CUDA_OPTION_EVENTS) &&
        switch_on(cupti.ActivityEnableCudaEventDeviceTimestamps, CUPTI_ATTRIBUTE_EVENT_TIMESTAMPS) ==
            CUPTI_OK)
        subscribe_kind(CUPTI_KIND_CUDA_EVENT);
}

static void enable_switches(void) {
    char text[200];
    if (!cuda_option(CUDA_OPTION_SWITCHES))
        return;
    const int result =
        cupti_has(CUPTI_13_1) ? subscribe_kind(CUPTI_KIND_CONTEXT_SWITCH) : CUPTI_NOT_SUPPORTED;
    if (result == CUPTI_OK)
        return;
    snprintf(text, sizeof text, "switches between contexts are not recorded: CUPTI %u returned %s (%d)",
             cupti.version, library_error(result), result);
    channel_attribute(agent.channel, "notice.cuda-switches", text);
}

// When kernels were queued and submitted. CUPTI requires the setting before CUDA is initialized; it refuses if
// hardware events give the times of kernels.
static void enable_latency(void) {
    char text[300];
    if (!cuda_option(CUDA_OPTION_LATENCY))
        return;
    const int result = switch_on(cupti.ActivityEnableLatencyTimestamps, CUPTI_ATTRIBUTE_LATENCY_TIMESTAMPS);
    if (result == CUPTI_OK)
        return;
    snprintf(text, sizeof text,
             "the times at which kernels were queued and submitted are not recorded: CUPTI returned %s (%d); "
             "everything else is",
             library_error(result), result);
    channel_attribute(agent.channel, "notice.cuda-latency", text);
}

// Settings that must precede switching anything on.
static void prepare(void) {
    const int result = cupti.shared ? set_shared(CUPTI_ATTRIBUTE_THREAD_IDS, CUPTI_SYSTEM_THREAD_IDS, 4)
                       : cupti.SetThreadIdType ? cupti.SetThreadIdType(CUPTI_SYSTEM_THREAD_IDS)
                                               : CUPTI_NOT_SUPPORTED;
    cupti.system_threads = result == CUPTI_OK;
    if (cupti.shared && wants_graphs() && set_shared(CUPTI_ATTRIBUTE_GRAPHS_AS_A_WHOLE, 1, 1) != CUPTI_OK)
        channel_attribute(
            agent.channel, "notice.cuda-graphs",
            "graphs are recorded node by node, because another tool that shares CUPTI requires it");
    // Whole graphs that the device launches: CUPTI refuses to enable their kind, and adds it to that of the others if this was
    // requested before CUDA is initialized (cupti_activity.h of 13.5).
    if (wants_graphs() && cupti_has(CUPTI_12_8))
        switch_on(cupti.ActivityEnableDeviceGraph, CUPTI_ATTRIBUTE_DEVICE_GRAPHS);
    enable_latency();
}

// Where CUPTI does not zero buffers on the program's thread, they are zeroed once they were read.
static void zero_buffers(void) {
    uint8_t yes = 1;
    size_t size = sizeof yes;
    const int result = cupti.shared ? set_shared(CUPTI_ATTRIBUTE_ZEROED_BUFFERS, 1, sizeof yes)
                       : cupti.ActivitySetAttribute
                           ? cupti.ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED_BUFFERS, &size, &yes)
                           : CUPTI_NOT_SUPPORTED;
    if (result == CUPTI_OK)
        buffers_are_zeroed();
}

// The table of a vendor may name kinds that the form of its records is too old for.
static bool is_wanted(size_t kind) {
    return cupti_has(kinds[kind].since) && vendor.kinds >> kinds[kind].kind & 1;
}

static int enable_all(void) {
    unified_memory_init();
    prepare();
    zero_buffers();
    int result = cupti.shared ? cupti.ActivityRegisterCallbacks_v2(cupti.subscriber, buffers_wanted_v2,
                                                                   buffers_full_v2)
                              : cupti.ActivityRegisterCallbacks(buffers_wanted, buffers_full);
    for (size_t i = 0; i < KINDS && result == CUPTI_OK; i++) {
        if (!is_wanted(i))
            continue;
        const int enabled = subscribe_kind(kinds[i].kind);
        if (enabled == CUPTI_NOT_INITIALIZED)
            atomic_fetch_or(&refused_kinds, 1u << i);
        else if (kinds[i].needed)
            result = enabled;
    }
    if (result == CUPTI_OK)
        result = enable_graphs();
    if (result == CUPTI_OK)
        enable_events();
    if (result == CUPTI_OK)
        enable_switches();
    if (result == CUPTI_OK)
        subscribe_leave_out_calls(true);
    return result == CUPTI_OK && !unsubscribed ? enable_callbacks() : result;
}

// ---- what is in the way

static const char *advice_for_result(int result) {
    if (vendor.partial && result != CUPTI_MULTIPLE_SUBSCRIBERS)
        return "check that the driver works, and that the library is of its version";
    switch (result) {
    case CUPTI_MULTIPLE_SUBSCRIBERS:
        return vendor.partial
                   ? "another tool has it in this process, and keeps it; run without it"
                   : "another tool has CUPTI in this process (a profiler, or the program's own use of it), "
                     "and keeps it; run without it, or use CUDA 13.3 or newer, which allows both";
    case CUPTI_PRIVILEGES:
    case CUPTI_VIRTUALIZED_PRIVILEGES:
        return "this user may not profile; the administrator can allow it "
               "(NVreg_RestrictProfilingToAdminUsers=0), or give the container CAP_SYS_ADMIN";
    case CUPTI_VIRTUALIZED:
        return "this virtual GPU does not allow profiling; it is switched on in the hypervisor";
    case CUPTI_MIG:
        return "this MIG device cannot be profiled; use a whole GPU";
    case CUPTI_CONFIDENTIAL:
        return "confidential computing does not allow profiling; the administrator can switch the GPU to "
               "CC-devtools mode";
    case CUPTI_MINING:
        return "GPUs for mining (CMP) cannot be profiled";
    case CUPTI_SLI:
        return "a GPU that is part of an SLI group cannot be profiled";
    case CUPTI_WSL:
        return "this GPU cannot be profiled under WSL";
    case CUPTI_LEGACY_PROFILER:
    case CUPTI_NOT_COMPATIBLE:
        return "libcupti and the driver are not compatible; install the CUPTI of the driver's CUDA version, "
               "or set "
               "TRACESMITH_CUPTI to its path";
    default:
        return "check that the driver works (nvidia-smi), and that libcupti has its CUDA version (set "
               "TRACESMITH_CUPTI to its path)";
    }
}

// CUPTI refuses a second subscriber. Records need none, but they go to one pair of callbacks per process. So that
// pair is taken only if no library is found that could have registered one. `who` holds CUPTI, in words.
static bool may_do_without(int taken, char *who, size_t size) {
    if (taken == LIBRARY_LACKS)
        return true;
    if (taken != CUPTI_MULTIPLE_SUBSCRIBERS)
        return false;
    holder[sizeof holder - 1] = '\0';
    const bool found = holder_find(cupti.was_loaded, who, size);
    // Without callbacks the begin of a range is unknown.
    return !found && !holder[0] && !cuda_option(CUDA_OPTION_RANGE);
}

static void withdraw(void) {
    for (size_t i = 0; unsubscribed && i < KINDS; i++)
        cupti.ActivityDisable((int)kinds[i].kind);
    if (!unsubscribed)
        cupti.Unsubscribe(cupti.subscriber);
    unsubscribed = false;
}

static void say_alone(int taken, const char *who) {
    agent_untraced("%s rejects the subscription: %s (%d)%s%s; kernels, copies, calls and waits are recorded "
                   "without a subscription; contexts, streams, call stacks, samples, metrics, migrations of "
                   "unified memory and the number of missing launches are not",
                   vendor.interface, library_error(taken), taken, who[0] ? ", held by " : "", who);
}

bool subscribe(int taken, char *why, size_t size) {
    const char *step = "subscribing";
    char who[512] = "";
    uint32_t enabled;
    int result = taken;
    unsubscribed = may_do_without(taken, who, sizeof who);
    if (result == CUPTI_OK || unsubscribed) {
        step = "switching on";
        result = foreign_clock_compare(&cupti_clock) ? enable_all() : CUPTI_UNKNOWN;
        if (result == CUPTI_OK && unsubscribed)
            say_alone(taken, who);
        can_tell_end = result == CUPTI_OK && !unsubscribed && ask_enabled(&enabled) == CUPTI_OK && enabled;
        if (result == CUPTI_OK)
            return true;
        withdraw();
    }
    const char *by = holder[0] ? holder : who;
    snprintf(why, size, "%s work is not recorded: %s (%s) returned %s (%d) at %s%s%s%s: %s", vendor.platform,
             vendor.interface, cupti.path, library_error(result), result, step, by[0] ? ", held by \"" : "",
             by, by[0] ? "\"" : "", advice_for_result(result));
    return false;
}

bool subscribe_alone(void) {
    return unsubscribed;
}

void subscribe_look(void) {
    if (unsubscribed)
        enable_refused();
    look_for_end();
}

void subscribe_end(void) {
    if (atomic_load(&library_gone))
        return;
    metrics_end();
    pc_sampling_end();
    // In 13.0 a kind that is switched off while the program launches can hang it. Its updates are 130001 and on (13.0.85).
    const bool hangs = cupti.version / 100 == CUPTI_13_0 / 100;
    for (size_t i = 0; i < KINDS && !hangs && !cupti.shared; i++)
        if (is_wanted(i) && !sharing_kept(kinds[i].kind))
            cupti.ActivityDisable((int)kinds[i].kind);
    // Another tool of the program has CUPTI through the agent, and continues.
    if (atomic_load(&sharing_on))
        return;
    sharing_released();
    if (!unsubscribed)
        cupti.Unsubscribe(cupti.subscriber);
}
