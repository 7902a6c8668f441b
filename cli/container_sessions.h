// SPDX-License-Identifier: Apache-2.0
// Session directories of processes with other roots than our own (containers, chroots), where `attach` puts those of programs in them.
#ifndef CLI_CONTAINER_SESSIONS_H
#define CLI_CONTAINER_SESSIONS_H

#include "tracesmith/capture.h"

// As sessions_each, for each root and mount namespace with a process that this user may look at. Folders that sessions_each looks into are
// left out, and every other folder is visited once, also if several processes see it.
void container_sessions_each(void (*each)(void *context, const char *directory,
                                          const tsmith_capture_left *left),
                             void *context);

#endif
