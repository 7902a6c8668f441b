// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of CTF 1.8 (TSDL) or CTF 2 (JSON): the metadata up to a byte of zeros, then one data stream.
#include <string.h>

#include "import.h"
#include "import/ctf/ctf.h"

static int file_of(const uint8_t *data, size_t size) {
    int fd = memfd_create("ctf", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t length = zero ? (size_t)(zero - data) : size;
    struct input input;
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_error error;
    const int metadata = file_of(data, length),
              stream = zero ? file_of(zero + 1, size - length - 1) : file_of(data, 0);
    if (metadata >= 0 && stream >= 0 &&
        input_open(&input, metadata, true, "fuzz", NULL, 0, &error) == TSMITH_OK) {
        char *name = strdup("fuzz");
        if (name && ctf_open_stream(&input, name, stream, &source, &error) == TSMITH_OK)
            while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
                fuzz_check_batch(tsmith_source_dictionary(source), batch);
        tsmith_source_destroy(source);
        return 0;
    }
    if (stream >= 0)
        close(stream);
    return 0;
}
