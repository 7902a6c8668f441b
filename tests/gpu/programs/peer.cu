// SPDX-License-Identifier: Apache-2.0
// Copies between two GPUs.
#include <cuda_runtime.h>
#include <string.h>

#include "program.h"

enum { BYTES = 1 << 20, TIMES = 10 };

int main(void) {
    unsigned char *from, *to, *host = (unsigned char *)malloc(BYTES);
    int can = 0;
    need_devices(2);
    MUST(cudaDeviceCanAccessPeer(&can, 1, 0));
    MUST(cudaSetDevice(0));
    MUST(cudaMalloc((void **)&from, BYTES));
    MUST(cudaMemset(from, 0x5a, BYTES));
    MUST(cudaDeviceSynchronize());
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc((void **)&to, BYTES));
    if (can)
        MUST(cudaDeviceEnablePeerAccess(0, 0));
    for (int i = 0; i < TIMES; i++)
        MUST(cudaMemcpyPeer(to, 1, from, 0, BYTES));
    MUST(cudaMemcpy(host, to, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++)
        EXPECT(host[i] == 0x5a);
    // Without peer access the driver goes through the host, in as many copies as it likes.
    if (can)
        printf("memcpy p2p %d %d\nmemcpy d2h 1 %d\n", TIMES, TIMES * BYTES, BYTES);
    printf("memset 1 %d\n", BYTES);
    free(host);
    return 0;
}
