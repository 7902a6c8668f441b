// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/version.h"

const char *tsmith_version(void) {
    return TSMITH_VERSION_STRING;
}
