// SPDX-License-Identifier: Apache-2.0
// A program of the imaginary GPU, which knows nothing of any tool: launches two kernels in turns on two queues.
//
//   toy_program [LAUNCHES] [forever]
//
// Prints how many launches each queue took. With "forever" it then waits to be killed, after it has launched one more.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "toy_gpu.h"

int main(int count, char **words) {
    const long launches = count > 1 ? strtol(words[1], NULL, 10) : 10;
    toy_queue *queues[2] = {toy_queue_create(), toy_queue_create()};
    long taken[2] = {0, 0};
    if (!queues[0] || !queues[1])
        return 1;
    for (long i = 0; i < launches; i++) {
        taken[i % 2] += toy_launch(queues[i % 2], i % 3 ? "scale" : "add", 100) == 0;
        if (i % 20 == 19)
            toy_finish(queues[0]);
    }
    if (count > 2 && strcmp(words[2], "forever") == 0) {
        toy_finish(queues[0]);
        toy_finish(queues[1]);
        toy_launch(queues[0], "endless", 999999999 / 1000);
        printf("%ld %ld\n", taken[0] + 1, taken[1]);
        fflush(stdout);
        pause();
    }
    for (int i = 0; i < 2; i++) {
        toy_finish(queues[i]);
        toy_queue_destroy(queues[i]);
    }
    printf("%ld %ld\n", taken[0], taken[1]);
    return 0;
}
