// SPDX-License-Identifier: Apache-2.0
//
// Calls drivers by their device nodes a known number of times, from two threads and a child process, and prints when, on
// CLOCK_MONOTONIC_RAW: ioctl on /dev/null, mmap of /dev/zero, whose pages it touches, and ioctl on a pipe, which is no device.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 40, PAGES = 8 };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *call(void *name) {
    struct role {
        int64_t before[CALLS], after[CALLS];
        int error[CALLS];
    } *role = calloc(1, sizeof *role);
    const int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR);
    const long page = sysconf(_SC_PAGESIZE);
    int ends[2], bytes;
    if (!role || null < 0 || zero < 0 || pipe(ends))
        exit(1);
    for (unsigned i = 0; i < CALLS; i++) {
        role->before[i] = now();
        role->error[i] = ioctl(null, _IOC(_IOC_READ | _IOC_WRITE, 'T', i, 24), NULL) ? errno : 0;
        role->after[i] = now();
        ioctl(ends[0], FIONREAD, &bytes);
    }
    volatile char *memory = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    if (memory == MAP_FAILED)
        exit(1);
    for (int i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    printf("\"%s\":{\"pid\":%d,\"tid\":%ld,\"address\":%llu,\"bytes\":%ld,\"page\":%ld,\"calls\":[",
           (char *)name, getpid(), (long)syscall(SYS_gettid), (unsigned long long)(uintptr_t)memory,
           PAGES * page, page);
    for (unsigned i = 0; i < CALLS; i++)
        printf("%s[%u,%lld,%lld,%d]", i ? "," : "", (unsigned)_IOC(_IOC_READ | _IOC_WRITE, 'T', i, 24),
               (long long)role->before[i], (long long)role->after[i], role->error[i]);
    printf("]},");
    fflush(stdout);
    pthread_mutex_unlock(&one);
    free(role);
    return NULL;
}

int main(void) {
    pthread_t thread;
    int status;
    printf("{");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        call((char[]){"child"});
        return 0;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 1;
    char other[] = "thread", self[] = "main";
    if (pthread_create(&thread, NULL, call, other))
        return 1;
    call(self);
    pthread_join(thread, NULL);
    puts("\"end\":{}}");
    return 0;
}
