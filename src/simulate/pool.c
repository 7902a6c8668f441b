// SPDX-License-Identifier: Apache-2.0
// What a device can do at once, as far as the trace shows it.
//
// A device, or a copy engine of one direction, is exclusive where the graph found that it never ran two commands at
// once and made one wait (its edges of kind RESOURCE). Otherwise its kernels share it. How much they slow each other is
// measured where the trace has kernels of one name both alone and with others: n kernels that need the part `demand`
// of the device run at min(1, 1 / (n * demand)). A trace without such kernels is taken to show that as many as ran at
// once fit.
#include <math.h>
#include <stdlib.h>

#include "event/sort.h"
#include "simulate/simulate.h"

// By device: the device as a whole, then its copy engines in and out.
enum { WHOLE, ENGINE_IN, ENGINE_OUT, RESOURCES_PER_DEVICE };

static uint32_t engine_of(const tsmith_command *command) {
    if (command->work != TSMITH_WORK_COPY)
        return WHOLE;
    return command->direction == TSMITH_DIRECTION_HOST_TO_DEVICE   ? ENGINE_IN
           : command->direction == TSMITH_DIRECTION_DEVICE_TO_HOST ? ENGINE_OUT
                                                                   : WHOLE;
}

// An edge between two copies of one direction concerns that engine, any other the whole device.
static void find_exclusive(tsmith_simulation *simulation) {
    struct sim_resource *resources = simulation->model.resources;
    for (uint32_t node = 0; node < simulation->command_count; node++) {
        uint32_t count;
        const tsmith_edge *edges = tsmith_graph_predecessors(simulation->graph, node, &count);
        const tsmith_command *command = sim_command(simulation, node);
        uint32_t first = simulation->timeline->rows[command->row].device * RESOURCES_PER_DEVICE;
        for (uint32_t i = 0; i < count; i++) {
            if (edges[i].kind != TSMITH_EDGE_RESOURCE)
                continue;
            uint32_t engine = engine_of(command);
            engine = engine_of(sim_command(simulation, edges[i].from)) == engine ? engine : WHOLE;
            resources[first + engine].exclusive = true;
        }
    }
    for (uint32_t i = 0; i < simulation->model.resource_count; i += RESOURCES_PER_DEVICE) {
        if (resources[i].exclusive)
            resources[i + ENGINE_IN].exclusive = resources[i + ENGINE_OUT].exclusive = false;
        for (uint32_t k = 0; k < RESOURCES_PER_DEVICE; k++)
            simulation->figures.exclusive += resources[i + k].exclusive;
    }
}

// ---- concurrent kernels

// A kernel on the list of one device, and how many ran at once on average, itself included.
struct shared_kernel {
    uint32_t node, name;
    double depth;
};

// The kernels of a device in the order of their starts, and of their ends.
struct device_kernels {
    struct shared_kernel *kernels;
    int64_t *starts, *ends; // by kernel
    uint32_t *by_start, *by_end, *room;
    double *mark; // by kernel: the clock at its start
    uint32_t count;
};

static void device_kernels_finish(struct device_kernels *list) {
    free(list->kernels);
    free(list->starts);
    free(list->ends);
    free(list->by_start);
    free(list->by_end);
    free(list->room);
    free(list->mark);
}

static bool device_kernels_make(struct device_kernels *list, const tsmith_simulation *simulation,
                                const tsmith_row *device) {
    const size_t room = (size_t)device->command_count + 1;
    *list = (struct device_kernels){.kernels = malloc(room * sizeof *list->kernels),
                                    .starts = malloc(room * sizeof *list->starts),
                                    .ends = malloc(room * sizeof *list->ends),
                                    .by_start = malloc(room * sizeof *list->by_start),
                                    .by_end = malloc(room * sizeof *list->by_end),
                                    .room = malloc(room * sizeof *list->room),
                                    .mark = malloc(room * sizeof *list->mark)};
    if (!list->kernels || !list->starts || !list->ends || !list->by_start || !list->by_end || !list->room ||
        !list->mark)
        return false;
    for (uint32_t i = 0; i < device->command_count; i++) {
        const uint32_t node = device->first_command + i;
        const tsmith_command *command = sim_command(simulation, node);
        if (command->work != TSMITH_WORK_COMPUTE || !timeline_runs(command))
            continue;
        list->starts[list->count] = command->start;
        list->ends[list->count] = command->end;
        list->kernels[list->count++] = (struct shared_kernel){.node = node, .name = command->name};
    }
    sort_order_by_time(list->starts, list->count, list->by_start, list->room);
    sort_order_by_time(list->ends, list->count, list->by_end, list->room);
    return true;
}

// Goes through the moments with a clock whose speed depends on how many run; `ended_kernel` gets how far the clock went
// while it ran. With `demand` < 0 the speed is the depth itself, and the result is its average over the kernel.
static void run_clock(const struct device_kernels *list, double demand,
                      void (*ended_kernel)(void *context, struct shared_kernel *kernel, double advance),
                      void *context) {
    double clock = 0;
    uint32_t begun = 0, ended = 0;
    int64_t time = list->count ? list->starts[list->by_start[0]] : 0;
    while (ended < list->count) { // ends before starts
        const uint32_t next_end = list->by_end[ended], depth = begun - ended;
        const bool starts = begun < list->count && list->starts[list->by_start[begun]] < list->ends[next_end];
        const uint32_t kernel = starts ? list->by_start[begun] : next_end;
        const int64_t now = starts ? list->starts[kernel] : list->ends[kernel];
        const double speed = demand < 0 ? depth : depth * demand > 1 ? 1 / (depth * demand) : 1;
        clock += speed * (double)sim_between(time, now);
        time = now;
        if (starts) {
            list->mark[kernel] = clock;
            begun++;
        } else {
            ended_kernel(context, &list->kernels[kernel], clock - list->mark[kernel]);
            ended++;
        }
    }
}

static void tell_depth(void *context, struct shared_kernel *kernel, double advance) {
    const tsmith_command *command = sim_command(context, kernel->node);
    kernel->depth = advance / (double)sim_between(command->start, command->end);
}

static void tell_work(void *context, struct shared_kernel *kernel, double advance) {
    tsmith_simulation *simulation = context;
    if (simulation->model.own[kernel->node]) // one that ends by a link has none
        simulation->model.own[kernel->node] = (int64_t)llround(advance);
}

static int order_by_name(const void *left, const void *right) {
    const struct shared_kernel *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

// What part of the device a kernel needs, from names that ran both alone and with others. Negative when there are
// fewer than EVIDENCE of either.
static double measure_demand(const tsmith_simulation *simulation, struct shared_kernel *kernels,
                             uint32_t count) {
    enum { EVIDENCE = 4 };
    double shared_time = 0, expected = 0;
    qsort(kernels, count, sizeof *kernels, order_by_name);
    for (uint32_t from = 0, to; from < count; from = to) {
        double alone = 0, shared = 0, depths = 0;
        uint32_t alone_count = 0, shared_count = 0;
        for (to = from; to < count && kernels[to].name == kernels[from].name; to++) {
            const tsmith_command *command = sim_command(simulation, kernels[to].node);
            const double duration = (double)sim_between(command->start, command->end);
            if (kernels[to].depth < 1.05) {
                alone += duration;
                alone_count++;
            } else if (kernels[to].depth > 1.5) {
                shared += duration;
                depths += kernels[to].depth;
                shared_count++;
            }
        }
        if (alone_count < EVIDENCE || shared_count < EVIDENCE)
            continue;
        shared_time += shared;
        expected += alone / alone_count * depths; // were each as slow as many run
    }
    return expected > 0 ? shared_time / expected : -1;
}

static tsmith_status share_device(tsmith_simulation *simulation, const tsmith_row *device,
                                  struct sim_resource *resource) {
    struct device_kernels list;
    const double fits = device->depth_max > 1 ? 1.0 / device->depth_max : 0.5;
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    uint32_t queues = 0;
    for (uint32_t i = device->first_row; i < device->first_row + device->row_count; i++)
        queues += simulation->timeline->rows[i].in_order ? 1 : 2;
    // So few in-order queues never run more at once than fits.
    resource->demand = queues * fits <= 1 ? 0 : fits;
    if (device->depth_max < 2)
        return TSMITH_OK;
    if (!device_kernels_make(&list, simulation, device))
        goto done;
    status = TSMITH_OK;
    run_clock(&list, -1, tell_depth, simulation);
    double demand = measure_demand(simulation, list.kernels, list.count);
    if (demand < 0 || demand * device->depth_max <= 1.05)
        goto done;
    resource->demand = demand < 1 ? demand : 1;
    simulation->figures.contended++;
    // The list was sorted by name, the orders are of how it was made.
    device_kernels_finish(&list);
    status = device_kernels_make(&list, simulation, device) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK)
        run_clock(&list, resource->demand, tell_work, simulation);
done:
    device_kernels_finish(&list);
    return status;
}

// ---- all of it

static uint32_t resource_of(const tsmith_simulation *simulation, uint32_t node) {
    const tsmith_command *command = sim_command(simulation, node);
    const struct sim_resource *resources = simulation->model.resources;
    uint32_t first = simulation->timeline->rows[command->row].device * RESOURCES_PER_DEVICE;
    if (!timeline_runs(command) || command->kind == TSMITH_KIND_COMPILE)
        return SIM_NONE;
    if (resources[first].exclusive)
        return first;
    uint32_t engine = engine_of(command);
    if (engine != WHOLE && resources[first + engine].exclusive)
        return first + engine;
    // Those that end by a link (collectives) share nothing.
    bool shares = command->work == TSMITH_WORK_COMPUTE && simulation->model.own[node] > 0 &&
                  resources[first].demand > 0;
    return shares ? first : SIM_NONE;
}

tsmith_status sim_pool_make(tsmith_simulation *simulation) {
    struct sim_model *model = &simulation->model;
    const tsmith_timeline *timeline = simulation->timeline;
    tsmith_status status = TSMITH_OK;
    model->resource_count = (uint32_t)timeline->device_count * RESOURCES_PER_DEVICE;
    model->resources = calloc((size_t)model->resource_count + 1, sizeof *model->resources);
    if (!model->resources)
        return TSMITH_ERROR_NO_MEMORY;
    find_exclusive(simulation);
    for (uint32_t i = 0; i < timeline->device_count && status == TSMITH_OK; i++)
        if (!model->resources[i * RESOURCES_PER_DEVICE].exclusive)
            status =
                share_device(simulation, &timeline->devices[i], &model->resources[i * RESOURCES_PER_DEVICE]);
    for (uint32_t node = 0; node < simulation->command_count; node++) {
        const uint32_t number = model->resource_of[node] = resource_of(simulation, node);
        // What is explained is the same for all that waited.
        if (number != SIM_NONE && !model->unexplained[2 * (size_t)node] &&
            model->gap[node] > model->resources[number].gap)
            model->resources[number].gap = model->gap[node];
    }
    return status;
}
