// SPDX-License-Identifier: Apache-2.0
// Detects that the session directory was removed during a recording, and reports it as a loss. src/api/capture.c calls
// it.
#include "collect/gone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "collect/loss_source.h"

static const int64_t INTERVAL = 100000000; // ns between looks

// Another file of that name is another session's.
static bool is_there(const struct session_directory *directory) {
    char path[sizeof directory->path + sizeof LAYOUT_CONTROL_NAME + 1];
    struct stat ours, found;
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, LAYOUT_CONTROL_NAME);
    return fstatat(directory->fd, LAYOUT_CONTROL_NAME, &ours, AT_SYMLINK_NOFOLLOW) == 0 &&
           lstat(path, &found) == 0 && ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
}

void gone_look(struct gone *gone, const struct session_directory *directory, bool at_once) {
    const int64_t now = clock_trace_now();
    if (gone->is_gone || (gone->there_at && !at_once && now - gone->there_at < INTERVAL))
        return;
    if (is_there(directory))
        gone->there_at = now;
    else
        gone->is_gone = true;
}

// ---- the loss

struct told {
    const struct gone *gone;
    bool told;
};

static bool find(void *self, struct loss *out) {
    struct told *told = self;
    if (told->told || !told->gone->is_gone)
        return false;
    told->told = true;
    *out =
        (struct loss){.track = "session",
                      .text = "the session directory was removed while the program ran: what started after "
                              "that was not recorded",
                      .reason = TSMITH_REASON_FILES_DAMAGED,
                      .since = told->gone->there_at};
    return true;
}

tsmith_status gone_source_create(const struct gone *gone, tsmith_source **out) {
    static const struct loss_finder finder = {find, free};
    struct told *told = calloc(1, sizeof *told);
    if (told)
        told->gone = gone;
    return loss_source_create(&finder, told, out);
}
