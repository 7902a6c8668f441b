// SPDX-License-Identifier: Apache-2.0
// The sampler of a recording: reads NVML at a rate and writes counters into the session, in a process of the collector's
// own (launch/sampler.h), so that nothing of it is in the program and a driver that hangs or crashes harms neither.
//
// Each counter of each device is a track. A query that a device does not support is made once. Rates of NVLink come
// from counters of bytes so far; PCIe throughput is measured by the driver over 20 ms that it waits, so it is queried
// once a second. A sample that would be a whole period late is skipped: samples are at their time stamps.
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/pci.h"
#include "library.h"
#include "wire/agent.h"
#include "wire/channel.h"
#include "wire/record_part.h"

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES_MAX = 64, TEXT_MAX = 256 };

// X(NAME, "name of the track", "unit")
#define COUNTERS(X)                                                                                          \
    X(POWER, "power", "W")                                                                                   \
    X(TEMPERATURE, "temperature", "C")                                                                       \
    X(CLOCK, "SM clock", "MHz")                                                                              \
    X(MEMORY_CLOCK, "memory clock", "MHz")                                                                   \
    X(MEMORY, "memory used", "bytes")                                                                        \
    X(BUSY, "GPU utilization", "%")                                                                          \
    X(MEMORY_BUSY, "memory utilization", "%")                                                                \
    X(NVLINK_SENT, "NVLink sent", "bytes/s")                                                                 \
    X(NVLINK_RECEIVED, "NVLink received", "bytes/s")                                                         \
    X(PCIE_SENT, "PCIe sent", "bytes/s")                                                                     \
    X(PCIE_RECEIVED, "PCIe received", "bytes/s")

enum counter {
#define COUNTER_ENUM(NAME, name, unit) COUNTER_##NAME,
    COUNTERS(COUNTER_ENUM)
#undef COUNTER_ENUM
        COUNTER_LIMIT
};

struct sampled {
    nvml_device handle;
    uint32_t tracks[COUNTER_LIMIT];
    bool cannot[COUNTER_LIMIT];
    uint64_t link_bytes[2], link_at[2]; // at the last sample
};

struct sampler {
    struct nvml_library nvml;
    struct channel *channel;
    bool tsc;
    uint16_t shape;
    uint32_t names[COUNTER_LIMIT];
    struct sampled devices[DEVICES_MAX];
    unsigned count;
};

#define COUNTER_WORDS(WORD)                                                                                  \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(name, TSMITH_FIELD_NAME, RECORD_STRING)                                                             \
    WORD(value, TSMITH_FIELD_VALUE, RECORD_VALUE) // record_double
RECORD_PART(counter_words, COUNTER_WORDS)
RECORD_PART_SHAPE(counter_words, COUNTER_WORDS)

static void write_counter(struct sampler *sampler, struct sampled *device, enum counter counter,
                          uint64_t tick, double value) {
    if (channel_armed(sampler->channel))
        RECORD_WRITE(channel_ring(sampler->channel), sampler->shape, device->tracks[counter], counter_words,
                     .start = tick, .name = sampler->names[counter], .value = record_double(value));
}

// A number that the device may not report: `result` is NVML's status.
static void sample(struct sampler *sampler, struct sampled *device, enum counter counter, int result,
                   double value) {
    if (result != NVML_SUCCESS)
        device->cannot[counter] = true;
    else
        write_counter(sampler, device, counter, clock_tick(sampler->tsc), value);
}

#define ASKED(device, counter, function) (!(device)->cannot[counter] && sampler->nvml.function)

static void sample_links(struct sampler *sampler, struct sampled *device) {
    static const unsigned fields[2] = {NVML_FIELD_NVLINK_SENT, NVML_FIELD_NVLINK_RECEIVED};
    for (int i = 0; i < 2; i++) {
        const enum counter counter = i ? COUNTER_NVLINK_RECEIVED : COUNTER_NVLINK_SENT;
        struct nvml_field field = {.field = fields[i], .scope = UINT32_MAX};
        if (!ASKED(device, counter, nvmlDeviceGetFieldValues))
            continue;
        const uint64_t now = (uint64_t)clock_trace_now();
        if (sampler->nvml.nvmlDeviceGetFieldValues(device->handle, 1, &field) != NVML_SUCCESS ||
            field.result != NVML_SUCCESS) {
            device->cannot[counter] = true;
            continue;
        }
        const uint64_t bytes = field.value.u64 * 1024;
        if (device->link_at[i] && now > device->link_at[i] && bytes >= device->link_bytes[i])
            write_counter(sampler, device, counter, clock_tick(sampler->tsc),
                          (double)(bytes - device->link_bytes[i]) * 1e9 / (double)(now - device->link_at[i]));
        device->link_bytes[i] = bytes;
        device->link_at[i] = now;
    }
}

static void sample_device(struct sampler *sampler, struct sampled *device, bool pcie) {
    const struct nvml_library *nvml = &sampler->nvml;
    unsigned value = 0;
    struct nvml_utilization busy = {0, 0};
    struct nvml_memory memory = {0, 0, 0};
    int result;
    if (ASKED(device, COUNTER_POWER, nvmlDeviceGetPowerUsage)) {
        result = nvml->nvmlDeviceGetPowerUsage(device->handle, &value);
        sample(sampler, device, COUNTER_POWER, result, value / 1000.0);
    }
    if (ASKED(device, COUNTER_TEMPERATURE, nvmlDeviceGetTemperature)) {
        result = nvml->nvmlDeviceGetTemperature(device->handle, NVML_TEMPERATURE_GPU, &value);
        sample(sampler, device, COUNTER_TEMPERATURE, result, value);
    }
    if (ASKED(device, COUNTER_CLOCK, nvmlDeviceGetClockInfo)) {
        result = nvml->nvmlDeviceGetClockInfo(device->handle, NVML_CLOCK_SM, &value);
        sample(sampler, device, COUNTER_CLOCK, result, value);
    }
    if (ASKED(device, COUNTER_MEMORY_CLOCK, nvmlDeviceGetClockInfo)) {
        result = nvml->nvmlDeviceGetClockInfo(device->handle, NVML_CLOCK_MEMORY, &value);
        sample(sampler, device, COUNTER_MEMORY_CLOCK, result, value);
    }
    if (ASKED(device, COUNTER_MEMORY, nvmlDeviceGetMemoryInfo)) {
        result = nvml->nvmlDeviceGetMemoryInfo(device->handle, &memory);
        sample(sampler, device, COUNTER_MEMORY, result, (double)memory.used);
    }
    if (ASKED(device, COUNTER_BUSY, nvmlDeviceGetUtilizationRates)) {
        result = nvml->nvmlDeviceGetUtilizationRates(device->handle, &busy);
        sample(sampler, device, COUNTER_BUSY, result, busy.gpu);
        sample(sampler, device, COUNTER_MEMORY_BUSY, result, busy.memory);
    }
    sample_links(sampler, device);
    for (int i = 0; pcie && i < 2; i++) {
        const enum counter counter = i ? COUNTER_PCIE_RECEIVED : COUNTER_PCIE_SENT;
        if (!ASKED(device, counter, nvmlDeviceGetPcieThroughput))
            continue;
        result = nvml->nvmlDeviceGetPcieThroughput(device->handle, i ? NVML_PCIE_RECEIVED : NVML_PCIE_SENT,
                                                   &value);
        sample(sampler, device, counter, result, value * 1000.0); // its unit is KB/s
    }
}

// ---- what there is

static void add_device(struct sampler *sampler, nvml_device handle, unsigned number) {
    struct sampled *device = &sampler->devices[sampler->count++];
    struct channel *channel = sampler->channel;
    struct nvml_memory memory = {0, 0, 0};
    char name[TEXT_MAX] = "", driver[80] = "", uuid[96] = "", text[TEXT_MAX + 64];
    char pci_text[PCI_IDENTITY_SIZE];
    struct nvml_pci pci = {.bus = 0};
    unsigned clock = 0;
    (void)ANSWERS(&sampler->nvml, nvmlDeviceGetName, handle, name, sizeof name);
    (void)ANSWERS(&sampler->nvml, nvmlSystemGetDriverVersion, driver, sizeof driver);
    (void)ANSWERS(&sampler->nvml, nvmlDeviceGetMemoryInfo, handle, &memory);
    (void)ANSWERS(&sampler->nvml, nvmlDeviceGetUUID, handle, uuid, sizeof uuid);
    (void)ANSWERS(&sampler->nvml, nvmlDeviceGetMaxClockInfo, handle, NVML_CLOCK_SM, &clock);
    // CUDA's device: every part of it that a program uses is on the same device.
    const tsmith_device said = {.name = channel_string_cstr(channel, name),
                                .vendor = channel_string_cstr(channel, "NVIDIA"),
                                .driver = channel_string_cstr(channel, driver),
                                .api = channel_string_cstr(channel, "cuda"),
                                .type = channel_string_cstr(channel, "gpu"),
                                .memory_bytes = memory.total,
                                .clock_mhz = clock};
    (void)ANSWERS(&sampler->nvml, nvmlDeviceGetPciInfo_v3, handle, &pci);
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    pci_identity_of(pci.bus_id, pci_text);
    const uint32_t id = channel_device_identified(channel, &said, uuid[0] ? uuid : pci_text);
    if (uuid[0] && pci_text[0])
        channel_device_described(channel, id, &said, pci_text);
    device->handle = handle;
    static const struct {
        const char *name, *unit;
    } what[] = {
#define COUNTER_NAME(NAME, name, unit) {name, unit},
        COUNTERS(COUNTER_NAME)
#undef COUNTER_NAME
    };
    for (int i = 0; i < COUNTER_LIMIT; i++) {
        snprintf(text, sizeof text, "GPU %u %s [%s]", number, what[i].name, what[i].unit);
        sampler->names[i] = channel_string_cstr(channel, what[i].name);
        device->tracks[i] = channel_track(channel, &(tsmith_track){.kind = TSMITH_TRACK_COUNTER,
                                                                   .name = channel_string_cstr(channel, text),
                                                                   .device = id});
    }
}

static bool set_up(struct sampler *sampler, const char *directory, char *why, size_t size) {
    unsigned count = 0;
    if (!nvml_open(&sampler->nvml, why, size)) {
        if (!why[0])
            snprintf(why, size,
                     "libnvidia-ml.so.1 was not found: it comes with NVIDIA's driver (in a container: "
                     "NVIDIA_DRIVER_CAPABILITIES must have \"utility\")");
        return false;
    }
    if (sampler->nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS || count == 0) {
        snprintf(why, size, "NVML has no device");
        return false;
    }
    if (channel_open(directory, "nvml", &sampler->channel) != TSMITH_OK) {
        snprintf(why, size, "out of memory, or no space in the session directory");
        return false;
    }
    sampler->tsc = channel_tick_is_tsc(sampler->channel);
    sampler->shape =
        record_register(sampler->channel, TSMITH_KIND_COUNTER, RECORD_SUBJECT_TRACK, counter_words_add);
    for (unsigned i = 0; i < count && sampler->count < DEVICES_MAX; i++) {
        nvml_device handle = NULL;
        if (sampler->nvml.nvmlDeviceGetHandleByIndex_v2(i, &handle) == NVML_SUCCESS)
            add_device(sampler, handle, i);
    }
    return true;
}

// True when it is over: the other end of `stop` was closed, or sent the end.
static bool wait_until(int stop, int64_t when) {
    for (;;) {
        const int64_t left = when - clock_trace_now();
        struct pollfd ready = {.fd = stop, .events = POLLIN};
        if (poll(&ready, 1, left > 0 ? (int)(left / 1000000) + (left < 1000000) : 0) > 0)
            return true;
        if (clock_trace_now() >= when)
            return false;
    }
}

EXPORT agent_sample_function tracesmith_agent_sample;
EXPORT bool tracesmith_agent_sample(const char *directory, uint32_t rate, int stop,
                                    void (*ready)(void *context, const char *why), void *context) {
    static struct sampler sampler;
    char why[512] = "";
    if (!set_up(&sampler, directory, why, sizeof why)) {
        ready(context, why);
        return false;
    }
    ready(context, NULL);
    const int64_t period = INT64_C(1000000000) / (rate ? rate : 1);
    int64_t next = clock_trace_now(), pcie = next;
    do {
        const bool with_pcie = next >= pcie;
        if (with_pcie)
            pcie = next + INT64_C(1000000000);
        for (unsigned i = 0; i < sampler.count; i++)
            sample_device(&sampler, &sampler.devices[i], with_pcie);
        next += period;
        const int64_t now = clock_trace_now();
        if (next < now)
            next += (now - next) / period * period;
    } while (channel_live(sampler.channel) && !wait_until(stop, next));
    channel_close(sampler.channel);
    return true;
}
