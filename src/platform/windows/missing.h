// SPDX-License-Identifier: Apache-2.0
// What reading code takes from the C library and Windows' has not; given to every file that is built for Windows, by -include.
#ifndef PLATFORM_WINDOWS_MISSING_H
#define PLATFORM_WINDOWS_MISSING_H

#include <errno.h>
#include <stddef.h>

#ifndef EDQUOT
#define EDQUOT ENOSPC_QUOTA
enum { ENOSPC_QUOTA = 10069 }; // of Winsock: no file operation gives it
#endif

void *memmem(const void *bytes, size_t size, const void *wanted, size_t length);
void *memrchr(const void *bytes, int byte, size_t size);
char *strcasestr(const char *text, const char *wanted);
char *strndup(const char *text, size_t most);
int wcwidth(wchar_t character);

#endif
