// SPDX-License-Identifier: Apache-2.0
// Invariants: every column has `count` values; a column without a bitmap has a value in every row. Rows keep the order
// in which they were added until store_sort; only then is their place in the file forgotten.
#include "query/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "event/batch.h"
#include "query/rank.h"

struct store_column {
    uint32_t slot;
    uint8_t type;
    uint32_t size; // bytes of a value; of a LIST, of its place in the pool
    char *values;
    uint64_t *valid;
};

// Where rows come from: those from `first` on are of the batch with this number.
struct origin {
    uint64_t sequence;
    uint32_t first;
};

struct store {
    tsmith_query *query;
    const struct event_table *table;
    const struct plan *plan;
    struct store_column *columns;
    size_t column_count;
    uint64_t count, capacity;
    uint64_t *pool; // of lists: count, then elements
    size_t pool_count, pool_capacity;
    bool keeps_places;
    uint16_t *places; // row of its batch
    struct origin *origins;
    size_t origin_count, origin_capacity;
    uint32_t *heads, *next; // by key: the first row of a hash, the next of the same
    uint64_t *keys;
    uint32_t mask;
    uint32_t *order;    // by start
    struct ranks ranks; // while rows are counted and put
    uint32_t *places_of_batch;
    size_t bytes; // accounted for in the query
};

static bool account_bytes(struct store *store, size_t bytes) {
    if (store->query->store_bytes + bytes > STORE_BYTES_MAX)
        return false;
    store->query->store_bytes += bytes;
    store->bytes += bytes;
    return true;
}

static size_t bitmap_bytes(uint64_t rows) {
    return (size_t)(rows + 63) / 64 * sizeof(uint64_t);
}

struct store *store_create(tsmith_query *query, const struct event_table *table, const struct plan *plan) {
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    *store = (struct store){.query = query, .table = table, .plan = plan};
    store->keeps_places = plan->order_count == 0;
    store->columns = calloc(plan->slot_count + 1, sizeof *store->columns);
    if (!store->columns) {
        free(store);
        return NULL;
    }
    for (uint32_t i = 0; i < plan->slot_count; i++) {
        uint32_t slot = plan->slots[i];
        tsmith_field_info info = {.type = TSMITH_TYPE_TRACK};
        if (slot != SLOT_TRACK &&
            !tsmith_dictionary_describe_field(query->backend.dictionary, slot_field(slot), &info))
            continue;
        uint32_t size = info.type == TSMITH_TYPE_LIST ? 8 : tsmith_type_size(info.type);
        store->columns[store->column_count++] =
            (struct store_column){.slot = slot, .type = (uint8_t)info.type, .size = size};
    }
    return store;
}

void store_destroy(struct store *store) {
    if (!store)
        return;
    store->query->store_bytes -= store->bytes;
    for (size_t i = 0; i < store->column_count; i++) {
        free(store->columns[i].values);
        free(store->columns[i].valid);
    }
    free(store->columns);
    free(store->pool);
    free(store->places);
    free(store->origins);
    free(store->heads);
    free(store->next);
    free(store->keys);
    free(store->order);
    free(store->places_of_batch);
    ranks_finish(&store->ranks);
    free(store);
}

uint64_t store_count(const struct store *store) {
    return store->count;
}

// ---- adding

// Large arrays begin where a huge page may: filling them is then not a matter of page faults.
enum { HUGE_PAGE = 2 << 20 };

static bool grow(void *array, size_t size) {
    void *grown = NULL;
    if (!*(void **)array && size > 2 * HUGE_PAGE) {
        grown = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
        if (grown)
            (void)madvise(grown, size, MADV_HUGEPAGE);
    }
    grown = grown ? grown : realloc(*(void **)array, size ? size : 1);
    if (grown)
        *(void **)array = grown;
    return grown != NULL;
}

static tsmith_status reserve(struct store *store, uint64_t needed) {
    if (needed <= store->capacity)
        return TSMITH_OK;
    // What the file is known to hold is made room for at once; more only when it comes.
    uint64_t capacity = store->capacity ? store->capacity * 2 : TSMITH_BATCH_MAX;
    if (capacity < store->table->rows && !store->plan->constraint_count)
        capacity = store->table->rows;
    capacity = capacity < needed ? needed : capacity;
    if (capacity >= UINT32_MAX)
        return TSMITH_ERROR_LIMIT;
    size_t width = store->keeps_places ? sizeof *store->places : 0;
    for (size_t i = 0; i < store->column_count; i++)
        width += store->columns[i].size;
    if (!account_bytes(store, (size_t)(capacity - store->capacity) * width))
        return TSMITH_ERROR_LIMIT;
    for (size_t i = 0; i < store->column_count; i++)
        if (!grow(&store->columns[i].values, (size_t)capacity * store->columns[i].size) ||
            (store->columns[i].valid && !grow(&store->columns[i].valid, bitmap_bytes(capacity))))
            return TSMITH_ERROR_NO_MEMORY;
    if (store->keeps_places && !grow(&store->places, (size_t)capacity * sizeof *store->places))
        return TSMITH_ERROR_NO_MEMORY;
    store->capacity = capacity;
    return TSMITH_OK;
}

// A bitmap for a column whose rows all had a value so far.
static bool begin_bitmap(struct store *store, struct store_column *column) {
    if (column->valid)
        return true;
    column->valid = malloc(bitmap_bytes(store->capacity));
    if (column->valid)
        memset(column->valid, 0xff, bitmap_bytes(store->count));
    return column->valid != NULL;
}

static void set_valid(uint64_t *valid, uint64_t row, bool has) {
    uint64_t bit = UINT64_C(1) << (row % 64);
    valid[row / 64] = has ? valid[row / 64] | bit : valid[row / 64] & ~bit;
}

#define COPY(type)                                                                                           \
    for (uint32_t i = 0; i < count; i++)                                                                     \
    ((type *)(void *)to)[i] = ((const type *)values)[rows[i]]

static void copy_values(char *to, const void *values, uint32_t size, const uint32_t *rows, uint32_t count) {
    if (!rows)
        memcpy(to, values, (size_t)count * size);
    else if (size == 8)
        COPY(uint64_t);
    else if (size == 4)
        COPY(uint32_t);
    else
        COPY(uint8_t);
}

static tsmith_status copy_lists(struct store *store, struct store_column *column, const tsmith_view *from,
                                const uint32_t *rows, uint32_t count) {
    uint64_t *to = (uint64_t *)(void *)column->values + store->count;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *elements = NULL;
        const size_t length = tsmith_view_list(from, rows ? rows[i] : i, &elements);
        if (!account_bytes(store, (length + 1) * sizeof *store->pool))
            return TSMITH_ERROR_LIMIT;
        if (!array_reserve((void **)&store->pool, &store->pool_capacity, store->pool_count + length + 1,
                           sizeof *store->pool))
            return TSMITH_ERROR_NO_MEMORY;
        to[i] = store->pool_count;
        store->pool[store->pool_count++] = length;
        if (length)
            memcpy(store->pool + store->pool_count, elements, length * sizeof *store->pool);
        store->pool_count += length;
    }
    return TSMITH_OK;
}

static tsmith_status add_column(struct store *store, struct store_column *column, const tsmith_batch *batch,
                                const uint32_t *rows, uint32_t count) {
    char *to = column->values + store->count * column->size;
    if (column->slot == SLOT_TRACK) {
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)(void *)to)[i] = tsmith_batch_track(batch);
        return TSMITH_OK;
    }
    const tsmith_view from = tsmith_view_typed(batch, slot_field(column->slot), (tsmith_type)column->type);
    const bool has = tsmith_view_exists(&from);
    if ((!has || from.valid) && !begin_bitmap(store, column))
        return TSMITH_ERROR_NO_MEMORY;
    if (!has) // never read, and yet moved with its row
        memset(to, 0, (size_t)count * column->size);
    else if (column->type == TSMITH_TYPE_LIST) {
        tsmith_status status = copy_lists(store, column, &from, rows, count);
        if (status != TSMITH_OK)
            return status;
    } else {
        copy_values(to, from.values, column->size, rows, count);
    }
    for (uint32_t i = 0; column->valid && i < count; i++)
        set_valid(column->valid, store->count + i, tsmith_view_has(&from, rows ? rows[i] : i));
    return TSMITH_OK;
}

tsmith_status store_add(struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                        uint32_t count) {
    tsmith_status status = reserve(store, store->count + count);
    if (status == TSMITH_OK && store->keeps_places &&
        !array_reserve((void **)&store->origins, &store->origin_capacity, store->origin_count + 1,
                       sizeof *store->origins))
        status = TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; status == TSMITH_OK && i < store->column_count; i++)
        status = add_column(store, &store->columns[i], batch, rows, count);
    if (status != TSMITH_OK)
        return status;
    if (store->keeps_places) {
        store->origins[store->origin_count++] =
            (struct origin){batch_sequence(batch), (uint32_t)store->count};
        for (uint32_t i = 0; i < count; i++)
            store->places[store->count + i] = (uint16_t)(rows ? rows[i] : i);
    }
    store->count += count;
    return TSMITH_OK;
}

// ---- reading

static const struct store_column *find(const struct store *store, uint32_t slot) {
    for (size_t i = 0; i < store->column_count; i++)
        if (store->columns[i].slot == slot)
            return &store->columns[i];
    return NULL;
}

tsmith_view store_view(const struct store *store, uint32_t slot) {
    const struct store_column *column = find(store, slot);
    if (!column)
        return (tsmith_view){.valid = NULL};
    return (tsmith_view){.values = column->values, .valid = column->valid, .type = (tsmith_type)column->type};
}

uint64_t store_list(const struct store *store, uint64_t value, const uint64_t **elements) {
    *elements = store->pool + value + 1;
    return store->pool[value];
}

int64_t store_rowid(const struct store *store, uint64_t row) {
    if (!store->keeps_places)
        return (int64_t)row;
    // The last origin that begins at or before the row.
    const size_t at = SORTED_FIND(i, 1, store->origin_count, store->origins[i].first <= row) - 1;
    return (int64_t)(store->origins[at].sequence << 16 | store->places[row]);
}

// ---- in order

#define SCATTER(type)                                                                                        \
    for (uint64_t i = 0; i < count; i++)                                                                     \
    ((type *)(void *)moved)[to[i]] = ((const type *)(const void *)column->values)[i]

// Moves every value to its row's new place.
static bool scatter(struct store *store, struct store_column *column, const uint32_t *to) {
    uint64_t count = store->count;
    char *moved = malloc((size_t)count * column->size + 1);
    uint64_t *valid = column->valid ? calloc(1, bitmap_bytes(count) + 1) : NULL;
    if (!moved || (column->valid && !valid)) {
        free(moved);
        free(valid);
        return false;
    }
    if (column->size == 8)
        SCATTER(uint64_t);
    else if (column->size == 4)
        SCATTER(uint32_t);
    else
        SCATTER(uint8_t);
    for (uint64_t i = 0; valid && i < count; i++)
        valid[to[i] / 64] |= (column->valid[i / 64] >> (i % 64) & 1) << (to[i] % 64);
    free(column->values);
    free(column->valid);
    column->values = moved;
    column->valid = valid;
    return true;
}

// A stable counting sort by one column.
static bool sort_by(struct store *store, const struct plan_order *order, uint32_t *to) {
    const struct event_column *column = &store->table->columns[order->column];
    struct codes codes = {.rows = NULL};
    struct ranks ranks;
    codes.view = store_view(store, column->slot);
    bool done = ranks_init(&ranks, store->query->backend.dictionary, column);
    if (done) {
        ranks_count(&ranks, &codes, store->count);
        done = ranks_settle(&ranks, order->descending);
    }
    if (done)
        ranks_place(&ranks, &codes, store->count, to);
    for (size_t i = 0; done && i < store->column_count; i++)
        done = scatter(store, &store->columns[i], to);
    ranks_finish(&ranks);
    return done;
}

tsmith_status store_sort(struct store *store) {
    uint32_t *to = malloc((size_t)store->count * sizeof *to + 1);
    bool done = to != NULL;
    for (uint32_t i = store->plan->order_count; done && i-- > 0;)
        done = sort_by(store, &store->plan->orders[i], to);
    free(to);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- put in order at once

static void codes_of(const struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                     struct codes *codes) {
    const struct event_column *column = &store->table->columns[store->plan->orders[0].column];
    *codes = (struct codes){
        .rows = rows, .constant = column->slot == SLOT_TRACK, .code = tsmith_batch_track(batch)};
    const tsmith_view view = tsmith_view_typed(batch, slot_field(column->slot), (tsmith_type)column->type);
    if (!codes->constant && tsmith_view_exists(&view))
        codes->view = view;
}

tsmith_status store_count_rows(struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                               uint32_t count) {
    const struct event_column *column = &store->table->columns[store->plan->orders[0].column];
    struct codes codes;
    if (!store->ranks.by_code && !ranks_init(&store->ranks, store->query->backend.dictionary, column))
        return TSMITH_ERROR_NO_MEMORY;
    if (store->capacity + count >= UINT32_MAX)
        return TSMITH_ERROR_LIMIT;
    store->capacity += count;
    codes_of(store, batch, rows, &codes);
    ranks_count(&store->ranks, &codes, count);
    return TSMITH_OK;
}

tsmith_status store_begin_places(struct store *store) {
    uint64_t count = store->capacity;
    store->capacity = 0;
    store->places_of_batch = malloc(TSMITH_BATCH_MAX * sizeof *store->places_of_batch);
    if (!store->places_of_batch ||
        (store->ranks.by_code && !ranks_settle(&store->ranks, store->plan->orders[0].descending)))
        return TSMITH_ERROR_NO_MEMORY;
    return count ? reserve(store, count) : TSMITH_OK;
}

#define PUT(type)                                                                                            \
    for (uint32_t i = 0; i < count; i++)                                                                     \
    ((type *)(void *)column->values)[to[i]] = ((const type *)values)[rows ? rows[i] : i]

static void put_values(struct store_column *column, const void *values, const uint32_t *rows, uint32_t count,
                       const uint32_t *to) {
    if (column->size == 8)
        PUT(uint64_t);
    else if (column->size == 4)
        PUT(uint32_t);
    else
        PUT(uint8_t);
}

static tsmith_status put_column(struct store *store, struct store_column *column, const tsmith_batch *batch,
                                const uint32_t *rows, uint32_t count) {
    const uint32_t *to = store->places_of_batch;
    if (column->slot == SLOT_TRACK) {
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)(void *)column->values)[to[i]] = tsmith_batch_track(batch);
        return TSMITH_OK;
    }
    const tsmith_view from = tsmith_view_typed(batch, slot_field(column->slot), (tsmith_type)column->type);
    const bool has = tsmith_view_exists(&from);
    if (!has || from.valid) {
        bool is_new = !column->valid;
        if (is_new && !(column->valid = malloc(bitmap_bytes(store->capacity))))
            return TSMITH_ERROR_NO_MEMORY;
        if (is_new) // rows put before this one had a value
            memset(column->valid, 0xff, bitmap_bytes(store->capacity));
        for (uint32_t i = 0; i < count; i++)
            set_valid(column->valid, to[i], tsmith_view_has(&from, rows ? rows[i] : i));
    }
    if (has)
        put_values(column, from.values, rows, count, to);
    return TSMITH_OK;
}

tsmith_status store_put(struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                        uint32_t count) {
    struct codes codes;
    tsmith_status status = TSMITH_OK;
    if (count > store->capacity - store->count) // the file has changed under us
        return TSMITH_ERROR_CORRUPT;
    codes_of(store, batch, rows, &codes);
    ranks_place(&store->ranks, &codes, count, store->places_of_batch);
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++)
        last = store->places_of_batch[i] > last ? store->places_of_batch[i] : last;
    if (last >= store->capacity)
        return TSMITH_ERROR_CORRUPT;
    for (size_t i = 0; status == TSMITH_OK && i < store->column_count; i++)
        status = put_column(store, &store->columns[i], batch, rows, count);
    store->count += count;
    return status;
}

// ---- by key

static uint64_t hash_string(const struct store *store, const struct event_column *column, uint64_t bits) {
    const tsmith_dictionary *dictionary = store->query->backend.dictionary;
    if (column->type != TSMITH_TYPE_STRING || column->aspect != ASPECT_VALUE)
        return bits;
    tsmith_string string = tsmith_dictionary_string(dictionary, (uint32_t)bits);
    return hash_bytes(string.bytes, string.length);
}

static uint32_t bucket(const struct store *store, uint64_t key) {
    return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & store->mask;
}

static const struct event_column *key_column(const struct store *store) {
    return &store->table->columns[store->plan->constraints[store->plan->key].column];
}

static tsmith_status index_by_key(struct store *store) {
    const struct event_column *column = key_column(store);
    const tsmith_view view = store_view(store, column->slot);
    store->mask = 1;
    while (store->mask < store->count && store->mask < UINT32_MAX / 4)
        store->mask = store->mask * 2 + 1;
    size_t heads = (size_t)store->mask + 1, count = (size_t)store->count + 1;
    if (!account_bytes(store,
                       heads * sizeof *store->heads + count * (sizeof *store->next + sizeof *store->keys)))
        return TSMITH_ERROR_LIMIT;
    store->heads = malloc(heads * sizeof *store->heads);
    store->next = malloc(count * sizeof *store->next);
    store->keys = malloc(count * sizeof *store->keys);
    if (!store->heads || !store->next || !store->keys)
        return TSMITH_ERROR_NO_MEMORY;
    memset(store->heads, 0xff, heads * sizeof *store->heads);
    for (uint64_t row = store->count; row-- > 0;) { // so that rows of a bucket ascend
        if (!has_value(&view, row))
            continue;
        uint64_t key = hash_string(store, column, tsmith_view_known(&view, (uint32_t)row));
        uint32_t at = bucket(store, key);
        store->keys[row] = key;
        store->next[row] = store->heads[at];
        store->heads[at] = (uint32_t)row;
    }
    return TSMITH_OK;
}

// A value that such a key cannot be compared to by its bits (another type) makes SQLite look at every row; what it
// is compared to is then found by a scan.
uint32_t store_find(const struct store *store, sqlite3_value *value) {
    const struct event_column *column = key_column(store);
    bool is_text = column->type == TSMITH_TYPE_STRING && column->aspect == ASPECT_VALUE;
    uint64_t key;
    if (is_text) {
        const void *text = sqlite3_value_text(value);
        key = hash_bytes(text ? text : "", (size_t)sqlite3_value_bytes(value));
    } else {
        key = (uint64_t)sqlite3_value_int64(value);
    }
    uint32_t row = store->heads[bucket(store, key)];
    while (row != UINT32_MAX && store->keys[row] != key)
        row = store->next[row];
    return row;
}

uint32_t store_find_next(const struct store *store, uint32_t row) {
    uint64_t key = store->keys[row];
    do
        row = store->next[row];
    while (row != UINT32_MAX && store->keys[row] != key);
    return row;
}

// ---- by start

struct started {
    int64_t start;
    uint32_t row;
};

static int by_start(const void *a, const void *b) {
    const struct started *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static tsmith_status index_by_start(struct store *store) {
    const tsmith_view view = store_view(store, TSMITH_FIELD_START);
    size_t count = (size_t)store->count;
    if (!account_bytes(store, count * sizeof *store->order))
        return TSMITH_ERROR_LIMIT;
    struct started *started = malloc(count * sizeof *started + 1);
    store->order = malloc(count * sizeof *store->order + 1);
    if (!started || !store->order) {
        free(started);
        return TSMITH_ERROR_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        started[i] = (struct started){((const int64_t *)view.values)[i], (uint32_t)i};
    qsort(started, count, sizeof *started, by_start);
    for (size_t i = 0; i < count; i++)
        store->order[i] = started[i].row;
    free(started);
    return TSMITH_OK;
}

tsmith_status store_index(struct store *store) {
    return store->plan->key >= 0           ? index_by_key(store)
           : store->plan->key == KEY_START ? index_by_start(store)
                                           : TSMITH_OK;
}

uint64_t store_lower_bound(const struct store *store, int64_t start) {
    const tsmith_view view = store_view(store, TSMITH_FIELD_START);
    return SORTED_FIND(i, 0, store->count, ((const int64_t *)view.values)[store->order[i]] < start);
}

uint32_t store_by_start(const struct store *store, uint64_t place) {
    return store->order[place];
}
