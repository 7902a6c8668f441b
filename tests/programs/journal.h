// SPDX-License-Identifier: Apache-2.0
//
// The journal of cl_every_command: one entry per enqueued command, in the order of the calls, and its
// printed form, the truth that a trace is compared with.

#ifndef TRACESMITH_TESTS_PROGRAMS_JOURNAL_H
#define TRACESMITH_TESTS_PROGRAMS_JOURNAL_H

#include "program.h"

enum { ENTRIES_MAX = 8192, WAITS_MAX = 2 };

// One enqueued command as the program knows it.
struct entry {
    const char *call;
    cl_command_type type;
    unsigned queue;
    bool blocking;
    bool can_block;
    bool want_event;
    cl_uint wait_count;
    unsigned waits[WAITS_MAX]; // indices into the journal
    cl_event wait_list[WAITS_MAX];
    cl_event event;
    bool has_bytes;
    size_t bytes;
    const char *kernel;
    cl_uint dims;
    const size_t *offset; // NULL where the program gave none
    const size_t *global;
    const size_t *local;
};

struct journal {
    unsigned queue;                        // the index of the current queue
    unsigned queue_first;                  // its first entry
    bool want_event, want_waits, blocking; // the current form of the calls
    unsigned count;
    struct entry entries[ENTRIES_MAX];
};

static const struct {
    cl_command_type type;
    const char *name;
} journal_commands[] = {
    {CL_COMMAND_NDRANGE_KERNEL, "ndrange_kernel"},
    {CL_COMMAND_TASK, "task"},
    {CL_COMMAND_NATIVE_KERNEL, "native_kernel"},
    {CL_COMMAND_READ_BUFFER, "read_buffer"},
    {CL_COMMAND_WRITE_BUFFER, "write_buffer"},
    {CL_COMMAND_COPY_BUFFER, "copy_buffer"},
    {CL_COMMAND_FILL_BUFFER, "fill_buffer"},
    {CL_COMMAND_READ_BUFFER_RECT, "read_buffer_rect"},
    {CL_COMMAND_WRITE_BUFFER_RECT, "write_buffer_rect"},
    {CL_COMMAND_COPY_BUFFER_RECT, "copy_buffer_rect"},
    {CL_COMMAND_READ_IMAGE, "read_image"},
    {CL_COMMAND_WRITE_IMAGE, "write_image"},
    {CL_COMMAND_COPY_IMAGE, "copy_image"},
    {CL_COMMAND_FILL_IMAGE, "fill_image"},
    {CL_COMMAND_COPY_IMAGE_TO_BUFFER, "copy_image_to_buffer"},
    {CL_COMMAND_COPY_BUFFER_TO_IMAGE, "copy_buffer_to_image"},
    {CL_COMMAND_MAP_BUFFER, "map_buffer"},
    {CL_COMMAND_MAP_IMAGE, "map_image"},
    {CL_COMMAND_UNMAP_MEM_OBJECT, "unmap_mem_object"},
    {CL_COMMAND_MIGRATE_MEM_OBJECTS, "migrate_mem_objects"},
    {CL_COMMAND_MARKER, "marker"},
    {CL_COMMAND_BARRIER, "barrier"},
    {CL_COMMAND_SVM_MAP, "svm_map"},
    {CL_COMMAND_SVM_UNMAP, "svm_unmap"},
    {CL_COMMAND_SVM_MEMCPY, "svm_memcpy"},
    {CL_COMMAND_SVM_MEMFILL, "svm_memfill"},
    {CL_COMMAND_SVM_MIGRATE_MEM, "svm_migrate_mem"},
};

// The wait list, count first, and the event argument of an enqueue call, as in the entry.
#define TAIL(entry)                                                                                          \
    (entry)->wait_count, (entry)->wait_count ? (entry)->wait_list : NULL,                                    \
        (entry)->want_event ? &(entry)->event : NULL

static inline struct entry *journal_add(struct journal *journal, const char *call, cl_command_type type) {
    EXPECT(journal->count < ENTRIES_MAX);
    struct entry *entry = &journal->entries[journal->count++];
    *entry = (struct entry){.call = call, .type = type, .queue = journal->queue};
    return entry;
}

// Adds the newest events of this queue to the entry's wait list.
static inline void journal_add_waits(struct journal *journal, struct entry *entry) {
    const unsigned self = (unsigned)(entry - journal->entries);
    for (unsigned i = self; i-- > journal->queue_first && entry->wait_count < WAITS_MAX;) {
        if (!journal->entries[i].event)
            continue;
        entry->waits[entry->wait_count] = i;
        entry->wait_list[entry->wait_count++] = journal->entries[i].event;
    }
}

// Begins a command in the current form: with an event or not, with a wait list or not.
static inline struct entry *journal_begin(struct journal *journal, const char *call, cl_command_type type) {
    struct entry *entry = journal_add(journal, call, type);
    entry->want_event = journal->want_event;
    if (journal->want_waits)
        journal_add_waits(journal, entry);
    return entry;
}

static inline struct entry *journal_begin_bytes(struct journal *journal, const char *call,
                                                cl_command_type type, size_t bytes) {
    struct entry *entry = journal_begin(journal, call, type);
    entry->has_bytes = true;
    entry->bytes = bytes;
    return entry;
}

// The same for a call that takes a blocking flag.
static inline struct entry *journal_begin_blocking(struct journal *journal, const char *call,
                                                   cl_command_type type, size_t bytes) {
    struct entry *entry = journal_begin_bytes(journal, call, type, bytes);
    entry->can_block = true;
    entry->blocking = journal->blocking;
    return entry;
}

static inline const char *journal_command_name(cl_command_type type) {
    for (size_t i = 0; i < COUNT_OF(journal_commands); i++)
        if (journal_commands[i].type == type)
            return journal_commands[i].name;
    return "unknown";
}

static inline void journal_print_sizes(const char *name, const size_t *sizes, cl_uint dims) {
    if (!sizes)
        return;
    printf(",\"%s\":[", name);
    for (cl_uint i = 0; i < dims; i++)
        printf("%s%zu", i ? "," : "", sizes[i]);
    printf("]");
}

// The five times, in the device's nanoseconds, where the program has the event and the queue profiles.
static inline void journal_print_times(const struct entry *entry) {
    static const cl_profiling_info which[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_ulong times[COUNT_OF(which)];
    if (!entry->event)
        return;
    for (size_t i = 0; i < COUNT_OF(which); i++)
        if (clGetEventProfilingInfo(entry->event, which[i], sizeof times[i], &times[i], NULL) != CL_SUCCESS)
            return;
    printf(",\"times\":[%llu,%llu,%llu,%llu]", (unsigned long long)times[0], (unsigned long long)times[1],
           (unsigned long long)times[2], (unsigned long long)times[3]);
}

static inline void journal_print_entry(const struct entry *entry, unsigned index) {
    printf("{\"index\":%u,\"call\":\"%s\",\"command\":\"%s\",\"queue\":%u", index, entry->call,
           journal_command_name(entry->type), entry->queue);
    if (entry->can_block)
        printf(",\"blocking\":%s", entry->blocking ? "true" : "false");
    printf(",\"event\":%s,\"waits\":[", entry->want_event ? "true" : "false");
    for (cl_uint i = 0; i < entry->wait_count; i++)
        printf("%s%u", i ? "," : "", entry->waits[i]);
    printf("]");
    if (entry->has_bytes)
        printf(",\"bytes\":%zu", entry->bytes);
    if (entry->kernel)
        printf(",\"kernel\":\"%s\"", entry->kernel);
    journal_print_sizes("global", entry->global, entry->dims);
    journal_print_sizes("local", entry->local, entry->dims);
    journal_print_sizes("offset", entry->offset, entry->dims);
    journal_print_times(entry);
    printf("}");
}

static inline void journal_print_counts(const struct journal *journal) {
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(journal_commands); i++) {
        unsigned count = 0;
        size_t bytes = 0;
        for (unsigned j = 0; j < journal->count; j++) {
            if (journal->entries[j].type != journal_commands[i].type)
                continue;
            count++;
            bytes += journal->entries[j].bytes;
        }
        if (count == 0)
            continue;
        printf("%s\"%s\":{\"count\":%u,\"bytes\":%zu}", comma, journal_commands[i].name, count, bytes);
        comma = ",";
    }
}

#endif
