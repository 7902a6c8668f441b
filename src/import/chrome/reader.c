// SPDX-License-Identifier: Apache-2.0
// From the text of a Chrome trace to events, which it packs into blocks. pipeline.c runs it.
//
// The same keys come in the same order with the same spaces between them, event after event. The text between
// two values (`,\n  "dur": `, or the end of one event and the beginning of the next) is remembered as a
// transition from the first value's key to the second's, and compared as a whole; only text that was not seen before
// is read character by character. Values are read in place; one that repeats joins the texts around it (keys.c: phrases).
//
// Invariants: input.begin is the commit: everything before it has been passed on. It is at `{` of an event
// (AT_EVENT), behind an event (AFTER_EVENT), or among the keys of the file. When the window ends within an
// event, the event is read again from its beginning once there is more. An event that cannot be read is read
// once more tolerantly (quotes that were not escaped), then skipped: the reader continues where the next event
// seems to begin.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "import/chrome/block.h"
#include "import/chrome/reader.h"
#include "import/chrome/rows.h"
#include "import/json_scan.h"

// ---- the current event

// The event is read again from its beginning, or was given up.
static void forget_noticed(struct reader *reader) {
    memset(reader->noticed, 0, sizeof reader->noticed);
    reader->noticed_any = false;
}

static void count_noticed(struct chrome *chrome) {
    for (size_t i = 0; i < PROBLEM_COUNT; i++)
        chrome->problems.counts[i] += chrome->reader->noticed[i];
    forget_noticed(chrome->reader);
}

static void begin_event(struct reader *reader, const struct chrome *chrome, const char *at) {
    struct event *event = &reader->event;
    struct value *values = event->values;
    *event = (struct event){.offset = chrome->input.offset + (uint64_t)(at - chrome->input.window),
                            .pid = {FORM_NONE, 0},
                            .tid = {FORM_NONE, 0},
                            .id = {FORM_NONE, 0},
                            .values = values};
    reader->event_at = at;
    reader->swallowed = false;
    if (__builtin_expect(reader->noticed_any, 0))
        forget_noticed(reader);
}

// The event ends before `after`.
static void end_event(struct chrome *chrome, const char *after) {
    struct reader *reader = chrome->reader;
    struct event *event = &reader->event;
    reader_commit(chrome, AFTER_EVENT, after);
    if (!event->ph && !event->start.there) {
        chrome->problems.counts[PROBLEM_MALFORMED_EVENT] += !reader->resyncing;
        return;
    }
    reader->resyncing = reader->tolerant = false;
    reader->events++;
    if (__builtin_expect(reader->noticed_any, 0))
        count_noticed(chrome);
    if (times_lost(chrome, event))
        return;
    const char *text = reader->event_at;
    const size_t length = (size_t)(after - text);
    if (__builtin_expect(event->ph == 'M', 0))
        reader_note_metadata(reader, text, length);
    const bool has_room = reader->trace
                              ? unpacked_add_event(reader->unpacked, reader->trace, chrome->dictionary, event,
                                                   chrome->in_ns, text, length)
                              : block_add_event(chrome, reader->block, event, text, length);
    if (!has_room)
        reader->full = true;
}

static inline void add_value(struct chrome *chrome, uint32_t key, uint32_t form, uint64_t bits) {
    struct event *event = &chrome->reader->event;
    if (event->count == VALUES_MAX) {
        event->too_large = true;
        return;
    }
    const uint8_t role = chrome->keys[key].role;
    event->values[event->count++] = (struct value){key, (uint8_t)form, role, bits};
    event->roles |= 1u << role;
}

static __attribute__((noinline)) void put_phase(struct chrome *chrome, uint32_t index, uint32_t id) {
    const tsmith_string text = tsmith_dictionary_string(chrome->dictionary, id);
    chrome->reader->event.ph = text.length == 1 ? text.bytes[0] : '?';
    if (text.length != 1)
        add_value(chrome, index, FORM_STRING, id);
}

// Whether the caller does not need the value. What mcTracer writes, in nanoseconds, is known by its grid, and what we wrote by everything.
static inline bool is_unread(const struct chrome *chrome, const struct key *key) {
    return __builtin_expect(key->is_unread, 0) && chrome->reader->event.ph == 'X' && !chrome->by_us &&
           chrome->has_unit && !chrome->in_ns;
}

// A value that is neither a string nor a time. What should be JSON and is not is a string, but no name, category or ph.
static inline void put_value(struct chrome *chrome, uint32_t index, uint32_t form, uint64_t bits) {
    struct event *event = &chrome->reader->event;
    const uint8_t role = chrome->keys[index].role;
    if (is_unread(chrome, &chrome->keys[index]))
        return;
    struct ident *ident = role == ROLE_PID   ? &event->pid
                          : role == ROLE_TID ? &event->tid
                          : role == ROLE_ID  ? &event->id
                                             : NULL;
    if (ident)
        *ident = (struct ident){form, bits};
    if (!ident || role == ROLE_ID)
        add_value(chrome, index, form, bits);
}

static inline void put_string(struct chrome *chrome, uint32_t index, uint32_t id) {
    struct event *event = &chrome->reader->event;
    const uint8_t role = chrome->keys[index].role;
    if (role == ROLE_NAME) {
        event->name = id;
        event->has_name = true;
    } else if (role == ROLE_CATEGORY) {
        event->category = id;
        event->has_category = true;
    } else if (role == ROLE_PH) {
        put_phase(chrome, index, id);
    } else {
        put_value(chrome, index, FORM_STRING, id);
    }
}

// ---- values

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The end of a string, its content beginning at `at`; in the tolerant mode quotes inside are let pass.
static const char *string_end(struct chrome *chrome, const char *at, const char *end, bool key, bool *plain) {
    const char *quote = json_string_end(at, end, plain);
    if (!chrome->reader->tolerant || !quote || reader_ends_string(quote, end, key))
        return quote;
    bool more_plain;
    do {
        quote = json_string_end(quote + 1, end, &more_plain);
        *plain &= more_plain;
    } while (quote && !reader_ends_string(quote, end, key));
    if (quote && reader_find_event(at, quote))
        chrome->reader->swallowed = true; // not a quote too many, but one too few
    else if (quote)
        reader_notice(chrome->reader, PROBLEM_UNESCAPED_QUOTE);
    return quote;
}

// The memo of the string whose content begins at `content`; NULL if there is none.
static inline const struct key_memo *find_memo(struct key *key, const char *content, const char *end) {
    for (unsigned i = 0; i < 2; i++, key->last ^= 1) {
        const struct key_memo *memo = &key->memos[key->last];
        if (memo->length && (size_t)(end - content) > memo->length &&
            reader_same_text(content, memo->raw, memo->length))
            return memo;
    }
    return NULL;
}

static inline enum result read_string(struct chrome *chrome, uint32_t index, const char **at,
                                      const char *end) {
    struct key *key = &chrome->reader->keys[index];
    const char *content = *at + 1;
    const struct key_memo *memo = find_memo(key, content, end);
    if (memo && !chrome->reader->tolerant) {
        *at = content + memo->length;
        put_string(chrome, index, memo->id);
        reader_note_repeatable(chrome->reader, FORM_STRING, memo->id);
        return GOT;
    }
    bool plain;
    const char *quote = string_end(chrome, content, end, false, &plain);
    if (!quote || chrome->reader->swallowed)
        return quote ? BAD : MORE;
    size_t length = (size_t)(quote - content);
    *at = quote + 1;
    struct moment *moment = times_of(&chrome->reader->event, key->role);
    if (moment) { // a number in quotes
        struct json_number number;
        const char *after = json_number_read(content, quote, &number);
        moment->there = true;
        if (after != quote) {
            times_bad(chrome, moment, content - 1, length + 2);
            return GOT;
        }
        times_odd(chrome, moment, json_number_double(&number, content, length), content - 1, length + 2);
        if (number.exact)
            (void)json_number_ns(&number, &moment->ns, &moment->rest);
        moment->rest = 0;
        if (number.negative && number.mantissa)
            times_negative(chrome, moment, content - 1, length + 2);
        return GOT;
    }
    if (length >= KEY_MEMO && is_unread(chrome, key))
        return GOT;
    uint32_t id = texts_string(&chrome->texts, content, length, plain);
    if (length < KEY_MEMO) {
        key->last ^= 1;
        struct key_memo *made = &key->memos[key->last];
        memcpy(made->raw, content, length + 1);
        made->length = (uint8_t)(length + 1);
        made->id = id;
    }
    put_string(chrome, index, id);
    return GOT;
}

static enum result read_nested(struct chrome *chrome, uint32_t index, const char **at, const char *end) {
    struct reader *reader = chrome->reader;
    bool limited = (size_t)(end - *at) > reader->nested_limit;
    const char *stop = limited ? *at + reader->nested_limit : end;
    const char *after = reader->tolerant ? reader_tolerant_nested_end(*at, stop) : json_nested_end(*at, stop);
    if (!after && !limited)
        return MORE;
    if (!after) {
        // Brackets that never close must not cost that much again.
        if (reader->nested_limit > NESTED_LIMIT_MIN)
            reader->nested_limit /= 2;
        return BAD;
    }
    enum text_form form;
    struct moment *moment = times_of(&reader->event, reader->keys[index].role);
    if (moment) {
        times_bad(chrome, moment, *at, (size_t)(after - *at));
        *at = after;
        return GOT;
    }
    if (is_unread(chrome, &reader->keys[index])) {
        *at = after;
        return GOT;
    }
    uint32_t id = texts_json(&chrome->texts, *at, (size_t)(after - *at), &form);
    put_value(chrome, index, form == TEXT_JSON ? FORM_JSON : FORM_STRING, id);
    *at = after;
    return GOT;
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void put_number(struct chrome *chrome, uint32_t index, const struct json_number *number,
                       const char *text, size_t length) {
    uint8_t role = chrome->reader->keys[index].role;
    struct moment *moment = times_of(&chrome->reader->event, role);
    if (moment) {
        times_read(chrome, moment, number, text, length);
        return;
    }
    if (number->integral && number->exact && number->mantissa <= (uint64_t)INT64_MAX) {
        put_value(chrome, index, FORM_I64, number->negative ? 0 - number->mantissa : number->mantissa);
        return;
    }
    if (number->integral && number->exact && !number->negative) {
        put_value(chrome, index, FORM_U64, number->mantissa);
        return;
    }
    if (is_unread(chrome, &chrome->reader->keys[index]))
        return;
    double value = number->integral ? INFINITY : json_number_double(number, text, length);
    if (isfinite(value)) {
        put_value(chrome, index, FORM_F64, double_bits(value));
        return;
    }
    enum text_form form;
    uint32_t id = texts_json_once(&chrome->texts, text, length, &form);
    reader_notice(chrome->reader, PROBLEM_INTEGER_OVERFLOW);
    put_value(chrome, index, form == TEXT_JSON ? FORM_JSON : FORM_STRING, id);
}

static enum result read_word(struct chrome *chrome, uint32_t index, const char **at, const char *end) {
    static const struct {
        const char *text;
        uint32_t form;
        double value;
    } words[] = {
        {"true", FORM_BOOL, 1},        {"false", FORM_BOOL, 0},          {"null", FORM_JSON, 0},
        {"NaN", FORM_F64, NAN},        {"Infinity", FORM_F64, INFINITY}, {"-Infinity", FORM_F64, -INFINITY},
        {"-NaN", FORM_F64, NAN},       {"nan", FORM_F64, NAN},           {"inf", FORM_F64, INFINITY},
        {"-inf", FORM_F64, -INFINITY}, {"-nan", FORM_F64, NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].text);
        if ((size_t)(end - *at) < length || memcmp(*at, words[i].text, length) != 0)
            continue;
        uint8_t role = chrome->reader->keys[index].role;
        struct moment *moment = times_of(&chrome->reader->event, role);
        if (moment) {
            times_bad(chrome, moment, *at, length);
            *at += length;
            return GOT;
        }
        uint64_t bits = words[i].form == FORM_BOOL && words[i].value > 0;
        if (words[i].form == FORM_JSON) {
            bits = tsmith_dictionary_intern(chrome->dictionary, "null", 4);
        } else if (words[i].form == FORM_F64) {
            bits = double_bits(words[i].value);
            reader_notice(chrome->reader, PROBLEM_NOT_A_NUMBER);
        }
        put_value(chrome, index, words[i].form, bits);
        *at += length;
        return GOT;
    }
    return (size_t)(end - *at) < strlen("-Infinity") ? MORE : BAD;
}

// Most numbers that are no times: up to 7 digits and nothing else. False, and nothing is taken, if the value is another.
static inline bool short_integer(struct chrome *chrome, uint32_t index, const char **at, const char *end) {
    enum { DIGITS_MOST = 7 };
    unsigned count;
    const uint64_t digits = json_digits(*at, &count);
    const char next = (*at)[count];
    if (!count || count > DIGITS_MOST || next == '.' || (next | 0x20) == 'e' || end - *at <= DIGITS_MOST)
        return false;
    put_value(chrome, index, FORM_I64, digits);
    reader_note_repeatable(chrome->reader, FORM_I64, digits);
    *at += count;
    return true;
}

static inline enum result read_value(struct chrome *chrome, uint32_t index, const char **at,
                                     const char *end) {
    if (**at == '"')
        return read_string(chrome, index, at, end);
    struct moment *moment = times_of(&chrome->reader->event, chrome->reader->keys[index].role);
    const char *after = NULL;
    if (moment && end - *at > TIMES_PLAIN_MOST)
        after = times_plain(chrome, moment, *at);
    if (after) {
        *at = after;
        return GOT;
    }
    if (!moment && short_integer(chrome, index, at, end))
        return GOT;
    struct json_number number;
    after = json_number_read(*at, end, &number);
    if (after) {
        if (after >= end)
            return MORE;
        put_number(chrome, index, &number, *at, (size_t)(after - *at));
        *at = after;
        return GOT;
    }
    if (**at == '[' || **at == '{')
        return read_nested(chrome, index, at, end);
    return *at >= end - 1 ? MORE : read_word(chrome, index, at, end);
}

// ---- between values

// Where a walk between two values is.
struct walk {
    const char *at, *end;
    uint8_t place;
    bool fresh;   // just behind an opening brace
    bool in_next; // in an event that began on this walk
    struct transition seen;
    const char *from;
};

static uint8_t small_offset(const struct walk *walk, const char *at) {
    return at - walk->from <= TRANSITION_TEXT ? (uint8_t)(at - walk->from) : 0;
}

// Behind an event, up to and into the next one.
static enum result walk_to_next(struct chrome *chrome, struct walk *walk) {
    const char *at = json_skip_space(walk->at, walk->end);
    bool comma = at < walk->end && *at == ',';
    if (comma)
        at = json_skip_space(at + 1, walk->end);
    if (at >= walk->end)
        return MORE;
    if (*at == ']') {
        reader_commit(chrome, chrome->reader->array_form ? FINISHED : TOP_LEVEL, at + 1);
        return LEFT;
    }
    if (*at != '{')
        return BAD;
    reader_commit(chrome, AT_EVENT, at);
    if (chrome->reader->full)
        return LEFT;
    begin_event(chrome->reader, chrome, at);
    walk->seen.begin_at = small_offset(walk, at);
    walk->at = at + 1;
    walk->place = PLACE_EVENT;
    walk->fresh = walk->in_next = true;
    return GOT;
}

static enum result walk_close(struct chrome *chrome, struct walk *walk) {
    walk->at++;
    walk->fresh = false;
    if (walk->place == PLACE_ARGUMENT) {
        walk->place = PLACE_EVENT;
        return GOT;
    }
    walk->seen.flags |= walk->seen.flags & ENDS_EVENT ? NOT_TO_KEEP : ENDS_EVENT;
    walk->seen.end_at = small_offset(walk, walk->at);
    end_event(chrome, walk->at);
    return walk_to_next(chrome, walk);
}

// At the quote of a key: up to its value. *index is the key, or 0 when it was "args" and its object was entered.
static enum result walk_key(struct chrome *chrome, struct walk *walk, uint32_t *index) {
    bool plain;
    const char *text = walk->at + 1;
    const char *quote = string_end(chrome, text, walk->end, true, &plain);
    if (!quote || chrome->reader->swallowed)
        return quote ? BAD : MORE;
    const char *at = json_skip_space(quote + 1, walk->end);
    if (at < walk->end && *at != ':')
        return BAD;
    if (at < walk->end)
        at = json_skip_space(at + 1, walk->end);
    if (at >= walk->end)
        return MORE;
    size_t length = (size_t)(quote - text);
    walk->at = at;
    walk->fresh = false;
    if (walk->place == PLACE_EVENT && *at == '{' && length == 4 && memcmp(text, "args", 4) == 0) {
        walk->at = json_skip_space(at + 1, walk->end);
        if (walk->at >= walk->end)
            return MORE;
        if (*walk->at == '}') {
            chrome->reader->event.empty_args = true;
            walk->seen.flags |= walk->in_next ? EMPTY_ARGS_AFTER : EMPTY_ARGS_BEFORE;
            walk->at++;
        } else {
            walk->place = PLACE_ARGUMENT;
            walk->fresh = true;
        }
        *index = 0;
        return GOT;
    }
    *index = reader_find_key(chrome, text, length, plain, walk->place);
    if (*index)
        return GOT;
    chrome->reader->event.too_large = true;
    *index = KEY_OVERFLOW;
    chrome->reader->keys[KEY_OVERFLOW].place = walk->place;
    walk->seen.flags |= NOT_TO_KEEP;
    return GOT;
}

// From behind the value of *index (or the beginning of an event, 0) to the next value.
static enum result walk(struct chrome *chrome, uint32_t *index, const char **at, const char *end) {
    const struct key *key = &chrome->reader->keys[*index];
    struct walk walk = {.at = *at, .end = end, .from = *at, .place = key->place, .fresh = *index == 0};
    uint32_t next = 0;
    while (!next) {
        enum result result;
        walk.at = json_skip_space(walk.at, end);
        if (walk.at < end && !walk.fresh && *walk.at == ',') {
            walk.at = json_skip_space(walk.at + 1, end);
            walk.fresh = true;
        }
        if (walk.at >= end)
            return MORE;
        if (*walk.at == '}')
            result = walk_close(chrome, &walk);
        else if (*walk.at == '"' && walk.fresh)
            result = walk_key(chrome, &walk, &next);
        else
            return BAD;
        if (result != GOT)
            return result;
    }
    walk.seen.key = (uint16_t)next;
    reader_remember(chrome->reader, *index, &walk.seen, *at, (size_t)(walk.at - *at));
    *index = next;
    *at = walk.at;
    return GOT;
}

// Along a known transition. LEFT when the block is full at the end of an event inside it.
static inline enum result follow_transition(struct chrome *chrome, const struct transition *transition,
                                            const char **at) {
    struct reader *reader = chrome->reader;
    if (__builtin_expect(transition->flags & EMPTY_ARGS_BEFORE, 0))
        reader->event.empty_args = true;
    if (transition->flags & ENDS_EVENT) {
        end_event(chrome, *at + transition->end_at);
        reader_commit(chrome, AT_EVENT, *at + transition->begin_at);
        if (reader->full)
            return LEFT;
        begin_event(reader, chrome, *at + transition->begin_at);
    }
    if (__builtin_expect(transition->flags & EMPTY_ARGS_AFTER, 0))
        reader->event.empty_args = true;
    for (uint32_t i = 0; i < transition->value_count; i++) {
        const struct value *value = &transition->values[i];
        if (value->form == FORM_STRING)
            put_string(chrome, value->key, (uint32_t)value->bits);
        else
            put_value(chrome, value->key, value->form, value->bits);
    }
    *at += transition->length;
    return GOT;
}

// Events, beginning with the one at the commit.
static enum result read_events(struct chrome *chrome) {
    struct reader *reader = chrome->reader;
    const char *at = chrome->input.window + chrome->input.begin,
               *end = chrome->input.window + chrome->input.end;
    uint32_t index = 0;
    enum result result;
    const struct transition *steady = NULL; // the value at `text` comes behind it again and again
    const char *text = NULL;
    uint32_t before_steady = 0;
    struct skipped skipped;
    begin_event(reader, chrome, at);
    at++;
    do {
        const uint32_t from = index;
        struct transition *transition = NULL;
        if (!reader->tolerant)
            transition = reader_predict(reader, &reader->keys[index], at, end);
        if (__builtin_expect(steady && transition, 0))
            reader_add_phrase(reader, before_steady, steady, text, (size_t)(at - text), transition);
        steady = NULL;
        if (transition) {
            result = follow_transition(chrome, transition, &at);
            index = transition->key;
        } else {
            result = walk(chrome, &index, &at, end);
        }
        if (result != GOT)
            break;
        reader->read.form = FORM_NONE;
        text = at;
        result = read_value(chrome, index, &at, end);
        if (__builtin_expect(chrome->needs_event != NULL, 0) && result == GOT &&
            reader->keys[index].role == ROLE_DURATION && reader_skip_event(chrome, at, end, &skipped)) {
            end_event(chrome, skipped.after);
            reader_commit(chrome, AT_EVENT, skipped.next);
            if (reader->full)
                return LEFT;
            begin_event(reader, chrome, skipped.next);
            at = skipped.next + 1;
            index = 0;
            continue;
        }
        if (transition && reader_is_steady(transition, &reader->read)) {
            steady = transition;
            before_steady = from;
        }
    } while (result == GOT);
    return result;
}

// Behind an event or at the beginning of the array.
static enum result read_between(struct chrome *chrome) {
    const char *from = chrome->input.window + chrome->input.begin;
    struct walk walk = {.at = from, .from = from, .end = chrome->input.window + chrome->input.end};
    return walk_to_next(chrome, &walk);
}

// ---- after damage

// Skips the event at the commit. The place where the text seems to continue is the new commit; if that is not in the
// window, all but the window's end is skipped.
static void give_up(struct chrome *chrome) {
    struct reader *reader = chrome->reader;
    struct input *input = &chrome->input;
    chrome->problems.counts[PROBLEM_MALFORMED_EVENT] += !reader->resyncing;
    reader->resyncing = true;
    reader->tolerant = false;
    const char *end = input->window + input->end, *from = input->window + input->begin;
    const char *next = from < end ? reader_find_event(from + (reader->state == AT_EVENT), end) : NULL;
    reader->state = next ? AT_EVENT : SEARCHING;
    if (next)
        input->begin = (size_t)(next - input->window);
    else if (input->end - input->begin > SEARCH_KEEP)
        input->begin = input->end - SEARCH_KEEP;
}

static void damaged(struct chrome *chrome) {
    struct reader *reader = chrome->reader;
    if (reader->state == AT_EVENT && !reader->tolerant && !reader->resyncing)
        reader->tolerant = true;
    else
        give_up(chrome);
}

// ---- keys of the file

// Just past the value at `at`; NULL with *result telling why.
static const char *top_value_end(struct chrome *chrome, const char *at, const char *end,
                                 enum result *result) {
    bool plain;
    const char *after = NULL;
    *result = MORE;
    if (*at == '"') {
        after = string_end(chrome, at + 1, end, false, &plain);
        return after ? after + 1 : NULL;
    }
    if (*at == '[' || *at == '{')
        return json_nested_end(at, end);
    for (after = at; after < end && !strchr(",}] \t\r\n", *after);)
        after++;
    if (after == at)
        *result = BAD;
    return after > at && after < end ? after : NULL;
}

static enum result enter_events(struct chrome *chrome, const char *at) {
    chrome->reader->saw_events = true;
    reader_commit(chrome, BEFORE_EVENTS, at);
    return GOT;
}

static enum result read_top(struct chrome *chrome) {
    struct reader *reader = chrome->reader;
    const char *at = chrome->input.window + chrome->input.begin,
               *end = chrome->input.window + chrome->input.end;
    bool plain;
    enum result result;
    while (at < end && (is_space(*at) || *at == ','))
        at++;
    if (at >= end)
        return MORE;
    if (*at == '}') {
        reader_commit(chrome, FINISHED, at + 1);
        return GOT;
    }
    if (*at != '"')
        return BAD;
    const char *text = at + 1, *quote = string_end(chrome, text, end, true, &plain);
    if (!quote)
        return MORE;
    at = json_skip_space(quote + 1, end);
    if (at < end && *at != ':')
        return BAD;
    at = json_skip_space(at < end ? at + 1 : at, end);
    if (at >= end)
        return MORE;
    if (*at == '[' && quote - text == 11 && memcmp(text, "traceEvents", 11) == 0)
        return enter_events(chrome, at + 1);
    const char *after = top_value_end(chrome, at, end, &result);
    if (!after)
        return result;
    own_recognize(chrome, text, (size_t)(quote - text), at, (size_t)(after - at));
    if (reader->trace)
        rows_add_top(reader->trace, text, (size_t)(quote - text), at, (size_t)(after - at));
    else if (!block_add_top(chrome, reader->block, text, (size_t)(quote - text), at, (size_t)(after - at)))
        reader->full = true;
    reader_commit(chrome, reader->state, after);
    return GOT;
}

// Among the keys of the file something is wrong: the events may still be found.
static bool find_trace_events(struct chrome *chrome) {
    static const char wanted[] = "\"traceEvents\"";
    struct input *input = &chrome->input;
    if (chrome->reader->saw_events || input->begin == input->end)
        return false;
    // What stands at the commit could not be read: only the text after it counts.
    const char *from = input->window + input->begin + 1;
    const char *found = memmem(from, input->end - input->begin - 1, wanted, sizeof wanted - 1);
    if (!found)
        return false;
    chrome->problems.counts[PROBLEM_MALFORMED_VALUE]++;
    reader_commit(chrome, TOP_LEVEL, found);
    return true;
}

// ---- running

// The file stops, and we are not at its end.
static tsmith_status stop_early(struct chrome *chrome, tsmith_error *error) {
    struct reader *reader = chrome->reader;
    struct input *input = &chrome->input;
    uint64_t offset = input->offset + input->end;
    bool within = reader->state == AT_EVENT && !reader->resyncing;
    chrome->problems.counts[within ? PROBLEM_TRUNCATED : PROBLEM_NO_END]++;
    enum reader_state state = reader->state;
    reader->state = FINISHED;
    if (!reader->saw_events)
        return status_set_at(error, TSMITH_ERROR_FORMAT, offset, UINT64_MAX,
                             "%s: no trace: the file ends at byte %llu and has no \"traceEvents\"",
                             chrome->name, (unsigned long long)offset);
    // The format allows an array of events without its end.
    if (reader->array_form && (state == AFTER_EVENT || state == BEFORE_EVENTS) && !input->cut) {
        chrome->problems.counts[PROBLEM_NO_END]--;
        return TSMITH_END;
    }
    reader->stopped = status_set_at(
        error, TSMITH_TRUNCATED, offset, reader->events,
        "%s: ends early at byte %llu%s%s; everything before it (%llu %s) was read", chrome->name,
        (unsigned long long)offset, input->problem ? ": " : "", input->problem ? input->problem : "",
        (unsigned long long)reader->events, plural(reader->events, "event", "events"));
    return reader->stopped;
}

// Whether the file, whose last events could not be read, ends as a whole one does.
static bool ends_as_trace(const struct chrome *chrome) {
    const struct input *input = &chrome->input;
    const char *at = input->window + input->end, *from = input->window + input->begin;
    int closing = chrome->reader->array_form ? 1 : 2;
    while (at > from && closing) {
        char c = *--at;
        if (c != (closing == 2 ? '}' : ']') && !is_space(c))
            return false;
        closing -= !is_space(c);
    }
    return !closing && !input->cut;
}

static tsmith_status finished(struct chrome *chrome, tsmith_error *error) {
    if (chrome->reader->saw_events)
        return reader_finish(chrome, chrome->reader->events, error);
    uint64_t offset = chrome->input.offset + chrome->input.begin;
    return status_set_at(
        error, TSMITH_ERROR_FORMAT, offset, UINT64_MAX,
        "%s: JSON, but not a trace: the object that ends at byte %llu has no \"traceEvents\"", chrome->name,
        (unsigned long long)offset);
}

// One stretch: as far as the window and the state go.
static enum result read_stretch(struct chrome *chrome) {
    switch (chrome->reader->state) {
    case AT_EVENT:
        return read_events(chrome);
    case TOP_LEVEL:
        return read_top(chrome);
    case SEARCHING:
        give_up(chrome);
        return chrome->reader->state == SEARCHING ? MORE : GOT;
    default:
        return read_between(chrome);
    }
}

tsmith_status reader_run(struct chrome *chrome, tsmith_error *error) {
    struct reader *reader = chrome->reader;
    reader->full = false;
    while (!reader->full) {
        if (reader->state == FINISHED)
            return finished(chrome, error);
        enum result result = read_stretch(chrome);
        if (chrome->texts.failed || tsmith_dictionary_failed(chrome->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
        if (result == BAD) {
            if (reader->state != TOP_LEVEL)
                damaged(chrome);
            else if (!find_trace_events(chrome))
                return stop_early(chrome, error);
        }
        if (result != MORE)
            continue;
        tsmith_status status = input_more(&chrome->input, error);
        if (status == TSMITH_ERROR_LIMIT && reader->state != TOP_LEVEL) {
            chrome->problems.counts[PROBLEM_TOO_LARGE] += !reader->resyncing;
            reader->resyncing = true; // counted
            give_up(chrome);
        } else if (status == TSMITH_ERROR_LIMIT)
            return status_set_at(error, status, chrome->input.offset + chrome->input.begin, UINT64_MAX,
                                 "%s: a value outside the events is larger than %zu bytes", chrome->name,
                                 INPUT_WINDOW_MAX);
        else if (status < 0)
            return status;
        else if (status == TSMITH_END && reader->state == SEARCHING && ends_as_trace(chrome))
            reader_commit(chrome, FINISHED, chrome->input.window + chrome->input.end);
        else if (status == TSMITH_END &&
                 (reader->state == SEARCHING || reader->state != AT_EVENT || reader->tolerant ||
                  !reader_find_event(chrome->input.window + chrome->input.begin + 1,
                                     chrome->input.window + chrome->input.end)))
            return stop_early(chrome, error);
        else if (status == TSMITH_END)
            damaged(chrome); // an event that swallowed others: a quote or bracket is missing
    }
    return TSMITH_OK;
}
