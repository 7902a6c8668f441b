// SPDX-License-Identifier: Apache-2.0
// Publishes the totals of a running recording while it has readers. src/api/capture.c calls it.
#include "collect/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "collect/live_file.h"

static const int64_t PERIOD = 200000000;          // ns between looks
static const int64_t REQUEST_HOLDS = 15000000000; // ns

static bool is_wanted(const struct session_directory *directory) {
    struct stat request;
    if (fstatat(directory->fd, LIVE_REQUEST_NAME, &request, AT_SYMLINK_NOFOLLOW))
        return false;
    const int64_t at = (int64_t)request.st_mtim.tv_sec * 1000000000 + request.st_mtim.tv_nsec;
    const int64_t age = clock_now(CLOCK_REALTIME) - at;
    return age < REQUEST_HOLDS && age > -REQUEST_HOLDS;
}

static void begin(struct live *live) {
    if (live->totals || live->failed)
        return;
    live->published = calloc(1, sizeof *live->published);
    live->totals = live->published ? live_totals_create(live->from_start, clock_trace_now()) : NULL;
    live->failed = !live->totals;
    live->collector_before = clock_now(CLOCK_PROCESS_CPUTIME_ID);
}

void live_begin(struct live *live, bool at_once) {
    live->fd = -1;
    live->from_start = true;
    if (at_once)
        begin(live);
}

// Who can write to the directory could have made the file: it is removed then, never written to.
static bool make_file(struct live *live, const struct session_directory *directory) {
    const struct live_file_head head = {
        .magic = LIVE_FILE_MAGIC, .version = LIVE_FILE_VERSION, .bytes = sizeof(tsmith_live_totals)};
    if (live->fd >= 0)
        return true;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    live->fd = openat(directory->fd, LIVE_FILE_NAME, flags, 0600);
    if (live->fd < 0 && errno == EEXIST && unlinkat(directory->fd, LIVE_FILE_NAME, 0) == 0)
        live->fd = openat(directory->fd, LIVE_FILE_NAME, flags, 0600);
    return live->fd >= 0 && pwrite(live->fd, &head, sizeof head, 0) == (ssize_t)sizeof head;
}

bool live_give(struct live *live, const tsmith_dictionary *dictionary, uint32_t processes) {
    tsmith_live_totals *totals = live->published;
    if (!live->totals)
        return false;
    live_totals_give(live->totals, dictionary, clock_trace_now(), totals);
    totals->sequence = ++live->sequence;
    totals->collector_time = clock_now(CLOCK_PROCESS_CPUTIME_ID) - live->collector_before;
    totals->processes = processes;
    return true;
}

static void publish(struct live *live, const struct session_directory *directory,
                    const tsmith_dictionary *dictionary, uint32_t processes, bool ended) {
    tsmith_live_totals *totals = live->published;
    if (!live->totals || !make_file(live, directory) || !live_give(live, dictionary, processes))
        return;
    const uint64_t sequence = live->sequence;
    totals->ended = ended;
    const struct live_file_place place = {.checksum = crc32c(0, totals, sizeof *totals), .totals = *totals};
    if (pwrite(live->fd, &place, sizeof place, (off_t)live_file_at(sequence)) != (ssize_t)sizeof place)
        return; // no space: readers keep what was there
    if (pwrite(live->fd, &sequence, sizeof sequence, offsetof(struct live_file_head, current)) < 0)
        return;
}

void live_take(struct live *live, const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    live->from_start = false;
    if (live->totals)
        live_totals_add(live->totals, dictionary, batch);
}

bool live_is_wanted(struct live *live, const struct session_directory *directory) {
    const int64_t now = clock_trace_now();
    if (live->failed || now - live->looked < PERIOD)
        return false;
    live->looked = now;
    return is_wanted(directory);
}

void live_publish(struct live *live, const struct session_directory *directory,
                  const tsmith_dictionary *dictionary, uint32_t processes) {
    begin(live);
    publish(live, directory, dictionary, processes, false);
}

void live_end(struct live *live, const struct session_directory *directory,
              const tsmith_dictionary *dictionary) {
    if (live->totals && !live->failed)
        publish(live, directory, dictionary, 0, true);
}

void live_finish(struct live *live) {
    live_totals_destroy(live->totals);
    free(live->published);
    if (live->fd >= 0)
        close(live->fd);
    live->fd = -1;
    live->totals = NULL;
    live->published = NULL;
}
