// SPDX-License-Identifier: Apache-2.0
// Session directories in other mount namespaces than our own (containers), where `attach` puts those of programs in them.
#ifndef CLI_CONTAINER_SESSIONS_H
#define CLI_CONTAINER_SESSIONS_H

#include "tracesmith/capture.h"

// As sessions_each, for each mount namespace with a process that this user may look at.
void container_sessions_each(void (*each)(void *context, const char *directory,
                                          const tsmith_capture_left *left),
                             void *context);

#endif
