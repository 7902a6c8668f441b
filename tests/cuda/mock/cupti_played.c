// SPDX-License-Identifier: Apache-2.0
// What CUPTI wrote on a GPU, handed to the client as it was, once, at the first flush: MOCK_PLAY names a file of
// tests/gpu/programs/cupti_only.c, which describes the format. The mock must play the file's version (version=N).
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_mock.h"

enum { NAME_MOST = 1 << 16, MOST = 1 << 26 };

static bool get(FILE *file, void *to, size_t bytes) {
    return fread(to, 1, bytes, file) == bytes;
}

// A name's pointer was of another process.
static void rename_kernels(const struct buffer *buffer, uint64_t pointer, const char *name) {
    void *record = NULL;
    while (mock_next(buffer->at, buffer->used, &record) == CUPTI_OK) {
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
        char *name = calloc(1, length + 1u); // kept: records refer to it
        if (!name || !get(file, name, length))
            return false;
        rename_kernels(buffer, pointer, name);
    }
    return true;
}

// In buffers of the client's, however large these are.
static void hand_over(const struct buffer *whole) {
    struct buffer buffer = mock_ask();
    void *record = NULL;
    for (int more = mock_next(whole->at, whole->used, &record); more == CUPTI_OK;) {
        const uint8_t *const at = record;
        more = mock_next(whole->at, whole->used, &record);
        const size_t bytes = (size_t)((more == CUPTI_OK ? (uint8_t *)record : whole->at + whole->used) - at);
        if (buffer.size - buffer.used < bytes) {
            mock_deliver(buffer);
            buffer = mock_ask();
        }
        if (buffer.at && buffer.size - buffer.used >= bytes) {
            memcpy(buffer.at + buffer.used, at, bytes);
            buffer.used += bytes;
        }
    }
    mock_deliver(buffer);
}

// 1 when there was a buffer, 0 at the end, -1 when it is not whole.
static int play_buffer(FILE *file) {
    uint64_t bytes;
    if (!get(file, &bytes, sizeof bytes))
        return feof(file) ? 0 : -1;
    struct buffer whole = {
        .at = bytes <= MOST ? malloc(bytes ? bytes : 1) : NULL, .size = bytes, .used = bytes};
    const bool read = whole.at && get(file, whole.at, bytes) && play_names(file, &whole);
    if (read)
        hand_over(&whole);
    free(whole.at);
    return read ? 1 : -1;
}

// It is the day again on which the buffers were recorded: at the time of their first kernel. The agent gives no time to what lies
// more than a minute outside its recording.
__attribute__((constructor)) static void set_clock(void) {
    const char *path = getenv("MOCK_PLAY");
    FILE *file = path ? fopen(path, "rb") : NULL;
    char magic[8];
    uint32_t version;
    uint64_t bytes;
    void *record = NULL;
    if (file && get(file, magic, sizeof magic) && get(file, &version, sizeof version) &&
        get(file, &bytes, sizeof bytes) && bytes && bytes <= MOST) {
        uint8_t *buffer = malloc(bytes);
        bool found = false;
        if (buffer && get(file, buffer, bytes))
            while (!found && mock_next(buffer, bytes, &record) == CUPTI_OK) {
                const struct cupti_kernel *kernel = record;
                found = kernel->kind == CUPTI_KIND_CONCURRENT_KERNEL && kernel->start;
                if (found)
                    mock_clock_set(kernel->start);
            }
        free(buffer);
    }
    if (file)
        fclose(file);
}

void mock_play(void) {
    static atomic_flag played = ATOMIC_FLAG_INIT;
    const char *path = getenv("MOCK_PLAY");
    char magic[8];
    uint32_t version = 0;
    int more = 1;
    if (!path || atomic_flag_test_and_set(&played))
        return;
    FILE *file = fopen(path, "rb");
    if (!file || !get(file, magic, sizeof magic) || memcmp(magic, "TSCUPTI1", sizeof magic) != 0 ||
        !get(file, &version, sizeof version))
        more = -1;
    else if (version != mock_value("version", 130001))
        fprintf(stderr, "the mock: %s is of version %" PRIu32 ": MOCK_CUPTI=version=%" PRIu32 "\n", path,
                version, version);
    else
        while ((more = play_buffer(file)) > 0)
            ;
    if (more < 0)
        fprintf(stderr, "the mock: %s cannot be played, or not to its end\n", path);
    if (file)
        fclose(file);
}
