// SPDX-License-Identifier: Apache-2.0
// Names for the frames of a dictionary. Frames are taken module by module, in the order of their addresses, so that the
// tables of one module are in memory at a time; a name is taken apart and looked up once per module.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/table.h"
#include "demangle/demangle.h"
#include "symbols/symbols.h"
#include "symbols/vdso.h"
#include "tracesmith/stacks.h"

enum { FIRST_SLOTS = 1024 };

// A frame to be named, with the data for sorting: frames of one file are adjacent.
struct wanted {
    uint32_t path, build_id, generated;
    uint32_t frame;
    uint64_t address;
};

// From a string of a module's tables to its number in the dictionary.
struct interned_text {
    const char *text; // NULL: empty
    uint32_t id;
    bool demangled;
};

struct symbolizing {
    tsmith_dictionary *dictionary;
    struct wanted *wanted;
    size_t count, capacity;
    struct interned_text *interned;
    size_t interned_slots, interned_count;
    bool live, failed;
    tsmith_symbolize_counts counts;
    char name[DEMANGLE_MAX];
};

// ---- strings

static uint64_t hash_of(const char *text) {
    const uint64_t hash = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint32_t string_of(struct symbolizing *work, const char *text, bool is_function) {
    if (!text)
        return 0;
    if (!TABLE_ROOM(work->interned, work->interned_slots, work->interned_count, FIRST_SLOTS, slot, slot->text,
                    hash_of(slot->text))) {
        work->failed = true;
        return 0;
    }
    struct interned_text *found =
        TABLE_SLOT(work->interned, work->interned_slots, hash_of(text), slot,
                   !slot->text || (slot->text == text && slot->demangled == is_function));
    if (!found->text) {
        size_t length = is_function ? demangle(text, work->name, sizeof work->name) : 0;
        *found = (struct interned_text){text, 0, is_function};
        found->id = length ? tsmith_dictionary_intern(work->dictionary, work->name, length)
                           : tsmith_dictionary_intern_cstr(work->dictionary, text);
        work->interned_count++;
    }
    return found->id;
}

// ---- which frames

// Marks the frames that have names already; NULL without memory.
static uint8_t *find_named(const tsmith_dictionary *dictionary) {
    uint32_t frames = tsmith_dictionary_frame_count(dictionary),
             symbols = tsmith_dictionary_symbol_count(dictionary);
    uint8_t *named = calloc(frames + (size_t)1, 1);
    for (uint32_t i = 1; named && i < symbols; i++) {
        uint32_t frame = tsmith_dictionary_symbol(dictionary, i)->frame;
        if (frame < frames)
            named[frame] = 1;
    }
    return named;
}

static bool collect(struct symbolizing *work) {
    uint32_t frames = tsmith_dictionary_frame_count(work->dictionary);
    uint8_t *named = find_named(work->dictionary);
    bool ok = named != NULL;
    for (uint32_t i = 1; ok && i < frames; i++) {
        const tsmith_frame *frame = tsmith_dictionary_frame(work->dictionary, i);
        const tsmith_module *module = tsmith_dictionary_module(work->dictionary, frame->module);
        if (named[i] || frame->flags & TSMITH_FRAME_PYTHON)
            continue;
        work->counts.frames++;
        if (!module || !module->path || module->flags & TSMITH_MODULE_KERNEL)
            continue;
        ok = ARRAY_RESERVE(work->wanted, work->capacity, work->count + 1);
        if (ok)
            work->wanted[work->count++] =
                (struct wanted){module->path, module->build_id,
                                (module->flags & TSMITH_MODULE_GENERATED) != 0, i, frame->address};
    }
    free(named);
    return ok;
}

static bool same_file(const struct wanted *a, const struct wanted *b) {
    return a->path == b->path && a->build_id == b->build_id && a->generated == b->generated;
}

static int compare(const void *left, const void *right) {
    const struct wanted *a = left, *b = right;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    if (a->build_id != b->build_id)
        return a->build_id < b->build_id ? -1 : 1;
    if (a->generated != b->generated)
        return a->generated < b->generated ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

// ---- one module

// The kernel's code that every process has: this process's own copy, when it is the same.
static struct symbols *open_vdso(const char *build_id, enum symbols_state *state) {
    const int fd = vdso_open();
    struct symbols *symbols = NULL;
    *state = SYMBOLS_GONE;
    if (fd >= 0) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        symbols = symbols_open(path, build_id, state);
        (void)close(fd);
    }
    return symbols;
}

static struct symbols *open_module(struct symbolizing *work, const struct wanted *first,
                                   enum symbols_state *state) {
    const char *path = tsmith_dictionary_string(work->dictionary, first->path).bytes;
    const char *build_id =
        first->build_id ? tsmith_dictionary_string(work->dictionary, first->build_id).bytes : NULL;
    *state = SYMBOLS_GONE;
    if (!work->live && (first->generated || !build_id))
        return NULL; // it is not certain that the present file is the one that was loaded
    if (first->generated)
        return symbols_open_map(path, state);
    if (strcmp(path, "[vdso]") == 0)
        return open_vdso(build_id, state);
    return symbols_open(path, build_id, state);
}

static void name_frame(struct symbolizing *work, struct symbols *symbols, const struct wanted *wanted) {
    struct symbols_frame frames[SYMBOLS_DEPTH_MAX];
    size_t count = symbols_find(symbols, wanted->address, frames, SYMBOLS_DEPTH_MAX);
    bool named = false;
    for (size_t i = 0; i < count; i++) {
        const tsmith_symbol symbol = {.frame = wanted->frame,
                                      .function = string_of(work, frames[i].function, true),
                                      .file = string_of(work, frames[i].file, false),
                                      .line = frames[i].line};
        named |= symbol.function != 0;
        if (!tsmith_dictionary_add_symbol(work->dictionary, &symbol))
            work->failed = true;
    }
    work->counts.named += named;
}

static void name_module(struct symbolizing *work, const struct wanted *first, size_t count) {
    enum symbols_state state;
    struct symbols *symbols = open_module(work, first, &state);
    work->counts.modules++;
    for (size_t i = 0; symbols && i < count && !work->failed; i++)
        name_frame(work, symbols, &first[i]);
    work->counts.modules_gone += state == SYMBOLS_GONE;
    work->counts.modules_other += state == SYMBOLS_OTHER;
    work->counts.modules_damaged += state == SYMBOLS_DAMAGED || (symbols && symbols_damaged(symbols));
    symbols_close(symbols);
    // Its strings were freed: a later module's may have the same addresses.
    if (work->interned_count)
        memset(work->interned, 0, work->interned_slots * sizeof *work->interned);
    work->interned_count = 0;
}

// ---- all of them

// The trace itself records which frames have no name.
static void note_unnamed(struct symbolizing *work) {
    const struct {
        const char *key;
        uint64_t count;
    } facts[] = {{"symbols.frames_unnamed", work->counts.frames - work->counts.named},
                 {"symbols.modules_gone", work->counts.modules_gone},
                 {"symbols.modules_other", work->counts.modules_other},
                 {"symbols.modules_damaged", work->counts.modules_damaged}};
    char text[32];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)facts[i].count);
        if (facts[i].count)
            tsmith_dictionary_set_attribute(work->dictionary, facts[i].key, text);
    }
}

tsmith_status tsmith_dictionary_symbolize(tsmith_dictionary *dictionary,
                                          const tsmith_symbolize_options *options,
                                          tsmith_symbolize_counts *counts, tsmith_error *error) {
    tsmith_symbolize_options chosen;
    const tsmith_status taken = sized_take(tsmith_symbolize_options, options, &chosen, error);
    if (taken != TSMITH_OK)
        return taken;
    struct symbolizing *work = calloc(1, sizeof *work);
    if (!work)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while resolving function names");
    work->dictionary = dictionary;
    work->live = chosen.live != 0;
    work->failed = !collect(work);
    if (work->count)
        qsort(work->wanted, work->count, sizeof *work->wanted, compare);
    for (size_t i = 0, next; i < work->count && !work->failed; i = next) {
        for (next = i + 1; next < work->count && same_file(&work->wanted[i], &work->wanted[next]);)
            next++;
        name_module(work, &work->wanted[i], next - i);
    }
    note_unnamed(work);
    sized_give(tsmith_symbolize_counts, &work->counts, counts);
    bool failed = work->failed || tsmith_dictionary_failed(dictionary);
    free(work->wanted);
    free(work->interned);
    free(work);
    return failed ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while resolving function names")
                  : TSMITH_OK;
}

tsmith_status tsmith_source_symbolize(tsmith_source *source, tsmith_symbolize_counts *counts,
                                      tsmith_error *error) {
    return tsmith_dictionary_symbolize((tsmith_dictionary *)(uintptr_t)tsmith_source_dictionary(source), NULL,
                                       counts, error);
}

tsmith_status tsmith_trace_symbolize(tsmith_trace *trace, tsmith_symbolize_counts *counts,
                                     tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    tsmith_status status = tsmith_sbt_dictionary(tsmith_trace_sbt(trace), &dictionary, error);
    if (status != TSMITH_OK)
        return status;
    // The reader's own dictionary, which it created and no longer extends; only this function adds to it.
    return tsmith_dictionary_symbolize((tsmith_dictionary *)(uintptr_t)dictionary, NULL, counts, error);
}

// ---- at the end of a source

struct named_source {
    tsmith_source *source;
    tsmith_symbolize_options options;
    tsmith_symbolize_counts *counts;
    bool done;
};

static tsmith_status named_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct named_source *named = self;
    tsmith_status status = tsmith_source_next(named->source, out, error);
    if ((status != TSMITH_END && status != TSMITH_TRUNCATED) || named->done)
        return status;
    named->done = true;
    // Every source has a dictionary it can add to, and this one has ended. Names are worth less than the events: what
    // fails here leaves addresses.
    (void)tsmith_dictionary_symbolize((tsmith_dictionary *)(uintptr_t)tsmith_source_dictionary(named->source),
                                      &named->options, named->counts, NULL);
    return status;
}

static const tsmith_dictionary *named_dictionary(void *self) {
    return tsmith_source_dictionary(((struct named_source *)self)->source);
}

tsmith_status tsmith_symbolized_source_create(tsmith_source *source, const tsmith_symbolize_options *options,
                                              tsmith_symbolize_counts *counts, tsmith_source **out) {
    static const tsmith_source_ops ops = {named_next, named_dictionary, free};
    *out = NULL;
    struct named_source *named = calloc(1, sizeof *named);
    if (!named)
        return TSMITH_ERROR_NO_MEMORY;
    *named = (struct named_source){.source = source, .counts = counts};
    tsmith_status status = sized_take(tsmith_symbolize_options, options, &named->options, NULL);
    if (status == TSMITH_OK)
        status = tsmith_source_create(&ops, named, out);
    if (status != TSMITH_OK)
        free(named);
    return status;
}
