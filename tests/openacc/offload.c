// SPDX-License-Identifier: Apache-2.0
// An OpenACC program that knows nothing of TraceSmith: offload STEPS [fork | forever]. For test_host.sh.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 1000 };
static float values[ITEMS];

static void work(int steps) {
    for (int i = 0; i < ITEMS; i++)
        values[i] = (float)i;
    for (int step = 0; step < steps; step++) {
#pragma acc parallel loop copy(values)
        for (int i = 0; i < ITEMS; i++)
            values[i] += 1;
#pragma acc data copy(values)
        {
#pragma acc kernels
            for (int i = 0; i < ITEMS; i++)
                values[i] *= 2;
#pragma acc update self(values)
        }
    }
#pragma acc enter data copyin(values)
#pragma acc exit data delete (values)
}

int main(int count, char **words) {
    const int steps = atoi(words[1]);
    work(steps);
    printf("%g\n", (double)values[10]);
    fflush(stdout);
    if (count > 2 && strcmp(words[2], "forever") == 0)
        for (;;)
            pause();
    if (count > 2 && strcmp(words[2], "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            work(steps);
            _exit(0);
        }
        int status = 1;
        return waitpid(child, &status, 0) == child && status == 0 ? 0 : 5;
    }
    return 0;
}
