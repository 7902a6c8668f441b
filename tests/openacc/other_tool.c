// SPDX-License-Identifier: Apache-2.0
// A second tool, over the compiler's own acc_prof.h: it writes to the file OTHER_TOOL_LOG what the runtime reports, one line per event
// that ends, for test_host.sh.
#include <acc_prof.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *log_file;

static void ended(acc_prof_info *info, acc_event_info *event, acc_api_info *api) {
    (void)api;
    fprintf(log_file, "%d %d %d\n", (int)info->event_type, (int)event->other_event.parent_construct,
            info->device_number);
    fflush(log_file);
}

void acc_register_library(acc_prof_reg add, acc_prof_reg unused, acc_prof_lookup_func lookup) {
    static const acc_event_t ends[] = {acc_ev_enter_data_end,     acc_ev_exit_data_end,
                                       acc_ev_update_end,         acc_ev_compute_construct_end,
                                       acc_ev_enqueue_launch_end, acc_ev_wait_end};
    const char *path = getenv("OTHER_TOOL_LOG");
    log_file = path ? fopen(path, "w") : NULL;
    for (size_t i = 0; log_file && i < sizeof ends / sizeof *ends; i++)
        add(ends[i], ended, acc_reg);
}
