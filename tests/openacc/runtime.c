// SPDX-License-Identifier: Apache-2.0
// A stand-in for a runtime with a device, which GCC's host fallback is not: it loads the libraries of ACC_PROFLIB and reports a construct
// with an upload, a launch, a download and a wait, STEPS times; then one of which only the first members of the structs are valid. For test_host.sh.
#include <acc_prof.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static acc_prof_callback callbacks[acc_ev_last];
static void add(acc_event_t event, acc_prof_callback callback, acc_register_t how) {
    if (event > 0 && event < acc_ev_last && how == acc_reg)
        callbacks[event] = callback;
}

static void report(acc_event_t event, acc_event_info *info, int valid) {
    acc_prof_info place = {.event_type = event,
                           .valid_bytes = valid ? valid : (int)sizeof place,
                           .version = 201711,
                           .device_number = 1,
                           .src_file = valid ? (const char *)1 : "axpy.c",
                           .line_no = 42};
    info->event_type = event;
    if (callbacks[event])
        callbacks[event](&place, info, NULL);
}

static void step(int valid) {
    static float values[100];
    acc_event_info other = {.other_event = {.valid_bytes = (int)sizeof(acc_other_event_info),
                                            .parent_construct = acc_construct_parallel}};
    acc_event_info data = {.data_event = {.valid_bytes = (int)sizeof(acc_data_event_info),
                                          .var_name = "values",
                                          .bytes = sizeof values,
                                          .host_ptr = values,
                                          .device_ptr = values + 1}};
    acc_event_info launch = {.launch_event = {.valid_bytes = (int)sizeof(acc_launch_event_info),
                                              .kernel_name = "axpy$_omp_fn",
                                              .num_gangs = 7,
                                              .num_workers = 2,
                                              .vector_length = 32}};
    if (valid) {
        data.data_event.valid_bytes = launch.launch_event.valid_bytes = 12;
        launch.launch_event.kernel_name = data.data_event.var_name = (const char *)1;
    }
    report(acc_ev_compute_construct_start, &other, valid);
    report(acc_ev_enqueue_upload_start, &data, valid);
    report(acc_ev_enqueue_upload_end, &data, valid);
    report(acc_ev_enqueue_launch_start, &launch, valid);
    report(acc_ev_enqueue_launch_end, &launch, valid);
    report(acc_ev_enqueue_download_start, &data, valid);
    report(acc_ev_enqueue_download_end, &data, valid);
    report(acc_ev_wait_start, &other, valid);
    report(acc_ev_wait_end, &other, valid);
    report(acc_ev_compute_construct_end, &other, valid);
}

int main(int count, char **words) {
    char *list = getenv("ACC_PROFLIB") ? strdup(getenv("ACC_PROFLIB")) : NULL;
    for (char *path = list ? strtok(list, ";") : NULL; path; path = strtok(NULL, ";")) {
        void *library = dlopen(path, RTLD_NOW);
        void (*start)(acc_prof_reg, acc_prof_reg, acc_prof_lookup_func) = NULL;
        if (library)
            *(void **)&start = dlsym(library, "acc_register_library");
        if (start)
            start(add, add, NULL);
    }
    acc_event_info other = {.other_event = {.valid_bytes = (int)sizeof(acc_other_event_info)}};
    report(acc_ev_device_init_start, &other, 0);
    for (int i = 0; i < (count > 1 ? atoi(words[1]) : 1); i++)
        step(0);
    step(12);
    return 0;
}
