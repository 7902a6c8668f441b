// SPDX-License-Identifier: Apache-2.0
// Checks that the reader and the writer of JSON share.
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of the UTF-8 character at `at`, of which `left` bytes are there; 0 when it is not valid (overlong,
// surrogate, above U+10FFFF, cut).
unsigned json_utf8_length(const char *at, size_t left);

// Whether this is one JSON value and nothing else, as RFC 8259 has it, nested at most 1000 deep, in UTF-8.
bool json_is_valid(const char *text, size_t length);

#endif
