// SPDX-License-Identifier: Apache-2.0
// Reads and checks the table of debug offsets of CPython 3.14. remote_python.c calls it. The table says of itself that it changes from
// one minor version to the next, and is the same in all releases of one; before a release it may be anything. So it is 3.14's or none.
#include "inject/python_offsets.h"

#include <stdio.h>
#include <string.h>

static const char COOKIE[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
static const uint64_t INTERPRETER_MOST = 64 << 20,
                      THREAD_MOST = 1 << 20; // bytes; they have some 100 KiB and 1 KiB
enum { PATH_LEAST = 64 };

// By words. What is not used here has the name of its group only.
struct table {
    char cookie[8];
    uint64_t version, free_threaded;
    struct {
        uint64_t size, finalizing, interpreters;
    } runtime;
    struct {
        uint64_t size, id, next, threads, main_thread, others[11];
    } interpreter;
    struct {
        uint64_t size, previous, next, interpreter, others[5];
    } thread;
    uint64_t frame[8], code[11], object[2], type[4], tuple[3], list[3], set[4], dict[3], floating[2],
        integer[3], bytes[3], unicode[4], collector[2], generator[4], list_node[2];
    struct {
        uint64_t eval_breaker, support, enabled, pending, path, path_bytes;
    } debugger;
};
_Static_assert(sizeof(struct table) == PYTHON_OFFSETS_BYTES, "95 words");

// Whether a field of this size lies in a structure, where its type can be.
static bool fits_into(uint64_t offset, uint64_t bytes, uint64_t structure) {
    return offset % bytes == 0 && structure >= bytes && offset <= structure - bytes;
}

static bool check_version(const struct table *table, char *why) {
    const unsigned major = (unsigned)(table->version >> 24), minor = table->version >> 16 & 0xff;
    const bool is_release = (table->version & 0xf0) == 0xf0;
    if (table->version >> 32 || major != 3)
        snprintf(why, PYTHON_WHY_BYTES, "its interpreter's table of debug offsets is of no known version");
    else if (minor < 14)
        snprintf(why, PYTHON_WHY_BYTES, "Python 3.%u runs no script for another process; 3.14 and later do",
                 minor);
    else if (minor > 14)
        snprintf(why, PYTHON_WHY_BYTES, "the layout of Python 3.%u is not known", minor);
    else if (!is_release)
        snprintf(why, PYTHON_WHY_BYTES, "the layout of a Python 3.14 before its release is not known");
    else
        return true;
    return false;
}

static bool check_offsets(const struct table *table, uint64_t section) {
    const uint64_t interpreter = table->interpreter.size, thread = table->thread.size,
                   support = table->debugger.support, path = table->debugger.path,
                   path_bytes = table->debugger.path_bytes;
    if (interpreter > INTERPRETER_MOST || thread > THREAD_MOST || table->free_threaded > 1 ||
        table->runtime.interpreters < sizeof *table || !fits_into(table->runtime.interpreters, 8, section) ||
        !fits_into(table->interpreter.id, 8, interpreter) ||
        !fits_into(table->interpreter.next, 8, interpreter) ||
        !fits_into(table->interpreter.main_thread, 8, interpreter) ||
        !fits_into(table->debugger.enabled, 4, interpreter) ||
        !fits_into(table->thread.interpreter, 8, thread) ||
        !fits_into(table->debugger.eval_breaker, 8, thread))
        return false;
    // The sums cannot overflow: each part is checked before it is added.
    if (support > thread || table->debugger.pending > thread || path > thread || path_bytes < PATH_LEAST ||
        path_bytes > PYTHON_PATH_MOST || support + path + path_bytes > thread ||
        !fits_into(support + table->debugger.pending, 4, thread))
        return false;
    // What is written: three places that do not overlap.
    const uint64_t breaker = table->debugger.eval_breaker, pending = support + table->debugger.pending,
                   begin = support + path, end = begin + path_bytes;
    return (breaker + 8 <= begin || breaker >= end) && (pending + 4 <= begin || pending >= end) &&
           (breaker + 8 <= pending || breaker >= pending + 4);
}

bool python_offsets_read(const void *bytes, size_t size, uint64_t section, struct python_offsets *out,
                         char why[PYTHON_WHY_BYTES]) {
    struct table table;
    if (size < sizeof table || section < sizeof table) {
        snprintf(why, PYTHON_WHY_BYTES, "its interpreter has no table of debug offsets that is whole");
        return false;
    }
    memcpy(&table, bytes, sizeof table);
    if (memcmp(table.cookie, COOKIE, sizeof COOKIE) != 0) {
        snprintf(why, PYTHON_WHY_BYTES,
                 "its Python is older than 3.13, and runs no script for another process; 3.14 and later do");
        return false;
    }
    if (!check_version(&table, why))
        return false;
    if (!check_offsets(&table, section)) {
        snprintf(why, PYTHON_WHY_BYTES, "the table of debug offsets of its Python has impossible values");
        return false;
    }
    *out = (struct python_offsets){.interpreters = table.runtime.interpreters,
                                   .id = table.interpreter.id,
                                   .next = table.interpreter.next,
                                   .main_thread = table.interpreter.main_thread,
                                   .enabled = table.debugger.enabled,
                                   .interpreter = table.thread.interpreter,
                                   .eval_breaker = table.debugger.eval_breaker,
                                   .pending = table.debugger.support + table.debugger.pending,
                                   .path = table.debugger.support + table.debugger.path,
                                   .path_bytes = table.debugger.path_bytes};
    return true;
}
