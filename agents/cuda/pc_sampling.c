// SPDX-License-Identifier: Apache-2.0
// Samples program counters and stall reasons, as described in pc_sampling.h. Rules: agent.h. A context that is sampled:
//
//     FREE --made--> BUSY --configured--> OPEN <--> BUSY (being read) --goes, or the end--> FREE
//                      \--CUPTI refused--> FREE
//
// The thread that moves it to BUSY owns it: the thread in CUPTI's callback of the context, a thread that unloads a
// module, or the control thread. Only the thread that destroys the context waits, for WAIT_NS at most: then the
// context is `gone`, which is counted, and its owner releases it without further calls of CUPTI.
//
// CUPTI keeps the buffer it is configured with, and fills another one of the agent's on request; samples left when
// sampling is switched off are in its own. A count belongs to a function and not to a launch.
//
// CUPTI reports dropped samples and samples of other programs with each reading, and NVIDIA's header does not state whether
// per reading or in total. Both are counted correctly (struct tally): a number that falls is of its reading, and so is one
// that makes up the reading's number of samples together with what the reading has; any other is a running total.
#include "pc_sampling.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agentkit/wait.h"
#include "cupti_sampling.h"
#include "library.h"
#include "pc_source.h"
#include "shapes.h"
#include "tracks.h"
#include "wire/memory.h"

enum { CONTEXTS = 16, PCS = 2048, REASONS_MAX = 256, READS_MAX = 64, WAIT_NS = 500000000 };
enum { PERIOD_MIN = 5, PERIOD_MAX = 31 };
enum state { FREE, BUSY, OPEN };

// What was lost according to one of CUPTI's numbers.
struct tally {
    uint64_t last, sum; // of the reported numbers: the newest, and the total
    uint64_t told;      // in the ledger
    bool by_reading;    // known to be of each reading alone
};

struct sampled {
    _Atomic uint32_t state;
    atomic_bool gone; // the context, while another thread read it
    struct tally dropped, others;
    void *_Atomic context; // CUDA's
    uint32_t device;
    uint32_t track;             // 0: not needed yet. By then CUPTI has described the device
    int64_t since;              // trace time of the last reading
    struct cupti_pc_data *kept; // CUPTI's own; `read` is what it is asked to fill
    struct cupti_pc_data *read;
};

static struct {
    int (*Enable)(struct cupti_sampling_context *);
    int (*Disable)(struct cupti_sampling_context *);
    int (*SetConfigurationAttribute)(struct cupti_sampling_configuration *);
    int (*GetData)(struct cupti_sampling_data *);
    int (*GetNumStallReasons)(struct cupti_sampling_reason_count *);
    int (*GetStallReasons)(struct cupti_sampling_reasons *);
} sampling;

static atomic_bool on;
static uint32_t period; // 0: CUPTI's choice
static struct sampled contexts[CONTEXTS];
static pthread_mutex_t reasons_lock = PTHREAD_MUTEX_INITIALIZER; // while the first context is configured
static uint32_t reason_index[REASONS_MAX], reason_name[REASONS_MAX];
static _Atomic size_t reason_count;

static void notice_samples(const char *text) {
    channel_attribute(agent.channel, "notice.cuda-samples", text);
}

// ---- what there is

static bool find_functions(void) {
    bool all = true;
#define FIND(name)                                                                                           \
    *(void **)&sampling.name = dlsym(cupti.handle, "cuptiPCSampling" #name);                                 \
    all = all && sampling.name
    FIND(Enable);
    FIND(Disable);
    FIND(SetConfigurationAttribute);
    FIND(GetData);
    FIND(GetNumStallReasons);
    FIND(GetStallReasons);
#undef FIND
    return all && pc_source_init();
}

void pc_sampling_init(void) {
    const char *asked = cuda_option(CUDA_OPTION_PC_SAMPLES);
    if (!asked)
        return;
    period = (uint32_t)strtoul(asked, NULL, 10); // 0 without a value
    if (!cupti_has(CUPTI_12_2) || !find_functions()) {
        notice_samples(
            "no PC samples: they need CUPTI of CUDA 12.2 or newer (set TRACESMITH_CUPTI to its path)");
        return;
    }
    if (period && (period < PERIOD_MIN || period > PERIOD_MAX)) {
        notice_samples("no PC samples: the period is an exponent from 5 to 31");
        return;
    }
    on = true;
}

// ---- a context

static size_t pc_record_bytes(void) {
    return cupti_has(CUPTI_12_4) ? sizeof(struct cupti_pc) : CUPTI_PC_BYTES_OLD;
}

static struct cupti_pc *pc_at(const struct cupti_pc_data *data, size_t index) {
    return (struct cupti_pc *)(void *)((uint8_t *)data->pcs + index * pc_record_bytes());
}

static struct cupti_pc_data *data_create(size_t reasons) {
    const size_t stalls = reasons * sizeof(struct cupti_pc_stall);
    const size_t bytes = sizeof(struct cupti_pc_data) + PCS * (pc_record_bytes() + stalls);
    uint8_t *at = memory_take(bytes);
    if (!at)
        return NULL;
    struct cupti_pc_data *data = (void *)at;
    *data = (struct cupti_pc_data){.size = sizeof *data, .room = PCS, .pcs = (void *)(at + sizeof *data)};
    at += sizeof *data + PCS * pc_record_bytes();
    for (size_t i = 0; i < PCS; i++, at += stalls) {
        struct cupti_pc *pc = pc_at(data, i);
        pc->size = pc_record_bytes();
        pc->stalls = (void *)at;
    }
    return data;
}

static void data_destroy(struct cupti_pc_data *data, size_t reasons) {
    if (data)
        munmap(data, sizeof *data + PCS * (pc_record_bytes() + reasons * sizeof(struct cupti_pc_stall)));
}

// The same for every context of a machine in practice; those of the first are the ones asked for of all.
static int learn_reasons(void *context) {
    static char texts[REASONS_MAX][CUPTI_STALL_NAME_BYTES];
    char *names[REASONS_MAX];
    size_t count = 0;
    struct cupti_sampling_reason_count how_many = {sizeof how_many, NULL, context, &count};
    struct cupti_sampling_reasons which = {sizeof which, NULL, context, 0, reason_index, names};
    int result = sampling.GetNumStallReasons(&how_many);
    if (result != CUPTI_OK || count == 0)
        return result ? result : CUPTI_NOT_SUPPORTED;
    which.count = count = count < REASONS_MAX ? count : REASONS_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = texts[i];
    result = sampling.GetStallReasons(&which);
    if (result != CUPTI_OK)
        return result;
    for (size_t i = 0; i < count; i++) {
        texts[i][CUPTI_STALL_NAME_BYTES - 1] = '\0';
        reason_name[i] = channel_string_cstr(agent.channel, texts[i]);
    }
    atomic_store(&reason_count, count);
    return CUPTI_OK;
}

static int configure(struct sampled *sampled, void *context) {
    struct cupti_sampling_info infos[] = {
        {.attribute = CUPTI_SAMPLING_STALL_REASONS,
         .value.reasons = {.count = reason_count, .indices = reason_index}},
        {.attribute = CUPTI_SAMPLING_MODE, .value.number = CUPTI_SAMPLING_CONTINUOUS},
        {.attribute = CUPTI_SAMPLING_BUFFER, .value.buffer = sampled->kept},
        // Left out unless asked for: CUPTI chooses by the number of SMs.
        {.attribute = CUPTI_SAMPLING_PERIOD, .value.number = period}};
    struct cupti_sampling_configuration configuration = {
        .size = sizeof configuration, .context = context, .count = period ? 4 : 3, .infos = infos};
    return sampling.SetConfigurationAttribute(&configuration);
}

static int enable(struct sampled *sampled, void *context) {
    struct cupti_sampling_context params = {sizeof params, NULL, context};
    int result = sampling.Enable(&params);
    if (result != CUPTI_OK)
        return result;
    // A program that makes its contexts in several threads at the same time waits here for the first, once.
    pthread_mutex_lock(&reasons_lock);
    if (!reason_count)
        result = learn_reasons(context);
    pthread_mutex_unlock(&reasons_lock);
    if (result == CUPTI_OK) {
        sampled->kept = data_create(reason_count);
        sampled->read = data_create(reason_count);
        result = sampled->kept && sampled->read ? configure(sampled, context) : CUPTI_OUT_OF_MEMORY;
    }
    if (result != CUPTI_OK)
        sampling.Disable(&params);
    return result;
}

static void say_refused(int result) {
    char text[512];
    snprintf(text, sizeof text, "no PC samples: CUPTI returned %s (%d): %s; everything else is recorded",
             library_error(result), result,
             result == CUPTI_PRIVILEGES || result == CUPTI_VIRTUALIZED_PRIVILEGES
                 ? "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); the "
                   "administrator can "
                   "allow it (NVreg_RestrictProfilingToAdminUsers=0), or run as root or with CAP_SYS_ADMIN"
                 : "sampling needs a GPU of compute capability 7.0 or higher that no other tool samples, "
                   "and a driver and CUPTI that are compatible");
    notice_samples(text);
}

static void release_context(struct sampled *sampled) {
    data_destroy(sampled->kept, reason_count);
    data_destroy(sampled->read, reason_count);
    sampled->kept = sampled->read = NULL;
    sampled->dropped = sampled->others = (struct tally){0};
    atomic_store(&sampled->gone, false);
    atomic_store(&sampled->context, NULL);
    atomic_store(&sampled->state, FREE);
}

static bool claim_context(struct sampled *sampled, uint32_t from) {
    return atomic_compare_exchange_strong(&sampled->state, &from, BUSY);
}

void pc_sampling_context(void *context) {
    struct sampled *sampled = NULL;
    for (size_t i = 0; on && i < CONTEXTS && !sampled; i++)
        if (claim_context(&contexts[i], FREE))
            sampled = &contexts[i];
    if (!sampled) {
        if (on)
            channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    const int result = enable(sampled, context);
    if (result != CUPTI_OK) {
        say_refused(result);
        release_context(sampled);
        return;
    }
    sampled->track = 0;
    if (cupti.GetDeviceId(context, &sampled->device) != CUPTI_OK)
        sampled->device = 0;
    sampled->since = clock_trace_now();
    atomic_store(&sampled->context, context);
    atomic_store(&sampled->state, OPEN);
}

// ---- reading

static uint32_t name_of_reason(uint32_t index) {
    for (size_t i = 0; i < reason_count; i++)
        if (reason_index[i] == index)
            return reason_name[i];
    return 0;
}

static void write_pc(const struct sampled *sampled, const struct cupti_pc *pc, int64_t now) {
    struct ring *ring = channel_ring(agent.channel);
    const uint32_t name = pc->function ? channel_function(agent.channel, pc->function) : 0;
    const struct pc_source source = pc_source_find(pc);
    for (size_t i = 0; i < pc->stall_count && i < reason_count; i++)
        if (pc->stalls[i].samples)
            TRACK_RECORD_WRITE(ring, sample, sampled->track, .start = (uint64_t)sampled->since,
                               .duration = (uint64_t)(now - sampled->since), .name = name,
                               .reason = name_of_reason(pc->stalls[i].reason), .count = pc->stalls[i].samples,
                               .offset = pc->offset, .cubin_crc = pc->cubin_crc, .file = source.file,
                               .line = source.line);
}

static uint64_t samples_in(const struct cupti_pc_data *data) {
    uint64_t samples = 0;
    for (size_t i = 0; i < data->count && i < PCS; i++)
        for (size_t s = 0; s < pc_at(data, i)->stall_count && s < reason_count; s++)
            samples += pc_at(data, i)->stalls[s].samples;
    return samples;
}

// `whole`: the reading's number of samples is the sum of those it has and those it reports as missing.
static void count_lost(struct tally *tally, tsmith_reason reason, uint64_t said, bool whole) {
    tally->by_reading = tally->by_reading || said < tally->last || (whole && tally->last);
    tally->last = said;
    tally->sum += said;
    const uint64_t lost = tally->by_reading ? tally->sum : said;
    if (lost > tally->told) {
        channel_lose(agent.channel, reason, lost - tally->told);
        tally->told = lost;
    }
}

// The content of a filled buffer, and the samples that CUPTI reports as missing from it.
static void record_samples(struct sampled *sampled, struct cupti_pc_data *data, int64_t now) {
    if (data->count && !sampled->track)
        sampled->track = tracks_stream(sampled->device, CUPTI_NONE, CUPTI_NONE, "PC samples");
    for (size_t i = 0; i < data->count && i < PCS && sampled->track; i++)
        write_pc(sampled, pc_at(data, i), now);
    // Without any data, there is nothing to report.
    if (data->count || data->samples || data->dropped || data->not_users) {
        const bool whole = data->samples == samples_in(data) + data->dropped + data->not_users;
        count_lost(&sampled->dropped, TSMITH_REASON_VENDOR_DROPPED, data->dropped, whole);
        count_lost(&sampled->others, TSMITH_REASON_UNTRACED, data->not_users, whole);
    }
    if (data->full) {
        // The number of lost samples is unknown.
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1);
        notice_samples("some PC samples are missing: the GPU's buffer for them was full; sample less often "
                       "(--pc-samples=N with a larger N)");
    }
    data->count = data->remaining = 0;
    data->samples = data->dropped = data->not_users = 0;
    data->full = 0;
}

// With the context at hand: all that CUPTI has. A thread that reads here is the only one.
static void drain(struct sampled *sampled, void *context) {
    const int64_t now = clock_trace_now();
    struct cupti_sampling_data params = {sizeof params, NULL, context, sampled->read};
    for (int reads = 0; reads < READS_MAX; reads++) {
        sampled->read->room = PCS;
        const int result = sampling.GetData(&params);
        const bool more = result == CUPTI_OK && sampled->read->count && sampled->read->remaining;
        record_samples(sampled, sampled->read, now);
        if (!more)
            break;
    }
    sampled->since = now;
}

static void stop_context(struct sampled *sampled, void *context) {
    struct cupti_sampling_context params = {sizeof params, NULL, context};
    drain(sampled, context);
    if (sampling.Disable(&params) == CUPTI_OK)
        record_samples(sampled, sampled->kept, clock_trace_now());
    release_context(sampled);
}

// CUPTI may go on writing into its own buffer, which so is never used again.
static void give_up(struct sampled *sampled) {
    sampled->kept = NULL;
    release_context(sampled);
}

// A thread that waits for the context either finds it OPEN now, or has already marked it as gone.
static void end_reading(struct sampled *sampled) {
    atomic_store(&sampled->state, OPEN);
    wait_wake(&sampled->state);
    if (atomic_load(&sampled->gone) && claim_context(sampled, OPEN))
        give_up(sampled);
}

void pc_sampling_look(void) {
    for (size_t i = 0; on && i < CONTEXTS; i++)
        if (claim_context(&contexts[i], OPEN)) {
            drain(&contexts[i], contexts[i].context);
            end_reading(&contexts[i]);
        }
}

void pc_sampling_end(void) {
    for (size_t i = 0; on && i < CONTEXTS; i++)
        if (claim_context(&contexts[i], OPEN))
            stop_context(&contexts[i], contexts[i].context);
    on = false;
}

// False: another thread reads it all the time, and is to give it up.
static bool claim_at_end(struct sampled *sampled) {
    const int64_t until = clock_trace_now() + WAIT_NS;
    for (bool in_time = true;;) {
        const uint32_t state = atomic_load(&sampled->state);
        if (state == OPEN && claim_context(sampled, OPEN))
            return true;
        if (!in_time)
            return false;
        in_time = wait_change(&sampled->state, state, until);
        if (!in_time)
            atomic_store(&sampled->gone, true);
    }
}

void pc_sampling_context_ends(void *context) {
    for (size_t i = 0; on && i < CONTEXTS; i++) {
        if (atomic_load(&contexts[i].context) != context)
            continue;
        if (claim_at_end(&contexts[i])) {
            stop_context(&contexts[i], context);
            return;
        }
        // Its number of samples is unknown.
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1);
        notice_samples(
            "the last PC samples of a context are missing: CUPTI was still busy with it when the program "
            "destroyed it");
        return;
    }
}

void pc_sampling_module(const struct cupti_module_data *module) {
    if (on && module && module->cubin && module->bytes)
        pc_source_keep(module->cubin, module->bytes);
}

// The offsets of what is loaded where this was would be taken for its own, were they not read before.
void pc_sampling_module_ends(void) {
    pc_sampling_look();
}
