// SPDX-License-Identifier: Apache-2.0
// Opens and reads events of perf. host_sampler.c calls it.
#include "watch/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum {
    BUFFER_MOST = 2 << 20,
    BUFFER_LEAST = 256 << 10,
    WAKE = 512 << 10, // bytes that wake the reader, on the program's time: it comes by itself before that
    ALL_BUFFERS_MOST = 256 << 20,
    STACK_BYTES = 16 << 10,
    RECORD_MOST = 1 << 16, // the size of a record has 16 bits
};
#define READ_LOST (UINT64_C(1) << 4) // PERF_FORMAT_LOST, since Linux 6.0

// By the kernel's numbers: DWARF's number of each register, in the kernel's order.
#if defined(__x86_64__)
static const uint64_t REGISTERS = UINT64_C(0xff01ff);
static const uint8_t dwarf_numbers[] = {0, 3, 2, 1, 4, 5, 6, 7, CFI_PC, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__aarch64__)
static const uint64_t REGISTERS = (UINT64_C(1) << 33) - 1;
static const uint8_t dwarf_numbers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,    16,
                                        17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, CFI_PC};
#else
static const uint64_t REGISTERS = 0;
static const uint8_t dwarf_numbers[] = {0};
#endif
enum { REGISTER_COUNT = sizeof dwarf_numbers };

// ---- opening

static int open_event(struct perf_event_attr *attr, int cpu) {
    return (int)syscall(SYS_perf_event_open, attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void describe(struct perf_event_attr *attr, const struct perf_events_options *options) {
    *attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof *attr,
        .config = PERF_COUNT_SW_CPU_CLOCK, // of a thread: the time in which it runs
        .sample_period = options->period,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .read_format = READ_LOST,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .sample_id_all = 1,
        .context_switch = options->switches,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW, // the trace's clock
        .sample_regs_user = REGISTERS,
        .sample_stack_user = STACK_BYTES,
    };
}

enum { PARANOID_UNKNOWN = -2 };

static int read_paranoid(void) {
    char text[32];
    const int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (int)strtol(text, NULL, 10) : PARANOID_UNKNOWN;
}

void perf_events_explain(int failure, int paranoid, char *why, size_t why_size) {
    if (failure == ENOSYS || (failure == ENOENT && paranoid == PARANOID_UNKNOWN))
        snprintf(why, why_size, "this kernel has no perf events (CONFIG_PERF_EVENTS)");
    else if ((failure == EACCES || failure == EPERM) && paranoid > 2)
        snprintf(why, why_size,
                 "kernel.perf_event_paranoid is %d: only root, or a program with CAP_PERFMON, may sample; "
                 "'sudo sysctl "
                 "kernel.perf_event_paranoid=2' permits users to sample their own programs",
                 paranoid);
    else if (failure == EACCES || failure == EPERM)
        snprintf(
            why, why_size,
            "the system refused perf_event_open (%s) although kernel.perf_event_paranoid is %d: a filter of "
            "system "
            "calls (seccomp) or a security module forbids it. In a container, permit perf_event_open in its "
            "seccomp profile (docker run --security-opt seccomp=FILE), or add the capability PERFMON "
            "(--cap-add PERFMON)",
            strerror(failure), paranoid);
    else if (failure == EMFILE || failure == ENFILE)
        snprintf(why, why_size,
                 "no file descriptor was left: an event is needed for each processor (ulimit -n)");
    else
        snprintf(why, why_size, "perf_event_open failed: %s", strerror(failure));
}

// An older kernel does not count what is lost; not every user may sample the kernel's part.
static int open_first(struct perf_events *events, struct perf_event_attr *attr, int cpu) {
    int fd = open_event(attr, cpu);
    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        attr->exclude_kernel = 1;
        fd = open_event(attr, cpu);
    }
    if (fd < 0 && errno == EINVAL) {
        attr->read_format = 0;
        fd = open_event(attr, cpu);
    }
    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        attr->exclude_kernel = 1;
        fd = open_event(attr, cpu);
    }
    events->without_kernel = attr->exclude_kernel;
    events->with_lost = attr->read_format != 0;
    return fd;
}

static bool open_all(struct perf_events *events, struct perf_event_attr *attr, char *why, size_t why_size) {
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < processors; cpu++) {
        const int fd = events->count ? open_event(attr, cpu) : open_first(events, attr, cpu);
        if (fd < 0 && errno == ENODEV)
            continue; // it is not online
        struct perf_ring *ring = fd < 0 ? NULL : ARRAY_PUSH(events->rings, events->count, events->capacity);
        if (!ring) {
            if (fd < 0)
                perf_events_explain(errno, read_paranoid(), why, why_size);
            else
                snprintf(why, why_size, "out of memory");
            if (fd >= 0)
                close(fd);
            return false;
        }
        *ring = (struct perf_ring){.fd = fd};
    }
    if (!events->count)
        snprintf(why, why_size, "no processor is online");
    return events->count > 0;
}

static void unmap_all(struct perf_events *events) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < events->count; i++) {
        if (events->rings[i].map)
            munmap(events->rings[i].map, page + events->size);
        events->rings[i].map = NULL;
    }
}

static bool map_all(struct perf_events *events, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    events->size = size;
    for (size_t i = 0; i < events->count; i++) {
        void *map = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, events->rings[i].fd, 0);
        if (map == MAP_FAILED) {
            const int failure = errno;
            unmap_all(events);
            errno = failure;
            return false;
        }
        events->rings[i].map = map;
    }
    return true;
}

// As much as the limit of locked memory allows (kernel.perf_event_mlock_kb, ulimit -l).
static bool map_most(struct perf_events *events, size_t wanted, char *why, size_t why_size) {
    size_t size = wanted ? wanted : BUFFER_MOST;
    while (!wanted && size > BUFFER_LEAST && size * events->count > ALL_BUFFERS_MOST)
        size /= 2;
    bool mapped = map_all(events, size);
    for (; !mapped && !wanted && size > BUFFER_LEAST; mapped = map_all(events, size))
        size /= 2;
    if (!mapped)
        snprintf(why, why_size,
                 "the buffers of perf events cannot be mapped: %s (kernel.perf_event_mlock_kb and ulimit -l "
                 "limit them)",
                 strerror(errno));
    return mapped;
}

bool perf_events_open(struct perf_events *events, const struct perf_events_options *options, char *why,
                      size_t why_size) {
    struct perf_event_attr attr;
    *events = (struct perf_events){.stopped = eventfd(0, EFD_CLOEXEC)};
    describe(&attr, options);
    attr.watermark = 1;
    attr.wakeup_watermark =
        options->buffer && options->buffer < 2 * WAKE ? (uint32_t)options->buffer / 2 : WAKE;
    events->period = options->period;
    events->record = malloc(RECORD_MOST);
    if (!events->record)
        snprintf(why, why_size, "out of memory");
    else if (!REGISTERS)
        snprintf(why, why_size, "stacks of this processor cannot be read");
    else if (open_all(events, &attr, why, why_size) && map_most(events, options->buffer, why, why_size))
        return true;
    perf_events_close(events);
    return false;
}

void perf_events_close(struct perf_events *events) {
    unmap_all(events);
    for (size_t i = 0; i < events->count; i++)
        close(events->rings[i].fd);
    if (events->stopped >= 0)
        close(events->stopped);
    free(events->rings);
    free(events->record);
    *events = (struct perf_events){.stopped = -1};
}

// ---- reading

// What is cut by the end of the buffer is put together.
static const struct perf_event_header *borrow_record(const struct perf_events *events, const uint8_t *data,
                                                     uint64_t at) {
    const size_t from = at & (events->size - 1), first = events->size - from;
    const struct perf_event_header *header = (const void *)(data + from); // records are multiples of 8
    if (header->size <= first)
        return header;
    memcpy(events->record, data + from, first);
    memcpy(events->record + first, data, header->size - first);
    return (const void *)events->record;
}

static void read_ring(struct perf_events *events, const struct perf_ring *ring, perf_events_take *take,
                      void *context) {
    struct perf_event_mmap_page *page = (void *)ring->map;
    const uint8_t *data = ring->map + sysconf(_SC_PAGESIZE);
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    while (tail < head) {
        const struct perf_event_header *record = borrow_record(events, data, tail);
        if (record->size < sizeof *record || record->size > head - tail)
            break;
        take(context, record);
        tail += record->size;
        // At once, because unwinding takes longer than the next sample.
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void perf_events_read(struct perf_events *events, perf_events_take *take, void *context) {
    for (size_t i = 0; i < events->count; i++)
        read_ring(events, &events->rings[i], take, context);
}

int64_t perf_events_room(const struct perf_events *events) {
    return (int64_t)(events->size / 2 / STACK_BYTES * events->period);
}

void perf_events_wait(const struct perf_events *events, int milliseconds) {
    enum { POLLED = 256 };
    struct pollfd polled[POLLED + 1];
    const size_t count = events->count < POLLED ? events->count : POLLED;
    bool ended = false;
    for (size_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = events->rings[i].fd, .events = POLLIN};
    polled[count] = (struct pollfd){.fd = events->stopped, .events = POLLIN};
    poll(polled, count + 1, milliseconds);
    // One whose thread has ended is always ready.
    for (size_t i = 0; i < count; i++)
        ended |= (polled[i].revents & POLLHUP) != 0;
    if (ended)
        poll(&polled[count], 1, milliseconds);
}

void perf_events_stop(const struct perf_events *events) {
    for (size_t i = 0; i < events->count; i++)
        ioctl(events->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
    if (events->stopped >= 0)
        (void)eventfd_write(events->stopped, 1);
}

void perf_events_count(const struct perf_events *events, uint64_t *cpu_ns, uint64_t *lost) {
    *cpu_ns = *lost = 0;
    for (size_t i = 0; i < events->count; i++) {
        uint64_t values[2] = {0}; // the count, and what was lost
        if (read(events->rings[i].fd, values, sizeof values) >= (ssize_t)sizeof values[0]) {
            *cpu_ns += values[0];
            *lost += events->with_lost ? values[1] : 0;
        }
    }
}

// ---- records

static bool take_bytes(const uint8_t **at, const uint8_t *end, void *out, size_t size) {
    if ((size_t)(end - *at) < size)
        return false;
    memcpy(out, *at, size);
    *at += size;
    return true;
}

static bool take_registers(const uint8_t **at, const uint8_t *end, struct perf_sample *sample) {
    uint64_t abi, values[REGISTER_COUNT];
    if (!take_bytes(at, end, &abi, sizeof abi))
        return false;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return true;
    if (!take_bytes(at, end, values, sizeof values))
        return false;
    sample->has_registers = abi == PERF_SAMPLE_REGS_ABI_64;
    for (size_t i = 0; i < REGISTER_COUNT; i++) {
        const unsigned number = dwarf_numbers[i];
        if (number == CFI_PC)
            sample->copy.pc = values[i];
        if (number >= CFI_REGISTERS || number == CFI_PC)
            continue;
        sample->copy.registers[number] = values[i];
        sample->copy.known |= UINT64_C(1) << number;
    }
    return true;
}

static bool take_stack(const uint8_t **at, const uint8_t *end, struct perf_sample *sample) {
    uint64_t size, copied;
    if (!take_bytes(at, end, &size, sizeof size))
        return false;
    if (size == 0)
        return true;
    if ((uint64_t)(end - *at) < size)
        return false;
    sample->copy.bytes = *at;
    *at += size;
    if (!take_bytes(at, end, &copied, sizeof copied))
        return false;
    sample->copy.size = (uint32_t)(copied < size ? copied : size);
    return true;
}

bool perf_sample_read(const struct perf_event_header *record, struct perf_sample *sample) {
    const uint8_t *at = (const uint8_t *)(record + 1), *end = (const uint8_t *)record + record->size;
    *sample = (struct perf_sample){.in_kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
                                                PERF_RECORD_MISC_KERNEL};
    return take_bytes(&at, end, &sample->pid, sizeof sample->pid) &&
           take_bytes(&at, end, &sample->tid, sizeof sample->tid) &&
           take_bytes(&at, end, &sample->time, sizeof sample->time) && take_registers(&at, end, sample) &&
           take_stack(&at, end, sample);
}

bool perf_origin_read(const struct perf_event_header *record, struct perf_origin *origin) {
    enum { SIZE = 16 };
    _Static_assert(sizeof *origin == SIZE, "as the kernel writes it");
    if (record->size < sizeof *record + SIZE)
        return false;
    memcpy(origin, (const uint8_t *)record + record->size - SIZE, SIZE);
    return true;
}
