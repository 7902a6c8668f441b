// SPDX-License-Identifier: Apache-2.0
// Makes NVTX calls, and prints them: nvtx_say WHAT [COUNT].
//   everything   every kind of range and mark once
//   many         COUNT ranges on each of two threads
//   unbalanced   pops without pushes, ranges that are never ended, a thread that ends within a range
//   killed       COUNT ranges, two left open, then SIGKILL
//   forked       a range around a fork; parent and child each emit one of their own
//   cost         the time of COUNT ranges, in ns
#ifdef NVTX_REAL
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx_mini.h"
#endif

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static nvtxEventAttributes_t event(const char *text) {
    nvtxEventAttributes_t made;
    memset(&made, 0, sizeof made);
    made.version = NVTX_VERSION;
    made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    made.messageType = NVTX_MESSAGE_TYPE_ASCII;
    made.message.ascii = text;
    return made;
}

// Long enough for every clock to see it.
static void moment(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000);
}

static void payloads(nvtxDomainHandle_t domain) {
    nvtxEventAttributes_t said = event("payload");
    for (int type = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; type <= NVTX_PAYLOAD_TYPE_FLOAT; type++) {
        said.payloadType = type;
        said.payload.ullValue = 0;
        switch (type) {
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
            said.payload.ullValue = UINT64_MAX;
            break;
        case NVTX_PAYLOAD_TYPE_INT64:
            said.payload.llValue = -1234567890123;
            break;
        case NVTX_PAYLOAD_TYPE_DOUBLE:
            said.payload.dValue = 0.1;
            break;
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
            said.payload.uiValue = 4000000000u;
            break;
        case NVTX_PAYLOAD_TYPE_INT32:
            said.payload.iValue = -7;
            break;
        default:
            said.payload.fValue = 1.5f;
        }
        nvtxDomainMarkEx(domain, &said);
    }
}

// Levels that the pushes and pops returned, which show the program that they are nested correctly.
static void everything(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("my domain");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxEventAttributes_t said = event("in domain");
    int levels[8], at = 0;
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the first thread");
    nvtxNameCategoryA(5, "my category");
    nvtxDomainNameCategoryA(domain, 5, "its category");
    levels[at++] = nvtxRangePushA("outer");
    levels[at++] = nvtxRangePushW(L"inn\u00e9r \U0001f600");
    said.category = 5;
    said.colorType = NVTX_COLOR_ARGB;
    said.color = 0xff112233;
    levels[at++] = nvtxDomainRangePushEx(domain, &said);
    said.message.registered = registered;
    said.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    said.category = 77;
    levels[at++] = nvtxDomainRangePushEx(domain, &said);
    moment();
    levels[at++] =
        nvtxRangePop(); // of the default domain: "inner", though two of the other one came after it
    moment();
    levels[at++] = nvtxDomainRangePop(domain);
    levels[at++] = nvtxDomainRangePop(domain);
    levels[at++] = nvtxRangePop();
    nvtxRangeId_t first = nvtxRangeStartA("first");
    said = event("second");
    nvtxRangeId_t second = nvtxDomainRangeStartEx(domain, &said);
    moment();
    nvtxRangeEnd(first);
    moment();
    nvtxDomainRangeEnd(domain, second);
    nvtxMarkA("a mark");
    payloads(domain);
    nvtxDomainDestroy(domain);
    printf("{\"levels\": [");
    for (int i = 0; i < at; i++)
        printf("%s%d", i ? ", " : "", levels[i]);
    printf("], \"tid\": %ld}\n", syscall(SYS_gettid));
}

static long count = 1000;

static void *many(void *unused) {
    char text[32];
    (void)unused;
    for (long i = 0; i < count; i++) {
        snprintf(text, sizeof text, "range %ld", i % 100);
        nvtxRangePushA(text);
        nvtxRangePop();
    }
    return NULL;
}

static void *ends_within(void *unused) {
    (void)unused;
    nvtxRangePushA("its thread ended");
    return NULL;
}

static void unbalanced(void) {
    pthread_t thread;
    int popped = nvtxRangePop();
    nvtxRangeEnd(123456789);
    nvtxRangePushA("never ended");
    nvtxRangeStartA("started, never ended");
    pthread_create(&thread, NULL, ends_within, NULL);
    pthread_join(thread, NULL);
    nvtxRangePushA("ended");
    nvtxRangePop();
    printf("{\"popped\": %d}\n", popped);
}

static void forked(void) {
    nvtxRangePushA("around");
    pid_t child = fork();
    nvtxRangePushA(child ? "parent" : "child");
    moment();
    nvtxRangePop();
    nvtxRangePop();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
}

static void cost(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++) {
        nvtxRangePushA("a range");
        nvtxRangePop();
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%.2f\n",
           (double)((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec) / (double)count);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "everything";
    count = argc > 2 ? strtol(argv[2], NULL, 10) : count;
    if (strcmp(what, "everything") == 0) {
        everything();
    } else if (strcmp(what, "many") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, many, NULL);
        many(NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "names") == 0) { // ranges of these names
        for (int i = 2; i < argc; i++) {
            nvtxRangePushA(argv[i]);
            nvtxRangePop();
        }
    } else if (strcmp(what, "unbalanced") == 0) {
        unbalanced();
    } else if (strcmp(what, "killed") == 0) {
        many(NULL);
        nvtxRangePushA("open");
        nvtxRangeStartA("open too");
        raise(SIGKILL);
    } else if (strcmp(what, "forked") == 0) {
        forked();
    } else if (strcmp(what, "cost") == 0) {
        cost();
    } else {
        fprintf(stderr, "nvtx_say: what is '%s'?\n", what);
        return 2;
    }
    return 0;
}
