// SPDX-License-Identifier: Apache-2.0
// Reads the totals that a running recording publishes (tracesmith/live.h). `tracesmith top` calls it.
#include "tracesmith/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/live_file.h"
#include "collect/session_directory.h"

static const int64_t LONG_SILENT = 60000000000; // ns

struct tsmith_live {
    char path[4096];
    int directory;
    int fd; // of the file with the totals; -1: not there yet
    struct live_file_place place;
};

static int request_totals(const tsmith_live *live) {
    const int fd =
        openat(live->directory, LIVE_REQUEST_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    const int wrong = futimens(fd, NULL) ? errno : 0;
    close(fd);
    return wrong;
}

tsmith_status tsmith_live_open(const char *directory, tsmith_live **out, tsmith_error *error) {
    struct session_directory session;
    *out = NULL;
    const tsmith_status status = session_directory_look(&session, directory, error);
    if (status)
        return status;
    tsmith_live *live = calloc(1, sizeof *live);
    if (live)
        live->directory = fcntl(session.fd, F_DUPFD_CLOEXEC, 0);
    session_directory_close(&session);
    if (!live)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while opening a recording");
    live->fd = -1;
    memcpy(live->path, directory, strnlen(directory, sizeof live->path - 1));
    errno = live->directory < 0 ? errno : request_totals(live);
    if (errno) {
        status_set_errno(error, "cannot request the totals of the recording in %s", directory);
        const tsmith_status failed = error ? error->status : TSMITH_ERROR_IO;
        tsmith_live_close(live);
        return failed;
    }
    *out = live;
    return TSMITH_OK;
}

// The file of totals, if it is one of the directory's owner.
static void open_file(tsmith_live *live) {
    struct stat file, directory;
    const int fd = openat(live->directory, LIVE_FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && fstat(live->directory, &directory) == 0 && S_ISREG(file.st_mode) &&
        file.st_uid == directory.st_uid)
        live->fd = fd;
    else
        close(fd);
}

static int is_text(const char text[TSMITH_LIVE_TEXT]) {
    return memchr(text, '\0', TSMITH_LIVE_TEXT) != NULL;
}

static int is_sound(const tsmith_live_totals *totals) {
    if (totals->device_count > TSMITH_LIVE_DEVICES || totals->device_kernel_count > TSMITH_LIVE_KERNELS ||
        totals->copy_count > TSMITH_LIVE_COPIES || totals->wait_count > TSMITH_LIVE_WAITS)
        return 0;
    for (uint32_t i = 0; i < totals->device_count; i++)
        if (!is_text(totals->devices[i].name))
            return 0;
    for (uint32_t i = 0; i < totals->device_kernel_count; i++)
        if (!is_text(totals->device_kernels[i].name))
            return 0;
    return 1;
}

// A place may be written while it is read: its checksum is wrong then.
static tsmith_status read_once(tsmith_live *live, tsmith_error *error) {
    struct live_file_head head;
    struct live_file_place *place = &live->place;
    if (pread(live->fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return TSMITH_AGAIN;
    if (head.magic != LIVE_FILE_MAGIC || head.version != LIVE_FILE_VERSION ||
        head.bytes != sizeof place->totals)
        return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                          "%s/%s: the totals have another version than this tracesmith", live->path,
                          LIVE_FILE_NAME);
    if (!head.current ||
        pread(live->fd, place, sizeof *place, (off_t)live_file_at(head.current)) != (ssize_t)sizeof *place)
        return TSMITH_AGAIN;
    if (crc32c(0, &place->totals, sizeof place->totals) != place->checksum)
        return TSMITH_AGAIN;
    if (!is_sound(&place->totals))
        return status_set(error, TSMITH_ERROR_CORRUPT, "%s/%s: the totals are damaged", live->path,
                          LIVE_FILE_NAME);
    return TSMITH_OK;
}

// The directory is gone, or its collector is.
static int is_over(const tsmith_live *live) {
    struct session_directory session;
    tsmith_error error;
    struct stat opened, named;
    if (fstat(live->directory, &opened) || stat(live->path, &named) || opened.st_ino != named.st_ino ||
        opened.st_dev != named.st_dev || session_directory_look(&session, live->path, &error))
        return 1;
    const pid_t collector = (pid_t)atomic_load(&session.control->collector_pid);
    const int64_t silent = clock_trace_now() - atomic_load(&session.control->heartbeat);
    session_directory_close(&session);
    // The number of a process may have been used again. A collector that waits for a disk is silent as well.
    return collector <= 0 || (kill(collector, 0) && errno == ESRCH) || silent > LONG_SILENT;
}

tsmith_status tsmith_live_read(tsmith_live *live, tsmith_live_totals *out, tsmith_error *error) {
    enum { TRIES = 8 };
    static const tsmith_live_totals none;
    const int over = is_over(live); // before what was published last is read
    if (!over)
        (void)request_totals(live);
    if (live->fd < 0)
        open_file(live);
    tsmith_status status = TSMITH_AGAIN;
    for (int i = 0; i < TRIES && live->fd >= 0 && status == TSMITH_AGAIN; i++)
        status = read_once(live, error);
    if (status < 0)
        return status;
    sized_give(tsmith_live_totals, status == TSMITH_OK ? &live->place.totals : &none, out);
    return over || (status == TSMITH_OK && live->place.totals.ended) ? TSMITH_END : status;
}

void tsmith_live_close(tsmith_live *live) {
    if (!live)
        return;
    if (live->fd >= 0)
        close(live->fd);
    if (live->directory >= 0)
        close(live->directory);
    free(live);
}
