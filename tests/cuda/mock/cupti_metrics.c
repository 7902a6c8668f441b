// SPDX-License-Identifier: Apache-2.0
// The PM Sampling API of the mock of libcupti, as its headers describe it. A device makes one sample per interval from when
// sampling is started until it is stopped; metric number M of the list has the value 1000 * M + the sample's number modulo 100.
// What was made is written into the file that MOCK_METRICS names, once sampling is switched off: "device N made N". Words of
// MOCK_CUPTI:
//
//     pmdenied=N    enabling gives error N
//     pmunknown     the chip has no metric that begins with "nvl"
//     pmpasses=N    more than N metrics take two passes
//     pmcycles      there is no clock to sample by time
//     pmfull=N      at the first reading with samples the buffer is full: N samples are lost, and no more come before a new start
//     pmclock       samples have times of a clock that began with the device
//     pmstuck       the second reading never ends
//     pmwait        launches wait until samples were read twice, or sampling was refused
#include "../../../agents/cuda/cupti_metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti_mock.h"

enum {
    INVALID_PARAMETER = 1,
    DEVICES = 4,
    NAMES = 16,
    CONFIG_BYTES = 64,
    AVAILABLE_BYTES = 32,
    READS_FULL = 1
};

struct host {
    char names[NAMES][96];
    size_t count;
};

struct image {
    uint64_t magic;
    uint32_t room, count;
    struct {
        uint64_t number, start, end;
    } samples[];
};
static const uint64_t MAGIC = UINT64_C(0x696d616765);

static struct sampler {
    bool enabled, on, full, told;
    uint32_t device, samples, reads;
    uint64_t interval, next, made; // `next`: when the next sample begins
    uint64_t began;                // the clock of its own
} samplers[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool settled;

static void settle(void) {
    pthread_mutex_lock(&lock);
    settled = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void mock_measured_kernel(void) {
    if (!mock_has("pmwait"))
        return;
    pthread_mutex_lock(&lock);
    while (!settled)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

#define API(name, type)                                                                                      \
    int cupti##name(struct type *params);                                                                    \
    int cupti##name(struct type *params)
#define NEED(condition)                                                                                      \
    if (!(condition)) {                                                                                      \
        fprintf(stderr, "the mock: %s: not %s\n", __func__, #condition);                                     \
        return INVALID_PARAMETER;                                                                            \
    }
// The agent's structs are in the form of 12.6; a program that was compiled with newer headers passes longer ones.
#define SIZED(type, last) NEED(params->size >= CUPTI_METRICS_BYTES(type, last) && !params->priv)

API(ProfilerInitialize, cupti_profiler_start) {
    SIZED(cupti_profiler_start, priv)
    return CUPTI_OK;
}

API(DeviceGetChipName, cupti_chip) {
    SIZED(cupti_chip, name)
    params->name = "DOUBLE100";
    return CUPTI_OK;
}

API(ProfilerHostInitialize, cupti_host_start) {
    SIZED(cupti_host_start, host)
    NEED(params->type == CUPTI_PM_PROFILER && strcmp(params->chip, "DOUBLE100") == 0 && params->available)
    params->host = calloc(1, sizeof(struct host));
    return params->host ? CUPTI_OK : CUPTI_OUT_OF_MEMORY;
}

API(ProfilerHostDeinitialize, cupti_host) {
    SIZED(cupti_host, host)
    free(params->host);
    return CUPTI_OK;
}

API(ProfilerHostConfigAddMetrics, cupti_host_add) {
    struct host *host = params->host;
    SIZED(cupti_host_add, count)
    NEED(params->count && params->count <= NAMES)
    for (size_t i = 0; i < params->count; i++) {
        if ((mock_has("pmunknown") && strncmp(params->names[i], "nvl", 3) == 0) ||
            !strstr(params->names[i], "__")) {
            if (params->count == 1)
                settle();
            return INVALID_PARAMETER;
        }
        snprintf(host->names[i], sizeof host->names[i], "%s", params->names[i]);
    }
    host->count = params->count;
    return CUPTI_OK;
}

API(ProfilerHostGetConfigImageSize, cupti_host_image_size) {
    SIZED(cupti_host_image_size, bytes)
    params->bytes = CONFIG_BYTES;
    return CUPTI_OK;
}

API(ProfilerHostGetConfigImage, cupti_host_image) {
    SIZED(cupti_host_image, image)
    NEED(params->bytes == CONFIG_BYTES)
    params->image[0] = (uint8_t)((struct host *)params->host)->count;
    return CUPTI_OK;
}

API(ProfilerHostGetNumOfPasses, cupti_host_passes) {
    SIZED(cupti_host_passes, passes)
    NEED(params->bytes == CONFIG_BYTES)
    params->passes = params->image[0] > mock_value("pmpasses", NAMES) ? 2 : 1;
    return CUPTI_OK;
}

API(PmSamplingGetCounterAvailability, cupti_pm_available) {
    SIZED(cupti_pm_available, image)
    NEED(!params->image || params->bytes == AVAILABLE_BYTES)
    params->bytes = AVAILABLE_BYTES;
    return CUPTI_OK;
}

API(PmSamplingEnable, cupti_pm_enable) {
    SIZED(cupti_pm_enable, object)
    NEED(params->device < DEVICES && !samplers[params->device].enabled)
    if (mock_value("pmdenied", 0)) {
        settle();
        return (int)mock_value("pmdenied", 0);
    }
    struct sampler *sampler = &samplers[params->device];
    *sampler = (struct sampler){.enabled = true, .device = (uint32_t)params->device, .began = mock_now()};
    params->object = sampler;
    return CUPTI_OK;
}

static void say(const struct sampler *sampler) {
    FILE *file = getenv("MOCK_METRICS") ? fopen(getenv("MOCK_METRICS"), "a") : NULL;
    if (!file)
        return;
    fprintf(file, "device %u made %llu interval %llu\n", sampler->device, (unsigned long long)sampler->made,
            (unsigned long long)sampler->interval);
    fclose(file);
}

API(PmSamplingDisable, cupti_pm) {
    struct sampler *sampler = params->object;
    SIZED(cupti_pm, object)
    NEED(sampler->enabled)
    say(sampler);
    sampler->enabled = sampler->on = false;
    return CUPTI_OK;
}

API(PmSamplingSetConfig, cupti_pm_config) {
    struct sampler *sampler = params->object;
    SIZED(cupti_pm_config, trigger)
    NEED(sampler->enabled && !sampler->on && params->bytes == CONFIG_BYTES && params->image[0] &&
         params->buffer && params->interval)
    if (mock_has("pmcycles") && params->trigger == CUPTI_TRIGGER_TIME)
        return CUPTI_NOT_SUPPORTED;
    sampler->interval = params->interval;
    return CUPTI_OK;
}

API(PmSamplingGetCounterDataSize, cupti_pm_data_size) {
    struct sampler *sampler = params->object;
    SIZED(cupti_pm_data_size, bytes)
    NEED(params->samples && params->count && sampler->interval)
    sampler->samples = params->samples;
    params->bytes = sizeof(struct image) + params->samples * sizeof *((struct image *)NULL)->samples;
    return CUPTI_OK;
}

API(PmSamplingCounterDataImageInitialize, cupti_pm_data_start) {
    const struct sampler *sampler = params->object;
    struct image *image = (void *)params->image;
    SIZED(cupti_pm_data_start, image)
    NEED(params->bytes == sizeof *image + sampler->samples * sizeof *image->samples)
    image->magic = MAGIC;
    image->room = sampler->samples;
    image->count = 0;
    return CUPTI_OK;
}

API(PmSamplingStart, cupti_pm) {
    struct sampler *sampler = params->object;
    SIZED(cupti_pm, object)
    NEED(sampler->enabled && !sampler->on && sampler->interval)
    sampler->on = true;
    // After an overflow it continues in the same rhythm.
    if (!sampler->next)
        sampler->next = mock_now();
    sampler->full = false;
    return CUPTI_OK;
}

API(PmSamplingStop, cupti_pm) {
    struct sampler *sampler = params->object;
    SIZED(cupti_pm, object)
    NEED(sampler->enabled && sampler->on)
    // A client that stops gets something, also after an overflow: a run without one sample would prove nothing.
    while ((!sampler->made || mock_has("pmfull")) && mock_now() < sampler->next + sampler->interval)
        usleep(100);
    sampler->on = false;
    return CUPTI_OK;
}

API(PmSamplingDecodeData, cupti_pm_decode) {
    struct sampler *sampler = params->object;
    struct image *image = (void *)params->image;
    SIZED(cupti_pm_decode, overflow)
    NEED(sampler->enabled && image->magic == MAGIC)
    if (++sampler->reads >= 2 && (sampler->told || !mock_has("pmfull")))
        settle();
    if (sampler->reads == 2 && mock_has("pmstuck"))
        for (;;)
            pause();
    const uint32_t lost = mock_value("pmfull", 0);
    const uint64_t now = mock_now();
    while (!sampler->full && image->count < image->room && sampler->next + sampler->interval <= now) {
        image->samples[image->count].number = sampler->made++;
        image->samples[image->count].start = sampler->next - (mock_has("pmclock") ? sampler->began : 0);
        image->samples[image->count].end = image->samples[image->count].start + sampler->interval;
        sampler->next += sampler->interval;
        image->count++;
    }
    params->stopped = image->count == image->room ? CUPTI_DECODE_IMAGE_FULL : 2;
    params->overflow = 0;
    if (lost && !sampler->told && image->count) {
        sampler->told = true;
        params->overflow = 1;
        sampler->full = true;
        sampler->made += lost;
        sampler->next += lost * sampler->interval;
    }
    return CUPTI_OK;
}

API(PmSamplingGetCounterDataInfo, cupti_pm_info) {
    const struct image *image = (const void *)params->image;
    SIZED(cupti_pm_info, completed)
    NEED(image->magic == MAGIC)
    params->total = image->room;
    params->populated = params->completed = image->count;
    return CUPTI_OK;
}

API(PmSamplingCounterDataGetSampleInfo, cupti_pm_sample) {
    const struct image *image = (const void *)params->image;
    SIZED(cupti_pm_sample, end)
    NEED(params->index < image->count)
    params->start = image->samples[params->index].start;
    params->end = image->samples[params->index].end;
    return CUPTI_OK;
}

API(ProfilerHostEvaluateToGpuValues, cupti_host_values) {
    const struct image *image = (const void *)params->image;
    const struct host *host = params->host;
    SIZED(cupti_host_values, values)
    NEED(params->sample < image->count && params->count == host->count)
    for (size_t i = 0; i < params->count; i++) {
        NEED(strcmp(params->names[i], host->names[i]) == 0)
        params->values[i] = (double)(1000 * i + image->samples[params->sample].number % 100);
    }
    return CUPTI_OK;
}
