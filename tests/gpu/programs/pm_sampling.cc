// SPDX-License-Identifier: Apache-2.0
// pm_sampling [CHIP]: whether CUPTI can sample the GPU's metrics over time (PM sampling) here, and the result while
// kernels run. Each step is a line, "pm STEP RESULT", so that the first that fails is known; then
//
//     pm samples COUNT PERIOD-NS FIRST-START LAST-END HIGHEST-OF-EACH-METRIC...
//
// With CHIP (for example GH100) only the part that needs no GPU: the library for metrics makes the configuration for that chip.
// CUPTI_LIBRARY names the libcupti to take. Exit codes: 0 samples came (with CHIP: a configuration), 1 not, 77 not there.
#include "driver.h"

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <stdint.h>

enum { SAMPLES = 4096, METRICS = 2, BUFFER_BYTES = 64 << 20, INTERVAL_NS = 100000, LAUNCHES = 20000 };

static const char *metrics[METRICS] = {"sm__cycles_active.avg", "gpc__cycles_elapsed.max"};
static void *library;
static CUpti_Profiler_Host_Object *host;
static CUpti_PmSampling_Object *sampler;
static uint8_t *config, *image;
static size_t config_size, image_size;

// A call of CUPTI with one structure of parameters, which is zero except for the given ones; prints its result.
#define CALL(type, function, ...)                                                                            \
    __extension__({                                                                                          \
        type##_Params parameters = {.structSize = type##_Params_STRUCT_SIZE, __VA_ARGS__};                   \
        __typeof__(&function) call = (__typeof__(&function))dlsym(library, #function);                       \
        const int result = call ? (int)call(&parameters) : -1;                                               \
        printf("pm %s %d\n", #function, result);                                                             \
        fflush(stdout);                                                                                      \
        if (result)                                                                                          \
            exit(call ? 1 : 77);                                                                             \
        parameters;                                                                                          \
    })

static void open_cupti(void) {
    const char *path = getenv("CUPTI_LIBRARY");
    library = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW);
    if (!library) {
        printf("skipped: no libcupti: %s\n", dlerror());
        exit(77);
    }
    if (dlsym(library, "tracesmith_simulated"))
        printf("simulated libcupti\n");
    if (!dlsym(library, "cuptiPmSamplingEnable")) {
        printf("skipped: this libcupti has no PM sampling\n");
        exit(77);
    }
}

static void configure(const char *chip, const uint8_t *available) {
    host = CALL(CUpti_Profiler_Host_Initialize, cuptiProfilerHostInitialize, .profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
                .pChipName = chip, .pCounterAvailabilityImage = available)
               .pHostObject;
    CALL(CUpti_Profiler_Host_ConfigAddMetrics, cuptiProfilerHostConfigAddMetrics, .pHostObject = host,
         .ppMetricNames = metrics, .numMetrics = METRICS);
    config_size = CALL(CUpti_Profiler_Host_GetConfigImageSize, cuptiProfilerHostGetConfigImageSize, .pHostObject = host)
                      .configImageSize;
    config = (uint8_t *)calloc(1, config_size);
    CALL(CUpti_Profiler_Host_GetConfigImage, cuptiProfilerHostGetConfigImage, .pHostObject = host,
         .configImageSize = config_size, .pConfigImage = config);
    printf("pm passes %zu of %zu bytes\n",
           CALL(CUpti_Profiler_Host_GetNumOfPasses, cuptiProfilerHostGetNumOfPasses, .configImageSize = config_size,
                .pConfigImage = config)
               .numOfPasses,
           config_size);
}

static void prepare(void) {
    sampler = CALL(CUpti_PmSampling_Enable, cuptiPmSamplingEnable, .deviceIndex = 0).pPmSamplingObject;
    CALL(CUpti_PmSampling_SetConfig, cuptiPmSamplingSetConfig, .pPmSamplingObject = sampler, .configSize = config_size,
         .pConfig = config, .hardwareBufferSize = BUFFER_BYTES, .samplingInterval = INTERVAL_NS,
         .triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
         .hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
    image_size = CALL(CUpti_PmSampling_GetCounterDataSize, cuptiPmSamplingGetCounterDataSize, .pPmSamplingObject = sampler,
                      .pMetricNames = metrics, .numMetrics = METRICS, .maxSamples = SAMPLES)
                     .counterDataSize;
    image = (uint8_t *)calloc(1, image_size);
    CALL(CUpti_PmSampling_CounterDataImage_Initialize, cuptiPmSamplingCounterDataImageInitialize,
         .pPmSamplingObject = sampler, .counterDataSize = image_size, .pCounterData = image);
}

static void run_kernels(void) {
    CUmodule module;
    CUfunction kernel;
    driver_need(DRIVER(cuModuleLoadData)(&module, driver_ptx), "cuModuleLoadData");
    driver_need(DRIVER(cuModuleGetFunction)(&kernel, module, "nothing"), "cuModuleGetFunction");
    for (int i = 0; i < LAUNCHES; i++)
        driver_need(DRIVER(cuLaunchKernel)(kernel, 64, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    driver_need(DRIVER(cuCtxSynchronize)(), "cuCtxSynchronize");
}

// The samples' count, times and highest values; without a line per call.
static size_t read_samples(void) {
    const CUpti_PmSampling_GetCounterDataInfo_Params all =
        CALL(CUpti_PmSampling_GetCounterDataInfo, cuptiPmSamplingGetCounterDataInfo, .pCounterDataImage = image,
             .counterDataImageSize = image_size);
    __typeof__(&cuptiPmSamplingCounterDataGetSampleInfo) info =
        (__typeof__(&cuptiPmSamplingCounterDataGetSampleInfo))dlsym(library, "cuptiPmSamplingCounterDataGetSampleInfo");
    __typeof__(&cuptiProfilerHostEvaluateToGpuValues) evaluate =
        (__typeof__(&cuptiProfilerHostEvaluateToGpuValues))dlsym(library, "cuptiProfilerHostEvaluateToGpuValues");
    double highest[METRICS] = {0}, values[METRICS];
    uint64_t first = 0, last = 0;
    size_t count = 0;
    for (size_t i = 0; info && evaluate && i < all.numCompletedSamples; i++) {
        CUpti_PmSampling_CounterData_GetSampleInfo_Params sample = {
            .structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE, .pPmSamplingObject = sampler,
            .pCounterDataImage = image, .counterDataImageSize = image_size, .sampleIndex = i};
        CUpti_Profiler_Host_EvaluateToGpuValues_Params values_of = {
            .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE, .pHostObject = host,
            .pCounterDataImage = image, .counterDataImageSize = image_size, .rangeIndex = i,
            .ppMetricNames = metrics, .numMetrics = METRICS, .pMetricValues = values};
        if (info(&sample) != CUPTI_SUCCESS || evaluate(&values_of) != CUPTI_SUCCESS)
            continue;
        first = count ? first : sample.startTimestamp;
        last = sample.endTimestamp;
        count++;
        for (int m = 0; m < METRICS; m++)
            highest[m] = values[m] > highest[m] ? values[m] : highest[m];
    }
    printf("pm samples %zu %.0f %llu %llu", count, count ? (double)(last - first) / (double)count : 0.0,
           (unsigned long long)first, (unsigned long long)last);
    for (int m = 0; m < METRICS; m++)
        printf(" %s=%.0f", metrics[m], highest[m]);
    printf("\n");
    return count;
}

int main(int argc, char **argv) {
    uint8_t *available;
    open_cupti();
    if (argc > 1) {
        configure(argv[1], NULL);
        return 0;
    }
    driver_open();
    driver_context();
    CALL(CUpti_Profiler_Initialize, cuptiProfilerInitialize, .pPriv = NULL);
    const char *chip = CALL(CUpti_Device_GetChipName, cuptiDeviceGetChipName, .deviceIndex = 0).pChipName;
    printf("pm chip %s\n", chip ? chip : "unknown");
    size_t size = CALL(CUpti_PmSampling_GetCounterAvailability, cuptiPmSamplingGetCounterAvailability, .deviceIndex = 0)
                      .counterAvailabilityImageSize;
    available = (uint8_t *)calloc(1, size ? size : 1);
    CALL(CUpti_PmSampling_GetCounterAvailability, cuptiPmSamplingGetCounterAvailability, .deviceIndex = 0,
         .counterAvailabilityImageSize = size, .pCounterAvailabilityImage = available);
    configure(chip, available);
    prepare();
    CALL(CUpti_PmSampling_Start, cuptiPmSamplingStart, .pPmSamplingObject = sampler);
    run_kernels();
    CALL(CUpti_PmSampling_Stop, cuptiPmSamplingStop, .pPmSamplingObject = sampler);
    printf("pm overflow %d\n", CALL(CUpti_PmSampling_DecodeData, cuptiPmSamplingDecodeData, .pPmSamplingObject = sampler,
                                    .pCounterDataImage = image, .counterDataImageSize = image_size)
                                   .overflow);
    const size_t count = read_samples();
    CALL(CUpti_PmSampling_Disable, cuptiPmSamplingDisable, .pPmSamplingObject = sampler);
    return count ? 0 : 1;
}
