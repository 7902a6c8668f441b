// SPDX-License-Identifier: Apache-2.0
// Numbers of a newer version that have no name here read as 0, so that they never index a table. The column `inferred` of an
// older version reads as certainty.
#ifndef SBT_VERSIONS_H
#define SBT_VERSIONS_H

#include <stdint.h>

#include "tracesmith/schema.h"

// A value of a type of one byte.
uint8_t version_number(uint8_t type, uint8_t value);
// Many, in place.
void version_numbers(uint8_t *bytes, uint32_t count, uint8_t type);

// The field under which the column of a stored field is given, and its type there.
uint32_t version_field(uint32_t stored);
tsmith_type version_type(uint32_t stored, uint8_t type);
// Values of `inferred` into those of certainty, in place: what was inferred is still, what was not had been measured.
void version_certainties(uint8_t *values, uint32_t count);

#endif
