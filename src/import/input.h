// SPDX-License-Identifier: Apache-2.0
// The bytes of a foreign trace, in a window that moves over them: from a file or a pipe, plain, gzip or zstd
// (seen from the first bytes).
//
// window[begin .. end) is what has been read and not given up; behind it are INPUT_PADDING zero bytes, so that
// a scanner may look that far past the end.
#ifndef IMPORT_INPUT_H
#define IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define INPUT_PADDING 128u
#define INPUT_FIRST_MAX 4096u
#define INPUT_WINDOW_MAX ((size_t)64 << 20)

struct input {
    char *window;
    size_t begin, end;   // of the window
    uint64_t offset;     // of window[0] in the (decompressed) bytes
    bool ended;          // nothing comes after window[end]
    bool cut;            // the compressed file stops early or is damaged: the end is not the end
    const char *problem; // why it is cut
    struct input_decoder *decoder;
};

// `name` is kept for messages. `first` has the bytes that were already read from a pipe to detect its format (at most
// INPUT_FIRST_MAX bytes; NULL: nothing); it is copied. On failure everything is released. A descriptor that is
// `owned` is closed by input_close.
tsmith_status input_open(struct input *input, int fd, bool owned, const char *name, const void *first,
                         size_t first_size, tsmith_error *error);
void input_close(struct input *input);
// The descriptor of a file that is not compressed and was opened at its beginning, for who reads it here and there: it then
// belongs to the caller if it was owned. -1 of any other input.
int input_take_file(struct input *input, bool *owned);

// Reads on, of a file as much as it had when it was opened: keeps what is from `begin`, moving it to the front of the window, and makes the window larger when
// it is full of that. Refills by the amount retained: a caller that restarts at `begin` reads each byte O(1)
// times. OK when there is more than before, END when there is not (`ended` is then set), ERROR_LIMIT
// when the window would have to be larger than INPUT_WINDOW_MAX.
tsmith_status input_more(struct input *input, tsmith_error *error);

// Reads and discards the rest, so that the checksums of compressed data are compared: afterwards `cut` has the
// result. *spaces: whether nothing but white space was left.
tsmith_status input_drain(struct input *input, bool *spaces, tsmith_error *error);

#endif
