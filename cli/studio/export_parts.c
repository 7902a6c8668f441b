// SPDX-License-Identifier: Apache-2.0
// What lies between the frames of events of a trace: header, names, index, totals. A reader needs it before it can show anything, and of a
// large trace it is spread over the file, so that a page would make hundreds of requests one after the other. An exported folder has it
// once more in one file. export_answers.c calls it.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "cli/studio/export.h"

enum {
    PARTS_LEAST = 4,           // fewer are not worth a file
    PART_LEAST = 64,           // bytes; a shorter one is what fills up to the next frame
    PART_MOST = 1 << 20,       // a longer one is data of a recording, which the page does not read
    PARTS_BYTES_MOST = 1 << 25 // of all; beyond it the page reads what it needs
};

struct parts {
    int in;
    struct text ranges, bytes;
    size_t count;
    uint64_t size; // of the file
};

// Adds the bytes [from, to) of the file.
static bool add_part(struct parts *parts, uint64_t from, uint64_t to) {
    if (to < from + PART_LEAST || to - from > PART_MOST)
        return true;
    const size_t length = (size_t)(to - from);
    char *bytes = malloc(length);
    const bool good = bytes && pread(parts->in, bytes, length, (off_t)from) == (ssize_t)length;
    if (good) {
        text_add(&parts->bytes, bytes, length);
        text_add_format(&parts->ranges, "%s[%" PRIu64 ",%zu]", parts->count++ ? "," : "", from, length);
    }
    free(bytes);
    return good && parts->bytes.length <= PARTS_BYTES_MOST;
}

static bool add_parts(struct parts *parts, const tsmith_sbt *sbt) {
    const off_t size = lseek(parts->in, 0, SEEK_END);
    uint64_t at = 0;
    bool good = size >= 0;
    parts->size = (uint64_t)size;
    for (size_t i = 0; good && i < tsmith_sbt_event_frame_count(sbt); i++) {
        tsmith_sbt_event_frame frame = {.size = sizeof frame};
        if (!tsmith_sbt_event_frame_at(sbt, i, &frame))
            continue;
        good = add_part(parts, at, frame.offset);
        at = frame.offset + frame.length;
    }
    return good && add_part(parts, at, parts->size);
}

bool export_parts(struct text *list, const struct file *file, size_t number) {
    struct parts parts = {.in = open(file->path, O_RDONLY | O_CLOEXEC)};
    char name[64];
    bool good = true;
    (void)snprintf(name, sizeof name, "%zu/parts.bin", number);
    // Without it the page reads the same from the trace.
    if (parts.in >= 0 && add_parts(&parts, file->sbt) && parts.count >= PARTS_LEAST && !parts.bytes.failed) {
        good = export_file(name, text_cstr(&parts.bytes), parts.bytes.length);
        text_add_format(list, ",\"parts\":{\"file\":\"%s\",\"of\":%" PRIu64 ",\"ranges\":[", name,
                        parts.size);
        text_add(list, text_cstr(&parts.ranges), parts.ranges.length);
        text_add_cstr(list, "]}");
        list->failed |= parts.ranges.failed;
    }
    if (parts.in >= 0)
        (void)close(parts.in);
    text_finish(&parts.ranges);
    text_finish(&parts.bytes);
    return good;
}
