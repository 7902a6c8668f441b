// SPDX-License-Identifier: Apache-2.0
// What reading code takes from the C library and Windows' has not; given to every file that is built for Windows, by -include. Headers
// that Windows has not are in headers/.
#ifndef PLATFORM_WINDOWS_MISSING_H
#define PLATFORM_WINDOWS_MISSING_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#undef DOMAIN // a word of math.h, and of ours
#include "platform/other/stable_sort.h"

#ifndef EDQUOT
#define EDQUOT ENOSPC_QUOTA
enum { ENOSPC_QUOTA = 10069 }; // of Winsock: no file operation gives it
#endif

void *memmem(const void *bytes, size_t size, const void *wanted, size_t length);
void *memrchr(const void *bytes, int byte, size_t size);
char *strcasestr(const char *text, const char *wanted);
char *strndup(const char *text, size_t most);
int wcwidth(wchar_t character);
FILE *open_memstream(char **text, size_t *size); // fails: for the plan of a statement over many hosts alone

// Windows cannot free such memory with free(). Its alignment matters for speed alone.
#define aligned_alloc(alignment, size) ((void)(alignment), malloc(size))

// ---- files: those that are opened are read as bytes, and child processes do not get them

#define O_CLOEXEC (_O_BINARY | _O_NOINHERIT)
#define O_NONBLOCK 0
#define O_NOCTTY 0

ssize_t pread(int fd, void *into, size_t size, off_t offset);
int mkostemp(char *name, int flags); // fails: for exports to a path alone
// Of the folder that was opened last. One thread at a time.
DIR *windows_opendir(const char *path);
int windows_openat(const char *name, int flags);
#define opendir(path) windows_opendir(path)
#define dirfd(folder) ((void)(folder), 0)
#define openat(folder, name, flags) ((void)(folder), windows_openat(name, flags))
#define lstat(path, out) stat(path, out)
#define fchmod(fd, mode) ((void)(fd), (void)(mode), 0)

// Of numbers above 0.
static inline double lgamma_r(double x, int *sign) {
    *sign = 1;
    return lgamma(x);
}

// ---- threads: one processor is assumed, so that none is started

#ifndef _POSIX
typedef _sigset_t sigset_t;
#endif
#define sigfillset(set) (*(set) = 0)
#undef pthread_sigmask
#define pthread_sigmask(how, set, had) windows_sigmask(set, had)
static inline int windows_sigmask(const sigset_t *set, sigset_t *had) {
    if (had)
        *had = *set;
    return 0;
}

// ---- numbers are read in the locale of C: nothing sets another one

typedef int locale_t;
enum { LC_ALL_MASK = 1 };
#define newlocale(mask, name, base) ((void)(mask), (void)(name), (void)(base), 1)
#define freelocale(locale) ((void)(locale))
#define strtod_l(text, end, locale) ((void)(locale), strtod(text, end))

// How much memory the machine has is not asked: TRACESMITH_MEMORY_LIMIT states a limit.
enum { _SC_PHYS_PAGES, _SC_PAGESIZE };
#define sysconf(name) ((void)(name), -1L)

#endif
