// SPDX-License-Identifier: Apache-2.0
// Whoever was to be loaded where our agents are now. An API that loads one library by a variable has room for one: the
// collector puts our agent there and keeps what the variable named before in another variable; the agent opens that
// library and hands it everything.
#ifndef CAPTURE_INJECTION_H
#define CAPTURE_INJECTION_H

#define INJECTION_NVTX "NVTX_INJECTION64_PATH"
#define INJECTION_NVTX_NEXT "TRACESMITH_NVTX_NEXT"
#define INJECTION_CUDA "CUDA_INJECTION64_PATH"
#define INJECTION_CUDA_NEXT "TRACESMITH_CUDA_NEXT"
#define INJECTION_CUDA_OPTIONS "TRACESMITH_CUDA" // words between commas
#define INJECTION_NCCL "NCCL_PROFILER_PLUGIN"
#define INJECTION_NCCL_NEXT "TRACESMITH_NCCL_NEXT"

// The library that the variable `next` names, opened as dlopen would; NULL when there is none, or when it is the caller's
// own (`own` is anything in it). It stays loaded.
void *injection_open_next(const char *next, const void *own);
// The same where a name NAME also stands for the library PREFIX + NAME + ".so".
void *injection_open_plugin(const char *next, const char *prefix, const void *own);

// The directory of CUDA's Multi-Process Service, when its daemon runs there: CUDA programs of this environment are its
// clients then. NULL otherwise. Valid as long as the environment.
const char *injection_mps(void);

#endif
