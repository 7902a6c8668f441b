// SPDX-License-Identifier: Apache-2.0
// Rows kept in memory as columns: grouped by what a statement groups or sorts by, or indexed by what it joins by.
#ifndef QUERY_STORE_H
#define QUERY_STORE_H

#include "query/events.h"

struct store;

// What all stores of a statement may take; above it a statement does without, and is slower.
#define STORE_BYTES_MAX (UINT64_C(2) << 30)

struct store *store_create(tsmith_query *query, const struct event_table *table, const struct plan *plan);
void store_destroy(struct store *store);

// Appends `count` rows of the batch, those in `rows` (NULL: the first ones). NO_MEMORY, or LIMIT when the stores
// have become too large.
tsmith_status store_add(struct store *store, const tsmith_batch *batch, const uint32_t *rows, uint32_t count);

// Puts the rows in the order of the plan: equal values side by side, and as SQL sorts them.
tsmith_status store_sort(struct store *store);

// For an order by one column there is a way that touches memory once: count all rows, then put the same ones, in the
// same order, where they belong. CORRUPT when they are not the same. Not with lists.
tsmith_status store_count_rows(struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                               uint32_t count);
tsmith_status store_begin_places(struct store *store);
tsmith_status store_put(struct store *store, const tsmith_batch *batch, const uint32_t *rows, uint32_t count);
// Makes rows findable by the plan's key.
tsmith_status store_index(struct store *store);

uint64_t store_count(const struct store *store);
// The view of a column, all zero when the store has none. A value of a LIST is for store_list: how many elements it has, and
// where they are.
tsmith_view store_view(const struct store *store, uint32_t slot);
uint64_t store_list(const struct store *store, uint64_t value, const uint64_t **elements);
int64_t store_rowid(const struct store *store, uint64_t row);

// Rows whose key may equal: the first, and the one after `row`; UINT32_MAX past the last.
uint32_t store_find(const struct store *store, sqlite3_value *value);
uint32_t store_find_next(const struct store *store, uint32_t row);
// Rows by start: the place of the first not before `start`, and the row at a place.
uint64_t store_lower_bound(const struct store *store, int64_t start);
uint32_t store_by_start(const struct store *store, uint64_t place);

#endif
