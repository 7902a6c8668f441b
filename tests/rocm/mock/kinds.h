// SPDX-License-Identifier: Apache-2.0
// The names of rocprofiler-sdk's kinds of buffer records by number, as 1.0 has them. sdk.c gives those of 2026, which come behind.
#ifndef ROCM_MOCK_KINDS_H
#define ROCM_MOCK_KINDS_H

static const char *const mock_kind_names[] = {"NONE",
                                              "HSA_CORE_API",
                                              "HSA_AMD_EXT_API",
                                              "HSA_IMAGE_EXT_API",
                                              "HSA_FINALIZE_EXT_API",
                                              "HIP_RUNTIME_API",
                                              "HIP_COMPILER_API",
                                              "MARKER_CORE_API",
                                              "MARKER_CONTROL_API",
                                              "MARKER_NAME_API",
                                              "MEMORY_COPY",
                                              "KERNEL_DISPATCH",
                                              "SCRATCH_MEMORY",
                                              "CORRELATION_ID_RETIREMENT",
                                              "RCCL_API",
                                              "OMPT",
                                              "MEMORY_ALLOCATION",
                                              "RUNTIME_INITIALIZATION",
                                              "ROCDECODE_API",
                                              "ROCJPEG_API",
                                              "HIP_STREAM",
                                              "HIP_RUNTIME_API_EXT",
                                              "HIP_COMPILER_API_EXT",
                                              "ROCDECODE_API_EXT",
                                              "KFD_EVENT_PAGE_MIGRATE",
                                              "KFD_EVENT_PAGE_FAULT",
                                              "KFD_EVENT_QUEUE",
                                              "KFD_EVENT_UNMAP_FROM_GPU",
                                              "KFD_EVENT_DROPPED_EVENTS",
                                              "KFD_PAGE_MIGRATE",
                                              "KFD_PAGE_FAULT",
                                              "KFD_QUEUE",
                                              "MARKER_CORE_RANGE_API"};

#endif
