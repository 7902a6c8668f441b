// SPDX-License-Identifier: Apache-2.0
// The library that the user injected in the place of the agent. An API that loads one library by a variable has room for one. The
// launcher sets the variable to the agent and keeps its previous value in another variable. The agent opens that library and
// passes every call on to it.
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
