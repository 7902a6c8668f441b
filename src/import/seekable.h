// SPDX-License-Identifier: Apache-2.0
// A file that can be read here and there, for formats that are not read from front to back.
#ifndef IMPORT_SEEKABLE_H
#define IMPORT_SEEKABLE_H

#include "base/status.h"
#include "import/input.h"
#include "import/open.h"

struct seekable {
    int fd;
    bool owned; // closed by seekable_close
    uint64_t size;
    const char *
        problem; // the compressed file that it was unpacked from is damaged; NULL: it is not, or there was none
};

// The file itself, or a copy, in an unnamed file, of the data of a pipe. Takes over the place's descriptor if that is
// owned, also on failure.
tsmith_status seekable_open(struct seekable *file, const struct import_place *place, tsmith_error *error);
// The same of an input that was opened already: a compressed one is unpacked into a file without a name. Closes the input,
// also on failure.
tsmith_status seekable_take(struct seekable *file, struct input *input, const char *name,
                            tsmith_error *error);
void seekable_close(struct seekable *file);
// The first bytes of a place that has not been read yet; how many there are.
size_t seekable_peek(const struct import_place *place, void *into, size_t size);
// Up to `size` bytes at `offset`: how many there were (less at the end of the file), or -1 with errno set.
int64_t seekable_read(const struct seekable *file, uint64_t offset, void *into, size_t size);

#endif
