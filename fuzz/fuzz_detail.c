// SPDX-License-Identifier: Apache-2.0
// Any bytes as the payloads of DETAIL frames (u16 length, payload, and so on), with sound checksums, as the kept detail of a small trace
// with a queue and a counter. Detail that is taken must have the events of the index in every picture.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/trace_tiles.h"
#include "base/bytes.h"
#include "sbt/writer.h"
#include "tracesmith/tracesmith.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS = 4000 };

static void must(tsmith_status status) {
    if (status != TSMITH_OK)
        abort();
}

static void write_track(tsmith_sink *sink, tsmith_dictionary *dictionary, tsmith_track_kind kind) {
    tsmith_batch *batch;
    const tsmith_track track = {.kind = (uint8_t)kind};
    must(tsmith_batch_create(&batch));
    tsmith_batch_reset(batch, tsmith_dictionary_add_track(dictionary, &track));
    for (int i = 0; i < EVENTS; i++) {
        (void)tsmith_batch_append(
            batch, kind == TSMITH_TRACK_COUNTER ? TSMITH_KIND_COUNTER : TSMITH_KIND_KERNEL, 1000 * i);
        must(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, 600));
        if (kind == TSMITH_TRACK_COUNTER)
            must(tsmith_batch_set(batch, TSMITH_FIELD_VALUE, (uint64_t)i << 52));
    }
    must(tsmith_batch_finish(batch));
    must(tsmith_sink_write(sink, dictionary, batch, NULL));
    tsmith_batch_destroy(batch);
}

static tsmith_sbt *make_trace(void) {
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    tsmith_dictionary *dictionary;
    tsmith_sink *sink;
    tsmith_sbt *trace;
    must(tsmith_dictionary_create(&dictionary));
    must(tsmith_sbt_writer_open_fd(fd, NULL, &sink, NULL));
    write_track(sink, dictionary, TSMITH_TRACK_QUEUE);
    write_track(sink, dictionary, TSMITH_TRACK_COUNTER);
    must(tsmith_sink_finish(sink, dictionary, NULL));
    tsmith_sink_destroy(sink);
    tsmith_dictionary_destroy(dictionary);
    must(tsmith_sbt_open_fd(fd, "trace", &trace, NULL));
    (void)close(fd);
    return trace;
}

static tsmith_sbt *make_kept(const uint8_t *data, size_t size) {
    const int fd = memfd_create("kept", MFD_CLOEXEC);
    tsmith_dictionary *dictionary;
    struct sbt_writer *writer;
    tsmith_sbt *kept;
    must(tsmith_dictionary_create(&dictionary));
    must(sbt_writer_create_fd(fd, "kept", NULL, &writer, NULL));
    while (size >= 2) {
        const size_t wanted = bytes_get_u16(data), length = wanted < size - 2 ? wanted : size - 2;
        must(sbt_writer_carry(writer, &(struct frame_header){.type = FRAME_DETAIL, .length = length},
                              data + 2, NULL, NULL));
        data += 2 + length;
        size -= 2 + length;
    }
    must(sbt_writer_finish(writer, dictionary, NULL));
    sbt_writer_destroy(writer);
    tsmith_dictionary_destroy(dictionary);
    must(tsmith_sbt_open_fd(fd, "kept", &kept, NULL));
    (void)close(fd);
    return kept;
}

static void look(tsmith_tiles *tiles) {
    size_t count;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(tiles, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t level = 2; level < 26; level++) {
            tsmith_tile tile = {.size = sizeof tile};
            uint64_t events = 0;
            must(tsmith_tiles_read(tiles, tracks[i].track, level, 0, &tile, NULL));
            for (uint32_t j = 0; tile.form == TSMITH_FORM_BUCKETS && j < tile.count; j++)
                events += tile.of.buckets[j].events;
            if (tile.form == TSMITH_FORM_BUCKETS && level > 14 && events != EVENTS)
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tsmith_sbt *trace; // the same for every input
    tsmith_tiles *tiles;
    if (!trace)
        trace = make_trace();
    tsmith_sbt *kept = make_kept(data, size);
    must(tsmith_tiles_create(trace, &tiles, NULL));
    if (trace_tiles_read(kept, tiles))
        look(tiles);
    else if (size % 64 == 0) // they are as they were before: they can be filled
        must(tsmith_tiles_fill(tiles, 0, NULL));
    tsmith_tiles_destroy(tiles);
    tsmith_sbt_close(kept);
    return 0;
}
