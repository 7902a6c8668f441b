// SPDX-License-Identifier: Apache-2.0
// Numbers of a newer version that have no name here read as 0, so that they never index a table.
#ifndef SBT_KNOWN_H
#define SBT_KNOWN_H

#include <stdint.h>

// A value of a type of one byte.
uint8_t known_number(uint8_t type, uint8_t value);
// Many, in place.
void known_numbers(uint8_t *bytes, uint32_t count, uint8_t type);

#endif
