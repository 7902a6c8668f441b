// SPDX-License-Identifier: Apache-2.0
// The age of a datagram by the kernel's note, on simulated clocks: never more than it is, close to it while no clock is stepped,
// and 0 where a step, or an interrupted reading, leaves it unknown. And with real datagrams: no age is longer than the
// time since sending began.
#include "support/test.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/receive_time.h"

static bool simulated;
static int64_t truth, wall_offset, per_reading; // ns; of the simulated clocks
static double wall_rate = 1;                    // of both, against the truth

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!simulated)
        return (int)syscall(SYS_clock_gettime, clock, time);
    truth += per_reading;
    int64_t now = clock == CLOCK_MONOTONIC_RAW ? truth : (int64_t)((double)truth * wall_rate);
    now += clock == CLOCK_REALTIME ? wall_offset : 0;
    *time = (struct timespec){.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000};
    return 0;
}

static struct msghdr message_with(union receive_note *note, int64_t wall) {
    struct msghdr message = {.msg_control = note, .msg_controllen = sizeof *note};
    const struct timespec time = {.tv_sec = wall / 1000000000, .tv_nsec = wall % 1000000000};
    memset(note, 0, sizeof *note);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_TIMESTAMPNS;
    part->cmsg_len = CMSG_LEN(sizeof time);
    memcpy(CMSG_DATA(part), &time, sizeof time);
    return message;
}

// The age that is found of a datagram that comes after 5 ms and waits for `waits` ns; `step`: of the wall clock, while it waits.
static int64_t age_after(int64_t waits, int64_t step) {
    struct receive_time time = {0};
    union receive_note note;
    simulated = true;
    receive_time_start(&time, -1);
    receive_time_look(&time);
    receive_time_empty(&time);
    truth += 5000000;
    struct msghdr message = message_with(&note, (int64_t)((double)truth * wall_rate) + wall_offset);
    truth += waits;
    wall_offset += step;
    receive_time_look(&time);
    const int64_t age = receive_time_age(&time, &message);
    simulated = false;
    return age;
}

static void age_is_never_too_long(void **unused) {
    (void)unused;
    static const double rates[] = {1, 1 + 499e-6, 1 - 499e-6, 1.1, 0.9};
    truth = INT64_C(3600000000000);
    wall_offset = INT64_C(1700000000000000000);
    per_reading = 25;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        wall_rate = rates[i];
        for (int64_t waits = 0; waits < 400000; waits += 977) {
            const int64_t age = age_after(waits, 0);
            // The clock is read once more after the message has waited.
            assert_true(is_between(age, waits > 1000 ? waits * 80 / 100 - 400 : 0, waits + per_reading));
        }
    }
    wall_rate = 1;
}

static void step_makes_it_unknown(void **unused) {
    (void)unused;
    per_reading = 25;
    for (int64_t step = 200; step < INT64_C(10000000000); step *= 3) {
        assert_int_equal(age_after(20000, step), 0);
        assert_int_equal(age_after(20000, -step), 0);
    }
    per_reading = 5000; // interrupted
    assert_int_equal(age_after(20000, 0), 0);
}

static void no_note_is_age_0(void **unused) {
    (void)unused;
    struct receive_time time = {0};
    struct msghdr message = {0};
    per_reading = 25;
    simulated = true;
    receive_time_start(&time, -1);
    assert_int_equal(receive_time_age(&time, &message), 0);
    simulated = false;
}

static void real_datagrams(void **unused) {
    (void)unused;
    const int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct receive_time time;
    assert_int_equal(bind(receiver, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(receiver, (struct sockaddr *)&address, &length), 0);
    receive_time_start(&time, receiver);
    for (int i = 0; i < 1000; i++) {
        char byte = 'x';
        union receive_note note;
        struct iovec part = {.iov_base = &byte, .iov_len = 1};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &note, .msg_controllen = sizeof note};
        receive_time_look(&time);
        receive_time_empty(&time);
        const int64_t sent = clock_trace_now();
        assert_int_equal(sendto(sender, &byte, 1, 0, (struct sockaddr *)&address, length), 1);
        assert_int_equal(recvmsg(receiver, &message, 0), 1);
        const int64_t age = receive_time_age(&time, &message);
        const int64_t now = clock_trace_now();
        assert_true(is_between(age, 0, now - sent));
    }
    close(receiver);
    close(sender);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(age_is_never_too_long),
        cmocka_unit_test(step_makes_it_unknown),
        cmocka_unit_test(no_note_is_age_0),
        cmocka_unit_test(real_datagrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
