// SPDX-License-Identifier: Apache-2.0
// Makes the tracks of streams, threads and devices when a record needs them first. Rules: agent.h. Tracks by key: they
// are only added, under a lock, and found without it; nothing calls CUPTI while the lock is held.
#include "tracks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/device.h"
#include "agentkit/map.h"
#include "library.h"

enum { PLACES = 12 << 10, LOG2_BUCKETS = 13, DEVICES = 64, CONTEXTS = 64 };

struct key {
    uint32_t device, context, stream;
    uint32_t what; // string id, or 0; THREAD: stream is a thread id
};
static const uint32_t THREAD = UINT32_MAX;

struct place {
    struct key key;
    uint32_t track;
};
static struct place places[PLACES]; // written before the map leads to them
static uint32_t used;
static struct map by_key; // from the hash of a key to the number of its place, from 1
// Ids in the channel; 0: none yet. Written under the lock, once each; read without it.
static _Atomic uint32_t devices[DEVICES];
static _Atomic uint64_t described; // by CUPTI: a bit per device
static struct {
    uint32_t context, stream, device;
    bool green;
    uint32_t processors; // of a green context; 0: unknown
} contexts[CONTEXTS];    // the newest, round and round
static uint32_t context_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same_key(const struct key *a, const struct key *b) {
    return a->device == b->device && a->context == b->context && a->stream == b->stream && a->what == b->what;
}

static const void *hash_of(const struct key *key) {
    uint64_t hash = key->device * UINT64_C(0x9e3779b97f4a7c15) + key->context;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + key->stream;
    hash = (hash ^ hash >> 31) * UINT64_C(0x94d049bb133111eb) + key->what;
    return (const void *)(uintptr_t)((hash ^ hash >> 30) | 2); // NOLINT: no address; 0 and 1 are no keys
}

// Without the lock. 0: not there yet.
static uint32_t find_track(const struct key *key) {
    const uint64_t number = map_get(&by_key, hash_of(key));
    return number && is_same_key(&places[number - 1].key, key) ? places[number - 1].track : 0;
}

bool tracks_init(void) {
    return map_init(&by_key, LOG2_BUCKETS);
}

// ---- devices. Under the lock.

// As NVML writes it: "GPU-" or "MIG-" and 16 bytes. "" where they are all 0.
static const char *identity(const struct cupti_device *record, char out[64]) {
    const bool mig = record && cupti_has(CUPTI_11_6) && record->mig;
    const uint8_t *bytes = record ? (mig ? record->mig_uuid : record->uuid) : NULL;
    static const uint8_t nothing[DEVICE_UUID_BYTES];
    if (!bytes || memcmp(bytes, nothing, sizeof nothing) == 0)
        return "";
    device_uuid_text(mig ? "MIG-" : "GPU-", bytes, out, 64);
    return out;
}

static uint32_t add_device(uint32_t id, const struct cupti_device *record) {
    char uuid[64];
    tsmith_device device = {
        .name = record && record->name ? channel_string_cstr(agent.channel, record->name) : 0,
        .vendor = channel_string_cstr(agent.channel, vendor.company),
        .api = channel_string_cstr(agent.channel, vendor.api),
        .type = channel_string_cstr(agent.channel, "gpu"),
        .number = id + 1,
    };
    if (record) {
        device.memory_bytes = record->memory_bytes;
        device.compute_units = record->multiprocessors;
        device.clock_mhz = record->clock_khz / 1000;
    }
    return channel_device_described(agent.channel, devices[id], &device, identity(record, uuid));
}

static uint32_t device_of(uint32_t id) {
    if (id >= DEVICES)
        return 0;
    if (!devices[id])
        devices[id] = add_device(id, NULL);
    return devices[id];
}

// What NVIDIA calls the GPUs of a compute capability (CUDA C++ Programming Guide). NULL: newer than this table, or none.
static const char *architecture(uint32_t major, uint32_t minor) {
    enum { ANY = UINT8_MAX };
    static const struct {
        uint8_t major, minor;
        const char *name;
    } names[] = {{3, ANY, "Kepler"},     {5, ANY, "Maxwell"},    {6, ANY, "Pascal"},    {7, 5, "Turing"},
                 {7, ANY, "Volta"},      {8, 9, "Ada"},          {8, ANY, "Ampere"},    {9, ANY, "Hopper"},
                 {10, ANY, "Blackwell"}, {11, ANY, "Blackwell"}, {12, ANY, "Blackwell"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].major == major && (names[i].minor == ANY || names[i].minor == minor))
            return names[i].name;
    return NULL;
}

static void describe(const struct cupti_device *record) {
    char key[32], text[512];
    const char *name = architecture(record->capability_major, record->capability_minor);
    snprintf(key, sizeof key, "device.%u", record->id);
    snprintf(text, sizeof text,
             "%s, compute %u.%u%s%s%s, %u SMs, %u MHz, %llu bytes, %llu kB/s, L2 %u bytes, %u copy engines, "
             "ECC %s%s",
             record->name ? record->name : "", record->capability_major, record->capability_minor,
             name ? " (" : "", name ? name : "", name ? ")" : "", record->multiprocessors,
             record->clock_khz / 1000, (unsigned long long)record->memory_bytes,
             (unsigned long long)record->memory_bandwidth, record->l2_bytes, record->copy_engines,
             record->ecc ? "on" : "off", cupti_has(CUPTI_11_6) && record->mig ? ", MIG" : "");
    vendor_attribute(key, text);
}

void tracks_device(const struct cupti_device *record) {
    pthread_mutex_lock(&lock);
    if (record->id < DEVICES && !(described >> record->id & 1)) {
        const uint32_t id = add_device(record->id, record);
        devices[record->id] = devices[record->id] ? devices[record->id] : id;
        described |= UINT64_C(1) << record->id;
    }
    pthread_mutex_unlock(&lock);
    if (record->id < DEVICES)
        describe(record);
}

bool tracks_described(void) {
    return atomic_load_explicit(&described, memory_order_relaxed) != 0;
}

// ---- tracks

// A green context is a part of its device: its streams have the track of the device, and the name of the context.
// " (16 SMs)"; "" where their number is unknown.
static const char *processors_in_words(uint32_t processors, char out[32]) {
    snprintf(out, 32, " (%u SMs)", processors);
    return processors ? out : "";
}

static void describe_green(const struct cupti_context *record, uint32_t processors) {
    char key[32], text[160], words[32];
    snprintf(key, sizeof key, "context.%u", record->context);
    snprintf(text, sizeof text, "green context%s of device %u, part of context %u",
             processors_in_words(processors, words), record->device, record->parent);
    vendor_attribute(key, text);
}

// A context may be of another process that uses the device.
static void describe_other_process(const struct cupti_context *record) {
    char key[32], text[96];
    if (!cupti_has(CUPTI_13_1) || !record->process || record->process == (uint64_t)getpid())
        return;
    snprintf(key, sizeof key, "context.%u", record->context);
    snprintf(text, sizeof text, "context of process %llu on device %u", (unsigned long long)record->process,
             record->device);
    vendor_attribute(key, text);
}

void tracks_context(const struct cupti_context *record) {
    const bool green = cupti_has(CUPTI_12_4) && record->green;
    const uint32_t processors = cupti_has(CUPTI_12_5) ? record->processors : 0;
    pthread_mutex_lock(&lock);
    const uint32_t at = context_count++ % CONTEXTS;
    contexts[at].context = record->context;
    contexts[at].stream = record->null_stream;
    contexts[at].device = record->device;
    contexts[at].green = green;
    contexts[at].processors = processors;
    pthread_mutex_unlock(&lock);
    if (green)
        describe_green(record, processors);
    else
        describe_other_process(record);
}

static bool is_default(uint32_t context, uint32_t stream) {
    for (uint32_t i = 0; i < CONTEXTS && i < context_count; i++)
        if (contexts[i].context == context && contexts[i].stream == stream)
            return true;
    return false;
}

static void name_stream(const struct key *key, char *out, size_t size) {
    char words[32];
    const int length = snprintf(out, size, "%sstream %u",
                                is_default(key->context, key->stream) ? "default " : "", key->stream);
    for (uint32_t i = 0; length > 0 && i < CONTEXTS && i < context_count; i++)
        if (contexts[i].context == key->context && contexts[i].green)
            snprintf(out + length, size - (size_t)length, " of green context %u%s", key->context,
                     processors_in_words(contexts[i].processors, words));
}

static uint32_t add_stream(const struct key *key, const char *what) {
    char name[96];
    if (what)
        snprintf(name, sizeof name, "%s", what);
    else
        name_stream(key, name, sizeof name);
    const tsmith_track track = {
        .kind = what ? TSMITH_TRACK_CUSTOM : TSMITH_TRACK_QUEUE,
        .flags = cupti.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = channel_string_cstr(agent.channel, name),
        .device = device_of(key->device),
        .context = key->context == CUPTI_NONE ? 0 : key->context,
        .queue = key->stream == CUPTI_NONE ? 0 : key->stream,
    };
    return channel_track(agent.channel, &track);
}

static uint32_t add_track(const struct key *key, const char *what) {
    pthread_mutex_lock(&lock);
    const void *hash = hash_of(key);
    uint32_t track = find_track(key);
    // Room first, so that no track is made in vain. Of two keys with one hash the second has no track.
    if (!track && used < PLACES && !map_get(&by_key, hash) && map_put(&by_key, hash, 0)) {
        track = key->what == THREAD ? channel_thread(agent.channel, key->stream) : add_stream(key, what);
        places[used] = (struct place){*key, track};
        if (track)
            map_put(&by_key, hash, ++used);
    }
    pthread_mutex_unlock(&lock);
    if (!track)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return track;
}

static uint32_t find_or_add(const struct key *key, const char *what) {
    const uint32_t track = find_track(key);
    return track ? track : add_track(key, what);
}

uint32_t tracks_stream(uint32_t device, uint32_t context, uint32_t stream, const char *what) {
    const struct key key = {device, context, stream, what ? channel_string_cstr(agent.channel, what) : 0};
    return find_or_add(&key, what);
}

uint32_t tracks_device_of_context(uint32_t context) {
    uint32_t device = CUPTI_NONE;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < CONTEXTS && i < context_count; i++)
        if (contexts[i].context == context)
            device = contexts[i].device;
    pthread_mutex_unlock(&lock);
    return device;
}

uint32_t tracks_stream_of_context(uint32_t context, uint32_t stream) {
    for (uint32_t device = 0; device < DEVICES; device++) {
        const struct key key = {device, context, stream, 0};
        const uint32_t track =
            atomic_load_explicit(&devices[device], memory_order_relaxed) ? find_track(&key) : 0;
        if (track)
            return track;
    }
    const uint32_t device = tracks_device_of_context(context);
    return device == CUPTI_NONE ? 0 : tracks_stream(device, context, stream, NULL);
}

uint32_t tracks_thread(uint32_t tid) {
    const struct key key = {0, 0, tid, THREAD};
    return find_or_add(&key, NULL);
}
