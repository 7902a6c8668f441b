// SPDX-License-Identifier: Apache-2.0
// The tracks of records: a stream of a context of a device, a thread, and the device as a whole.
#ifndef CUDA_TRACKS_H
#define CUDA_TRACKS_H

#include "agent.h"

struct cupti_context;
struct cupti_device;
struct cupti_green_context;

// A device as CUPTI describes it; later descriptions of the same one change nothing. Devices without a description
// when a track needed them are made without a name, and get it when CUPTI describes them.
void tracks_device(const struct cupti_device *record);
// Whether CUPTI has described any: it describes all at once. Any thread, cheap.
bool tracks_described(void);
// A context: its device, which its default stream is, and of a green one how many multiprocessors it has. Streams whose tracks exist
// keep their names.
void tracks_context(const struct cupti_context *record);
// The same of a green context from 13.2 on: CUPTI then has no other record of it (release notes of CUDA 13.2), and its default stream
// is unknown.
void tracks_green_context(const struct cupti_green_context *record);

// The track of a stream. CUPTI_NONE as the stream: of the device as a whole ("unified memory", ...), distinguished
// by `what`, which is NULL otherwise. 0 when the table is full.
uint32_t tracks_stream(uint32_t device, uint32_t context, uint32_t stream, const char *what);
// The device of a context; CUPTI_NONE: unknown.
uint32_t tracks_device_of_context(uint32_t context);
// A stream of a context, for a record without the device; 0 if the context's device is unknown as well.
uint32_t tracks_stream_of_context(uint32_t context, uint32_t stream);

#endif
