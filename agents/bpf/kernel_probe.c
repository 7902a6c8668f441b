// SPDX-License-Identifier: Apache-2.0
// Probes on functions of the kernel: finds the function in BTF, then loads, attaches and reads its pair of BPF
// programs. bpf.c calls it for `profile --probe`.
#include "kernel_probe.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <kernel_call.skel.h> // generated: cmake/bpf.cmake

#include "probe_site.h"

enum { HITS = 200, ROUNDS = 5 };
enum { NOT_SUPPORTED = 524 }; // the kernel's own word for it, which programs should not see

// ---- the kernel's description of a function

static void describe_value(const struct btf *btf, unsigned type, struct agent_bpf_value *value) {
    const int id = btf__resolve_type(btf, type);
    const struct btf_type *is = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
    if (!is)
        return; // void
    value->is_pointer = btf_is_ptr(is);
    if (btf_is_ptr(is))
        value->bytes = sizeof(void *);
    else if (btf_is_int(is) || btf_is_any_enum(is))
        value->bytes = is->size <= 8 ? (unsigned char)is->size : 0;
    value->is_signed =
        btf_is_int(is) ? (btf_int_encoding(is) & BTF_INT_SIGNED) != 0 : btf_is_any_enum(is) && btf_kflag(is);
}

// What is handed over as a whole structure takes several places, or none: only the arguments before it are read.
static void describe(const struct btf *btf, const struct btf_type *function,
                     struct agent_bpf_signature *signature) {
    const struct btf_type *is = btf__type_by_id(btf, function->type);
    const struct btf_param *parameters = btf_params(is);
    const unsigned count = btf_vlen(is);
    *signature = (struct agent_bpf_signature){0};
    for (unsigned i = 0; i < count && i < AGENT_BPF_ARGUMENTS; i++) {
        struct agent_bpf_value *value = &signature->arguments[i];
        describe_value(btf, parameters[i].type, value);
        if (!value->bytes)
            return;
        snprintf(value->name, sizeof value->name, "%s", btf__name_by_offset(btf, parameters[i].name_off));
        signature->count = i + 1;
    }
    if (signature->count == count) // it comes after the last
        describe_value(btf, is->type, &signature->result);
}

struct nearest {
    unsigned distance;
    char name[128];
};

static bool find_in(const struct btf *btf, unsigned first, struct kernel_probe *probe,
                    struct nearest *nearest) {
    for (unsigned id = first; id < btf__type_cnt(btf); id++) {
        const struct btf_type *type = btf__type_by_id(btf, id);
        const char *name = type && btf_is_func(type) ? btf__name_by_offset(btf, type->name_off) : NULL;
        if (!name)
            continue;
        if (strcmp(name, probe->function) == 0) {
            describe(btf, type, &probe->signature);
            return true;
        }
        const unsigned distance = probe_site_distance(name, probe->function);
        if (distance < nearest->distance) {
            nearest->distance = distance;
            snprintf(nearest->name, sizeof nearest->name, "%s", name);
        }
    }
    return false;
}

static bool find_in_modules(struct btf *kernel, struct kernel_probe *probe, struct nearest *nearest) {
    DIR *directory = opendir("/sys/kernel/btf");
    bool found = false;
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
            continue;
        struct btf *module = btf__load_module_btf(entry->d_name, kernel);
        if (module)
            found = find_in(module, btf__type_cnt(kernel), probe, nearest);
        btf__free(module);
    }
    if (directory)
        closedir(directory);
    return found;
}

int kernel_probe_find(struct kernel_probe *probe, const char *function, char *message, unsigned long size) {
    struct nearest nearest = {.distance = PROBE_SITE_FAR};
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel) {
        snprintf(message, size, "the kernel does not describe its functions: /sys/kernel/btf/vmlinux: %s",
                 strerror(errno));
        return -1;
    }
    bool found = strlen(function) < sizeof probe->function;
    if (found) {
        snprintf(probe->function, sizeof probe->function, "%s", function);
        found = find_in(kernel, 1, probe, &nearest) || find_in_modules(kernel, probe, &nearest);
    }
    btf__free(kernel);
    if (found)
        return 0;
    snprintf(message, size,
             "the kernel has no function named '%.128s' that can be probed%s%s%s (functions that the "
             "compiler inlined or changed cannot be probed)",
             function, nearest.name[0] ? ": is it '" : "", nearest.name, nearest.name[0] ? "'?" : "");
    return -1;
}

// ---- the programs

static int write_refusal(const struct kernel_probe *probe, int error, char *message, unsigned long size) {
    snprintf(message, size, "the kernel rejects a probe of its function '%s': %s", probe->function,
             error == NOT_SUPPORTED || error == EOPNOTSUPP
                 ? "it was built without CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"
             : error == EINVAL || error == EBUSY || error == ENOENT
                 ? "it cannot be traced (notrace), or another tracer uses it"
             : error == EPERM ? "a policy of this machine forbids it"
                              : strerror(error));
    return -1;
}

int kernel_probe_load(struct kernel_probe *probe, unsigned number, const struct kernel_probe_maps *maps,
                      char *message, unsigned long size) {
    struct kernel_call_bpf *skeleton = kernel_call_bpf__open();
    if (!skeleton)
        return write_refusal(probe, errno, message, size);
    probe->skeleton = skeleton;
    skeleton->rodata->probe = number;
    skeleton->rodata->argument_count = probe->signature.count;
    skeleton->rodata->has_result = probe->signature.result.bytes != 0;
    int failed = bpf_program__set_attach_target(skeleton->progs.on_kernel_enter, 0, probe->function);
    if (!failed)
        failed = bpf_program__set_attach_target(skeleton->progs.on_kernel_leave, 0, probe->function);
    if (!failed)
        failed = bpf_map__reuse_fd(skeleton->maps.ring, maps->ring);
    if (!failed)
        failed = bpf_map__reuse_fd(skeleton->maps.processes, maps->processes);
    if (!failed)
        failed = bpf_map__reuse_fd(skeleton->maps.lost, maps->lost);
    if (!failed)
        failed = kernel_call_bpf__load(skeleton);
    return failed ? write_refusal(probe, -failed, message, size) : 0;
}

int kernel_probe_attach(struct kernel_probe *probe, char *message, unsigned long size) {
    const int failed = kernel_call_bpf__attach(probe->skeleton);
    return failed ? write_refusal(probe, -failed, message, size) : 0;
}

void kernel_probe_detach(struct kernel_probe *probe) {
    if (probe->skeleton)
        kernel_call_bpf__detach(probe->skeleton);
}

unsigned long long kernel_probe_missed_of(const struct bpf_object *object) {
    struct bpf_program *program;
    unsigned long long count = 0;
    bpf_object__for_each_program(program, object) {
        struct bpf_prog_info info = {0};
        __u32 size = sizeof info;
        if (bpf_program__fd(program) >= 0 &&
            bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
            count += info.recursion_misses;
    }
    return count;
}

unsigned long long kernel_probe_missed(const struct kernel_probe *probe) {
    return probe->skeleton ? kernel_probe_missed_of(probe->skeleton->obj) : 0;
}

void kernel_probe_close(struct kernel_probe *probe) {
    kernel_call_bpf__destroy(probe->skeleton);
    probe->skeleton = NULL;
}

double kernel_probe_time(void) {
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        for (int i = 0; i < HITS; i++)
            (void)syscall(SYS_getppid);
        clock_gettime(CLOCK_MONOTONIC, &after);
        const double ns =
            ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / HITS;
        best = ns < best ? ns : best;
    }
    return best;
}
