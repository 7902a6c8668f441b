// SPDX-License-Identifier: Apache-2.0
// What the agent uses of OMPT, the tool interface of OpenMP. Source: OpenMP Application Programming Interface 5.2, chapter
// 19. The names are our own; tests/openmp/test_abi.sh compares the values and the types with a runtime's omp-tools.h.
#ifndef OPENMP_ABI_H
#define OPENMP_ABI_H

#include <stddef.h>
#include <stdint.h>

// A word of the tool, in an object of the runtime: ompt_data_t.
union ompt_word {
    uint64_t value;
    void *pointer;
};

typedef void (*ompt_function)(void);
typedef ompt_function (*ompt_lookup)(const char *name);

// What ompt_start_tool returns: ompt_start_tool_result_t.
struct ompt_tool {
    int (*initialize)(ompt_lookup lookup, int initial_device, union ompt_word *word); // 0: no tool
    void (*finalize)(union ompt_word *word);
    union ompt_word word;
};

// Callbacks, and whether the runtime makes them: ompt_callbacks_t, ompt_set_result_t.
enum ompt_callback {
    OMPT_DEVICE_INITIALIZE = 12,
    OMPT_TARGET = 33,         // target_emi: a construct begins or ends
    OMPT_TARGET_DATA_OP = 34, // target_data_op_emi: an operation on device memory
    OMPT_TARGET_SUBMIT = 35   // target_submit_emi: a kernel is submitted
};
enum ompt_set_result { OMPT_SET_IMPOSSIBLE = 2, OMPT_SET_ALWAYS = 5 };
typedef int (*ompt_set)(enum ompt_callback which, ompt_function function);

enum ompt_endpoint { OMPT_BEGIN = 1, OMPT_END = 2, OMPT_BEGIN_END = 3 }; // ompt_scope_endpoint_t

enum ompt_construct { // ompt_target_t
    OMPT_CONSTRUCT_TARGET = 1,
    OMPT_CONSTRUCT_ENTER_DATA = 2,
    OMPT_CONSTRUCT_EXIT_DATA = 3,
    OMPT_CONSTRUCT_UPDATE = 4,
    OMPT_CONSTRUCT_NOWAIT = 8 // added to the others
};

enum ompt_data_op { // ompt_target_data_op_t
    OMPT_DATA_ALLOC = 1,
    OMPT_DATA_TO_DEVICE = 2,
    OMPT_DATA_FROM_DEVICE = 3,
    OMPT_DATA_DELETE = 4,
    OMPT_DATA_ASSOCIATE = 5,
    OMPT_DATA_DISASSOCIATE = 6,
    OMPT_DATA_ASYNC = 16 // added to the first four
};

static inline enum ompt_data_op ompt_data_op_kind(enum ompt_data_op operation) {
    return (enum ompt_data_op)((unsigned)operation & ~(unsigned)OMPT_DATA_ASYNC);
}

typedef void ompt_device_initialize_function(int device, const char *type, void *handle, ompt_lookup lookup,
                                             const char *documentation);
typedef void ompt_target_function(enum ompt_construct construct, enum ompt_endpoint endpoint, int device,
                                  union ompt_word *task, union ompt_word *target_task,
                                  union ompt_word *target, const void *code);
typedef void ompt_data_op_function(enum ompt_endpoint endpoint, union ompt_word *target_task,
                                   union ompt_word *target, uint64_t *operation_id,
                                   enum ompt_data_op operation, void *source, int source_device,
                                   void *destination, int destination_device, size_t bytes, const void *code);
typedef void ompt_submit_function(enum ompt_endpoint endpoint, union ompt_word *target,
                                  uint64_t *operation_id, unsigned int teams);

typedef struct ompt_tool *ompt_start_tool_function(unsigned int version, const char *runtime);

#endif
