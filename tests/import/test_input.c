// SPDX-License-Identifier: Apache-2.0
// Reading on, compressed or not: all bytes come, and a reader that begins again each time does not begin often.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "import/input.h"

enum { SIZE = 24 << 20 };

static int memory_file(const void *bytes, size_t length) {
    int fd = memfd_create("input", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

// Digits that compress about as JSON does.
static char *make_text(void) {
    struct random random = {1};
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('0' + random_below(&random, 4));
    return text;
}

// Keeps everything, as for a value that ends at the end of the file.
static void check_kept(int fd, const char *text) {
    struct input input;
    tsmith_error error;
    unsigned calls = 0;
    assert_int_equal(input_open(&input, fd, true, "input", NULL, 0, &error), TSMITH_OK);
    while (input_more(&input, &error) == TSMITH_OK)
        calls++;
    assert_true(input.ended && !input.cut && input.begin == 0);
    assert_int_equal(input.end, SIZE);
    assert_memory_equal(input.window, text, SIZE);
    // From 1 MiB on each call at least doubles what there is, but for the last.
    if (calls > 7)
        fail_msg("%u calls", calls);
    input_close(&input);
}

static void test_whole(void **state) {
    (void)state;
    char *text = make_text();
    size_t room = compressBound(SIZE) + ZSTD_compressBound(SIZE) + 64;
    unsigned char *packed = malloc(room);
    assert_non_null(packed);
    check_kept(memory_file(text, SIZE), text);

    z_stream gzip = {.next_in = (Bytef *)text, .avail_in = SIZE, .next_out = packed, .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&gzip, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
    check_kept(memory_file(packed, gzip.total_out), text);
    (void)deflateEnd(&gzip);

    size_t length = ZSTD_compress(packed, room, text, SIZE, 1);
    assert_false(ZSTD_isError(length));
    check_kept(memory_file(packed, length), text);
    free(packed);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
