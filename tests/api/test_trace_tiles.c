// SPDX-License-Identifier: Apache-2.0
// Detail that was kept: every tile that is made of it equals that of the events, and detail that does not fit its trace, with sound
// checksums, is refused and leaves the tiles as they were.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/trace_tiles.h"
#include "sbt/detail.h"
#include "support/made_trace.h"
#include "support/test.h"
#include "tracesmith/tracesmith.h"

enum { EVENTS = 60000, MANY = 400000 };

static int file_of_events(int events) {
    struct made_trace made;
    struct random random = {11};
    tsmith_sink *sink;
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    made_trace_init(&made);
    const uint32_t process = made_process(&made, 1), device = made_device(&made, "device");
    const uint32_t tracks[] = {made_track(&made, TSMITH_TRACK_QUEUE, process, device, 0, "queue"),
                               made_track(&made, TSMITH_TRACK_THREAD, process, 0, 0, "thread")};
    for (int i = 0; i < events; i++) {
        struct made_event *event =
            made_event(&made, i % 3 ? TSMITH_KIND_KERNEL : TSMITH_KIND_API, tracks[i % 2],
                       (int64_t)random_below(&random, 900000000), (int64_t)random_below(&random, 20000));
        event->name = i % 5 ? "a" : "b";
    }
    tsmith_source *source = made_source(&made, 4000, random);
    assert_int_equal(tsmith_sbt_writer_open_fd(fd, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    made_trace_finish(&made);
    return fd;
}

struct fixture {
    tsmith_sbt *trace;
    tsmith_tiles *filled, *tiles;
};

static void begin_with(struct fixture *fixture, int events) {
    const int fd = file_of_events(events);
    assert_int_equal(tsmith_sbt_open_fd(fd, "trace", &fixture->trace, NULL), TSMITH_OK);
    (void)close(fd);
    assert_int_equal(tsmith_tiles_create(fixture->trace, &fixture->filled, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_create(fixture->trace, &fixture->tiles, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_fill(fixture->filled, 0, NULL), TSMITH_OK);
}

static void begin(struct fixture *fixture) {
    begin_with(fixture, EVENTS);
}

static void end(struct fixture *fixture) {
    tsmith_tiles_destroy(fixture->filled);
    tsmith_tiles_destroy(fixture->tiles);
    tsmith_sbt_close(fixture->trace);
}

static size_t entry_size(const tsmith_tile *tile) {
    return tile->form == TSMITH_FORM_SLICES ? sizeof(tsmith_slice) : sizeof(tsmith_bucket);
}

static void check_equal(const struct fixture *fixture) {
    size_t count;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(fixture->tiles, &count);
    assert_true(count >= 2);
    for (size_t i = 0; i < count; i++)
        for (uint32_t level = 8; level < 24; level++)
            for (uint64_t index = 0; index < 6; index++) {
                tsmith_tile one = {.size = sizeof one}, other = {.size = sizeof other};
                assert_int_equal(
                    tsmith_tiles_read(fixture->filled, tracks[i].track, level, index, &one, NULL), TSMITH_OK);
                assert_int_equal(
                    tsmith_tiles_read(fixture->tiles, tracks[i].track, level, index, &other, NULL),
                    TSMITH_OK);
                assert_int_equal(one.form, other.form);
                assert_int_equal(one.count, other.count);
                assert_false(other.preliminary);
                assert_memory_equal(one.of.buckets, other.of.buckets, one.count * entry_size(&one));
            }
}

static bool read_kept(int fd, tsmith_tiles *tiles) {
    tsmith_sbt *kept;
    assert_int_equal(tsmith_sbt_open_fd(fd, "kept", &kept, NULL), TSMITH_OK);
    const bool good = trace_tiles_read(kept, tiles);
    tsmith_sbt_close(kept);
    (void)close(fd);
    return good;
}

static void kept_equals_filled(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    const int fd = memfd_create("kept", MFD_CLOEXEC);
    assert_int_equal(trace_tiles_write(fd, fixture.filled, SIZE_MAX, NULL), TSMITH_OK);
    assert_true(read_kept(fd, fixture.tiles));
    check_equal(&fixture);
    end(&fixture);
}

// ---- more buckets than a reader should hold

static bool read_coarse(int fd, tsmith_tiles *tiles) {
    tsmith_sbt *kept;
    assert_int_equal(tsmith_sbt_open_fd(fd, "kept", &kept, NULL), TSMITH_OK);
    (void)close(fd);
    const bool good = trace_tiles_read_coarse(kept, tiles);
    if (!good)
        tsmith_sbt_close(kept);
    return good;
}

// Joined at once or step by step: a share is rounded more or less often.
static void check_alike(const tsmith_tile *one, const tsmith_tile *other) {
    for (uint32_t i = 0; i < one->count; i++) {
        const tsmith_bucket *left = &one->of.buckets[i], *right = &other->of.buckets[i];
        assert_int_equal(left->events, right->events);
        assert_int_equal(left->flags, right->flags);
        assert_true(abs(left->busy - right->busy) <= 2);
        assert_int_equal(left->busy == 0, right->busy == 0);
    }
}

// How many tiles were buckets.
static int compare_tiles(const struct fixture *fixture) {
    size_t count;
    int buckets = 0;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(fixture->tiles, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t level = 12; level < 24; level++)
            for (uint64_t index = 0; index < 20; index++) {
                tsmith_tile one = {.size = sizeof one}, other = {.size = sizeof other};
                assert_int_equal(
                    tsmith_tiles_read(fixture->filled, tracks[i].track, level, index, &one, NULL), TSMITH_OK);
                assert_int_equal(
                    tsmith_tiles_read(fixture->tiles, tracks[i].track, level, index, &other, NULL),
                    TSMITH_OK);
                assert_int_equal(one.form, other.form);
                assert_int_equal(one.count, other.count);
                assert_false(other.preliminary);
                if (one.form == TSMITH_FORM_SLICES)
                    assert_memory_equal(one.of.slices, other.of.slices, one.count * sizeof *one.of.slices);
                else
                    check_alike(&one, &other);
                buckets += one.form == TSMITH_FORM_BUCKETS;
            }
    return buckets;
}

static void finer_buckets_are_read_when_wanted(void **state) {
    (void)state;
    for (size_t held = 60; held < 1000; held *= 8) {
        struct fixture fixture;
        begin_with(&fixture, MANY);
        const int fd = memfd_create("kept", MFD_CLOEXEC);
        assert_int_equal(trace_tiles_write(fd, fixture.filled, held, NULL), TSMITH_OK);
        assert_true(read_coarse(fd, fixture.tiles));
        assert_true(compare_tiles(&fixture) > 40);
        end(&fixture);
    }
}

// A file with few buckets has none that are coarser.
static void nothing_is_coarse_without_need(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    const int fd = memfd_create("kept", MFD_CLOEXEC);
    assert_int_equal(trace_tiles_write(fd, fixture.filled, 1 << 18, NULL), TSMITH_OK);
    assert_false(read_coarse(fd, fixture.tiles));
    assert_int_equal(tsmith_tiles_fill(fixture.tiles, 0, NULL), TSMITH_OK); // they are as before
    check_equal(&fixture);
    end(&fixture);
}

// ---- what does not fit

struct change {
    struct sbt_writer *writer;
    int kind, frame;
};

enum {
    OTHER_NAME,
    OTHER_KIND,
    OTHER_FLAGS,
    OTHER_EVENTS,
    OTHER_ORIGIN,
    OTHER_SHIFT,
    OTHER_FIRST,
    OTHER_FORM,
    OTHER_TRACK,
    TWICE,
    MISSING,
    CHANGES
};

static void change_column(const struct sbt_detail *detail, int column, uint64_t bits) {
    ((uint64_t *)(uintptr_t)detail->columns[column])[detail->count / 2] ^= bits; // of the reader's scratch
}

static bool change_one(void *context, const struct sbt_detail *given) {
    struct change *change = context;
    struct sbt_detail detail = *given;
    const bool is_it = change->frame++ == 0;
    const int kind = is_it ? change->kind : CHANGES;
    if (kind == MISSING)
        return true;
    if (kind <= OTHER_EVENTS) {
        static const struct {
            int column;
            uint64_t bits;
        } how[] = {{0, 1u << 20}, {3, 0x80}, {3, 0x8000}, {1, 1}};
        change_column(&detail, how[kind].column, how[kind].bits);
    }
    detail.origin += kind == OTHER_ORIGIN;
    detail.shift += kind == OTHER_SHIFT;
    detail.first += kind == OTHER_FIRST;
    detail.track += 77u * (kind == OTHER_TRACK);
    if (kind == OTHER_FORM)
        detail.form = DETAIL_VALUES;
    assert_int_equal(sbt_detail_write(change->writer, &detail, NULL), TSMITH_OK);
    if (kind == TWICE)
        assert_int_equal(sbt_detail_write(change->writer, &detail, NULL), TSMITH_OK);
    return true;
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    for (int kind = 0; kind <= CHANGES; kind++) {
        struct fixture fixture;
        tsmith_sbt *kept;
        tsmith_dictionary *dictionary;
        struct change change = {.kind = kind};
        begin(&fixture);
        const int fd = memfd_create("kept", MFD_CLOEXEC), changed = memfd_create("changed", MFD_CLOEXEC);
        assert_int_equal(trace_tiles_write(fd, fixture.filled, SIZE_MAX, NULL), TSMITH_OK);
        assert_int_equal(tsmith_sbt_open_fd(fd, "kept", &kept, NULL), TSMITH_OK);
        (void)close(fd);
        assert_int_equal(sbt_writer_create_fd(changed, "changed", NULL, &change.writer, NULL), TSMITH_OK);
        assert_int_equal(sbt_detail_read(kept, change_one, &change, NULL), TSMITH_OK);
        assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
        assert_int_equal(sbt_writer_finish(change.writer, dictionary, NULL), TSMITH_OK);
        sbt_writer_destroy(change.writer);
        tsmith_dictionary_destroy(dictionary);
        tsmith_sbt_close(kept);
        assert_int_equal(read_kept(changed, fixture.tiles), kind == CHANGES); // unchanged: it is taken
        if (kind != CHANGES)
            assert_int_equal(tsmith_tiles_fill(fixture.tiles, 0, NULL), TSMITH_OK);
        check_equal(&fixture);
        end(&fixture);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_equals_filled), cmocka_unit_test(finer_buckets_are_read_when_wanted),
        cmocka_unit_test(nothing_is_coarse_without_need), cmocka_unit_test(what_does_not_fit_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
