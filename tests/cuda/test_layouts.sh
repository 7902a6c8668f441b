#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every field of CUPTI that the agent reads has the offset of NVIDIA's headers: those of the newest form, and of the
# forms that older versions wrote (a header keeps them as deprecated). Numbers of kinds, domains and errors too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
agent=$TRACESMITH_SOURCE_DIR/agents/cuda

fields() { awk -F '\t' '!/^#/ { print $1, $2, $3, $4 }' "$here/layouts.tsv"; }

# Our own declarations are those of the table, wherever this runs.
{
    echo '#include "cupti.h"'
    fields | while read -r ours _ offset _; do
        echo "_Static_assert(offsetof(struct ${ours%%.*}, ${ours#*.}) == $offset, \"$ours\");"
    done
} >"$work/ours.c"
[ "$(grep -c _Static_assert "$work/ours.c")" -ge 150 ] || { echo "FAILED: the table is not read"; exit 1; }
${CC:-cc} -fsyntax-only -I"$agent" "$work/ours.c"

# All that the agent reads is in the table.
sed -n 's/.*record->\([a-z_]*\).*/\1/p' "$agent"/records*.c "$agent"/green_contexts.c | sort -u >"$work/read"
[ "$(wc -l <"$work/read")" -ge 40 ] || { echo "FAILED: the agent's reads are not found"; exit 1; }
while read -r field; do
    grep -q "^cupti_[a-z_]*\.$field" "$here/layouts.tsv" || { echo "FAILED: record->$field is not in the table"; exit 1; }
done <"$work/read"

header=
for place in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-*; do
    for folder in include extras/CUPTI/include; do
        if [ -f "$place/$folder/cupti_activity_deprecated.h" ] && [ -f "$place/include/cuda.h" ]; then
            header=$place/$folder
            toolkit=$place
        fi
    done
done
[ -n "$header" ] || { echo "skipped: no CUDA toolkit with CUPTI's headers is installed (the table was compared with our own declarations)"; exit 77; }

# The version of the headers decides which fields they have.
version=$(printf '#include <cupti_version.h>\nCUPTI_API_VERSION\n' | ${CC:-cc} -E -P -I"$header" - | tail -1)
{
    echo '#include <stddef.h>'
    echo '#include <cupti.h>'
    echo '#include "cupti.h"'
    fields | while read -r ours theirs offset since; do
        [ "$since" -le "$version" ] || continue
        echo "_Static_assert(offsetof(${theirs%%.*}, ${theirs#*.}) == $offset, \"$theirs\");"
        echo "_Static_assert(sizeof(((struct ${ours%%.*} *)0)->${ours#*.}) % sizeof(((${theirs%%.*} *)0)->${theirs#*.}) == 0, \"size of $theirs\");"
    done
    # The forms of older versions: a field that existed then has its present offset.
    cat <<'C'
#define SAME(older, newest, field) _Static_assert(offsetof(older, field) == offsetof(newest, field) && \
    sizeof(((older *)0)->field) == sizeof(((newest *)0)->field), #older "." #field);
#define KERNEL(K) SAME(K, CUpti_ActivityKernel10, registersPerThread) SAME(K, CUpti_ActivityKernel10, start) \
    SAME(K, CUpti_ActivityKernel10, end) SAME(K, CUpti_ActivityKernel10, deviceId) SAME(K, CUpti_ActivityKernel10, streamId) \
    SAME(K, CUpti_ActivityKernel10, gridX) SAME(K, CUpti_ActivityKernel10, blockZ) SAME(K, CUpti_ActivityKernel10, staticSharedMemory) \
    SAME(K, CUpti_ActivityKernel10, dynamicSharedMemory) SAME(K, CUpti_ActivityKernel10, correlationId) \
    SAME(K, CUpti_ActivityKernel10, name) SAME(K, CUpti_ActivityKernel10, graphNodeId) SAME(K, CUpti_ActivityKernel10, graphId) \
    SAME(K, CUpti_ActivityKernel10, queued) SAME(K, CUpti_ActivityKernel10, submitted)
KERNEL(CUpti_ActivityKernel5) KERNEL(CUpti_ActivityKernel6) KERNEL(CUpti_ActivityKernel7) KERNEL(CUpti_ActivityKernel8) KERNEL(CUpti_ActivityKernel9)
SAME(CUpti_ActivityKernel8, CUpti_ActivityKernel10, clusterX) SAME(CUpti_ActivityKernel9, CUpti_ActivityKernel10, clusterZ)
#define COPY(M, N) SAME(M, N, bytes) SAME(M, N, start) SAME(M, N, end) SAME(M, N, deviceId) SAME(M, N, streamId) \
    SAME(M, N, correlationId) SAME(M, N, graphNodeId)
COPY(CUpti_ActivityMemcpy4, CUpti_ActivityMemcpy6) COPY(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6)
COPY(CUpti_ActivityMemcpyPtoP2, CUpti_ActivityMemcpyPtoP4) COPY(CUpti_ActivityMemcpyPtoP3, CUpti_ActivityMemcpyPtoP4)
COPY(CUpti_ActivityMemset2, CUpti_ActivityMemset4) COPY(CUpti_ActivityMemset3, CUpti_ActivityMemset4)
SAME(CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, start)
SAME(CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, correlationId)
SAME(CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, cudaEventId)
SAME(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, start) SAME(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, streamId)
SAME(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, start) SAME(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, objectId)
SAME(CUpti_ActivityMemory2, CUpti_ActivityMemory4, address) SAME(CUpti_ActivityMemory2, CUpti_ActivityMemory4, timestamp)
SAME(CUpti_ActivityMemory2, CUpti_ActivityMemory4, isAsync) SAME(CUpti_ActivityMemory2, CUpti_ActivityMemory4, memoryPoolConfig.address)
SAME(CUpti_ActivityMemoryPool, CUpti_ActivityMemoryPool3, timestamp) SAME(CUpti_ActivityMemoryPool2, CUpti_ActivityMemoryPool3, utilizedSize)
SAME(CUpti_ActivityUnifiedMemoryCounter2, CUpti_ActivityUnifiedMemoryCounter3, dstId)
SAME(CUpti_ActivityJit, CUpti_ActivityJit2, cachePath) SAME(CUpti_ActivityDevice4, CUpti_ActivityDevice5, isMigEnabled)
SAME(CUpti_ActivityDevice2, CUpti_ActivityDevice5, name) SAME(CUpti_ActivityContext, CUpti_ActivityContext3, nullStreamId)
#define NUMBER(ours, theirs) _Static_assert((int)ours == (int)theirs, #ours);
NUMBER(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY) NUMBER(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET)
NUMBER(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER) NUMBER(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME)
NUMBER(CUPTI_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE) NUMBER(CUPTI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT)
NUMBER(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) NUMBER(CUPTI_KIND_NAME, CUPTI_ACTIVITY_KIND_NAME)
NUMBER(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD) NUMBER(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2)
NUMBER(CUPTI_KIND_UNIFIED_MEMORY, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) NUMBER(CUPTI_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT)
NUMBER(CUPTI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM) NUMBER(CUPTI_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
NUMBER(CUPTI_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) NUMBER(CUPTI_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2)
NUMBER(CUPTI_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL) NUMBER(CUPTI_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
NUMBER(CUPTI_KIND_JIT, CUPTI_ACTIVITY_KIND_JIT) NUMBER(CUPTI_KIND_DEVICE_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE)
NUMBER(CUPTI_KIND_MEM_DECOMPRESS, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS) NUMBER(CUPTI_KIND_CDP_KERNEL, CUPTI_ACTIVITY_KIND_CDP_KERNEL)
NUMBER(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED) NUMBER(CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND)
NUMBER(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE) NUMBER(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED)
NUMBER(CUPTI_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED) NUMBER(CUPTI_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
NUMBER(CUPTI_LEGACY_PROFILER, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED) NUMBER(CUPTI_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED)
NUMBER(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) NUMBER(CUPTI_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED)
NUMBER(CUPTI_VIRTUALIZED_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
NUMBER(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED)
NUMBER(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API) NUMBER(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API)
NUMBER(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE) NUMBER(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE)
NUMBER(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED) NUMBER(CUPTI_RESOURCE_CONTEXT_DESTROY, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
NUMBER(CUPTI_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED) NUMBER(CUPTI_RESOURCE_STREAM_DESTROY, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
NUMBER(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED) NUMBER(CUPTI_RESOURCE_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
NUMBER(CUPTI_RESOURCE_GRAPH_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
NUMBER(CUPTI_RESOURCE_GRAPH_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
NUMBER(CUPTI_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR) NUMBER(0, CUPTI_API_ENTER) NUMBER(1, CUPTI_API_EXIT)
C
    [ "$version" -lt 130100 ] || cat <<'C'
NUMBER(CUPTI_KIND_GRAPH_HOST_NODE, CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE) NUMBER(CUPTI_KIND_HOST_LAUNCH, CUPTI_ACTIVITY_KIND_HOST_LAUNCH)
NUMBER(CUPTI_KIND_CONTEXT_SWITCH, CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH)
C
    [ "$version" -lt 130200 ] || echo 'NUMBER(CUPTI_KIND_GREEN_CONTEXT, CUPTI_ACTIVITY_KIND_GREEN_CONTEXT)'
    [ "$version" -lt 130300 ] || cat <<'C'
NUMBER(CUPTI_ATTRIBUTE_LATENCY_TIMESTAMPS, CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS)
NUMBER(CUPTI_ATTRIBUTE_EVENT_TIMESTAMPS, CUPTI_ACTIVITY_ATTR_ENABLE_CUDA_EVENT_DEVICE_TIMESTAMPS)
NUMBER(CUPTI_ATTRIBUTE_GRAPHS_AS_A_WHOLE, CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE)
NUMBER(CUPTI_ATTRIBUTE_THREAD_IDS, CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE)
_Static_assert(sizeof(CUpti_ActivityThreadIdType) == 4, "thread ids");
C
} >"$work/theirs.c"
[ "$version" -ge 130000 ] || { echo "skipped: the headers in $header are of version $version, this comparison is of the forms of 13.0"; exit 77; }
# The two headers have names in common (as macros and enumerators): ours come last, under their own path.
${CC:-cc} -fsyntax-only -Wno-deprecated-declarations -I"$header" -I"$toolkit/include" -iquote "$agent" "$work/theirs.c"
echo "compared with $header (version $version)"
