// SPDX-License-Identifier: Apache-2.0
// Call stacks of calls: CUDA_CALLCHAINS and OSRT_CALLCHAINS hold frames by the number of a stack, to which rows of
// other tables refer. All are read before the first event and become stacks of the dictionary. nsys has named the
// functions on the machine that recorded; without an address, a function is one place.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "import/nsys/nsys.h"

enum { DEPTH_MAX = 4096 };

static const char *const TABLES[NSYS_CALLCHAIN_TABLES] = {"CUDA_CALLCHAINS", "OSRT_CALLCHAINS"};

static uint32_t text_of(struct nsys *nsys, sqlite3_stmt *select, int column) {
    uint32_t text = 0;
    if (sqlite3_column_type(select, column) == SQLITE_INTEGER)
        (void)nsys_text(nsys, &nsys->strings, sqlite3_column_int64(select, column), &text);
    else if (sqlite3_column_type(select, column) == SQLITE_TEXT)
        text = tsmith_dictionary_intern_cstr(nsys->dictionary,
                                             (const char *)sqlite3_column_text(select, column));
    return text;
}

// A frame of this name: false when the one of this place has another (functions inlined there).
static bool intern(struct nsys *nsys, const tsmith_frame *frame, uint32_t symbol, uint32_t *id) {
    uint32_t had = tsmith_dictionary_frame_count(nsys->dictionary);
    *id = tsmith_dictionary_intern_frame(nsys->dictionary, frame);
    const size_t capacity = nsys->frame_name_capacity;
    if (!ARRAY_RESERVE(nsys->frame_names, nsys->frame_name_capacity, *id + (size_t)1)) {
        nsys->failed = true;
        return true;
    }
    memset(nsys->frame_names + capacity, 0,
           (nsys->frame_name_capacity - capacity) * sizeof *nsys->frame_names);
    if (*id && *id == had && symbol) {
        nsys->frame_names[*id] = symbol;
        (void)tsmith_dictionary_add_symbol(nsys->dictionary,
                                           &(tsmith_symbol){.frame = *id, .function = symbol});
    }
    return nsys->frame_names[*id] == symbol;
}

uint32_t nsys_add_frame(struct nsys *nsys, uint32_t parent, uint32_t symbol, uint32_t path,
                        uint64_t address) {
    const tsmith_module module = {.path = path};
    tsmith_frame frame = {.module = path ? tsmith_dictionary_intern_module(nsys->dictionary, &module) : 0,
                          .address = address ? address : symbol};
    uint32_t id;
    if (!intern(nsys, &frame, symbol, &id)) {
        frame.address = UINT64_MAX - symbol; // a place of its own
        (void)intern(nsys, &frame, symbol, &id);
    }
    return tsmith_dictionary_intern_stack(nsys->dictionary, &(tsmith_stack){parent, id});
}

static void add_chain(struct nsys *nsys, struct nsys_callchains *chains, int64_t id, uint32_t stack) {
    if (!ARRAY_RESERVE(chains->items, chains->capacity, chains->count + 1)) {
        nsys->failed = true;
        return;
    }
    chains->items[chains->count++] = (struct nsys_callchain){id, stack};
}

static void read_table(struct nsys *nsys, const char *table, struct nsys_callchains *chains) {
    // Older versions have no address.
    sqlite3_stmt *select = nsys_select(
        nsys, "SELECT id, symbol, module, originalIP FROM %w ORDER BY id, stackDepth DESC", table);
    if (!select)
        select =
            nsys_select(nsys, "SELECT id, symbol, module, NULL FROM %w ORDER BY id, stackDepth DESC", table);
    uint32_t stack = 0;
    size_t depth = 0;
    int64_t last = 0;
    while (select && !nsys->failed && sqlite3_step(select) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(select, 0);
        if (depth && id != last) {
            add_chain(nsys, chains, last, stack);
            stack = 0;
            depth = 0;
        }
        last = id;
        if (depth++ < DEPTH_MAX)
            stack = nsys_add_frame(nsys, stack, text_of(nsys, select, 1), text_of(nsys, select, 2),
                                   (uint64_t)sqlite3_column_int64(select, 3));
    }
    if (depth)
        add_chain(nsys, chains, last, stack);
    sqlite3_finalize(select);
}

void nsys_callchains_open(struct nsys *nsys) {
    for (int i = 0; i < NSYS_CALLCHAIN_TABLES; i++)
        read_table(nsys, TABLES[i], &nsys->callchains[i]);
}

void nsys_callchains_finish(struct nsys *nsys) {
    for (int i = 0; i < NSYS_CALLCHAIN_TABLES; i++)
        free(nsys->callchains[i].items);
    free(nsys->frame_names);
}

uint32_t nsys_callchain(const struct nsys *nsys, enum nsys_callchain_table table, int64_t id) {
    const struct nsys_callchains *chains = &nsys->callchains[table];
    const size_t at = SORTED_FIND(i, 0, chains->count, chains->items[i].id < id);
    return at < chains->count && chains->items[at].id == id ? chains->items[at].stack : 0;
}
