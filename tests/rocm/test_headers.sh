#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where ROCm is installed, the offsets of tests/rocm/layouts.tsv (and so of the agent's table) are those of AMD's headers, as are the
# numbers of kinds, operations and phases, and the forms that tools and the SDK exchange.
#     TRACESMITH_ROCM_CFLAGS  the compiler's options for AMD's headers, if they are not in ROCM_PATH or /opt/rocm
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${TRACESMITH_SOURCE_DIR:?}"
agent=$TRACESMITH_SOURCE_DIR/agents/rocm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=${TRACESMITH_ROCM_CFLAGS-}
for root in ${ROCM_PATH:+"$ROCM_PATH"} /opt/rocm; do
    [ -n "$flags" ] || [ ! -f "$root/include/rocprofiler-sdk/rocprofiler.h" ] || flags="-D__HIP_PLATFORM_AMD__ -I$root/include"
done
[ -n "$flags" ] || {
    echo "skipped: the headers of rocprofiler-sdk are not here"
    exit 77
}
includes='#include <stddef.h>
#include <rocprofiler-sdk/rocprofiler.h>
#include <rocprofiler-sdk/registration.h>
#include "sdk.h"'
echo "$includes" >"$work/includes.c"
# shellcheck disable=SC2086 # options
${CC:-cc} -E -P $flags -iquote "$agent" "$work/includes.c" >"$work/declared" || exit 1
{
    echo "$includes"
    # Older headers lack the records of HIP_EVENT and HIP_GRAPH.
    awk -F '\t' '!/^#/ { print $1, $2, $3 }' "$here/layouts.tsv" | while read -r ours theirs offset; do
        case $theirs in
        *_hip_event_*|*_hip_graph_*) grep -qw "${theirs%%.*}" "$work/declared" || continue ;;
        esac
        echo "_Static_assert(offsetof(${theirs%%.*}, ${theirs#*.}) == $offset, \"$ours\");"
    done
    echo '#define KIND(NAME, number, name) NUMBER_##NAME = number,'
    echo 'enum { SDK_KIND_TABLE(KIND) NUMBERS };'
    cat <<'C'
#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)ROCPROFILER_##theirs, #ours);
#define KIND_NUMBER(NAME, theirs) NUMBER(NUMBER_##NAME, BUFFER_TRACING_##theirs)
KIND_NUMBER(HSA_CORE, HSA_CORE_API) KIND_NUMBER(HSA_AMD, HSA_AMD_EXT_API) KIND_NUMBER(HSA_IMAGE, HSA_IMAGE_EXT_API)
KIND_NUMBER(HSA_FINALIZE, HSA_FINALIZE_EXT_API) KIND_NUMBER(HIP, HIP_RUNTIME_API) KIND_NUMBER(COPY, MEMORY_COPY)
KIND_NUMBER(DISPATCH, KERNEL_DISPATCH) KIND_NUMBER(SCRATCH, SCRATCH_MEMORY) KIND_NUMBER(RCCL, RCCL_API)
KIND_NUMBER(ALLOCATION, MEMORY_ALLOCATION) KIND_NUMBER(DROPPED, KFD_EVENT_DROPPED_EVENTS) KIND_NUMBER(MIGRATION, KFD_PAGE_MIGRATE)
NUMBER(SDK_CALLBACK_HIP, CALLBACK_TRACING_HIP_RUNTIME_API) NUMBER(SDK_CALLBACK_MARKER, CALLBACK_TRACING_MARKER_CORE_API)
NUMBER(SDK_CALLBACK_CODE_OBJECT, CALLBACK_TRACING_CODE_OBJECT) NUMBER(SDK_CALLBACK_DISPATCH, CALLBACK_TRACING_KERNEL_DISPATCH)
NUMBER(SDK_CALLBACK_COPY, CALLBACK_TRACING_MEMORY_COPY) NUMBER(SDK_CALLBACK_STREAM, CALLBACK_TRACING_HIP_STREAM) NUMBER(SDK_PHASE_ENTER, CALLBACK_PHASE_ENTER)
NUMBER(SDK_PHASE_EXIT, CALLBACK_PHASE_EXIT) NUMBER(SDK_PHASE_ENTER, CALLBACK_PHASE_LOAD)
NUMBER(SDK_MARKER_MARK, MARKER_CORE_API_ID_roctxMarkA) NUMBER(SDK_MARKER_PUSH, MARKER_CORE_API_ID_roctxRangePushA)
NUMBER(SDK_MARKER_POP, MARKER_CORE_API_ID_roctxRangePop) NUMBER(SDK_MARKER_START, MARKER_CORE_API_ID_roctxRangeStartA)
NUMBER(SDK_MARKER_STOP, MARKER_CORE_API_ID_roctxRangeStop) NUMBER(SDK_CODE_OBJECT_KERNEL, CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER)
NUMBER(SDK_DISPATCH_ENQUEUE, KERNEL_DISPATCH_ENQUEUE) NUMBER(SDK_STREAM_SET, HIP_STREAM_SET)
NUMBER(SDK_COPY_H2H, MEMORY_COPY_HOST_TO_HOST) NUMBER(SDK_COPY_H2D, MEMORY_COPY_HOST_TO_DEVICE)
NUMBER(SDK_COPY_D2H, MEMORY_COPY_DEVICE_TO_HOST) NUMBER(SDK_COPY_D2D, MEMORY_COPY_DEVICE_TO_DEVICE)
NUMBER(SDK_MEMORY_ALLOC, MEMORY_ALLOCATION_ALLOCATE) NUMBER(SDK_MEMORY_VALLOC, MEMORY_ALLOCATION_VMEM_ALLOCATE)
NUMBER(SDK_MEMORY_FREE, MEMORY_ALLOCATION_FREE) NUMBER(SDK_MEMORY_VFREE, MEMORY_ALLOCATION_VMEM_FREE)
NUMBER(SDK_SCRATCH_ALLOC, SCRATCH_MEMORY_ALLOC) NUMBER(SDK_SCRATCH_FREE, SCRATCH_MEMORY_FREE)
NUMBER(SDK_SCRATCH_RECLAIM, SCRATCH_MEMORY_ASYNC_RECLAIM) NUMBER(SDK_CATEGORY_TRACING, BUFFER_CATEGORY_TRACING)
NUMBER(SDK_BUFFER_LOSSLESS, BUFFER_POLICY_LOSSLESS) NUMBER(SDK_AGENT_GPU, AGENT_TYPE_GPU) NUMBER(SDK_AGENT_CPU, AGENT_TYPE_CPU)
NUMBER(SDK_AGENT_VERSION, AGENT_INFO_VERSION_0) NUMBER(SDK_SUCCESS, STATUS_SUCCESS)
_Static_assert(sizeof(struct sdk_callback_record) == sizeof(rocprofiler_callback_tracing_record_t), "callbacks");
_Static_assert(sizeof(struct sdk_tool) == sizeof(rocprofiler_tool_configure_result_t), "tools");
_Static_assert(offsetof(struct sdk_tool, data) == offsetof(rocprofiler_tool_configure_result_t, tool_data), "tools");
_Static_assert(sizeof(struct sdk_client) == sizeof(rocprofiler_client_id_t), "clients");
_Static_assert(offsetof(struct sdk_record_header, payload) == offsetof(rocprofiler_record_header_t, payload), "headers");
C
} >"$work/theirs.c"
# shellcheck disable=SC2086 # options
${CC:-cc} -fsyntax-only -Wno-deprecated-declarations $flags -iquote "$agent" "$work/theirs.c" || {
    echo "FAILED: AMD's headers differ" >&2
    exit 1
}
echo "compared with AMD's headers ($(grep -c _Static_assert "$work/theirs.c") assertions)"
