// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own. Times are ns
// of the trace clock.
#ifndef CANN_RECORD_PARTS_H
#define CANN_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of `fields`, name in the trace, type, unit)
#define CANN_FIELDS(OWN)                                                                                     \
    OWN(external, "externalId", U64, "")                                                                     \
    OWN(value, "value", U64, "")                                                                             \
    OWN(count, "count", U64, "")                                                                             \
    OWN(datatype, "datatype", STRING, "")                                                                    \
    OWN(algorithm, "algorithm", STRING, "")                                                                  \
    OWN(group, "commName", STRING, "")

#define KERNEL_WORDS(WORD)                                                                                   \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)                                                                                        \
    WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))
#define UNTIMED_WORDS(WORD)                                                                                  \
    INSTANT_WORDS(WORD)                                                                                      \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)                                                    \
    CAUSE_WORDS(WORD)
#define CALL_WORDS(WORD)                                                                                     \
    SPAN_WORDS(WORD)                                                                                         \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))                                           \
    WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))
#define COPY_WORDS(WORD)                                                                                     \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(direction, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE))                                          \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)
#define FILL_WORDS(WORD)                                                                                     \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)                                                            \
    WORD(value, fields.value, RECORD_DYNAMIC)
#define MEMORY_WORDS(WORD)                                                                                   \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)                                                                                        \
    WORD(address, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))                                               \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))
#define COLLECTIVE_WORDS(WORD)                                                                               \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)                                                                                        \
    WORD(count, fields.count, OPTIONAL(RECORD_DYNAMIC))                                                      \
    WORD(datatype, fields.datatype, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(algorithm, fields.algorithm, OPTIONAL(RECORD_DYNAMIC))                                              \
    WORD(group, fields.group, OPTIONAL(RECORD_DYNAMIC))
#define RANGE_WORDS(WORD)                                                                                    \
    SPAN_WORDS(WORD)                                                                                         \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))
#define MARK_WORDS(WORD)                                                                                     \
    INSTANT_WORDS(WORD)                                                                                      \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))
#define EXTERNAL_WORDS(WORD)                                                                                 \
    INSTANT_WORDS(WORD)                                                                                      \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(external, fields.external, OPTIONAL(RECORD_DYNAMIC))                                                \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)
#define OVERHEAD_WORDS(WORD)                                                                                 \
    SPAN_WORDS(WORD)                                                                                         \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))

// RECORD(name of the shape, its words, kind of the event)
#define CANN_RECORDS(RECORD)                                                                                 \
    RECORD(kernel, KERNEL_WORDS, KERNEL)                                                                     \
    RECORD(untimed, UNTIMED_WORDS, KERNEL)                                                                   \
    RECORD(call, CALL_WORDS, API)                                                                            \
    RECORD(copy, COPY_WORDS, MEMCPY)                                                                         \
    RECORD(fill, FILL_WORDS, MEMSET)                                                                         \
    RECORD(alloc, MEMORY_WORDS, ALLOC)                                                                       \
    RECORD(release, MEMORY_WORDS, FREE)                                                                      \
    RECORD(collective, COLLECTIVE_WORDS, COLLECTIVE)                                                         \
    RECORD(range, RANGE_WORDS, RANGE)                                                                        \
    RECORD(mark, MARK_WORDS, MARKER)                                                                         \
    RECORD(external, EXTERNAL_WORDS, MARKER)                                                                 \
    RECORD(overhead, OVERHEAD_WORDS, OVERHEAD)

#define CANN_PART(name, LIST, kind) RECORD_PART(name##_words, LIST)
CANN_RECORDS(CANN_PART)
#undef CANN_PART

#endif
