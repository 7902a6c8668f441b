// SPDX-License-Identifier: Apache-2.0
// The second interface of the mock of libcupti, of clients that share it (13.3). A client of it is refused by the
// first one, as in NVIDIA's documents: its process-wide settings are attributes of the client here.
#include <stdio.h>

#include "cupti_mock.h"

#define API(name, ...)                                                                                       \
    int cupti##name(__VA_ARGS__);                                                                            \
    int cupti##name(__VA_ARGS__)

API(Subscribe_v2, void **handle, cupti_callback *callback, void *context,
    struct cupti_subscriber_params *params) {
    if (mock_value("version", 130001) < 130200 || mock_has("unshared"))
        return CUPTI_NOT_SUPPORTED;
    if (mock_has("alone"))
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    if (mock_has("held") && params->old_name && params->old_size >= 64)
        snprintf(params->old_name, params->old_size, "the mock's other tool");
    const int result = mock_subscribe(handle, callback, context);
    mock_settings.shared = result == CUPTI_OK;
    return result;
}

API(GetTimestamp_v2, void *handle, uint64_t *time) {
    *time = mock_now();
    return mock_has("timeless") ? CUPTI_NOT_SUPPORTED : handle ? CUPTI_OK : CUPTI_NOT_COMPATIBLE;
}

API(ActivityRegisterCallbacks_v2, void *handle, cupti_buffer_wanted_v2 *asks, cupti_buffer_full_v2 *gives) {
    mock_settings.wanted = asks;
    mock_settings.full = gives;
    return handle ? CUPTI_OK : CUPTI_NOT_COMPATIBLE;
}

// By number and size, as in the header of 13.3.
API(ActivitySetAttribute_v2, void *handle, int attribute, size_t *size, void *value) {
    enum {
        INVALID_PARAMETER = 1,
        ZEROED = 5,
        DEVICE_GRAPHS = 19,
        GRAPHS = 20,
        THREADS = 21,
        LATENCY = 15,
        EVENTS = 17,
        SYSTEM = 1
    };
    const size_t wanted = attribute == THREADS ? sizeof(uint32_t) : sizeof(uint8_t);
    if (!handle || !mock_settings.shared || *size != wanted)
        return INVALID_PARAMETER;
    const uint32_t number = attribute == THREADS ? *(const uint32_t *)value : *(const uint8_t *)value;
    switch (attribute) {
    case ZEROED:
        mock_settings.zeroed = (uint8_t)number;
        return CUPTI_OK;
    case THREADS:
        if (mock_has("pthreads") || number > SYSTEM)
            return CUPTI_NOT_SUPPORTED;
        mock_settings.system_threads = number == SYSTEM;
        return CUPTI_OK;
    case GRAPHS: // of all clients, before any of them switches a kind on
        if (mock_has("nodes") || mock_is_enabled(CUPTI_KIND_CONCURRENT_KERNEL))
            return CUPTI_NOT_SUPPORTED;
        mock_settings.graphs_as_a_whole = number == 1;
        return CUPTI_OK;
    case LATENCY:
        if (mock_has("hardware"))
            return CUPTI_NOT_SUPPORTED;
        mock_settings.latency = number == 1;
        return CUPTI_OK;
    case DEVICE_GRAPHS:
        mock_settings.device_graphs = number == 1 && !mock_is_ready();
        return CUPTI_OK;
    case EVENTS:
        return CUPTI_OK;
    default:
        return INVALID_PARAMETER;
    }
}

API(ActivityEnable_v2, void *handle, int kind, void *config) {
    return handle && !config ? mock_enable((uint32_t)kind) : CUPTI_NOT_COMPATIBLE;
}

API(ActivityGetNextRecord_v2, void *handle, uint8_t *buffer, size_t valid, void **record) {
    return handle ? mock_next(buffer, valid, record) : CUPTI_NOT_COMPATIBLE;
}

API(ActivityGetNumDroppedRecords_v2, void *handle, void *context, uint32_t stream, size_t *count) {
    (void)context, (void)stream;
    *count = mock_dropped();
    return handle ? CUPTI_OK : CUPTI_NOT_COMPATIBLE;
}

// A node of the mock's driver is its own id.
int cuptiGetGraphNodeId(const void *node, uint64_t *id);
int cuptiGetGraphNodeId(const void *node, uint64_t *id) {
    *id = (uint64_t)(uintptr_t)node;
    return node ? CUPTI_OK : 1;
}
