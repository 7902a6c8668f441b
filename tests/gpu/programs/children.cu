// SPDX-License-Identifier: Apache-2.0
// Three children, each a CUDA program of its own: fork before CUDA is touched, then exec of this program.
#include <cuda_runtime.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { CHILDREN = 3, TIMES = 30 };

extern "C" __global__ void in_child(int *values) {
    values[threadIdx.x] += 1;
}

static int child(void) {
    int *values, host[32];
    need_devices(1);
    MUST(cudaMalloc((void **)&values, sizeof host));
    MUST(cudaMemset(values, 0, sizeof host));
    for (int i = 0; i < TIMES; i++)
        in_child<<<1, 32>>>(values);
    MUST(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[7] == TIMES);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child();
    char *const words[] = {argv[0], (char *)"child", NULL};
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        const pid_t pid = fork();
        if (pid == 0) {
            if (freopen("/dev/null", "w", stdout))
                execv("/proc/self/exe", words);
            _exit(1);
        }
        EXPECT(waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            lacks("no GPU");
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    printf("kernel in_child %d\nmemset %d %zu\nmemcpy d2h %d %zu\n", CHILDREN * TIMES, CHILDREN,
           CHILDREN * 32 * sizeof(int), CHILDREN, CHILDREN * 32 * sizeof(int));
    return 0;
}
