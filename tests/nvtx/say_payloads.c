// SPDX-License-Identifier: Apache-2.0
// Emits structured payloads through NVIDIA's own headers, and prints them: one line per event, its name, a tab, and
// the values as JSON.
#include <nvtx3/nvToolsExtPayload.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum phase { FORWARD = 1, BACKWARD = 2, UPDATE = 7 };

struct inner {
    uint16_t rank;
    double weight;
};

struct step {
    int8_t small;
    uint64_t iteration;
    float loss;
    enum phase phase;
    const char *label;
    char text[12];
    int32_t shape[3];
    struct inner inner;
    uint32_t count;
    int16_t tail[5]; // `count` of them are emitted
    uint8_t flags;
    nvtxStringHandle_t registered;
    uint64_t last;
};

#define ENTRY(flags_, type_, name_, detail_, field)                                                          \
    {                                                                                                        \
        .flags = (flags_), .type = (type_), .name = (name_), .arrayOrUnionDetail = (detail_),                \
        .offset = offsetof(struct step, field)                                                               \
    }

static uint64_t enum_id(nvtxDomainHandle_t domain, const nvtxPayloadEnum_t *entries, size_t count,
                        size_t size) {
    const nvtxPayloadEnumAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                           NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                              .entries = entries,
                                              .numEntries = count,
                                              .sizeOfEnum = size};
    return nvtxPayloadEnumRegister(domain, &attributes);
}

static uint64_t schema_id(nvtxDomainHandle_t domain, const char *name,
                          const nvtxPayloadSchemaEntry_t *entries, size_t count, uint64_t bytes,
                          uint64_t id) {
    const nvtxPayloadSchemaAttr_t attributes = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     (bytes ? NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE : 0) |
                     (id ? NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID : 0),
        .name = name,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = bytes,
        .schemaId = id};
    return nvtxPayloadSchemaRegister(domain, &attributes);
}

static uint64_t step_schema(nvtxDomainHandle_t domain) {
    static const nvtxPayloadEnum_t phases[] = {{"forward", FORWARD, 0}, {"backward", BACKWARD, 0}};
    static const nvtxPayloadEnum_t bits[] = {{"saved", 1, 1}, {"frozen", 4, 1}};
    static const nvtxPayloadSchemaEntry_t inner[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT16, .name = "rank"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "weight"}};
    const uint64_t phase = enum_id(domain, phases, 2, sizeof(enum phase)),
                   flags = enum_id(domain, bits, 2, 1);
    const uint64_t nested = schema_id(domain, "inner", inner, 2, 0, 0);
    const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_INT8, "small", 0, small),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "iteration", 0, iteration),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "loss", 0, loss),
        ENTRY(0, phase, "phase", 0, phase),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "label", 0, label),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", sizeof((struct step *)0)->text, text),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "shape", 3, shape),
        ENTRY(0, nested, "inner", 0, inner),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "count", 0, count),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_INT16, "tail", 8, tail),
        ENTRY(0, flags, "flags", 0, flags),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "registered", 0, registered),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "last", 0, last),
    };
    return schema_id(domain, "step", entries, sizeof entries / sizeof *entries, sizeof(struct step), 0);
}

static void print_step(const struct step *step, unsigned i) {
    const enum phase phase = step->phase;
    static const char *const flags[] = {"0",
                                        "\"saved\"",
                                        "2",
                                        "\"saved|0x2\"",
                                        "\"frozen\"",
                                        "\"saved|frozen\"",
                                        "\"frozen|0x2\"",
                                        "\"saved|frozen|0x2\""};
    printf("step "
           "%u\t{\"small\":%d,\"iteration\":%llu,\"loss\":%.9g,\"phase\":%s,\"label\":\"%s\",\"text\":"
           "\"abc\","
           "\"shape\":[%u,-1,1073741824],\"inner\":{\"rank\":%u,\"weight\":%.17g},\"count\":%u,\"tail\":[",
           i, -(int)i, (unsigned long long)(UINT64_MAX - i), (double)step->loss,
           phase == FORWARD    ? "\"forward\""
           : phase == BACKWARD ? "\"backward\""
                               : "7",
           step->label, i, i * 1000, i * 0.1, i % 6);
    for (unsigned t = 0; t < i % 6; t++)
        printf("%s%d", t ? "," : "", step->tail[t]);
    printf("],\"flags\":%s,\"registered\":\"kept \\\"here\\\"\",\"last\":%u}\n", flags[i % 8], i);
}

static void say_steps(nvtxDomainHandle_t domain) {
    const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "kept \"here\"");
    const uint64_t schema = step_schema(domain);
    for (unsigned i = 0; i < 20; i++) {
        char label[32];
        const enum phase phase = i % 3 == 0 ? FORWARD : i % 3 == 1 ? BACKWARD : UPDATE;
        struct step step = {(int8_t) - (int)i,
                            UINT64_MAX - i,
                            (float)i / 3,
                            phase,
                            label,
                            "abc",
                            {(int)i, -1, 1 << 30},
                            {(uint16_t)(i * 1000), i * 0.1},
                            i % 6,
                            {1, -2, 3, -4, 5},
                            (uint8_t)(i % 8),
                            registered,
                            i};
        snprintf(label, sizeof label, "step %u", i);
        const nvtxPayloadData_t data = {schema, i % 2 ? SIZE_MAX : sizeof step, &step};
        if (i % 4 == 0)
            nvtxMarkPayload(domain, &data, 1);
        else if (i % 4 == 1) {
            nvtxRangePushPayload(domain, &data, 1);
            nvtxDomainRangePop(domain);
        } else if (i % 4 == 2) {
            const nvtxRangeId_t range = nvtxRangeStartPayload(domain, &data, 1);
            nvtxRangeEndPayload(domain, range, NULL, 0);
        } else {
            nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
            event.messageType = NVTX_MESSAGE_TYPE_ASCII;
            event.message.ascii = label;
            // As NVTX_PAYLOAD_EVTATTR_SET_DATA means it, which does not compile as C in CUDA 13.0.
            event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
            event.reserved0 = 1;
            event.payload.ullValue = (uint64_t)(uintptr_t)&data;
            nvtxDomainRangePushEx(domain, &event);
            nvtxDomainRangePop(domain);
        }
        print_step(&step, i);
    }
}

// A schema without offsets, sizes or names for all; several payloads; data that is too short; an unregistered number.
static void say_odd(nvtxDomainHandle_t domain) {
    static const nvtxPayloadSchemaEntry_t entries[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_CHAR, .name = "c"},
                                                       {.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE},
                                                       {.type = NVTX_PAYLOAD_ENTRY_TYPE_SHORT, .name = "s"}};
    const struct {
        char c;
        double d;
        short s;
    } data = {65, -0.5, -3};
    const double special[] = {(double)INFINITY};
    const uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
    schema_id(domain, "plain", entries, 3, 0, id);
    static const nvtxPayloadSchemaEntry_t one[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, .name = "d"}};
    schema_id(domain, "one", one, 1, 8, id + 1);
    const nvtxPayloadData_t whole = {id, sizeof data, &data},
                            both[] = {{id + 1, 8, special}, {id, SIZE_MAX, &data}}, shorter = {id, 9, &data},
                            unregistered = {id + 2, 4, &data};
    nvtxMarkPayload(domain, &whole, 1);
    printf("plain\t{\"c\":65,\"1\":-0.5,\"s\":-3}\n");
    nvtxMarkPayload(domain, both, 2);
    printf("one\t[{\"d\":\"inf\"},{\"c\":65,\"1\":-0.5,\"s\":-3}]\n");
    nvtxMarkPayload(domain, &shorter, 1);
    printf("plain\t{\"c\":65,\"not whole\":true}\n");
    nvtxMarkPayload(domain, &unregistered, 1);
    printf("\t{\"schema\":%llu,\"bytes\":4}\n", (unsigned long long)id + 2);
    // The end of a range has more data.
    nvtxRangePushPayload(domain, &whole, 1);
    nvtxRangePopPayload(domain, both, 1);
    printf("plain\t{\"c\":65,\"1\":-0.5,\"s\":-3}\nplain\t{\"d\":\"inf\"}\n");
    nvtxDomainRangePushEx(
        domain, &(nvtxEventAttributes_t){.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE});
    nvtxRangePopPayload(domain, both, 1);
    printf("one\t{\"d\":\"inf\"}\n");
}

int main(void) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("training");
    say_steps(domain);
    say_odd(domain);
    say_odd(NULL);
    return 0;
}
