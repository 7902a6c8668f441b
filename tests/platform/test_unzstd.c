// SPDX-License-Identifier: Apache-2.0
// Our decoder of zstd against libzstd: frames of many sizes, contents and levels, and damaged ones, of which it must not accept any
// whose content is another than libzstd's.
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "platform/unzstd.h"

enum { MOST = 400000, DAMAGED = 300 };

// Contents that make libzstd use each of its kinds of blocks, literals and tables.
static size_t make(uint8_t *out, unsigned content, size_t size, struct random *random) {
    static const char *const WORDS[] = {"kernel", "memcpy ", "void at::native::", "(", ")", "<float, 4>",
                                        "\n",     "0"};
    size_t at = 0;
    while (at < size) {
        const char *word = WORDS[random_below(random, 8)];
        size_t length = strlen(word);
        switch (content) {
        case 0: // text
            length = length < size - at ? length : size - at;
            memcpy(out + at, word, length);
            at += length;
            break;
        case 1: // noise
            out[at++] = (uint8_t)random_next(random);
            break;
        case 2: // few values, unevenly
            out[at++] = (uint8_t)(random_below(random, 1 + random_below(random, 40)));
            break;
        case 3: // one value
            out[at++] = 7;
            break;
        default: // numbers that grow
            out[at] = (uint8_t)((at / 8 * 1000) >> at % 8 * 8);
            at++;
        }
    }
    return size;
}

struct buffers {
    uint8_t *plain, *packed, *out, *reference;
    size_t bound;
    void *state;
};

static bool reference_takes(struct buffers *buffers, size_t packed, size_t plain) {
    return ZSTD_decompress(buffers->reference, plain, buffers->packed, packed) == plain;
}

static void check_damaged(struct buffers *buffers, size_t packed, size_t plain, struct random *random) {
    for (int i = 0; i < DAMAGED; i++) {
        const size_t at = random_below(random, packed), cut = random_below(random, 20) ? packed : at;
        const uint8_t old = buffers->packed[at];
        buffers->packed[at] = (uint8_t)random_next(random);
        // Memory of just that size, so that valgrind and ASan see a read beyond it.
        uint8_t *exact = malloc(cut ? cut : 1), *to = malloc(plain ? plain : 1);
        assert_non_null(exact);
        assert_non_null(to);
        memcpy(exact, buffers->packed, cut);
        if (unzstd_own(&buffers->state, exact, cut, to, plain)) {
            assert_true(reference_takes(buffers, cut, plain));
            assert_memory_equal(to, buffers->reference, plain);
        }
        free(exact);
        free(to);
        buffers->packed[at] = old;
    }
}

static void check(struct buffers *buffers, unsigned content, size_t size, int level, struct random *random) {
    make(buffers->plain, content, size, random);
    const size_t packed = ZSTD_compress(buffers->packed, buffers->bound, buffers->plain, size, level);
    assert_false(ZSTD_isError(packed));
    memset(buffers->out, 0xa5, size);
    assert_true(unzstd_own(&buffers->state, buffers->packed, packed, buffers->out, size));
    assert_memory_equal(buffers->out, buffers->plain, size);
    assert_false(unzstd_own(&buffers->state, buffers->packed, packed, buffers->out, size + 1));
    assert_false(size && unzstd_own(&buffers->state, buffers->packed, packed, buffers->out, size - 1));
    assert_false(unzstd_own(&buffers->state, buffers->packed, packed - 1, buffers->out, size));
    if (size < 3000)
        check_damaged(buffers, packed, size, random);
}

static void frames(void **state) {
    (void)state;
    static const int LEVELS[] = {-50, -1, 1, 3, 9, 19};
    static const size_t SIZES[] = {0, 1, 2, 255, 256, 700, 2900, 65535, 65536 + 256, 131072, MOST};
    struct random random = {11};
    struct buffers buffers = {malloc(MOST + 1),         NULL, malloc(MOST + 1), malloc(MOST + 1),
                              ZSTD_compressBound(MOST), NULL};
    buffers.packed = malloc(buffers.bound);
    assert_true(buffers.plain && buffers.packed && buffers.out && buffers.reference);
    for (unsigned content = 0; content < 5; content++)
        for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++)
            for (size_t level = 0; level < sizeof LEVELS / sizeof *LEVELS; level++)
                check(&buffers, content, SIZES[size], LEVELS[level], &random);
    free(buffers.plain);
    free(buffers.packed);
    free(buffers.out);
    free(buffers.reference);
    free(buffers.state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
