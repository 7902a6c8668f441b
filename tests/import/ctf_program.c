// SPDX-License-Identifier: Apache-2.0
// A program with tracepoints of LTTng-UST, for test_ctf_lttng.sh: prints how many it passed.  usage: ctf_program COUNT
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "ctf_program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int count;

static void *pass(void *argument) {
    static const int values[] = {7, -8, 9, 10};
    (void)argument;
    for (int i = 0; i < count; i++) {
        lttng_ust_tracepoint(tracesmith_test, work_entry, i);
        lttng_ust_tracepoint(tracesmith_test, every, i, i % 2 ? "a text, \"quoted\"" : "text", values,
                             (size_t)(i % 5), (size_t)(1 + i % 4));
        lttng_ust_tracepoint(tracesmith_test, work_exit, i);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    count = argc > 1 ? atoi(argv[1]) : 100;
    if (pthread_create(&thread, NULL, pass, NULL) != 0)
        return 1;
    (void)pass(NULL);
    (void)pthread_join(thread, NULL);
    printf("%d\n", 6 * count);
    return 0;
}
