// SPDX-License-Identifier: Apache-2.0
#ifndef API_RECORDING_H
#define API_RECORDING_H

#include <stdbool.h>

// Whether recorders left files in a session's directory.
bool recording_is_left(const char *directory);

#endif
