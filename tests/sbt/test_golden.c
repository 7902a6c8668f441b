// SPDX-License-Identifier: Apache-2.0
// The golden files, tests/sbt/golden: NAME.sbt and NAME.json, what tests/sbt/sbt_reader.py (written from the document
// alone) says it holds. Here the library must say the same, and must still write every good one byte for byte but
// codecs-dense, which it wrote when it thought zstd worth its time more often, and inferred, of before the field certainty.
//
// TRACESMITH_GOLDEN_WRITE=FOLDER writes the .sbt files there instead (then make the .json with sbt_reader.py). A file
// of a released version is never changed: readers have to continue to read it.
#include "sbt/make.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sbt/format.h"

enum { ZSTD_OF_THE_FILES = 10504, MOST_FILES = 64, FILES_WRITTEN = 26, FILES_READ = 28 };

// ---- making the good ones

struct golden {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_sink *sink;
    struct random random;
};

static void put(struct golden *golden) {
    tsmith_error error;
    assert_int_equal(tsmith_batch_finish(golden->batch), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(golden->sink, golden->dictionary, golden->batch, &error), TSMITH_OK);
}

static void make_empty(struct golden *golden) {
    tsmith_dictionary_set_attribute(golden->dictionary, "command", "true");
}

// Every type, each with events that have it and events that do not, in the schema and as dynamic fields.
static void make_types(struct golden *golden) {
    uint32_t dynamic[TSMITH_TYPE_LIMIT];
    for (uint32_t type = 1; type < TSMITH_TYPE_LIMIT; type++) {
        char name[16];
        snprintf(name, sizeof name, "dynamic %u", type);
        dynamic[type] = tsmith_dictionary_field(golden->dictionary, name, (tsmith_type)type, "unit");
    }
    tsmith_dictionary_intern(golden->dictionary, "a\0b\"\\\xff\n", 7);
    for (uint32_t i = 0; i < 3; i++)
        make_batch(&golden->random, golden->batch, i + 1, 30 + 50 * i, dynamic + 1, TSMITH_TYPE_LIMIT - 1),
            put(golden);
}

// Columns shaped so that each packing, transform and validity encoding is taken.
static void make_codecs(struct golden *golden) {
    enum { EVENTS = 1100 };
    struct random *random = &golden->random;
    uint32_t ticks = tsmith_dictionary_field(golden->dictionary, "ticks", TSMITH_TYPE_TIME, "ns");
    uint32_t real = tsmith_dictionary_field(golden->dictionary, "real", TSMITH_TYPE_F64, "");
    tsmith_batch *batch = golden->batch;
    int64_t at = 1000000;
    tsmith_batch_reset(batch, 7);
    for (uint64_t i = 0; i < EVENTS; i++) {
        uint64_t duration = 500 + random_below(random, 900) + (random_below(random, 60) ? 0 : 1000000);
        tsmith_batch_append(batch, i % 11 ? TSMITH_KIND_KERNEL : TSMITH_KIND_MEMCPY, at);
        tsmith_batch_set(batch, TSMITH_FIELD_DURATION, duration);
        tsmith_batch_set(batch, TSMITH_FIELD_QUEUED, (uint64_t)at - 20000 - random_below(random, 300));
        tsmith_batch_set(batch, TSMITH_FIELD_SUBMITTED, (uint64_t)at - 9000 - random_below(random, 4));
        tsmith_batch_set(batch, TSMITH_FIELD_COMPLETED, (uint64_t)at + duration + random_below(random, 30));
        tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, i * 2 + 5);
        tsmith_batch_set(batch, TSMITH_FIELD_NAME, i / 400 + 1);
        tsmith_batch_set(batch, TSMITH_FIELD_OBJECT,
                         (uint64_t)0x7f0000001000 + 0x3210fe0 * (random_below(random, 9)));
        tsmith_batch_set(batch, TSMITH_FIELD_FLAGS, random_next(random));
        tsmith_batch_set(batch, TSMITH_FIELD_BYTES, (uint64_t)1 << random_below(random, 3) * 9);
        tsmith_batch_set(batch, TSMITH_FIELD_PRIORITY,
                         random_below(random, 3000) * random_below(random, 2) - 700);
        tsmith_batch_set(batch, TSMITH_FIELD_SOURCE,
                         random_below(random, 256) | (random_below(random, 2) ? 0xff000000u : 0));
        if (i % 2)
            tsmith_batch_set(batch, TSMITH_FIELD_GLOBAL_X, 64 * (i % 9));
        if (i % 2)
            tsmith_batch_set(batch, TSMITH_FIELD_GLOBAL_Y, 3);
        if (i < 700)
            tsmith_batch_set(batch, TSMITH_FIELD_LIVE_BYTES, i * i);
        if (random_below(random, 2))
            tsmith_batch_set(batch, TSMITH_FIELD_RESULT, random_below(random, 2) ? 0 : (uint64_t)-5);
        double value = (double)random_below(random, 100), fraction = (double)random_below(random, 1000) / 7;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        tsmith_batch_set(batch, TSMITH_FIELD_VALUE, bits);
        memcpy(&bits, &fraction, sizeof bits);
        tsmith_batch_set_dynamic(batch, real, TSMITH_TYPE_F64, bits);
        uint64_t waits[2] = {i, i * 2 + 1};
        if (i % 5 == 0)
            tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, waits, (uint32_t)(i % 3));
        tsmith_batch_set_dynamic(batch, ticks, TSMITH_TYPE_TIME,
                                 (uint64_t)(at / 32 * 32 * 5) - random_below(random, 1000) * 32);
        at += (int64_t)duration + (int64_t)random_below(random, 60);
    }
    put(golden);
}

static void make_tracks(struct golden *golden) {
    tsmith_dictionary *dictionary = golden->dictionary;
    tsmith_dictionary_add_process(
        dictionary,
        &(tsmith_process){.pid = 4321, .parent_pid = 1, .start = -5, .name = 1, .command_line = 2});
    tsmith_dictionary_add_device(
        dictionary, &(tsmith_device){.name = 1, .process = 1, .memory_bytes = (uint64_t)1 << 40});
    tsmith_dictionary_add_clock(dictionary, &(tsmith_clock){.name = 2, .device = 1});
    for (uint32_t i = 1; i <= 150; i++) {
        char name[16];
        snprintf(name, sizeof name, "track %u", i);
        tsmith_track track = {.kind = (uint8_t)(i % 8),
                              .flags = (uint16_t)(i % 4),
                              .name = tsmith_dictionary_intern_cstr(dictionary, name),
                              .process = 1,
                              .parent = i / 2,
                              .tid = (uint64_t)i * 1000000007};
        tsmith_dictionary_add_track(dictionary, &track);
        tsmith_clock_pair pair = {
            .clock = 1, .clock_time = -(int64_t)i, .trace_time = i * 250000000, .error = 12};
        tsmith_dictionary_add_clock_pair(dictionary, &pair);
        tsmith_batch_reset(golden->batch, i);
        tsmith_batch_append(golden->batch, TSMITH_KIND_RANGE, (int64_t)i * -100);
        tsmith_batch_set(golden->batch, TSMITH_FIELD_DURATION, i);
        put(golden);
    }
    tsmith_batch_reset(golden->batch, 2);
    tsmith_batch_append(golden->batch, TSMITH_KIND_LOSS, 500);
    tsmith_batch_set(golden->batch, TSMITH_FIELD_LOST, 77);
    tsmith_batch_set(golden->batch, TSMITH_FIELD_REASON, TSMITH_REASON_RING_FULL);
    put(golden);
    tsmith_dictionary_rename_track(dictionary, 3, 1);
}

// Little, for the damaged ones: three batches, names between them.
static void make_small(struct golden *golden) {
    for (uint32_t i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "kernel %u", i);
        uint32_t id = tsmith_dictionary_intern_cstr(golden->dictionary, name);
        tsmith_batch_reset(golden->batch, i + 1);
        for (uint32_t row = 0; row < 20; row++) {
            tsmith_batch_append(golden->batch, TSMITH_KIND_KERNEL, (int64_t)(i * 20 + row) * 100);
            tsmith_batch_set(golden->batch, TSMITH_FIELD_NAME, id);
            tsmith_batch_set(golden->batch, TSMITH_FIELD_DURATION, random_below(&golden->random, 90));
        }
        put(golden);
    }
}

// Calls within calls as a profiler of 100 MHz sees them: each takes some time before, between and after what it calls.
enum { CALLS = 900 };

struct calls {
    struct random *random;
    int64_t at, starts[CALLS], durations[CALLS];
    uint32_t names[CALLS], count;
};

static int64_t some_time(struct calls *calls) {
    return 10 * (int64_t)(1 + (random_next(calls->random) >> (55 + random_below(calls->random, 9))));
}

static void make_call(struct calls *calls, unsigned depth) {
    uint32_t row = calls->count++;
    calls->starts[row] = calls->at;
    calls->names[row] = 1 + (uint32_t)random_below(calls->random, 4);
    calls->at += some_time(calls);
    for (uint64_t callees = random_below(calls->random, 5); callees && depth < 6; callees--) {
        if (calls->count < CALLS)
            make_call(calls, depth + 1);
        calls->at += some_time(calls);
    }
    calls->at += calls->names[row] * 12340; // what it takes after its last callee is its own
    calls->durations[row] = calls->at - calls->starts[row];
    calls->at += 10;
}

// With arguments that depend on the name, on each other, or were written in decimal; now and then a call that outlives its
// caller, or a mark, which has no end.
static void make_calls(struct golden *golden) {
    static struct calls calls;
    struct random *random = &golden->random;
    tsmith_dictionary *dictionary = golden->dictionary;
    uint32_t ratio = tsmith_dictionary_field(dictionary, "ratio", TSMITH_TYPE_F64, "");
    uint32_t second = tsmith_dictionary_field(dictionary, "second id", TSMITH_TYPE_U64, "");
    uint32_t flag[3], counts[5] = {0};
    static const char *const flags[] = {"flag of 1", "flag of 2", "flag of 4"};
    for (unsigned i = 0; i < 3; i++)
        flag[i] = tsmith_dictionary_field(dictionary, flags[i], TSMITH_TYPE_U32, "");
    calls = (struct calls){.random = random, .at = 12345670};
    while (calls.count < CALLS)
        make_call(&calls, 0);
    tsmith_batch *batch = golden->batch;
    tsmith_batch_reset(batch, 5);
    for (uint32_t i = 0; i < CALLS; i++) {
        uint64_t name = calls.names[i], value = random_next(random) >> 20, bits;
        int64_t duration = calls.durations[i] + (i % 100 == 77 ? 100000 : 0);
        tsmith_batch_append(batch, TSMITH_KIND_RANGE, calls.starts[i]);
        if (i % 50 != 49)
            tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
        tsmith_batch_set(batch, TSMITH_FIELD_NAME, name);
        tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, value);
        tsmith_batch_set(batch, TSMITH_FIELD_GLOBAL_X, name * 1000003 % 977 * 131 + (i == 500));
        tsmith_batch_set(batch, TSMITH_FIELD_BYTES, name << 40 | counts[name]++ * 3);
        tsmith_batch_set_dynamic(batch, second, TSMITH_TYPE_U64, value + i % 2);
        double fraction = (double)random_below(random, 4000) / 1000;
        memcpy(&bits, &fraction, sizeof bits);
        tsmith_batch_set_dynamic(batch, ratio, TSMITH_TYPE_F64, bits);
        for (unsigned f = 0; f < 3; f++)
            tsmith_batch_set_dynamic(
                batch, flag[f], TSMITH_TYPE_U32,
                random_below(random, 16) ? 7 : 8 + random_below(random, f == 2 ? 14 : 2 * f + 1));
    }
    put(golden);
}

// Call paths of several depths, in two frames of the file, named when all is done.
static void make_stacks(struct golden *golden) {
    tsmith_dictionary *dictionary = golden->dictionary;
    uint32_t path = tsmith_dictionary_intern_cstr(dictionary, "/usr/lib/libmade.so.1");
    uint32_t module[3] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        tsmith_batch_reset(golden->batch, 1);
        tsmith_module entry = {.path = path, .build_id = 2, .process = i, .flags = i};
        module[1 + i] = tsmith_dictionary_intern_module(dictionary, &entry);
        for (uint32_t event = 0; event < 40; event++) {
            uint32_t stack = 0;
            for (uint64_t depth = 1 + random_below(&golden->random, 9); depth; depth--) {
                tsmith_frame frame = {.module = module[random_below(&golden->random, 2 + i)],
                                      .flags = depth == 5 ? TSMITH_FRAME_GUESSED : 0,
                                      .address = 0x401000 * depth + random_below(&golden->random, 4)};
                if (frame.module == 0)
                    frame.address = ~frame.address;
                tsmith_stack node = {stack, tsmith_dictionary_intern_frame(dictionary, &frame)};
                stack = tsmith_dictionary_intern_stack(dictionary, &node);
            }
            (void)tsmith_batch_append(golden->batch, TSMITH_KIND_API, 1000 * i + event);
            tsmith_batch_set(golden->batch, TSMITH_FIELD_STACK, stack);
        }
        put(golden);
    }
    for (uint32_t frame = 1; frame < tsmith_dictionary_frame_count(dictionary); frame += 3)
        for (uint32_t line = 0; line < frame % 4; line++)
            tsmith_dictionary_add_symbol(dictionary, &(tsmith_symbol){frame, 1, 2, 10 * line});
}

// Devices with an identity, without one, and with one that became known after the row was written.
static void make_devices(struct golden *golden) {
    tsmith_dictionary *dictionary = golden->dictionary;
    const uint32_t uuid =
        tsmith_dictionary_intern_cstr(dictionary, "GPU-01020304-0506-0708-090a-0b0c0d0e0f10");
    tsmith_dictionary_add_device(dictionary, &(tsmith_device){.name = 1, .identity = uuid, .number = 2});
    tsmith_dictionary_add_device(dictionary, &(tsmith_device){.name = 2, .process = 7});
    const uint32_t late = tsmith_dictionary_add_device(dictionary, &(tsmith_device){.name = 2});
    tsmith_dictionary_add_track(dictionary, &(tsmith_track){.kind = TSMITH_TRACK_QUEUE, .device = 1});
    for (uint32_t i = 0; i < 2; i++) {
        tsmith_batch_reset(golden->batch, 1);
        tsmith_batch_append(golden->batch, TSMITH_KIND_KERNEL, 100 * i);
        put(golden);
        tsmith_dictionary_complete_device(
            dictionary, late,
            &(tsmith_device){.identity = tsmith_dictionary_intern_cstr(dictionary, "pci:0000:65:00.0")});
    }
}

enum { SMALL_LEVEL = 9 };

static const struct {
    const char *name;
    void (*make)(struct golden *golden);
    int level;
} good[] = {{"empty", make_empty, 0},
            {"types", make_types, 0},
            {"codecs", make_codecs, 0},
            {"tracks", make_tracks, 0},
            {"types-small", make_types, SMALL_LEVEL},
            {"codecs-small", make_codecs, SMALL_LEVEL},
            {"calls-small", make_calls, SMALL_LEVEL},
            {"stacks", make_stacks, 0},
            {"devices", make_devices, 0},
            {"small", make_small, 0}};

static void write_good(const char *path, void (*make)(struct golden *golden),
                       const tsmith_sbt_write_options *options) {
    struct golden golden = {.random = {2026}};
    tsmith_error error;
    assert_int_equal(tsmith_dictionary_create(&golden.dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&golden.batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(path, options, &golden.sink, &error), TSMITH_OK);
    tsmith_dictionary_intern_cstr(golden.dictionary, "first");
    tsmith_dictionary_intern_cstr(golden.dictionary, "second");
    make(&golden);
    assert_int_equal(tsmith_sink_finish(golden.sink, golden.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(golden.sink);
    tsmith_batch_destroy(golden.batch);
    tsmith_dictionary_destroy(golden.dictionary);
}

// ---- making the others: `small`, changed

static size_t read_file(const char *path, uint8_t **out) {
    struct stat there;
    FILE *file = fopen(path, "rb");
    if (!file)
        print_error("%s\n", path);
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &there), 0);
    *out = calloc(1, (size_t)there.st_size + 1);
    assert_non_null(*out);
    assert_int_equal(fread(*out, 1, (size_t)there.st_size, file), there.st_size);
    fclose(file);
    return (size_t)there.st_size;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

// Offset of the frame of a type, the `which`th of them.
static size_t find_frame(const uint8_t *bytes, size_t size, unsigned type, unsigned which) {
    struct frame_header header;
    for (size_t at = 64; at < size; at += 64 + frame_stored_length(header.length)) {
        assert_true(frame_header_get(bytes + at, &header));
        if (header.type == type && which-- == 0)
            return at;
    }
    fail();
    return 0;
}

static void seal(uint8_t *frame) {
    bytes_put_u32(frame + 56, crc32c(0, frame + 64, frame_stored_length(bytes_get_u64(frame + 16))));
    bytes_put_u32(frame + 60, crc32c(0, frame, 60));
}

static void write_changed(const char *folder, const uint8_t *small, size_t size) {
    static const struct {
        const char *name;
        unsigned type, which;
        size_t flip; // byte of the frame
    } flips[] = {{"flipped-header", FRAME_EVENTS, 1, 17},    {"flipped-events", FRAME_EVENTS, 1, 80},
                 {"flipped-names", FRAME_DICTIONARY, 1, 70}, {"flipped-schema", FRAME_SCHEMA, 0, 200},
                 {"flipped-totals", FRAME_AGGREGATE, 0, 66}, {"flipped-index", FRAME_INDEX, 0, 100},
                 {"flipped-end", FRAME_END, 0, 65},          {"flipped-trailer", FRAME_END, 0, 120}};
    char path[512];
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        memcpy(copy, small, size);
        copy[find_frame(small, size, flips[i].type, flips[i].which) + flips[i].flip] ^= 0x10;
        snprintf(path, sizeof path, "%s/%s.sbt", folder, flips[i].name);
        write_file(path, copy, size);
    }
    memcpy(copy, small, size);
    copy[3] ^= 1;
    snprintf(path, sizeof path, "%s/flipped-magic.sbt", folder);
    write_file(path, copy, size);
    snprintf(path, sizeof path, "%s/cut.sbt", folder);
    write_file(path, small, find_frame(small, size, FRAME_EVENTS, 2) + 100);
    snprintf(path, sizeof path, "%s/no-end.sbt", folder);
    write_file(path, small, find_frame(small, size, FRAME_INDEX, 0));
    // From newer versions: the SCHEMA as an unknown frame, skipped or refused; another major version.
    size_t without_index = find_frame(small, size, FRAME_INDEX, 0);
    memcpy(copy, small, size);
    bytes_put_u16(copy + 64 + 4, 900);
    seal(copy + 64);
    snprintf(path, sizeof path, "%s/unknown-frame.sbt", folder);
    write_file(path, copy, without_index);
    bytes_put_u16(copy + 64 + 6, FRAME_CRITICAL);
    seal(copy + 64);
    snprintf(path, sizeof path, "%s/unknown-critical.sbt", folder);
    write_file(path, copy, without_index);
    memcpy(copy, small, size);
    bytes_put_u16(copy + 8, 2);
    bytes_put_u32(copy + 60, crc32c(0, copy, 60));
    snprintf(path, sizeof path, "%s/major-2.sbt", folder);
    write_file(path, copy, size);
    free(copy);
}

// By hand, what this writer never writes but must read: RAW, a delta of whole doubles, long varints, columns of a newer
// version, and a column relative to one of those.
// clang-format off
static const uint8_t by_hand[] = {
    7,                                    // columns: field, type, validity, transform, length
    1, TSMITH_TYPE_TIME, 0, 1, 7,         // START: DELTA
    3, TSMITH_TYPE_KIND, 0, 0, 7,         // KIND: PLAIN
    6, TSMITH_TYPE_TIME, 0, 9, 3,         // QUEUED: an unknown transform
    7, TSMITH_TYPE_TIME, 0, 3, 6, 3,      // SUBMITTED: RELATIVE to it
    13, TSMITH_TYPE_U64, 1, 0, 11,        // BYTES: a bitmap
    32, TSMITH_TYPE_F64, 0, 17, 6,        // VALUE: DELTA of whole numbers
    100, TSMITH_TYPE_U32, 0, 0, 3,        // of a newer schema
    0, PACKING_RAW, 4, 1, 10, 20, 30,     // 1000, 1010, 1030, 1060
    PACKING_RAW, 5, 1, 1, 2, 1, 9,        // four kinds
    PACKING_CONSTANT, 1, 0,               // QUEUED
    PACKING_CONSTANT, 1, 2,               // SUBMITTED
    0x05,                                 // events 0 and 2
    PACKING_RAW, 9, 4, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f,
    0x83, 0x80, 0x00,                     // -2 as a long varint
    PACKING_CONSTANT, 1, 4,               // each two more
    PACKING_CONSTANT, 1, 0,
};
// clang-format on

static void write_by_hand(const char *folder) {
    uint8_t file[64 + 64 + 128] = {0};
    file_header_put(file, 0);
    memcpy(file + 128, by_hand, sizeof by_hand);
    struct frame_header header = {.type = FRAME_EVENTS,
                                  .flags = FRAME_CRITICAL,
                                  .version = 1,
                                  .kinds = 1u << 1 | 1u << 2 | 1u << 9,
                                  .length = sizeof by_hand,
                                  .track = 3,
                                  .events = 4,
                                  .first_start = 1000,
                                  .last_end = 1060,
                                  .payload_crc = crc32c(0, file + 128, 128)};
    assert_true(sizeof by_hand > 64);
    frame_header_put(file + 64, &header);
    char path[512];
    snprintf(path, sizeof path, "%s/by-hand.sbt", folder);
    write_file(path, file, sizeof file);
}

static void write_all(const char *folder) {
    char path[512];
    uint8_t *small;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(path, sizeof path, "%s/%s.sbt", folder, good[i].name);
        write_good(path, good[i].make,
                   &(tsmith_sbt_write_options){.size = sizeof(tsmith_sbt_write_options),
                                               .compression_level = good[i].level});
    }
    size_t size = read_file(path, &small); // `small` is the last of them
    write_changed(folder, small, size);
    free(small);
    write_by_hand(folder);
    snprintf(path, sizeof path, "%s/no-index.sbt", folder);
    write_good(path, make_small,
               &(tsmith_sbt_write_options){.size = sizeof(tsmith_sbt_write_options), .no_index = 1});
}

// ---- the library's own words, in the form of sbt_reader.py

static void put_string(FILE *out, tsmith_string string) {
    fputc('"', out);
    for (size_t i = 0; i < string.length; i++) {
        unsigned char byte = (unsigned char)string.bytes[i];
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte >= 32 && byte < 127)
            fputc(byte, out);
        else
            fprintf(out, "\\u%04x", byte);
    }
    fputc('"', out);
}

static const char *comma(uint64_t index) {
    return index ? "," : "";
}

static void put_tables(FILE *out, const tsmith_dictionary *d) {
    fprintf(out, "\"strings\":[");
    for (uint32_t id = 0; id < tsmith_dictionary_string_count(d); id++) {
        fputs(comma(id), out);
        put_string(out, tsmith_dictionary_string(d, id));
    }
    fprintf(out, "],\n\"processes\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_process_count(d); id++) {
        const tsmith_process *p = tsmith_dictionary_process(d, id);
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%u,%u,%u]", comma(id - 1), p->pid, p->parent_pid,
                p->start, p->name, p->command_line, p->host);
    }
    fprintf(out, "],\n\"devices\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(d); id++) {
        const tsmith_device *v = tsmith_dictionary_device(d, id);
        fprintf(out, "%s[%u,%u,%u,%u,%u,%u,%" PRIu64 ",%u,%u,%u,%u]", comma(id - 1), v->name, v->vendor,
                v->driver, v->api, v->type, v->process, v->memory_bytes, v->compute_units, v->clock_mhz,
                v->identity, v->number);
    }
    fprintf(out, "],\n\"tracks\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_track_count(d); id++) {
        const tsmith_track *t = tsmith_dictionary_track(d, id);
        fprintf(out, "%s[%u,%u,%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", comma(id - 1), t->kind,
                t->flags, t->name, t->process, t->device, t->parent, t->tid, t->context, t->queue);
    }
    fprintf(out, "],\n\"clocks\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_clock_count(d); id++) {
        const tsmith_clock *c = tsmith_dictionary_clock(d, id);
        fprintf(out, "%s[%u,%u,%u]", comma(id - 1), c->name, c->process, c->device);
    }
    fprintf(out, "],\n\"clock_pairs\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_clock_pair_count(d); id++) {
        const tsmith_clock_pair *p = tsmith_dictionary_clock_pair(d, id);
        fprintf(out, "%s[%u,%" PRId64 ",%" PRId64 ",%" PRId64 "]", comma(id - 1), p->clock, p->clock_time,
                p->trace_time, p->error);
    }
    fprintf(out, "],\n\"attributes\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_attribute_count(d); id++) {
        const tsmith_attribute *a = tsmith_dictionary_attribute(d, id);
        fprintf(out, "%s[%u,%u]", comma(id - 1), a->key, a->value);
    }
    fprintf(out, "],\n\"fields\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_dynamic_field_count(d); id++) {
        const tsmith_dynamic_field *f = tsmith_dictionary_dynamic_field(d, id);
        fprintf(out, "%s[%u,%u,%u]", comma(id - 1), f->name, f->unit, f->type);
    }
    fprintf(out, "],\n");
}

// The tables that only traces with stacks have.
static void put_stack_tables(FILE *out, const tsmith_dictionary *d) {
    if (tsmith_dictionary_module_count(d) == 1)
        return;
    fprintf(out, "\"modules\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_module_count(d); id++) {
        const tsmith_module *m = tsmith_dictionary_module(d, id);
        fprintf(out, "%s[%u,%u,%u,%u]", comma(id - 1), m->path, m->build_id, m->process, m->flags);
    }
    fprintf(out, "],\n\"frames\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_frame_count(d); id++) {
        const tsmith_frame *f = tsmith_dictionary_frame(d, id);
        fprintf(out, "%s[%u,%u,%" PRIu64 "]", comma(id - 1), f->module, f->flags, f->address);
    }
    fprintf(out, "],\n\"stacks\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_stack_count(d); id++) {
        const tsmith_stack *s = tsmith_dictionary_stack(d, id);
        fprintf(out, "%s[%u,%u]", comma(id - 1), s->parent, s->frame);
    }
    fprintf(out, "],\n\"symbols\":[");
    for (uint32_t id = 1; id < tsmith_dictionary_symbol_count(d); id++) {
        const tsmith_symbol *s = tsmith_dictionary_symbol(d, id);
        fprintf(out, "%s[%u,%u,%u,%u]", comma(id - 1), s->frame, s->function, s->file, s->line);
    }
    fprintf(out, "],\n");
}

static void put_value(FILE *out, const tsmith_batch *batch, const tsmith_column *column, uint32_t row) {
    uint64_t bits;
    if (!tsmith_column_has(column, row)) {
        fprintf(out, "null");
    } else if (column->type == TSMITH_TYPE_LIST) {
        fputc('[', out);
        for (uint32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++)
            fprintf(out, "%s%" PRIu64, comma(i - column->offsets[row]),
                    ((const uint64_t *)column->values)[i]);
        fputc(']', out);
    } else {
        assert_true(tsmith_batch_get(batch, column->field, row, &bits));
        if (column->type == TSMITH_TYPE_F64)
            fprintf(out, "\"%016" PRIx64 "\"", bits);
        else if (column->type == TSMITH_TYPE_TIME || column->type == TSMITH_TYPE_I64)
            fprintf(out, "%" PRId64, (int64_t)bits);
        else
            fprintf(out, "%" PRIu64, bits);
    }
}

static void put_batch(FILE *out, const tsmith_batch *batch) {
    fprintf(out, "{\"track\":%u,\"first\":%" PRId64 ",\"last\":%" PRId64 ",\"columns\":{",
            tsmith_batch_track(batch), tsmith_batch_first_start(batch), tsmith_batch_last_end(batch));
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        tsmith_column column = tsmith_batch_column_at(batch, i);
        fprintf(out, "%s\"%u\":[", comma(i), column.field);
        for (uint32_t row = 0; row < column.count; row++) {
            fputs(comma(row), out);
            put_value(out, batch, &column, row);
        }
        fputc(']', out);
    }
    fprintf(out, "}}");
}

static void put_events(FILE *out, tsmith_sbt *trace) {
    tsmith_source *source;
    tsmith_error error;
    const tsmith_batch *batch;
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    fprintf(out, "\"events\":[");
    for (uint64_t i = 0; tsmith_source_next(source, &batch, &error) == TSMITH_OK; i++) {
        fputs(i ? ",\n" : "", out);
        put_batch(out, batch);
    }
    tsmith_source_destroy(source);
    tsmith_aggregate *totals;
    size_t count;
    assert_int_equal(tsmith_sbt_aggregates(trace, &totals, &count, &error), TSMITH_OK);
    fprintf(out, "],\n\"aggregates\":[");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", comma(i), totals[i].kind,
                totals[i].name, totals[i].count, totals[i].total, totals[i].min, totals[i].max);
    fprintf(out, "]}\n");
    tsmith_free(totals);
}

static char *describe(const char *path, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    const tsmith_dictionary *dictionary;
    assert_non_null(out);
    if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK) {
        fprintf(out, "{\"refused\":true}\n");
    } else {
        assert_int_equal(tsmith_sbt_verify(trace, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_dictionary(trace, &dictionary, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
        fprintf(out, "{\"complete\":%s,\n\"damaged\":%" PRIu64 ",\n\"unknown_frames\":%" PRIu64 ",\n",
                summary.complete ? "true" : "false", summary.damaged_frames, summary.unknown_frames);
        put_tables(out, dictionary);
        put_stack_tables(out, dictionary);
        put_events(out, trace);
        tsmith_sbt_close(trace);
    }
    fclose(out);
    return text;
}

// ---- the tests

static const char *golden_folder(void) {
    static char folder[400];
    const char *source = getenv("TRACESMITH_SOURCE_DIR");
    snprintf(folder, sizeof folder, "%s/tests/sbt/golden", source ? source : ".");
    return folder;
}

static void the_library_says_what_the_other_reader_says(void **state) {
    (void)state;
    size_t seen = 0;
    DIR *folder = opendir(golden_folder());
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[700];
        char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".sbt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", golden_folder(), entry->d_name);
        size_t size;
        char *said = describe(path, &size);
        uint8_t *expected;
        snprintf(path, sizeof path, "%s/%.*s.json", golden_folder(), (int)(dot - entry->d_name),
                 entry->d_name);
        (void)read_file(path, &expected);
        if (strcmp(said, (char *)expected) != 0)
            print_error("%s is not what the library says\n", path);
        assert_string_equal(said, (char *)expected);
        free(said);
        free(expected);
        seen++;
    }
    closedir(folder);
    assert_int_equal(seen, FILES_READ);
}

static void the_same_events_still_give_the_same_files(void **state) {
    (void)state;
    char made_folder[256], path[700];
    const char *temporary = getenv("TMPDIR");
    if (ZSTD_versionNumber() != ZSTD_OF_THE_FILES) {
        print_message("zstd %u packs otherwise than %u, which made the files\n", ZSTD_versionNumber(),
                      ZSTD_OF_THE_FILES);
        skip();
    }
    snprintf(made_folder, sizeof made_folder, "%s/sbt-golden-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(made_folder));
    write_all(made_folder);
    size_t seen = 0;
    DIR *folder = opendir(made_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        uint8_t *made, *kept;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", golden_folder(), entry->d_name);
        size_t kept_size = read_file(path, &kept);
        snprintf(path, sizeof path, "%s/%s", made_folder, entry->d_name);
        size_t made_size = read_file(path, &made);
        if (made_size != kept_size || memcmp(made, kept, made_size) != 0)
            print_error("%s is not written as it was\n", entry->d_name);
        assert_int_equal(made_size, kept_size);
        assert_memory_equal(made, kept, made_size);
        free(made);
        free(kept);
        unlink(path);
        seen++;
    }
    closedir(folder);
    assert_int_equal(rmdir(made_folder), 0);
    assert_int_equal(seen, FILES_WRITTEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_says_what_the_other_reader_says),
        cmocka_unit_test(the_same_events_still_give_the_same_files),
    };
    const char *folder = getenv("TRACESMITH_GOLDEN_WRITE");
    if (folder) {
        write_all(folder);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
