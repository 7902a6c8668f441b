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
    PHRASE_VALUES = 4,
    SKIPS = 512,
    SKIP_MAX = 8 << 10,  // bytes of an event that are not read
    PHRASE_REPEATS = 16, // of a value, before it becomes part of a phrase
    PHRASE_MISSES = 64,  // in a row, before a phrase is given up
    SEARCH_KEEP = 4096   // bytes that may be the beginning of "}, {" when searching for an event
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

enum { TIMES_PLAIN_MOST = 26 };

// What stands between two values. In a phrase, other values stand there as well: those that are the same time after time.
struct transition {
    uint16_t key; // whose value comes
    uint8_t flags, length;
    uint8_t end_at, begin_at; // with ENDS_EVENT: behind its brace, and the brace of the next one
    uint8_t value_count;      // of a phrase
    uint8_t misses;           // of a phrase: how often it was not there since it was
    char text[TRANSITION_TEXT];
    struct value values[PHRASE_VALUES];
    // What came behind it the last time, and how often that had been the same before.
    struct seen {
        uint64_t bits;
        uint32_t form; // FORM_NONE: a value that can be in no phrase
        uint32_t repeats;
    } seen;
};

// Whether the rest of an event of this name and category need not be read.
struct skip {
    uint32_t name, category; // strings
    bool is_known, is_needed;
};

struct reader {
    enum reader_state state;
    bool array_form, saw_events;
    bool tolerant;       // the event at the commit is read for the second time
    bool swallowed;      // a string of this event seems to reach into the next one
    bool resyncing;      // no good event since the last damaged one
    bool full;           // the block is
    struct block *block; // where events go
    // Without a block: the trace, to whose rows they go at once, and what is known of the words.
    struct chrome *trace;
    struct unpacked *unpacked;
    uint64_t events;
    size_t nested_limit;
    tsmith_status stopped;
    struct event event;
    struct seen read; // the value that was read last
    const char *event_at;
    // Problems of the event, which count when it ends: until then it may be read again.
    uint32_t noticed[PROBLEM_COUNT];
    bool noticed_any;
    struct skip skips[SKIPS]; // of the names that came last
    bool names_decide;        // what an event is does not depend on its category alone
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

// The value can be in a phrase: to read it again would do nothing but to put it again.
static inline void reader_note_repeatable(struct reader *reader, uint32_t form, uint64_t bits) {
    reader->read.form = form;
    reader->read.bits = bits;
}

// Whether the value that was read has come behind the transition so often that they become part of a phrase.
static inline bool reader_is_steady(struct transition *transition, const struct seen *read) {
    struct seen *seen = &transition->seen;
    if (read->form == FORM_NONE)
        return false;
    if (seen->bits == read->bits && seen->form == read->form)
        return ++seen->repeats == PHRASE_REPEATS;
    *seen = (struct seen){read->bits, read->form, 0};
    return false;
}

// ---- keys.c

// The index of a key; 0 when there are too many.
uint32_t reader_find_key(struct chrome *chrome, const char *raw, size_t length, bool plain, uint8_t place);
// From the key `from` on, text[0 .. length) leads to the key in `seen`.
void reader_remember(struct reader *reader, uint32_t from, const struct transition *seen, const char *text,
                     size_t length);

// From the key `from` on, after the transition `first`, text[0 .. length) is a value that came again and again, and `next`
// follows: all three become a phrase, if they fit.
void reader_add_phrase(struct reader *reader, uint32_t from, const struct transition *first, const char *text,
                       size_t length, const struct transition *next);
// The phrase was not there too often.
void reader_drop_phrase(struct key *key, uint32_t phrase);

// ---- skip.c

// Where the event that is being read ends, and the brace of the next one: its name, category and times are known, `at` is
// between two of its members, and the caller does not need the others.
struct skipped {
    const char *after, *next;
};
// False if it has to be read.
bool reader_skip_event(struct chrome *chrome, const char *at, const char *end, struct skipped *out);
// Metadata, which may decide what events are.
void reader_note_metadata(struct reader *reader, const char *text, size_t length);

// ---- tolerant.c

// Whether a quote at `at` really ends a string: the following characters decide.
bool reader_ends_string(const char *at, const char *end, bool key);
// The next place where an event seems to begin: `}`, a comma, `{` and a quote. NULL when there is none.
const char *reader_find_event(const char *at, const char *end);
// Just past the nested value at `at`, bracket by bracket.
const char *reader_tolerant_nested_end(const char *at, const char *end);

// ---- times.c

// Where a value of this role goes when it is a time of the event; NULL when it is none.
static inline struct moment *times_of(struct event *event, uint8_t role) {
    return role == ROLE_TIME ? &event->start : role == ROLE_DURATION ? &event->duration : NULL;
}

// Most times: no sign, no exponent, at most 3 digits behind the point. Just past it; NULL, and nothing is taken, if the time is
// another, or no number. Reads at most TIMES_PLAIN_MOST bytes.
static inline const char *times_plain(const struct chrome *chrome, struct moment *moment, const char *at) {
    static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    unsigned count, more, behind = 0;
    uint64_t whole = json_digits(at, &count), fraction = 0;
    if (!chrome->has_unit || chrome->in_ns || !count)
        return NULL;
    at += count;
    if (count == 8) {
        const uint64_t digits = json_digits(at, &more);
        whole = whole * powers[more] + digits;
        at += more;
    }
    if (*at == '.') {
        fraction = json_digits(at + 1, &behind);
        if (behind - 1 > 2)
            return NULL;
        at += 1 + behind;
    }
    if ((unsigned char)(*at - '0') < 10 || (*at | 0x20) == 'e' || whole > INT64_MAX / 1000 - 1)
        return NULL;
    moment->there = true;
    moment->odd = false;
    moment->rest = 0;
    moment->ns = (int64_t)(whole * 1000 + fraction * powers[3 - behind]);
    return at;
}

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

static inline void reader_prefer(uint16_t *transitions, uint32_t i) {
    const uint16_t better = transitions[i];
    transitions[i] = transitions[i - 1];
    transitions[i - 1] = better;
}

static inline struct transition *reader_predict_phrase(struct reader *reader, struct key *key, const char *at,
                                                       const char *end) {
    for (uint32_t i = 0; i < key->phrase_count; i++) {
        struct transition *phrase = &reader->transitions[key->phrases[i]];
        if ((size_t)(end - at) > phrase->length && reader_same_text(at, phrase->text, phrase->length)) {
            phrase->misses = 0;
            // Not at once: the one before it may be the same and longer.
            if (i && reader->transitions[key->phrases[i - 1]].misses > PHRASE_MISSES / 4)
                reader_prefer(key->phrases, i);
            return phrase;
        }
        if (__builtin_expect(++phrase->misses == PHRASE_MISSES, 0))
            reader_drop_phrase(key, i--);
    }
    return NULL;
}

// The transition that the text at `at` follows, NULL when it is none that is known.
static inline struct transition *reader_predict(struct reader *reader, struct key *key, const char *at,
                                                const char *end) {
    struct transition *phrase = reader_predict_phrase(reader, key, at, end);
    if (phrase)
        return phrase;
    for (uint32_t i = 0; i < key->successor_count; i++) {
        struct transition *transition = &reader->transitions[key->successors[i]];
        if ((size_t)(end - at) <= transition->length ||
            !reader_same_text(at, transition->text, transition->length))
            continue;
        if (i)
            reader_prefer(key->successors, i);
        return transition;
    }
    return NULL;
}

#endif
