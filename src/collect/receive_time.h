// SPDX-License-Identifier: Apache-2.0
// When a datagram came: the kernel notes the moment (SO_TIMESTAMPNS), tens of microseconds before the process wakes up that
// receives it. The note is a time of CLOCK_REALTIME. It is not used if that clock was stepped after the note was
// made. The clock probe calls it.
#ifndef COLLECT_RECEIVE_TIME_H
#define COLLECT_RECEIVE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

// CLOCK_REALTIME less CLOCK_MONOTONIC: it changes only where the first is stepped. The true value is in between.
struct receive_offset {
    int64_t low, high; // ns
};

struct receive_time {
    struct receive_offset before; // when no datagram was there
    struct receive_offset now;    // of the last receive_time_look
};

// A buffer for the note of the kernel, as control data of recvmsg.
union receive_note {
    char bytes[CMSG_SPACE(sizeof(struct timespec))];
    struct cmsghdr align;
};

// Asks the kernel for the notes.
void receive_time_start(struct receive_time *time, int socket);
// Before each recvmsg.
void receive_time_look(struct receive_time *time);
// After a recvmsg that found nothing: what comes now comes after the last look.
void receive_time_empty(struct receive_time *time);
// After a recvmsg of `message`: how long ago it came, ns, by the kernel's note. Never more than it was; 0 if there is no note,
// or it cannot be trusted.
int64_t receive_time_age(struct receive_time *time, struct msghdr *message);

#endif
