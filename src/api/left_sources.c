// SPDX-License-Identifier: Apache-2.0
// Adds the kernel records, samples and XRay logs of a killed recording to its recovered trace. recover.c calls it.
#include "api/left_sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "api/xray.h"
#include "watch/host_clock.h"
#include "watch/watch.h"

static void add_watch(struct left_sources *left, struct recovery *recovery) {
    char path[4096 + 64];
    struct host_clock clock = {0};
    tsmith_source *source = NULL;
    snprintf(path, sizeof path, "%s/" WATCH_SPOOL_NAME, left->directory);
    left->spool = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (left->spool < 0)
        return;
    bool known = host_clock_read(&clock, recovery_dictionary(recovery), "CLOCK_MONOTONIC");
    if (known && recovery_same_boot(recovery))
        known = host_clock_add_now(&clock, CLOCK_MONOTONIC);
    if (known && clock.count && watch_source(left->spool, NULL, &clock, &source, NULL) == TSMITH_OK)
        recovery_add_source(recovery, source);
    host_clock_finish(&clock);
}

// Their times are trace times.
static void add_samples(struct left_sources *left, struct recovery *recovery) {
    char path[4096 + 64];
    struct host_clock none = {0};
    tsmith_source *source = NULL;
    snprintf(path, sizeof path, "%s/" WATCH_SAMPLES_NAME, left->directory);
    left->samples = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (left->samples >= 0 && watch_source(left->samples, NULL, &none, &source, NULL) == TSMITH_OK)
        recovery_add_source(recovery, source);
}

static tsmith_status add_log(void *context, tsmith_source *source) {
    return recovery_add_source(context, source);
}

static void add_all(void *context, struct recovery *recovery) {
    struct left_sources *left = context;
    add_watch(left, recovery);
    add_samples(left, recovery);
    if (recovery_same_boot(recovery) && xray_open_left(left->directory, &left->xray))
        xray_add_logs(left->xray, recovery_dictionary(recovery), add_log, recovery);
}

void left_sources_join(struct left_sources *left, const char *directory, struct recovery *recovery) {
    *left = (struct left_sources){.spool = -1, .samples = -1};
    snprintf(left->directory, sizeof left->directory, "%s", directory);
    recovery_on_end(recovery, add_all, left);
}

void left_sources_finish(struct left_sources *left) {
    if (left->spool >= 0)
        close(left->spool);
    if (left->samples >= 0)
        close(left->samples);
    tsmith_xray_destroy(left->xray);
    *left = (struct left_sources){.spool = -1, .samples = -1};
}
