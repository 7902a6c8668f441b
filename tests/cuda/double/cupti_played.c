// SPDX-License-Identifier: Apache-2.0
// What CUPTI wrote on a GPU, handed to the client as it was, once, at the first flush: DOUBLE_PLAY names a file of
// tests/gpu/programs/cupti_only.c, whose form is said there. The double must play the file's version (version=N).
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_double.h"

enum { NAME_MOST = 1 << 16 };

static bool get(FILE *file, void *to, size_t bytes) {
    return fread(to, 1, bytes, file) == bytes;
}

// A name's pointer was of another process.
static void rename_kernels(const struct buffer *buffer, uint64_t pointer, const char *name) {
    void *record = NULL;
    while (double_next(buffer->at, buffer->used, &record) == CUPTI_OK) {
        struct cupti_kernel *kernel = record;
        if (kernel->kind == CUPTI_KIND_CONCURRENT_KERNEL && (uintptr_t)kernel->name == pointer)
            kernel->name = name;
    }
}

static bool play_names(FILE *file, const struct buffer *buffer) {
    uint32_t count, length;
    uint64_t pointer;
    if (!get(file, &count, sizeof count))
        return false;
    for (; count; count--) {
        if (!get(file, &pointer, sizeof pointer) || !get(file, &length, sizeof length) || length > NAME_MOST)
            return false;
        char *name = calloc(1, length + 1u); // kept: records speak of it
        if (!name || !get(file, name, length))
            return false;
        rename_kernels(buffer, pointer, name);
    }
    return true;
}

// 1 when there was a buffer, 0 at the end, -1 when it is not whole.
static int play_buffer(FILE *file) {
    uint64_t bytes;
    if (!get(file, &bytes, sizeof bytes))
        return feof(file) ? 0 : -1;
    struct buffer buffer = double_ask();
    if (!buffer.at || bytes > buffer.size || !get(file, buffer.at, bytes))
        return -1;
    buffer.used = bytes;
    if (!play_names(file, &buffer))
        return -1;
    double_deliver(buffer);
    return 1;
}

void double_play(void) {
    static atomic_flag played = ATOMIC_FLAG_INIT;
    const char *path = getenv("DOUBLE_PLAY");
    char magic[8];
    uint32_t version = 0;
    int more = 1;
    if (!path || atomic_flag_test_and_set(&played))
        return;
    FILE *file = fopen(path, "rb");
    if (!file || !get(file, magic, sizeof magic) || memcmp(magic, "TSCUPTI1", sizeof magic) != 0 ||
        !get(file, &version, sizeof version))
        more = -1;
    else if (version != double_value("version", 130001))
        fprintf(stderr, "the double: %s is of version %" PRIu32 ": DOUBLE_CUPTI=version=%" PRIu32 "\n", path,
                version, version);
    else
        while ((more = play_buffer(file)) > 0)
            ;
    if (more < 0)
        fprintf(stderr, "the double: %s cannot be played, or not to its end\n", path);
    if (file)
        fclose(file);
}
