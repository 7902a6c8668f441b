// SPDX-License-Identifier: Apache-2.0
// How many processors this process may use. The public function is tsmith_processors (tracesmith/processors.h).
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

// How many processors the limits of its control groups are worth, rounded up, by the files under `root` ("" but in tests);
// UINT_MAX: they have no limit.
unsigned processors_quota(const char *root);

#endif
