// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's binary interface that is used, declared by ourselves: the agent builds without CUDA, and one
// binary serves CUDA 11.0 to 13.x.
//
// Records are packed and 8-byte aligned. Within a major form each version of CUDA only appended fields, so the newest
// form is declared here and what came later is read behind CUPTI_HAS (the version of the library that wrote the
// record): tests/cuda/layouts.tsv has the first version of each field, and tests/cuda/test_layouts.sh compares every
// offset with the headers of an installed toolkit.
#ifndef CUDA_CUPTI_H
#define CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

// The result of cuptiGetVersion for the first release of a version of CUDA. 12.0 and 12.1 return 18 too: features of
// 12.0 are detected by their functions, or used from 12.2 on.
enum {
    CUPTI_11_0 = 13,
    CUPTI_11_1 = 14,
    CUPTI_11_6 = 17,
    CUPTI_11_8 = 18,
    CUPTI_12_2 = 20,
    CUPTI_12_3 = 21,
    CUPTI_12_4 = 22,
    CUPTI_12_5 = 23,
    CUPTI_12_6 = 24,
    CUPTI_12_8 = 26,
    CUPTI_12_9 = 27,
    CUPTI_13_0 = 130000,
    CUPTI_13_1 = 130100,
    CUPTI_13_2 = 130200,
    CUPTI_13_3 = 130300,
    CUPTI_13_3_UPDATE_1 = 130301,
    CUPTI_13_4 = 130400,
    CUPTI_13_5 = 130500,
};

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_DEVICE = 2,
    CUPTI_LIMIT_REACHED = 12,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_OUT_OF_MEMORY = 8,
    CUPTI_INVALID_KIND = 21,
    CUPTI_NOT_COMPATIBLE = 14,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_VIRTUALIZED = 33,
    CUPTI_PRIVILEGES = 35,
    CUPTI_LEGACY_PROFILER = 38,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_VIRTUALIZED_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL = 41,
    CUPTI_MINING = 42,
    CUPTI_MIG = 43,
    CUPTI_SLI = 44,
    CUPTI_WSL = 45,
    CUPTI_UNKNOWN = 999
};

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_DEVICE = 8,
    CUPTI_KIND_CONTEXT = 9,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_KIND_NAME = 11,
    CUPTI_KIND_OVERHEAD = 17,
    CUPTI_KIND_CDP_KERNEL = 18,
    CUPTI_KIND_MEMCPY2 = 22,
    CUPTI_KIND_UNIFIED_MEMORY = 25,
    CUPTI_KIND_CUDA_EVENT = 36,
    CUPTI_KIND_STREAM = 37,
    CUPTI_KIND_SYNCHRONIZATION = 38,
    CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    CUPTI_KIND_MEMORY2 = 49,
    CUPTI_KIND_MEMORY_POOL = 50,
    CUPTI_KIND_GRAPH_TRACE = 51,
    CUPTI_KIND_JIT = 52,
    CUPTI_KIND_DEVICE_GRAPH_TRACE = 53,
    CUPTI_KIND_MEM_DECOMPRESS = 54,
    CUPTI_KIND_GRAPH_HOST_NODE = 56,
    CUPTI_KIND_CONTEXT_SWITCH = 57,
    CUPTI_KIND_HOST_LAUNCH = 58,
    CUPTI_KIND_GREEN_CONTEXT = 59,
    CUPTI_KIND_LIMIT = 64 // higher than all
};

#define CUPTI_RECORD __attribute__((packed, aligned(8)))
#define CUPTI_NONE 0xffffffffu // an unknown context or stream

struct cupti_api {
    uint32_t kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t result;
} CUPTI_RECORD;

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config;
    uint8_t shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3];
    int32_t block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launch_type;
    uint8_t carveout_is_requested, carveout_requested;
    uint8_t padding;
    uint32_t shared_executed;
    uint64_t graph_node;                        // 11.0
    uint32_t shared_limit;                      // 11.0
    uint32_t graph;                             // 11.1
    void *access_policy;                        // 11.1
    uint32_t channel, channel_type;             // 11.6
    uint32_t cluster[3];                        // 11.8
    uint32_t cluster_policy;                    // 11.8
    uint64_t local_total_v2;                    // 11.8
    uint32_t cluster_potential, cluster_active; // 13.0
    uint8_t device_launched;                    // 13.0
    uint8_t padding3[7];
    int32_t priority; // 13.1
    uint32_t padding4;
    uint32_t execution_model; // 13.3: 1 SIMT, 2 tile, 3 hybrid
    uint32_t padding5;
    uint32_t source_graph; // 13.4: what the node was instantiated from
    uint32_t padding6;
    uint64_t source_node; // 13.4
} CUPTI_RECORD;

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation;
    uint32_t padding;
    void *reserved0;
    uint64_t graph_node;            // 11.0
    uint32_t graph;                 // 11.1
    uint32_t channel, channel_type; // 11.6
    uint8_t device_launched;        // 12.8
    uint8_t padding2[3];
    uint64_t copy_count;
    uint32_t source_graph; // 13.4
    uint32_t padding3;
    uint64_t source_node; // 13.4
} CUPTI_RECORD;

struct cupti_peer_copy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context;
    uint32_t destination_device, destination_context;
    uint32_t correlation;
    void *reserved0;
    uint64_t graph_node; // 11.0
    uint32_t graph;      // 11.1
    uint32_t channel, channel_type;
} CUPTI_RECORD;

struct cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved0;
    uint64_t graph_node; // 11.0
    uint32_t graph;      // 11.1
    uint32_t channel, channel_type;
    uint8_t device_launched;
    uint8_t padding2[3];
    uint32_t source_graph; // 13.4
    uint32_t padding3;
    uint64_t source_node; // 13.4
} CUPTI_RECORD;

// What follows `is_async` moved in later forms and is not read.
struct cupti_memory {
    uint32_t kind;
    uint32_t operation; // 1 allocation, 2 release
    uint32_t memory_kind;
    uint32_t correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async;
    uint32_t padding;
    uint32_t pool_type;
    uint32_t padding2;
    uint64_t pool_address;
    uint64_t pool_threshold;
} CUPTI_RECORD;

struct cupti_memory_pool {
    uint32_t kind;
    uint32_t operation; // 1 created, 2 destroyed, 3 trimmed
    uint32_t pool_type;
    uint32_t correlation;
    uint32_t process, device;
    uint64_t bytes_to_keep;
    uint64_t address, size, threshold, timestamp;
    uint64_t utilized; // 11.6
} CUPTI_RECORD;

struct cupti_synchronization {
    uint32_t kind;
    uint32_t type; // 1 event, 2 stream waits for event, 3 stream, 4 context
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync; // 12.8
    uint32_t result;
    uint32_t padding;
} CUPTI_RECORD;

struct cupti_cuda_event {
    uint32_t kind;
    uint32_t correlation, context, stream, event;
    uint32_t padding;
    uint32_t device, padding2; // 12.8, as what follows
    void *reserved0;
    uint64_t timestamp;
    uint64_t event_sync;
    uint64_t graph_node; // 13.5, as what follows
    uint32_t graph;
    uint32_t source_graph;
    uint64_t source_node;
} CUPTI_RECORD;

struct cupti_graph_trace {
    uint32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved;
    uint32_t end_device, end_context; // 12.3
} CUPTI_RECORD;

struct cupti_external {
    uint32_t kind;
    uint32_t external_kind;
    uint64_t external_id;
    uint32_t correlation;
    uint32_t reserved;
} CUPTI_RECORD;

struct cupti_overhead {
    uint32_t kind;
    uint32_t overhead_kind;
    uint32_t object_kind; // 1 process, 2 thread, 3 device, 4 context, 5 stream
    union {
        struct {
            uint32_t process, thread;
        } host;
        struct {
            uint32_t device, context, stream;
        } device;
    } object;
    uint64_t start, end;
    uint32_t correlation; // 12.3
    uint32_t reserved0;
    void *data;
} CUPTI_RECORD;

struct cupti_unified_memory {
    uint32_t kind;
    uint32_t counter;
    uint64_t value;
    uint64_t start, end;
    uint64_t address;
    uint32_t source, destination;
    uint32_t stream, process, flags;
    uint32_t padding;
} CUPTI_RECORD;

struct cupti_jit {
    uint32_t kind;
    uint32_t entry;
    uint32_t operation;
    uint32_t device;
    uint64_t start, end;
    uint32_t correlation;
    uint32_t padding;
    uint64_t operation_correlation;
    uint64_t cache_bytes;
    const char *cache_path;
    uint32_t process, thread; // 12.4
} CUPTI_RECORD;

struct cupti_context {
    uint32_t kind;
    uint32_t context, device;
    uint16_t api, null_stream;
    uint32_t parent; // 12.4: this and `green`
    uint8_t green, padding;
    uint16_t processors; // of a green context; 12.5
    uint32_t graphics_mode;
    uint32_t padding2;
    uint64_t process; // 13.1
} CUPTI_RECORD;

// 13.2
struct cupti_green_context {
    uint32_t kind;
    uint32_t context, parent, device;
    uint32_t tpcs;
    uint16_t processors;
    uint8_t mask_words, padding;
    uint32_t mask[32]; // a bit per TPC
    uint64_t queue;    // the work queue, and how many of its operations run at the same time
    uint32_t queue_limit, queue_scope;
    uint32_t channels, padding2; // 13.4
    uint32_t channel_ids[32];
} CUPTI_RECORD;

// 13.1
struct cupti_context_switch {
    uint32_t kind;
    uint32_t context;
    uint64_t timestamp;
    uint32_t operation; // 1 start, 2 end
    uint32_t padding;
} CUPTI_RECORD;

struct cupti_stream {
    uint32_t kind;
    uint32_t context, stream, priority, flag, correlation;
} CUPTI_RECORD;

struct cupti_device {
    uint32_t kind;
    uint32_t flags;
    uint64_t memory_bandwidth; // kB/s
    uint64_t memory_bytes;
    uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, copy_engines, multiprocessors;
    uint32_t limits[14];
    uint32_t capability_major, capability_minor;
    uint32_t id;
    uint32_t ecc;
    uint8_t uuid[16];
    const char *name;
    uint8_t visible, mig; // 11.6: mig and what follows
    uint8_t reserved[6];
    uint32_t gpu_instance, compute_instance;
    uint8_t mig_uuid[16];
} CUPTI_RECORD;

struct cupti_name {
    uint32_t kind;
    uint32_t object_kind;
    uint32_t object[3];
    uint32_t padding;
    const char *name;
} CUPTI_RECORD;

struct cupti_device_graph {
    uint32_t kind;
    uint32_t device;
    uint64_t start, end;
    uint32_t graph, launcher_graph, launch_mode, context;
    uint64_t stream;
    void *reserved;
} CUPTI_RECORD;

struct cupti_decompress {
    uint32_t kind;
    uint32_t device, context, stream, channel, channel_type;
    uint32_t correlation;
    uint32_t operations;
    uint64_t bytes;
    void *reserved0;
    uint64_t start, end;
} CUPTI_RECORD;

// 13.1
struct cupti_graph_host_node {
    uint32_t kind;
    uint32_t stream, context, device;
    uint32_t correlation;
    uint32_t graph;
    uint64_t graph_node;
    uint32_t process, thread;
    uint64_t start, end;
} CUPTI_RECORD;

// 13.1
struct cupti_host_launch {
    uint32_t kind;
    uint32_t stream, context, device;
    uint32_t correlation;
    uint32_t process, thread;
    uint32_t padding;
    uint64_t start, end;
} CUPTI_RECORD;

// ---- callbacks

enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAIN_RESOURCE = 3, CUPTI_DOMAIN_STATE = 6 };
enum {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY = 2,
    CUPTI_RESOURCE_STREAM_CREATED = 3,
    CUPTI_RESOURCE_STREAM_DESTROY = 4,
    CUPTI_RESOURCE_MODULE_LOADED = 6,
    CUPTI_RESOURCE_MODULE_UNLOAD = 7,
    CUPTI_RESOURCE_GRAPH_NODE_CREATED = 13,
    CUPTI_RESOURCE_GRAPH_NODE_CLONED = 20,
};
enum { CUPTI_STATE_FATAL_ERROR = 1, CUPTI_STATE_ERROR = 2, CUPTI_STATE_WARNING = 3 }; // 12.2

// What a subscriber that shares CUPTI with others sets for itself (13.3); the functions that set the same for the whole
// process are refused to it.
enum cupti_attribute {
    CUPTI_ATTRIBUTE_ZEROED_BUFFERS = 5, // 8 bits; also of cuptiActivitySetAttribute
    CUPTI_ATTRIBUTE_THREAD_BUFFERS = 9, // 8 bits; of cuptiActivitySetAttribute
    CUPTI_ATTRIBUTE_RECORD_FIELDS = 11,
    CUPTI_ATTRIBUTE_LATENCY_TIMESTAMPS = 15, // 8 bits
    CUPTI_ATTRIBUTE_EVENT_TIMESTAMPS = 17,   // 8 bits
    CUPTI_ATTRIBUTE_DEVICE_GRAPHS = 19,      // 8 bits
    CUPTI_ATTRIBUTE_GRAPHS_AS_A_WHOLE =
        20,                          // 8 bits; of all subscribers, and before any of them switches a kind on
    CUPTI_ATTRIBUTE_THREAD_IDS = 21, // 32 bits
    CUPTI_ATTRIBUTE_CLOCK = 22,
};
enum { CUPTI_SYSTEM_THREAD_IDS = 1 };

struct cupti_callback_data {
    int site; // 0 enter, 1 exit
    const char *function;
    const void *parameters;
    const int *result; // on exit
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
};

struct cupti_resource_data {
    void *context;
    void *stream;
    void *descriptor;
};

struct cupti_module_data {
    uint32_t id;
    size_t bytes;
    const char *cubin;
};

struct cupti_graph_data {
    void *graph, *original_graph;
    void *node, *original_node; // of a copy
    int node_type;
    void *dependency;
    void *executable;
};

struct cupti_state_data {
    int result;
    const char *message;
};

struct cupti_subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t allow_multiple; // 13.2
    uint8_t padding[7];
};
#define CUPTI_SUBSCRIBER_PARAMS_OLD offsetof(struct cupti_subscriber_params, allow_multiple)

struct cupti_unified_memory_config {
    uint32_t scope, counter, device, enable;
};

typedef void cupti_callback(void *context, int domain, uint32_t id, const void *data);
typedef void cupti_buffer_wanted(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_buffer_full(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void cupti_buffer_wanted_v2(uint8_t **buffer, size_t *size, size_t *records, void *info);
typedef void cupti_buffer_full_v2(uint8_t *buffer, size_t size, size_t valid, void *info);

#endif
