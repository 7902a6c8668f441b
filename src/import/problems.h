// SPDX-License-Identifier: Apache-2.0
// What was wrong with a file that is imported: counted, never silent.
#ifndef IMPORT_PROBLEMS_H
#define IMPORT_PROBLEMS_H

#include <stdint.h>

// X(NAME, "attribute", lost, "what it is"). `lost`: 1 when an event is missing from the result; 2 when the number is
// unknown; 3 when the event is there and its duration is unknown; 0 when everything is there, repaired or kept as text.
#define PROBLEM_TABLE(X)                                                                                     \
    X(MALFORMED_EVENT, "malformed_event", 1, "events that could not be read")                                \
    X(TOO_MANY, "too_many", 1, "events on more threads or with more keys than can be distinguished")         \
    X(TOO_LARGE, "too_large", 1, "events larger than 64 MiB")                                                \
    X(TRUNCATED, "truncated", 2, "the file ends within an event")                                            \
    X(NO_END, "no_end", 2, "the file ends early, after a whole event")                                       \
    X(CONTAINER, "damaged_container", 2, "the compressed data is damaged: its checksum does not match")      \
    X(TRAILING, "trailing", 2, "the file continues after the end of the trace; that part was not read")      \
    X(INVALID_UTF8, "invalid_utf8", 0, "different strings that are not UTF-8, kept byte by byte")            \
    X(CONTROL_CHARACTER, "control_character", 0, "different strings with raw control characters")            \
    X(BAD_ESCAPE, "bad_escape", 0, "different strings with an escape that JSON does not have")               \
    X(UNESCAPED_QUOTE, "unescaped_quote", 0, "strings with quotes that were not escaped")                    \
    X(INTEGER_OVERFLOW, "integer_overflow", 0, "integers beyond 64 bits, kept as text")                      \
    X(NOT_A_NUMBER, "not_a_number", 0, "NaN and Infinity, which JSON does not have")                         \
    X(MALFORMED_VALUE, "malformed_value", 0, "values that are not JSON, kept as text")                       \
    X(ODD_TIME, "odd_time", 0, "points in time beyond the trace clock or finer than it, kept as text")       \
    X(NO_TIME, "no_time", 1, "events without a time, or whose time is not a number")                         \
    X(NO_DURATION, "no_duration", 0, "durations that are not numbers, kept as text")                         \
    X(BACKWARDS, "backwards", 3, "events that end before they start")                                        \
    X(UNMATCHED_BEGIN, "unmatched_begin", 0, "ranges that begin and do not end")                             \
    X(UNMATCHED_END, "unmatched_end", 0, "ranges that end and do not begin")                                 \
    X(OVERLAP, "overlap", 0,                                                                                 \
      "slices of one thread and category that overlap without one being inside the other")                   \
    X(NO_STACK, "no_stack", 0, "events whose call stack could not be made")                                  \
    X(LATE_RANGE, "late_range", 0,                                                                           \
      "functions recorded after calls inside them; the stacks of these calls lack them")

enum problem {
#define PROBLEM_ENUM(NAME, attribute, lost, text) PROBLEM_##NAME,
    PROBLEM_TABLE(PROBLEM_ENUM)
#undef PROBLEM_ENUM
        PROBLEM_COUNT
};

struct problems {
    uint64_t counts[PROBLEM_COUNT];
};

// What the attribute "import.<attribute>" counts. NULL: it is none of these.
const char *problems_doc(const char *attribute);

#endif
