// SPDX-License-Identifier: Apache-2.0
// Replaces numbers of kinds, operations, directions, reasons and certainties that this version does not know by 0. The decoder of
// columns calls it.
#include "sbt/versions.h"

#include "sbt/format.h"
#include "sbt/loops.h"

uint8_t version_number(uint8_t type, uint8_t value) {
    switch (type) {
    case TSMITH_TYPE_KIND:
        return tsmith_kind_name((tsmith_kind)value) && value < TSMITH_KIND_LIMIT ? value : 0;
    case TSMITH_TYPE_OPERATION:
        return tsmith_operation_name((tsmith_operation)value) ? value : 0;
    case TSMITH_TYPE_DIRECTION:
        return tsmith_direction_name((tsmith_direction)value) ? value : 0;
    case TSMITH_TYPE_REASON:
        return tsmith_reason_name((tsmith_reason)value) && value < TSMITH_REASON_LIMIT ? value : 0;
    case TSMITH_TYPE_CERTAINTY:
        return tsmith_certainty_name((tsmith_certainty)value) ? value : 0;
    case TSMITH_TYPE_BOOL:
        return value != 0;
    default:
        return value;
    }
}

// Numbers below this need no look at each: all of them are known.
static uint8_t known_below(uint8_t type) {
    switch (type) {
    case TSMITH_TYPE_KIND:
        return TSMITH_KIND_LIMIT;
    case TSMITH_TYPE_REASON:
        return TSMITH_REASON_LIMIT;
    case TSMITH_TYPE_BOOL:
        return 2;
    default:
        return 1;
    }
}

void version_numbers(uint8_t *bytes, uint32_t count, uint8_t type) {
    if (type == TSMITH_TYPE_U8 || loops()->greatest8(bytes, count) < known_below(type))
        return;
    uint8_t last = bytes[0], known = version_number(type, last);
    for (uint32_t i = 0; i < count; i++) {
        if (bytes[i] != last) {
            last = bytes[i];
            known = version_number(type, last);
        }
        bytes[i] = known;
    }
}

uint32_t version_field(uint32_t stored) {
    return stored == SBT_FIELD_INFERRED ? TSMITH_FIELD_CERTAINTY : stored;
}

tsmith_type version_type(uint32_t stored, uint8_t type) {
    return stored == SBT_FIELD_INFERRED ? TSMITH_TYPE_CERTAINTY : (tsmith_type)type;
}

void version_certainties(uint8_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        values[i] = values[i] ? TSMITH_CERTAINTY_INFERRED : TSMITH_CERTAINTY_MEASURED;
}
