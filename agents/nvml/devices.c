// SPDX-License-Identifier: Apache-2.0
// NVIDIA's devices for `tracesmith devices`: what CUDA would use, from the driver, and what is known of the board and its
// links, from NVML. The two number devices differently; they meet by PCI address. A device that NVML knows and CUDA does
// not give (hidden by CUDA_VISIBLE_DEVICES, or no driver library) is listed after the others.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agentkit/injection.h"
#include "library.h"
#include "wire/agent.h"

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES_MAX = 64, TEXT_MAX = 1024, FACTS_MAX = 12 };

struct board {
    nvml_device handle;
    char bus[32];
    bool listed;
};

struct machine {
    struct nvml_library nvml;
    struct cuda_library cuda;
    bool has_nvml, has_cuda;
    char driver[TEXT_MAX];
    struct board boards[DEVICES_MAX];
    unsigned board_count;
};

// The facts about one device beyond its line.
struct description {
    struct agent_fact facts[FACTS_MAX + 1];
    char texts[FACTS_MAX][TEXT_MAX];
    int count;
};

__attribute__((format(printf, 3, 4))) static void add_fact(struct description *description, const char *key,
                                                           const char *format, ...) {
    va_list arguments;
    if (description->count == FACTS_MAX)
        return;
    char *text = description->texts[description->count];
    va_start(arguments, format);
    vsnprintf(text, TEXT_MAX, format, arguments);
    va_end(arguments);
    if (text[0])
        description->facts[description->count++] = (struct agent_fact){key, text};
}

// "00000000:65:00.0" and "0000:65:00.0" are one place: the domain is as many digits as it likes.
static bool same_bus(const char *left, const char *right) {
    const size_t a = strlen(left), b = strlen(right), shorter = a < b ? a : b;
    return shorter > 0 && strcasecmp(left + a - shorter, right + b - shorter) == 0;
}

static void find_boards(struct machine *machine) {
    unsigned count = 0;
    if (!machine->has_nvml || machine->nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count && machine->board_count < DEVICES_MAX; i++) {
        struct board *board = &machine->boards[machine->board_count];
        struct nvml_pci pci = {.bus = 0};
        if (machine->nvml.nvmlDeviceGetHandleByIndex_v2(i, &board->handle) != NVML_SUCCESS)
            continue; // no permission: not ours to use either
        if (ANSWERS(&machine->nvml, nvmlDeviceGetPciInfo_v3, board->handle, &pci))
            memcpy(board->bus, pci.bus_id, sizeof board->bus - 1);
        machine->board_count++;
    }
}

static struct board *find_board(struct machine *machine, const char *bus) {
    for (unsigned i = 0; i < machine->board_count; i++)
        if (same_bus(machine->boards[i].bus, bus))
            return &machine->boards[i];
    return NULL;
}

static const char *level_text(int level) {
    return level < 10   ? "the same board"
           : level < 20 ? "one PCIe switch"
           : level < 30 ? "several PCIe switches"
           : level < 40 ? "a host bridge"
           : level < 50 ? "one NUMA node"
                        : "the whole system";
}

// Where its links lead.
static void describe_links(const struct machine *machine, const struct board *board,
                           struct description *description) {
    const struct nvml_library *nvml = &machine->nvml;
    unsigned to[DEVICES_MAX] = {0}, active = 0, elsewhere = 0, version = 0;
    char text[TEXT_MAX] = "";
    size_t length = 0;
    for (unsigned link = 0; link < NVML_LINKS_MAX; link++) {
        struct nvml_pci remote = {.bus = 0};
        unsigned on = 0, at = 0;
        if (!ANSWERS(nvml, nvmlDeviceGetNvLinkState, board->handle, link, &on) || !on)
            continue;
        active++;
        if (nvml->nvmlDeviceGetNvLinkVersion)
            nvml->nvmlDeviceGetNvLinkVersion(board->handle, link, &version);
        if (ANSWERS(nvml, nvmlDeviceGetNvLinkRemotePciInfo_v2, board->handle, link, &remote))
            while (at < machine->board_count && !same_bus(machine->boards[at].bus, remote.bus_id))
                at++;
        else
            at = machine->board_count;
        *(at < machine->board_count ? &to[at] : &elsewhere) += 1;
    }
    for (unsigned i = 0; i < machine->board_count && length < sizeof text; i++)
        if (to[i])
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%u to %s", length ? ", " : "",
                                       to[i], machine->boards[i].bus);
    if (elsewhere && length < sizeof text)
        snprintf(text + length, sizeof text - length, "%s%u to switches or elsewhere", length ? ", " : "",
                 elsewhere);
    if (active)
        add_fact(description, "nvlink", "%u links: %s", active, text);
}

static void describe_paths(const struct machine *machine, const struct board *board,
                           struct description *description) {
    char text[TEXT_MAX] = "";
    size_t length = 0;
    for (unsigned i = 0; i < machine->board_count && length < sizeof text; i++) {
        int level = 0;
        if (&machine->boards[i] != board && ANSWERS(&machine->nvml, nvmlDeviceGetTopologyCommonAncestor,
                                                    board->handle, machine->boards[i].handle, &level))
            length += (size_t)snprintf(text + length, sizeof text - length, "%sto %s through %s",
                                       length ? ", " : "", machine->boards[i].bus, level_text(level));
    }
    add_fact(description, "path", "%s", text);
}

static void describe_sharing(struct description *description) {
    const char *mps = injection_mps();
    if (mps)
        add_fact(description, "mps", "shared by the clients of %s", mps);
}

static void describe_board(const struct machine *machine, const struct board *board,
                           struct description *description) {
    const struct nvml_library *nvml = &machine->nvml;
    char text[TEXT_MAX] = "";
    unsigned value = 0, other = 0;
    add_fact(description, "pci", "%s", board->bus);
    if (ANSWERS(nvml, nvmlDeviceGetUUID, board->handle, text, sizeof text))
        add_fact(description, "uuid", "%s", text);
    if (ANSWERS(nvml, nvmlDeviceGetMaxClockInfo, board->handle, NVML_CLOCK_SM, &value) &&
        ANSWERS(nvml, nvmlDeviceGetMaxClockInfo, board->handle, NVML_CLOCK_MEMORY, &other))
        add_fact(description, "clocks", "at most %u MHz, memory %u MHz", value, other);
    if (ANSWERS(nvml, nvmlDeviceGetEnforcedPowerLimit, board->handle, &value))
        add_fact(description, "power limit", "%.0f W", value / 1000.0);
    if (ANSWERS(nvml, nvmlDeviceGetCurrPcieLinkGeneration, board->handle, &value) &&
        ANSWERS(nvml, nvmlDeviceGetCurrPcieLinkWidth, board->handle, &other))
        add_fact(description, "pcie", "generation %u, %u lanes at the moment", value, other);
    if (ANSWERS(nvml, nvmlDeviceGetMigMode, board->handle, &value, &other))
        add_fact(description, "mig", "%s%s", value ? "on" : "off",
                 value != other ? ", changes at the next reset" : "");
    describe_links(machine, board, description);
    describe_paths(machine, board, description);
}

// What all of NVIDIA's GPUs have in a struct agent_device.
#define GPU(machine, its_name)                                                                               \
    .api = "cuda", .platform = "NVIDIA", .vendor = "NVIDIA", .type = "gpu", .name = (its_name),              \
    .driver = (machine)->driver

typedef void each_device(void *context, const struct agent_device *device);

static void list_cuda_device(struct machine *machine, int number, each_device *each, void *context) {
    const struct cuda_library *cuda = &machine->cuda;
    struct description description = {.count = 0};
    char name[TEXT_MAX] = "", bus[32] = "";
    size_t bytes = 0;
    int device = 0, units = 0, khz = 0, major = 0, minor = 0;
    if (cuda->cuDeviceGet(&device, number) != CUDA_SUCCESS)
        return;
    (void)ANSWERS(cuda, cuDeviceGetName, name, (int)sizeof name, device);
    (void)ANSWERS(cuda, cuDeviceTotalMem_v2, &bytes, device);
    (void)ANSWERS(cuda, cuDeviceGetAttribute, &units, CUDA_MULTIPROCESSORS, device);
    (void)ANSWERS(cuda, cuDeviceGetAttribute, &khz, CUDA_CLOCK_KHZ, device);
    if (ANSWERS(cuda, cuDeviceGetAttribute, &major, CUDA_CAPABILITY_MAJOR, device) &&
        ANSWERS(cuda, cuDeviceGetAttribute, &minor, CUDA_CAPABILITY_MINOR, device))
        add_fact(&description, "compute capability", "%d.%d", major, minor);
    describe_sharing(&description);
    struct board *board =
        ANSWERS(cuda, cuDeviceGetPCIBusId, bus, (int)sizeof bus, device) ? find_board(machine, bus) : NULL;
    if (board) {
        board->listed = true;
        describe_board(machine, board, &description);
    } else {
        add_fact(&description, "pci", "%s", bus);
    }
    const struct agent_device found = {GPU(machine, name), .memory_bytes = bytes,
                                       .compute_units = (uint32_t)units, .clock_mhz = (uint32_t)khz / 1000,
                                       .facts = description.facts};
    each(context, &found);
}

static void list_board(struct machine *machine, struct board *board, each_device *each, void *context) {
    struct description description = {.count = 0};
    struct nvml_memory memory = {.total = 0};
    char name[TEXT_MAX] = "";
    unsigned clock = 0;
    (void)ANSWERS(&machine->nvml, nvmlDeviceGetName, board->handle, name, sizeof name);
    (void)ANSWERS(&machine->nvml, nvmlDeviceGetMemoryInfo, board->handle, &memory);
    (void)ANSWERS(&machine->nvml, nvmlDeviceGetMaxClockInfo, board->handle, NVML_CLOCK_SM, &clock);
    add_fact(&description, "cuda", "does not offer this device to this user");
    describe_board(machine, board, &description);
    const struct agent_device found = {GPU(machine, name), .memory_bytes = memory.total, .clock_mhz = clock,
                                       .facts = description.facts};
    each(context, &found);
}

static void describe_driver(struct machine *machine) {
    char version[80] = "";
    int cuda = 0;
    if (machine->has_nvml)
        (void)ANSWERS(&machine->nvml, nvmlSystemGetDriverVersion, version, sizeof version);
    if (machine->has_cuda)
        (void)ANSWERS(&machine->cuda, cuDriverGetVersion, &cuda);
    if (cuda)
        snprintf(machine->driver, sizeof machine->driver, "%s%sCUDA %d.%d", version, version[0] ? ", " : "",
                 cuda / 1000, cuda % 1000 / 10);
    else
        snprintf(machine->driver, sizeof machine->driver, "%s", version);
}

EXPORT agent_devices_function tracesmith_agent_devices;
EXPORT int tracesmith_agent_devices(each_device *each, void *context) {
    static struct machine machine;
    char why_nvml[TEXT_MAX], why_cuda[TEXT_MAX];
    int count = 0, found = 0;
    machine.has_nvml = nvml_open(&machine.nvml, why_nvml, sizeof why_nvml);
    machine.has_cuda = cuda_open(&machine.cuda, why_cuda, sizeof why_cuda);
    if (!machine.has_nvml && !machine.has_cuda && !why_nvml[0] && !why_cuda[0])
        return AGENT_DEVICES_NO_LOADER;
    if (why_cuda[0])
        each(context, &(struct agent_device){.api = "cuda", .problem = why_cuda});
    if (why_nvml[0])
        each(context, &(struct agent_device){.api = "cuda", .problem = why_nvml});
    find_boards(&machine);
    describe_driver(&machine);
    if (machine.has_cuda && machine.cuda.cuDeviceGetCount(&count) == CUDA_SUCCESS)
        for (int i = 0; i < count && i < DEVICES_MAX; i++, found++)
            list_cuda_device(&machine, i, each, context);
    for (unsigned i = 0; i < machine.board_count; i++)
        if (!machine.boards[i].listed) {
            list_board(&machine, &machine.boards[i], each, context);
            found++;
        }
    return found;
}
