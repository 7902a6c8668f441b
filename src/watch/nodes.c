// SPDX-License-Identifier: Apache-2.0
// Finds the device nodes of GPUs and of `profile --driver=NODE`. watch.c calls it.
#include "watch/nodes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/status.h"

static void add(struct agent_bpf_node *nodes, unsigned *count, unsigned major_number, unsigned minor_number) {
    if (*count < AGENT_BPF_NODES_MOST)
        nodes[(*count)++] = (struct agent_bpf_node){major_number, minor_number};
}

// Nodes may be made later; the driver's number is there since it was loaded.
static bool is_gpu(const char *driver) {
    static const char *const names[] = {"nvidia", "drm", "kfd", "accel", "mali", "habanalabs"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(driver, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void add_gpus(struct agent_bpf_node *nodes, unsigned *count) {
    char line[128], *end;
    bool of_characters = false;
    FILE *drivers = fopen("/proc/devices", "re");
    while (drivers && fgets(line, sizeof line, drivers)) {
        line[strcspn(line, "\n")] = '\0';
        if (strchr(line, ':'))
            of_characters = strncmp(line, "Character", 9) == 0;
        const unsigned long number = strtoul(line, &end, 10);
        if (of_characters && end != line && *end == ' ' && is_gpu(end + 1))
            add(nodes, count, (unsigned)number, AGENT_BPF_ANY_MINOR);
    }
    if (drivers)
        fclose(drivers);
}

tsmith_status watch_nodes_find(const char *const *paths, size_t path_count,
                               struct agent_bpf_node nodes[AGENT_BPF_NODES_MOST], unsigned *count,
                               tsmith_error *error) {
    struct stat status;
    *count = 0;
    for (size_t i = 0; i < path_count; i++) {
        if (stat(paths[i], &status) || !S_ISCHR(status.st_mode))
            return status_set(error, TSMITH_ERROR_NOT_FOUND, "%s is not a device node", paths[i]);
        add(nodes, count, major(status.st_rdev), minor(status.st_rdev));
    }
    add_gpus(nodes, count);
    return TSMITH_OK;
}
