// SPDX-License-Identifier: Apache-2.0
// Warns each user once that the kernels of a recording run as native code. `replay` calls it before it runs a
// recording.
#include "replay_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options/command.h"
#include "cli/present/terminal.h"

static const char name[] =
    "replay-notice"; // in the folder tracesmith of the user's state: the notice was shown

// A folder within another, created if missing; -1 if that fails, or if it belongs to another user. Closes `parent`.
static int enter(int parent, const char *folder) {
    struct stat status;
    if (parent < 0)
        return -1;
    int fd = mkdirat(parent, folder, 0700) == 0 || errno == EEXIST
                 ? openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    close(parent);
    if (fd >= 0 && (fstat(fd, &status) || status.st_uid != geteuid())) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_state(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && state[0] == '/' && (mkdir(state, 0700) == 0 || errno == EEXIST))
        return enter(open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "tracesmith");
    if (!home || home[0] != '/')
        return -1;
    return enter(enter(enter(open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ".local"), "state"),
                 "tracesmith");
}

// Whether this is the first time; where that cannot be stored, every time is.
static bool is_first(void) {
    const int folder = open_state();
    if (folder < 0)
        return true;
    const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool first = fd >= 0 || errno != EEXIST;
    if (fd >= 0)
        close(fd);
    close(folder);
    return first;
}

void replay_notice(void) {
    if (is_first())
        complain(
            "a replay runs the recording's kernels as native code, with your rights; --sandbox restricts "
            "it, for recordings of others (this notice is shown once)");
}
