// SPDX-License-Identifier: Apache-2.0
// Reports recordings that stopped early as events of the loss ledger. src/api/capture.c calls it at the end of a
// capture.
#include "collect/recorder_losses.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/loss_source.h"
#include "recording/record.h"
#include "wire/channel.h"

enum { LAST_BYTES = 1024 }; // more than the record takes

struct losses {
    const char *path;
    DIR *listing; // NULL before the first call
};

// Whether these bytes at the end of the file end with the record of the reason why it ends.
static bool says_stopped(const uint8_t *bytes, size_t length) {
    struct recording_record record;
    const uint8_t *name;
    size_t name_length;
    for (size_t at = 0; at + RECORDING_HEADER <= length; at++) {
        size_t offset = at;
        if (recording_next(bytes, length, &offset, &record) == RECORDING_FOUND && offset == length)
            return record.type == RECORDING_REFUSED &&
                   recording_get_bytes(&record, RECORDING_KEY_NAME, &name, &name_length) &&
                   name_length == strlen(RECORDING_STOPPED) &&
                   memcmp(name, RECORDING_STOPPED, name_length) == 0;
    }
    return false;
}

// Whether the recording stopped, and since when: the file was written last then.
static bool stopped(int directory, const char *name, int64_t *since) {
    uint8_t bytes[LAST_BYTES];
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        got = pread(fd, bytes, sizeof bytes, status.st_size > LAST_BYTES ? status.st_size - LAST_BYTES : 0);
    if (fd >= 0)
        close(fd);
    if (got <= 0 || !says_stopped(bytes, (size_t)got))
        return false;
    int64_t written = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    int64_t ago = clock_now(CLOCK_REALTIME) - written;
    *since = clock_trace_now() - (ago > 0 ? ago : 0);
    return true;
}

static bool find(void *self, struct loss *out) {
    struct losses *losses = self;
    const size_t prefix = strlen(CHANNEL_RECORDING_PREFIX);
    if (!losses->listing)
        losses->listing = opendir(losses->path);
    for (struct dirent *entry; losses->listing && (entry = readdir(losses->listing)) != NULL;) {
        if (strncmp(entry->d_name, CHANNEL_RECORDING_PREFIX, prefix) != 0 ||
            !stopped(dirfd(losses->listing), entry->d_name, &out->since))
            continue;
        out->pid = strtoull(entry->d_name + prefix, NULL, 10);
        out->track = "recording for a replay";
        out->text = "the session directory ran out of space: the recording for replay ends here";
        out->reason = TSMITH_REASON_DISK_FULL;
        return true;
    }
    return false;
}

static void destroy(void *self) {
    struct losses *losses = self;
    if (losses->listing)
        closedir(losses->listing);
    free(losses);
}

tsmith_status recorder_losses_create(const char *directory, tsmith_source **out) {
    static const struct loss_finder finder = {find, destroy};
    struct losses *losses = calloc(1, sizeof *losses);
    if (losses)
        losses->path = directory;
    return loss_source_create(&finder, losses, out);
}
