// SPDX-License-Identifier: Apache-2.0
// Device memory: how much was alive when, what was never freed, what was freed twice; where blocks have addresses, how
// fragmented the free memory between them is; if an allocator reports its reserve, how much of that is unused. The data
// come from events of kind alloc and free, or PyTorch's instants named "[memory]", in fields of their own (Bytes below 0:
// freed). Memory: 88 bytes per allocation and per free, because a thread's events come late and order is needed to the ns.
#include <string.h>

#include "analyze/memory.h"
#include "analyze/memory_released.h"
#include "base/array.h"
#include "tracesmith/stacks.h"
#include "tracesmith/time.h"
#include "tracesmith/view.h"

// The fields with this data, by their names in the traces. X(NAME, "name", "its other name")
#define MEMORY_FIELD_TABLE(X)                                                                                \
    X(ADDRESS, "Addr", "")                                                                                   \
    X(BYTES, "Bytes", "")                                                                                    \
    X(TYPE, "Device Type", "")                                                                               \
    X(DEVICE, "Device Id", "deviceId")                                                                       \
    X(ALLOCATED, "Total Allocated", "")                                                                      \
    X(RESERVED, "Total Reserved", "")                                                                        \
    X(MEMORY_KIND, "memKind", "")                                                                            \
    X(SEGMENT_ALLOCATED, "Segment Allocated", "")                                                            \
    X(SEGMENT_REQUESTED, "Segment Requested", "")                                                            \
    X(SEGMENT_ACTIVE, "Segment Active", "")                                                                  \
    X(SEGMENT_LARGEST_FREE, "Segment Largest Free", "")                                                      \
    X(SEGMENT_BLOCKS, "Segment Blocks", "")                                                                  \
    X(BEFORE, "Before History", "")

enum memory_field {
#define FIELD_ENUM(NAME, name, other) FIELD_##NAME,
    MEMORY_FIELD_TABLE(FIELD_ENUM)
#undef FIELD_ENUM
        FIELD_LIMIT
};

// A field of the trace's own may come with more than one type, by what its values need.
enum { FORM_SIGNED, FORM_UNSIGNED, FORM_TEXT, FORMS };

// The count of an allocator, or of the agent of the process (live_bytes): it includes memory allocated before the trace.
struct allocator {
    uint64_t allocated, reserved; // when most was allocated first
    uint64_t most_reserved;
    int64_t at;
};

struct memory {
    struct memory_change *changes;
    size_t count, capacity;
    struct tally places;
    struct allocator *allocators; // by number in `places`
    size_t allocator_count, allocator_capacity;
    uint32_t fields[FIELD_LIMIT][FORMS]; // 0: not there
    uint32_t fields_seen;
    struct memory_segment *segments;
    size_t segment_count, segment_capacity;
    struct memory_calls calls;
    struct memory_released released;
};

// What is alive in a place. Without objects it is unknown what is freed, and more may be than was allocated.
struct account {
    uint64_t allocations, unsized, frees, unknown_frees, double_frees; // `unsized`: allocations
    uint64_t before;      // allocations that are older than the recording
    int64_t before_bytes; // theirs
    int64_t from;         // changes before it happened before the window
    int64_t live, peak, peak_at;
    size_t peak_change;          // the change that made the peak
    int64_t counted, counted_at; // the maximum of a counter of the trace; below 0: no counter
    bool objects, addresses,
        seen; // `seen`: a change is in the window, or the state at its begin was evaluated
};

// ---- from events

// X(NAME): the fields of the vocabulary that say it.
#define MEMORY_KNOWN_TABLE(X)                                                                                \
    X(KIND)                                                                                                  \
    X(START)                                                                                                 \
    X(NAME)                                                                                                  \
    X(OPERATION) X(OBJECT) X(BYTES) X(LIVE_BYTES) X(STACK) X(ADDRESS) X(CATEGORY) X(CORRELATION) X(TEXT)

enum {
#define KNOWN_ENUM(NAME) AT_##NAME,
    MEMORY_KNOWN_TABLE(KNOWN_ENUM)
#undef KNOWN_ENUM
        KNOWN_LIMIT
};

// A batch, as far as it is about memory.
struct views {
    tsmith_view known[KNOWN_LIMIT];
    tsmith_view own[FIELD_LIMIT][FORMS];
};

static void find_views(const struct memory *memory, const tsmith_batch *batch, struct views *views) {
    static const tsmith_type FORM_TYPES[FORMS] = {
        [FORM_SIGNED] = TSMITH_TYPE_I64, [FORM_UNSIGNED] = TSMITH_TYPE_U64, [FORM_TEXT] = TSMITH_TYPE_STRING};
    static const uint32_t fields[KNOWN_LIMIT] = {
#define KNOWN_FIELD(NAME) TSMITH_FIELD_##NAME,
        MEMORY_KNOWN_TABLE(KNOWN_FIELD)
#undef KNOWN_FIELD
    };
    tsmith_view_batch(batch, fields, KNOWN_LIMIT, views->known);
    for (int field = 0; field < FIELD_LIMIT; field++)
        for (int form = 0; form < FORMS; form++)
            views->own[field][form] = tsmith_view_typed(batch, memory->fields[field][form], FORM_TYPES[form]);
}

static void learn_fields(struct memory *memory, const tsmith_dictionary *dictionary) {
    static const char *const NAMES[FIELD_LIMIT][2] = {
#define FIELD_NAMES(NAME, name, other) {name, other},
        MEMORY_FIELD_TABLE(FIELD_NAMES)
#undef FIELD_NAMES
    };
    uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = memory->fields_seen ? memory->fields_seen : 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        int form = field->type == TSMITH_TYPE_I64      ? FORM_SIGNED
                   : field->type == TSMITH_TYPE_U64    ? FORM_UNSIGNED
                   : field->type == TSMITH_TYPE_STRING ? FORM_TEXT
                                                       : FORMS;
        const char *name = tsmith_dictionary_string(dictionary, field->name).bytes;
        for (int i = 0; form < FORMS && i < FIELD_LIMIT; i++)
            if ((strcmp(name, NAMES[i][0]) == 0 || strcmp(name, NAMES[i][1]) == 0) && *name &&
                !memory->fields[i][form])
                memory->fields[i][form] = TSMITH_FIELD_DYNAMIC + id;
    }
    memory->fields_seen = count;
}

// A number of the trace's own; false when the event has none.
static bool get_field(const struct views *views, uint32_t row, enum memory_field field, uint64_t *out) {
    return tsmith_view_u64(&views->own[field][FORM_SIGNED], row, out) ||
           tsmith_view_u64(&views->own[field][FORM_UNSIGNED], row, out);
}

// Pageable and pinned memory is the host's (CUPTI's kinds of memory, by number or by name).
static bool is_on_host(const struct views *views, const tsmith_dictionary *dictionary, uint32_t row) {
    uint64_t kind;
    if (get_field(views, row, FIELD_MEMORY_KIND, &kind))
        return kind <= 1;
    const uint32_t text = tsmith_view_id(&views->own[FIELD_MEMORY_KIND][FORM_TEXT], row);
    const char *name = tsmith_dictionary_string(dictionary, text).bytes;
    return strcmp(name, "Pageable") == 0 || strcmp(name, "Pinned") == 0;
}

static uint64_t place_of(uint32_t process, bool known, uint64_t device) {
    return (uint64_t)process << 32 |
           (known && device < MEMORY_DEVICE_UNKNOWN ? device : MEMORY_DEVICE_UNKNOWN);
}

// An event of kind alloc or free. False when it is not about memory of a device.
static bool read_change(const struct views *views, const tsmith_dictionary *dictionary, uint32_t row,
                        uint32_t process, struct memory_change *change) {
    uint64_t device = 0;
    bool known = get_field(views, row, FIELD_DEVICE, &device);
    if (tsmith_view_word(&views->known[AT_OPERATION], row) == TSMITH_OPERATION_SUB_BUFFER)
        return false; // owns no bytes
    change->object = tsmith_view_u64_or(&views->known[AT_OBJECT], row, 0);
    change->unsized = !tsmith_view_u64(&views->known[AT_BYTES], row, &change->bytes);
    change->addressed = known && change->object; // an API that names the device names the address, too
    change->place = place_of(process, known, device);
    // Of the process: of the place only where places are processes.
    if (known)
        change->counted = get_field(views, row, FIELD_ALLOCATED, &change->after);
    else
        change->counted = tsmith_view_u64(&views->known[AT_LIVE_BYTES], row, &change->after) != 0;
    change->has_reserved = known && get_field(views, row, FIELD_RESERVED, &change->reserved);
    uint64_t early;
    change->early = get_field(views, row, FIELD_BEFORE, &early) && early;
    return !is_on_host(views, dictionary, row);
}

static bool note_allocator(struct memory *memory, const struct memory_change *change, uint64_t allocated,
                           uint64_t reserved) {
    uint32_t number = tally_number(&memory->places, change->place);
    if (number == UINT32_MAX ||
        !ARRAY_RESERVE(memory->allocators, memory->allocator_capacity, memory->places.count))
        return false;
    struct allocator *allocator = &memory->allocators[number];
    if (number == memory->allocator_count) {
        memory->allocator_count++;
        *allocator = (struct allocator){allocated, reserved, reserved, change->time};
    }
    if (reserved > allocator->most_reserved)
        allocator->most_reserved = reserved;
    if (allocated > allocator->allocated ||
        (allocated == allocator->allocated && change->time < allocator->at)) {
        allocator->allocated = allocated;
        allocator->reserved = reserved;
        allocator->at = change->time;
    }
    return true;
}

// PyTorch's "[memory]". False when it is not about memory of a device (type 0 is the host).
static bool read_instant(const struct views *views, uint32_t row, uint32_t process,
                         struct memory_change *change) {
    uint64_t type, bytes, device = 0;
    bool grows = tsmith_view_u64(&views->known[AT_BYTES], row, &bytes);
    if ((!grows && !get_field(views, row, FIELD_BYTES, &bytes)) ||
        !get_field(views, row, FIELD_TYPE, &type) || type == 0)
        return false;
    change->freed = !grows && (int64_t)bytes < 0;
    change->bytes = change->freed ? 0 - bytes : bytes;
    bool known = get_field(views, row, FIELD_DEVICE, &device);
    change->place = place_of(process, known, device);
    change->addressed = get_field(views, row, FIELD_ADDRESS, &change->object) && change->object;
    change->counted = get_field(views, row, FIELD_ALLOCATED, &change->after);
    change->has_reserved = get_field(views, row, FIELD_RESERVED, &change->reserved);
    return true;
}

// A segment of an allocator, as a snapshot has it. False when memory is exhausted.
static bool read_segment(struct memory *memory, const struct views *views, uint32_t row, uint32_t process,
                         uint32_t track) {
    struct memory_segment segment = {.track = track, .type = tsmith_view_id(&views->known[AT_CATEGORY], row)};
    uint64_t device = 0;
    if (!get_field(views, row, FIELD_SEGMENT_ALLOCATED, &segment.allocated) ||
        !tsmith_view_u64(&views->known[AT_BYTES], row, &segment.bytes))
        return true; // another tool's
    (void)get_field(views, row, FIELD_SEGMENT_REQUESTED, &segment.requested);
    (void)get_field(views, row, FIELD_SEGMENT_ACTIVE, &segment.active);
    (void)get_field(views, row, FIELD_SEGMENT_LARGEST_FREE, &segment.largest_free);
    (void)get_field(views, row, FIELD_SEGMENT_BLOCKS, &segment.blocks);
    segment.address = tsmith_view_u64_or(&views->known[AT_ADDRESS], row, 0);
    segment.place = place_of(process, get_field(views, row, FIELD_DEVICE, &device), device);
    struct memory_segment *place =
        ARRAY_PUSH(memory->segments, memory->segment_count, memory->segment_capacity);
    if (place)
        *place = segment;
    return place;
}

static bool read_released(struct memory *memory, const struct views *views, uint32_t row, uint32_t process,
                          const struct memory_change *change, bool use) {
    struct memory_released_event event = {.time = change->time,
                                          .process = process,
                                          .stack = change->stack,
                                          .text = tsmith_view_id(&views->known[AT_TEXT], row),
                                          .use = use};
    if (!tsmith_view_u64(&views->known[AT_OBJECT], row, &event.object))
        return true; // another tool's
    return memory_released_add(&memory->released, &event);
}

// An event that may be about memory. False when memory is exhausted.
static bool take_row(struct memory *memory, const struct views *views, const tsmith_dictionary *dictionary,
                     uint32_t row, struct memory_change *change, uint32_t process, uint8_t kind) {
    if (kind == TSMITH_KIND_API)
        return memory_calls_add(&memory->calls, dictionary, change, process);
    if (kind == TSMITH_KIND_MARKER) {
        const char *name = tsmith_dictionary_string(dictionary, change->name).bytes;
        bool use;
        if (memory_released_is(name, &use))
            return read_released(memory, views, row, process, change, use);
        if (strcmp(name, "segment") == 0)
            return read_segment(memory, views, row, process, change->track);
        if (strcmp(name, "[memory]") != 0 || !read_instant(views, row, process, change))
            return true;
    } else if (!read_change(views, dictionary, row, process, change)) {
        return true;
    }
    if (change->counted && change->has_reserved &&
        !note_allocator(memory, change, change->after, change->reserved))
        return false;
    if (!ARRAY_RESERVE(memory->changes, memory->capacity, memory->count + 1))
        return false;
    change->bytes = change->bytes > INT64_MAX ? INT64_MAX : change->bytes;
    memory->changes[memory->count++] = *change;
    return true;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct memory *memory = state;
    struct views views;
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(dictionary, number);
    bool failed = false;
    if (tsmith_dictionary_dynamic_field_count(dictionary) != memory->fields_seen)
        learn_fields(memory, dictionary);
    find_views(memory, batch, &views);
    const bool instants = memory->fields[FIELD_TYPE][FORM_SIGNED] ||
                          memory->fields[FIELD_SEGMENT_ALLOCATED][FORM_UNSIGNED] ||
                          views.known[AT_TEXT].field != 0;
    const uint8_t *kinds = tsmith_view_every(&views.known[AT_KIND]);
    const int64_t *starts = tsmith_view_every(&views.known[AT_START]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch) && !failed; row++) {
        const uint8_t kind = kinds[row];
        if (kind != TSMITH_KIND_ALLOC && kind != TSMITH_KIND_FREE && kind != TSMITH_KIND_API &&
            !(instants && kind == TSMITH_KIND_MARKER))
            continue;
        struct memory_change change = {.time = starts[row],
                                       .name = tsmith_view_id(&views.known[AT_NAME], row),
                                       .stack = tsmith_view_id(&views.known[AT_STACK], row),
                                       .track = number,
                                       .thread = number,
                                       .correlation =
                                           tsmith_view_u64_or(&views.known[AT_CORRELATION], row, 0),
                                       .freed = kind == TSMITH_KIND_FREE};
        if (window && change.time >= window->to)
            continue; // what was allocated before the window is alive in it
        failed = !take_row(memory, &views, dictionary, row, &change, track ? track->process : 0, kind);
    }
    return failed ? TSMITH_ERROR_NO_MEMORY : TSMITH_OK;
}

// By place and time; at one time frees come first.
static int by_time(const void *left, const void *right) {
    const struct memory_change *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->freed != b->freed)
        return a->freed ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// ---- what is alive

static void account_counter(const struct memory_change *change, struct account *account) {
    if (!change->counted || change->time < account->from || change->after > INT64_MAX ||
        (int64_t)change->after <= account->counted)
        return;
    account->counted = (int64_t)change->after;
    account->counted_at = change->time;
}

// What was alive when the window began counts, too.
static void account_peak(size_t index, int64_t time, struct account *account) {
    if (account->live <= account->peak)
        return;
    account->peak = account->live;
    account->peak_at = time;
    account->peak_change = index;
}

static void account_free(const struct memory *memory, const struct memory_change *change,
                         struct memory_slot *slot, struct account *account) {
    account->frees++;
    if (!change->object && !account->objects) {
        account->live = sweep_add(account->live, -(int64_t)change->bytes);
    } else if (!slot || !slot->object) {
        account->unknown_frees++;
    } else if (slot->change == TSMITH_INDEX_NONE) {
        account->double_frees++;
    } else {
        account->live = sweep_add(account->live, -(int64_t)memory->changes[slot->change].bytes);
        slot->change = TSMITH_INDEX_NONE;
    }
}

static void apply(const struct memory *memory, size_t index, const struct memory_slots *slots,
                  struct account *account) {
    const struct memory_change *change = &memory->changes[index];
    struct memory_slot *slot = change->object ? memory_slot(slots, change->object) : NULL;
    account->objects |= change->object != 0;
    account->addresses |= change->addressed;
    account_counter(change, account);
    if (change->time >= account->from && !account->seen) {
        account->seen = true;
        account_peak(index ? index - 1 : 0, account->from, account);
    }
    if (change->freed) {
        account_free(memory, change, slot, account);
        return;
    }
    account->allocations++;
    account->unsized += change->unsized;
    account->before += change->early;
    if (change->early)
        account->before_bytes = sweep_add(account->before_bytes, (int64_t)change->bytes);
    account->live = sweep_add(account->live, (int64_t)change->bytes);
    if (change->time >= account->from)
        account_peak(index, change->time, account);
    if (slot)
        *slot = (struct memory_slot){change->object, (uint32_t)index};
}

// ---- the report

static const tsmith_report_column PROCESSES[] = {
    {"process", TSMITH_CELL_COUNT},      {"device", TSMITH_CELL_COUNT},
    {"allocations", TSMITH_CELL_COUNT},  {"frees", TSMITH_CELL_COUNT},
    {"peak", TSMITH_CELL_BYTES},         {"peak_at", TSMITH_CELL_TIME},
    {"live_at_end", TSMITH_CELL_BYTES},  {"never_freed", TSMITH_CELL_COUNT},
    {"freed_twice", TSMITH_CELL_COUNT},  {"freed_unknown", TSMITH_CELL_COUNT},
    {"counter", TSMITH_CELL_BYTES},      {"unsized", TSMITH_CELL_COUNT},
    {"before_count", TSMITH_CELL_COUNT}, {"before", TSMITH_CELL_BYTES}};
static const tsmith_report_column SPACES[] = {
    {"process", TSMITH_CELL_COUNT},        {"device", TSMITH_CELL_COUNT},
    {"known", TSMITH_CELL_BYTES},          {"free", TSMITH_CELL_BYTES},
    {"largest_free", TSMITH_CELL_BYTES},   {"fragmentation", TSMITH_CELL_SHARE},
    {"peak_allocated", TSMITH_CELL_BYTES}, {"peak_reserved", TSMITH_CELL_BYTES},
    {"unused", TSMITH_CELL_BYTES},         {"unused_share", TSMITH_CELL_SHARE}};
static const tsmith_report_column LEAKS[] = {{"process", TSMITH_CELL_COUNT}, {"size", TSMITH_CELL_BYTES},
                                             {"at", TSMITH_CELL_TIME},       {"object", TSMITH_CELL_COUNT},
                                             {"call", TSMITH_CELL_TEXT},     {"stack", TSMITH_CELL_TEXT}};
static const tsmith_report_column TWICE[] = {{"process", TSMITH_CELL_COUNT},
                                             {"at", TSMITH_CELL_TIME},
                                             {"object", TSMITH_CELL_COUNT},
                                             {"call", TSMITH_CELL_TEXT},
                                             {"stack", TSMITH_CELL_TEXT}};

static int by_size(const void *left, const void *right) {
    const struct memory_change *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return by_time(left, right);
}

struct tables {
    const struct analysis_context *context;
    struct report *report;
    struct report_table *processes, *spaces;
};

static void write_process(const struct analysis_context *context, struct report *report,
                          struct report_table *table, uint64_t place) {
    const tsmith_process *entry = tsmith_dictionary_process(context->dictionary, (uint32_t)(place >> 32));
    if (entry)
        report_integer(report, table, (int64_t)entry->pid);
    else
        report_unknown(report, table);
}

void memory_write_place(const struct analysis_context *context, struct report *report,
                        struct report_table *table, uint64_t place) {
    write_process(context, report, table, place);
    if ((uint32_t)place == MEMORY_DEVICE_UNKNOWN)
        report_unknown(report, table);
    else
        report_integer(report, table, (uint32_t)place);
}

struct totals {
    int64_t leaked, peak;
    uint64_t leaks, twice, unknown, unsized;
    bool objects, sized;
    bool uncounted;              // no counter of this place covers memory allocated before the trace
    double worst;                // fragmentation
    struct memory_change *alive; // copies of allocations never freed
    size_t alive_count, alive_capacity;
    struct memory_change *again; // copies of frees of what was freed
    size_t again_count, again_capacity;
    uint64_t before;
    int64_t before_bytes;
    struct memory_sites sites;
    struct memory_times times;
};

// NULL: it has no counter.
static const struct allocator *find_allocator(struct memory *memory, uint64_t place) {
    uint32_t number = tally_number(&memory->places, place);
    return number < memory->allocator_count ? &memory->allocators[number] : NULL;
}

static int64_t bytes_cell(uint64_t bytes) {
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static bool write_space(struct memory *memory, const struct memory_place *of, const struct account *account,
                        const struct tables *tables, struct totals *totals) {
    const uint64_t place = of->changes[0].place;
    const struct allocator *allocator = find_allocator(memory, place);
    struct report *report = tables->report;
    struct memory_space space = {0};
    bool told = account->addresses && account->peak > 0;
    if (!told && !allocator)
        return true;
    if (told && !memory_space_measure(of, &space))
        return false;
    memory_write_place(tables->context, report, tables->spaces, place);
    const uint64_t cells[] = {space.known, space.free, space.largest};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (told)
            report_integer(report, tables->spaces, bytes_cell(cells[i]));
        else
            report_unknown(report, tables->spaces);
    report_share(report, tables->spaces, bytes_cell(space.free - space.largest), bytes_cell(space.free));
    if (space.free && 1 - (double)space.largest / (double)space.free > totals->worst)
        totals->worst = 1 - (double)space.largest / (double)space.free;
    if (allocator) {
        uint64_t unused =
            allocator->reserved > allocator->allocated ? allocator->reserved - allocator->allocated : 0;
        report_integer(report, tables->spaces, bytes_cell(allocator->allocated));
        report_integer(report, tables->spaces, bytes_cell(allocator->most_reserved));
        report_integer(report, tables->spaces, bytes_cell(unused));
        report_share(report, tables->spaces, bytes_cell(unused), bytes_cell(allocator->reserved));
    } else {
        for (int i = 0; i < 4; i++)
            report_unknown(report, tables->spaces);
    }
    return true;
}

static void write_account(const struct account *account, const struct tables *tables, uint64_t place,
                          uint64_t alive) {
    struct report *report = tables->report;
    const bool counted = account->counted > account->peak;
    const int64_t peak = counted ? account->counted : account->peak,
                  at = counted ? account->counted_at : account->peak_at;
    const bool sized =
        account->counted >= 0 || account->unsized < account->allocations || !account->allocations;
    const int64_t cells[] = {(int64_t)account->allocations, (int64_t)account->frees, peak,
                             peak ? tsmith_time_subtract(at, tables->context->window.from) : 0,
                             account->live};
    const uint64_t about_objects[] = {alive, account->double_frees, account->unknown_frees};
    memory_write_place(tables->context, report, tables->processes, place);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (i < 2 || sized)
            report_integer(report, tables->processes, cells[i]);
        else
            report_unknown(report, tables->processes);
    for (size_t i = 0; i < sizeof about_objects / sizeof *about_objects; i++)
        if (account->objects)
            report_integer(report, tables->processes, (int64_t)about_objects[i]);
        else
            report_unknown(report, tables->processes);
    if (account->counted >= 0)
        report_integer(report, tables->processes, account->counted);
    else
        report_unknown(report, tables->processes);
    report_integer(report, tables->processes, (int64_t)account->unsized);
    if (account->before) { // no event says that there was nothing
        report_integer(report, tables->processes, (int64_t)account->before);
        report_integer(report, tables->processes, account->before_bytes);
    } else {
        report_unknown(report, tables->processes);
        report_unknown(report, tables->processes);
    }
}

// What was alive at the end, and what was freed twice. False when memory is exhausted.
static bool keep_objects(const struct memory *memory, size_t from, size_t to, struct account *account,
                         struct totals *totals, size_t *alive) {
    struct memory_slots slots;
    bool done = memory_slots_make(&slots, to - from);
    for (size_t i = from; done && i < to; i++) {
        const uint64_t twice = account->double_frees;
        apply(memory, i, &slots, account);
        if (account->double_frees == twice)
            continue;
        struct memory_change *again = ARRAY_PUSH(totals->again, totals->again_count, totals->again_capacity);
        done = again;
        if (again)
            *again = memory->changes[i];
    }
    for (size_t i = 0; done && i < slots.size; i++) {
        if (!slots.items[i].object || slots.items[i].change == TSMITH_INDEX_NONE)
            continue;
        struct memory_change *left = ARRAY_PUSH(totals->alive, totals->alive_count, totals->alive_capacity);
        done = left;
        if (left)
            *left = memory->changes[slots.items[i].change];
        (*alive)++;
    }
    free(slots.items);
    return done;
}

static void add_to_totals(const struct account *account, size_t alive, struct totals *totals) {
    totals->peak =
        sweep_add(totals->peak, account->counted > account->peak ? account->counted : account->peak);
    totals->uncounted |= account->counted < 0;
    totals->unknown += account->counted < 0 ? account->unknown_frees : 0;
    totals->unsized += account->counted < 0 ? account->unsized : 0;
    totals->sized |=
        account->counted >= 0 || account->unsized < account->allocations || !account->allocations;
    totals->leaked = sweep_add(totals->leaked, account->objects ? account->live : 0);
    totals->leaks += alive;
    totals->twice += account->double_frees;
    totals->objects |= account->objects;
    totals->before += account->before;
    totals->before_bytes = sweep_add(totals->before_bytes, account->before_bytes);
}

// One place: changes [from, to).
static bool account_place(struct memory *memory, size_t from, size_t to, const struct tables *tables,
                          struct totals *totals) {
    struct account account = {.from = tables->context->window.from, .counted = -1};
    size_t alive = 0;
    if (!keep_objects(memory, from, to, &account, totals, &alive))
        return false;
    write_account(&account, tables, memory->changes[from].place, alive);
    add_to_totals(&account, alive, totals);
    const struct memory_place place = {.context = tables->context,
                                       .changes = &memory->changes[from],
                                       .count = to - from,
                                       .peak_change = account.peak_change - from,
                                       .peak = account.peak,
                                       .objects = account.objects,
                                       .sized =
                                           account.unsized < account.allocations || !account.allocations};
    return write_space(memory, &place, &account, tables, totals) &&
           memory_sites_add(&totals->sites, &place) &&
           memory_times_add(&totals->times, &place, tables->report);
}

static void write_object(const struct analysis_context *context, struct report *report,
                         struct report_table *table, struct totals *totals,
                         const struct memory_change *change) {
    report_integer(report, table, (int64_t)change->object);
    report_text(report, table, tsmith_dictionary_string(context->dictionary, change->name));
    memory_write_stack(&totals->sites, context, report, table, change->stack);
}

static void write_leaks(const struct analysis_context *context, struct report *report,
                        struct totals *totals) {
    struct report_table *table = REPORT_TABLE(
        report, "never_freed", "allocations that were alive when the trace ends, the largest first", LEAKS);
    if (totals->alive_count)
        qsort(totals->alive, totals->alive_count, sizeof *totals->alive, by_size);
    for (size_t i = 0; i < totals->alive_count; i++) {
        const struct memory_change *change = &totals->alive[i];
        write_process(context, report, table, change->place);
        report_integer(report, table, (int64_t)change->bytes);
        if (change->early)
            report_unknown(report, table);
        else
            report_integer(report, table, tsmith_time_subtract(change->time, context->window.from));
        write_object(context, report, table, totals, change);
    }
    table = REPORT_TABLE(report, "freed_twice", "frees of what had been freed before", TWICE);
    for (size_t i = 0; i < totals->again_count; i++) {
        write_process(context, report, table, totals->again[i].place);
        report_integer(report, table, tsmith_time_subtract(totals->again[i].time, context->window.from));
        write_object(context, report, table, totals, &totals->again[i]);
    }
}

static void write_finding(const struct memory *memory, const struct totals *totals, const char *scope,
                          struct report *report) {
    char peak[REPORT_TEXT], leaked[REPORT_TEXT], most[128];
    report_bytes(peak, (double)totals->peak);
    // Without a counter, memory allocated before the trace is unknown.
    if (totals->uncounted)
        (void)snprintf(most, sizeof most,
                       "Of what the %s sees allocated, at most %s of device memory were alive", scope, peak);
    else
        (void)snprintf(most, sizeof most, "At most %s of device memory were alive", peak);
    if (!memory->count)
        report_finding(report, "No allocation of device memory is in the %s.", scope);
    else if (!totals->sized)
        report_finding(report, "The %s does not state how much device memory was allocated.", scope);
    else if (!totals->objects)
        report_finding(report, "%s; the %s does not state which were freed.", most, scope);
    else
        report_finding(report, "%s; %llu object%s (%s) not freed before the %s ends, %llu freed twice.", most,
                       (unsigned long long)totals->leaks, report_plural(totals->leaks),
                       report_bytes(leaked, (double)totals->leaked), scope,
                       (unsigned long long)totals->twice);
    if (totals->before)
        report_note(report, "%llu object%s (%s) of it had been allocated before the recording began.",
                    (unsigned long long)totals->before, report_plural(totals->before),
                    report_bytes(leaked, (double)totals->before_bytes));
    if (totals->unknown)
        report_note(
            report,
            "%llu call%s freed memory that was allocated before the %s: more was alive than the %s shows.",
            (unsigned long long)totals->unknown, report_plural(totals->unknown), scope, scope);
    if (totals->unsized)
        report_note(report, "%llu allocation%s no size: more was alive.", (unsigned long long)totals->unsized,
                    totals->unsized == 1 ? " has" : "s have");
    if (totals->twice && (report->public.lost || report->public.missing))
        report_note(report,
                    "Events were lost: an allocation between two frees of one object may be among them.");
    if (totals->worst > 0)
        report_note(report,
                    "When most was alive, %.1f%% of the free memory between blocks was outside of its "
                    "largest piece.",
                    100 * totals->worst);
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct memory *memory = state;
    struct totals totals = {0};
    bool done = memory->count < TSMITH_INDEX_NONE &&
                tsmith_stack_names_create(context->dictionary, &totals.sites.names) == TSMITH_OK;
    struct tables tables = {.context = context, .report = report};
    tables.processes =
        REPORT_TABLE(report, "processes",
                     "device memory by process (its pid) and device; freed_unknown was "
                     "allocated before the trace, counter "
                     "is the most that a counter of the trace tells, unsized are allocations without a size",
                     PROCESSES);
    tables.spaces = REPORT_TABLE(report, "fragmentation",
                                 "the free memory between blocks when most was alive, and the part of an "
                                 "allocator's reserve that is not allocated when most is",
                                 SPACES);
    if (done)
        tsmith_stack_names_hide_interpreter(totals.sites.names, context->hide_interpreter);
    memory_sites_begin(&totals.sites, report);
    memory_times_begin(&totals.times, report);
    memory_calls_join(&memory->calls, memory->changes, memory->count);
    if (memory->count)
        qsort(memory->changes, memory->count, sizeof *memory->changes, by_time);
    for (size_t from = 0, to; done && from < memory->count; from = to) {
        for (to = from + 1; to < memory->count && memory->changes[to].place == memory->changes[from].place;)
            to++;
        done = account_place(memory, from, to, &tables, &totals);
    }
    if (done) {
        write_leaks(context, report, &totals);
        memory_sites_write(&totals.sites, context, report);
        memory_phases_write(&totals.times, context, report);
        memory_segments_write(memory->segments, memory->segment_count, context, report);
        write_finding(memory, &totals, context->scope, report);
        memory_released_write(&memory->released, &totals.sites, context, report);
    }
    free(totals.alive);
    free(totals.again);
    memory_sites_finish(&totals.sites);
    memory_times_finish(&totals.times);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static void release(void *state) {
    struct memory *memory = state;
    free(memory->changes);
    free(memory->allocators);
    free(memory->segments);
    memory_calls_finish(&memory->calls);
    memory_released_finish(&memory->released);
    tally_finish(&memory->places);
}

const struct analysis_kind analysis_memory = {
    .name = "memory",
    .question = "How much device memory is used, and what leaks?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct memory),
    .write = take_batch,
    .finish = finish,
    .release = release,
    .reads_sums = true,
};
