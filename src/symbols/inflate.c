// SPDX-License-Identifier: Apache-2.0
// libdeflate is optional and loaded with dlopen, as libdebuginfod is; it only makes decompression faster.
#include "symbols/inflate.h"

#include <dlfcn.h>
#include <pthread.h>
#include <zlib.h>

typedef void *alloc_function(void);
typedef void free_function(void *decompressor);
typedef int unpack_function(void *decompressor, const void *packed, size_t packed_size, void *to, size_t size,
                            size_t *actual);

static struct {
    alloc_function *alloc;
    free_function *free;
    unpack_function *unpack; // NULL: it is not here
} faster;

static void open_faster(void) {
    void *library = dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    faster.alloc = (alloc_function *)dlsym(library, "libdeflate_alloc_decompressor");
    faster.free = (free_function *)dlsym(library, "libdeflate_free_decompressor");
    if (faster.alloc && faster.free)
        faster.unpack = (unpack_function *)dlsym(library, "libdeflate_zlib_decompress");
}

bool symbols_inflate(const void *packed, size_t packed_size, void *to, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_faster);
    void *decompressor = faster.unpack ? faster.alloc() : NULL;
    if (decompressor) {
        size_t actual = 0;
        bool ok = faster.unpack(decompressor, packed, packed_size, to, size, &actual) == 0 && actual == size;
        faster.free(decompressor);
        return ok;
    }
    uLongf got = size;
    return uncompress(to, &got, packed, packed_size) == Z_OK && got == size;
}
