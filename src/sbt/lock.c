// SPDX-License-Identifier: Apache-2.0
// Locks a trace file for its one writer, and finds the process that holds the lock. file.c calls it, and who reads a file that grows.
#include "sbt/lock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "sbt/reader.h"

struct taken_lock {
    pid_t holder;
    unsigned long major, minor;
    unsigned long long inode;
};

// A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF". False: it is of something else.
static bool read_lock(const char *line, struct taken_lock *lock) {
    static const char before[] = " WRITE ";
    const char *at = strstr(line, " FLOCK ") ? strstr(line, before) : NULL;
    char *end;
    if (!at)
        return false;
    lock->holder = (pid_t)strtol(at + sizeof before - 1, &end, 10);
    if (lock->holder <= 0 || *end != ' ')
        return false;
    lock->major = strtoul(end + 1, &end, 16);
    if (*end != ':')
        return false;
    lock->minor = strtoul(end + 1, &end, 16);
    if (*end != ':')
        return false;
    lock->inode = strtoull(end + 1, &end, 10);
    return *end == ' ';
}

// The process that holds the lock, as the kernel lists it. Some file systems list another device than stat reports,
// so the inode number alone is used if no line has both.
static pid_t find_holder(int fd) {
    struct stat file;
    FILE *locks = fopen("/proc/locks", "re");
    char line[256];
    pid_t found = 0;
    bool exact = false;
    if (!locks)
        return 0;
    if (fstat(fd, &file) == 0)
        while (!exact && fgets(line, sizeof line, locks)) {
            struct taken_lock lock;
            if (!read_lock(line, &lock) || lock.inode != (unsigned long long)file.st_ino)
                continue;
            exact = lock.major == major(file.st_dev) && lock.minor == minor(file.st_dev);
            found = lock.holder;
        }
    fclose(locks);
    return found;
}

bool lock_take(int fd, pid_t *holder) {
    *holder = 0;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return true;
    *holder = find_holder(fd);
    // A child that the writer forked may have the file open a little longer than the writer lives.
    return *holder && kill(*holder, 0) != 0 && errno == ESRCH;
}

uint64_t tsmith_sbt_writer_process(const tsmith_sbt *trace) {
    const pid_t holder = find_holder(trace->fd);
    return holder && (kill(holder, 0) == 0 || errno != ESRCH) ? (uint64_t)holder : 0;
}
