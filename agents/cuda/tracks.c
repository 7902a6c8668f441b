// SPDX-License-Identifier: Apache-2.0
// Makes the tracks of streams, threads and devices when a record needs them first (agentkit/track_table.h). Nothing calls CUPTI while
// a lock is held. Rules: agent.h.
#include "tracks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/device.h"
#include "agentkit/track_table.h"
#include "library.h"

enum { DEVICES = 64, CONTEXTS = 64, OF_STREAM = 1, OF_OTHER }; // kinds of keys

// Ids in the channel; 0: none yet. Written under the lock, once each; read without it.
static _Atomic uint32_t devices[DEVICES];
static _Atomic uint64_t described; // by CUPTI: a bit per device
static struct context {
    uint32_t context, stream, device; // `stream`: the default one; CUPTI_NONE: unknown
    bool green;
    uint32_t processors; // of a green context; 0: unknown
} contexts[CONTEXTS];    // the newest, round and round
static uint32_t context_count;
static struct cupti_device hidden[DEVICES]; // not visible to the program; kind 0: none
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
        devices[id] = add_device(id, hidden[id].kind ? &hidden[id] : NULL);
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

// CUPTI describes devices that CUDA_VISIBLE_DEVICES hides, too. They are not numbered as the program numbers devices.
static bool is_hidden(const struct cupti_device *record) {
    return cupti_has(CUPTI_11_6) && !vendor.partial && !record->visible;
}

// Used only if CUPTI describes no visible device with this number.
static void keep_hidden(const struct cupti_device *record) {
    pthread_mutex_lock(&lock);
    if (record->id < DEVICES && !hidden[record->id].kind)
        hidden[record->id] = *record;
    pthread_mutex_unlock(&lock);
}

void tracks_device(const struct cupti_device *record) {
    if (is_hidden(record)) {
        keep_hidden(record);
        return;
    }
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

static void add_context(struct context context) {
    pthread_mutex_lock(&lock);
    contexts[context_count++ % CONTEXTS] = context;
    pthread_mutex_unlock(&lock);
}

void tracks_context(const struct cupti_context *record) {
    const bool green = cupti_has(CUPTI_12_4) && record->green;
    const uint32_t processors = cupti_has(CUPTI_12_5) ? record->processors : 0;
    add_context((struct context){record->context, record->null_stream, record->device, green, processors});
    if (green)
        describe_green(record, processors);
    else
        describe_other_process(record);
}

void tracks_green_context(const struct cupti_green_context *record) {
    add_context((struct context){record->context, CUPTI_NONE, record->device, true, record->processors});
}

static bool is_default(uint32_t context, uint32_t stream) {
    for (uint32_t i = 0; i < CONTEXTS && i < context_count; i++)
        if (contexts[i].context == context && contexts[i].stream == stream)
            return true;
    return false;
}

// Of a key `device` is that and the context, `number` the stream, `more` the name of what is no stream.
static struct track_key key_of(uint32_t device, uint32_t context, uint32_t stream, const char *what) {
    return (struct track_key){(uint64_t)context << 32 | device, stream,
                              what ? channel_string_cstr(agent.channel, what) : 0,
                              what ? OF_OTHER : OF_STREAM};
}

static void name_stream(uint32_t context, uint32_t stream, char *out, size_t size) {
    char words[32];
    const int length =
        snprintf(out, size, "%sstream %u", is_default(context, stream) ? "default " : "", stream);
    for (uint32_t i = 0; length > 0 && i < CONTEXTS && i < context_count; i++)
        if (contexts[i].context == context && contexts[i].green)
            snprintf(out + length, size - (size_t)length, " of green context %u%s", context,
                     processors_in_words(contexts[i].processors, words));
}

static uint32_t make_track(const struct track_key *key) {
    const uint32_t device = (uint32_t)key->device, context = (uint32_t)(key->device >> 32),
                   stream = (uint32_t)key->number;
    char name[96];
    pthread_mutex_lock(&lock);
    name_stream(context, stream, name, sizeof name);
    const tsmith_track track = {
        .kind = key->kind == OF_OTHER ? TSMITH_TRACK_CUSTOM : TSMITH_TRACK_QUEUE,
        .flags = cupti.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = key->kind == OF_OTHER ? key->more : channel_string_cstr(agent.channel, name),
        .device = device_of(device),
        .context = context == CUPTI_NONE ? 0 : context,
        .queue = stream == CUPTI_NONE ? 0 : stream,
    };
    pthread_mutex_unlock(&lock);
    return channel_track(agent.channel, &track);
}

uint32_t tracks_stream(uint32_t device, uint32_t context, uint32_t stream, const char *what) {
    const struct track_key key = key_of(device, context, stream, what);
    return track_table_get(&key, make_track);
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
        const struct track_key key = key_of(device, context, stream, NULL);
        const uint32_t track =
            atomic_load_explicit(&devices[device], memory_order_relaxed) ? track_table_get(&key, NULL) : 0;
        if (track)
            return track;
    }
    const uint32_t device = tracks_device_of_context(context);
    return device == CUPTI_NONE ? 0 : tracks_stream(device, context, stream, NULL);
}
