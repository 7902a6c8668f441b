// SPDX-License-Identifier: Apache-2.0
// Chooses the metrics of a device; metrics.c calls it. Rules: agent.h. Chips differ in the metrics that they have, and
// in how many fit into a pass. So metrics are tried one after the other: each with those taken before it, in an object
// of CUPTI's of its own, since one that refused may be in any state.
#include "metrics_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

#define ELAPSED ".avg.pct_of_peak_sustained_elapsed"

// The most useful first. A chip has one or the other name for tensor cores. GB100 has no bytes of PCIe, only its throughput.
static const char *const choice[] = {"gr__cycles_active" ELAPSED,
                                     "sm__cycles_active" ELAPSED,
                                     "sm__pipe_tensor_cycles_active" ELAPSED,
                                     "sm__inst_executed_pipe_tensor" ELAPSED,
                                     "dram__read_throughput" ELAPSED,
                                     "dram__write_throughput" ELAPSED,
                                     "pcie__read_bytes.sum.per_second",
                                     "pcie__write_bytes.sum.per_second",
                                     "nvlrx__bytes.sum.per_second",
                                     "nvltx__bytes.sum.per_second",
                                     "pcie__throughput" ELAPSED};

void metrics_config_free(const struct metrics_functions *functions, struct metrics_config *config) {
    if (config->host)
        functions->HostDeinitialize(&(struct cupti_host){METRICS_SIZE(cupti_host, host), NULL, config->host});
    free(config->image);
    config->host = NULL;
    config->image = NULL;
}

// The metrics of `config` as an image of CUPTI's. `passes`: that it takes.
static int build(const struct metrics_functions *functions, const char *chip, const uint8_t *available,
                 struct metrics_config *config, size_t *passes) {
    struct cupti_host_start start = {.size = METRICS_SIZE(cupti_host_start, host),
                                     .type = CUPTI_PM_PROFILER,
                                     .chip = chip,
                                     .available = available};
    int result = functions->HostInitialize(&start);
    if (result != CUPTI_OK)
        return result;
    config->host = start.host;
    struct cupti_host_add add = {METRICS_SIZE(cupti_host_add, count), NULL, config->host, config->names,
                                 config->count};
    struct cupti_host_image_size size = {METRICS_SIZE(cupti_host_image_size, bytes), NULL, config->host, 0};
    if ((result = functions->HostAddMetrics(&add)) != CUPTI_OK ||
        (result = functions->HostImageSize(&size)) != CUPTI_OK)
        return result;
    config->bytes = size.bytes;
    config->image = calloc(1, size.bytes ? size.bytes : 1);
    struct cupti_host_image image = {METRICS_SIZE(cupti_host_image, image), NULL, config->host, config->bytes,
                                     config->image};
    struct cupti_host_passes many = {METRICS_SIZE(cupti_host_passes, passes), NULL, config->bytes,
                                     config->image, 0};
    if (!config->image)
        return CUPTI_OUT_OF_MEMORY;
    if ((result = functions->HostImage(&image)) == CUPTI_OK)
        result = functions->HostPasses(&many);
    *passes = many.passes;
    return result;
}

// Those that the chip has and that fit.
static int choose(const struct metrics_functions *functions, const char *chip, const uint8_t *available,
                  const char *const *names, size_t count, struct metrics_config *out) {
    char left_out[1024] = "";
    size_t length = 0;
    int refused = CUPTI_NOT_SUPPORTED;
    for (size_t i = 0; i < count && i < METRICS_MAX; i++) {
        struct metrics_config next = {.count = out->count + 1};
        size_t passes = 0;
        memcpy(next.names, out->names, out->count * sizeof *out->names);
        next.names[out->count] = names[i];
        const int result = build(functions, chip, available, &next, &passes);
        if (result == CUPTI_OK && passes == 1) {
            metrics_config_free(functions, out);
            *out = next;
            continue;
        }
        metrics_config_free(functions, &next);
        refused = result == CUPTI_OK ? CUPTI_NOT_SUPPORTED : result;
        if (length < sizeof left_out)
            length += (size_t)snprintf(
                left_out + length, sizeof left_out - length, "%s%s (%s)", length ? ", " : "", names[i],
                result == CUPTI_OK ? "does not fit into one pass" : library_error(result));
    }
    if (*left_out)
        channel_attribute(agent.channel, "cuda.metrics.left_out", left_out);
    return out->count ? CUPTI_OK : refused;
}

static int availability(const struct metrics_functions *functions, uint32_t device, uint8_t **out) {
    struct cupti_pm_available params = {.size = METRICS_SIZE(cupti_pm_available, image), .device = device};
    int result = functions->GetAvailability(&params);
    if (result != CUPTI_OK)
        return result;
    *out = params.image = calloc(1, params.bytes ? params.bytes : 1);
    return *out ? functions->GetAvailability(&params) : CUPTI_OUT_OF_MEMORY;
}

int metrics_config_make(const struct metrics_functions *functions, uint32_t device, const char *names,
                        size_t count, struct metrics_config *out, const char **step) {
    const char *list[METRICS_MAX];
    uint8_t *available = NULL;
    struct cupti_profiler_start start = {METRICS_SIZE(cupti_profiler_start, priv), NULL};
    struct cupti_chip chip = {.size = METRICS_SIZE(cupti_chip, name), .device = device};
    for (size_t i = 0; i < count && i < METRICS_MAX; i++, names += strlen(names) + 1)
        list[i] = names;
    *step = "initializing its profiler";
    int result = functions->Initialize(&start);
    if (result == CUPTI_OK) {
        *step = "querying the chip";
        result = functions->GetChipName(&chip);
    }
    if (result == CUPTI_OK) {
        *step = "querying the counters";
        result = availability(functions, device, &available);
    }
    if (result == CUPTI_OK) {
        *step = "choosing metrics";
        result = choose(functions, chip.name, available, count ? list : choice,
                        count ? count : sizeof choice / sizeof *choice, out);
    }
    free(available);
    return result;
}
