// SPDX-License-Identifier: Apache-2.0
// The one place where structs of other sizes than the library's are read and filled.
#include "base/sized.h"

#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "tracesmith/version.h"

tsmith_status sized_take_bytes(const char *type, const void *given, void *out, size_t size,
                               tsmith_error *error) {
    size_t theirs = size;
    memset(out, 0, size);
    if (given)
        memcpy(&theirs, given, sizeof theirs);
    if (theirs < sizeof theirs)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "the size of %s is %zu: set it to sizeof(%s)",
                          type, theirs, type);
    for (size_t i = size; given && i < theirs; i++)
        if (((const unsigned char *)given)[i])
            return status_set_at(error, TSMITH_ERROR_INVALID_ARGUMENT, i, UINT64_MAX,
                                 "byte %zu of %s is not 0, but TraceSmith " TSMITH_VERSION_STRING
                                 " knows only the first %zu bytes: the option needs a newer TraceSmith",
                                 i, type, size);
    if (given)
        memcpy(out, given, theirs < size ? theirs : size);
    memcpy(out, &size, sizeof size);
    return TSMITH_OK;
}

void sized_give_bytes(const void *from, void *out, size_t size) {
    size_t theirs;
    if (!out)
        return;
    memcpy(&theirs, out, sizeof theirs);
    if (theirs < sizeof theirs)
        return;
    const size_t filled = theirs < size ? theirs : size;
    memcpy((char *)out + sizeof theirs, (const char *)from + sizeof theirs, filled - sizeof theirs);
    memset((char *)out + filled, 0, theirs - filled);
    memcpy(out, &filled, sizeof filled);
}
