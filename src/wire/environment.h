// SPDX-License-Identifier: Apache-2.0
// Environment variables that the launcher sets and the agents read: the variable by which each API loads a library, the one
// that keeps what it named before, and an agent's options.
#ifndef WIRE_ENVIRONMENT_H
#define WIRE_ENVIRONMENT_H

#define INJECTION_NVTX "NVTX_INJECTION64_PATH"
#define INJECTION_NVTX_NEXT "TRACESMITH_NVTX_NEXT"
#define INJECTION_CUDA "CUDA_INJECTION64_PATH"
#define INJECTION_CUDA_NEXT "TRACESMITH_CUDA_NEXT"
#define INJECTION_MUSA "MUSA_INJECTION64_PATH"
#define INJECTION_MUSA_NEXT "TRACESMITH_MUSA_NEXT"
#define INJECTION_OPENMP "OMP_TOOL_LIBRARIES"          // a list
#define INJECTION_OPENACC "ACC_PROFLIB"                // a list
#define INJECTION_ROCM "ROCP_TOOL_LIBRARIES"           // a list
#define INJECTION_LEVEL_ZERO "ZE_ENABLE_TRACING_LAYER" // of the loader, which has no variable for a library
#define INJECTION_SYCL "XPTI_SUBSCRIBERS"              // a list, of which the two below are needed too
#define INJECTION_SYCL_ON "XPTI_TRACE_ENABLE"
#define INJECTION_SYCL_FRAMEWORK "XPTI_FRAMEWORK_DISPATCHER"
#define INJECTION_NCCL "NCCL_PROFILER_PLUGIN"
#define INJECTION_NCCL_NEXT "TRACESMITH_NCCL_NEXT"

// The options of all agents (agent_options.h): "cuda.graphs,cuda.pc-samples=12".
#define AGENT_OPTIONS "TRACESMITH_AGENT_OPTIONS"

#endif
