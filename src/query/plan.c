// SPDX-License-Identifier: Apache-2.0
// Plans: what SQLite and a table agree upon before the first row. SQLite asks many times while it plans, so a plan
// that was given is found again, and its number is all that SQLite carries over to the cursor.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "query/events.h"
#include "query/store.h"

enum { BIT_OF_THE_REST = 63 }; // of colUsed: columns from this one on share it

// ---- what may go down

static bool is_range(uint8_t op) {
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
           op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

static bool is_text(const struct event_column *column) {
    return column->aspect == ASPECT_TRACK_NAME || column->type == TSMITH_TYPE_KIND ||
           (column->type == TSMITH_TYPE_STRING && column->aspect == ASPECT_VALUE);
}

static bool takes_constraint(const struct event_column *column, uint8_t op) {
    bool is_time = column->aspect == ASPECT_END || column->slot == TSMITH_FIELD_START;
    if (column->other || column->aspect == ASPECT_QUOTIENT)
        return false;
    if (is_range(op))
        return is_time;
    if (op != SQLITE_INDEX_CONSTRAINT_EQ)
        return false;
    switch (column->type) {
    case TSMITH_TYPE_F64:
    case TSMITH_TYPE_LIST:
    case TSMITH_TYPE_OPERATION:
    case TSMITH_TYPE_DIRECTION:
    case TSMITH_TYPE_REASON:
    case TSMITH_TYPE_CERTAINTY:
        return false;
    case TSMITH_TYPE_KIND:
        return column->slot == TSMITH_FIELD_KIND; // and not the kind of what a sum stands for
    case TSMITH_TYPE_TRACK:
        return column->slot == SLOT_TRACK || column->aspect == ASPECT_VALUE;
    default:
        return true;
    }
}

static void take_constraints(const struct event_table *table, struct plan *plan, sqlite3_index_info *info) {
    for (int i = 0; i < info->nConstraint && plan->constraint_count < CONSTRAINTS_MAX; i++) {
        int at = info->aConstraint[i].iColumn;
        if (!info->aConstraint[i].usable || at < 0 ||
            !takes_constraint(&table->columns[at], info->aConstraint[i].op))
            continue;
        if (is_text(&table->columns[at]) && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        plan->constraints[plan->constraint_count++] =
            (struct plan_constraint){(uint16_t)at, info->aConstraint[i].op};
        info->aConstraintUsage[i].argvIndex = (int)plan->constraint_count;
    }
}

// What an equality leaves of a table, for the planner: numbers name few events, names more.
static uint64_t divisor_of(const struct event_column *column) {
    if (column->slot == TSMITH_FIELD_START)
        return 1000;
    switch (column->type) {
    case TSMITH_TYPE_TRACK:
    case TSMITH_TYPE_KIND:
    case TSMITH_TYPE_BOOL:
    case TSMITH_TYPE_U8:
        return 4;
    case TSMITH_TYPE_STRING:
        return 100;
    default:
        return 1000000;
    }
}

// The values of these are few or have numbers: rows can be grouped by counting.
static bool can_order(const struct event_column *column) {
    if (column->other || column->aspect == ASPECT_QUOTIENT ||
        (column->type == TSMITH_TYPE_STRING && column->aspect == ASPECT_ID))
        return false;
    switch (column->type) {
    case TSMITH_TYPE_STRING:
    case TSMITH_TYPE_TRACK:
    case TSMITH_TYPE_KIND:
    case TSMITH_TYPE_OPERATION:
    case TSMITH_TYPE_DIRECTION:
    case TSMITH_TYPE_REASON:
    case TSMITH_TYPE_CERTAINTY:
    case TSMITH_TYPE_BOOL:
    case TSMITH_TYPE_U8:
        return true;
    default:
        return false;
    }
}

// Bytes that a kept row takes at most.
static uint64_t row_bytes(const struct event_table *table, const struct plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < BIT_OF_THE_REST && i < table->base.shown.column_count; i++)
        if (plan->columns >> i & 1)
            bytes += tsmith_type_size((tsmith_type)table->columns[i].type) + 1;
    return bytes;
}

static void take_order(const struct event_table *table, struct plan *plan, sqlite3_index_info *info) {
    if (info->nOrderBy < 1 || info->nOrderBy > ORDERS_MAX || plan->columns >> BIT_OF_THE_REST ||
        table->rows >= UINT32_MAX || table->rows * row_bytes(table, plan) > STORE_BYTES_MAX / 2)
        return;
    for (uint32_t i = 0; i < plan->constraint_count; i++)
        if (plan->constraints[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
            divisor_of(&table->columns[plan->constraints[i].column]) > 1000)
            return; // few rows pass, perhaps many times over: a join
    for (int i = 0; i < info->nOrderBy; i++) {
        int at = info->aOrderBy[i].iColumn;
        if (at < 0 || !can_order(&table->columns[at]))
            return;
        plan->orders[i] = (struct plan_order){(uint16_t)at, info->aOrderBy[i].desc != 0};
    }
    plan->order_count = (uint32_t)info->nOrderBy;
    info->orderByConsumed = 1;
}

static void estimate(const struct event_table *table, const struct plan *plan, sqlite3_index_info *info) {
    uint64_t rows = table->rows;
    for (uint32_t i = 0; i < plan->constraint_count; i++)
        rows /=
            is_range(plan->constraints[i].op) ? 4 : divisor_of(&table->columns[plan->constraints[i].column]);
    info->estimatedRows = (sqlite3_int64)(rows < 2 ? 2 : rows);
    info->estimatedCost = (double)rows * (plan->order_count ? 1.5 : 1) + 20;
}

// ---- plans kept

static bool is_same(const struct plan *a, const struct plan *b) {
    if (a->columns != b->columns || a->constraint_count != b->constraint_count ||
        a->order_count != b->order_count)
        return false;
    for (uint32_t i = 0; i < a->constraint_count; i++)
        if (a->constraints[i].column != b->constraints[i].column ||
            a->constraints[i].op != b->constraints[i].op)
            return false;
    for (uint32_t i = 0; i < a->order_count; i++)
        if (a->orders[i].column != b->orders[i].column || a->orders[i].descending != b->orders[i].descending)
            return false;
    return true;
}

static int keep_plan(struct event_table *table, const struct plan *plan) {
    for (size_t i = 0; i < table->plan_count; i++)
        if (is_same(table->plans[i], plan))
            return (int)i;
    struct plan *copy = malloc(sizeof *copy);
    if (!copy ||
        !array_reserve((void **)&table->plans, &table->plan_capacity, table->plan_count + 1, sizeof copy)) {
        free(copy);
        return -1;
    }
    *copy = *plan;
    table->plans[table->plan_count] = copy;
    return (int)table->plan_count++;
}

// What EXPLAIN QUERY PLAN shows of it.
static char *describe(const struct event_table *table, const struct plan *plan) {
    const tsmith_query_column *columns = table->base.shown.columns;
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (uint32_t i = 0; i < plan->constraint_count; i++) {
        uint8_t op = plan->constraints[i].op;
        sqlite3_str_appendf(text, "%s%s%s?", i ? " AND " : "", columns[plan->constraints[i].column].name,
                            op == SQLITE_INDEX_CONSTRAINT_EQ   ? "="
                            : op == SQLITE_INDEX_CONSTRAINT_GT ? ">"
                            : op == SQLITE_INDEX_CONSTRAINT_GE ? ">="
                            : op == SQLITE_INDEX_CONSTRAINT_LT ? "<"
                                                               : "<=");
    }
    for (uint32_t i = 0; i < plan->order_count; i++)
        sqlite3_str_appendf(text, "%s%s%s",
                            i                        ? ", "
                            : plan->constraint_count ? " ORDER BY "
                                                     : "ORDER BY ",
                            columns[plan->orders[i].column].name, plan->orders[i].descending ? " DESC" : "");
    return sqlite3_str_finish(text);
}

int plan_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    struct event_table *table = (struct event_table *)query_table_of(vtab);
    struct plan plan = {.columns = info->colUsed, .key = KEY_NONE};
    take_constraints(table, &plan, info);
    take_order(table, &plan, info);
    estimate(table, &plan, info);
    info->idxNum = keep_plan(table, &plan);
    if (info->idxNum < 0)
        return SQLITE_NOMEM;
    info->idxStr = describe(table, &plan);
    info->needToFreeIdxStr = info->idxStr != NULL;
    return SQLITE_OK;
}

void plans_clear(struct event_table *table) {
    for (size_t i = 0; i < table->plan_count; i++) {
        store_destroy(table->plans[i]->store);
        free(table->plans[i]->slots);
        free(table->plans[i]->fields);
        free(table->plans[i]);
    }
    free(table->plans);
    table->plans = NULL;
    table->plan_count = table->plan_capacity = 0;
}

// ---- settled

static void add_slot(struct plan *plan, uint32_t slot) {
    for (uint32_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i] == slot)
            return;
    plan->slots[plan->slot_count++] = slot;
}

enum { SLOTS_PER_COLUMN = 3 };

static void want_column(const struct event_table *table, struct plan *plan, size_t index) {
    for (const struct event_column *column = &table->columns[index]; column;
         column = column->other ? &table->columns[column->other] : NULL) {
        add_slot(plan, column->slot);
        plan->has_lists |= column->type == TSMITH_TYPE_LIST;
        if (column->aspect == ASPECT_END)
            add_slot(plan, TSMITH_FIELD_START);
        if (column->aspect == ASPECT_QUOTIENT) {
            add_slot(plan, TSMITH_FIELD_BYTES);
            add_slot(plan, TSMITH_FIELD_DURATION);
        }
    }
}

// By which constraint rows would be looked up if the plan runs again and again.
static int choose_key(const struct event_table *table, const struct plan *plan) {
    int best = KEY_NONE;
    uint64_t best_divisor = 4;
    for (uint32_t i = 0; i < plan->constraint_count; i++) {
        const struct event_column *column = &table->columns[plan->constraints[i].column];
        if (column->slot == TSMITH_FIELD_START || column->aspect == ASPECT_END) {
            if (best == KEY_NONE && column->aspect != ASPECT_END)
                best = KEY_START;
        } else if (divisor_of(column) > best_divisor ||
                   (best < 0 && column->type == TSMITH_TYPE_TRACK && column->aspect == ASPECT_VALUE)) {
            best = (int)i;
            best_divisor = divisor_of(column);
        }
    }
    return best;
}

bool plan_settle(const struct event_table *table, struct plan *plan) {
    size_t count = table->base.shown.column_count, room = CONSTRAINTS_MAX * SLOTS_PER_COLUMN + 2;
    if (plan->slots)
        return true;
    for (size_t i = 0; i < count; i++)
        for (const struct event_column *column = &table->columns[i]; column;
             column = column->other ? &table->columns[column->other] : NULL)
            room += column->aspect == ASPECT_QUOTIENT ? SLOTS_PER_COLUMN : 1;
    plan->slots = malloc(room * sizeof *plan->slots);
    plan->fields = malloc(room * sizeof *plan->fields);
    if (!plan->slots || !plan->fields)
        return false;
    for (size_t i = 0; i < count; i++)
        if (plan->columns >> (i < BIT_OF_THE_REST ? i : BIT_OF_THE_REST) & 1 &&
            (i < BIT_OF_THE_REST || table->named[i]))
            want_column(table, plan, i);
    for (uint32_t i = 0; i < plan->constraint_count; i++)
        want_column(table, plan, plan->constraints[i].column);
    for (uint32_t i = 0; i < plan->slot_count; i++)
        if (plan->slots[i] != SLOT_TRACK)
            plan->fields[plan->field_count++] = slot_field(plan->slots[i]);
    plan->key = choose_key(table, plan);
    if (plan->key == KEY_START)
        add_slot(plan, TSMITH_FIELD_START);
    return true;
}
