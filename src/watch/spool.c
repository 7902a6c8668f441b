// SPDX-License-Identifier: Apache-2.0
// Writes the records of a watch or a sampler to their file. Both call it from their readers' threads.
#include "watch/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"

enum { BUFFER = 1 << 20 };

tsmith_status watch_spool_open(struct watch_spool *spool, const char *directory, const char *name,
                               tsmith_error *error) {
    char path[4096 + 64];
    *spool = WATCH_SPOOL_NONE;
    spool->buffer = malloc(BUFFER);
    if (!spool->buffer)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while preparing to record kernel events");
    snprintf(path, sizeof path, "%s/%s", directory, name);
    spool->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return spool->fd < 0 ? status_set_errno(error, "%s cannot be created", path) : TSMITH_OK;
}

void watch_spool_flush(struct watch_spool *spool) {
    if (spool->buffered && !spool->failure && !file_write(spool->fd, spool->buffer, spool->buffered))
        spool->failure = errno;
    spool->buffered = 0;
}

void watch_spool_put(struct watch_spool *spool, const void *record, size_t size) {
    const struct watch_size head = {(uint32_t)size, AGENT_BPF_INTERFACE};
    if (size > WATCH_RECORD_MOST || spool->failure) {
        spool->unspooled++;
        return;
    }
    if (sizeof head + size > BUFFER - spool->buffered)
        watch_spool_flush(spool);
    memcpy(spool->buffer + spool->buffered, &head, sizeof head);
    memcpy(spool->buffer + spool->buffered + sizeof head, record, size);
    spool->buffered += sizeof head + size;
}

void watch_spool_close(struct watch_spool *spool) {
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool->buffer);
    *spool = WATCH_SPOOL_NONE;
}
