// SPDX-License-Identifier: Apache-2.0
// Addresses of shared memory inside shared memory: lists and trees that a program built there. The blocks have other
// addresses in every process, so a word that is an address of a recorded block is translated to the block's address
// here, and back in results. A number that happens to look like one is changed too: it would have to be the address
// of a live block, all 8 bytes of it, at a multiple of 8.
#if __has_include(<CL/cl.h>)

#include <string.h>

#include "replay/opencl/execute.h"

static uint64_t address_in(const struct live *block, bool live) {
    return live ? (uint64_t)(uintptr_t)block->handle.shared : block->address;
}

// The later of two blocks that had the same address is the one that is meant.
static uint64_t translate(const struct run *run, uint64_t word, bool to_live) {
    for (size_t i = run->live_count; i-- > 1;) {
        const struct live *block = &run->lives[i];
        if (block->type != RECORDING_SHARED || !block->handle.shared)
            continue;
        const uint64_t from = address_in(block, !to_live);
        if (word - from < block->size)
            return word - from + address_in(block, to_live);
    }
    return word;
}

static void translate_addresses(const struct run *run, uint8_t *bytes, size_t size, uint64_t offset,
                                bool to_live) {
    uint64_t word, least = UINT64_MAX, most = 0;
    for (size_t i = 1; i < run->live_count; i++) {
        const struct live *block = &run->lives[i];
        if (block->type != RECORDING_SHARED || !block->handle.shared)
            continue;
        const uint64_t from = address_in(block, !to_live);
        least = from < least ? from : least;
        most = from + block->size > most ? from + block->size : most;
    }
    for (size_t at = (size_t)(-offset & 7); at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if (word < least || word >= most)
            continue;
        word = translate(run, word, to_live);
        memcpy(bytes + at, &word, sizeof word);
    }
}

void addresses_to_live(struct run *run, uint8_t *bytes, size_t size, uint64_t offset) {
    if (run->shared_count)
        translate_addresses(run, bytes, size, offset, true);
}

void addresses_to_recorded(struct run *run, uint8_t *bytes, size_t size, uint64_t offset) {
    if (run->shared_count)
        translate_addresses(run, bytes, size, offset, false);
}

#else
typedef int execute_without_opencl; // a translation unit has something in it
#endif
