// SPDX-License-Identifier: Apache-2.0
// Both decoders of gzip, in pieces of any size whose input and output end at pages that cannot be touched (no sanitizer sees into
// ISA-L's assembly): every byte comes, and they find the same files damaged. `test_gunzip DECODER` decodes what
// check_gunzip.py sends, which compares with Python.
#include "support/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "import/gunzip.h"
#include "import/isal.h"

#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/igzip_lib.h>
#define HAS_HEADER 1
#define SAME_PLACE(ours, theirs)                                                                             \
    _Static_assert(offsetof(struct isal_state, ours) == offsetof(struct inflate_state, theirs) &&            \
                       sizeof((struct isal_state){0}.ours) == sizeof((struct inflate_state){0}.theirs),      \
                   #ours)
SAME_PLACE(next_out, next_out);
SAME_PLACE(avail_out, avail_out);
SAME_PLACE(total_out, total_out);
SAME_PLACE(next_in, next_in);
SAME_PLACE(bits, read_in);
SAME_PLACE(avail_in, avail_in);
SAME_PLACE(bit_count, read_in_length);
SAME_PLACE(block_state, block_state);
SAME_PLACE(wrapper, crc_flag);
SAME_PLACE(crc, crc);
SAME_PLACE(valid, tmp_out_valid);
SAME_PLACE(delivered, tmp_out_processed);
SAME_PLACE(decoded, tmp_out_buffer);
_Static_assert(sizeof(struct isal_state) == sizeof(struct inflate_state), "the size of a state");
_Static_assert((int)ISAL_BODY_AND_TRAILER == ISAL_GZIP_NO_HDR_VER, "the wrapper");
_Static_assert((int)ISAL_FINISHED == ISAL_BLOCK_FINISH, "the block state");
#endif

enum { PAGE = 4096, PIECE_MAX = 64 * PAGE, DATA = 700000, ROOM = DATA * 2, BEHIND_CUT = 2 };

static const enum gunzip_decoder decoders[] = {GUNZIP_ZLIB, GUNZIP_ISAL};

struct bytes {
    unsigned char *at;
    size_t size;
};

struct decoded {
    struct bytes out;
    const char *problem; // NULL and not whole: it stops early
    bool whole;
};

// The last bytes of these are followed by a page that cannot be touched.
static unsigned char *in_end, *out_end;

static unsigned char *guarded_end(void) {
    unsigned char *area =
        mmap(NULL, PIECE_MAX + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    assert_int_equal(mprotect(area + PIECE_MAX, PAGE, PROT_NONE), 0);
    return area + PIECE_MAX;
}

// Pieces of 1 to `step` bytes. `out` has room for all.
static struct decoded decode(enum gunzip_decoder decoder, struct bytes packed, struct bytes out, size_t step,
                             struct random *random) {
    struct gunzip *gunzip = gunzip_create(decoder);
    struct decoded decoded = {.out = {out.at, 0}};
    bool is_over = false;
    assert_non_null(gunzip);
    while (!is_over) {
        const size_t in_size = 1 + random_below(random, step), out_size = 1 + random_below(random, step);
        const size_t given = in_size < packed.size ? in_size : packed.size;
        struct gunzip_piece piece = {in_end - given, given, out_end - out_size, out_size};
        if (given)
            memcpy(in_end - given, packed.at, given);
        decoded.problem = gunzip_decode(gunzip, &piece);
        const size_t used = given - piece.in_size, got = out_size - piece.out_size;
        packed.at += used;
        packed.size -= used;
        assert_true(decoded.out.size + got <= out.size);
        memcpy(decoded.out.at + decoded.out.size, out_end - out_size, got);
        decoded.out.size += got;
        is_over = decoded.problem || (packed.size == 0 && given == 0 && got == 0);
    }
    decoded.whole = !decoded.problem && gunzip_may_end(gunzip);
    gunzip_destroy(gunzip);
    return decoded;
}

static bool has_decoder(enum gunzip_decoder decoder) {
    struct gunzip *gunzip = gunzip_create(decoder);
    gunzip_destroy(gunzip);
    return gunzip != NULL;
}

// Appends a member.
static void pack(struct bytes *packed, const void *data, size_t size, int level, int strategy) {
    z_stream zlib = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
    assert_int_equal(deflateInit2(&zlib, level, Z_DEFLATED, 15 + 16, 9, strategy), Z_OK);
    zlib.next_out = packed->at + packed->size;
    zlib.avail_out = (uInt)(ROOM - packed->size);
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed->size += zlib.total_out;
    (void)deflateEnd(&zlib);
}

static struct bytes bytes_of(size_t size) {
    struct bytes bytes = {calloc(1, size), size};
    assert_non_null(bytes.at);
    return bytes;
}

// What deflate meets: noise, text, runs, and repetitions from as far back as they may come.
static void fill(unsigned char *data, size_t size, struct random *random) {
    for (size_t at = 0; at < size;) {
        static const size_t distances[] = {1, 2, 3, 7, 258, 32767, 32768, 32768};
        const size_t distance = distances[random_below(random, 8)], kind = random_below(random, 4);
        size_t length = 1 + random_below(random, kind == 2 ? 40000 : 2000);
        for (; length && at < size; length--, at++)
            data[at] = kind == 0                     ? (unsigned char)random_next(random)
                       : kind == 1                   ? (unsigned char)('a' + random_below(random, 5))
                       : kind == 2 && at >= distance ? data[at - distance]
                                                     : 0;
    }
}

static void check_whole(struct bytes packed, struct bytes data, size_t step, struct random *random) {
    struct bytes out = bytes_of(data.size + 1);
    for (size_t i = 0; i < 2; i++) {
        if (!has_decoder(decoders[i]))
            continue;
        const struct decoded decoded = decode(decoders[i], packed, out, step, random);
        if (decoded.problem)
            fail_msg("decoder %zu: %s", i, decoded.problem);
        assert_true(decoded.whole);
        assert_int_equal(decoded.out.size, data.size);
        assert_memory_equal(out.at, data.at, data.size);
    }
    free(out.at);
}

// Members of 0 to `most` bytes each.
static void pack_members(struct bytes *packed, struct bytes data, size_t most, int strategy,
                         struct random *random) {
    static const int levels[] = {0, 1, 6, 9};
    packed->size = 0;
    for (size_t at = 0, size; at < data.size; at += size) {
        size = random_below(random, most + 1);
        size = size < data.size - at ? size : data.size - at;
        pack(packed, data.at + at, size, levels[random_below(random, 4)], strategy);
    }
}

static void test_whole(void **state) {
    (void)state;
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    struct random random = {11};
    struct bytes data = bytes_of(DATA), packed = bytes_of(ROOM);
    for (size_t round = 0; round < 12; round++) {
        fill(data.at, data.size, &random);
        pack_members(&packed, data, round < 6 ? data.size : (size_t)1 << (6 + round), strategies[round % 4],
                     &random);
        check_whole(packed, data, round % 3 ? PIECE_MAX : 5000, &random);
    }
    free(data.at);
    free(packed.at);
}

// Members with every field of a header, and blocks that a small piece cannot hold.
static size_t make_small(struct bytes *packed) {
    unsigned char data[2000];
    char name[] = "trace", comment[] = "of a test";
    Bytef extra[] = "extra";
    struct random random = {5};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)"{\"name\":1,}"[random_below(&random, 11)];
    gz_header header = {
        .name = (Bytef *)name, .comment = (Bytef *)comment, .extra = extra, .extra_len = 5, .hcrc = 1};
    z_stream zlib = {.next_in = data, .avail_in = 300, .next_out = packed->at, .avail_out = ROOM};
    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflateSetHeader(&zlib, &header), Z_OK);
    assert_int_equal(deflate(&zlib, Z_FULL_FLUSH), Z_OK);
    zlib.avail_in = 200;
    assert_int_equal(deflateParams(&zlib, 0, Z_DEFAULT_STRATEGY), Z_OK); // the rest is stored
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed->size = zlib.total_out;
    (void)deflateEnd(&zlib);
    pack(packed, data, 40, 6, Z_FIXED);
    return 540;
}

// What the two found of the same damaged file.
static void compare_damaged(const struct decoded *with_zlib, const struct decoded *with_isal, bool is_cut,
                            size_t at) {
    const size_t one = with_zlib->out.size, two = with_isal->out.size, common = one < two ? one : two;
    if (with_zlib->whole != with_isal->whole || memcmp(with_zlib->out.at, with_isal->out.at, common) != 0 ||
        (with_zlib->whole && one != two) || (is_cut && (two > one || one - two > BEHIND_CUT)))
        fail_msg("%s %zu: zlib: %zu bytes, %s; ISA-L: %zu bytes, %s", is_cut ? "cut at byte" : "changed bit",
                 at, one, with_zlib->problem ? with_zlib->problem : "", two,
                 with_isal->problem ? with_isal->problem : "");
}

static void test_damage(void **state) {
    (void)state;
    enum { OUT = 1 << 20 };
    struct random random = {3};
    struct bytes packed = bytes_of(ROOM), one = bytes_of(OUT), two = bytes_of(OUT), again = bytes_of(OUT);
    const size_t size = make_small(&packed), whole = packed.size;
    const bool has_isal = has_decoder(GUNZIP_ISAL);
    for (size_t cut = 0; cut <= whole; cut++) {
        packed.size = cut;
        const struct decoded with_zlib = decode(GUNZIP_ZLIB, packed, one, 400, &random);
        assert_true(with_zlib.whole == (cut == whole) ||
                    with_zlib.out.size == size - 40); // between the members
        assert_null(with_zlib.problem);
        if (!has_isal)
            continue;
        const struct decoded with_isal = decode(GUNZIP_ISAL, packed, two, 400, &random);
        assert_null(with_isal.problem);
        compare_damaged(&with_zlib, &with_isal, true, cut);
    }
    packed.size = whole;
    for (size_t bit = 0; bit < whole * 8; bit++) {
        packed.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
        const struct decoded with_zlib = decode(GUNZIP_ZLIB, packed, one, 400, &random);
        if (has_isal) {
            const struct decoded with_isal = decode(GUNZIP_ISAL, packed, two, 400, &random);
            compare_damaged(&with_zlib, &with_isal, false, bit);
            // Where the pieces begin and end changes nothing.
            const struct decoded once_more = decode(GUNZIP_ISAL, packed, again, PIECE_MAX, &random);
            assert_int_equal(once_more.out.size, with_isal.out.size);
            assert_memory_equal(again.at, two.at, with_isal.out.size);
            assert_true(once_more.whole == with_isal.whole);
        }
        packed.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    free(packed.at);
    free(one.at);
    free(two.at);
    free(again.at);
}

static void check_message(struct bytes packed, const char *message) {
    unsigned char room[1000];
    struct random random = {1};
    for (size_t i = 0; i < 2; i++) {
        if (!has_decoder(decoders[i]))
            continue;
        const struct decoded decoded =
            decode(decoders[i], packed, (struct bytes){room, sizeof room}, 100, &random);
        if (message)
            assert_string_equal(decoded.problem ? decoded.problem : "none", message);
        else
            assert_true(decoded.whole);
    }
}

static void test_trailer(void **state) {
    (void)state;
    static const char OTHER[] = "the data after a gzip member is not a gzip member";
    struct bytes packed = bytes_of(ROOM);
    packed.size = 0;
    pack(&packed, "some text, some text", 20, 6, Z_DEFAULT_STRATEGY);
    check_message(packed, NULL);
    packed.at[packed.size - 8] ^= 1; // the checksum
    check_message(packed, "incorrect data check");
    packed.at[packed.size - 8] ^= 1;
    packed.size += 100; // zeros
    check_message(packed, NULL);
    packed.at[packed.size - 1] = 0x1f;
    check_message(packed, OTHER);
    packed.size -= 100;
    memcpy(packed.at + packed.size++, "x", 1);
    check_message(packed, OTHER);
    packed.at[packed.size - 1] = 0x1f; // a member that stops early
    unsigned char room[100];
    struct random random = {1};
    for (size_t i = 0; i < 2; i++) {
        if (!has_decoder(decoders[i]))
            continue;
        const struct decoded decoded =
            decode(decoders[i], packed, (struct bytes){room, sizeof room}, 100, &random);
        assert_true(!decoded.whole && !decoded.problem && decoded.out.size == 20);
    }
    free(packed.at);
}

// The library where it is installed, at a version that was tried, is used.
static void test_found(void **state) {
    (void)state;
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    const bool is_known = library && dlsym(library, "isal_deflate_process_dict");
    assert_true((isal_find() != NULL) == is_known);
    assert_true(has_decoder(GUNZIP_ISAL) == is_known);
    assert_true(has_decoder(GUNZIP_ZLIB) && has_decoder(GUNZIP_FASTEST));
    if (!is_known)
        print_message("libisal.so.2 of 2.30 or later is not installed: only zlib was tested\n");
#ifndef HAS_HEADER
    print_message("isa-l/igzip_lib.h is not installed: the layout was not compared with it\n");
#endif
    if (library)
        (void)dlclose(library);
}

// ---- for check_gunzip.py

// Reads cases (four bytes of length, then bytes) and writes 1 if whole, else 0, and what was decoded in the same form.
static int answer(enum gunzip_decoder decoder) {
    struct bytes packed = bytes_of(ROOM), out = bytes_of(ROOM * 8);
    struct random random = {9};
    uint32_t size;
    if (!has_decoder(decoder))
        return 77;
    while (fread(&size, 1, sizeof size, stdin) == sizeof size) {
        assert_true(size <= ROOM && fread(packed.at, 1, size, stdin) == size);
        const struct decoded decoded = decode(decoder, (struct bytes){packed.at, size}, out,
                                              size < PIECE_MAX ? 1 + size : PIECE_MAX, &random);
        const uint32_t got = (uint32_t)decoded.out.size;
        (void)fputc(decoded.whole, stdout);
        (void)fwrite(&got, 1, sizeof got, stdout);
        (void)fwrite(out.at, 1, got, stdout);
    }
    free(packed.at);
    free(out.at);
    return 0;
}

int main(int argc, char **argv) {
    in_end = guarded_end();
    out_end = guarded_end();
    if (argc > 1)
        return answer(strcmp(argv[1], "isal") == 0 ? GUNZIP_ISAL : GUNZIP_ZLIB);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_trailer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
