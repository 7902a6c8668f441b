// SPDX-License-Identifier: Apache-2.0
// Every bit of a compressed trace, turned over one after the other: the import fails, or reports damage, or yields
// the same as the whole file. In each container, for each format that is read from one.
#include "import/trip.h"

#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

enum { ROOM = 1 << 16 };

struct packed {
    unsigned char bytes[ROOM];
    size_t length;
};

// ---- containers

static void add_gzip(struct packed *packed, const void *bytes, size_t length, gz_header *header) {
    z_stream gzip = {.next_in = (Bytef *)(uintptr_t)bytes,
                     .avail_in = (uInt)length,
                     .next_out = packed->bytes + packed->length,
                     .avail_out = (uInt)(ROOM - packed->length)};
    assert_int_equal(deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (header)
        assert_int_equal(deflateSetHeader(&gzip, header), Z_OK);
    assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
    packed->length += gzip.total_out;
    (void)deflateEnd(&gzip);
}

static void pack_gzip(struct packed *packed, const char *bytes, size_t length) {
    add_gzip(packed, bytes, length, NULL);
}

// Three members, the last one of nothing; the first has a name and a checksum of its header.
static void pack_members(struct packed *packed, const char *bytes, size_t length) {
    char name[] = "trace";
    gz_header header = {.name = (Bytef *)name, .hcrc = 1, .os = 3};
    add_gzip(packed, bytes, length / 2, &header);
    add_gzip(packed, bytes + length / 2, length - length / 2, NULL);
    add_gzip(packed, "", 0, NULL);
}

static void add_zstd(struct packed *packed, const char *bytes, size_t length) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    assert_non_null(zstd);
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)));
    size_t size = ZSTD_compress2(zstd, packed->bytes + packed->length, ROOM - packed->length, bytes, length);
    assert_false(ZSTD_isError(size));
    packed->length += size;
    ZSTD_freeCCtx(zstd);
}

static void pack_zstd(struct packed *packed, const char *bytes, size_t length) {
    add_zstd(packed, bytes, length);
}

static void pack_frames(struct packed *packed, const char *bytes, size_t length) {
    add_zstd(packed, bytes, length / 2);
    add_zstd(packed, bytes + length / 2, length - length / 2);
}

static const struct {
    const char *name;
    void (*pack)(struct packed *, const char *, size_t);
} containers[] = {
    {"gzip", pack_gzip}, {"gzip, members", pack_members}, {"zstd", pack_zstd}, {"zstd, frames", pack_frames}};

// ---- formats

static const char *const formats[] = {
    "import_json/kineto", "import_json/array",      "import_json/mctracer", "import_json/rocprof",
    "import_json/own",    "import_perfetto/slices", "import_perfetto/gpu",  "import_xctrace/profile",
    "import_xctrace/gpu", "import_xplane/small",    "import_snapshot/made", "import_et/new",
    "import_ncu/raw",     "import_chakra/made"};

static size_t read_sample(const char *name, char *bytes) {
    const char *source = getenv("TRACESMITH_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/fuzz/corpus/%s", source ? source : ".", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t length = read(fd, bytes, ROOM / 2);
    assert_true(is_between(length, 1, ROOM / 2 - 1));
    (void)close(fd);
    return (size_t)length;
}

static void check_flips(const char *format, size_t container) {
    static char bytes[ROOM / 2];
    static struct packed packed;
    size_t length = read_sample(format, bytes);
    packed.length = 0;
    containers[container].pack(&packed, bytes, length);
    struct trip whole = trip_bytes(packed.bytes, packed.length), plain = trip_bytes(bytes, length);
    assert_int_equal(whole.status, TSMITH_OK);
    assert_int_equal(plain.status, TSMITH_OK);
    assert_string_equal(whole.json, plain.json);
    // With a sanitizer every fifth bit, of which all bytes and all places in a byte have some.
    const char *sanitizer = getenv("TRACESMITH_SANITIZE");
    size_t told = 0, silent = 0, step = sanitizer && *sanitizer ? 5 : 1;
    for (size_t bit = 0; bit < packed.length * 8; bit += step) {
        packed.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        struct trip trip = trip_bytes(packed.bytes, packed.length);
        packed.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        bool same = trip.status == TSMITH_OK && strcmp(trip.json, whole.json) == 0;
        if (!same && trip.status == TSMITH_OK)
            fail_msg("%s, %s: bit %zu of byte %zu is wrong and not reported", format,
                     containers[container].name, bit % 8, bit / 8);
        // A damaged trace that was read in part reports that in its own ledger, too.
        if (trip.status == TSMITH_TRUNCATED && trip.losses == 0)
            fail_msg("%s, %s: bit %zu of byte %zu: no entry of the ledger says what is damaged", format,
                     containers[container].name, bit % 8, bit / 8);
        told += !same;
        silent += same;
        trip_free(&trip);
    }
    // Only headers have bits that mean nothing.
    assert_true(told > silent * 5);
    trip_free(&whole);
    trip_free(&plain);
}

static void test_flips(void **state) {
    (void)state;
    for (size_t format = 0; format < sizeof formats / sizeof *formats; format++)
        for (size_t container = 0; container < sizeof containers / sizeof *containers; container++)
            check_flips(formats[format], container);
}

// ---- ends

static const char trace[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2}]}";

static void test_ends(void **state) {
    static const struct {
        const char *after;
        size_t length;
        tsmith_status status;
    } ends[] = {{"\0\0\0\0\0\0\0\0", 8, TSMITH_OK}, // padding, as tar and dd make it
                {"rest", 4, TSMITH_TRUNCATED},
                {"\0\0rest", 6, TSMITH_TRUNCATED},
                {"\x1f\x8b", 2, TSMITH_TRUNCATED}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct packed packed = {.length = 0};
        pack_gzip(&packed, trace, strlen(trace));
        memcpy(packed.bytes + packed.length, ends[i].after, ends[i].length);
        struct trip trip = trip_bytes(packed.bytes, packed.length + ends[i].length);
        assert_int_equal(trip.status, ends[i].status);
        assert_int_equal(trip.events, 1);
        assert_int_equal(trip.losses, ends[i].status == TSMITH_TRUNCATED);
        trip_free(&trip);
    }
}

// Data after the end of a trace is not read, which is reported.
static void test_trailing(void **state) {
    (void)state;
    char text[256];
    struct trip trip;
    (void)snprintf(text, sizeof text, "%s \n\t", trace);
    trip = trip_text(text);
    assert_int_equal(trip.losses, 0);
    trip_free(&trip);
    (void)snprintf(text, sizeof text, "%s\n%s", trace, trace);
    trip = trip_text(text);
    assert_int_equal(trip.events, 1);
    assert_int_equal(trip.losses, 1);
    assert_non_null(strstr(trip.json, "the file continues after the end of the trace"));
    trip_free(&trip);
}

// A window beyond the limit, as zstd --long=31 makes it: the message has the remedy.
static void test_long_window(void **state) {
    (void)state;
    // Magic, no content size, a window of 2^(10 + exponent): RFC 8878, section 3.1.1. Then a raw last block.
    unsigned char frame[256] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00};
    size_t length = strlen(trace);
    unsigned header = (unsigned)length << 3 | 1;
    frame[6] = (unsigned char)header;
    frame[7] = (unsigned char)(header >> 8);
    frame[8] = (unsigned char)(header >> 16);
    memcpy(frame + 9, trace, length);
    for (unsigned log = 10; log <= 31; log++) {
        frame[5] = (unsigned char)((log - 10) << 3);
        struct trip trip = trip_bytes(frame, 9 + length);
        if (log <= 29) {
            assert_int_equal(trip.status, TSMITH_OK);
            assert_int_equal(trip.events, 1);
        } else {
            assert_true(trip.status < 0);
            assert_non_null(strstr(trip.error.message, "zstd -d --long=31"));
        }
        trip_free(&trip);
    }
}

// An event without a time, first in the file or not, is lost like one whose time is no number.
static void test_without_time(void **state) {
    static const char *const phases[] = {"X", "B", "E", "i", "C", "s", "O"};
    static const char timed[] = "{\"ph\":\"X\",\"name\":\"good\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":2}";
    (void)state;
    for (size_t i = 0; i < 2 * sizeof phases / sizeof *phases; i++) {
        char text[512], bad[128], byte[64];
        (void)snprintf(bad, sizeof bad, "{\"ph\":\"%s\",\"name\":\"bad\",\"pid\":1,\"tid\":2,\"dur\":3}",
                       phases[i / 2]);
        (void)snprintf(text, sizeof text, "{\"traceEvents\":[%s,%s]}", i % 2 ? timed : bad,
                       i % 2 ? bad : timed);
        (void)snprintf(byte, sizeof byte, "begins at byte %zu)", (size_t)(strstr(text, bad) - text));
        struct trip trip = trip_text(text);
        if (trip.status != TSMITH_OK || trip.events != 1 || trip.lost != 1 || !strstr(trip.json, byte) ||
            strstr(trip.json, "\"ts\":0"))
            fail_msg("%s: %s", text, trip.json);
        trip_free(&trip);
    }
}

// A time that is not a number is unknown: the event is lost, and the ledger has the byte. A duration that is not a
// number is unknown too, and the event stays. None of them is 0.
static void test_no_times(void **state) {
    static const char *const values[] = {"NaN",  "null",      "\"abc\"", "[]", "{}",
                                         "true", "-Infinity", "\"\"",    "[1]"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[512], byte[64];
        (void)snprintf(
            text, sizeof text,
            "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"good\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":2},"
            "{\"ph\":\"X\",\"name\":\"bad\",\"pid\":1,\"tid\":2,\"ts\":%s,\"dur\":2}]}",
            values[i]);
        (void)snprintf(byte, sizeof byte, "begins at byte %zu)",
                       (size_t)(strstr(text, "{\"ph\":\"X\",\"name\":\"bad\"") - text));
        struct trip trip = trip_text(text);
        if (trip.status != TSMITH_OK || trip.events != 1 || trip.lost != 1 || !strstr(trip.json, byte))
            fail_msg("ts %s: %s", values[i], trip.json);
        trip_free(&trip);
        (void)snprintf(
            text, sizeof text,
            "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"good\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":%s}]}",
            values[i]);
        trip = trip_text(text);
        if (trip.status != TSMITH_OK || trip.events != 1 || trip.lost != 0 ||
            strstr(trip.json, "\"dur\":0") || trip.attributes == 0)
            fail_msg("dur %s: %s", values[i], trip.json);
        trip_free(&trip);
    }
}

// A literal and its length without the end.
#define BYTES(literal) literal, sizeof literal - 1

// What is known and not read is named, with what to do.
static void test_others(void **state) {
    static const struct {
        const char *bytes;
        size_t length;
        const char *texts[2];
    } others[] = {
        {BYTES("\x80\x02}q\0X\x05\0\0\0other"), {"Python pickle", "memory snapshot of PyTorch"}},
        {BYTES("PK\x03\x04\x14\0\0\0\x08\0"), {"zip archive", "unpack"}},
        {BYTES("\xfd"
               "7zXZ\0\0\x04"),
         {"xz file", "xz -d"}},
        {BYTES("BZh91AY&SY"), {"bzip2", "bzip2 -d"}},
        {BYTES("\x03"
               "BOTF2\0\x03\x02\x03\0\x02"),
         {"OTF2 archive", "otf2-print"}},
        {BYTES("==12== NVPROF is profiling process 12, command: ./a\n"), {"nvprof", "tracesmith profile"}}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct trip trip = trip_bytes(others[i].bytes, others[i].length);
        assert_int_equal(trip.status, TSMITH_ERROR_FORMAT);
        for (int k = 0; k < 2; k++)
            if (!strstr(trip.error.message, others[i].texts[k]))
                fail_msg("%zu: %s", i, trip.error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flips),        cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_trailing),     cmocka_unit_test(test_no_times),
                                       cmocka_unit_test(test_without_time), cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_long_window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
