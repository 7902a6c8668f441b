#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The structs and numbers of CUPTI's PC Sampling API lie where NVIDIA's header says, where a toolkit is installed.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
agent=$TRACESMITH_SOURCE_DIR/agents/cuda
header=
for place in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-*; do
    for folder in include extras/CUPTI/include; do
        if [ -f "$place/$folder/cupti_pcsampling.h" ] && [ -f "$place/include/cuda.h" ]; then
            header=$place/$folder
            toolkit=$place
        fi
    done
done
[ -n "$header" ] || { echo "skipped: no CUDA toolkit with CUPTI's headers is installed"; exit 77; }
version=$(printf '#include <cupti_version.h>\nCUPTI_API_VERSION\n' | ${CC:-cc} -E -P -I"$header" - | tail -1)
[ "$version" -ge 22 ] || { echo "skipped: the headers in $header are older than those of CUDA 12.4"; exit 77; }

cat >"$work/sampling.c" <<'C'
#include <stddef.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include "cupti_sampling.h"
#define SAME(ours, field, theirs, name) \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, name) && \
        sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->name), #theirs "." #name);
#define WHOLE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs);
#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs);
#define PARAMS(ours, theirs) WHOLE(ours, theirs) SAME(ours, size, theirs, size) \
    SAME(ours, priv, theirs, pPriv) SAME(ours, context, theirs, ctx)
WHOLE(cupti_pc_stall, CUpti_PCSamplingStallReason)
SAME(cupti_pc_stall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex)
SAME(cupti_pc_stall, samples, CUpti_PCSamplingStallReason, samples)
WHOLE(cupti_pc, CUpti_PCSamplingPCData)
SAME(cupti_pc, size, CUpti_PCSamplingPCData, size)
SAME(cupti_pc, cubin_crc, CUpti_PCSamplingPCData, cubinCrc)
SAME(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset)
SAME(cupti_pc, function_index, CUpti_PCSamplingPCData, functionIndex)
SAME(cupti_pc, function, CUpti_PCSamplingPCData, functionName)
SAME(cupti_pc, stall_count, CUpti_PCSamplingPCData, stallReasonCount)
SAME(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason)
SAME(cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId)
// The form before 12.4 ended where the correlation id begins.
NUMBER(CUPTI_PC_BYTES_OLD, CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingPCData, stallReason))
WHOLE(cupti_pc_data, CUpti_PCSamplingData)
SAME(cupti_pc_data, size, CUpti_PCSamplingData, size)
SAME(cupti_pc_data, room, CUpti_PCSamplingData, collectNumPcs)
SAME(cupti_pc_data, samples, CUpti_PCSamplingData, totalSamples)
SAME(cupti_pc_data, dropped, CUpti_PCSamplingData, droppedSamples)
SAME(cupti_pc_data, count, CUpti_PCSamplingData, totalNumPcs)
SAME(cupti_pc_data, remaining, CUpti_PCSamplingData, remainingNumPcs)
SAME(cupti_pc_data, range, CUpti_PCSamplingData, rangeId)
SAME(cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData)
SAME(cupti_pc_data, not_users, CUpti_PCSamplingData, nonUsrKernelsTotalSamples)
SAME(cupti_pc_data, full, CUpti_PCSamplingData, hardwareBufferFull)
WHOLE(cupti_sampling_info, CUpti_PCSamplingConfigurationInfo)
SAME(cupti_sampling_info, attribute, CUpti_PCSamplingConfigurationInfo, attributeType)
SAME(cupti_sampling_info, status, CUpti_PCSamplingConfigurationInfo, attributeStatus)
SAME(cupti_sampling_info, value, CUpti_PCSamplingConfigurationInfo, attributeData)
SAME(cupti_sampling_info, value.number, CUpti_PCSamplingConfigurationInfo, attributeData.samplingPeriodData.samplingPeriod)
SAME(cupti_sampling_info, value.number, CUpti_PCSamplingConfigurationInfo, attributeData.collectionModeData.collectionMode)
SAME(cupti_sampling_info, value.reasons.count, CUpti_PCSamplingConfigurationInfo, attributeData.stallReasonData.stallReasonCount)
SAME(cupti_sampling_info, value.reasons.indices, CUpti_PCSamplingConfigurationInfo, attributeData.stallReasonData.pStallReasonIndex)
SAME(cupti_sampling_info, value.buffer, CUpti_PCSamplingConfigurationInfo, attributeData.samplingDataBufferData.samplingDataBuffer)
PARAMS(cupti_sampling_context, CUpti_PCSamplingEnableParams)
PARAMS(cupti_sampling_context, CUpti_PCSamplingDisableParams)
NUMBER(sizeof(struct cupti_sampling_context), CUpti_PCSamplingEnableParamsSize)
PARAMS(cupti_sampling_configuration, CUpti_PCSamplingConfigurationInfoParams)
SAME(cupti_sampling_configuration, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes)
SAME(cupti_sampling_configuration, infos, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo)
NUMBER(sizeof(struct cupti_sampling_configuration), CUpti_PCSamplingConfigurationInfoParamsSize)
PARAMS(cupti_sampling_data, CUpti_PCSamplingGetDataParams)
SAME(cupti_sampling_data, data, CUpti_PCSamplingGetDataParams, pcSamplingData)
NUMBER(sizeof(struct cupti_sampling_data), CUpti_PCSamplingGetDataParamsSize)
PARAMS(cupti_sampling_reason_count, CUpti_PCSamplingGetNumStallReasonsParams)
SAME(cupti_sampling_reason_count, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons)
NUMBER(sizeof(struct cupti_sampling_reason_count), CUpti_PCSamplingGetNumStallReasonsParamsSize)
PARAMS(cupti_sampling_reasons, CUpti_PCSamplingGetStallReasonsParams)
SAME(cupti_sampling_reasons, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons)
SAME(cupti_sampling_reasons, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex)
SAME(cupti_sampling_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons)
NUMBER(sizeof(struct cupti_sampling_reasons), CUpti_PCSamplingGetStallReasonsParamsSize)
WHOLE(cupti_cubin_crc, CUpti_GetCubinCrcParams)
SAME(cupti_cubin_crc, size, CUpti_GetCubinCrcParams, size)
SAME(cupti_cubin_crc, bytes, CUpti_GetCubinCrcParams, cubinSize)
SAME(cupti_cubin_crc, cubin, CUpti_GetCubinCrcParams, cubin)
SAME(cupti_cubin_crc, crc, CUpti_GetCubinCrcParams, cubinCrc)
WHOLE(cupti_source, CUpti_GetSassToSourceCorrelationParams)
SAME(cupti_source, size, CUpti_GetSassToSourceCorrelationParams, size)
SAME(cupti_source, cubin, CUpti_GetSassToSourceCorrelationParams, cubin)
SAME(cupti_source, function, CUpti_GetSassToSourceCorrelationParams, functionName)
SAME(cupti_source, bytes, CUpti_GetSassToSourceCorrelationParams, cubinSize)
SAME(cupti_source, line, CUpti_GetSassToSourceCorrelationParams, lineNumber)
SAME(cupti_source, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset)
SAME(cupti_source, file, CUpti_GetSassToSourceCorrelationParams, fileName)
SAME(cupti_source, directory, CUpti_GetSassToSourceCorrelationParams, dirName)
NUMBER(CUPTI_SAMPLING_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
NUMBER(CUPTI_SAMPLING_STALL_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON)
NUMBER(CUPTI_SAMPLING_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
NUMBER(CUPTI_SAMPLING_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
NUMBER(CUPTI_SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS)
NUMBER(CUPTI_STALL_NAME_BYTES, CUPTI_STALL_REASON_STRING_SIZE)
NUMBER(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY)
C
${CC:-cc} -fsyntax-only -Wno-deprecated-declarations -I"$header" -I"$toolkit/include" -iquote "$agent" "$work/sampling.c"
echo "compared with $header (version $version)"
