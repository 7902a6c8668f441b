// SPDX-License-Identifier: Apache-2.0
// The code that the kernel maps into every process ("[vdso]"), as a file.
#ifndef SYMBOLS_VDSO_H
#define SYMBOLS_VDSO_H

// A file in memory with this process's copy, which is that of every process of 64 bits on this machine; -1: there is none. The
// caller closes it.
int vdso_open(void);

#endif
