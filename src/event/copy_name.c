// SPDX-License-Identifier: Apache-2.0
// Finds the direction of a copy in its name. The importers and the classification of names call it.
#include "event/copy_name.h"

#include <string.h>

tsmith_direction copy_direction(tsmith_string name) {
    static const struct {
        const char *text;
        tsmith_direction direction;
    } directions[] = {{"HtoD", TSMITH_DIRECTION_HOST_TO_DEVICE},
                      {"DtoH", TSMITH_DIRECTION_DEVICE_TO_HOST},
                      {"DtoD", TSMITH_DIRECTION_DEVICE_TO_DEVICE},
                      {"HtoH", TSMITH_DIRECTION_HOST_TO_HOST},
                      {"PtoP", TSMITH_DIRECTION_PEER_TO_PEER},
                      {"HostToDevice", TSMITH_DIRECTION_HOST_TO_DEVICE},
                      {"DeviceToHost", TSMITH_DIRECTION_DEVICE_TO_HOST},
                      {"DeviceToDevice", TSMITH_DIRECTION_DEVICE_TO_DEVICE},
                      {"HostToHost", TSMITH_DIRECTION_HOST_TO_HOST},
                      {"PeerToPeer", TSMITH_DIRECTION_PEER_TO_PEER},
                      {"HOST_TO_DEVICE", TSMITH_DIRECTION_HOST_TO_DEVICE},
                      {"DEVICE_TO_HOST", TSMITH_DIRECTION_DEVICE_TO_HOST},
                      {"DEVICE_TO_DEVICE", TSMITH_DIRECTION_DEVICE_TO_DEVICE},
                      {"HOST_TO_HOST", TSMITH_DIRECTION_HOST_TO_HOST}};
    if (!name.length)
        return TSMITH_DIRECTION_NONE;
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++)
        if (strcasestr(name.bytes, directions[i].text))
            return directions[i].direction;
    return TSMITH_DIRECTION_NONE;
}
