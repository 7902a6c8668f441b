// SPDX-License-Identifier: Apache-2.0
// Entries and exits of functions become events per thread.
//
// Invariant: a thread's stack has the calls that were entered and not left, the outermost first. An exit ends the
// innermost call of its function; calls above that one never returned (longjmp, an exception, records that the
// recorder took back).
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/table.h"
#include "import/xray/xray.h"

enum { THREADS_MAX = 1 << 16, OPEN_MAX = 1 << 20 };

struct call {
    int32_t function;
    uint32_t cpu;
    uint64_t tsc;
    uint64_t arguments[XRAY_ARGUMENTS_MAX];
    uint32_t argument_count;
};

struct xray_thread {
    uint32_t pid, tid, track;
    struct call *calls;
    size_t depth, capacity;
};

// Dynamic fields. X(NAME, "name", TYPE)
#define FIELD_TABLE(X)                                                                                       \
    X(CPU, "cpu", U32)                                                                                       \
    X(EXIT_CPU, "exit_cpu", U32)                                                                             \
    X(FUNCTION, "func_id", I64)                                                                              \
    X(TAIL, "tail_exit", BOOL)                                                                               \
    X(EVENT_TYPE, "event_type", U32)

enum field {
#define FIELD_ENUM(NAME, name, type) FIELD_##NAME,
    FIELD_TABLE(FIELD_ENUM)
#undef FIELD_ENUM
};

static void set(struct xray *xray, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    xray->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void set_dynamic(struct xray *xray, tsmith_batch *batch, enum field which, uint64_t bits) {
    static const struct {
        const char *name;
        tsmith_type type;
    } fields[] = {
#define ROW(NAME, name, type) {name, TSMITH_TYPE_##type},
        FIELD_TABLE(ROW)
#undef ROW
    };
    uint32_t *field = &xray->fields[which];
    if (!*field)
        *field = tsmith_dictionary_field(xray->dictionary, fields[which].name, fields[which].type, "");
    xray->failed |= tsmith_batch_set_dynamic(batch, *field, fields[which].type, bits) != TSMITH_OK;
}

static uint32_t intern_text(struct xray *xray, const char *string) {
    return tsmith_dictionary_intern_cstr(xray->dictionary, string);
}

static uint32_t name_of(struct xray *xray, int32_t function) {
    char name[32];
    if (function > 0 && (uint32_t)function <= xray->map.count && xray->map.names[function])
        return xray->map.names[function];
    (void)snprintf(name, sizeof name, "func_id %d", function);
    return intern_text(xray, name);
}

// ---- threads

static uint64_t hash_of(uint32_t pid, uint32_t tid) {
    return table_hash((uint64_t)pid << 32 | tid);
}

static uint32_t process_of(struct xray *xray, uint32_t pid) {
    uint32_t count = tsmith_dictionary_process_count(xray->dictionary);
    for (uint32_t id = 1; id < count; id++)
        if (tsmith_dictionary_process(xray->dictionary, id)->pid == pid)
            return id;
    tsmith_process process = {.pid = pid};
    return tsmith_dictionary_add_process(xray->dictionary, &process);
}

struct xray_thread *xray_find_thread(struct xray *xray, uint32_t pid, uint32_t tid) {
    if (!TABLE_ROOM(xray->threads, xray->thread_slots, xray->thread_count, 64, slot, *slot,
                    hash_of((*slot)->pid, (*slot)->tid))) {
        xray->failed = true;
        return NULL;
    }
    struct xray_thread **found = TABLE_SLOT(xray->threads, xray->thread_slots, hash_of(pid, tid), slot,
                                            !*slot || ((*slot)->pid == pid && (*slot)->tid == tid));
    if (*found || xray->thread_count == THREADS_MAX)
        return *found;
    struct xray_thread *thread = calloc(1, sizeof *thread);
    // Before version 3 the log does not name the process.
    tsmith_track track = {
        .kind = TSMITH_TRACK_THREAD, .tid = tid, .process = pid ? process_of(xray, pid) : 0};
    if (thread)
        *thread =
            (struct xray_thread){pid, tid, tsmith_dictionary_add_track(xray->dictionary, &track), NULL, 0, 0};
    xray->failed |= !thread;
    xray->thread_count += thread != NULL;
    return *found = thread;
}

// ---- calls

// A call as an event; without `end` it never returned.
static void add_call(struct xray *xray, struct xray_thread *thread, const struct call *call,
                     const struct xray_record *end) {
    int64_t start = xray_time(xray, call->tsc), duration = end ? xray_time(xray, end->tsc) - start : 0;
    tsmith_batch *batch =
        gather_row(&xray->gather, thread->track, 0, TSMITH_KIND_HOST_FUNCTION, start, duration);
    if (!batch)
        return;
    set(xray, batch, TSMITH_FIELD_NAME, name_of(xray, call->function));
    set_dynamic(xray, batch, FIELD_FUNCTION, (uint64_t)(int64_t)call->function);
    set_dynamic(xray, batch, FIELD_CPU, call->cpu);
    for (uint32_t i = 0; i < call->argument_count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "arg%u", i + 1);
        uint32_t field = tsmith_dictionary_field(xray->dictionary, name, TSMITH_TYPE_U64, "");
        xray->failed |=
            tsmith_batch_set_dynamic(batch, field, TSMITH_TYPE_U64, call->arguments[i]) != TSMITH_OK;
    }
    if (!end) {
        xray->unmatched_entries++;
        return;
    }
    set(xray, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    if (end->cpu != call->cpu)
        set_dynamic(xray, batch, FIELD_EXIT_CPU, end->cpu);
    if (end->kind == XRAY_TAIL_EXIT)
        set_dynamic(xray, batch, FIELD_TAIL, 1);
}

static void enter(struct xray *xray, struct xray_thread *thread, const struct xray_record *record) {
    if (xray->open_calls == OPEN_MAX) {
        xray->too_many++;
        return;
    }
    if (!ARRAY_RESERVE(thread->calls, thread->capacity, thread->depth + 1)) {
        xray->failed = true;
        return;
    }
    thread->calls[thread->depth++] =
        (struct call){.function = record->function, .cpu = record->cpu, .tsc = record->tsc};
    xray->open_calls++;
}

static void leave(struct xray *xray, struct xray_thread *thread, const struct xray_record *record) {
    size_t depth = thread->depth;
    while (depth && thread->calls[depth - 1].function != record->function)
        depth--;
    if (!depth) {
        tsmith_batch *batch =
            gather_row(&xray->gather, thread->track, 1, TSMITH_KIND_MARKER, xray_time(xray, record->tsc), 0);
        xray->unmatched_exits++;
        if (!batch)
            return;
        set(xray, batch, TSMITH_FIELD_NAME, name_of(xray, record->function));
        set(xray, batch, TSMITH_FIELD_CATEGORY, intern_text(xray, "exit without entry"));
        set_dynamic(xray, batch, FIELD_FUNCTION, (uint64_t)(int64_t)record->function);
        set_dynamic(xray, batch, FIELD_CPU, record->cpu);
        return;
    }
    for (size_t i = thread->depth; i > depth; i--)
        add_call(xray, thread, &thread->calls[i - 1], NULL);
    add_call(xray, thread, &thread->calls[depth - 1], record);
    xray->open_calls -= thread->depth - (depth - 1);
    thread->depth = depth - 1;
}

void xray_add_record(struct xray *xray, struct xray_thread *thread, const struct xray_record *record) {
    xray->records++;
    if (record->kind == XRAY_ENTER || record->kind == XRAY_ENTER_ARGUMENT)
        enter(xray, thread, record);
    else
        leave(xray, thread, record);
}

void xray_add_argument(struct xray *xray, struct xray_thread *thread, uint64_t argument) {
    struct call *call = thread->depth ? &thread->calls[thread->depth - 1] : NULL;
    if (call && call->argument_count < XRAY_ARGUMENTS_MAX)
        call->arguments[call->argument_count++] = argument;
    else
        xray->bad_records++;
}

void xray_add_event(struct xray *xray, struct xray_thread *thread, uint64_t tsc, uint32_t cpu, int32_t type,
                    const void *bytes, size_t size) {
    tsmith_batch *batch =
        gather_row(&xray->gather, thread->track, 1, TSMITH_KIND_MARKER, xray_time(xray, tsc), 0);
    xray->records++;
    if (!batch)
        return;
    set(xray, batch, TSMITH_FIELD_NAME, intern_text(xray, type < 0 ? "custom event" : "typed event"));
    set(xray, batch, TSMITH_FIELD_TEXT, tsmith_dictionary_intern(xray->dictionary, bytes, size));
    set_dynamic(xray, batch, FIELD_CPU, cpu);
    if (type >= 0)
        set_dynamic(xray, batch, FIELD_EVENT_TYPE, (uint64_t)type);
}

void xray_end_calls(struct xray *xray) {
    for (size_t i = 0; i < xray->thread_slots; i++) {
        struct xray_thread *thread = xray->threads[i];
        for (; thread && thread->depth; thread->depth--)
            add_call(xray, thread, &thread->calls[thread->depth - 1], NULL);
        if (thread)
            free(thread->calls);
        free(thread);
    }
    free(xray->threads);
    xray->threads = NULL;
    xray->thread_slots = xray->thread_count = xray->open_calls = 0;
}
