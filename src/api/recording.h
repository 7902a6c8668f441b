// SPDX-License-Identifier: Apache-2.0
#ifndef API_RECORDING_H
#define API_RECORDING_H

#include <stdbool.h>

#include "sbt/writer.h"

// Whether recorders left files in a session's directory.
bool recording_is_left(const char *directory);
// Writes what they left into a file.
tsmith_status recording_carry(struct sbt_writer *writer, const char *directory, tsmith_error *error);

#endif
