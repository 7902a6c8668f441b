// SPDX-License-Identifier: Apache-2.0
// The table of agents, and the check of their options. The launcher and callers of tsmith_agent_* use it.
#include "launch/agent_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "tracesmith/frames.h"
#include "wire/environment.h"

#define OPTION(NAME, key, value, argument, least, most, doc)                                                 \
    {key, AGENT_VALUE_##value, argument, least, most, doc},
static const struct agent_option_row cuda_options[] = {CUDA_OPTION_TABLE(OPTION)};
static const struct agent_option_row opencl_options[] = {OPENCL_OPTION_TABLE(OPTION)};
static const struct agent_option_row level_zero_options[] = {LEVEL_ZERO_OPTION_TABLE(OPTION)};
static const struct agent_option_row vulkan_options[] = {VULKAN_OPTION_TABLE(OPTION)};
static const struct agent_option_row rocm_options[] = {ROCM_OPTION_TABLE(OPTION)};
#undef OPTION

#define OPTIONS(table) .options = table, .option_count = sizeof table / sizeof table[0]
// rocprofiler-register calls abort() if a tool is named and it cannot open the SDK, by its name without a version.
static const struct agent_needs rocm_needs = {
    .library = "librocprofiler-sdk.so.1",
    .also = "librocprofiler-sdk.so",
    .folders = "/opt/rocm/lib:/opt/rocm/core/lib",
    .runtime = "libamdhip64.so",
    .advice = "ROCm programs are not recorded: librocprofiler-sdk.so.1 was not found. Install the package "
              "rocprofiler-sdk of ROCm 7.0 to 7.2, or amdrocm-profiler-base of a later one (versions before "
              "7.0 have "
              "no SDK that is recorded). If it is not in /opt/rocm/lib, add its folder to LD_LIBRARY_PATH"};

// MSPTI records by taking the place of the runtime's functions, so it is preloaded too.
static const struct agent_needs cann_needs = {
    .library = "libmspti.so",
    .folders = "/usr/local/Ascend/ascend-toolkit/latest/lib64:/usr/local/Ascend/ascend-toolkit/latest/tools/"
               "mspti/lib64:"
               "/usr/local/Ascend/cann/lib64:/usr/local/Ascend/latest/lib64",
    .runtime = "libascendcl.so",
    .advice =
        "CANN programs are not recorded: libmspti.so was not found. It comes with the CANN toolkit: source "
        "the toolkit's set_env.sh, or add its folder to LD_LIBRARY_PATH"};

static const struct agent_row agent_rows[] = {
    {.api = "opencl",
     .doc = "OpenCL, through a layer of its loader",
     .variable = "OPENCL_LAYERS",
     .separator = ':',
     .loader = "libOpenCL.so.1",
     .comes_late = "libOpenCL.so",
     OPTIONS(opencl_options)},
    {.api = "cuda",
     .doc = "CUDA, through CUPTI; the driver loads the agent",
     .variable = INJECTION_CUDA,
     .next = INJECTION_CUDA_NEXT,
     .comes_late = "libcuda.so",
     OPTIONS(cuda_options)},
    {.api = "nvtx",
     .doc = "NVTX: ranges, marks and names",
     .variable = INJECTION_NVTX,
     .next = INJECTION_NVTX_NEXT},
    {.api = "nccl",
     .doc = "NCCL: collectives, through its profiler plugin interface",
     .variable = INJECTION_NCCL,
     .next = INJECTION_NCCL_NEXT},
    {.api = "openmp",
     .doc = "OpenMP: target constructs, through OMPT",
     .variable = INJECTION_OPENMP,
     .separator = ':'},
    {.api = "openacc",
     .doc = "OpenACC: constructs, launches and transfers, through its profiling interface",
     .variable = INJECTION_OPENACC,
     .separator = ';'},
    {.api = "rocm",
     .doc = "ROCm (HIP, roctx, RCCL), through rocprofiler-sdk",
     .variable = INJECTION_ROCM,
     .separator = ':',
     .is_closed = true,
     .needs = &rocm_needs,
     OPTIONS(rocm_options)},
    {.api = "musa",
     .doc = "Moore Threads MUSA, through MUPTI; the driver loads the agent",
     .variable = INJECTION_MUSA,
     .next = INJECTION_MUSA_NEXT},
    {.api = "maca",
     .doc = "MetaX MACA, through MCPTI; preloaded, and only if it is named",
     .variable = "LD_PRELOAD",
     .separator = ':',
     .only_if_named = true},
    {.api = "cann",
     .doc = "Huawei CANN (Ascend), through MSPTI; preloaded, and only if it is named",
     .variable = "LD_PRELOAD",
     .separator = ':',
     .only_if_named = true,
     .needs = &cann_needs,
     .preloads = "libmspti.so"},
    {.api = "vulkan",
     .doc = "Vulkan, through a layer of its loader",
     .variable = "VK_INSTANCE_LAYERS",
     .separator = ':',
     .layer = "VK_LAYER_TRACESMITH_profile",
     .recorder = "VK_LAYER_TRACESMITH_record",
     .folders = "VK_LAYER_PATH",
     .more_folders = "VK_ADD_LAYER_PATH",
     OPTIONS(vulkan_options)},
    {.api = "level-zero",
     .doc = "Level Zero, through its loader's tracing layer; preloaded, and only if it is named",
     .variable = "LD_PRELOAD",
     .separator = ':',
     .also = {{INJECTION_LEVEL_ZERO, "1"}},
     .only_if_named = true,
     OPTIONS(level_zero_options)},
    {.api = "sycl",
     .doc = "SYCL of DPC++: submissions and waits, through XPTI; only if it is named",
     .variable = INJECTION_SYCL,
     .separator = ',',
     .also = {{INJECTION_SYCL_ON, "1"}, {INJECTION_SYCL_FRAMEWORK, "libxptifw.so"}},
     .only_if_named = true},
    {.api = "mpi",
     .doc = "MPI (Open MPI, MPICH), by its functions; preloaded, and only into programs that use it",
     .variable = "LD_PRELOAD",
     .separator = ':',
     .only_if_named = true},
};
#undef OPTIONS
enum { AGENT_ROWS = sizeof agent_rows / sizeof *agent_rows };

// A part of a text.
struct span {
    const char *at;
    size_t length;
};

static struct span span_of(const char *text) {
    return (struct span){text ? text : "", text ? strlen(text) : 0};
}

static struct span take_until(struct span *rest, char separator) {
    const char *end = memchr(rest->at, separator, rest->length);
    const struct span taken = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
    rest->at += taken.length + (end != NULL);
    rest->length -= taken.length + (end != NULL);
    return taken;
}

// ---- the table

static const char *name_of_row(const void *table, size_t index) {
    return ((const struct agent_row *)table)[index].api;
}

static const char *name_of_option(const void *table, size_t index) {
    return ((const struct agent_option_row *)table)[index].key;
}

static void join_names(const char *(*name)(const void *table, size_t index), const void *table, size_t count,
                       char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name(table, i));
}

const struct agent_row *agent_row_at(size_t index) {
    return index < AGENT_ROWS ? &agent_rows[index] : NULL;
}

tsmith_status agent_row_find(const char *api, const struct agent_row **out, tsmith_error *error) {
    char all[256];
    for (size_t i = 0; i < AGENT_ROWS; i++) {
        if (strcmp(agent_rows[i].api, api ? api : "") == 0) {
            *out = &agent_rows[i];
            return TSMITH_OK;
        }
    }
    join_names(name_of_row, agent_rows, AGENT_ROWS, all, sizeof all);
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "unknown API \"%s\"; available: %s",
                      api ? api : "", all);
}

static tsmith_status find_option(const struct agent_row *agent, struct span key,
                                 const struct agent_option_row **out, tsmith_error *error) {
    char all[256];
    for (size_t i = 0; i < agent->option_count; i++) {
        if (strlen(agent->options[i].key) == key.length &&
            memcmp(agent->options[i].key, key.at, key.length) == 0) {
            *out = &agent->options[i];
            return TSMITH_OK;
        }
    }
    if (!agent->option_count)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "unknown option \"%.*s\" of the agent %s, which has no options", (int)key.length,
                          key.at, agent->api);
    join_names(name_of_option, agent->options, agent->option_count, all, sizeof all);
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                      "unknown option \"%.*s\" of the agent %s; available: %s", (int)key.length, key.at,
                      agent->api, all);
}

bool agent_is_selected(const tsmith_capture_options *options, const char *api) {
    const struct agent_row *row;
    bool any = (!options->apis || options->api_count == 0) &&
               (agent_row_find(api, &row, NULL) != TSMITH_OK || !row->only_if_named);
    for (size_t i = 0; !any && i < options->api_count; i++)
        any = strcmp(options->apis[i], api) == 0;
    return any;
}

// ---- values

static bool is_number(struct span value, unsigned long least, unsigned long most) {
    unsigned long number = 0;
    if (value.length > 9)
        return false;
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
        number = number * 10 + (unsigned long)(value.at[i] - '0');
    }
    return number >= least && number <= most;
}

static bool are_names(struct span value, unsigned long least, unsigned long most) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    unsigned long names = 0;
    while (value.length) {
        const bool another = value.at[value.length - 1] != '+';
        const struct span name = take_until(&value, '+');
        if (!name.length || !another || strspn(name.at, allowed) < name.length)
            return false;
        names++;
    }
    return names >= least && names <= most;
}

static tsmith_status check_value(const struct agent_row *agent, const struct agent_option_row *option,
                                 struct span value, tsmith_error *error) {
    const bool good = option->value == AGENT_VALUE_NONE ? value.length == 0
                      : option->value == AGENT_VALUE_NUMBER
                          ? value.length == 0 || is_number(value, option->least, option->most)
                          : are_names(value, option->least, option->most);
    if (good)
        return TSMITH_OK;
    if (option->value == AGENT_VALUE_NONE)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "the option \"%s\" of the agent %s takes no value ('%.*s' was given)", option->key,
                          agent->api, (int)value.length, value.at);
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                      option->value == AGENT_VALUE_NUMBER
                          ? "the option \"%s\" of the agent %s: '%.*s' is not a number from %lu to %lu"
                          : "the option \"%s\" of the agent %s: '%.*s' is not a list of names separated by + "
                            "(%lu to %lu)",
                      option->key, agent->api, (int)value.length, value.at, option->least, option->most);
}

// ---- the options of a capture

struct writer {
    char *out;
    size_t size, used;
    tsmith_error *error;
};

static tsmith_status write_option(struct writer *writer, const char *api, struct span key,
                                  struct span value) {
    const struct agent_row *agent;
    const struct agent_option_row *option;
    tsmith_status status = agent_row_find(api, &agent, writer->error);
    if (!status)
        status = find_option(agent, key, &option, writer->error);
    if (!status)
        status = check_value(agent, option, value, writer->error);
    if (status)
        return status;
    writer->used += (size_t)snprintf(writer->out + writer->used, writer->size - writer->used, "%s%s.%s%s%.*s",
                                     writer->used ? "," : "", api, option->key, value.length ? "=" : "",
                                     (int)value.length, value.at);
    if (writer->used < writer->size)
        return TSMITH_OK;
    return status_set(writer->error, TSMITH_ERROR_LIMIT, "the options of agents are longer than %zu bytes",
                      writer->size);
}

// The older form: words between commas, "pc-samples:12", "metrics:100:NAME+NAME".
static tsmith_status write_words(struct writer *writer, const char *api, struct span words) {
    tsmith_status status = TSMITH_OK;
    while (!status && words.length) {
        struct span rest = take_until(&words, ',');
        const struct span key = take_until(&rest, ':');
        const bool metrics = key.length == strlen("metrics") && memcmp(key.at, "metrics", key.length) == 0;
        const struct span value = metrics ? take_until(&rest, ':') : rest;
        status = write_option(writer, api, key, value);
        if (!status && metrics && rest.length)
            status = write_option(writer, api, span_of("metric-names"), rest);
    }
    return status;
}

tsmith_status agent_options_write(const tsmith_capture_options *options, char *out, size_t size,
                                  tsmith_error *error) {
    struct writer writer = {.out = out, .size = size, .error = error};
    out[0] = '\0';
    if (options->cuda && options->cuda[0] && !agent_is_selected(options, "cuda"))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "options of the agent cuda were given, but it is not selected");
    tsmith_status status = write_words(&writer, "cuda", span_of(options->cuda));
    for (size_t i = 0; !status && options->agent_options && i < options->agent_option_count; i++) {
        const tsmith_agent_option *given = &options->agent_options[i];
        status = write_option(&writer, given->api, span_of(given->key), span_of(given->value));
        if (!status && !agent_is_selected(options, given->api))
            status = status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                                "the option \"%s\" is of the agent %s, which is not selected", given->key,
                                given->api);
    }
    return status;
}

// ---- for callers

const char *tsmith_agent_name(size_t index) {
    return index < AGENT_ROWS ? agent_rows[index].api : NULL;
}

const char *tsmith_agent_doc(size_t index) {
    return index < AGENT_ROWS ? agent_rows[index].doc : NULL;
}

int tsmith_agent_option_describe(size_t index, tsmith_agent_option_description *out) {
    for (size_t i = 0; i < AGENT_ROWS; index -= agent_rows[i++].option_count) {
        if (index >= agent_rows[i].option_count)
            continue;
        const struct agent_option_row *row = &agent_rows[i].options[index];
        const tsmith_agent_option_description description = {.size = sizeof description,
                                                             .api = agent_rows[i].api,
                                                             .key = row->key,
                                                             .argument = row->argument,
                                                             .value_optional =
                                                                 row->value == AGENT_VALUE_NUMBER,
                                                             .least = row->least,
                                                             .most = row->most,
                                                             .doc = row->doc};
        sized_give(tsmith_agent_option_description, &description, out);
        return 1;
    }
    return 0;
}

tsmith_status tsmith_capture_check(const tsmith_capture_options *options, tsmith_error *error) {
    tsmith_capture_options all;
    const struct agent_row *row;
    char text[AGENT_OPTIONS_BYTES];
    tsmith_status status = sized_take(tsmith_capture_options, options, &all, error);
    for (size_t i = 0; !status && all.apis && i < all.api_count; i++)
        status = agent_row_find(all.apis[i], &row, error);
    if (!status && all.frames)
        status = tsmith_frames_check(all.frames, error);
    return status ? status : agent_options_write(&all, text, sizeof text, error);
}
