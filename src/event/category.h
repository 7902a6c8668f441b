// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_CATEGORY_H
#define EVENT_CATEGORY_H

#include "tracesmith/dictionary.h"
#include "tracesmith/schema.h"

// The kind of an event that a profiler put into this category ("cuda_runtime", "kernel"); `otherwise` for an unknown
// category.
tsmith_kind category_kind(tsmith_string category, tsmith_kind otherwise);
// The same for traces that TraceSmith exported, in which the name of a kind is a category too; in Chrome JSON also
// "tracesmith.loss".
tsmith_kind category_own_kind(tsmith_string category, tsmith_kind otherwise);

// The value of the key "producer" in TraceSmith's Chrome JSON.
#define CATEGORY_PRODUCER "TraceSmith"

#endif
