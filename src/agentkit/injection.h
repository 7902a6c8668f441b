// SPDX-License-Identifier: Apache-2.0
// The library that was to be loaded where our agents are now. An API that loads one library by a variable has room for one: the
// collector puts our agent there and keeps what the variable named before in another variable; the agent opens that
// library and hands it everything.
#ifndef AGENTKIT_INJECTION_H
#define AGENTKIT_INJECTION_H

#include "wire/environment.h"

// The library that the variable `next` names, opened as dlopen would; NULL when there is none, or when it is the caller's
// own (`own` is anything in it). It stays loaded.
void *injection_open_next(const char *next, const void *own);
// The same, where NAME may also be short for the library PREFIX + NAME + ".so".
void *injection_open_plugin(const char *next, const char *prefix, const void *own);

// The directory of CUDA's Multi-Process Service, when its daemon runs there: CUDA programs of this environment are its
// clients then. NULL otherwise. Valid as long as the environment.
const char *injection_mps(void);

#endif
