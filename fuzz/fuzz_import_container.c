// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compressed file: the decompressed data, and whether it is damaged, are the same from a file and from a
// pipe of which the first bytes were read already; both decoders of gzip agree; and the importer of any detected format ends.
#include "import.h"

#include <string.h>

#include "import/gunzip.h"
#include "import/input.h"

enum { PIPE_MAX = 60 << 10, OUT_MAX = 32 << 20, GUNZIP_MAX = 1 << 20 };

struct unpacked {
    uint64_t length, sum;
    bool cut;
};

// False when it is more than is worth comparing.
static bool unpack(int fd, const void *first, size_t first_size, struct unpacked *out) {
    struct input input;
    bool more = true;
    *out = (struct unpacked){.length = 0};
    if (input_open(&input, fd, false, "fuzz", first, first_size, NULL) != TSMITH_OK)
        abort();
    while (more && out->length < OUT_MAX) {
        for (size_t i = input.begin; i < input.end; i++)
            out->sum = (out->sum ^ (unsigned char)input.window[i]) * 0x100000001b3u;
        out->length += input.end - input.begin;
        input.begin = input.end;
        tsmith_status status = input_more(&input, NULL);
        if (status < 0)
            abort();
        more = status == TSMITH_OK;
    }
    out->cut = input.cut;
    input_close(&input);
    return !more;
}

static void compare(const uint8_t *data, size_t size) {
    int file = memfd_create("fuzz", MFD_CLOEXEC), ends[2];
    size_t first = size < 5 ? size : 5;
    struct unpacked one, two;
    if (file < 0 || write(file, data, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0 ||
        pipe(ends) != 0 || write(ends[1], data + first, size - first) != (ssize_t)(size - first))
        abort();
    close(ends[1]);
    if (unpack(file, NULL, 0, &one) && unpack(ends[0], data, first, &two) &&
        (one.length != two.length || one.sum != two.sum || one.cut != two.cut))
        abort();
    close(ends[0]);
    close(file);
}

// In pieces of `step` bytes, from memory that ends where the piece does; no more than GUNZIP_MAX bytes.
static size_t gunzip_with(struct gunzip *gunzip, const uint8_t *data, size_t size, size_t step,
                          unsigned char *out, bool *whole) {
    size_t at = 0, length = 0, given = 1;
    const char *problem = NULL;
    for (bool more = true; more && !problem;) {
        given = size - at < step ? size - at : step;
        unsigned char *in = malloc(given + !given);
        if (!in)
            abort();
        memcpy(in, data + at, given);
        const size_t room = GUNZIP_MAX - length < step ? GUNZIP_MAX - length : step;
        struct gunzip_piece piece = {in, given, out + length, room};
        problem = gunzip_decode(gunzip, &piece);
        at += given - piece.in_size;
        length += room - piece.out_size;
        more = length < GUNZIP_MAX && (given > 0 || room > piece.out_size);
        free(in);
    }
    *whole = !problem && gunzip_may_end(gunzip);
    return length;
}

// Where a file is damaged, one may find it later than the other.
static void compare_gunzip(const uint8_t *data, size_t size) {
    static unsigned char one[GUNZIP_MAX], two[GUNZIP_MAX];
    struct gunzip *isal = gunzip_create(GUNZIP_ISAL), *zlib = gunzip_create(GUNZIP_ZLIB);
    bool one_whole, two_whole;
    if (isal && zlib) {
        const size_t with_isal = gunzip_with(isal, data, size, 100 + data[size - 1], one, &one_whole);
        const size_t with_zlib = gunzip_with(zlib, data, size, 4096, two, &two_whole);
        const size_t common = with_isal < with_zlib ? with_isal : with_zlib;
        if (memcmp(one, two, common) != 0)
            abort();
        if (with_isal < GUNZIP_MAX && with_zlib < GUNZIP_MAX &&
            (one_whole != two_whole || (one_whole && with_isal != with_zlib)))
            abort();
    }
    gunzip_destroy(isal);
    gunzip_destroy(zlib);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 2 && data[0] == 0x1f && data[1] == 0x8b)
        compare_gunzip(data, size);
    if (size > 0 && size <= PIPE_MAX)
        compare(data, size);
    fuzz_import(data, size);
    return 0;
}
