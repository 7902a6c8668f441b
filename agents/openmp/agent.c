// SPDX-License-Identifier: Apache-2.0
// The way in, and the callbacks of the runtime. Rules: agent.h.
//
// The runtime calls ompt_start_tool in every OpenMP program. Programs without offloading never initialize a device: they attach
// to no session and have no event.
#include <stdatomic.h>
#include <string.h>

#include "agent.h"
#include "agentkit/stacks.h"

enum opened_kind { OPENED_CONSTRUCT, OPENED_DATA_OP, OPENED_SUBMIT };

// ---- callbacks, on the thread that executes the construct

static void target_construct(enum ompt_construct construct, enum ompt_endpoint endpoint, int device,
                             union ompt_word *task, union ompt_word *target_task, union ompt_word *word,
                             const void *code) {
    (void)task, (void)target_task, (void)word;
    const uint64_t now = agent_tick();
    if (endpoint == OMPT_BEGIN) {
        nesting_begin(OPENED_CONSTRUCT, 0, device);
        return;
    }
    const struct nesting opened = nesting_end(OPENED_CONSTRUCT, 0);
    if (opened.start)
        record_construct(&opened, now, construct_name(construct, code), code);
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
    const int device = at_source ? source_device : destination_device;
    if (endpoint != OMPT_END)
        nesting_begin(OPENED_DATA_OP, 0, device);
    if (endpoint == OMPT_BEGIN)
        return;
    struct nesting opened = nesting_end(OPENED_DATA_OP, 0);
    opened.value = device;
    if (opened.start)
        record_data_op(&opened, endpoint == OMPT_BEGIN_END ? opened.start : now, operation,
                       at_source ? source : destination, bytes);
}

static void submit(enum ompt_endpoint endpoint, union ompt_word *word, uint64_t *operation_id,
                   unsigned int teams) {
    (void)word, (void)operation_id;
    const uint64_t now = agent_tick();
    if (endpoint == OMPT_BEGIN) {
        nesting_begin(OPENED_SUBMIT, 0, nesting_value(-1)); // a submission has the device of its construct
        return;
    }
    const struct nesting opened = nesting_end(OPENED_SUBMIT, 0);
    if (opened.start)
        record_submit(&opened, now, teams);
}

// ---- attaching

static void attached(void) {
    record_init();
    (void)stacks_start(agent.channel);
}

static const struct agent_spec spec = {.api = "openmp", .begin = attached, .sums = AGENT_SUMS_OF_RECORDS};

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
    agent_untraced(
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
