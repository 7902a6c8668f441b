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
#include <nvtx3/nvToolsExtPayload.h>

#include "payload_abi.h"

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

// The extension for structured payloads.
#define LIES(ours, field, theirs, name)                                                                      \
    SAME(offsetof(struct ours, field), offsetof(theirs, name));                                              \
    SAME(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->name));
LIES(nvtx_segment, count, nvtxExtModuleSegment_t, slotCount)
LIES(nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots)
LIES(nvtx_module_info, size, nvtxExtModuleInfo_t, structSize)
LIES(nvtx_module_info, module, nvtxExtModuleInfo_t, moduleId)
LIES(nvtx_module_info, segment_count, nvtxExtModuleInfo_t, segmentsCount)
LIES(nvtx_module_info, segments, nvtxExtModuleInfo_t, segments)
SAME(sizeof(struct nvtx_module_info), sizeof(nvtxExtModuleInfo_t));
LIES(nvtx_data, schema, nvtxPayloadData_t, schemaId)
LIES(nvtx_data, size, nvtxPayloadData_t, size)
LIES(nvtx_data, payload, nvtxPayloadData_t, payload)
LIES(nvtx_entry, flags, nvtxPayloadSchemaEntry_t, flags)
LIES(nvtx_entry, type, nvtxPayloadSchemaEntry_t, type)
LIES(nvtx_entry, name, nvtxPayloadSchemaEntry_t, name)
LIES(nvtx_entry, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail)
LIES(nvtx_entry, offset, nvtxPayloadSchemaEntry_t, offset)
SAME(sizeof(struct nvtx_entry), sizeof(nvtxPayloadSchemaEntry_t));
LIES(nvtx_schema, mask, nvtxPayloadSchemaAttr_t, fieldMask)
LIES(nvtx_schema, name, nvtxPayloadSchemaAttr_t, name)
LIES(nvtx_schema, type, nvtxPayloadSchemaAttr_t, type)
LIES(nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries)
LIES(nvtx_schema, count, nvtxPayloadSchemaAttr_t, numEntries)
LIES(nvtx_schema, bytes, nvtxPayloadSchemaAttr_t, payloadStaticSize)
LIES(nvtx_schema, pack, nvtxPayloadSchemaAttr_t, packAlign)
LIES(nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId)
LIES(nvtx_enum_entry, value, nvtxPayloadEnum_t, value)
LIES(nvtx_enum_entry, is_flag, nvtxPayloadEnum_t, isFlag)
LIES(nvtx_enum, entries, nvtxPayloadEnumAttr_t, entries)
LIES(nvtx_enum, count, nvtxPayloadEnumAttr_t, numEntries)
LIES(nvtx_enum, bytes, nvtxPayloadEnumAttr_t, sizeOfEnum)
LIES(nvtx_enum, id, nvtxPayloadEnumAttr_t, schemaId)
SAME(NVTX_PAYLOAD_TYPE_EXTENDED, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
SAME(NVTX_SCHEMA_NAME, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME);
SAME(NVTX_SCHEMA_TYPE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE);
SAME(NVTX_SCHEMA_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
SAME(NVTX_SCHEMA_COUNT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
SAME(NVTX_SCHEMA_BYTES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
SAME(NVTX_SCHEMA_PACK, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT);
SAME(NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ENUM_ENTRIES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES);
SAME(NVTX_ENUM_COUNT, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES);
SAME(NVTX_ENUM_BYTES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
SAME(NVTX_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_SCHEMA_STATIC, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC);
SAME(NVTX_ENTRY_POINTER, NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
SAME(NVTX_ENTRY_FROM_BASE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE);
SAME(NVTX_ENTRY_FROM_HERE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE);
SAME(NVTX_ENTRY_FIXED, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
SAME(NVTX_ENTRY_TERMINATED, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED);
SAME(NVTX_ENTRY_LENGTH, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX);
SAME(NVTX_ENTRY_MESSAGE, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE);
SAME(NVTX_TYPE_UINT64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64);
SAME(NVTX_TYPE_DOUBLE, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE);
SAME(NVTX_TYPE_ADDRESS, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS);
SAME(NVTX_TYPE_CSTRING, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
SAME(NVTX_TYPE_REGISTERED, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
#define PAYLOAD_NUMBER(name, type, arguments) OUR_##name,
#define PAYLOAD_SAME(name, type, arguments) SAME(OUR_##name, NVTX3EXT_CBID_nvtx##name);
enum payload { NVTX_PAYLOAD_FUNCTIONS(PAYLOAD_NUMBER) OUR_PAYLOAD_LIMIT };
NVTX_PAYLOAD_FUNCTIONS(PAYLOAD_SAME)
