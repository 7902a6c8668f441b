// SPDX-License-Identifier: Apache-2.0
// One thread of a library waits until another one has changed a word: by a futex, so that it continues at once, and by the clock, so that
// the limit holds where threads wait long for a processor. For agents; never on the event path. errno stays.
#ifndef AGENTKIT_WAIT_H
#define AGENTKIT_WAIT_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

// Until the word is not `now` any more, wait_wake was called, or it is `until` (trace time). May also return before that. False: it is
// that late.
static inline bool wait_change(_Atomic uint32_t *word, uint32_t now, int64_t until) {
    enum { SECOND = 1000000000 };
    const int saved = errno;
    const int64_t left = until - clock_trace_now();
    if (left <= 0)
        return false;
    const struct timespec most = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, &most, NULL, 0);
    errno = saved;
    return true;
}

// After the word was changed.
static inline void wait_wake(_Atomic uint32_t *word) {
    const int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

#endif
