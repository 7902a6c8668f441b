// SPDX-License-Identifier: Apache-2.0
// Device memory: how much was alive when, what was never freed, what was freed twice; where blocks have addresses, how
// fragmented the free memory between them is; if an allocator reports its reserve, how much of that is unused. The data
// come from events of kind alloc and free, or PyTorch's instants named "[memory]", in fields of their own (Bytes below 0:
// freed). Memory: 40 bytes per allocation and per free, because a thread's events come late and order is needed to the ns.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/tally.h"
#include "base/array.h"
#include "base/table.h"
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
    X(MEMORY_KIND, "memKind", "")

enum memory_field {
#define FIELD_ENUM(NAME, name, other) FIELD_##NAME,
    MEMORY_FIELD_TABLE(FIELD_ENUM)
#undef FIELD_ENUM
        FIELD_LIMIT
};

// A field of the trace's own may come with more than one type, by what its values need.
enum { FORM_SIGNED, FORM_UNSIGNED, FORM_TEXT, FORMS };

// The location of memory: the process, and the device's number if the trace has it.
#define DEVICE_UNKNOWN UINT32_MAX

struct change {
    int64_t time;
    uint64_t place;  // process << 32 | device
    uint64_t object; // 0: unknown
    uint64_t bytes;
    uint32_t name;
    uint8_t freed, addressed; // its object is its address on the device
    uint8_t counted;          // `after` is known
    uint8_t unsized;          // `bytes` is not
    uint64_t after;           // alive in the place after the change, by a counter of the trace
};

// The count of an allocator, or of the agent of the process (live_bytes): it includes memory allocated before the trace.
struct allocator {
    uint64_t allocated, reserved; // when most was allocated first
    uint64_t most_reserved;
    int64_t at;
};

struct memory {
    struct change *changes;
    size_t count, capacity;
    struct tally places;
    struct allocator *allocators; // by number in `places`
    size_t allocator_count, allocator_capacity;
    uint32_t fields[FIELD_LIMIT][FORMS]; // 0: not there
    uint32_t fields_seen;
};

// What is alive in a place. Without objects it is unknown what is freed, and more may be than was allocated.
struct account {
    uint64_t allocations, unsized, frees, unknown_frees, double_frees; // `unsized`: allocations
    int64_t from; // changes before it happened before the window
    int64_t live, peak, peak_at;
    size_t peak_change;          // the change that made the peak
    int64_t counted, counted_at; // the maximum of a counter of the trace; below 0: no counter
    bool objects, addresses,
        seen; // `seen`: a change is in the window, or the state at its begin was evaluated
};

// ---- from events

// X(NAME): the fields of the vocabulary that say it.
#define MEMORY_KNOWN_TABLE(X) X(KIND) X(START) X(NAME) X(OPERATION) X(OBJECT) X(BYTES) X(LIVE_BYTES)

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
    return (uint64_t)process << 32 | (known && device < DEVICE_UNKNOWN ? device : DEVICE_UNKNOWN);
}

// An event of kind alloc or free. False when it is not about memory of a device.
static bool read_change(const struct views *views, const tsmith_dictionary *dictionary, uint32_t row,
                        uint32_t process, struct change *change) {
    uint64_t device = 0;
    bool known = get_field(views, row, FIELD_DEVICE, &device);
    if (tsmith_view_word(&views->known[AT_OPERATION], row) == TSMITH_OPERATION_SUB_BUFFER)
        return false; // owns no bytes
    change->object = tsmith_view_u64_or(&views->known[AT_OBJECT], row, 0);
    change->unsized = !tsmith_view_u64(&views->known[AT_BYTES], row, &change->bytes);
    change->addressed = known && change->object; // an API that names the device names the address, too
    change->place = place_of(process, known, device);
    // Of the process: of the place only where places are processes.
    change->counted = !known && tsmith_view_u64(&views->known[AT_LIVE_BYTES], row, &change->after);
    return !is_on_host(views, dictionary, row);
}

static bool note_allocator(struct memory *memory, const struct change *change, uint64_t allocated,
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
static bool read_instant(struct memory *memory, const struct views *views, uint32_t row, uint32_t process,
                         struct change *change, bool *failed) {
    uint64_t type, bytes, device = 0, reserved;
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
    if (change->counted && get_field(views, row, FIELD_RESERVED, &reserved))
        *failed |= !note_allocator(memory, change, change->after, reserved);
    return true;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct memory *memory = state;
    struct views views;
    const tsmith_track *track = tsmith_dictionary_track(dictionary, tsmith_batch_track(batch));
    uint32_t process = track ? track->process : 0;
    bool failed = false;
    if (tsmith_dictionary_dynamic_field_count(dictionary) != memory->fields_seen)
        learn_fields(memory, dictionary);
    find_views(memory, batch, &views);
    const uint8_t *kinds = tsmith_view_every(&views.known[AT_KIND]);
    const int64_t *starts = tsmith_view_every(&views.known[AT_START]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch) && !failed; row++) {
        const uint8_t kind = kinds[row];
        bool instant = kind == TSMITH_KIND_MARKER && memory->fields[FIELD_TYPE][FORM_SIGNED];
        if (kind != TSMITH_KIND_ALLOC && kind != TSMITH_KIND_FREE && !instant)
            continue;
        struct change change = {.time = starts[row],
                                .name = tsmith_view_id(&views.known[AT_NAME], row),
                                .freed = kind == TSMITH_KIND_FREE};
        if (window && change.time >= window->to)
            continue; // what was allocated before the window is alive in it
        if (instant && strcmp(tsmith_dictionary_string(dictionary, change.name).bytes, "[memory]") != 0)
            continue;
        if (!(instant ? read_instant(memory, &views, row, process, &change, &failed)
                      : read_change(&views, dictionary, row, process, &change)))
            continue;
        failed |= !ARRAY_RESERVE(memory->changes, memory->capacity, memory->count + 1);
        change.bytes = change.bytes > INT64_MAX ? INT64_MAX : change.bytes;
        if (!failed)
            memory->changes[memory->count++] = change;
    }
    return failed ? TSMITH_ERROR_NO_MEMORY : TSMITH_OK;
}

// By place and time; at one time frees come first.
static int by_time(const void *left, const void *right) {
    const struct change *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->freed != b->freed)
        return a->freed ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// ---- objects alive, by number

struct slot {
    uint64_t object;
    uint32_t change; // the allocation, TSMITH_INDEX_NONE once it is freed
};

struct slots {
    struct slot *items;
    size_t size; // a power of 2
};

static bool slots_make(struct slots *slots, size_t objects) {
    slots->size = table_capacity(objects);
    slots->items = calloc(slots->size, sizeof *slots->items);
    return slots->items;
}

static struct slot *find_slot(const struct slots *slots, uint64_t object) {
    return TABLE_SLOT(slots->items, slots->size, object * 0x9e3779b97f4a7c15u >> 20, slot,
                      !slot->object || slot->object == object);
}

static void account_counter(const struct change *change, struct account *account) {
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

static void account_free(const struct memory *memory, const struct change *change, struct slot *slot,
                         struct account *account) {
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

static void apply(const struct memory *memory, size_t index, const struct slots *slots,
                  struct account *account) {
    const struct change *change = &memory->changes[index];
    struct slot *slot = change->object ? find_slot(slots, change->object) : NULL;
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
    account->live = sweep_add(account->live, (int64_t)change->bytes);
    if (change->time >= account->from)
        account_peak(index, change->time, account);
    if (slot)
        *slot = (struct slot){change->object, (uint32_t)index};
}

// ---- the free memory between blocks

struct block {
    uint64_t from, to;
};

struct space {
    struct block *arena, *alive; // where blocks lay up to now; those that still do
    size_t arena_count, alive_count;
    uint64_t known, free, largest;
};

static int by_address(const void *left, const void *right) {
    const struct block *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static struct block block_of(const struct change *change) {
    uint64_t to;
    return (struct block){change->object,
                          __builtin_add_overflow(change->object, change->bytes, &to) ? UINT64_MAX : to};
}

// Sorted and joined where they touch: how many are left.
static size_t unite_blocks(struct block *blocks, size_t count) {
    size_t kept = 0;
    if (count)
        qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = 0; i < count; i++) {
        if (kept && blocks[i].from <= blocks[kept - 1].to) {
            if (blocks[i].to > blocks[kept - 1].to)
                blocks[kept - 1].to = blocks[i].to;
        } else {
            blocks[kept++] = blocks[i];
        }
    }
    return kept;
}

static void add_free(struct space *space, uint64_t from, uint64_t to) {
    if (from >= to)
        return;
    space->free += to - from;
    space->largest = to - from > space->largest ? to - from : space->largest;
}

// The part of the arena that no live block covers; every block is inside it.
static void measure_free(struct space *space) {
    size_t next = 0;
    for (size_t i = 0; i < space->arena_count; i++) {
        uint64_t at = space->arena[i].from, to = space->arena[i].to;
        space->known += to - at;
        for (; next < space->alive_count && space->alive[next].from < to; next++) {
            add_free(space, at, space->alive[next].from);
            at = space->alive[next].to;
        }
        add_free(space, at, to);
    }
}

// The space of changes [from, last], after the last. False when memory is exhausted.
static bool measure_space(const struct memory *memory, size_t from, size_t last, struct space *space) {
    struct account account = {0};
    struct slots slots;
    size_t room = last - from + 1;
    bool done = slots_make(&slots, room);
    *space = (struct space){.arena = malloc(room * sizeof *space->arena),
                            .alive = malloc(room * sizeof *space->alive)};
    done = done && space->arena && space->alive;
    for (size_t i = from; done && i <= last; i++) {
        apply(memory, i, &slots, &account);
        if (!memory->changes[i].freed && memory->changes[i].addressed && memory->changes[i].bytes)
            space->arena[space->arena_count++] = block_of(&memory->changes[i]);
    }
    for (size_t i = 0; done && i < slots.size; i++) {
        const struct slot *slot = &slots.items[i];
        if (slot->object && slot->change != TSMITH_INDEX_NONE && memory->changes[slot->change].addressed &&
            memory->changes[slot->change].bytes)
            space->alive[space->alive_count++] = block_of(&memory->changes[slot->change]);
    }
    if (done) {
        space->arena_count = unite_blocks(space->arena, space->arena_count);
        space->alive_count = unite_blocks(space->alive, space->alive_count);
        measure_free(space);
    }
    free(slots.items);
    free(space->arena);
    free(space->alive);
    return done;
}

// ---- the report

static const tsmith_report_column PROCESSES[] = {
    {"process", TSMITH_CELL_COUNT},     {"device", TSMITH_CELL_COUNT},
    {"allocations", TSMITH_CELL_COUNT}, {"frees", TSMITH_CELL_COUNT},
    {"peak", TSMITH_CELL_BYTES},        {"peak_at", TSMITH_CELL_TIME},
    {"live_at_end", TSMITH_CELL_BYTES}, {"never_freed", TSMITH_CELL_COUNT},
    {"freed_twice", TSMITH_CELL_COUNT}, {"freed_unknown", TSMITH_CELL_COUNT},
    {"counter", TSMITH_CELL_BYTES},     {"unsized", TSMITH_CELL_COUNT}};
static const tsmith_report_column SPACES[] = {
    {"process", TSMITH_CELL_COUNT},        {"device", TSMITH_CELL_COUNT},
    {"known", TSMITH_CELL_BYTES},          {"free", TSMITH_CELL_BYTES},
    {"largest_free", TSMITH_CELL_BYTES},   {"fragmentation", TSMITH_CELL_SHARE},
    {"peak_allocated", TSMITH_CELL_BYTES}, {"peak_reserved", TSMITH_CELL_BYTES},
    {"unused", TSMITH_CELL_BYTES},         {"unused_share", TSMITH_CELL_SHARE}};
static const tsmith_report_column LEAKS[] = {{"process", TSMITH_CELL_COUNT},
                                             {"size", TSMITH_CELL_BYTES},
                                             {"at", TSMITH_CELL_TIME},
                                             {"object", TSMITH_CELL_COUNT},
                                             {"call", TSMITH_CELL_TEXT}};

static int by_size(const void *left, const void *right) {
    const struct change *a = left, *b = right;
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

static void write_place(const struct tables *tables, struct report_table *table, uint64_t place) {
    write_process(tables->context, tables->report, table, place);
    if ((uint32_t)place == DEVICE_UNKNOWN)
        report_unknown(tables->report, table);
    else
        report_integer(tables->report, table, (uint32_t)place);
}

struct totals {
    int64_t leaked, peak;
    uint64_t leaks, twice, unknown, unsized;
    bool objects, sized;
    bool uncounted;       // no counter of this place covers memory allocated before the trace
    double worst;         // fragmentation
    struct change *alive; // copies of allocations never freed
    size_t alive_count, alive_capacity;
};

// NULL: it has no counter.
static const struct allocator *find_allocator(struct memory *memory, uint64_t place) {
    uint32_t number = tally_number(&memory->places, place);
    return number < memory->allocator_count ? &memory->allocators[number] : NULL;
}

static int64_t bytes_cell(uint64_t bytes) {
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

static bool write_space(struct memory *memory, size_t from, const struct account *account,
                        const struct tables *tables, struct totals *totals) {
    uint64_t place = memory->changes[from].place;
    const struct allocator *allocator = find_allocator(memory, place);
    struct report *report = tables->report;
    struct space space = {0};
    bool told = account->addresses && account->peak > 0;
    if (!told && !allocator)
        return true;
    if (told && !measure_space(memory, from, account->peak_change, &space))
        return false;
    write_place(tables, tables->spaces, place);
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
    write_place(tables, tables->processes, place);
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
}

// One place: changes [from, to).
static bool account_place(struct memory *memory, size_t from, size_t to, const struct tables *tables,
                          struct totals *totals) {
    struct account account = {.from = tables->context->window.from, .counted = -1};
    struct slots slots;
    size_t alive = 0;
    bool done = slots_make(&slots, to - from);
    for (size_t i = from; done && i < to; i++)
        apply(memory, i, &slots, &account);
    for (size_t i = 0; done && i < slots.size; i++) {
        if (!slots.items[i].object || slots.items[i].change == TSMITH_INDEX_NONE)
            continue;
        done = ARRAY_RESERVE(totals->alive, totals->alive_capacity, totals->alive_count + 1);
        if (done)
            totals->alive[totals->alive_count++] = memory->changes[slots.items[i].change];
        alive++;
    }
    free(slots.items);
    if (!done)
        return false;
    write_account(&account, tables, memory->changes[from].place, alive);
    totals->peak = sweep_add(totals->peak, account.counted > account.peak ? account.counted : account.peak);
    totals->uncounted |= account.counted < 0;
    totals->unknown += account.counted < 0 ? account.unknown_frees : 0;
    totals->unsized += account.counted < 0 ? account.unsized : 0;
    totals->sized |= account.counted >= 0 || account.unsized < account.allocations || !account.allocations;
    totals->leaked = sweep_add(totals->leaked, account.objects ? account.live : 0);
    totals->leaks += alive;
    totals->twice += account.double_frees;
    totals->objects |= account.objects;
    return write_space(memory, from, &account, tables, totals);
}

static void write_leaks(const struct analysis_context *context, struct report *report,
                        struct totals *totals) {
    struct report_table *table = REPORT_TABLE(
        report, "never_freed", "allocations that were alive when the trace ends, the largest first", LEAKS);
    if (totals->alive_count)
        qsort(totals->alive, totals->alive_count, sizeof *totals->alive, by_size);
    for (size_t i = 0; i < totals->alive_count; i++) {
        const struct change *change = &totals->alive[i];
        write_process(context, report, table, change->place);
        report_integer(report, table, (int64_t)change->bytes);
        report_integer(report, table, change->time - context->window.from);
        report_integer(report, table, (int64_t)change->object);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, change->name));
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
    bool done = memory->count < TSMITH_INDEX_NONE;
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
    if (memory->count)
        qsort(memory->changes, memory->count, sizeof *memory->changes, by_time);
    for (size_t from = 0, to; done && from < memory->count; from = to) {
        for (to = from + 1; to < memory->count && memory->changes[to].place == memory->changes[from].place;)
            to++;
        done = account_place(memory, from, to, &tables, &totals);
    }
    write_leaks(context, report, &totals);
    free(totals.alive);
    write_finding(memory, &totals, context->scope, report);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static void release(void *state) {
    struct memory *memory = state;
    free(memory->changes);
    free(memory->allocators);
    tally_finish(&memory->places);
}

const struct analysis_kind analysis_memory = {
    .name = "memory",
    .question = "How much device memory is used, and what leaks?",
    .needs = NEEDS_NOTHING,
    .state_size = sizeof(struct memory),
    .write = take_batch,
    .finish = finish,
    .release = release,
};
