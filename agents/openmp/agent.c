// SPDX-License-Identifier: Apache-2.0
// The way in, and the callbacks of the runtime. Rules: agent.h.
//
// The runtime calls ompt_start_tool in every OpenMP program. Programs without offloading never initialize a device: they attach
// to no session and have no event.
#include <stdatomic.h>
#include <string.h>

#include "agent.h"
#include "agentkit/stacks.h"

enum {
    DEPTH_MAX = 16, // callbacks of one thread that have begun and not ended
    LISTS = 31,     // of channel_begun: one for each of so many threads
    LISTS_NONE = UINT32_MAX
};

enum opened_kind { OPENED_CONSTRUCT, OPENED_DATA_OP, OPENED_SUBMIT };

// What the calling thread has begun. `device` is of the innermost construct: a submission does not have it.
static __thread struct {
    struct {
        struct opened opened;
        enum opened_kind kind;
        int device;
    } at[DEPTH_MAX];
    uint32_t depth, beyond;
    uint32_t generation; // of the process: a forked child has none of these
    uint32_t list;       // 0: not chosen yet; else 1 + its number
} here;

static _Atomic uint32_t lists_used;

static uint32_t own_list(void) {
    if (!here.list)
        here.list = 1 + atomic_fetch_add_explicit(&lists_used, 1, memory_order_relaxed);
    return here.list - 1 < LISTS ? here.list - 1 : LISTS_NONE;
}

static void begin(enum opened_kind kind, int device) {
    const uint32_t generation = atomic_load_explicit(&agent.generation, memory_order_relaxed);
    if (here.generation != generation) {
        here.depth = here.beyond = 0;
        here.generation = generation;
    }
    if (here.depth == DEPTH_MAX) {
        here.beyond++;
        if (agent_recording()) // the callbacks are set before the agent attaches, which may fail
            channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    here.at[here.depth].kind = kind;
    here.at[here.depth].device = device;
    struct opened *opened = &here.at[here.depth++].opened;
    *opened = (struct opened){0};
    if (!agent_recording() || !agent_on())
        return;
    if (own_list() != LISTS_NONE)
        channel_begun(agent.channel, own_list(), 1);
    opened->stack = stacks_capture();
    opened->start = agent_tick();
}

// What the callback at the beginning left; its `start` is 0 if it is not recorded.
static struct opened end(enum opened_kind kind, int *device) {
    struct opened opened = {0};
    if (here.beyond) {
        here.beyond--;
        return opened;
    }
    if (here.generation != atomic_load_explicit(&agent.generation, memory_order_relaxed) || !here.depth ||
        here.at[here.depth - 1].kind != kind)
        return opened; // begun before the recording, or in the parent
    opened = here.at[--here.depth].opened;
    *device = here.at[here.depth].device;
    if (opened.start && own_list() != LISTS_NONE)
        channel_ended(agent.channel, own_list(), 1);
    return opened;
}

// ---- callbacks, on the thread that executes the construct

static void target_construct(enum ompt_construct construct, enum ompt_endpoint endpoint, int device,
                             union ompt_word *task, union ompt_word *target_task, union ompt_word *word,
                             const void *code) {
    (void)task, (void)target_task, (void)word;
    const uint64_t now = agent_tick();
    if (endpoint == OMPT_BEGIN) {
        begin(OPENED_CONSTRUCT, device);
        return;
    }
    const struct opened opened = end(OPENED_CONSTRUCT, &device);
    if (opened.start)
        record_construct(&opened, now, construct_name(construct, code), device, code);
}

static void data_op(enum ompt_endpoint endpoint, union ompt_word *target_task, union ompt_word *word,
                    uint64_t *operation_id, enum ompt_data_op operation, void *source, int source_device,
                    void *destination, int destination_device, size_t bytes, const void *code) {
    (void)target_task, (void)word, (void)operation_id, (void)code;
    const uint64_t now = agent_tick();
    // The host is the source of an allocation, the device the destination; of all else it is the other way around for
    // what comes from the device, or goes.
    const enum ompt_data_op kind = ompt_data_op_kind(operation);
    const bool at_source =
        kind == OMPT_DATA_FROM_DEVICE || kind == OMPT_DATA_DELETE || kind == OMPT_DATA_DISASSOCIATE;
    int device = at_source ? source_device : destination_device;
    if (endpoint != OMPT_END)
        begin(OPENED_DATA_OP, device);
    if (endpoint == OMPT_BEGIN)
        return;
    int begun_on = device;
    const struct opened opened = end(OPENED_DATA_OP, &begun_on);
    if (opened.start)
        record_data_op(&opened, endpoint == OMPT_BEGIN_END ? opened.start : now, operation, device,
                       at_source ? source : destination, bytes);
}

static void submit(enum ompt_endpoint endpoint, union ompt_word *word, uint64_t *operation_id,
                   unsigned int teams) {
    (void)word, (void)operation_id;
    const uint64_t now = agent_tick();
    int device = here.depth ? here.at[here.depth - 1].device : -1;
    if (endpoint == OMPT_BEGIN) {
        begin(OPENED_SUBMIT, device);
        return;
    }
    const struct opened opened = end(OPENED_SUBMIT, &device);
    if (opened.start)
        record_submit(&opened, now, device, teams);
}

// ---- attaching

static void attached(void) {
    record_init();
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = "openmp", .begin = attached};

static ompt_set set_callback;
static bool is_complete; // the runtime makes all callbacks

static bool set(enum ompt_callback which, ompt_function function) {
    return set_callback(which, function) > OMPT_SET_IMPOSSIBLE;
}

// The runtime has a device: from now on there may be constructs.
static void device_initialized(int device, const char *type, void *handle, ompt_lookup lookup,
                               const char *documentation) {
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    (void)device, (void)type, (void)handle, (void)lookup, (void)documentation;
    if (atomic_flag_test_and_set(&is_done) || !agent_attach(&spec) || is_complete)
        return;
    channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
    agent_notice(
        "the OpenMP runtime does not report all target constructs, transfers and kernels (OpenMP 5.1: "
        "target_emi, target_data_op_emi, target_submit_emi); those of LLVM 17 and later do");
}

// All callbacks are set here: LLVM's libomptarget asks for them once, before it initializes a device.
static int initialize(ompt_lookup lookup, int initial_device, union ompt_word *word) {
    (void)initial_device, (void)word;
    set_callback = (ompt_set)(uintptr_t)lookup("ompt_set_callback");
    if (!set_callback || !set(OMPT_DEVICE_INITIALIZE, (ompt_function)(uintptr_t)device_initialized))
        return 0;
    const bool target_set = set(OMPT_TARGET, (ompt_function)(uintptr_t)target_construct);
    const bool data_op_set = set(OMPT_TARGET_DATA_OP, (ompt_function)(uintptr_t)data_op);
    is_complete = set(OMPT_TARGET_SUBMIT, (ompt_function)(uintptr_t)submit) && target_set && data_op_set;
    return 1;
}

static void finalize(union ompt_word *word) {
    (void)word; // the library's destructor ends the recording
}

AGENT_EXPORT ompt_start_tool_function ompt_start_tool;
AGENT_EXPORT struct ompt_tool *ompt_start_tool(unsigned int version, const char *runtime) {
    static struct ompt_tool tool = {.initialize = initialize, .finalize = finalize};
    (void)version, (void)runtime;
    return &tool;
}
