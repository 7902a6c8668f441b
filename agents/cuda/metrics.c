// SPDX-License-Identifier: Apache-2.0
// Samples hardware metrics over time, as described in metrics.h. Rules: agent.h. One thread makes all calls of the PM
// Sampling API, because they may take long: it sets devices up, and reads what the hardware wrote into its buffer every
// LOOK_MS. metrics_device() only leaves a bit for it.
//
// The hardware keeps the oldest samples when its buffer is full, and stops. A sample is an interval, and each begins
// where the one before it ended: so the samples missing between two are counted from their times, for every cause.
//
// The header does not state the clock of the samples' times. They are taken for CUPTI's clock only where they fit: no
// sample may begin before sampling was started, or end after it was read, by more than SLACK_NS. Others are left out,
// and counted as no_timing.
#include "metrics.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/thread.h"
#include "agentkit/wait.h"
#include "cupti_metrics.h"
#include "library.h"
#include "metrics_config.h"
#include "shapes.h"
#include "tracks.h"

enum {
    DEVICES = 16,
    LOOK_MS = 20,
    WAIT_NS = 1000000000,
    READS_MAX = 64,
    DEFAULT_US = 100,
    US_MIN = 10,
    US_MAX = 1000000
};
enum { SLACK_NS = 1000000, BUFFER_BYTES = 64 << 20, SAMPLES = 2048 };

struct device {
    bool on;
    bool full;       // the hardware's buffer is
    bool overflowed; // it was, since the newest sample
    uint32_t number, track;
    uint32_t names[METRICS_MAX]; // string ids
    struct metrics_config config;
    void *object;
    uint8_t *data;
    size_t data_bytes;
    int64_t started;     // trace time
    uint64_t sample_end; // of the newest one, in CUPTI's time; 0: there is none
};

static struct metrics_functions functions;
static struct device devices[DEVICES];
static size_t device_count;
static uint64_t interval_ns;
static char wanted[512]; // names, with '\0' between them
static size_t wanted_count;
static pid_t process;
static _Atomic uint64_t waiting; // devices that contexts were made on: a bit per number
static uint64_t seen;
static _Atomic uint32_t running, stopping; // who waits for either is woken when it changes
static struct foreign_clock_piece piece;

static void notice_metrics(const char *text) {
    channel_attribute(agent.channel, "notice.cuda-metrics", text);
}

static void say_refused(const char *step, int result) {
    char text[640];
    const char *advice =
        result == CUPTI_PRIVILEGES || result == CUPTI_VIRTUALIZED_PRIVILEGES
            ? "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); the administrator "
              "can "
              "allow it (NVreg_RestrictProfilingToAdminUsers=0), or run as root or with CAP_SYS_ADMIN"
        : result == CUPTI_HARDWARE_BUSY
            ? "another tool has the GPU's performance counters (Nsight, DCGM, --pc-samples); stop it"
            : "metrics need a GPU of compute capability 7.5 or higher, and libnvperf_host next to libcupti";
    snprintf(text, sizeof text,
             "no metrics of the GPU: CUPTI returned %s (%d) at %s: %s; everything else is recorded",
             library_error(result), result, step, advice);
    notice_metrics(text);
}

// ---- setting a device up. What was made is given back by give_back().

static void give_back(struct device *device) {
    if (device->object)
        functions.Disable(&(struct cupti_pm){METRICS_SIZE(cupti_pm, object), NULL, device->object});
    metrics_config_free(&functions, &device->config);
    free(device->data);
    device->object = NULL;
    device->data = NULL;
    device->on = false;
}

static int clear_samples(struct device *device) {
    struct cupti_pm_data_start params = {METRICS_SIZE(cupti_pm_data_start, image), NULL, device->object,
                                         device->data_bytes, device->data};
    return functions.DataStart(&params);
}

// By time, or where the hardware has no clock for that, by cycles: about as many as ns.
static int configure(struct device *device) {
    struct cupti_pm_config params = {.size = METRICS_SIZE(cupti_pm_config, trigger),
                                     .object = device->object,
                                     .bytes = device->config.bytes,
                                     .image = device->config.image,
                                     .buffer = BUFFER_BYTES,
                                     .interval = interval_ns,
                                     .trigger = CUPTI_TRIGGER_TIME};
    int result = functions.SetConfig(&params);
    if (result != CUPTI_OK && result != CUPTI_PRIVILEGES && result != CUPTI_HARDWARE_BUSY) {
        params.trigger = CUPTI_TRIGGER_CLOCKS;
        result = functions.SetConfig(&params);
    }
    return result;
}

static int make_data(struct device *device) {
    struct cupti_pm_data_size size = {.size = METRICS_SIZE(cupti_pm_data_size, bytes),
                                      .object = device->object,
                                      .names = device->config.names,
                                      .count = device->config.count,
                                      .samples = SAMPLES};
    const int result = functions.DataSize(&size);
    if (result != CUPTI_OK)
        return result;
    device->data_bytes = size.bytes;
    device->data = calloc(1, size.bytes ? size.bytes : 1);
    return device->data ? clear_samples(device) : CUPTI_OUT_OF_MEMORY;
}

static int set_up(struct device *device, const char **step) {
    struct cupti_pm_enable enable = {METRICS_SIZE(cupti_pm_enable, object), NULL, device->number, NULL};
    int result = metrics_config_make(&functions, device->number, wanted, wanted_count, &device->config, step);
    if (result != CUPTI_OK)
        return result;
    *step = "enabling";
    result = functions.Enable(&enable);
    device->object = result == CUPTI_OK ? enable.object : NULL;
    if (result == CUPTI_OK) {
        *step = "configuring";
        result = configure(device);
    }
    if (result == CUPTI_OK)
        result = make_data(device);
    if (result == CUPTI_OK) {
        *step = "starting";
        device->started = clock_trace_now();
        result = functions.Start(&(struct cupti_pm){METRICS_SIZE(cupti_pm, object), NULL, device->object});
    }
    return result;
}

static void add_device(uint32_t number) {
    const char *step = "";
    if (device_count == DEVICES) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    struct device *device = &devices[device_count++];
    device->number = number;
    const int result = set_up(device, &step);
    if (result != CUPTI_OK) {
        say_refused(step, result);
        give_back(device);
        return;
    }
    for (size_t i = 0; i < device->config.count; i++)
        device->names[i] = channel_string_cstr(agent.channel, device->config.names[i]);
    device->track = tracks_stream(number, CUPTI_NONE, CUPTI_NONE, "GPU metrics");
    device->on = true;
}

// ---- reading

static void write_values(const struct device *device, int64_t start, const double *values) {
    struct ring *ring = channel_armed(agent.channel) ? channel_ring(agent.channel) : NULL;
    for (size_t i = 0; ring && i < device->config.count; i++)
        if (!isnan(values[i])) // not known
            TRACK_RECORD_WRITE(ring, counter, device->track, .start = (uint64_t)start,
                               .name = device->names[i], .value = record_double(values[i]));
}

static void count_missing(struct device *device, uint64_t start, uint64_t end) {
    uint64_t missing = 0;
    if (device->sample_end && end > start && start > device->sample_end)
        missing = (start - device->sample_end + (end - start) / 2) / (end - start);
    if (device->overflowed && !missing)
        missing = 1;
    if (missing)
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, missing);
    device->overflowed = false;
    device->sample_end = end;
}

static void record_sample(struct device *device, size_t index) {
    double values[METRICS_MAX];
    struct cupti_pm_sample sample = {.size = METRICS_SIZE(cupti_pm_sample, end),
                                     .object = device->object,
                                     .image = device->data,
                                     .bytes = device->data_bytes,
                                     .index = index};
    struct cupti_host_values params = {.size = METRICS_SIZE(cupti_host_values, values),
                                       .host = device->config.host,
                                       .image = device->data,
                                       .bytes = device->data_bytes,
                                       .sample = index,
                                       .names = device->config.names,
                                       .count = device->config.count,
                                       .values = values};
    if (functions.SampleInfo(&sample) != CUPTI_OK || functions.HostValues(&params) != CUPTI_OK) {
        channel_lose(agent.channel, TSMITH_REASON_CORRUPT, 1);
        return;
    }
    const int64_t start = foreign_clock_convert(&cupti_clock, &piece, sample.start),
                  end = foreign_clock_convert(&cupti_clock, &piece, sample.end);
    count_missing(device, sample.start, sample.end);
    if (start == FOREIGN_CLOCK_UNKNOWN || end == FOREIGN_CLOCK_UNKNOWN || end < start ||
        start < device->started - SLACK_NS || end > clock_trace_now() + SLACK_NS) {
        channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
        notice_metrics("metrics of the GPU are missing: their times are not on CUPTI's clock");
        return;
    }
    write_values(device, start, values);
}

// All that the hardware has. False: CUPTI refuses to go on.
static bool drain(struct device *device) {
    for (int reads = 0; reads < READS_MAX; reads++) {
        struct cupti_pm_decode decode = {.size = METRICS_SIZE(cupti_pm_decode, overflow),
                                         .object = device->object,
                                         .image = device->data,
                                         .bytes = device->data_bytes};
        struct cupti_pm_info info = {.size = METRICS_SIZE(cupti_pm_info, completed),
                                     .image = device->data,
                                     .bytes = device->data_bytes};
        const int result = functions.Decode(&decode);
        if (result != CUPTI_OK) {
            say_refused("reading", result);
            return false;
        }
        if (functions.DataInfo(&info) != CUPTI_OK)
            return false;
        for (size_t i = 0; i < info.completed; i++)
            record_sample(device, i);
        device->full = device->full || decode.overflow;
        device->overflowed = device->overflowed || decode.overflow;
        if (info.completed && clear_samples(device) != CUPTI_OK)
            return false;
        if (decode.stopped != CUPTI_DECODE_IMAGE_FULL)
            return true;
    }
    return true;
}

static int control_sampling(struct device *device, int (*function)(struct cupti_pm *)) {
    return function(&(struct cupti_pm){METRICS_SIZE(cupti_pm, object), NULL, device->object});
}

// A buffer that was full takes no more samples until sampling is started again.
static void look_at(struct device *device) {
    bool well = drain(device);
    if (well && device->full) {
        notice_metrics(
            "some metrics of the GPU are missing: the GPU's buffer for them was full; sample less often "
            "(--gpu-metrics=US with a larger US)");
        well = control_sampling(device, functions.Stop) == CUPTI_OK && drain(device) &&
               control_sampling(device, functions.Start) == CUPTI_OK;
        device->full = false;
    }
    if (!well) {
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1); // how many is unknown
        device->overflowed = false;
        give_back(device);
    }
}

static void stop_device(struct device *device) {
    if (control_sampling(device, functions.Stop) != CUPTI_OK || !drain(device) || device->overflowed)
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1);
    give_back(device);
}

static void look_at_devices(void) {
    const uint64_t now = atomic_load(&waiting);
    for (uint32_t number = 0; number < 64; number++)
        if ((now & ~seen) >> number & 1)
            add_device(number);
    seen |= now;
    for (size_t i = 0; i < device_count; i++)
        if (devices[i].on)
            look_at(&devices[i]);
}

static void *metrics_main(void *unused) {
    (void)unused;
    while (!atomic_load(&stopping) && !atomic_load(&library_gone)) {
        look_at_devices();
        channel_rest(agent.channel, true);
        (void)wait_change(&stopping, 0, clock_trace_now() + LOOK_MS * INT64_C(1000000));
        channel_rest(agent.channel, false);
    }
    for (size_t i = 0; i < device_count && !atomic_load(&library_gone); i++)
        if (devices[i].on)
            stop_device(&devices[i]);
    channel_rest(agent.channel, true);
    atomic_store(&running, 0);
    wait_wake(&running);
    return NULL;
}

// ---- beginning and end

static bool find_functions(void) {
    bool all = true;
#define FIND(member, name, ...)                                                                              \
    *(void **)&functions.member = dlsym(cupti.handle, #name);                                                \
    all = all && functions.member;
    CUPTI_METRICS_FUNCTIONS(FIND)
#undef FIND
    return all;
}

// The names between '+', into `wanted`.
static bool read_names(const char *names) {
    const size_t length = strcspn(names, ",");
    if (length >= sizeof wanted)
        return false;
    memcpy(wanted, names, length);
    wanted_count = length != 0;
    for (size_t i = 0; i < length; i++)
        if (wanted[i] == '+') {
            wanted[i] = '\0';
            wanted_count++;
        }
    return wanted_count <= METRICS_MAX;
}

static bool read_options(const char *period, const char *names) {
    const unsigned long given = period ? strtoul(period, NULL, 10) : 0, us = given ? given : DEFAULT_US;
    interval_ns = us * 1000;
    return us >= US_MIN && us <= US_MAX && (!names || read_names(names));
}

static bool start_thread(void) {
    atomic_store(&running, 1);
    const bool started = agent_thread_start(metrics_main, NULL);
    if (!started)
        atomic_store(&running, 0);
    return started;
}

void metrics_start(void) {
    const char *period = cuda_option(CUDA_OPTION_METRICS), *names = cuda_option(CUDA_OPTION_METRIC_NAMES);
    if (!period && !names)
        return;
    if (!read_options(period, names))
        notice_metrics("no metrics of the GPU: the interval is 10 to 1000000 us, with 16 metrics at most");
    else if (!cupti_has(CUPTI_12_6) || !find_functions())
        notice_metrics(
            "no metrics of the GPU: they need CUPTI of CUDA 12.6 or newer (set TRACESMITH_CUPTI to its "
            "path)");
    else {
        process = getpid();
        if (!start_thread())
            notice_metrics("no metrics of the GPU: a thread could not be created");
    }
}

void metrics_device(uint32_t device) {
    if (device < 64)
        atomic_fetch_or(&waiting, UINT64_C(1) << device);
}

void metrics_end(void) {
    const int64_t until = clock_trace_now() + WAIT_NS;
    atomic_store(&stopping, 1);
    if (getpid() != process)
        return;
    wait_wake(&stopping);
    while (atomic_load(&running)) {
        if (!wait_change(&running, 1, until)) {
            channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, 1); // how many is unknown
            notice_metrics("the last metrics of the GPU are missing: CUPTI did not return");
            return;
        }
    }
}
