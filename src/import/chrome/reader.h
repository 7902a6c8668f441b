// SPDX-License-Identifier: Apache-2.0
// The state of the Chrome trace reader (reader.c).
#ifndef IMPORT_CHROME_READER_H
#define IMPORT_CHROME_READER_H

#include <string.h>

#include "base/bytes.h"
#include "import/chrome/chrome.h"
#include "import/json_scan.h"

enum {
    TRANSITION_TEXT = 112,
    TRANSITIONS_MAX = 4096,
    KEY_SLOTS = 16384,       // of a hash table of KEYS_MAX keys
    KEY_OVERFLOW = KEYS_MAX, // represents all further keys
    VALUES_MAX = 4096,       // of an event
    NESTED_LIMIT = 16 << 20, // bytes of a nested value
    NESTED_LIMIT_MIN = 64 << 10,
    SEARCH_KEEP = 4096 // bytes that may be the beginning of "}, {" when searching for an event
};

enum reader_state { TOP_LEVEL, BEFORE_EVENTS, AT_EVENT, AFTER_EVENT, SEARCHING, FINISHED };

enum result {
    GOT,  // go on
    MORE, // the window ends here
    BAD,  // this is no JSON
    LEFT  // the state has changed: look at it anew
};

enum {
    ENDS_EVENT = 1 << 0,
    EMPTY_ARGS_BEFORE = 1 << 1, // "args": {} of the event that ends, or of the only one
    EMPTY_ARGS_AFTER = 1 << 2,  // of the event that begins
    NOT_TO_KEEP = 1 << 3
};

// What stands between two values.
struct transition {
    uint16_t key; // whose value comes
    uint8_t flags, length;
    uint8_t end_at, begin_at; // with ENDS_EVENT: behind its brace, and the brace of the next one
    char text[TRANSITION_TEXT];
};

struct reader {
    enum reader_state state;
    bool array_form, saw_events;
    bool tolerant;       // the event at the commit is read for the second time
    bool swallowed;      // a string of this event seems to reach into the next one
    bool resyncing;      // no good event since the last damaged one
    bool full;           // the block is
    struct block *block; // where events go
    uint64_t events;
    size_t nested_limit;
    tsmith_status stopped;
    struct event event;
    const char *event_at;
    // Problems of the event, which count when it ends: until then it may be read again.
    uint32_t noticed[PROBLEM_COUNT];
    bool noticed_any;
    void *keys_memory;
    struct key *keys; // in it
    uint32_t key_count;
    uint16_t slots[KEY_SLOTS];
    struct transition *transitions;
    uint16_t transition_count;
};

// Everything before `at` has been handed on.
static inline void reader_commit(struct chrome *chrome, enum reader_state state, const char *at) {
    chrome->reader->state = state;
    chrome->input.begin = (size_t)(at - chrome->input.window);
}

static inline void reader_notice(struct reader *reader, unsigned problem) {
    reader->noticed[problem]++;
    reader->noticed_any = true;
}

// ---- keys.c

// The index of a key; 0 when there are too many.
uint32_t reader_find_key(struct chrome *chrome, const char *raw, size_t length, bool plain, uint8_t place);
// From the key `from` on, text[0 .. length) leads to the key in `seen`.
void reader_remember(struct reader *reader, uint32_t from, const struct transition *seen, const char *text,
                     size_t length);

// ---- times.c

// Where a value of this role goes when it is a time of the event; NULL when it is none.
struct moment *times_of(struct event *event, uint8_t role);
// Text[0 .. length) is the number.
void times_read(struct chrome *chrome, struct moment *moment, const struct json_number *number,
                const char *text, size_t length);
// A time that is more or less than an int64 of ns: as near as it gets, and its text.
void times_odd(struct chrome *chrome, struct moment *moment, double us, const char *text, size_t length);

// What is no number (text[0 .. length), as JSON) stands where a time is due.
void times_bad(struct chrome *chrome, struct moment *moment, const char *text, size_t length);
// A number below 0: as a duration of a file that is not ours it is unknown, is counted, and comes back as it was.
void times_negative(struct chrome *chrome, struct moment *moment, const char *text, size_t length);
// Whether the event has no place in the trace, for it has no time that is a number: then it is counted as lost.
bool times_lost(struct chrome *chrome, const struct event *event);

// Whether text of at least 8 bytes is the same.
static inline bool reader_same_bytes(const char *a, const char *b, size_t length) {
    // The end differs most often: it is where the key is.
    if (bytes_get_u64(a + length - 8) != bytes_get_u64(b + length - 8))
        return false;
    size_t i = 0;
#if defined(__SSE2__)
    for (; i + 16 <= length; i += 16) {
        const __m128i left = _mm_loadu_si128((const __m128i *)(const void *)(a + i)),
                      right = _mm_loadu_si128((const __m128i *)(const void *)(b + i));
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)) != 0xffff)
            return false;
    }
#endif
    for (; i + 8 < length; i += 8)
        if (bytes_get_u64(a + i) != bytes_get_u64(b + i))
            return false;
    return true;
}

// The same for any text that is followed by 8 readable bytes.
static inline bool reader_same_text(const char *a, const char *b, size_t length) {
    if (length >= 8)
        return reader_same_bytes(a, b, length);
    return length == 0 || (bytes_get_u64(a) ^ bytes_get_u64(b)) << (64 - 8 * length) == 0;
}

// The transition that the text at `at` follows, NULL when it is none that is known.
static inline const struct transition *reader_predict(struct reader *reader, struct key *key, const char *at,
                                                      const char *end) {
    for (uint32_t i = 0; i < key->successor_count; i++) {
        const struct transition *transition = &reader->transitions[key->successors[i]];
        if ((size_t)(end - at) <= transition->length ||
            !reader_same_text(at, transition->text, transition->length))
            continue;
        if (i) {
            uint16_t better = key->successors[i];
            key->successors[i] = key->successors[i - 1];
            key->successors[i - 1] = better;
        }
        return transition;
    }
    return NULL;
}

#endif
