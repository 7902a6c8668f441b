// SPDX-License-Identifier: Apache-2.0
// Reads the string table of an Nsight Systems export. The other files of this folder call it.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/nsys/nsys.h"

enum { KNOWN_MAX = 1 << 22, LABEL_TABLES_MAX = 64 };

// Whether the table finds a row by this column without reading all of it.
static bool is_key(struct nsys *nsys, const char *table) {
    sqlite3_stmt *select = nsys_select(nsys, "SELECT pk FROM pragma_table_info(%Q) WHERE name = 'id'", table);
    bool key = select && sqlite3_step(select) == SQLITE_ROW && sqlite3_column_int(select, 0) == 1;
    sqlite3_finalize(select);
    return key;
}

static bool remember_text(struct nsys *nsys, struct nsys_texts *texts, int64_t id, uint32_t text) {
    if (id < 0 || id >= KNOWN_MAX)
        return false;
    const size_t had = texts->known_capacity;
    if (!ARRAY_RESERVE(texts->known, texts->known_capacity, (size_t)id + 1)) {
        nsys->failed = true;
        return false;
    }
    memset(texts->known + had, 0, (texts->known_capacity - had) * sizeof *texts->known);
    texts->known[id] = text + 1;
    return true;
}

static uint32_t intern_column(struct nsys *nsys, sqlite3_stmt *select, int column) {
    const void *bytes = sqlite3_column_blob(select, column);
    int length = sqlite3_column_bytes(select, column);
    return bytes && length > 0 ? tsmith_dictionary_intern(nsys->dictionary, bytes, (size_t)length) : 0;
}

void nsys_texts_open(struct nsys *nsys, struct nsys_texts *texts, const char *table, const char *column) {
    *texts = (struct nsys_texts){.table = table};
    if (!nsys_has_table(nsys, table))
        return;
    texts->select = nsys_select(nsys, "SELECT \"%w\" FROM \"%w\" WHERE id = ?1", column, table);
    if (!texts->select || is_key(nsys, table))
        return;
    // A copy made by hand: the key is lost, and finding an id would mean reading the table for each.
    sqlite3_stmt *all = nsys_select(nsys, "SELECT id, \"%w\" FROM \"%w\"", column, table);
    while (all && sqlite3_step(all) == SQLITE_ROW)
        if (sqlite3_column_type(all, 0) == SQLITE_INTEGER && !nsys->failed)
            (void)remember_text(nsys, texts, sqlite3_column_int64(all, 0), intern_column(nsys, all, 1));
    sqlite3_finalize(all);
    sqlite3_finalize(texts->select);
    texts->select = NULL;
}

void nsys_texts_finish(struct nsys_texts *texts) {
    sqlite3_finalize(texts->select);
    free(texts->known);
    *texts = (struct nsys_texts){0};
}

bool nsys_text(struct nsys *nsys, struct nsys_texts *texts, int64_t id, uint32_t *out) {
    if (id >= 0 && (uint64_t)id < texts->known_capacity && texts->known[id]) {
        *out = texts->known[id] - 1;
        return true;
    }
    if (!texts->select)
        return false;
    (void)sqlite3_bind_int64(texts->select, 1, id);
    bool found =
        sqlite3_step(texts->select) == SQLITE_ROW && sqlite3_column_type(texts->select, 0) != SQLITE_NULL;
    if (found) {
        *out = intern_column(nsys, texts->select, 0);
        (void)remember_text(nsys, texts, id, *out);
    }
    (void)sqlite3_reset(texts->select);
    return found;
}

struct nsys_texts *nsys_labels(struct nsys *nsys, const char *table) {
    if (!nsys->labels)
        nsys->labels = calloc(LABEL_TABLES_MAX, sizeof *nsys->labels);
    for (size_t i = 0; nsys->labels && i < nsys->label_count; i++)
        if (strcmp(nsys->labels[i].table, table) == 0)
            return &nsys->labels[i];
    if (!nsys->labels || nsys->label_count == LABEL_TABLES_MAX) {
        nsys->failed = true;
        return NULL;
    }
    struct nsys_texts *texts = &nsys->labels[nsys->label_count++];
    nsys_texts_open(nsys, texts, table, "label");
    if (!texts->select && !texts->known)
        nsys_texts_open(nsys, texts, table, "name");
    return texts;
}
