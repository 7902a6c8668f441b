// SPDX-License-Identifier: Apache-2.0
// Tiles of made traces at every level against a plain count over the events: busy time, starts, the name with most time, slices
// and their lanes, values of counters; before and after they are filled, of files whose batches overlap in time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/made_trace.h"
#include "support/test.h"
#include "tracesmith/tracesmith.h"

enum { QUEUE_EVENTS = 9000, THREAD_EVENTS = 5000, FEW = 40, MOST_BYTES = 1 << 25, FEW_ENOUGH = 100000 };

static char path[] = "/tmp/tracesmith-tiles-XXXXXX";

struct fixture {
    struct made_trace made;
    tsmith_sbt *file;
    tsmith_tiles *tiles;
    uint32_t queue, thread, few;
    bool is_grown; // its buckets were joined when they were too many
};

static void write_file(const struct made_trace *made, uint32_t rows, struct random random) {
    tsmith_sink *sink;
    tsmith_source *source = made_source(made, rows, random);
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
}

static void add_events(struct fixture *fixture, struct random *random) {
    static const char *const NAMES[] = {"a", "b", "c", "d"};
    for (int i = 0; i < QUEUE_EVENTS; i++) {
        const bool is_range = random_below(random, 50) == 0;
        // Bursts and gaps; some run at once.
        const int64_t start = (int64_t)(random_below(random, 20) * 40000000 + random_below(random, 9000000));
        struct made_event *event =
            made_event(&fixture->made, is_range ? TSMITH_KIND_RANGE : TSMITH_KIND_KERNEL, fixture->queue,
                       start, (int64_t)random_below(random, is_range ? 30000000 : 9000));
        event->name = NAMES[random_below(random, 4)];
    }
    for (int i = 0; i < THREAD_EVENTS; i++) {
        const int64_t start = (int64_t)random_below(random, 800000000);
        struct made_event *event =
            made_event(&fixture->made, TSMITH_KIND_API, fixture->thread, start,
                       random_below(random, 9) ? (int64_t)random_below(random, 100000) : -1);
        event->name = NAMES[random_below(random, 4)];
    }
    for (int i = 0; i < FEW; i++)
        made_event(&fixture->made, TSMITH_KIND_KERNEL, fixture->few, (int64_t)random_below(random, 800000000),
                   (int64_t)random_below(random, 90000000));
}

static void begin(struct fixture *fixture, uint32_t rows, uint64_t seed) {
    struct random random = {seed};
    fixture->is_grown = false;
    made_trace_init(&fixture->made);
    const uint32_t process = made_process(&fixture->made, 1), device = made_device(&fixture->made, "device");
    fixture->queue = made_track(&fixture->made, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    fixture->thread = made_track(&fixture->made, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    fixture->few = made_track(&fixture->made, TSMITH_TRACK_QUEUE, process, device, 0, "few");
    add_events(fixture, &random);
    write_file(&fixture->made, rows, random);
    assert_int_equal(tsmith_sbt_open(path, &fixture->file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_create(fixture->file, &fixture->tiles, NULL), TSMITH_OK);
}

static void end(struct fixture *fixture) {
    tsmith_tiles_destroy(fixture->tiles);
    tsmith_sbt_close(fixture->file);
    made_trace_finish(&fixture->made);
}

// ---- the reference

static int by_start(const void *a, const void *b) {
    const struct made_event *const *left = a, *const *right = b;
    return (*left)->start < (*right)->start ? -1 : (*left)->start > (*right)->start;
}

static const struct made_event **events_of(const struct fixture *fixture, uint32_t track, size_t *count) {
    const struct made_event **events = calloc(fixture->made.count, sizeof *events);
    assert_non_null(events);
    *count = 0;
    for (size_t i = 0; i < fixture->made.count; i++)
        if (fixture->made.events[i].track == track)
            events[(*count)++] = &fixture->made.events[i];
    qsort(events, *count, sizeof *events, by_start);
    return events;
}

struct expected {
    uint64_t busy, starts;
};

static struct expected count_events(const struct fixture *fixture, const struct made_event **events,
                                    size_t count, int64_t from, int64_t to, bool is_queue) {
    struct expected out = {0};
    int64_t covered = from;
    const int64_t origin = tsmith_tiles_origin(fixture->tiles);
    for (size_t i = 0; i < count; i++) {
        const struct made_event *event = events[i];
        const int64_t start = event->start - origin;
        out.starts += start >= from && start < to;
        if (event->duration < 0 || (is_queue && event->kind == TSMITH_KIND_RANGE))
            continue;
        int64_t begin = start > from ? start : from,
                last = start + event->duration < to ? start + event->duration : to;
        if (begin >= last)
            continue;
        begin = begin > covered ? begin : covered;
        if (last > begin)
            out.busy += (uint64_t)(last - begin);
        covered = last > covered ? last : covered;
    }
    return out;
}

// Exact buckets are right to the rounding of a share; joined ones to that of each level.
static void check_bucket(const tsmith_bucket *bucket, const struct expected *expected, double length,
                         double rounding) {
    const double share = (double)expected->busy / length * 65535;
    assert_true(fabs(share - bucket->busy) <= rounding || (bucket->busy == 1 && share < 1));
    assert_int_equal(bucket->events, expected->starts);
    assert_int_equal(bucket->busy == 0, expected->busy == 0);
}

// Time by name, where a moment counts for the event that began last.
static void count_names(const struct fixture *fixture, const struct made_event **events, size_t count,
                        int64_t from, int64_t to, bool is_queue, uint64_t times[4]) {
    const int64_t origin = tsmith_tiles_origin(fixture->tiles);
    int64_t *taken = calloc(2 * count + 2, sizeof *taken);
    size_t pieces = 0; // stretches that are taken, disjoint, in no order
    assert_non_null(taken);
    for (size_t i = count; i-- > 0;) {
        const struct made_event *event = events[i];
        const int64_t start = event->start - origin, end = start + event->duration;
        if (event->duration < 0 || (is_queue && event->kind == TSMITH_KIND_RANGE) || start >= to ||
            end <= from)
            continue;
        const int64_t begin = start > from ? start : from, last = end < to ? end : to;
        int64_t own = last - begin;
        for (size_t j = 0; j < pieces; j++) {
            const int64_t left = taken[2 * j] > begin ? taken[2 * j] : begin;
            const int64_t right = taken[2 * j + 1] < last ? taken[2 * j + 1] : last;
            own -= right > left ? right - left : 0;
        }
        times[event->name ? event->name[0] - 'a' : 0] += (uint64_t)own;
        // What is taken is one union of stretches: join this one with those that it touches.
        int64_t joined_begin = begin, joined_last = last;
        size_t kept = 0;
        for (size_t j = 0; j < pieces; j++) {
            if (taken[2 * j] <= joined_last && taken[2 * j + 1] >= joined_begin) {
                joined_begin = taken[2 * j] < joined_begin ? taken[2 * j] : joined_begin;
                joined_last = taken[2 * j + 1] > joined_last ? taken[2 * j + 1] : joined_last;
            } else {
                taken[2 * kept] = taken[2 * j];
                taken[2 * kept++ + 1] = taken[2 * j + 1];
            }
        }
        taken[2 * kept] = joined_begin;
        taken[2 * kept + 1] = joined_last;
        pieces = kept + 1;
    }
    free(taken);
}

// The name with most time, where the bucket was made of events.
static void check_name(const struct fixture *fixture, const tsmith_bucket *bucket, const uint64_t times[4]) {
    const tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_sbt_dictionary(fixture->file, &dictionary, NULL), TSMITH_OK);
    const tsmith_string name = tsmith_dictionary_string(dictionary, bucket->name);
    if (!bucket->busy || !name.length)
        return;
    for (int i = 0; i < 4; i++)
        assert_true(times[name.bytes[0] - 'a'] >= times[i]);
}

static void check_slices(const struct fixture *fixture, const tsmith_tile *tile,
                         const struct made_event **events, size_t count, int64_t from, int64_t to) {
    const int64_t origin = tsmith_tiles_origin(fixture->tiles);
    size_t touching = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = events[i]->start - origin,
                      last = start + (events[i]->duration > 0 ? events[i]->duration : 0);
        touching += start < to && (last > from || start >= from);
    }
    assert_int_equal(tile->count, touching);
    for (uint32_t i = 0; i < tile->count; i++) {
        const tsmith_slice *slice = &tile->of.slices[i];
        for (uint32_t j = i + 1; j < tile->count && slice->duration > 0; j++) {
            const tsmith_slice *other = &tile->of.slices[j];
            assert_true(slice->start <= other->start);
            if (other->start >= slice->start + slice->duration)
                break;
            if (slice->lane < TSMITH_TILE_LANES - 1)
                assert_int_not_equal(slice->lane, other->lane); // they overlap
        }
    }
}

static unsigned check_tile(const struct fixture *fixture, uint32_t track, uint32_t level, uint64_t index,
                           const struct made_event **events, size_t count) {
    tsmith_tile tile = {.size = sizeof tile};
    const bool is_queue = track != fixture->thread;
    assert_int_equal(tsmith_tiles_read(fixture->tiles, track, level, index, &tile, NULL), TSMITH_OK);
    const int64_t length = INT64_C(1) << level, from = (int64_t)(index * TSMITH_TILE_BUCKETS) * length;
    assert_false(tile.preliminary);
    if (tile.form == TSMITH_FORM_SLICES) {
        check_slices(fixture, &tile, events, count, from, from + length * TSMITH_TILE_BUCKETS);
        return 1;
    }
    assert_int_equal(tile.form, TSMITH_FORM_BUCKETS);
    for (int i = 0; i < TSMITH_TILE_BUCKETS; i++) {
        const struct expected expected =
            count_events(fixture, events, count, from + i * length, from + (i + 1) * length, is_queue);
        check_bucket(&tile.of.buckets[i], &expected, (double)length, fixture->is_grown ? 24 : 12);
        if (!fixture->is_grown && level <= 20 && i % 16 == 0) { // made of events, not of buckets
            uint64_t times[4] = {0};
            count_names(fixture, events, count, from + i * length, from + (i + 1) * length, is_queue, times);
            check_name(fixture, &tile.of.buckets[i], times);
        }
    }
    return 2;
}

static void check_all_levels(struct fixture *fixture, struct random *random) {
    const uint32_t tracks[] = {fixture->queue, fixture->thread, fixture->few};
    unsigned forms = 0;
    const uint64_t whole = (uint64_t)(tsmith_tiles_end(fixture->tiles) - tsmith_tiles_origin(fixture->tiles));
    for (size_t i = 0; i < sizeof tracks / sizeof *tracks; i++) {
        size_t count;
        const struct made_event **events = events_of(fixture, tracks[i], &count);
        for (uint32_t level = 6; level < 24; level++)
            forms |= check_tile(fixture, tracks[i], level, random_below(random, (whole >> (level + 9)) + 2),
                                events, count);
        free(events);
    }
    assert_int_equal(forms, 3); // both forms were seen
}

// A sanitizer sees the same code with two seeds.
static uint64_t seeds(uint64_t plain) {
    const char *sanitizer = getenv("TRACESMITH_SANITIZE");
    return sanitizer && *sanitizer ? 2 : plain;
}

static void agrees_with_a_plain_count(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(6); seed++) {
        struct fixture fixture;
        struct random random = {seed * 77};
        begin(&fixture, seed % 2 ? 65536 : 300, seed);
        check_all_levels(&fixture, &random); // from the file
        tsmith_status status;
        while ((status = tsmith_tiles_fill(fixture.tiles, 3, NULL)) == TSMITH_AGAIN)
            continue;
        assert_int_equal(status, TSMITH_OK);
        assert_int_equal(tsmith_tiles_fill(fixture.tiles, 0, NULL), TSMITH_OK);
        for (int i = 0; i < 3; i++)
            check_all_levels(&fixture, &random);
        end(&fixture);
    }
}

// ---- a file that grows

// Events that begin in a track, by its tiles of a level.
static uint64_t count_begun(const struct fixture *fixture, const tsmith_tile_track *track, uint32_t level) {
    uint64_t begun = 0;
    const uint64_t last = (uint64_t)track->last >> (level + 9);
    for (uint64_t index = 0; index <= last; index++) {
        tsmith_tile tile = {.size = sizeof tile};
        const int64_t from = (int64_t)(index << (level + 9));
        assert_int_equal(tsmith_tiles_read(fixture->tiles, track->track, level, index, &tile, NULL),
                         TSMITH_OK);
        assert_false(tile.preliminary);
        for (uint32_t i = 0; i < tile.count; i++)
            begun +=
                tile.form == TSMITH_FORM_SLICES ? tile.of.slices[i].start >= from : tile.of.buckets[i].events;
    }
    return begun;
}

static void check_begun(const struct fixture *fixture, uint64_t *frames) {
    size_t count;
    const tsmith_tile_track *tracks = tsmith_tiles_tracks(fixture->tiles, &count);
    uint64_t sum = 0, indexed = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(count_begun(fixture, &tracks[i], 21), tracks[i].events);
        assert_int_equal(count_begun(fixture, &tracks[i], 14), tracks[i].events);
        sum += tracks[i].events;
    }
    *frames = tsmith_sbt_event_frame_count(fixture->file);
    for (size_t i = 0; i < *frames; i++) {
        tsmith_sbt_event_frame frame = {.size = sizeof frame};
        if (!tsmith_sbt_event_frame_at(fixture->file, i, &frame))
            continue;
        indexed += frame.events;
        assert_true(frame.offset >= end && frame.length > 0); // in order, and none within another
        end = frame.offset + frame.length;
    }
    assert_int_equal(sum, indexed);
}

// Copies [from, to) of the whole file behind what is at `part`.
static void append(const char *part, const uint8_t *bytes, size_t from, size_t to) {
    FILE *file = fopen(part, from ? "ab" : "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes + from, 1, to - from, file), to - from);
    assert_int_equal(fclose(file), 0);
}

static uint8_t *read_whole(size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MOST_BYTES);
    assert_non_null(file);
    assert_non_null(bytes);
    *size = fread(bytes, 1, MOST_BYTES, file);
    assert_true(*size < MOST_BYTES);
    (void)fclose(file);
    return bytes;
}

// The file is cut anywhere, also within frames.
static void grow(struct fixture *fixture, struct random *random) {
    char part[] = "/tmp/tracesmith-tiles-XXXXXX";
    size_t size, at = 64;
    uint8_t *bytes = read_whole(&size);
    const int fd = mkstemp(part);
    assert_true(fd >= 0);
    (void)close(fd);
    tsmith_tiles_destroy(fixture->tiles);
    tsmith_sbt_close(fixture->file);
    append(part, bytes, 0, at);
    assert_int_equal(tsmith_sbt_open(part, &fixture->file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_create(fixture->file, &fixture->tiles, NULL), TSMITH_OK);
    uint64_t frames = 0, before = 0;
    unsigned steps = 0;
    while (at < size) {
        const size_t next = at + 1 + (size_t)random_below(random, size / 12);
        append(part, bytes, at, next < size ? next : size);
        at = next < size ? next : size;
        assert_int_equal(tsmith_sbt_refresh(fixture->file, NULL), at == size ? TSMITH_END : TSMITH_OK);
        tsmith_status status = TSMITH_AGAIN;
        while (status == TSMITH_AGAIN) {
            status = tsmith_tiles_extend(fixture->tiles, 1, NULL);
            if (fixture->made.count < FEW_ENOUGH && random_below(random, 4) == 0)
                check_begun(fixture, &frames); // what has no buckets yet is read
        }
        assert_int_equal(status, TSMITH_OK);
        check_begun(fixture, &frames);
        steps += frames > before;
        before = frames;
    }
    assert_true(steps > 3);
    assert_int_equal(tsmith_tiles_fill(fixture->tiles, 0, NULL), TSMITH_ERROR_STATE);
    fixture->is_grown = true;
    (void)unlink(part);
    free(bytes);
}

// A few events for long, then many in a short time: no tile of what was read is preliminary.
static void keeps_up_with_a_burst(void **state) {
    enum { SPARSE = 1000, GAP = 500000, BURST = 600000, STEP = 20 };
    (void)state;
    struct fixture fixture = {.is_grown = true};
    struct random random = {5};
    made_trace_init(&fixture.made);
    fixture.queue = made_track(&fixture.made, TSMITH_TRACK_QUEUE, made_process(&fixture.made, 1),
                               made_device(&fixture.made, "device"), 0, "queue");
    for (int64_t i = 0; i < SPARSE; i++)
        made_event(&fixture.made, TSMITH_KIND_KERNEL, fixture.queue, i * GAP, 1000);
    for (int64_t i = 0; i < BURST; i++)
        made_event(&fixture.made, TSMITH_KIND_KERNEL, fixture.queue, (int64_t)SPARSE * GAP + i * STEP,
                   STEP / 2);
    write_file(&fixture.made, 500, random);
    assert_int_equal(tsmith_sbt_open(path, &fixture.file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_create(fixture.file, &fixture.tiles, NULL), TSMITH_OK);
    grow(&fixture, &random);
    tsmith_tile tile = {.size = sizeof tile};
    const uint32_t level = 14; // a tile of 8.4 ms: all of the middle one is in the burst
    const uint64_t index = ((uint64_t)SPARSE * GAP >> (level + 9)) + 1;
    assert_int_equal(tsmith_tiles_read(fixture.tiles, fixture.queue, level, index, &tile, NULL), TSMITH_OK);
    assert_int_equal(tile.form, TSMITH_FORM_BUCKETS);
    assert_false(tile.preliminary);
    for (uint32_t i = 0; i < tile.count && i < (BURST * STEP >> level) - 512; i++) {
        assert_true(is_between(tile.of.buckets[i].events, (1 << level) / STEP, (1 << level) / STEP + 1));
        assert_true(is_between(tile.of.buckets[i].busy, 32768 - 50, 32768 + 50));
    }
    end(&fixture);
}

static void grows_with_its_file(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(4); seed++) {
        struct fixture fixture = {.is_grown = false};
        struct random random = {seed * 1234567};
        begin(&fixture, 300, seed);
        const int64_t origin = tsmith_tiles_origin(fixture.tiles), last = tsmith_tiles_end(fixture.tiles);
        grow(&fixture, &random);
        assert_int_equal(tsmith_tiles_origin(fixture.tiles), origin);
        assert_int_equal(tsmith_tiles_end(fixture.tiles), last);
        for (int i = 0; i < 3; i++)
            check_all_levels(&fixture, &random);
        end(&fixture);
    }
}

// ---- counters

static void shows_least_and_most_of_counters(void **state) {
    (void)state;
    struct made_trace made;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_sbt *file;
    tsmith_tiles *tiles;
    tsmith_tile tile = {.size = sizeof tile};
    made_trace_init(&made);
    dictionary = made.dictionary;
    const uint32_t track = made_track(&made, TSMITH_TRACK_COUNTER, made_process(&made, 1), 0, 0, "bytes");
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, track);
    for (int i = 0; i < 30000; i++) {
        const double value = i % 100 == 7 ? 1e6 + i : i % 50;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        tsmith_batch_append(batch, TSMITH_KIND_COUNTER, 1000 + 16 * i);
        if (i != 12) // a value that is not known
            assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_VALUE, bits), TSMITH_OK);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(path, NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(sink, dictionary, batch, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, dictionary, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    assert_int_equal(tsmith_sbt_open(path, &file, NULL), TSMITH_OK);
    assert_int_equal(tsmith_tiles_create(file, &tiles, NULL), TSMITH_OK);
    for (int filled = 0; filled < 2; filled++) {
        assert_int_equal(tsmith_tiles_read(tiles, track, 4, 0, &tile, NULL), TSMITH_OK);
        assert_int_equal(tile.form, TSMITH_FORM_VALUES);
        assert_int_equal(tile.of.values[12].events, 0);
        assert_true(tile.of.values[7].most == 1e6F + 7);
        assert_true(tile.of.values[13].least == 13);
        assert_int_equal(tsmith_tiles_read(tiles, track, 11, 0, &tile, NULL), TSMITH_OK); // 128 values each
        assert_true(tile.of.values[0].least == 0);
        assert_true(tile.of.values[1].most == 1e6F + 207);
        assert_int_equal(tile.of.values[1].events, 128);
        assert_int_equal(tsmith_tiles_fill(tiles, 0, NULL), TSMITH_OK);
    }
    tsmith_tiles_destroy(tiles);
    tsmith_sbt_close(file);
    tsmith_batch_destroy(batch);
    made_trace_finish(&made);
}

static void refuses_what_is_not_there(void **state) {
    (void)state;
    struct fixture fixture;
    tsmith_tile tile = {.size = sizeof tile};
    tsmith_error error;
    begin(&fixture, 1000, 9);
    assert_int_equal(tsmith_tiles_read(fixture.tiles, 999, 4, 0, &tile, &error), TSMITH_ERROR_NOT_FOUND);
    assert_int_equal(tsmith_tiles_read(fixture.tiles, fixture.queue, TSMITH_TILE_LEVELS, 0, &tile, &error),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_tiles_read(fixture.tiles, fixture.queue, 40, UINT64_MAX, &tile, &error),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_tiles_read(fixture.tiles, fixture.queue, 4, UINT32_MAX, &tile, &error),
                     TSMITH_OK);
    assert_int_equal(tile.count, 0); // after the end
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_count), cmocka_unit_test(grows_with_its_file),
        cmocka_unit_test(keeps_up_with_a_burst), cmocka_unit_test(shows_least_and_most_of_counters),
        cmocka_unit_test(refuses_what_is_not_there)};
    const int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    (void)close(fd);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
