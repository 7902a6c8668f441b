// SPDX-License-Identifier: Apache-2.0
// Finds the operation of a wait in its name. The Chrome and Perfetto importers call it.
#include "event/wait_name.h"

#include <string.h>

tsmith_operation wait_operation(tsmith_string name) {
    static const struct {
        const char *name;
        tsmith_operation operation;
    } waits[] = {{"Event Sync", TSMITH_OPERATION_WAIT},
                 {"Stream Wait Event", TSMITH_OPERATION_STREAM_WAIT},
                 {"Stream Sync", TSMITH_OPERATION_FINISH},
                 {"Context Sync", TSMITH_OPERATION_DEVICE_SYNC},
                 {"Device Sync", TSMITH_OPERATION_DEVICE_SYNC},
                 {"EVENT_WAIT", TSMITH_OPERATION_STREAM_WAIT}, // tasks of Ascend's hardware
                 {"NOTIFY_WAIT", TSMITH_OPERATION_STREAM_WAIT},
                 {"event_wait", TSMITH_OPERATION_STREAM_WAIT}}; // and of MTIA's
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strlen(waits[i].name) == name.length && memcmp(waits[i].name, name.bytes, name.length) == 0)
            return waits[i].operation;
    return TSMITH_OPERATION_NONE;
}
