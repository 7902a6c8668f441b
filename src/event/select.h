// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_SELECT_H
#define EVENT_SELECT_H

#include "tracesmith/batch.h"

// Writes the rows of `batch` whose kind is among `kinds` (TSMITH_KIND_BIT; 0: every kind) and whose start is from `from` to
// before `to` into `rows`, which has room for all; how many there are.
uint32_t select_rows(const tsmith_batch *batch, uint64_t kinds, int64_t from, int64_t to, uint32_t *rows);

// Makes `to` the batch of these rows of `from`, which ascend. NO_MEMORY.
tsmith_status select_batch(tsmith_batch *to, const tsmith_batch *from, const uint32_t *rows, uint32_t count);

#endif
