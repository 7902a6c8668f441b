// SPDX-License-Identifier: Apache-2.0
// The age of a datagram by the kernel's note. An age that is too small makes the bound of a probe wider, one that is too large
// would make it wrong: each step errs to the small side.
#include "collect/receive_time.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

// Above it a reading was interrupted, and says too little about steps.
static const int64_t WIDEST = 2000;
// A note that is older waited in the queue; the probes pass over such ones anyway.
static const int64_t OLDEST = 10000000;

static struct receive_offset read_offset(void) {
    const int64_t before = clock_now(CLOCK_MONOTONIC), wall = clock_now(CLOCK_REALTIME),
                  after = clock_now(CLOCK_MONOTONIC);
    return (struct receive_offset){wall - after, wall - before};
}

void receive_time_start(struct receive_time *time, int socket) {
    const int on = 1;
    // Without notes the age is 0.
    (void)setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    time->before = time->now = read_offset();
}

void receive_time_look(struct receive_time *time) {
    time->now = read_offset();
}

void receive_time_empty(struct receive_time *time) {
    time->before = time->now;
}

static bool find_note(struct msghdr *message, int64_t *out) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        struct timespec note;
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS ||
            part->cmsg_len < CMSG_LEN(sizeof note))
            continue;
        memcpy(&note, CMSG_DATA(part), sizeof note);
        *out = (int64_t)note.tv_sec * 1000000000 + note.tv_nsec;
        return true;
    }
    return false;
}

int64_t receive_time_age(struct receive_time *time, struct msghdr *message) {
    int64_t note;
    if (!find_note(message, &note))
        return 0;
    const int64_t wall = clock_now(CLOCK_REALTIME);
    const struct receive_offset before = time->before, after = read_offset();
    const int64_t doubt = before.high - before.low + after.high - after.low;
    const bool is_stepped = before.high < after.low || after.high < before.low;
    const int64_t age = wall - note;
    if (is_stepped || doubt > WIDEST || age < 0 || age > OLDEST)
        return 0;
    // A step within the doubt cannot be seen. CLOCK_REALTIME is slewed by at most 10 % (adjtimex, the length of a tick).
    const int64_t sure = age - age / 10 - 1 - doubt;
    return sure > 0 ? sure : 0;
}
