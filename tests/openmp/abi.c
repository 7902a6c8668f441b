// SPDX-License-Identifier: Apache-2.0
// agents/openmp/abi.h against a runtime's omp-tools.h: it compiles only if both mean the same.
#include <omp-tools.h>
#include <stddef.h>

#include "agents/openmp/abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)

SAME(OMPT_DEVICE_INITIALIZE, ompt_callback_device_initialize);
SAME(OMPT_TARGET, ompt_callback_target_emi);
SAME(OMPT_TARGET_DATA_OP, ompt_callback_target_data_op_emi);
SAME(OMPT_TARGET_SUBMIT, ompt_callback_target_submit_emi);
SAME(OMPT_SET_IMPOSSIBLE, ompt_set_impossible);
SAME(OMPT_SET_ALWAYS, ompt_set_always);
SAME(OMPT_BEGIN, ompt_scope_begin);
SAME(OMPT_END, ompt_scope_end);
SAME(OMPT_BEGIN_END, ompt_scope_beginend);
SAME(OMPT_CONSTRUCT_TARGET, ompt_target);
SAME(OMPT_CONSTRUCT_ENTER_DATA, ompt_target_enter_data);
SAME(OMPT_CONSTRUCT_EXIT_DATA, ompt_target_exit_data);
SAME(OMPT_CONSTRUCT_UPDATE, ompt_target_update);
SAME(OMPT_CONSTRUCT_TARGET + OMPT_CONSTRUCT_NOWAIT, ompt_target_nowait);
SAME(OMPT_CONSTRUCT_UPDATE + OMPT_CONSTRUCT_NOWAIT, ompt_target_update_nowait);
SAME(OMPT_DATA_ALLOC, ompt_target_data_alloc);
SAME(OMPT_DATA_TO_DEVICE, ompt_target_data_transfer_to_device);
SAME(OMPT_DATA_FROM_DEVICE, ompt_target_data_transfer_from_device);
SAME(OMPT_DATA_DELETE, ompt_target_data_delete);
SAME(OMPT_DATA_ASSOCIATE, ompt_target_data_associate);
SAME(OMPT_DATA_DISASSOCIATE, ompt_target_data_disassociate);
SAME(OMPT_DATA_ALLOC + OMPT_DATA_ASYNC, ompt_target_data_alloc_async);
SAME(OMPT_DATA_DELETE + OMPT_DATA_ASYNC, ompt_target_data_delete_async);

_Static_assert(sizeof(union ompt_word) == sizeof(ompt_data_t), "ompt_data_t");
_Static_assert(sizeof(struct ompt_tool) == sizeof(ompt_start_tool_result_t), "ompt_start_tool_result_t");
_Static_assert(offsetof(struct ompt_tool, finalize) == offsetof(ompt_start_tool_result_t, finalize),
               "finalize");
_Static_assert(offsetof(struct ompt_tool, word) == offsetof(ompt_start_tool_result_t, tool_data),
               "tool_data");

// The same parameters, in this order, each of the same kind: the runtime's type, written with our own names for its types.
#define IS(function, result, ...)                                                                            \
    _Static_assert(__builtin_types_compatible_p(function, result(*)(__VA_ARGS__)), #function)
IS(ompt_callback_device_initialize_t, void, int, const char *, ompt_device_t *, ompt_function_lookup_t,
   const char *);
IS(ompt_callback_target_emi_t, void, ompt_target_t, ompt_scope_endpoint_t, int, ompt_data_t *, ompt_data_t *,
   ompt_data_t *, const void *);
IS(ompt_callback_target_data_op_emi_t, void, ompt_scope_endpoint_t, ompt_data_t *, ompt_data_t *, ompt_id_t *,
   ompt_target_data_op_t, void *, int, void *, int, size_t, const void *);
IS(ompt_callback_target_submit_emi_t, void, ompt_scope_endpoint_t, ompt_data_t *, ompt_id_t *, unsigned int);
