// SPDX-License-Identifier: Apache-2.0
// The version of the library, for `tracesmith --version` and users of the API.
#include "tracesmith/version.h"

const char *tsmith_version(void) {
    return TSMITH_VERSION_STRING;
}
