// SPDX-License-Identifier: Apache-2.0
// Which metrics a device is sampled for: those of a list that it has, and that fit into one pass. Rules: agent.h.
#ifndef CUDA_METRICS_CONFIG_H
#define CUDA_METRICS_CONFIG_H

#include "agent.h"
#include "cupti_metrics.h"

enum { METRICS_MAX = 16 };
#define METRICS_SIZE CUPTI_METRICS_BYTES

struct metrics_functions {
#define METRICS_POINTER(member, name, type, last) int (*member)(struct type *);
    CUPTI_METRICS_FUNCTIONS(METRICS_POINTER)
#undef METRICS_POINTER
};

struct metrics_config {
    void *host; // CUPTI's
    uint8_t *image;
    size_t bytes;
    const char *names[METRICS_MAX]; // of static storage, or of the list that was given
    size_t count;
};

// `names`: `count` strings one after the other; none: a choice of ours. CUPTI's error, or CUPTI_OK with one metric or
// more; `step` is where it failed. Metrics that were left out are in the attribute "cuda.metrics.left_out".
int metrics_config_make(const struct metrics_functions *functions, uint32_t device, const char *names,
                        size_t count, struct metrics_config *out, const char **step);
void metrics_config_free(const struct metrics_functions *functions, struct metrics_config *config);

#endif
