// SPDX-License-Identifier: Apache-2.0
// Quantities as people type them. All are false for anything that is not exactly one quantity (quantity_rate: that does not
// begin with one), or out of range.
#ifndef CLI_QUANTITY_H
#define CLI_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

bool quantity_count(const char *word, uint64_t *out);
// Bytes: 65536, 512K, 4M, 1G (powers of 1024; KB, KiB and small letters mean the same).
bool quantity_size(const char *word, uint64_t *out);
// Nanoseconds: 1.5ms, 2s, 300us, 10ns, 1m, 2h; a number alone is seconds. Exact, truncated to whole ns.
bool quantity_time(const char *word, int64_t *out);
// A number above 0: 989T (k, M, G, T, P: powers of 1000), 3.35e12. *end is what follows it in the word.
bool quantity_rate(const char *word, const char **end, double *out);

#endif
