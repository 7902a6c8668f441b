#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The structs and numbers of CUPTI's PC Sampling API have the offsets of NVIDIA's headers: those of every version
# from 12.2 on that are here; and those of the PM Sampling API, from 12.6 on.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
agent=$TRACESMITH_SOURCE_DIR/agents/cuda
# Headers of an installed toolkit, and of each version that './dev cupti --install' brings: HEADERS CUDA.
folders() {
    for place in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-*; do
        for folder in include extras/CUPTI/include; do
            [ ! -f "$place/$folder/cupti_pcsampling.h" ] || [ ! -f "$place/include/cuda.h" ] || echo "$place/$folder $place/include"
        done
    done
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/cupti
    for place in "$cache"/[0-9]*; do
        name=${place##*/}
        [ ! -f "$place/include/cupti_pcsampling.h" ] || echo "$place/include $cache/cuda-${name%%.*}/include"
    done
}
folders >"$work/folders"
[ -s "$work/folders" ] || { echo "skipped: CUPTI's headers are not here (./dev cupti --install)"; exit 77; }

# Our struct and NVIDIA's, which are of one size; then the fields: OURS=THEIRS, or the name that both have.
structs() {
    cat <<'TABLE'
cupti_pc_stall CUpti_PCSamplingStallReason
    reason=pcSamplingStallReasonIndex samples
cupti_pc CUpti_PCSamplingPCData
    size cubin_crc=cubinCrc offset=pcOffset function_index=functionIndex function=functionName
    stall_count=stallReasonCount stalls=stallReason correlation=correlationId
cupti_pc_data CUpti_PCSamplingData
    size room=collectNumPcs samples=totalSamples dropped=droppedSamples count=totalNumPcs remaining=remainingNumPcs
    range=rangeId pcs=pPcData not_users=nonUsrKernelsTotalSamples full=hardwareBufferFull
cupti_sampling_info CUpti_PCSamplingConfigurationInfo
    attribute=attributeType status=attributeStatus value=attributeData
    value.number=attributeData.samplingPeriodData.samplingPeriod
    value.number=attributeData.collectionModeData.collectionMode
    value.reasons.count=attributeData.stallReasonData.stallReasonCount
    value.reasons.indices=attributeData.stallReasonData.pStallReasonIndex
    value.buffer=attributeData.samplingDataBufferData.samplingDataBuffer
cupti_sampling_context CUpti_PCSamplingEnableParams
    size priv=pPriv context=ctx
cupti_sampling_context CUpti_PCSamplingDisableParams
    size priv=pPriv context=ctx
cupti_sampling_configuration CUpti_PCSamplingConfigurationInfoParams
    size priv=pPriv context=ctx count=numAttributes infos=pPCSamplingConfigurationInfo
cupti_sampling_data CUpti_PCSamplingGetDataParams
    size priv=pPriv context=ctx data=pcSamplingData
cupti_sampling_reason_count CUpti_PCSamplingGetNumStallReasonsParams
    size priv=pPriv context=ctx count=numStallReasons
cupti_sampling_reasons CUpti_PCSamplingGetStallReasonsParams
    size priv=pPriv context=ctx count=numStallReasons indices=stallReasonIndex names=stallReasons
cupti_cubin_crc CUpti_GetCubinCrcParams
    size bytes=cubinSize cubin crc=cubinCrc
cupti_source CUpti_GetSassToSourceCorrelationParams
    size cubin function=functionName bytes=cubinSize line=lineNumber offset=pcOffset file=fileName directory=dirName
TABLE
}
# The same of the PM Sampling API. The structs may have grown: ours are those of 12.6.
metrics() {
    cat <<'TABLE'
cupti_profiler_start CUpti_Profiler_Initialize_Params
    size=structSize priv=pPriv
cupti_chip CUpti_Device_GetChipName_Params
    size=structSize priv=pPriv device=deviceIndex name=pChipName
cupti_host_start CUpti_Profiler_Host_Initialize_Params
    size=structSize priv=pPriv type=profilerType chip=pChipName available=pCounterAvailabilityImage host=pHostObject
cupti_host CUpti_Profiler_Host_Deinitialize_Params
    size=structSize priv=pPriv host=pHostObject
cupti_host_add CUpti_Profiler_Host_ConfigAddMetrics_Params
    size=structSize priv=pPriv host=pHostObject names=ppMetricNames count=numMetrics
cupti_host_image_size CUpti_Profiler_Host_GetConfigImageSize_Params
    size=structSize priv=pPriv host=pHostObject bytes=configImageSize
cupti_host_image CUpti_Profiler_Host_GetConfigImage_Params
    size=structSize priv=pPriv host=pHostObject bytes=configImageSize image=pConfigImage
cupti_host_passes CUpti_Profiler_Host_GetNumOfPasses_Params
    size=structSize priv=pPriv bytes=configImageSize image=pConfigImage passes=numOfPasses
cupti_host_values CUpti_Profiler_Host_EvaluateToGpuValues_Params
    size=structSize priv=pPriv host=pHostObject image=pCounterDataImage bytes=counterDataImageSize sample=rangeIndex
    names=ppMetricNames count=numMetrics values=pMetricValues
cupti_pm_available CUpti_PmSampling_GetCounterAvailability_Params
    size=structSize priv=pPriv device=deviceIndex bytes=counterAvailabilityImageSize image=pCounterAvailabilityImage
cupti_pm_enable CUpti_PmSampling_Enable_Params
    size=structSize priv=pPriv device=deviceIndex object=pPmSamplingObject
cupti_pm CUpti_PmSampling_Disable_Params
    size=structSize priv=pPriv object=pPmSamplingObject
cupti_pm CUpti_PmSampling_Start_Params
    size=structSize priv=pPriv object=pPmSamplingObject
cupti_pm CUpti_PmSampling_Stop_Params
    size=structSize priv=pPriv object=pPmSamplingObject
cupti_pm_config CUpti_PmSampling_SetConfig_Params
    size=structSize priv=pPriv object=pPmSamplingObject bytes=configSize image=pConfig buffer=hardwareBufferSize
    interval=samplingInterval trigger=triggerMode
cupti_pm_data_size CUpti_PmSampling_GetCounterDataSize_Params
    size=structSize priv=pPriv object=pPmSamplingObject names=pMetricNames count=numMetrics samples=maxSamples
    bytes=counterDataSize
cupti_pm_data_start CUpti_PmSampling_CounterDataImage_Initialize_Params
    size=structSize priv=pPriv object=pPmSamplingObject bytes=counterDataSize image=pCounterData
cupti_pm_decode CUpti_PmSampling_DecodeData_Params
    size=structSize priv=pPriv object=pPmSamplingObject image=pCounterDataImage bytes=counterDataImageSize
    stopped=decodeStopReason overflow
cupti_pm_info CUpti_PmSampling_GetCounterDataInfo_Params
    size=structSize priv=pPriv image=pCounterDataImage bytes=counterDataImageSize total=numTotalSamples
    populated=numPopulatedSamples completed=numCompletedSamples
cupti_pm_sample CUpti_PmSampling_CounterData_GetSampleInfo_Params
    size=structSize priv=pPriv object=pPmSamplingObject image=pCounterDataImage bytes=counterDataImageSize
    index=sampleIndex start=startTimestamp end=endTimestamp
TABLE
}
metrics_comparisons() {
    cat <<'C'
#include <stdbool.h>
#include <stddef.h>
#include <cupti.h>
#include <cupti_target.h>
#include <cupti_profiler_target.h>
#include <cupti_profiler_host.h>
#include <cupti_pmsampling.h>
#include "cupti_metrics.h"
#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours);
#define SAME(ours, field, theirs, name) \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, name) && \
        sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->name), #theirs "." #name);
#define SIZE(ours, last, theirs) _Static_assert(CUPTI_METRICS_BYTES(ours, last) SIZES theirs##_STRUCT_SIZE, #theirs);
NUMBER(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY)
NUMBER(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY)
NUMBER(CUPTI_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
NUMBER(CUPTI_PM_PROFILER, CUPTI_PROFILER_TYPE_PM_SAMPLING)
NUMBER(CUPTI_TRIGGER_CLOCKS, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
NUMBER(CUPTI_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
NUMBER(CUPTI_DECODE_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
C
    # A function's struct ends with its last field in 12.6, and only two have grown since.
    metrics | awk '
        function close_struct() { if (theirs) print "SIZE(" ours ", " last ", " theirs ")" }
        /^[^ ]/ { close_struct(); ours = $1; theirs = $2; next }
        { for (i = 1; i <= NF; i++) { n = split($i, name, "="); last = name[1]
              print "SAME(" ours ", " name[1] ", " theirs ", " name[n] ")" } }
        END { close_struct() }'
}
comparisons() {
    cat <<'C'
#include <stddef.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include "cupti_sampling.h"
#define WHOLE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs);
#define SAME(ours, field, theirs, name) \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, name) && \
        sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->name), #theirs "." #name);
#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours);
C
    # The correlation id came with 12.4.
    structs | awk -v old="$old" '
        old { sub(/ correlation=correlationId/, "") }
        old && /^cupti_pc / { ours = $1; theirs = $2; next }
        /^[^ ]/ { ours = $1; theirs = $2; print "WHOLE(" ours ", " theirs ")"; next }
        { for (i = 1; i <= NF; i++) { n = split($i, name, "="); print "SAME(" ours ", " name[1] ", " theirs ", " name[n] ")" } }'
    cat <<'C'
NUMBER(sizeof(struct cupti_sampling_context), CUpti_PCSamplingEnableParamsSize)
NUMBER(sizeof(struct cupti_sampling_context), CUpti_PCSamplingDisableParamsSize)
NUMBER(sizeof(struct cupti_sampling_configuration), CUpti_PCSamplingConfigurationInfoParamsSize)
NUMBER(sizeof(struct cupti_sampling_data), CUpti_PCSamplingGetDataParamsSize)
NUMBER(sizeof(struct cupti_sampling_reason_count), CUpti_PCSamplingGetNumStallReasonsParamsSize)
NUMBER(sizeof(struct cupti_sampling_reasons), CUpti_PCSamplingGetStallReasonsParamsSize)
// The form before 12.4 ended where the correlation id begins.
NUMBER(CUPTI_PC_BYTES_OLD, CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingPCData, stallReason))
NUMBER(CUPTI_SAMPLING_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
NUMBER(CUPTI_SAMPLING_STALL_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON)
NUMBER(CUPTI_SAMPLING_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
NUMBER(CUPTI_SAMPLING_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
NUMBER(CUPTI_SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS)
NUMBER(CUPTI_STALL_NAME_BYTES, CUPTI_STALL_REASON_STRING_SIZE)
NUMBER(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY)
C
}
count=0 grown=0
while read -r header cuda; do
    version=$(printf '#include <cupti_version.h>\nCUPTI_API_VERSION\n' | ${CC:-cc} -E -P -I"$header" - | tail -1)
    [ "$version" -ge 20 ] || continue
    old=
    [ "$version" -ge 22 ] || old=1
    comparisons >"$work/sampling.c"
    ${CC:-cc} -fsyntax-only -Wno-deprecated-declarations -w -I"$header" -I"$cuda" -iquote "$agent" "$work/sampling.c"
    if [ "$version" -ge 24 ]; then
        metrics_comparisons >"$work/metrics.c"
        # 12.6 to 13.1 include C++'s <string> in a header for C.
        mkdir -p "$work/c"
        : >"$work/c/string"
        sizes='<='
        [ "$version" -ge 25 ] || sizes='=='
        ${CC:-cc} -fsyntax-only -w "-DSIZES=$sizes" -I"$work/c" -I"$header" -I"$cuda" -iquote "$agent" "$work/metrics.c"
        grown=$((grown + 1))
    fi
    count=$((count + 1))
    echo "compared with $header (version $version)"
done <"$work/folders"
[ "$count" -gt 0 ] || { echo "skipped: all headers are older than those of CUDA 12.2"; exit 77; }
echo "$count versions compared, $grown of them with PM sampling"
