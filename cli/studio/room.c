// SPDX-License-Identifier: Apache-2.0
// Whether there is memory for the analyses of a trace. The page starts them by itself, and those of 100 million events, of which
// the timeline needs 30 MB, would take all memory of the machine.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/studio/server.h"

enum { BYTES_PER_EVENT = 220, SURE = 1000000 }; // what `analyze` takes; so few events need not be looked at

// Bytes that a child may take: what the system has left, and what the limits of the process (ulimit -v) allow.
static uint64_t free_memory(void) {
    static const char NAME[] = "MemAvailable:";
    uint64_t bytes = UINT64_MAX;
    struct rlimit limit;
    char line[160];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, NAME, sizeof NAME - 1) == 0)
            bytes = strtoull(line + sizeof NAME - 1, NULL, 10) << 10; // it is in KiB
    }
    if (file)
        (void)fclose(file);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes;
}

bool has_room_for_analysis(struct file *file, struct answer *out) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    file_enter(file);
    const tsmith_status status = tsmith_sbt_summarize(file->sbt, &summary, NULL);
    file_leave(file);
    if (status != TSMITH_OK || summary.events <= SURE)
        return true;
    const double wanted = (double)summary.events * BYTES_PER_EVENT, room = (double)free_memory();
    if (wanted < room)
        return true;
    struct text words = {0};
    text_add_cstr(&words, "The analyses of ");
    text_add_counted(&words, summary.events, "event", "events");
    text_add_cstr(&words, " need about ");
    text_add_bytes(&words, wanted);
    text_add_cstr(&words, " of memory, and ");
    text_add_bytes(&words, room);
    text_add_cstr(&words, " are free. Analyze a part of the trace, or the stored totals: tracesmith analyze "
                          "FILE --from 1s --to 2s, "
                          "tracesmith analyze FILE --quick");
    answer_failure(out, 422, "%s", text_cstr(&words));
    text_finish(&words);
    return false;
}
