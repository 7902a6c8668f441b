// SPDX-License-Identifier: Apache-2.0
// The functions of the mock HIP (hip.c), with the arguments that the tests' programs need. Those that begin with "mock" are
// not HIP's.
#ifndef HIP_MOCK_H
#define HIP_MOCK_H

#include <stddef.h>
#include <stdint.h>

int hipInit(unsigned flags);
int hipMalloc(void **out, size_t bytes);
int hipFree(void *address);
// `kind`: 0 host to host, 1 to the device, 2 from it, 3 on it, 4 to another one.
int hipMemcpyWithStream(void *to, const void *from, size_t bytes, int kind, uintptr_t stream);
int hipStreamCreate(uintptr_t *out);
int hipStreamDestroy(uintptr_t stream);
int hipModuleLaunchKernel(uintptr_t kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, uintptr_t stream);
int hipDeviceSynchronize(void);
int hipEventRecord(uintptr_t event, uintptr_t stream);
int hipStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags);

uintptr_t mockKernel(const char *name); // loads one
uintptr_t mockEvent(void);
int mockGraphLaunch(uintptr_t kernel, unsigned count, uintptr_t stream);
void mockByItself(void);

void roctxMarkA(const char *message);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t number);
int ncclAllReduce(size_t count);

#endif
