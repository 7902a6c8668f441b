// SPDX-License-Identifier: Apache-2.0
#ifndef TRACESMITH_PROCESSORS_H
#define TRACESMITH_PROCESSORS_H

#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// How many processors this process may use, at least 1: those of its affinity mask, or fewer where its control groups limit its processor
// time (cpu.max, cpu.cfs_quota_us: a limit of 1.5 processors counts as 2). The limits are read once,
// at the first call. Any thread.
TSMITH_API unsigned tsmith_processors(void);

#ifdef __cplusplus
}
#endif
#endif
