// SPDX-License-Identifier: Apache-2.0
// The agent of AMD's ROCm, through rocprofiler-sdk. The runtimes (HIP, HSA, roctx, RCCL) load the SDK when
// ROCP_TOOL_LIBRARIES names a tool, and the SDK calls rocprofiler_configure here, in the program's first call of such a runtime.
//
// The SDK writes records of calls, kernels, copies, ... into two buffers of its own, in turn, and hands one over when it is
// half full, or when it is flushed (agent.c): records.c translates them. Where a launch is, callbacks on the program's threads
// leave a note for its record (launches.c): the stream, the call stack, and that it has begun. Names of kernels come from a
// callback for each kernel that is loaded (names.c), texts of roctx from callbacks (markers.c).
//
// Rules: agentkit/agent.h. In addition:
//   - The SDK's program waits while a buffer is translated and the other one is full: buffers are small, and translation is
//     fast. With its other policy, SDK 1.0 drops records without counting them.
//   - Data of the SDK is believed as far as its size goes, and no further (layouts.h).
#ifndef ROCM_AGENT_H
#define ROCM_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agentkit/agent.h"
#include "agentkit/foreign_clock.h"
#include "agentkit/launch_table.h"
#include "sdk.h"
#include "wire/agent.h"

#define AGENT_API "rocm"

extern struct foreign_clock sdk_clock __attribute__((visibility("hidden")));

// ---- launches.c: notes that callbacks leave on the program's threads. Their value is 1 + the number of the stream; 0: unknown.

bool launches_init(void);
void launches_dispatch(const struct sdk_callback_record *record); // SDK_CALLBACK_DISPATCH
void launches_stream(const struct sdk_callback_record *record);   // SDK_CALLBACK_STREAM
// SDK_CALLBACK_HIP, SDK_CALLBACK_COPY, at their beginning: notes the stack, and the stream that was reported to the thread.
void launches_call(const struct sdk_callback_record *record, uint32_t stack);
// The record of a dispatch has come: the note, and whether it was open (launch_table_close).
bool launches_end(uint64_t dispatch, struct launch_note *out);
void launches_of_call(uint64_t correlation, struct launch_note *out);
uint64_t launches_open(void);

// ---- names.c: the SDK's numbers of kernels

bool names_init(void);
void names_kernel(const struct sdk_callback_record *record); // SDK_CALLBACK_CODE_OBJECT
// The id of a kernel's name; 0: unknown. One thread at a time.
uint32_t names_of_kernel(uint64_t kernel);

// ---- markers.c: roctx

void markers_init(void);
void markers_call(const struct sdk_callback_record *record); // SDK_CALLBACK_MARKER

// ---- devices.c

struct agent_device device_described(const void *record); // its texts are the SDK's

// ---- tracks.c. tracks_start before all else.

void tracks_start(void);
bool tracks_is_device(uint64_t agent);
// The track of a stream; of a queue of the hardware, if `stream` is 0.
uint32_t tracks_queue(uint64_t agent, uint64_t queue, uint32_t stream);
enum tracks_what { TRACKS_MEMORY, TRACKS_COPIES, TRACKS_MIGRATION, TRACKS_WHATS };
uint32_t tracks_of_agent(uint64_t agent, enum tracks_what what);

// ---- records.c

void records_init(void);
// The kind of a number; what is none of the table is counted when a record of it comes.
void records_kind(uint32_t number, enum sdk_kind kind);
sdk_buffer_callback records_buffer;
// Of what is missing at the end, so many are known as dropped by the SDK.
uint64_t records_dropped(void);

#endif
