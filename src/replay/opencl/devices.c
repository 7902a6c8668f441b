// SPDX-License-Identifier: Apache-2.0
// The available devices, and which of them replaces which recorded one.
//
//   asked for by name or number   the recorded ones on those, in this order; when there are fewer, they take turns
//   else                          the platform with a device of the name of the first recorded one (or the first platform);
//                                 on it each recorded device gets one of its own name while there are such, the others
//                                 those that are left, and when none is left they take turns
#include "replay/execute.h"

#include "base/status.h"

#if __has_include(<CL/cl.h>)

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "replay/opencl/execute.h"

enum { PLATFORMS_MOST = 64 };

// ---- available devices

static tsmith_status load(struct execution *execution, bool oclgrind, tsmith_error *error) {
    void *library = oclgrind ? execute_oclgrind_library() : dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library && oclgrind)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "Oclgrind (liboclgrind-rt.so) was not found: on Debian, apt install oclgrind");
    if (!library)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "the OpenCL loader (libOpenCL.so.1) was not found: on Debian, apt install "
                          "ocl-icd-libopencl1 pocl-opencl-icd");
#define CALL_LOAD(name)                                                                                      \
    execution->cl.name = __extension__(__typeof__(name) *) dlsym(library, #name);                            \
    if (!execution->cl.name)                                                                                 \
        return status_set(error, TSMITH_ERROR_MISSING,                                                       \
                          "the OpenCL loader has no " #name ": replay needs "                                \
                          "OpenCL 1.2");
    EXECUTE_CALLS(CALL_LOAD)
#undef CALL_LOAD
#define CALL_LOOK(name) execution->cl.name = __extension__(__typeof__(name) *) dlsym(library, #name);
    EXECUTE_LATER_CALLS(CALL_LOOK)
#undef CALL_LOOK
    return TSMITH_OK; // the library stays: drivers do not like to be unloaded
}

static bool list_platform(struct execution *execution, cl_platform_id platform) {
    cl_device_id ids[EXECUTE_DEVICES_MOST];
    cl_uint count = 0;
    if (execution->cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, EXECUTE_DEVICES_MOST, ids, &count))
        return true;
    for (cl_uint i = 0; i < count && i < EXECUTE_DEVICES_MOST; i++) {
        if (!ARRAY_RESERVE(execution->devices, execution->device_capacity, execution->device_count + 1))
            return false;
        struct execute_device *device = &execution->devices[execution->device_count++];
        *device = (struct execute_device){.platform = platform, .id = ids[i]};
        execution->cl.clGetDeviceInfo(ids[i], CL_DEVICE_NAME, sizeof device->name - 1, device->name, NULL);
        execution->cl.clGetDeviceInfo(ids[i], CL_DRIVER_VERSION, sizeof device->driver - 1, device->driver,
                                      NULL);
    }
    return true;
}

static bool list(struct execution *execution) {
    cl_platform_id platforms[PLATFORMS_MOST];
    cl_uint count = 0;
    bool room = true;
    if (execution->cl.clGetPlatformIDs(PLATFORMS_MOST, platforms, &count))
        count = 0;
    for (cl_uint i = 0; i < count && i < PLATFORMS_MOST && room; i++)
        room = list_platform(execution, platforms[i]);
    return room;
}

// ---- those asked for

static size_t look_up(const struct execution *execution, const char *wanted, size_t length) {
    char *end;
    const unsigned long number = strtoul(wanted, &end, 10);
    if (length && end == wanted + length && number < execution->device_count)
        return number;
    for (size_t i = 0; i < execution->device_count && end != wanted + length; i++)
        if (memmem(execution->devices[i].name, strlen(execution->devices[i].name), wanted, length))
            return i;
    return SIZE_MAX;
}

static tsmith_status want_device(struct execution *execution, const char *wanted, size_t length,
                                 tsmith_error *error) {
    const size_t found = look_up(execution, wanted, length);
    if (found == SIZE_MAX)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "none of the %zu OpenCL devices is '%.*s': 'tracesmith devices' lists them",
                          execution->device_count, (int)length, wanted);
    if (!ARRAY_RESERVE(execution->wanted, execution->wanted_capacity, execution->wanted_count + 1))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    execution->wanted[execution->wanted_count++] = found;
    return TSMITH_OK;
}

// A driver that finds no room is not there either.
static tsmith_status no_device(tsmith_error *error) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return status_set(error, TSMITH_ERROR_MISSING,
                          "no OpenCL device was found, or its driver ran out of memory: this process is "
                          "limited to %llu MiB (ulimit -v)",
                          (unsigned long long)limit.rlim_cur >> 20);
    return status_set(error, TSMITH_ERROR_MISSING,
                      "no OpenCL device was found: on Debian, apt install pocl-opencl-icd");
}

// One, which may have a comma in its name, or several.
static tsmith_status choose(struct execution *execution, const char *wanted, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    if (!execution->device_count)
        return no_device(error);
    if (wanted && look_up(execution, wanted, strlen(wanted)) != SIZE_MAX)
        return want_device(execution, wanted, strlen(wanted), error);
    while (wanted && status == TSMITH_OK) {
        const size_t length = strcspn(wanted, ",");
        status = want_device(execution, wanted, length, error);
        wanted = wanted[length] ? wanted + length + 1 : NULL;
    }
    return status;
}

tsmith_status execute_opencl_open(const char *device, struct execution **out, tsmith_error *error) {
    *out = NULL;
    struct execution *execution = calloc(1, sizeof *execution);
    if (!execution)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    const bool oclgrind = device && strcmp(device, EXECUTE_OCLGRIND) == 0;
    tsmith_status status = load(execution, oclgrind, error);
    if (status == TSMITH_OK && !list(execution))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    if (status == TSMITH_OK)
        status = choose(execution, oclgrind ? NULL : device, error);
    if (status == TSMITH_OK)
        *out = execution;
    else
        execute_opencl_close(execution);
    return status;
}

const char *execute_opencl_device(struct execution *execution) {
    const size_t room = execution->device_count * (sizeof execution->devices->name + sizeof " + ") + 1;
    size_t length = 0;
    free(execution->names);
    execution->names = calloc(1, room);
    bool any = false; // else nothing was run, and the first is where it would have been
    for (size_t i = 0; i < execution->device_count; i++)
        any |= execution->devices[i].used;
    const size_t first = execution->wanted_count ? execution->wanted[0] : 0;
    for (size_t i = 0; execution->names && i < execution->device_count; i++)
        if (execution->devices[i].used || (!any && i == first))
            length += (size_t)snprintf(execution->names + length, room - length, "%s%s", length ? " + " : "",
                                       execution->devices[i].name);
    return execution->names ? execution->names : "";
}

bool execute_opencl_source_failed(const struct execution *execution) {
    return execution->source_failed;
}

const struct execute_mapping *execute_opencl_mapping(const struct execution *execution, size_t index) {
    return index < execution->mapping_count ? &execution->mappings[index] : NULL;
}

void execute_opencl_close(struct execution *execution) {
    if (!execution)
        return;
    free(execution->devices);
    free(execution->wanted);
    free(execution->mappings);
    free(execution->names);
    free(execution);
}

// ---- which is which

static bool is_named(const struct execution *execution, size_t device, const char *name) {
    return name && strcmp(execution->devices[device].name, name) == 0;
}

// The devices of the platform that the recording may have been made on.
static size_t choose_platform(const struct execution *execution, const char *name, size_t *out) {
    size_t count = 0, first = 0;
    for (size_t i = execution->device_count; i-- > 0;)
        if (is_named(execution, i, name))
            first = i;
    for (size_t i = 0; i < execution->device_count; i++)
        if (execution->devices[i].platform == execution->devices[first].platform)
            out[count++] = i;
    return count;
}

static bool is_taken(const struct run *run, size_t device) {
    for (size_t i = 0; i < run->mapped_count; i++)
        if (run->mapped[i].device == device)
            return true;
    return false;
}

// Gives each recorded device one of these.
static void assign(struct run *run, const char *const *names, const size_t *among, size_t count,
                   bool as_they_come) {
    const struct execution *execution = run->execution;
    for (size_t i = 0; i < run->mapped_count && as_they_come; i++)
        run->mapped[i].device = among[i % count];
    for (size_t i = 0; i < run->mapped_count && !as_they_come; i++)
        for (size_t j = 0; j < count && run->mapped[i].device == SIZE_MAX; j++)
            if (is_named(execution, among[j], names[i]) && !is_taken(run, among[j]))
                run->mapped[i].device = among[j];
    for (size_t i = 0; i < run->mapped_count; i++) {
        for (size_t j = 0; j < count && run->mapped[i].device == SIZE_MAX; j++)
            if (!is_taken(run, among[j]))
                run->mapped[i].device = among[j];
        if (run->mapped[i].device == SIZE_MAX)
            run->mapped[i].device = among[i % count];
    }
}

static bool keep_mapping(struct run *run, size_t index, const char *name, const char *driver) {
    struct execution *execution = run->execution;
    const size_t device = run->mapped[index].device;
    struct execute_mapping mapping = {.pid = run->process->pid,
                                      .device = device,
                                      .name = execution->devices[device].name,
                                      .driver = execution->devices[device].driver};
    execution->devices[device].used = true;
    snprintf(mapping.recorded, sizeof mapping.recorded, "%s", name ? name : "");
    snprintf(mapping.recorded_driver, sizeof mapping.recorded_driver, "%s", driver ? driver : "");
    for (size_t i = 0, same = 0; i < execution->mapping_count; i++) {
        same += execution->mappings[i].pid == mapping.pid;
        if (same > index)
            return true; // from an earlier replay of the same process
    }
    if (!ARRAY_RESERVE(execution->mappings, execution->mapping_capacity, execution->mapping_count + 1))
        return false;
    execution->mappings[execution->mapping_count++] = mapping;
    return true;
}

static void note_sharing(struct run *run) {
    size_t shared = 0;
    for (size_t i = 0; i < run->mapped_count; i++)
        for (size_t j = 0; j < i; j++)
            if (run->mapped[j].device == run->mapped[i].device) {
                shared++;
                break;
            }
    if (shared)
        run_note(run, "%zu recorded devices are replayed on %zu", run->mapped_count,
                 run->mapped_count - shared);
}

bool devices_map(struct run *run) {
    const struct recorded_process *process = run->process;
    struct execution *execution = run->execution;
    size_t count = 0;
    for (size_t i = 0; i < process->count; i++)
        count += process->records[i].type == RECORDING_DEVICE;
    const char **names = calloc(count + 1, sizeof *names), **drivers = calloc(count + 1, sizeof *drivers);
    size_t *among = calloc(execution->device_count + 1, sizeof *among);
    run->mapped = calloc(count + 1, sizeof *run->mapped);
    bool room = names && drivers && among && run->mapped;
    for (size_t i = 0; room && i < process->count; i++) {
        const struct recording_record *record = &process->records[i];
        if (record->type != RECORDING_DEVICE)
            continue;
        names[run->mapped_count] = recording_text(run->recording, record, RECORDING_KEY_NAME);
        drivers[run->mapped_count] = recording_text(run->recording, record, RECORDING_KEY_DRIVER);
        run->mapped[run->mapped_count++] =
            (struct mapped){recording_value(record, RECORDING_KEY_OBJECT), SIZE_MAX};
    }
    if (room && execution->wanted_count)
        assign(run, names, execution->wanted, execution->wanted_count, true);
    else if (room)
        assign(run, names, among, choose_platform(execution, names[0], among), false);
    for (size_t i = 0; i < run->mapped_count && room; i++)
        room = keep_mapping(run, i, names[i], drivers[i]);
    if (room)
        note_sharing(run);
    free(names);
    free(drivers);
    free(among);
    return room;
}

static void ignore_note(void *context, const char *text) {
    (void)context;
    (void)text;
}

bool execute_opencl_choose(struct execution *execution, struct tsmith_recording *recording,
                           const struct recorded_process *process) {
    const struct execute_client client = {.note = ignore_note};
    struct run run = {.execution = execution, .recording = recording, .process = process, .client = &client};
    const bool room = devices_map(&run);
    free(run.mapped);
    return room;
}

size_t devices_find(const struct run *run, uint64_t id) {
    const struct execution *execution = run->execution;
    size_t device = execution->wanted_count ? execution->wanted[0] : 0;
    for (size_t i = run->mapped_count; i-- > 0;)
        if (run->mapped[i].id == id || !id)
            device = run->mapped[i].device;
    execution->devices[device].used = true;
    return device;
}

cl_device_id context_device(const struct run *run, const struct live *context) {
    return run->execution->devices[context->uses[0]].id;
}

size_t context_devices(const struct run *run, const struct live *context, cl_device_id *out, size_t room) {
    size_t count = 0;
    for (; count < context->use_count && count < room; count++)
        out[count] = run->execution->devices[context->uses[count]].id;
    return count;
}

uint64_t context_memory_most(const struct run *run, const struct live *context) {
    cl_ulong most = 0;
    for (size_t i = 0; context && i < context->use_count; i++) {
        cl_ulong of_device = 0;
        run->cl->clGetDeviceInfo(run->execution->devices[context->uses[i]].id, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                                 sizeof of_device, &of_device, NULL);
        most = of_device > most ? of_device : most;
    }
    return most;
}

#else // built without the OpenCL headers

tsmith_status execute_opencl_open(const char *device, struct execution **out, tsmith_error *error) {
    (void)device;
    *out = NULL;
    return status_set(error, TSMITH_ERROR_MISSING,
                      "this TraceSmith was built without the OpenCL headers: it cannot replay");
}

const char *execute_opencl_device(struct execution *execution) {
    (void)execution;
    return "";
}

bool execute_opencl_source_failed(const struct execution *execution) {
    (void)execution;
    return false;
}

bool execute_opencl_choose(struct execution *execution, struct tsmith_recording *recording,
                           const struct recorded_process *process) {
    (void)execution;
    (void)recording;
    (void)process;
    return true;
}

const struct execute_mapping *execute_opencl_mapping(const struct execution *execution, size_t index) {
    (void)execution;
    (void)index;
    return NULL;
}

void execute_opencl_close(struct execution *execution) {
    (void)execution;
}

#endif
