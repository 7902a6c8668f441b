// SPDX-License-Identifier: Apache-2.0
// Reads code of this process that need not be there. The unwinder looks at code that nothing describes. Async-signal-safe.
#ifndef UNWIND_OWN_CODE_H
#define UNWIND_OWN_CODE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Whether the kernel can read the aligned word at `address`: a system call with an invalid request reads its argument first. It is one
// that sandboxes allow.
static inline bool own_code_is_readable(uint64_t address) {
    enum { NO_SUCH_CHANGE = 99 };
    const int saved = errno;
    const uint64_t word = address & ~(uint64_t)(sizeof(uint64_t) - 1);
    bool readable = syscall(SYS_rt_sigprocmask, NO_SUCH_CHANGE, word, NULL, sizeof word) && errno == EINVAL;
    errno = saved;
    return readable;
}

// Copies as much of `size` bytes of code as is there; returns how many that were.
static inline size_t own_code_copy(uint64_t pc, uint8_t *bytes, size_t size) {
    enum { PAGE = 4096 };
    const size_t first = PAGE - pc % PAGE < size ? PAGE - pc % PAGE : size;
    size_t there = own_code_is_readable(pc) ? first : 0;
    if (there && there < size && pc + there > pc && own_code_is_readable(pc + there))
        there = size;
    memcpy(bytes, (const void *)(uintptr_t)pc, there);
    return there;
}

#endif
