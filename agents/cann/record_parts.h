// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h), and the fields that are this agent's own. Times are ns
// of the trace clock.
#ifndef CANN_RECORD_PARTS_H
#define CANN_RECORD_PARTS_H

#include "agentkit/record_words.h"

// OWN(member of `fields`, name in the trace, type, unit)
// clang-format off
#define CANN_FIELDS(OWN) \
    OWN(external, "externalId", U64, "") OWN(value, "value", U64, "") OWN(count, "count", U64, "") \
    OWN(datatype, "datatype", STRING, "") OWN(algorithm, "algorithm", STRING, "") \
    OWN(group, "commName", STRING, "")
// clang-format on

#define KERNEL_WORDS(WORD) SPAN_WORDS(WORD) CAUSE_WORDS(WORD) CATEGORY_OR_NONE(WORD)
#define UNTIMED_WORDS(WORD) INSTANT_WORDS(WORD) CERTAINTY_WORD(WORD) CAUSE_WORDS(WORD)
// clang-format off
#define CALL_WORDS(WORD) \
    SPAN_WORDS(WORD) CORRELATION_OR_NONE(WORD) NAME_OR_NONE(WORD) CATEGORY_OR_NONE(WORD) STACK_OR_NONE(WORD)
#define COPY_WORDS(WORD) \
    SPAN_WORDS(WORD) CAUSE_WORDS(WORD) OPERATION_WORD(WORD) DIRECTION_OR_NONE(WORD) BYTES_WORD(WORD)
#define FILL_WORDS(WORD) \
    SPAN_WORDS(WORD) CAUSE_WORDS(WORD) OPERATION_WORD(WORD) BYTES_WORD(WORD) OWN_WORD(WORD, value)
#define MEMORY_WORDS(WORD) SPAN_WORDS(WORD) CAUSE_WORDS(WORD) HANDLE_OR_NONE(WORD) BYTES_OR_NONE(WORD)
#define COLLECTIVE_WORDS(WORD) \
    SPAN_WORDS(WORD) CAUSE_WORDS(WORD) OWN_OR_NONE(WORD, count) OWN_OR_NONE(WORD, datatype) \
    OWN_OR_NONE(WORD, algorithm) OWN_OR_NONE(WORD, group)
#define RANGE_WORDS(WORD) SPAN_WORDS(WORD) NAME_OR_NONE(WORD) CATEGORY_OR_NONE(WORD)
#define MARK_WORDS(WORD) INSTANT_WORDS(WORD) NAME_OR_NONE(WORD) CATEGORY_OR_NONE(WORD)
#define EXTERNAL_WORDS(WORD) \
    INSTANT_WORDS(WORD) NAME_OR_NONE(WORD) CORRELATION_OR_NONE(WORD) OWN_OR_NONE(WORD, external) \
    CERTAINTY_WORD(WORD)
// clang-format on
#define OVERHEAD_WORDS(WORD) SPAN_WORDS(WORD) NAME_OR_NONE(WORD)

// RECORD(name of the shape, its words, kind of the event)
// clang-format off
#define CANN_RECORDS(RECORD) \
    RECORD(kernel, KERNEL_WORDS, KERNEL) RECORD(untimed, UNTIMED_WORDS, KERNEL) \
    RECORD(call, CALL_WORDS, API) RECORD(copy, COPY_WORDS, MEMCPY) RECORD(fill, FILL_WORDS, MEMSET) \
    RECORD(alloc, MEMORY_WORDS, ALLOC) RECORD(release, MEMORY_WORDS, FREE) \
    RECORD(collective, COLLECTIVE_WORDS, COLLECTIVE) RECORD(range, RANGE_WORDS, RANGE) \
    RECORD(mark, MARK_WORDS, MARKER) RECORD(external, EXTERNAL_WORDS, MARKER) \
    RECORD(overhead, OVERHEAD_WORDS, OVERHEAD)
// clang-format on

CANN_RECORDS(TRACK_RECORD_PART)

#endif
