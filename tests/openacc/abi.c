// SPDX-License-Identifier: Apache-2.0
// The agent's declarations against a compiler's acc_prof.h, for test_host.sh.
#include <acc_prof.h>
#include <stddef.h>

#include "agents/openacc/abi.h"

#define VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
VALUE(ACC_DEVICE_INIT, acc_ev_device_init_start);
VALUE(ACC_ENTER_DATA, acc_ev_enter_data_start);
VALUE(ACC_ENTER_DATA + 1, acc_ev_enter_data_end);
VALUE(ACC_EXIT_DATA, acc_ev_exit_data_start);
VALUE(ACC_UPDATE, acc_ev_update_start);
VALUE(ACC_COMPUTE, acc_ev_compute_construct_start);
VALUE(ACC_COMPUTE + 1, acc_ev_compute_construct_end);
VALUE(ACC_LAUNCH, acc_ev_enqueue_launch_start);
VALUE(ACC_UPLOAD, acc_ev_enqueue_upload_start);
VALUE(ACC_DOWNLOAD, acc_ev_enqueue_download_start);
VALUE(ACC_WAIT, acc_ev_wait_start);
VALUE(ACC_WAIT + 1, acc_ev_wait_end);
VALUE(ACC_EVENT_LIMIT, acc_ev_last);
VALUE(0, acc_reg);
#define CONSTRUCT(name, number, text) VALUE(number, acc_construct_##name);
ACC_CONSTRUCTS(CONSTRUCT)

#define SAME(of, member, theirs, their_member)                                                               \
    _Static_assert(offsetof(struct of, member) == offsetof(theirs, their_member), #member)
SAME(acc_place, event, acc_prof_info, event_type);
SAME(acc_place, valid, acc_prof_info, valid_bytes);
SAME(acc_place, device, acc_prof_info, device_number);
SAME(acc_place, file, acc_prof_info, src_file);
SAME(acc_place, line, acc_prof_info, line_no);
_Static_assert(sizeof(struct acc_place) == sizeof(acc_prof_info), "size");
SAME(acc_operation, construct, acc_other_event_info, parent_construct);
SAME(acc_operation, data.variable, acc_data_event_info, var_name);
SAME(acc_operation, data.bytes, acc_data_event_info, bytes);
SAME(acc_operation, data.device, acc_data_event_info, device_ptr);
SAME(acc_operation, launch.kernel, acc_launch_event_info, kernel_name);
SAME(acc_operation, launch.gangs, acc_launch_event_info, num_gangs);
SAME(acc_operation, launch.vector, acc_launch_event_info, vector_length);
