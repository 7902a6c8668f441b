// SPDX-License-Identifier: Apache-2.0
// getauxval, by which base/hash.c asks for the instruction for CRC32C: every arm64 processor of Apple has it.
#ifndef PLATFORM_MACOS_AUXV_H
#define PLATFORM_MACOS_AUXV_H

enum { AT_HWCAP = 16 };

static inline unsigned long getauxval(unsigned long what) {
    return what == AT_HWCAP ? 1 << 7 : 0;
}

#endif
