// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compressed file: the decompressed data, and whether it is damaged, are the same from a file and from a
// pipe of which the first bytes were read already; and the importer of any detected format ends.
#include "import.h"

#include <string.h>

#include "import/input.h"

enum { PIPE_MAX = 60 << 10, OUT_MAX = 32 << 20 };

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && size <= PIPE_MAX)
        compare(data, size);
    fuzz_import(data, size);
    return 0;
}
