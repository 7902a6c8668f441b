// SPDX-License-Identifier: Apache-2.0
// What launchers of distributed runs (torchrun, mpirun, srun) state about a process in its environment. Agents record it of the
// profiled process, and commands read it for names of files.
#ifndef WIRE_LAUNCHER_H
#define WIRE_LAUNCHER_H

#include <stdbool.h>

#include "tracesmith/launcher.h"

// The value of a variable; NULL: it is not set.
typedef const char *launcher_look(const void *context, const char *name);

// By the table of tracesmith/launcher.h. False if no launcher states a rank; then all of `out` is unknown. No allocation.
bool launcher_read(launcher_look *look, const void *context, tsmith_launch *out);

#endif
