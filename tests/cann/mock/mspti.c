// SPDX-License-Identifier: Apache-2.0
// A mock of libmspti: the functions and records of the agent's table (agents/cann/mspti.h), with the manners of the real one: its
// iterator keeps its place between calls, per thread, also when the caller stops early; callbacks have no correlation id; a flush
// returns the buffer that is being filled under a lock. Of MOCK_MSPTI, a list of words:
//
//     threads     buffers are returned on a thread of their own
//     unordered   the records of a buffer are written in reverse
//     small       a buffer is returned after ten records
//     drop=N      every Nth record is dropped, and counted
//     zero=N      every Nth kernel has no times
//     larger      records end in unknown bytes
//     strange     a record of an unknown kind after every kernel, which the iterator passes over
//     torn        a buffer ends in a record that cannot be read
//     held        another tool is subscribed
//     hccl        no kind COMMUNICATION
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../../agents/cann/mspti.h"

enum {
    INVALID = 1,
    WITHOUT_PRELOAD = 6,
    INNER = 999,
    RECORD_MAX = 128,
    LONGER = 24,
    STRANGE = 77,
    TORN = 99
};

int tracesmith_simulated(void);
int tracesmith_simulated(void) {
    return 1;
}

static bool has(const char *word) {
    const char *list = getenv("MOCK_MSPTI");
    const size_t length = strlen(word);
    while (list && *list) {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '=' || !list[length]))
            return true;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

static unsigned long value(const char *word) {
    const char *at = getenv("MOCK_MSPTI");
    at = at ? strstr(at, word) : NULL;
    return at && has(word) ? strtoul(at + strlen(word) + 1, NULL, 10) : 0;
}

static size_t bytes_of(uint32_t kind) {
    static const size_t bytes[MSPTI_KIND_LIMIT] = {
#define BYTES(NAME, number, type, size) [number] = size,
        MSPTI_KINDS(BYTES)
#undef BYTES
    };
    static _Atomic int larger = -1; // the environment is asked once: not for each record that is fed
    if (larger < 0)
        larger = has("larger");
    const size_t longer = larger ? LONGER : 0;
    if (kind == STRANGE)
        return 32 + longer;
    return kind < MSPTI_KIND_LIMIT && bytes[kind] ? bytes[kind] + longer : 0;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// ---- buffers

static mspti_buffer_wanted *wanted;
static mspti_buffer_full *full;
static mspti_callback *callback;
static void *callback_context;
static _Atomic bool enabled[MSPTI_KIND_LIMIT], called[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint8_t *at;
    size_t size, used, records;
} current;
static uint64_t written, dropped;
static _Atomic uint64_t kernels; // of threads that hold `under_way` together
// Read while a call is under way: a flush waits, so that the records of a call are in one buffer.
static pthread_rwlock_t under_way = PTHREAD_RWLOCK_INITIALIZER;

static void reverse(uint8_t *buffer, size_t used) {
    uint8_t *copy = malloc(used), *to = buffer + used;
    memcpy(copy, buffer, used);
    for (size_t at = 0; at < used;) {
        const size_t bytes = bytes_of(mspti_any_kind(copy + at));
        to -= bytes;
        memcpy(to, copy + at, bytes);
        at += bytes;
    }
    free(copy);
}

static void *return_buffer(void *argument) {
    const size_t *parts = argument;
    full((uint8_t *)parts[0], parts[1], parts[2]);
    return NULL;
}

static void deliver(void) {
    if (!current.at)
        return;
    if (has("unordered"))
        reverse(current.at, current.used);
    if (has("torn") && current.size - current.used >= RECORD_MAX) {
        const uint32_t kind = TORN;
        memcpy(current.at + current.used, &kind, sizeof kind);
        current.used += 8;
    }
    size_t parts[] = {(size_t)current.at, current.size, current.used};
    pthread_t thread;
    current.at = NULL;
    if (has("threads") && pthread_create(&thread, NULL, return_buffer, parts) == 0)
        pthread_join(thread, NULL);
    else
        return_buffer(parts);
}

static void put(const uint8_t *record, size_t bytes) {
    if (current.at && (current.size - current.used < RECORD_MAX || (has("small") && current.records >= 10)))
        deliver();
    if (!current.at) {
        size_t most = 0;
        wanted(&current.at, &current.size, &most);
        current.used = current.records = 0;
    }
    if (!current.at) {
        dropped++;
        return;
    }
    memcpy(current.at + current.used, record, bytes);
    current.used += bytes;
    current.records++;
}

static void write_record(uint32_t kind, uint8_t record[RECORD_MAX]) {
    const unsigned long each = value("drop");
    if (kind >= MSPTI_KIND_LIMIT ? !full : !enabled[kind])
        return;
    memcpy(record, &kind, sizeof kind);
    pthread_mutex_lock(&lock);
    if (each && ++written % each == 0)
        dropped++;
    else
        put(record, bytes_of(kind));
    pthread_mutex_unlock(&lock);
}

// SET(record, member, value): by the table.
#define SET(of, member, ...)                                                                                 \
    do {                                                                                                     \
        __typeof__(mspti_##of##_##member(NULL)) value_ = (__VA_ARGS__);                                      \
        memcpy(record + MSPTI_AT_##of##_##member, &value_, sizeof value_);                                   \
    } while (0)

// ---- what the mock runtime reports

static _Atomic uint64_t correlations = 1;

static void write_call(uint32_t kind, const char *name, uint64_t start, uint64_t correlation) {
    uint8_t record[RECORD_MAX] = {0};
    SET(api, start, start);
    SET(api, end, now());
    SET(api, thread, (uint32_t)gettid());
    SET(api, correlation, correlation);
    SET(api, name, name);
    write_record(kind, record);
}

struct mock_call {
    uint64_t start, correlation;
};
void mock_begin(struct mock_call *call, uint32_t id, const char *name);
void mock_begin(struct mock_call *call, uint32_t id, const char *name) {
    struct {
        struct mspti_callback_data data;
        const void *parameters, *result;
        const char *symbol;
        uint64_t correlation; // never set
    } data = {.data = {MSPTI_ENTER, name}, .correlation = UINT64_MAX};
    pthread_rwlock_rdlock(&under_way);
    *call = (struct mock_call){now(), atomic_fetch_add(&correlations, 1)};
    if (callback && id < 64 && called[id])
        callback(callback_context, MSPTI_DOMAIN_RUNTIME, id, &data.data);
}

void mock_end(const struct mock_call *call, const char *acl, const char *runtime);
void mock_end(const struct mock_call *call, const char *acl, const char *runtime) {
    if (runtime)
        write_call(MSPTI_RUNTIME_API, runtime, call->start + 10, call->correlation);
    write_call(MSPTI_ACL_API, acl, call->start, call->correlation);
    pthread_rwlock_unlock(&under_way);
}

void mock_kernel(const struct mock_call *call, uint32_t device, uint32_t stream, const char *name,
                 uint64_t start, uint64_t end);
void mock_kernel(const struct mock_call *call, uint32_t device, uint32_t stream, const char *name,
                 uint64_t start, uint64_t end) {
    uint8_t record[RECORD_MAX] = {0};
    const unsigned long each = value("zero");
    const bool zero = each && (atomic_fetch_add(&kernels, 1) + 1) % each == 0;
    SET(kernel, start, zero ? 0 : start);
    SET(kernel, end, zero ? 0 : end);
    SET(kernel, device, device);
    SET(kernel, stream, stream);
    SET(kernel, correlation, call->correlation);
    SET(kernel, type, "KERNEL_AIVEC");
    SET(kernel, name, name);
    write_record(MSPTI_KERNEL, record);
    if (has("strange")) {
        uint8_t odd[RECORD_MAX] = {0};
        write_record(STRANGE, odd);
    }
}

void mock_copy(const struct mock_call *call, uint32_t kind, uint64_t bytes, uint64_t start, uint64_t end);
void mock_copy(const struct mock_call *call, uint32_t kind, uint64_t bytes, uint64_t start, uint64_t end) {
    uint8_t record[RECORD_MAX] = {0};
    SET(copy, copy_kind, kind);
    SET(copy, bytes, bytes);
    SET(copy, start, start);
    SET(copy, end, end);
    SET(copy, stream, UINT32_MAX);
    SET(copy, correlation, call->correlation);
    write_record(MSPTI_MEMCPY, record);
}

void mock_set(const struct mock_call *call, uint32_t to, uint64_t bytes, uint64_t start, uint64_t end);
void mock_set(const struct mock_call *call, uint32_t to, uint64_t bytes, uint64_t start, uint64_t end) {
    uint8_t record[RECORD_MAX] = {0};
    SET(set, value, to);
    SET(set, bytes, bytes);
    SET(set, start, start);
    SET(set, end, end);
    SET(set, stream, 3);
    SET(set, correlation, call->correlation);
    write_record(MSPTI_MEMSET, record);
}

void mock_memory(const struct mock_call *call, uint32_t operation, uint64_t address, uint64_t bytes);
void mock_memory(const struct mock_call *call, uint32_t operation, uint64_t address, uint64_t bytes) {
    uint8_t record[RECORD_MAX] = {0};
    SET(memory, operation, operation);
    SET(memory, memory_kind, 1);
    SET(memory, address, address);
    SET(memory, bytes, bytes);
    SET(memory, start, call->start);
    SET(memory, end, now());
    SET(memory, correlation, call->correlation);
    write_record(MSPTI_MEMORY, record);
}

// An all-reduce of 1,000 halves, by both kinds.
void mock_collective(const struct mock_call *call, uint32_t stream, uint64_t start, uint64_t end);
void mock_collective(const struct mock_call *call, uint32_t stream, uint64_t start, uint64_t end) {
    uint8_t record[RECORD_MAX] = {0};
    SET(comm, type, 3);
    SET(comm, count, 1000);
    SET(comm, stream, stream);
    SET(comm, start, start);
    SET(comm, end, end);
    SET(comm, algorithm, "RING");
    SET(comm, name, "hcom_allReduce__0");
    SET(comm, group, "group_0");
    SET(comm, correlation, call->correlation);
    write_record(MSPTI_COMMUNICATION, record);
    memset(record, 0, sizeof record);
    SET(hccl, start, start);
    SET(hccl, end, end);
    SET(hccl, stream, stream);
    SET(hccl, name, "hcom_allReduce__0");
    SET(hccl, comm, "group_0");
    write_record(MSPTI_HCCL, record);
}

void mock_mark(uint32_t flag, uint64_t id, const char *name, uint32_t stream, uint64_t time);
void mock_mark(uint32_t flag, uint64_t id, const char *name, uint32_t stream, uint64_t time) {
    uint8_t record[RECORD_MAX] = {0};
    SET(marker, flag, flag);
    SET(marker, id, id);
    SET(marker, time, time ? time : now());
    SET(marker, name, name);
    SET(marker, domain, "default");
    if (stream) {
        SET(marker, source, MSPTI_SOURCE_DEVICE);
        SET(marker, stream, stream);
    } else {
        SET(marker, device, (uint32_t)getpid()); // where a host's record has its process
        SET(marker, thread, (uint32_t)gettid());
    }
    write_record(MSPTI_MARKER, record);
}

// Records that are seldom.
void mock_rare(const struct mock_call *call);
void mock_rare(const struct mock_call *call) {
    uint8_t record[RECORD_MAX] = {0};
    SET(external, external_kind, 2);
    SET(external, id, 4711);
    SET(external, correlation, call->correlation);
    write_record(MSPTI_EXTERNAL_CORRELATION, record);
    memset(record, 0, sizeof record);
    SET(overhead, overhead_kind, 3);
    SET(overhead, object_kind, MSPTI_OBJECT_THREAD);
    SET(overhead, thread, (uint32_t)gettid());
    SET(overhead, start, call->start);
    SET(overhead, end, call->start + 777);
    write_record(MSPTI_OVERHEAD, record);
}

static uint64_t processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Fills buffers as fast as possible, with kernels of 64 names as long as those of CANN's operators; the ns of processor time that the
// client took.
uint64_t mock_feed(uint64_t count);
uint64_t mock_feed(uint64_t count) {
    static char names[64][80];
    uint8_t record[RECORD_MAX] = {0};
    const uint32_t kind = MSPTI_KERNEL;
    uint64_t taken = 0, time = now();
    for (int i = 0; i < 64; i++)
        snprintf(names[i], sizeof names[i], "te_matmul_%02d_4fe6fca27b2c1ad8bb3b28d2a2a1d2e3_1_kernel0", i);
    memcpy(record, &kind, sizeof kind);
    SET(kernel, type, "KERNEL_AICORE");
    pthread_mutex_lock(&lock);
    for (uint64_t i = 0; full && i < count;) {
        deliver();
        wanted(&current.at, &current.size, &(size_t){0});
        current.used = current.records = 0;
        for (; current.at && i < count && current.size - current.used >= RECORD_MAX; i++) {
            SET(kernel, start, time + i);
            SET(kernel, end, time + i + 5);
            SET(kernel, stream, (uint32_t)(i % 4));
            SET(kernel, name, (const char *)names[i * 7 % 64]);
            SET(kernel, correlation, i % 1000 + 1);
            memcpy(current.at + current.used, record, bytes_of(kind));
            current.used += bytes_of(kind);
        }
        const uint64_t before = processor_time();
        deliver();
        taken += processor_time() - before;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

// ---- the interface

#define API(name, ...)                                                                                       \
    int mspti##name(__VA_ARGS__);                                                                            \
    int mspti##name(__VA_ARGS__)

// The kinds that need it ask the environment, as the real ones do.
static bool is_preloaded(void) {
    const char *list = getenv("LD_PRELOAD");
    return list && strstr(list, "libmspti.so");
}

API(Subscribe, void **subscriber, mspti_callback *theirs, void *context) {
    static int handle;
    if (callback || has("held"))
        return MSPTI_MULTIPLE_SUBSCRIBERS;
    callback = theirs;
    callback_context = context;
    *subscriber = &handle;
    return MSPTI_OK;
}

API(EnableCallback, uint32_t enable, void *subscriber, int domain, uint32_t id) {
    (void)subscriber;
    if (!is_preloaded())
        return WITHOUT_PRELOAD;
    if (domain != MSPTI_DOMAIN_RUNTIME || id >= 64)
        return INVALID;
    called[id] = enable != 0;
    return MSPTI_OK;
}

API(ActivityRegisterCallbacks, mspti_buffer_wanted *asks, mspti_buffer_full *gives) {
    wanted = asks;
    full = gives;
    return MSPTI_OK;
}

API(ActivityEnable, int kind) {
#ifdef MOCK_OLDER
    if (kind > MSPTI_COMMUNICATION)
        return INVALID;
#endif
    if (kind <= 0 || kind >= MSPTI_KIND_LIMIT || (kind == MSPTI_COMMUNICATION && has("hccl")))
        return INVALID;
    if ((kind == MSPTI_HCCL || (kind >= MSPTI_MEMORY && kind <= MSPTI_MEMCPY)) && !is_preloaded())
        return WITHOUT_PRELOAD;
    enabled[kind] = true;
    return MSPTI_OK;
}

API(ActivityDisable, int kind) {
    if (kind > 0 && kind < MSPTI_KIND_LIMIT)
        enabled[kind] = false;
    return MSPTI_OK;
}

API(ActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record) {
    static __thread size_t at;
    if (at >= valid) {
        at = 0;
        return MSPTI_LIMIT_REACHED;
    }
    const size_t bytes = bytes_of(mspti_any_kind(buffer + at));
    if (!bytes)
        return INNER;
    *record = buffer + at;
    at += bytes;
    return MSPTI_OK;
}

API(ActivityFlushAll, uint32_t flag) {
    (void)flag;
    pthread_rwlock_wrlock(&under_way);
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&under_way);
    return MSPTI_OK;
}

#ifndef MOCK_OLDER
API(GetVersion, uint32_t *version) {
    *version = 260201;
    return MSPTI_OK;
}

API(GetTimestamp, uint64_t *time) {
    *time = now();
    return MSPTI_OK;
}

API(ActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *count) {
    (void)context;
    (void)stream;
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return MSPTI_OK;
}
#endif
