// SPDX-License-Identifier: Apache-2.0
// What tables and columns of an nsys export mean: the table that drives the importer. What is not here is read as
// well: a table with a time becomes ranges or markers, a column becomes a dynamic field.
#include <string.h>

#include "import/nsys/nsys.h"

// clang-format off: a table
static const struct nsys_table_rule TABLES[] = {
    // Streams first: a queue belongs to the device on which something ran in it.
    {"CUPTI_ACTIVITY_KIND_KERNEL", TSMITH_KIND_KERNEL, NSYS_ON_QUEUE | NSYS_CORE, NULL,
     "start end deviceId streamId correlationId demangledName shortName"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", TSMITH_KIND_MEMCPY, NSYS_ON_QUEUE, NULL,
     "start end deviceId streamId correlationId bytes copyKind"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", TSMITH_KIND_MEMSET, NSYS_ON_QUEUE, NULL,
     "start end deviceId streamId correlationId bytes"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", TSMITH_KIND_GRAPH_LAUNCH, NSYS_ON_QUEUE, NULL,
     "start end deviceId streamId correlationId graphId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", TSMITH_KIND_SYNC, NSYS_ON_QUEUE, NULL,
     "start end streamId correlationId syncType"},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", TSMITH_KIND_EVENT_RECORD, NSYS_ON_QUEUE | NSYS_ZERO_IS_NONE, NULL,
     "streamId correlationId eventId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", TSMITH_KIND_API, NSYS_CORE, NULL,
     "start end globalTid correlationId nameId"},
    {"CUPTI_ACTIVITY_KIND_DRIVER", TSMITH_KIND_API, 0, NULL, "start end globalTid correlationId nameId"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", TSMITH_KIND_OVERHEAD, 0, NULL, "start end"},
    {"CUPTI_ACTIVITY_KIND_JIT", TSMITH_KIND_COMPILE, 0, NULL, "start end"},
    {"PROFILER_OVERHEAD", TSMITH_KIND_OVERHEAD, 0, NULL, "start end"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", TSMITH_KIND_ALLOC, 0, NULL, "start address bytes memoryOperationType"},
    {"CUDA_GPU_MEMORY_POOL_EVENTS", TSMITH_KIND_MARKER, 0, "memory pool", "start address"},
    {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", TSMITH_KIND_MARKER, 0, "CPU page fault", "start address"},
    {"CUDA_UM_GPU_PAGE_FAULT_EVENTS", TSMITH_KIND_RANGE, 0, "GPU page fault", "start address"},
    {"CUDA_GRAPH_EVENTS", TSMITH_KIND_RANGE, 0, "CUDA graph", "start globalTid"},
    {"CUDA_GRAPH_NODE_EVENTS", TSMITH_KIND_RANGE, 0, "CUDA graph node", "start globalTid graphNodeId"},
    {"NVTX_EVENTS", TSMITH_KIND_RANGE, 0, NULL, "start end eventType text globalTid"},
    {"OSRT_API", TSMITH_KIND_HOST_FUNCTION, 0, "OS runtime", "start end globalTid nameId"},
    {"CUBLAS_EVENTS", TSMITH_KIND_RANGE, 0, "cuBLAS", "start end globalTid nameId"},
    {"CUDNN_EVENTS", TSMITH_KIND_RANGE, 0, "cuDNN", "start end globalTid nameId"},
    {"MPI_COLLECTIVES_EVENTS", TSMITH_KIND_COLLECTIVE, 0, "MPI", "start end globalTid"},
    {"MPI_P2P_EVENTS", TSMITH_KIND_RANGE, 0, "MPI", "start end globalTid"},
    {"MPI_START_WAIT_EVENTS", TSMITH_KIND_RANGE, 0, "MPI", "start end globalTid"},
    {"MPI_OTHER_EVENTS", TSMITH_KIND_RANGE, 0, "MPI", "start end globalTid"},
    {"GPU_METRICS", TSMITH_KIND_COUNTER, NSYS_ON_COUNTER, NULL, "timestamp typeId metricId value"},
    {"SOC_METRICS", TSMITH_KIND_COUNTER, NSYS_ON_COUNTER, NULL, "timestamp typeId metricId value"},
    {"COMPOSITE_EVENTS", TSMITH_KIND_SAMPLE, 0, NULL, "start globalTid"},
    {"SCHED_EVENTS", TSMITH_KIND_MARKER, 0, "scheduling", "start cpu isSchedIn globalTid"},
    {"SYSCALL", TSMITH_KIND_HOST_FUNCTION, 0, "system call", "start end globalTid"},
    {"DIAGNOSTIC_EVENT", TSMITH_KIND_MARKER, 0, "nsys", "timestamp text"},
};

#define PLACE(name, role)                                                                                    \
    { name, NULL, NSYS_PLACE, role, 0, 0, NULL, NULL }
#define FIELD(name, table, field)                                                                            \
    { name, table, NSYS_FIELD, NSYS_NO_ROLE, TSMITH_FIELD_##field, 0, NULL, NULL }
#define LABEL(name, role, labels)                                                                            \
    { name, NULL, NSYS_LABEL, role, 0, 0, labels, NULL }
#define NAMED(name, form, rank)                                                                              \
    { name, NULL, form, NSYS_NO_ROLE, 0, rank, NULL, NULL }

// The first that fits counts.
static const struct nsys_column_rule COLUMNS[] = {
    PLACE("start", NSYS_START),
    PLACE("timestamp", NSYS_START),
    PLACE("end", NSYS_END),
    PLACE("globalTid", NSYS_TID),
    PLACE("globalPid", NSYS_PID),
    PLACE("deviceId", NSYS_DEVICE),
    PLACE("contextId", NSYS_CONTEXT),
    PLACE("streamId", NSYS_STREAM),
    {"typeId", "GPU_METRICS", NSYS_PLACE, NSYS_METRIC_SOURCE, 0, 0, NULL, NULL},
    {"metricId", "GPU_METRICS", NSYS_PLACE, NSYS_METRIC, 0, 0, NULL, NULL},
    {"typeId", "SOC_METRICS", NSYS_PLACE, NSYS_METRIC_SOURCE, 0, 0, NULL, NULL},
    {"metricId", "SOC_METRICS", NSYS_PLACE, NSYS_METRIC, 0, 0, NULL, NULL},
    FIELD("value", "GPU_METRICS", VALUE),
    FIELD("value", "SOC_METRICS", VALUE),
    PLACE("gridX", NSYS_GRID_X),
    PLACE("gridY", NSYS_GRID_Y),
    PLACE("gridZ", NSYS_GRID_Z),
    PLACE("blockX", NSYS_BLOCK_X),
    PLACE("blockY", NSYS_BLOCK_Y),
    PLACE("blockZ", NSYS_BLOCK_Z),
    {"correlationId", NULL, NSYS_NUMBER, NSYS_NO_ROLE, TSMITH_FIELD_CORRELATION, 0, NULL, NULL},
    FIELD("returnValue", NULL, RESULT),
    FIELD("bytes", NULL, BYTES),
    FIELD("address", "CUDA_GPU_MEMORY_USAGE_EVENTS", OBJECT),
    NAMED("demangledName", NSYS_NAME_ID, 1),
    NAMED("shortName", NSYS_NAME_ID, 2),
    NAMED("mangledName", NSYS_NAME_ID, 3),
    NAMED("nameId", NSYS_NAME_ID, 1),
    NAMED("text", NSYS_NAME, 1),
    NAMED("textId", NSYS_NAME_ID, 2),
    NAMED("name", NSYS_NAME, 3),
    {"jsonTextId", NULL, NSYS_TEXT_ID, NSYS_NO_ROLE, 0, 0, NULL, NULL},
    {"eventType", "NVTX_EVENTS", NSYS_LABEL, NSYS_EVENT_TYPE, 0, 0, "ENUM_NSYS_EVENT_TYPE", NULL},
    {"domainId", "NVTX_EVENTS", NSYS_AS_IS, NSYS_DOMAIN, 0, 0, NULL, NULL},
    {"category", "NVTX_EVENTS", NSYS_AS_IS, NSYS_CATEGORY, 0, 0, NULL, "categoryId"},
    {"id", "COMPOSITE_EVENTS", NSYS_AS_IS, NSYS_SAMPLE, 0, 0, NULL, NULL},
    {"callchainId", NULL, NSYS_AS_IS, NSYS_CALLCHAIN, 0, 0, NULL, NULL},
    {"eventSyncId", NULL, NSYS_AS_IS, NSYS_EVENT_SYNC, 0, 0, NULL, NULL},
    {"eventClass", NULL, NSYS_CLASS, NSYS_NO_ROLE, 0, 0, "ENUM_NSYS_EVENT_CLASS", NULL},
    LABEL("copyKind", NSYS_COPY_KIND, "ENUM_CUDA_MEMCPY_OPER"),
    LABEL("srcKind", NSYS_SOURCE_KIND, "ENUM_CUDA_MEM_KIND"),
    LABEL("dstKind", NSYS_TARGET_KIND, "ENUM_CUDA_MEM_KIND"),
    LABEL("memKind", NSYS_TARGET_KIND, "ENUM_CUDA_MEM_KIND"),
    LABEL("memoryOperationType", NSYS_MEMORY_OPERATION, "ENUM_CUDA_DEV_MEM_EVENT_OPER"),
    {"syncType", NULL, NSYS_LABEL, NSYS_SYNC_TYPE, 0, 4, "ENUM_CUPTI_SYNC_TYPE", NULL},
    {"overheadType", NULL, NSYS_LABEL, NSYS_NO_ROLE, 0, 4, "ENUM_CUPTI_OVERHEAD_TYPE", NULL},
    LABEL("launchType", NSYS_NO_ROLE, "ENUM_CUDA_KERNEL_LAUNCH_TYPE"),
    LABEL("cacheConfig", NSYS_NO_ROLE, "ENUM_CUDA_FUNC_CACHE_CONFIG"),
    LABEL("sharedMemoryLimitConfig", NSYS_NO_ROLE, "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG"),
    LABEL("migrationCause", NSYS_NO_ROLE, "ENUM_CUDA_UNIF_MEM_MIGRATION"),
    LABEL("faultAccessType", NSYS_NO_ROLE, "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE"),
    LABEL("poolType", NSYS_NO_ROLE, "ENUM_CUDA_MEMPOOL_TYPE"),
    {"operationType", "CUDA_GPU_MEMORY_POOL_EVENTS", NSYS_LABEL, NSYS_NO_ROLE, 0, 4, "ENUM_CUDA_MEMPOOL_OPER",
     NULL},
    {"severity", "DIAGNOSTIC_EVENT", NSYS_LABEL, NSYS_NO_ROLE, 0, 0, "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", NULL},
    {"source", "DIAGNOSTIC_EVENT", NSYS_LABEL, NSYS_NO_ROLE, 0, 0, "ENUM_DIAGNOSTIC_SOURCE_TYPE", NULL},
    {"timestampType", NULL, NSYS_LABEL, NSYS_NO_ROLE, 0, 0, "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE", NULL},
    {"threadState", NULL, NSYS_LABEL, NSYS_NO_ROLE, 0, 0, "ENUM_SAMPLING_THREAD_STATE", NULL},
};
// clang-format on

const struct nsys_table_rule *nsys_table_at(size_t index) {
    return index < sizeof TABLES / sizeof *TABLES ? &TABLES[index] : NULL;
}

const struct nsys_table_rule *nsys_find_table(const char *name) {
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        if (strcmp(TABLES[i].name, name) == 0)
            return &TABLES[i];
    return NULL;
}

const struct nsys_column_rule *nsys_find_column(const char *table, const char *name) {
    static const struct nsys_column_rule as_is = {.form = NSYS_AS_IS};
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
        if (strcmp(COLUMNS[i].name, name) == 0 && (!COLUMNS[i].table || strcmp(COLUMNS[i].table, table) == 0))
            return &COLUMNS[i];
    return &as_is;
}
