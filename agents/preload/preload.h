// SPDX-License-Identifier: Apache-2.0
// For agents of an API that has no way in for tools: the agent's library is preloaded (LD_PRELOAD) into every program, and starts
// where the runtime of the API is. Programs without it are left alone.
//
// An agent that uses this header exports `dlopen` and `__libc_start_main`, and passes every call on. What is not seen: a runtime that
// is loaded by dlmopen into another namespace, and work of constructors of the program's libraries.
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

// Called from a constructor of the agent. `runtime` is the beginning of the name of the runtime's library, static. `start` is called
// once per process: before main, if the program is linked with the runtime, and otherwise when the dlopen returns that loaded it, on
// the thread that called it. It may call dlopen.
void preload_wait(const char *runtime, void (*start)(void));

#endif
