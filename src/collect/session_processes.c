// SPDX-License-Identifier: Apache-2.0
// A process that becomes a daemon leaves its parent, its group and its session, and closes its descriptors; its
// environment it keeps. It is also what makes an agent attach: without it, a process is none of ours.
#include "collect/session_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/channel.h"

// Looks for `wanted` (length counts its final NUL) in a file of NUL-terminated strings, however long it is: the end of
// each piece is kept in front of the next.
static bool file_has_string(int fd, const char *wanted, size_t length) {
    char piece[16384];
    size_t kept = 0;
    bool at_start = true; // of a string, at piece[0]
    for (;;) {
        ssize_t got = read(fd, piece + kept, sizeof piece - kept);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        size_t end = kept + (size_t)got, from = 0;
        for (size_t at = 0; at + length <= end; at++) {
            bool starts = at == 0 ? at_start : piece[at - 1] == '\0';
            if (starts && memcmp(piece + at, wanted, length) == 0)
                return true;
        }
        if (end >= length) {
            from = end - length + 1;
            at_start = from > 0 ? piece[from - 1] == '\0' : at_start;
            kept = end - from;
            memmove(piece, piece + from, kept);
        } else {
            kept = end;
        }
    }
}

static bool is_of_session(const char *pid, const char *wanted, size_t length, uint32_t *unclear) {
    char path[64], first;
    (void)snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; // gone, or another user's: those do not attach either
    bool has = file_has_string(fd, wanted, length);
    // Only threads of the kernel have no program either.
    if (!has && pread(fd, &first, 1, 0) == 0) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
        *unclear += readlink(path, &first, 1) > 0;
    }
    close(fd);
    return has;
}

uint32_t session_processes_alive(const char *session_directory, uint32_t *unclear) {
    char wanted[4096 + sizeof CHANNEL_ENVIRONMENT];
    int length = snprintf(wanted, sizeof wanted, CHANNEL_ENVIRONMENT "=%s", session_directory);
    *unclear = 0;
    if (length < 0 || (size_t)length >= sizeof wanted)
        return 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    uint32_t alive = 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        bool process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (process && strtol(entry->d_name, NULL, 10) != getpid())
            alive += is_of_session(entry->d_name, wanted, (size_t)length + 1, unclear);
    }
    closedir(proc);
    return alive;
}
