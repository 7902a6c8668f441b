// SPDX-License-Identifier: Apache-2.0
// Our declarations of NVTX against NVIDIA's: compiled, not run, where the headers are (test_real.sh).
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

// Their constants have the names that ours have: kept, then ours are read under other names.
enum {
    their_ascii = NVTX_MESSAGE_TYPE_ASCII,
    their_unicode = NVTX_MESSAGE_TYPE_UNICODE,
    their_registered = NVTX_MESSAGE_TYPE_REGISTERED,
    their_argb = NVTX_COLOR_ARGB,
    their_native = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE
};
#define NVTX_COLOR_ARGB OUR_COLOR_ARGB
#define NVTX_MESSAGE_UNICODE OUR_MESSAGE_UNICODE
#include "abi.h"

#define SAME(left, right) _Static_assert((left) == (right), #left " is not " #right)
#define SAME_PLACE(member, theirs)                                                                           \
    SAME(offsetof(struct nvtx_attributes, member), offsetof(nvtxEventAttributes_t, theirs))

SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME_PLACE(size, size);
SAME_PLACE(category, category);
SAME_PLACE(color_type, colorType);
SAME_PLACE(color, color);
SAME_PLACE(payload_type, payloadType);
SAME_PLACE(payload, payload);
SAME_PLACE(message_type, messageType);
SAME_PLACE(message, message);
SAME(sizeof(struct nvtx_resource), sizeof(nvtxResourceAttributes_t));
SAME(offsetof(struct nvtx_resource, type), offsetof(nvtxResourceAttributes_t, identifierType));
SAME(offsetof(struct nvtx_resource, identifier), offsetof(nvtxResourceAttributes_t, identifier));
SAME(offsetof(struct nvtx_resource, message_type), offsetof(nvtxResourceAttributes_t, messageType));
SAME(offsetof(struct nvtx_resource, message), offsetof(nvtxResourceAttributes_t, message));
SAME(offsetof(struct nvtx_callbacks, module), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(NVTX_MESSAGE_ASCII, their_ascii);
SAME(OUR_MESSAGE_UNICODE, their_unicode);
SAME(NVTX_MESSAGE_REGISTERED, their_registered);
SAME(OUR_COLOR_ARGB, their_argb);
SAME(NVTX_RESOURCE_THREAD_NATIVE, their_native);
SAME(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_F64, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_PAYLOAD_F32, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_MODULE_CUDA, NVTX_CB_MODULE_CUDA);
SAME(NVTX_MODULE_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(NVTX_MODULE_CUDART, NVTX_CB_MODULE_CUDART);

// Each function has the number that it has there: its place in the list, from 1.
#define CORE_NUMBER(name, type, arguments) OUR_CORE_##name,
#define CORE2_NUMBER(name, type, arguments) OUR_CORE2_##name,
#define NAMES_NUMBER(name, type, what) OUR_Name##name##A, OUR_Name##name##W,
enum core { OUR_CORE_NONE, NVTX_CORE(CORE_NUMBER) OUR_CORE_LIMIT };
enum core2 { OUR_CORE2_NONE, NVTX_CORE2(CORE2_NUMBER) OUR_CORE2_LIMIT };
enum cuda_names { OUR_CUDA_NONE, NVTX_CUDA_NAMES(NAMES_NUMBER) OUR_CUDA_LIMIT };
enum opencl_names { OUR_OPENCL_NONE, NVTX_OPENCL_NAMES(NAMES_NUMBER) OUR_OPENCL_LIMIT };
enum cudart_names { OUR_CUDART_NONE, NVTX_CUDART_NAMES(NAMES_NUMBER) OUR_CUDART_LIMIT };
#define CORE_SAME(name, type, arguments) SAME(OUR_CORE_##name, NVTX_CBID_CORE_##name);
#define CORE2_SAME(name, type, arguments) SAME(OUR_CORE2_##name, NVTX_CBID_CORE2_##name);
#define CUDA_SAME(name, type, what)                                                                          \
    SAME(OUR_Name##name##A, NVTX_CBID_CUDA_Name##name##A);                                                   \
    SAME(OUR_Name##name##W, NVTX_CBID_CUDA_Name##name##W);
#define OPENCL_SAME(name, type, what)                                                                        \
    SAME(OUR_Name##name##A, NVTX_CBID_OPENCL_Name##name##A);                                                 \
    SAME(OUR_Name##name##W, NVTX_CBID_OPENCL_Name##name##W);
#define CUDART_SAME(name, type, what)                                                                        \
    SAME(OUR_Name##name##A, NVTX_CBID_CUDART_Name##name##A);                                                 \
    SAME(OUR_Name##name##W, NVTX_CBID_CUDART_Name##name##W);
NVTX_CORE(CORE_SAME)
NVTX_CORE2(CORE2_SAME)
NVTX_CUDA_NAMES(CUDA_SAME)
NVTX_OPENCL_NAMES(OPENCL_SAME)
NVTX_CUDART_NAMES(CUDART_SAME)
SAME(OUR_CORE_LIMIT, NVTX_CBID_CORE_SIZE);
SAME(OUR_CORE2_LIMIT, NVTX_CBID_CORE2_SIZE);
SAME(OUR_CUDA_LIMIT, NVTX_CBID_CUDA_SIZE);
SAME(OUR_OPENCL_LIMIT, NVTX_CBID_OPENCL_SIZE);
SAME(OUR_CUDART_LIMIT, NVTX_CBID_CUDART_SIZE);
