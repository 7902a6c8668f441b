// SPDX-License-Identifier: Apache-2.0
// Stacks of CPU samples. The frames of all samples are in a table of their own, ordered by sample as the samples are: the
// two are read side by side, so that no frame is looked for.
#include <string.h>

#include "import/nsys/nsys.h"

enum { FRAMES_MAX = 512, TEXT_MAX = 32 << 10 };

void nsys_samples_open(struct nsys *nsys) {
    nsys->samples.frames = nsys_select(nsys, "SELECT id, symbol, module FROM SAMPLING_CALLCHAINS");
    nsys->samples.has_row = nsys->samples.frames && sqlite3_step(nsys->samples.frames) == SQLITE_ROW;
}

void nsys_samples_finish(struct nsys *nsys) {
    sqlite3_finalize(nsys->samples.frames);
    nsys->samples.frames = NULL;
}

// The text of a column that refers to a string, or is one.
static uint32_t text_of(struct nsys *nsys, int column) {
    sqlite3_stmt *frames = nsys->samples.frames;
    uint32_t text = 0;
    if (sqlite3_column_type(frames, column) == SQLITE_INTEGER)
        (void)nsys_text(nsys, &nsys->strings, sqlite3_column_int64(frames, column), &text);
    else if (sqlite3_column_type(frames, column) == SQLITE_TEXT)
        text = tsmith_dictionary_intern_cstr(nsys->dictionary,
                                             (const char *)sqlite3_column_text(frames, column));
    return text;
}

static uint32_t join(struct nsys *nsys, const uint32_t *texts, size_t count) {
    char joined[TEXT_MAX];
    size_t used = 0;
    for (size_t i = count; i-- > 0;) {
        tsmith_string text = tsmith_dictionary_string(nsys->dictionary, texts[i]);
        if (used + text.length + 1 > sizeof joined)
            break;
        if (i + 1 < count)
            joined[used++] = ';';
        memcpy(joined + used, text.bytes, text.length);
        used += text.length;
    }
    return tsmith_dictionary_intern(nsys->dictionary, joined, used);
}

bool nsys_stack(struct nsys *nsys, int64_t id, struct nsys_stack *out) {
    struct nsys_samples *samples = &nsys->samples;
    uint32_t symbols[FRAMES_MAX], modules[FRAMES_MAX];
    size_t count = 0;
    while (samples->has_row && sqlite3_column_int64(samples->frames, 0) <= id) {
        if (sqlite3_column_int64(samples->frames, 0) == id && count < FRAMES_MAX) {
            symbols[count] = text_of(nsys, 1);
            modules[count++] = text_of(nsys, 2);
        }
        samples->has_row = sqlite3_step(samples->frames) == SQLITE_ROW;
    }
    if (!count)
        return false;
    *out = (struct nsys_stack){symbols[0], join(nsys, symbols, count), join(nsys, modules, count), 0};
    for (size_t i = count; i-- > 0;)
        out->stack = nsys_add_frame(nsys, out->stack, symbols[i], modules[i], 0);
    return true;
}
