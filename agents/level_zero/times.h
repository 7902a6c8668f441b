// SPDX-License-Identifier: Apache-2.0
// Times of the device's clock as times of the trace. The driver gives ticks of a counter of which only some bits are valid;
// zeDeviceGetGlobalTimestamps places the counter on the trace clock, at first and then four times a second. What is believed:
// agentkit/device_clock.h. Rules: agent.h.
#ifndef LEVEL_ZERO_TIMES_H
#define LEVEL_ZERO_TIMES_H

#include "agentkit/device.h"
#include "agentkit/device_clock.h"
#include "objects.h"

// devices.c: the texts are of `properties`.
struct agent_device device_described(struct zero_device_properties *properties);

void times_begin(void);
// Describes the device to the channel and finds where its clock is. Asks the driver.
void times_device(struct device *device, void *handle, uint32_t number);
// For the control thread, every now and then.
void times_refresh(void);

// `not_before` is a tick of the host; `now` is for the caller to keep between commands of
// one look, 0 at first. False: they are not believed.
bool times_convert(const struct device *device, const struct zero_timestamps *from, uint64_t not_before,
                   uint64_t *now, struct command_times *times);

#endif
