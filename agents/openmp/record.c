// SPDX-License-Identifier: Apache-2.0
// The records, and the names of constructs. The callbacks of agent.c write them. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "agentkit/map.h"
#include "agentkit/record_words.h"

static struct { uint16_t device, teams; } fields;

#define TIME_WORDS(WORD) TICKS_WORDS(WORD) STACK_OR_NONE(WORD)
#define DEVICE_WORDS(WORD) OWN_WORD(WORD, device)
#define CONSTRUCT_WORDS(WORD) CATEGORY_WORD(WORD) WORD(address, TSMITH_FIELD_ADDRESS, OPTIONAL(RECORD_VALUE))
#define DATA_WORDS(WORD) WORD(address, TSMITH_FIELD_ADDRESS, OPTIONAL(RECORD_VALUE))
#define DIRECTION_WORDS(WORD) WORD(direction, TSMITH_FIELD_DIRECTION, RECORD_VALUE)
#define SUBMIT_WORDS(WORD) OWN_OR_NONE(WORD, teams)

#define OPENMP_RECORD_PARTS(PART)                                                                            \
    PART(time_words, TIME_WORDS)                                                                             \
    PART(device_words, DEVICE_WORDS)                                                                         \
    PART(construct_words, CONSTRUCT_WORDS)                                                                   \
    PART(data_words, DATA_WORDS)                                                                             \
    PART(bytes_words, BYTES_WORD)                                                                            \
    PART(direction_words, DIRECTION_WORDS)                                                                   \
    PART(submit_words, SUBMIT_WORDS)

OPENMP_RECORD_PARTS(RECORD_PART)
OPENMP_RECORD_PARTS(RECORD_PART_SHAPE)

// Forms of a record: the device is known, or is not.
static struct { uint16_t construct[2], plain[2], sized[2], moved[2], submit[2]; } shapes;

// The operations on data: their names, and which words they have. Of a deletion the runtimes give no size.
static const struct {
    enum ompt_data_op operation;
    const char *name;
    bool has_bytes;
    uint8_t direction; // tsmith_direction
} OPERATIONS[] = {
    {OMPT_DATA_ALLOC, "target data alloc", true, 0},
    {OMPT_DATA_TO_DEVICE, "target data to device", true, TSMITH_DIRECTION_HOST_TO_DEVICE},
    {OMPT_DATA_FROM_DEVICE, "target data from device", true, TSMITH_DIRECTION_DEVICE_TO_HOST},
    {OMPT_DATA_DELETE, "target data delete", false, 0},
    {OMPT_DATA_ASSOCIATE, "target data associate", true, 0},
    {OMPT_DATA_DISASSOCIATE, "target data disassociate", false, 0},
};
enum { OPERATIONS_COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

static struct { uint32_t openmp, submit, other, operations[OPERATIONS_COUNT]; } names;

static struct map places; // of constructs: ids of names
enum { PLACES_LOG2 = 9 };

#define SHAPE(kind, ...)                                                                                     \
    RECORD_REGISTER(agent.channel, TSMITH_KIND_##kind, RECORD_SUBJECT_NAME, time_words_add,                  \
                    has_device ? device_words_add : NULL, __VA_ARGS__)

static void make_shapes(int has_device) {
    shapes.construct[has_device] = SHAPE(RANGE, construct_words_add);
    shapes.submit[has_device] = SHAPE(API, submit_words_add);
    shapes.plain[has_device] = SHAPE(API, data_words_add);
    shapes.sized[has_device] = SHAPE(API, data_words_add, bytes_words_add);
    shapes.moved[has_device] = SHAPE(API, data_words_add, bytes_words_add, direction_words_add);
}

void record_init(void) {
    struct channel *channel = agent.channel;
    (void)map_init(&places, PLACES_LOG2);
    fields.device = channel_field(channel, "openmpDevice", TSMITH_TYPE_I64, "");
    fields.teams = channel_field(channel, "requestedTeams", TSMITH_TYPE_U64, "");
    names.openmp = channel_string_cstr(channel, "openmp");
    names.submit = channel_string_cstr(channel, "target submit");
    names.other = channel_string_cstr(channel, "target data operation");
    for (int i = 0; i < OPERATIONS_COUNT; i++)
        names.operations[i] = channel_string_cstr(channel, OPERATIONS[i].name);
    make_shapes(0);
    make_shapes(1);
}

enum { WORDS_MAX = 1 + 3 + 1 + 3 };

// A record under way.
struct writing {
    struct ring *ring;
    uint64_t *head, *at;
    bool has_device;
};

static bool writing_begin(struct writing *out, const struct nesting *opened, uint64_t end) {
    out->ring = channel_ring(agent.channel);
    out->head = out->ring ? record_reserve(out->ring, WORDS_MAX) : NULL;
    if (!out->head)
        return false; // dropped, and counted
    out->at = out->head + 1;
    RECORD_PUT(out->at, time_words, .start = opened->start, .end = end, .stack = opened->stack);
    out->has_device = opened->value >= 0;
    if (out->has_device)
        RECORD_PUT(out->at, device_words, .device = (uint64_t)opened->value);
    return true;
}

static void writing_end(const struct writing *writing, const uint16_t shape[2], uint32_t name) {
    const uint32_t words = (uint32_t)(writing->at - writing->head);
    *writing->head = record_head(shape[writing->has_device], words, name);
    record_commit(writing->ring, writing->head, words);
}

void record_construct(const struct nesting *opened, uint64_t end, uint32_t name, const void *code) {
    struct writing writing;
    if (!writing_begin(&writing, opened, end))
        return;
    RECORD_PUT(writing.at, construct_words, .category = names.openmp, .address = (uintptr_t)code);
    writing_end(&writing, shapes.construct, name);
}

void record_data_op(const struct nesting *opened, uint64_t end, enum ompt_data_op operation,
                    const void *address, uint64_t bytes) {
    struct writing writing;
    const uint16_t *shape = shapes.plain;
    int i = 0;
    while (i < OPERATIONS_COUNT && OPERATIONS[i].operation != ompt_data_op_kind(operation))
        i++;
    if (!writing_begin(&writing, opened, end))
        return;
    RECORD_PUT(writing.at, data_words, .address = (uintptr_t)address);
    if (i < OPERATIONS_COUNT && OPERATIONS[i].has_bytes) {
        RECORD_PUT(writing.at, bytes_words, .bytes = bytes);
        shape = shapes.sized;
        if (OPERATIONS[i].direction) {
            RECORD_PUT(writing.at, direction_words, .direction = OPERATIONS[i].direction);
            shape = shapes.moved;
        }
    }
    writing_end(&writing, shape, i < OPERATIONS_COUNT ? names.operations[i] : names.other);
}

void record_submit(const struct nesting *opened, uint64_t end, uint32_t teams) {
    struct writing writing;
    if (!writing_begin(&writing, opened, end))
        return;
    RECORD_PUT(writing.at, submit_words, .teams = teams);
    writing_end(&writing, shapes.submit, names.submit);
}

// ---- names of constructs

static const char *construct_text(enum ompt_construct construct) {
    switch ((unsigned)construct & ~(unsigned)OMPT_CONSTRUCT_NOWAIT) {
    case OMPT_CONSTRUCT_TARGET:
        return "target";
    case OMPT_CONSTRUCT_ENTER_DATA:
        return "target enter data";
    case OMPT_CONSTRUCT_EXIT_DATA:
        return "target exit data";
    case OMPT_CONSTRUCT_UPDATE:
        return "target update";
    default:
        return "target construct";
    }
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// glibc 2.35 and later says without a lock what is loaded; with an older one this stays NULL.
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

// "target at saxpy+0x11e4": the file, and the offset that addr2line takes.
static void place_text(enum ompt_construct construct, const void *code, char *out, size_t size) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (_dl_find_object && code && _dl_find_object((void *)(uintptr_t)code, &found) == 0) {
        const char *path = found.dlfo_link_map->l_name;
        const char *slash = strrchr(path, '/');
        const char *file = !path[0] ? program_invocation_short_name : slash ? slash + 1 : path;
        snprintf(out, size, "%s at %s+0x%llx", construct_text(construct), file,
                 (unsigned long long)((uintptr_t)code - found.dlfo_link_map->l_addr));
        return;
    }
#endif
    snprintf(out, size, "%s at 0x%llx", construct_text(construct), (unsigned long long)(uintptr_t)code);
}

uint32_t construct_name(enum ompt_construct construct, const void *code) {
    char text[256];
    const uint64_t known = map_get(&places, code);
    if (known)
        return (uint32_t)known;
    place_text(construct, code, text, sizeof text);
    const uint32_t name = channel_string_cstr(agent.channel, text);
    if (name && code)
        (void)map_put(&places, code, name);
    return name;
}
