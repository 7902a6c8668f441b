// SPDX-License-Identifier: Apache-2.0
// Where things happened: processes, threads, devices, streams, counters.
//
// A globalTid is hardware (8 bits), virtual machine (8), process (24), thread (24); a globalPid the same with no
// thread. A stream belongs to a context, a context to a device. Records of synchronization name other devices than
// the work of the same context does: the work is believed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/pci.h"
#include "base/table.h"
#include "import/nsys/nsys.h"

enum { PLACES_MAX = 1 << 17, PAIRS_MAX = 1 << 20, ORDINAL_MAX = 4096 };

enum place { PROCESS = 1, THREAD, CONTEXT, QUEUE, COUNTER, PROCESS_TRACK };

#define TID_MASK ((int64_t)0xffffff)
#define HAS(where, ROLE) ((where)->has >> NSYS_##ROLE & 1)
#define NO_STREAM UINT32_MAX // CUPTI: none in particular

static int64_t pid_of(int64_t global) {
    return global >> 24 & TID_MASK;
}

// ---- lists

static int compare(const void *a, const void *b) {
    const struct nsys_pair *one = a, *two = b;
    if (one->a != two->a)
        return one->a < two->a ? -1 : 1;
    if (one->b != two->b)
        return one->b < two->b ? -1 : 1;
    return (one->c > two->c) - (one->c < two->c);
}

static void add_pair(struct nsys *nsys, struct nsys_pairs *pairs, struct nsys_pair pair) {
    if (pairs->count == PAIRS_MAX)
        return;
    if (!ARRAY_RESERVE(pairs->items, pairs->capacity, pairs->count + 1)) {
        nsys->failed = true;
        return;
    }
    pairs->items[pairs->count++] = pair;
}

static void sort_pairs(struct nsys_pairs *pairs) {
    if (pairs->count)
        qsort(pairs->items, pairs->count, sizeof *pairs->items, compare);
}

const struct nsys_pair *nsys_find_pair(const struct nsys_pairs *pairs, int64_t a, int64_t b, int64_t c) {
    struct nsys_pair key = {.a = a, .b = b, .c = c};
    return pairs->count ? bsearch(&key, pairs->items, pairs->count, sizeof key, compare) : NULL;
}

// ---- tables that name things

static uint32_t column_text(struct nsys *nsys, sqlite3_stmt *select, int column) {
    const char *text = (const char *)sqlite3_column_text(select, column);
    int length = sqlite3_column_bytes(select, column);
    return text && length > 0 ? tsmith_dictionary_intern(nsys->dictionary, text, (size_t)length) : 0;
}

static uint32_t cstr(struct nsys *nsys, const char *text) {
    return tsmith_dictionary_intern_cstr(nsys->dictionary, text);
}

// Rows of (up to three numbers, text) into a list.
static void read_names(struct nsys *nsys, struct nsys_pairs *pairs, int numbers, const char *sql) {
    sqlite3_stmt *select = nsys_select(nsys, "%s", sql);
    while (select && sqlite3_step(select) == SQLITE_ROW) {
        int64_t key[3] = {0, 0, 0};
        for (int i = 0; i < numbers; i++)
            key[i] = sqlite3_column_int64(select, i);
        uint32_t text = column_text(nsys, select, numbers);
        if (text)
            add_pair(nsys, pairs, (struct nsys_pair){.a = key[0], .b = key[1], .c = key[2], .id = text});
    }
    sqlite3_finalize(select);
    sort_pairs(pairs);
}

static uint32_t environment(struct nsys *nsys, const char *name) {
    sqlite3_stmt *select =
        nsys_select(nsys, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = %Q LIMIT 1", name);
    uint32_t text = select && sqlite3_step(select) == SQLITE_ROW ? column_text(nsys, select, 0) : 0;
    sqlite3_finalize(select);
    return text;
}

static uint32_t add_device(struct nsys *nsys, int64_t number, tsmith_device device) {
    char key[48], text[24];
    device.vendor = cstr(nsys, "NVIDIA");
    device.api = cstr(nsys, "cuda");
    device.type = cstr(nsys, "gpu");
    device.driver = nsys->places.driver;
    device.number = number >= 0 && number < UINT32_MAX ? (uint32_t)number + 1 : 0;
    uint32_t id = tsmith_dictionary_add_device(nsys->dictionary, &device);
    (void)snprintf(key, sizeof key, "import.device.%" PRIu32 ".id", id);
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    tsmith_dictionary_set_attribute(nsys->dictionary, key, text);
    add_pair(nsys, &nsys->places.gpus, (struct nsys_pair){.a = number, .id = id});
    return id;
}

// The UUID as CUDA and NVML write it, else the PCI address; 0: the file has neither.
static uint32_t gpu_identity(struct nsys *nsys, const char *uuid, const char *bus) {
    char text[96];
    if (uuid && *uuid && strlen(uuid) < 64) {
        (void)snprintf(text, sizeof text, "%s%s",
                       strncmp(uuid, "GPU-", 4) == 0 || strncmp(uuid, "MIG-", 4) == 0 ? "" : "GPU-", uuid);
        return cstr(nsys, text);
    }
    pci_identity_of(bus ? bus : "", text);
    return cstr(nsys, text);
}

// The export does not state the unit of a bandwidth. Between these a number can only be B/s: GPUs have 10 GB/s and more, and as
// kB/s it would be 10 TB/s and more. Beyond them it is unknown.
static const int64_t BANDWIDTH_MIN = INT64_C(10000000000), BANDWIDTH_MAX = INT64_C(100000000000000);

// B/s, for the analysis `roofline`; with the name, because numbers of devices change when traces are merged.
static void keep_bandwidth(struct nsys *nsys, uint32_t device, int64_t bandwidth, const char *name) {
    char key[48], text[160];
    if (!device || bandwidth < BANDWIDTH_MIN || bandwidth > BANDWIDTH_MAX || !name)
        return;
    (void)snprintf(key, sizeof key, "import.device.%" PRIu32 ".memory_bandwidth", device);
    (void)snprintf(text, sizeof text, "%" PRId64 " B/s, %.100s", bandwidth, name);
    tsmith_dictionary_set_attribute(nsys->dictionary, key, text);
}

static void read_gpus(struct nsys *nsys) {
    static const char *const forms[] = {
        "SELECT id, name, totalMemory, smCount, clockRate, uuid, busLocation, memoryBandwidth FROM "
        "TARGET_INFO_GPU ORDER BY id",
        "SELECT id, name, totalMemory, smCount, clockRate, uuid, busLocation, NULL FROM TARGET_INFO_GPU "
        "ORDER BY id",
        "SELECT id, name, totalMemory, smCount, clockRate, NULL, busLocation, NULL FROM TARGET_INFO_GPU "
        "ORDER BY id",
        "SELECT id, name, totalMemory, smCount, clockRate, NULL, NULL, NULL FROM TARGET_INFO_GPU ORDER BY id",
        "SELECT id, name, NULL, NULL, NULL, NULL, NULL, NULL FROM TARGET_INFO_GPU ORDER BY id",
        "SELECT id, name, NULL, NULL, NULL, NULL, NULL, NULL FROM TARGET_INFO_CUDA_GPU ORDER BY id",
    };
    sqlite3_stmt *select = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !select; i++)
        select = nsys_select(nsys, "%s", forms[i]);
    for (int count = 0; select && count < ORDINAL_MAX && sqlite3_step(select) == SQLITE_ROW; count++) {
        int64_t memory = sqlite3_column_int64(select, 2), units = sqlite3_column_int64(select, 3),
                clock = sqlite3_column_int64(select, 4);
        const uint32_t identity = gpu_identity(nsys, (const char *)sqlite3_column_text(select, 5),
                                               (const char *)sqlite3_column_text(select, 6));
        const uint32_t device =
            add_device(nsys, sqlite3_column_int64(select, 0),
                       (tsmith_device){.name = column_text(nsys, select, 1),
                                       .memory_bytes = memory > 0 ? (uint64_t)memory : 0,
                                       .compute_units = units > 0 && units < UINT32_MAX ? (uint32_t)units : 0,
                                       .clock_mhz = clock > 0 && clock / 1000000 < UINT32_MAX
                                                        ? (uint32_t)(clock / 1000000)
                                                        : 0, // the file has Hz
                                       .identity = identity});
        keep_bandwidth(nsys, device, sqlite3_column_int64(select, 7),
                       (const char *)sqlite3_column_text(select, 1));
    }
    sqlite3_finalize(select);
    sort_pairs(&nsys->places.gpus);
    select = nsys_select(nsys, "SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE");
    while (select && sqlite3_step(select) == SQLITE_ROW)
        add_pair(nsys, &nsys->places.cuda_devices,
                 (struct nsys_pair){.a = sqlite3_column_int64(select, 0),
                                    .b = sqlite3_column_int64(select, 1),
                                    .c = 0,
                                    .id = (uint32_t)sqlite3_column_int64(select, 2)});
    sqlite3_finalize(select);
    sort_pairs(&nsys->places.cuda_devices);
}

// Which record of an event a synchronization is about. For the first million events; later ones have the numbers only.
static void read_event_records(struct nsys *nsys) {
    struct nsys_pairs *pairs = &nsys->places.event_records;
    sqlite3_stmt *select = nsys_select(nsys, "SELECT globalPid, eventSyncId, correlationId, streamId "
                                             "FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT WHERE eventSyncId > 0");
    while (select && pairs->count < PAIRS_MAX && sqlite3_step(select) == SQLITE_ROW) {
        int64_t correlation = sqlite3_column_int64(select, 2), stream = sqlite3_column_int64(select, 3);
        if (correlation > 0 && correlation <= UINT32_MAX && stream >= 0 && stream <= UINT32_MAX)
            add_pair(nsys, pairs,
                     (struct nsys_pair){.a = sqlite3_column_int64(select, 0),
                                        .b = sqlite3_column_int64(select, 1),
                                        .id = (uint32_t)correlation,
                                        .second = (uint32_t)stream});
    }
    sqlite3_finalize(select);
    sort_pairs(pairs);
}

static bool has_column(const struct nsys_table *table, const char *name) {
    for (int i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return true;
    return false;
}

// The events that name domains and categories are among all others.
static void read_nvtx_names(struct nsys *nsys) {
    enum { CATEGORY = 33, DOMAIN = 75 };
    const struct nsys_table *table = nsys->tables, *end = nsys->tables + nsys->table_count;
    while (table < end && strcmp(table->name, "NVTX_EVENTS") != 0)
        table++;
    if (table == end)
        return;
    bool registered = has_column(table, "textId") && nsys_has_table(nsys, "StringIds");
    sqlite3_stmt *select = nsys_select(
        nsys, "SELECT eventType, %s, %s, %s, coalesce(%s, %s) FROM NVTX_EVENTS WHERE eventType IN (%d, %d)",
        has_column(table, "globalTid") ? "globalTid >> 24" : "0",
        has_column(table, "domainId") ? "coalesce(domainId, 0)" : "0",
        has_column(table, "category") ? "category" : "0", has_column(table, "text") ? "text" : "NULL",
        registered ? "(SELECT value FROM StringIds WHERE id = textId)" : "NULL", CATEGORY, DOMAIN);
    while (select && sqlite3_step(select) == SQLITE_ROW) {
        bool domain = sqlite3_column_int(select, 0) == DOMAIN;
        uint32_t text = column_text(nsys, select, 4);
        if (text && (!domain || has_column(table, "domainId")))
            add_pair(nsys, domain ? &nsys->places.domains : &nsys->places.categories,
                     (struct nsys_pair){.a = sqlite3_column_int64(select, 1),
                                        .b = sqlite3_column_int64(select, 2),
                                        .c = domain ? 0 : sqlite3_column_int64(select, 3),
                                        .id = text});
    }
    sqlite3_finalize(select);
    sort_pairs(&nsys->places.domains);
    sort_pairs(&nsys->places.categories);
}

void nsys_places_open(struct nsys *nsys) {
    struct nsys_places *places = &nsys->places;
    places->driver = environment(nsys, "NvDriverVersion");
    places->host = environment(nsys, "Hostname");
    read_gpus(nsys);
    read_names(nsys, &places->process_names, 1, "SELECT globalPid, name FROM PROCESSES");
    read_names(nsys, &places->thread_names, 1,
               "SELECT globalTid, value FROM ThreadNames JOIN StringIds ON id = nameId");
    read_names(nsys, &places->metrics, 2, "SELECT typeId, metricId, metricName FROM TARGET_INFO_GPU_METRICS");
    if (!places->metrics.count)
        read_names(nsys, &places->metrics, 2,
                   "SELECT typeId, metricId, metricName FROM TARGET_INFO_SOC_METRICS");
    read_event_records(nsys);
    read_nvtx_names(nsys);
}

void nsys_places_finish(struct nsys_places *places) {
    free(places->slots);
    free(places->thread_names.items);
    free(places->process_names.items);
    free(places->gpus.items);
    free(places->cuda_devices.items);
    free(places->metrics.items);
    free(places->domains.items);
    free(places->categories.items);
    free(places->event_records.items);
}

// ---- places that were seen

// The place, with `track` 0 when it is new (until it is settled, the next new place may be given the same slot); NULL
// when there are too many.
static struct nsys_place *find_place(struct nsys *nsys, const int64_t key[5]) {
    struct nsys_places *places = &nsys->places;
    if (!TABLE_ROOM(places->slots, places->slot_count, places->used, 256, slot, slot->track,
                    hash_words(slot->key, 5))) {
        nsys->failed = true;
        return NULL;
    }
    struct nsys_place *place = TABLE_SLOT(places->slots, places->slot_count, hash_words(key, 5), slot,
                                          !slot->track || memcmp(slot->key, key, sizeof slot->key) == 0);
    if (!place->track) {
        if (places->used == PLACES_MAX)
            return NULL;
        memcpy(place->key, key, sizeof place->key);
    }
    return place;
}

static uint32_t settle_place(struct nsys *nsys, struct nsys_place *place, uint32_t id) {
    place->track = id ? id : UINT32_MAX; // 0 would be a free slot
    nsys->places.used++;
    nsys->failed |= id == 0;
    return id;
}

static uint32_t name_of(const struct nsys_pairs *pairs, int64_t a, int64_t b) {
    const struct nsys_pair *pair = nsys_find_pair(pairs, a, b, 0);
    return pair ? pair->id : 0;
}

static uint32_t process_of(struct nsys *nsys, int64_t global) {
    int64_t key[5] = {PROCESS, global & ~TID_MASK, 0, 0, 0};
    struct nsys_place *place = find_place(nsys, key);
    if (!place || place->track)
        return place ? place->track : 0;
    uint32_t name = name_of(&nsys->places.process_names, key[1], 0);
    if (!name) // the main thread is called like its program
        name = name_of(&nsys->places.thread_names, key[1] | pid_of(global), 0);
    tsmith_process process = {.pid = (uint64_t)pid_of(global), .name = name, .host = nsys->places.host};
    return settle_place(nsys, place, tsmith_dictionary_add_process(nsys->dictionary, &process));
}

// The GPU that a process calls by this number.
static uint32_t device_of(struct nsys *nsys, int64_t global, int64_t number) {
    struct nsys_places *places = &nsys->places;
    const struct nsys_pair *pair = nsys_find_pair(&places->cuda_devices, pid_of(global), number, 0);
    int64_t gpu = pair ? pair->id : number;
    if ((pair = nsys_find_pair(&places->gpus, gpu, 0, 0)))
        return pair->id;
    if (places->gpus.count >= ORDINAL_MAX)
        return 0;
    char name[40];
    (void)snprintf(name, sizeof name, "GPU %" PRId64, gpu);
    uint32_t id = add_device(nsys, gpu, (tsmith_device){.name = cstr(nsys, name)});
    sort_pairs(&places->gpus);
    return id;
}

static uint32_t thread_track(struct nsys *nsys, int64_t global) {
    int64_t key[5] = {THREAD, global, 0, 0, 0};
    struct nsys_place *place = find_place(nsys, key);
    if (!place || place->track)
        return place ? place->track : 0;
    tsmith_track track = {.kind = TSMITH_TRACK_THREAD,
                          .name = name_of(&nsys->places.thread_names, global, 0),
                          .tid = (uint64_t)(global & TID_MASK)};
    track.process = process_of(nsys, global);
    if (!(place = find_place(nsys, key)))
        return 0;
    return settle_place(nsys, place, tsmith_dictionary_add_track(nsys->dictionary, &track));
}

// The device of a context, remembered from its work; the device in a record of synchronization is used only if there
// is none.
static int64_t context_device(struct nsys *nsys, int64_t global, int64_t context, int64_t device, bool work) {
    int64_t key[5] = {CONTEXT, global, context, 0, 0};
    struct nsys_place *place = context < 0 ? NULL : find_place(nsys, key);
    if (!place)
        return device;
    if (!place->track && work) {
        place->device = device;
        (void)settle_place(nsys, place, 1);
    }
    return place->track && !work ? place->device : device;
}

static uint32_t add_queue(struct nsys *nsys, const struct nsys_where *where, int64_t global, int64_t context,
                          int64_t device) {
    char name[48];
    (void)snprintf(name, sizeof name, "stream %" PRId64, where->stream);
    tsmith_track track = {.kind = TSMITH_TRACK_QUEUE,
                          .name = cstr(nsys, name),
                          .process = global < 0 ? 0 : process_of(nsys, global),
                          .device = device < 0 ? 0 : device_of(nsys, global < 0 ? 0 : global, device),
                          .context = context < 0 ? 0 : (uint64_t)context,
                          .queue = (uint64_t)where->stream};
    return tsmith_dictionary_add_track(nsys->dictionary, &track);
}

static uint32_t queue_track(struct nsys *nsys, const struct nsys_where *where, bool work, uint64_t *told) {
    int64_t context = HAS(where, CONTEXT) ? where->context : -1;
    int64_t global = HAS(where, PID) ? where->pid & ~TID_MASK : -1;
    int64_t said = HAS(where, DEVICE) ? where->device : -1;
    int64_t device = context_device(nsys, global, context, said, work);
    int64_t key[5] = {QUEUE, global, context, where->stream, device};
    struct nsys_place *place = find_place(nsys, key);
    if (place && !place->track) {
        uint32_t id = add_queue(nsys, where, global, context, device);
        if ((place = find_place(nsys, key)))
            (void)settle_place(nsys, place, id);
    }
    *told =
        1u << NSYS_STREAM | 1u << NSYS_CONTEXT | 1u << NSYS_PID | (uint64_t)(said == device) << NSYS_DEVICE;
    return place ? place->track : 0;
}

static uint32_t counter_track(struct nsys *nsys, const struct nsys_where *where, const char *table) {
    int64_t key[5] = {COUNTER, where->metric_source, where->metric, strcmp(table, "GPU_METRICS") == 0, 0};
    struct nsys_place *place = find_place(nsys, key);
    if (!place || place->track)
        return place ? place->track : 0;
    uint32_t name = name_of(&nsys->places.metrics, where->metric_source, where->metric);
    char text[64];
    (void)snprintf(text, sizeof text, "metric %" PRId64, where->metric);
    tsmith_track track = {.kind = TSMITH_TRACK_COUNTER, .name = name ? name : cstr(nsys, text)};
    if (key[3]) // the low byte of the type is the GPU's number
        track.device = device_of(nsys, 0, where->metric_source & 0xff);
    return settle_place(nsys, place, tsmith_dictionary_add_track(nsys->dictionary, &track));
}

static uint32_t process_track(struct nsys *nsys, int64_t global) {
    int64_t key[5] = {PROCESS_TRACK, global & ~TID_MASK, 0, 0, 0};
    struct nsys_place *place = find_place(nsys, key);
    if (!place || place->track)
        return place ? place->track : 0;
    tsmith_track track = {.kind = TSMITH_TRACK_PROCESS};
    track.process = process_of(nsys, global);
    const tsmith_process *process = tsmith_dictionary_process(nsys->dictionary, track.process);
    track.name = process ? process->name : 0;
    if (!(place = find_place(nsys, key)))
        return 0;
    return settle_place(nsys, place, tsmith_dictionary_add_track(nsys->dictionary, &track));
}

uint32_t nsys_track(struct nsys *nsys, const struct nsys_table_rule *rule, const char *table,
                    const struct nsys_where *where, uint64_t *told) {
    unsigned flags = rule ? rule->flags : 0;
    bool stream = HAS(where, STREAM) && where->stream >= 0 && where->stream != NO_STREAM;
    *told = 0;
    if (flags & NSYS_ON_COUNTER && HAS(where, METRIC)) {
        *told = 1u << NSYS_METRIC | 1u << NSYS_METRIC_SOURCE;
        return counter_track(nsys, where, table);
    }
    if (flags & NSYS_ON_QUEUE && stream)
        return queue_track(nsys, where, rule->kind != TSMITH_KIND_SYNC, told);
    if (HAS(where, TID)) {
        *told = 1u << NSYS_TID;
        if (HAS(where, PID) && (where->pid & ~TID_MASK) == (where->tid & ~TID_MASK))
            *told |= 1u << NSYS_PID;
        return thread_track(nsys, where->tid);
    }
    if (HAS(where, PID)) {
        *told = 1u << NSYS_PID;
        return process_track(nsys, where->pid);
    }
    if (!nsys->places.other) {
        tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM, .name = cstr(nsys, "nsys")};
        nsys->places.other = tsmith_dictionary_add_track(nsys->dictionary, &track);
        nsys->failed |= nsys->places.other == 0;
    }
    return nsys->places.other;
}
