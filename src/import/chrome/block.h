// SPDX-License-Identifier: Apache-2.0
// What the reader hands to the rows of another thread (pipeline.c): events and keys of the file, one behind the other in one piece of memory, and the
// strings that they are the first to use. A block knows nothing of the reader afterwards: another thread may take it apart
// while the reader fills the next one.
#ifndef IMPORT_CHROME_BLOCK_H
#define IMPORT_CHROME_BLOCK_H

#include "base/status.h"
#include "import/chrome/chrome.h"

struct block {
    char *bytes;
    size_t used, capacity;
    size_t at; // up to where it was taken apart
    tsmith_string
        *words; // of the reader's dictionary, in the order of their ids; their bytes stay where they are
    size_t word_count, word_capacity;
    tsmith_status status; // of the reader: OK: another block follows
    tsmith_error error;
};

// A string of the reader's dictionary, and its id in the dictionary of the trace; 0: not requested yet.
struct word {
    tsmith_string text;
    uint32_t id;
};

// What is known of the blocks that were taken apart so far.
struct unpacked {
    struct word *words;
    size_t word_count, word_capacity;
};

void block_reset(struct block *block);
void block_finish(struct block *block);
// False when it is full: nothing more should come. An event's text is kept if it is needed later.
bool block_add_event(struct chrome *chrome, struct block *block, const struct event *event, const char *text,
                     size_t length);
// A key of the file next to its events.
bool block_add_top(struct chrome *chrome, struct block *block, const char *key, size_t key_length,
                   const char *text, size_t length);
// Adds the strings from *published on.
bool block_add_words(struct block *block, const tsmith_dictionary *words, uint32_t *published);

// Learns the strings of a block, before anything else is taken from it. False when memory is exhausted.
bool unpacked_learn(struct unpacked *unpacked, const struct block *block);
// Hands the next event or key of the block to the rows of `chrome`: an event is changed where it is, and stays there until the
// block is reset. False when the rows are full.
bool unpacked_next(struct unpacked *unpacked, struct chrome *chrome, struct block *block);
// The same without a block: the reader's event becomes the trace's where it is. `words` is the reader's dictionary.
bool unpacked_add_event(struct unpacked *unpacked, struct chrome *chrome, const tsmith_dictionary *words,
                        struct event *event, bool in_ns, const char *text, size_t length);
void unpacked_finish(struct unpacked *unpacked);

#endif
