// SPDX-License-Identifier: Apache-2.0
// The devices of the machine, asked of the agents. In a child process: drivers crash, hang and leave threads behind,
// and none of that should befall the caller. What the child writes into the pipe is not believed either.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "launch/launch.h"
#include "launch/launch_agents.h"
#include "tracesmith/capture.h"
#include "wire/agent.h"

static const char *const apis[] = {"opencl", "nvml", "rocm", "level-zero", "vulkan", "mpi"};
static const int64_t PATIENCE = 60000000000; // ns: a driver may compile its own kernels first
enum {
    TEXTS = 6,
    TEXT_MAX = 4096,
    MESSAGE_DEVICE = 1,
    MESSAGE_NO_LOADER = 2,
    MESSAGE_DONE = 3,
    MESSAGE_BAD_AGENT = 4,
    MESSAGE_FACT = 5,    // of the device before it: key and text
    MESSAGE_PROBLEM = 6, // API and text
    MESSAGE_LIBRARY = 7  // the same
};

struct message {
    uint32_t type;
    uint32_t lengths[TEXTS];
    uint64_t memory_bytes;
    uint32_t compute_units;
    uint32_t clock_mhz;
};

// ---- the child

static void write_all(int fd, const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            _exit(1);
        at += written;
        length -= (size_t)written;
    }
}

static void put_pair(int fd, uint32_t type, const char *first, const char *second) {
    struct message message = {
        .type = type, .lengths = {(uint32_t)strnlen(first, TEXT_MAX), (uint32_t)strnlen(second, TEXT_MAX)}};
    write_all(fd, &message, sizeof message);
    write_all(fd, first, message.lengths[0]);
    write_all(fd, second, message.lengths[1]);
}

static void put_device(void *context, const struct agent_device *device) {
    int fd = *(const int *)context;
    if (device->problem) {
        put_pair(fd, MESSAGE_PROBLEM, device->api, device->problem);
        return;
    }
    if (device->library) {
        put_pair(fd, MESSAGE_LIBRARY, device->api, device->library);
        return;
    }
    const char *texts[TEXTS] = {device->api,    device->platform, device->name,
                                device->vendor, device->driver,   device->type};
    struct message message = {.type = MESSAGE_DEVICE,
                              .memory_bytes = device->memory_bytes,
                              .compute_units = device->compute_units,
                              .clock_mhz = device->clock_mhz};
    for (int i = 0; i < TEXTS; i++)
        message.lengths[i] = (uint32_t)strnlen(texts[i] ? texts[i] : "", TEXT_MAX);
    write_all(fd, &message, sizeof message);
    for (int i = 0; i < TEXTS; i++)
        write_all(fd, texts[i] ? texts[i] : "", message.lengths[i]);
    for (const struct agent_fact *fact = device->facts; fact && fact->key; fact++)
        put_pair(fd, MESSAGE_FACT, fact->key, fact->text);
}

static void ask_agent(const char *path, int fd) {
    struct message message = {.type = MESSAGE_BAD_AGENT};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    agent_devices_function *devices = NULL;
    if (library)
        *(void **)&devices = dlsym(library, AGENT_DEVICES_SYMBOL);
    if (devices)
        message.type = devices(put_device, &fd) == AGENT_DEVICES_NO_LOADER ? MESSAGE_NO_LOADER : MESSAGE_DONE;
    write_all(fd, &message, sizeof message);
    _exit(0); // no destructor of a driver runs
}

// ---- the parent

// Exactly `length` bytes before the deadline.
static bool read_exactly(int fd, void *bytes, size_t length, int64_t deadline) {
    char *at = bytes;
    while (length > 0) {
        int64_t left = deadline - clock_trace_now();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = left > 0 ? poll(&ready, 1, (int)(left / 1000000) + 1) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        ssize_t got = count > 0 ? read(fd, at, length) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

static bool get_device(int fd, const struct message *message, tsmith_dictionary *into, int64_t deadline) {
    uint32_t ids[TEXTS];
    char text[TEXT_MAX + 1];
    char driver[2 * TEXT_MAX + 16];
    char platform[TEXT_MAX + 1] = "";
    for (int i = 0; i < TEXTS; i++) {
        if (message->lengths[i] > TEXT_MAX || !read_exactly(fd, text, message->lengths[i], deadline))
            return false;
        text[message->lengths[i]] = '\0';
        ids[i] = tsmith_dictionary_intern_cstr(into, text);
        if (i == 1)
            memcpy(platform, text, message->lengths[i] + 1);
        if (i == 4) {
            snprintf(driver, sizeof driver, "%s%s%s", platform, platform[0] && text[0] ? " " : "", text);
            ids[i] = tsmith_dictionary_intern_cstr(into, driver);
        }
    }
    tsmith_dictionary_add_device(into, &(tsmith_device){.api = ids[0],
                                                        .name = ids[2],
                                                        .vendor = ids[3],
                                                        .driver = ids[4],
                                                        .type = ids[5],
                                                        .memory_bytes = message->memory_bytes,
                                                        .compute_units = message->compute_units,
                                                        .clock_mhz = message->clock_mhz});
    return true;
}

// Kept as attributes: "device.3.uuid", "problem.cuda", "library.mpi".
static bool get_pair(int fd, const struct message *message, tsmith_dictionary *into, int64_t deadline) {
    char texts[2][TEXT_MAX + 1], key[TEXT_MAX + 32];
    for (int i = 0; i < 2; i++) {
        if (message->lengths[i] > TEXT_MAX || !read_exactly(fd, texts[i], message->lengths[i], deadline))
            return false;
        texts[i][message->lengths[i]] = '\0';
    }
    if (message->type == MESSAGE_PROBLEM)
        snprintf(key, sizeof key, "problem.%s", texts[0]);
    else if (message->type == MESSAGE_LIBRARY)
        snprintf(key, sizeof key, "library.%s", texts[0]);
    else
        snprintf(key, sizeof key, "device.%u.%s", tsmith_dictionary_device_count(into) - 1, texts[0]);
    tsmith_dictionary_set_attribute(into, key, texts[1]);
    return true;
}

// How it ended: MESSAGE_DONE, MESSAGE_NO_LOADER, MESSAGE_BAD_AGENT; 0 when the child died or hung.
static uint32_t listen(int fd, tsmith_dictionary *into) {
    int64_t deadline = clock_trace_now() + PATIENCE;
    struct message message;
    while (read_exactly(fd, &message, sizeof message, deadline)) {
        if (message.type == MESSAGE_FACT || message.type == MESSAGE_PROBLEM ||
            message.type == MESSAGE_LIBRARY) {
            if (!get_pair(fd, &message, into, deadline))
                return 0;
            continue;
        }
        if (message.type != MESSAGE_DEVICE)
            return message.type;
        if (!get_device(fd, &message, into, deadline))
            return 0;
    }
    return 0;
}

static tsmith_status enumerate(const char *api, const char *path, tsmith_dictionary *into,
                               tsmith_error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return status_set_errno(error, "cannot query the %s agent for devices", api);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        ask_agent(path, ends[1]);
    }
    int fork_errno = errno;
    close(ends[1]);
    uint32_t outcome = pid > 0 ? listen(ends[0], into) : 0;
    close(ends[0]);
    if (pid < 0) {
        errno = fork_errno;
        return status_set_errno(error, "cannot query the %s agent for devices", api);
    }
    if (outcome == 0)
        kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    switch (outcome) {
    case MESSAGE_DONE:
        return TSMITH_OK;
    case MESSAGE_NO_LOADER:
        return strcmp(api, "opencl") != 0
                   ? status_set(error, TSMITH_ERROR_MISSING, "the driver that %s needs is not installed", api)
                   : status_set(error, TSMITH_ERROR_MISSING,
                                "OpenCL is not installed: libOpenCL.so.1 was not found (Debian: apt install "
                                "ocl-icd-libopencl1, and a driver: pocl-opencl-icd runs on any processor)");
    case MESSAGE_BAD_AGENT:
        return status_set(error, TSMITH_ERROR_MISSING, "%s is not an agent of this version", path);
    default:
        return status_set(error, TSMITH_ERROR_IO,
                          WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL
                              ? "a driver of %s crashed while listing its devices"
                              : "a driver of %s did not respond while listing its devices",
                          api);
    }
}

// The first API that fails is reported, and only when no other has a device.
tsmith_status tsmith_devices_enumerate(const char *agent_directory, tsmith_dictionary *into,
                                       tsmith_error *error) {
    char directory[4096], path[4096];
    bool any = false;
    tsmith_error one;
    tsmith_status status = launch_agent_directory(agent_directory, directory, sizeof directory, error);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        if (!launch_agent_path(directory, apis[i], path, sizeof path))
            continue;
        tsmith_status failure = enumerate(apis[i], path, into, &one);
        if (failure && !status && error)
            *error = one;
        status = status ? status : failure;
        any = true;
    }
    if (!any)
        return status_set(
            error, TSMITH_ERROR_MISSING,
            "no agent is installed in %s (set TRACESMITH_AGENT_DIR to the directory of the agents)",
            directory);
    return tsmith_dictionary_device_count(into) > 1 ? TSMITH_OK : status;
}
