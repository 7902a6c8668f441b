// SPDX-License-Identifier: Apache-2.0
// What runs a recorded process on a device and hands over every result it was recorded with.
#ifndef REPLAY_EXECUTE_H
#define REPLAY_EXECUTE_H

#include "replay/recording.h"

struct execute_result {
    size_t record;        // of the process: which one this is the result of
    const uint8_t *bytes; // NULL: none, and `why`
    size_t size;
    const char *why;
    const char *doubt; // why it may differ without being wrong; NULL: no reason is known
    uint64_t buffer;
    size_t writer; // record + 1 of the command that wrote it last, 0: none
    tsmith_element element;
};

// All pointers handed over are good for the call. Texts are the recording's or static.
struct execute_client {
    void *context;
    void (*result)(void *context, const struct execute_result *result);
    void (*note)(void *context, const char *text); // copied by the receiver
    const struct execute_options *options;         // NULL: none
};

// Content that a memory gets before a record is executed, from another record that shows what it held there.
struct execute_feed {
    size_t before, content; // records
    uint64_t memory;        // its number
};

// How a recording is run, where it is not as fast as it goes and all of it.
struct execute_options {
    const uint8_t *left_out; // by record: commands that keep their place in the order and do nothing, and
                             // comparisons that are not made; NULL: none
    const struct execute_feed *feeds; // ascending by `before`; only in the recorded order
    size_t feed_count;
    const struct recorded_time
        *pace;    // by record: a call comes no sooner than its time after the first; NULL: at once
    double speed; // of that
    // NULL: not measured. ns on the device.
    void (*timed)(void *context, size_t record, int64_t duration);
    // In another order: what each command has written, after it, is a result of its record.
    bool each;
    // In an order as near to the recorded one as can be: what nothing recorded brought into memory comes where it came. Else
    // it is there from the beginning, and what comes in between has no place.
    bool in_place;
};

struct execution; // devices, opened

// A recorded device, and where it is replayed.
struct execute_mapping {
    uint64_t pid;
    char recorded[256], recorded_driver[256];
    size_t device; // its number
    const char *name, *driver;
};

#define EXECUTE_OCLGRIND "oclgrind"   // the name that asks for it
void *execute_oclgrind_library(void); // as dlopen gives it; NULL: it is not there

// `device` as tsmith_replay_options has it.
tsmith_status execute_opencl_open(const char *device, struct execution **out, tsmith_error *error);
// The names of the devices something was replayed on, joined by " + ". Good until the next call.
const char *execute_opencl_device(struct execution *execution);
// For all replayed processes. NULL past the last.
const struct execute_mapping *execute_opencl_mapping(const struct execution *execution, size_t index);
tsmith_status execute_opencl_run(struct execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error);
// Chooses the devices of a process and runs nothing: only for execute_opencl_mapping. False: no memory.
bool execute_opencl_choose(struct execution *execution, struct tsmith_recording *recording,
                           const struct recorded_process *process);
// Whether an edited source did not make its kernel in any run.
bool execute_opencl_source_failed(const struct execution *execution);
// The commands among these nodes of a plan, one after the other in this order, without the recorded waits. Every read
// and map is a result (of its record), and so is every memory in the end (of the record that made it).
struct plan;
struct execute_order;
tsmith_status execute_opencl_order(struct execution *execution, const struct plan *plan,
                                   const uint32_t *nodes, size_t count, const tsmith_replay_options *options,
                                   const struct execute_client *client, tsmith_error *error);
// The same by steps, each of them OK or what a replay fails with. What is begun, well or not, is to be ended.
tsmith_status execute_order_begin(struct execution *execution, const struct plan *plan,
                                  const tsmith_replay_options *options, const struct execute_client *client,
                                  struct execute_order **out, tsmith_error *error);
tsmith_status execute_order_step(struct execute_order *order, uint32_t node);
// Before a step, with `in_place`: what nothing recorded brought into memory before the node is there. A step does it too.
tsmith_status execute_order_reach(struct execute_order *order, uint32_t node);
// What this node has written, as results of its record.
tsmith_status execute_order_bring(struct execute_order *order, uint32_t node);
tsmith_status execute_order_conclude(struct execute_order *order); // what was read, and every memory
tsmith_status execute_order_end(struct execute_order *order, tsmith_status status);
void execute_opencl_close(struct execution *execution); // NULL is fine

// The same for processes that were captured frames of (recorded_process.vulkan).
struct vulkan_execution;
tsmith_status execute_vulkan_open(const char *device, struct vulkan_execution **out, tsmith_error *error);
const char *execute_vulkan_device(const struct vulkan_execution *execution); // "" before the first run
tsmith_status execute_vulkan_run(struct vulkan_execution *execution, struct tsmith_recording *recording,
                                 const struct recorded_process *process, const tsmith_replay_options *options,
                                 const struct execute_client *client, tsmith_error *error);
void execute_vulkan_close(struct vulkan_execution *execution); // NULL is fine

#endif
