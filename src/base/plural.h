// SPDX-License-Identifier: Apache-2.0
// The form of a noun or verb that agrees with a count, for messages.
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

static inline const char *plural(uint64_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}

#endif
