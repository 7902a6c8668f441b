// SPDX-License-Identifier: Apache-2.0
// Reads a PTP hardware clock as the kernel offers it to processes: a clock that belongs to an open file. src/api/capture.c calls it.
#include "collect/ptp_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"

enum { ATTEMPTS = 25 };
static const int64_t INTERVAL = 1000000000;

// As clock_getres(2) describes it: dynamic clocks have the file descriptor in the upper bits.
static clockid_t clock_of(int fd) {
    return (clockid_t)((~(unsigned)fd << 3) | 3u);
}

static bool read_clock(int fd, int64_t *out) {
    struct timespec now;
    if (clock_gettime(clock_of(fd), &now) != 0)
        return false;
    return !__builtin_mul_overflow((int64_t)now.tv_sec, INT64_C(1000000000), out) &&
           !__builtin_add_overflow(*out, (int64_t)now.tv_nsec, out);
}

tsmith_status ptp_clock_open(struct ptp_clock *ptp, const char *device, int64_t error_ns,
                             tsmith_error *error) {
    int64_t now;
    *ptp = (struct ptp_clock){.fd = open(device, O_RDONLY | O_CLOEXEC), .error = error_ns};
    if (ptp->fd < 0)
        return status_set_errno(error, "the PTP hardware clock %s cannot be opened", device);
    ptp->is_open = true;
    if (read_clock(ptp->fd, &now))
        return TSMITH_OK;
    const tsmith_status status = status_set(
        error, TSMITH_ERROR_INVALID_ARGUMENT,
        "%s is no PTP hardware clock; the clocks of this machine are /dev/ptp0, /dev/ptp1, ...", device);
    ptp_clock_close(ptp);
    return status;
}

void ptp_clock_compare(struct ptp_clock *ptp, tsmith_dictionary *dictionary, bool at_once) {
    int64_t best = INT64_MAX, there = 0, here = 0;
    if (!ptp->is_open || (!at_once && ptp->clock && clock_trace_now() - ptp->compared < INTERVAL))
        return;
    for (int i = 0; i < ATTEMPTS; i++) {
        int64_t shown;
        const int64_t before = clock_trace_now();
        const bool good = read_clock(ptp->fd, &shown);
        const int64_t after = clock_trace_now();
        if (!good || after - before >= best)
            continue;
        best = after - before;
        there = shown;
        here = before + best / 2;
    }
    if (best == INT64_MAX)
        return; // the adapter is gone
    if (!ptp->clock)
        ptp->clock = tsmith_dictionary_add_clock(
            dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, TSMITH_CLOCK_PTP)});
    (void)tsmith_dictionary_add_clock_pair(dictionary,
                                           &(tsmith_clock_pair){.clock = ptp->clock,
                                                                .clock_time = there,
                                                                .trace_time = here,
                                                                .error = best / 2 + 1 + ptp->error});
    ptp->compared = clock_trace_now();
}

void ptp_clock_close(struct ptp_clock *ptp) {
    if (ptp->is_open)
        (void)close(ptp->fd);
    *ptp = (struct ptp_clock){0};
}
