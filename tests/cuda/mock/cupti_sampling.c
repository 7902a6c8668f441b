// SPDX-License-Identifier: Apache-2.0
// The PC Sampling API of the mock of libcupti. Each launch of a kernel makes the same samples (SAMPLES below), which
// tests add up. Words of MOCK_CUPTI:
//
//     pcdenied=N    enabling gives error N
//     pcdropped=N   the hardware dropped N samples, which the first reading reports
//     pcothers=N    N samples were of kernels that are not the program's, likewise
//     pcfull        the first reading with samples reports that the hardware's buffer was full
//     pcroom=N      a reading gives N instructions at most
//     pcdropping=N  the hardware drops N samples at each launch, which the reading says that has the others of it
//     pctotals      what is said of dropped and others' samples, and of all, is of all readings so far
//     pcmixed       the same, but of all samples only those of the reading
//     pcstuck       a reading by a thread without a context lasts until the context is destroyed
//     pclate        nothing is given before sampling is switched off
#include "../../../agents/cuda/cupti_sampling.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_mock.h"

enum { INVALID_PARAMETER = 1, INVALID_OPERATION = 4, CONTEXTS = 8, SEEN = 256, PCS = 3, REASONS = 3 };

static const uint32_t indices[REASONS] = {0, 3, 7}; // not one after the other
static const char *const names[REASONS] = {"selected", "stalled_long_scoreboard", "stalled_barrier"};

// By instruction and reason, of one launch.
static const struct {
    uint64_t offset;
    uint32_t counts[REASONS];
} SAMPLES[PCS] = {{0x00, {1, 0, 0}}, {0x10, {0, 5, 2}}, {0x120, {0, 1, 0}}};

static struct {
    void *context;
    struct cupti_pc_data *configured;
    bool told;
    uint64_t samples, dropped, others; // so far
} sampled[CONTEXTS];
static pthread_mutex_t stuck_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stuck_changed = PTHREAD_COND_INITIALIZER;
static const void *stuck, *destroyed; // contexts
static struct {
    uint32_t context;
    const char *function;
    uint64_t crc, launches;
} seen[SEEN];
static size_t seen_count;
static uint64_t module_crc;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t crc_of(const uint8_t *bytes, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void mock_sampled_module(const struct cupti_module_data *module) {
    if (module->cubin)
        module_crc = crc_of((const uint8_t *)module->cubin, module->bytes);
}

void mock_sampled_kernel(const struct operation *operation) {
    pthread_mutex_lock(&lock);
    size_t at = 0;
    while (at < seen_count &&
           (seen[at].context != operation->context || strcmp(seen[at].function, operation->name) != 0))
        at++;
    if (at == seen_count && seen_count < SEEN)
        seen[seen_count++].launches = 0;
    if (at < SEEN) {
        seen[at].context = operation->context;
        seen[at].function = operation->name;
        seen[at].crc = module_crc;
        seen[at].launches++;
    }
    pthread_mutex_unlock(&lock);
}

// Waits until the other thread reads it.
void mock_sampled_context_ends(const void *context) {
    pthread_mutex_lock(&stuck_lock);
    while (mock_has("pcstuck") && stuck != context)
        pthread_cond_wait(&stuck_changed, &stuck_lock);
    pthread_mutex_unlock(&stuck_lock);
}

void mock_sampled_context_ended(const void *context) {
    pthread_mutex_lock(&stuck_lock);
    destroyed = context;
    pthread_cond_broadcast(&stuck_changed);
    pthread_mutex_unlock(&stuck_lock);
}

int cuCtxGetCurrent(void **out);
static void get_stuck(const void *context) {
    void *current = NULL;
    if (!mock_has("pcstuck") || cuCtxGetCurrent(&current) != CUPTI_OK || current)
        return;
    pthread_mutex_lock(&stuck_lock);
    if (destroyed == context) {
        fprintf(stderr, "the mock: a context is read that was destroyed\n");
        abort();
    }
    stuck = context;
    pthread_cond_broadcast(&stuck_changed);
    while (destroyed != context)
        pthread_cond_wait(&stuck_changed, &stuck_lock);
    pthread_mutex_unlock(&stuck_lock);
}

static int find(const void *context) {
    for (int i = 0; i < CONTEXTS; i++)
        if (sampled[i].context == context)
            return i;
    return -1;
}

static size_t stride(void) {
    return mock_value("version", 130001) >= CUPTI_12_4 ? sizeof(struct cupti_pc) : CUPTI_PC_BYTES_OLD;
}

// Gives what was sampled in a context since the last time. Under the lock.
static void give(int at, struct cupti_pc_data *data, size_t room) {
    const uint32_t context = mock_context_id(sampled[at].context);
    const bool totals = mock_has("pctotals"), mixed = mock_has("pcmixed");
    uint64_t given = 0, lost = 0;
    data->count = data->remaining = 0;
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i].context != context || !seen[i].launches)
            continue;
        if (data->count + PCS > room) {
            data->remaining += PCS;
            continue;
        }
        for (size_t p = 0; p < PCS; p++, data->count++) {
            struct cupti_pc *pc = (void *)((uint8_t *)data->pcs + data->count * stride());
            if (pc->size != stride()) {
                fprintf(stderr, "the mock: the size of a PC is %zu\n", pc->size);
                abort();
            }
            pc->cubin_crc = seen[i].crc;
            pc->offset = SAMPLES[p].offset;
            pc->function_index = (uint32_t)i;
            pc->function = seen[i].function;
            pc->stall_count = REASONS;
            for (size_t r = 0; r < REASONS; r++) {
                pc->stalls[r].reason = indices[r];
                pc->stalls[r].samples = SAMPLES[p].counts[r] * (uint32_t)seen[i].launches;
                given += pc->stalls[r].samples;
            }
        }
        lost += mock_value("pcdropping", 0) * seen[i].launches;
        seen[i].launches = 0;
    }
    if (!sampled[at].told)
        lost += mock_value("pcdropped", 0);
    const uint64_t others = sampled[at].told ? 0 : mock_value("pcothers", 0);
    sampled[at].samples += given + lost + others;
    sampled[at].dropped += lost;
    sampled[at].others += others;
    data->samples = totals ? sampled[at].samples : given + lost + others;
    data->dropped = totals || mixed ? sampled[at].dropped : lost;
    data->not_users = totals || mixed ? sampled[at].others : others;
    sampled[at].told = true;
}

#define API(name, type)                                                                                      \
    int cupti##name(struct type *params);                                                                    \
    int cupti##name(struct type *params)
#define NEED(condition)                                                                                      \
    if (!(condition)) {                                                                                      \
        fprintf(stderr, "the mock: %s: not %s\n", __func__, #condition);                                     \
        return INVALID_PARAMETER;                                                                            \
    }

API(PCSamplingEnable, cupti_sampling_context) {
    NEED(params->size == sizeof *params && params->context && !params->priv)
    NEED(find(params->context) < 0)
    if (mock_value("pcdenied", 0))
        return (int)mock_value("pcdenied", 0);
    const int at = find(NULL);
    NEED(at >= 0)
    sampled[at].context = params->context;
    return CUPTI_OK;
}

API(PCSamplingDisable, cupti_sampling_context) {
    const int at = find(params->context);
    NEED(at >= 0)
    struct cupti_pc_data *left = sampled[at].configured;
    if (left) {
        pthread_mutex_lock(&lock);
        give(at, left, left->room);
        pthread_mutex_unlock(&lock);
    }
    memset(&sampled[at], 0, sizeof sampled[at]);
    return CUPTI_OK;
}

API(PCSamplingGetNumStallReasons, cupti_sampling_reason_count) {
    NEED(params->size == sizeof *params && find(params->context) >= 0)
    *params->count = REASONS;
    return CUPTI_OK;
}

API(PCSamplingGetStallReasons, cupti_sampling_reasons) {
    NEED(params->size == sizeof *params && params->count == REASONS)
    for (size_t i = 0; i < REASONS; i++) {
        params->indices[i] = indices[i];
        snprintf(params->names[i], CUPTI_STALL_NAME_BYTES, "%s", names[i]);
    }
    return CUPTI_OK;
}

API(PCSamplingSetConfigurationAttribute, cupti_sampling_configuration) {
    bool continuous = false;
    const int at = find(params->context);
    NEED(params->size == sizeof *params && at >= 0)
    for (size_t i = 0; i < params->count; i++) {
        const struct cupti_sampling_info *info = &params->infos[i];
        if (info->attribute == CUPTI_SAMPLING_MODE)
            continuous = info->value.number == CUPTI_SAMPLING_CONTINUOUS;
        else if (info->attribute == CUPTI_SAMPLING_BUFFER)
            sampled[at].configured = info->value.buffer;
        NEED(info->attribute != CUPTI_SAMPLING_STALL_REASONS ||
             (info->value.reasons.count == REASONS && info->value.reasons.indices[1] == indices[1]))
        NEED(info->attribute != CUPTI_SAMPLING_PERIOD ||
             (info->value.number >= 5 && info->value.number <= 31))
        params->infos[i].status = CUPTI_OK;
    }
    NEED(continuous && sampled[at].configured)
    return CUPTI_OK;
}

API(PCSamplingGetData, cupti_sampling_data) {
    struct cupti_pc_data *data = params->data;
    const int at = find(params->context);
    if (at < 0)
        return INVALID_OPERATION;
    NEED(params->size == sizeof *params && data && data->size == sizeof *data)
    NEED(data != sampled[at].configured) // that one is CUPTI's
    const size_t most = mock_value("pcroom", UINT32_MAX);
    const bool first = !sampled[at].told;
    get_stuck(params->context);
    pthread_mutex_lock(&lock);
    data->count = data->remaining = 0;
    if (!mock_has("pclate"))
        give(at, data, most < data->room ? most : data->room);
    pthread_mutex_unlock(&lock);
    data->full = first && mock_has("pcfull");
    return data->full ? CUPTI_OUT_OF_MEMORY : CUPTI_OK;
}

API(GetCubinCrc, cupti_cubin_crc) {
    NEED(params->size == sizeof *params && params->cubin && params->bytes)
    params->crc = crc_of(params->cubin, params->bytes);
    return CUPTI_OK;
}

// The lines of /src/work.cu as a compiler with line information gives them; the last instruction has none.
API(GetSassToSourceCorrelation, cupti_source) {
    NEED(params->size == sizeof *params && params->cubin && params->function)
    if (crc_of(params->cubin, params->bytes) != module_crc || params->offset > 0x100)
        return CUPTI_UNKNOWN;
    params->line = (uint32_t)((strcmp(params->function, "first") == 0 ? 10 : 20) + params->offset / 16);
    params->file = strdup("work.cu");
    params->directory = strdup("/src");
    return CUPTI_OK;
}
