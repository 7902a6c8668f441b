// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_WAIT_NAME_H
#define EVENT_WAIT_NAME_H

#include "tracesmith/dictionary.h"
#include "tracesmith/schema.h"

// What waits for what, by the name of a wait: "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync" (CUPTI's records
// in Kineto; https://github.com/pytorch/kineto, CuptiActivity.cpp). TSMITH_OPERATION_NONE: the name is none of these.
tsmith_operation wait_operation(tsmith_string name);

#endif
