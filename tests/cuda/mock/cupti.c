// SPDX-License-Identifier: Apache-2.0
// A mock of libcupti: the activity and callback interfaces as the tests need them, with the manners of the real one
// and some worse ones. What it does is in MOCK_CUPTI, a list of words:
//
//     version=N     cuptiGetVersion returns N, and records have the layout of that version (130001)
//     late          buffers come back only when CUPTI is flushed
//     unordered     records are written in an order of its own
//     threads       each thread has a buffer of its own, and hands it back itself
//     slow          a flush that is not forced hands over its buffers after a forced one that came meanwhile
//     partial       a buffer is handed back when it is half full
//     nothing       buffers come back with no record in them too
//     drop=N        every Nth record is dropped, and counted
//     zero=N        every Nth kernel has no times
//     wrong=N       every Nth kernel has times from before its launch
//     silent        kernels are not recorded (a library that is older than the device)
//     held          another tool is subscribed already; exclusive: and no kind can be enabled
//     denied=N      subscribing gives error N
//     unshared, alone, timeless   the second interface is there and does not work (an old driver): subscribing is not
//                   supported, or refused as if another tool held it, or nothing works once one is subscribed
//     twice         a buffer is handed back twice
//     torn          a buffer ends in a record that cannot be read
//     strange       records of an unknown kind
//     larger        records end in unknown fields
//     strict        what loses things without a word does: two timestamp callbacks spoil as many kernels; kernels of
//                   graphs have no times when kernels alone are enabled, and are not there once a kind was disabled
//     early         within cuInit nothing can be switched on yet (unified memory never can)
//     hardware      times of kernels come from hardware events: when they were queued is not to be had
//     pthreads      threads cannot be named as the system names them
//     pc...         how it samples: cupti_sampling.c
//     fatal=N       at the Nth kernel it meets an error, reports it, and finalizes itself
//     detached=N    at the Nth kernel another tool ends CUPTI (cuptiFinalize)
//     error=N       every Nth kernel it reports an error, and continues; warning=N: a warning
//     hostnodes     the nodes of graphs are host functions
//     nodes         another user of CUPTI requests graphs node by node
//     compute=N     the devices' compute capability (90)
//     unmanageable  no counters of unified memory
//     resets        records that were not handed over when a primary context is reset are lost, without a word
//     takeover      after 300 launches another tool registers its callbacks for buffers
#include "cupti_mock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int tracesmith_simulated(void) {
    return 1;
}

// ns before a kernel begins
enum { LATENCY_QUEUED = 900, LATENCY_SUBMITTED = 300 };
enum { KIND_LIMIT = 64, PENDING = 1 << 16 };

static cupti_callback *subscriber;
static void *subscriber_context;
static int subscribed; // handed out as the handle
struct mock_settings mock_settings;
static cupti_buffer_wanted *wanted;
static cupti_buffer_full *full;
static _Atomic uint64_t enabled;
static _Atomic uint8_t call_enabled[3][2048];
static _Atomic uint8_t state_enabled[CUPTI_STATE_WARNING + 1];
static _Atomic uint64_t dropped, written, kernels;
static _Atomic uint32_t disabled;

bool mock_has(const char *word) {
    const char *list = getenv("MOCK_CUPTI");
    const size_t length = strlen(word);
    while (list && *list) {
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '=' || !list[length]))
            return true;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

uint32_t mock_value(const char *word, uint32_t otherwise) {
    const char *list = getenv("MOCK_CUPTI");
    const size_t length = strlen(word);
    while (list && *list) {
        if (strncmp(list, word, length) == 0 && list[length] == '=')
            return (uint32_t)atol(list + length + 1);
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return otherwise;
}

static struct {
    uint32_t version, drop, zero, wrong;
    bool late, unordered, threads, partial, nothing, silent, twice, torn, strange, takeover, strict, larger;
} how;

__attribute__((constructor)) static void read_how(void) {
    how.version = mock_value("version", MOCK_VERSION);
    how.drop = mock_value("drop", 0);
    how.zero = mock_value("zero", 0);
    how.wrong = mock_value("wrong", 0);
    how.late = mock_has("late");
    how.unordered = mock_has("unordered");
    how.threads = mock_has("threads");
    how.partial = mock_has("partial");
    how.nothing = mock_has("nothing");
    how.silent = mock_has("silent");
    how.twice = mock_has("twice");
    how.torn = mock_has("torn");
    how.strange = mock_has("strange");
    how.takeover = mock_has("takeover");
    how.strict = mock_has("strict");
    how.larger = mock_has("larger");
}

uint64_t mock_now(void) {
    return mock_time_of_cupti(mock_time());
}

// ---- records

enum { LARGER = 40 };

// The part of a record that the version has; the rest has unknown fields.
static void copy_record(uint8_t *to, size_t bytes, const void *record, size_t size) {
    const size_t known = how.larger && bytes > LARGER ? bytes - LARGER : bytes;
    memset(to, 0, known);
    memset(to + known, 0xa5, bytes - known);
    memcpy(to, record, size < known ? size : known);
}

// ---- buffers

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all below; never held while a client is called
static struct buffer shared;
static struct buffer owns[256]; // of threads, in the order they came
static _Atomic uint32_t own_count;
static __thread struct buffer *own;
static struct buffer done[4096];
static size_t done_count;
// Records whose commands have not ended yet.
static struct pending {
    uint64_t end;
    size_t bytes;
    uint8_t record[RECORD_MAX];
} * waiting;
static size_t waiting_count;

void mock_deliver(struct buffer buffer) {
    if (!buffer.at)
        return;
    if (how.torn && buffer.used + 8 <= buffer.size) {
        memset(buffer.at + buffer.used, 0xff, 8);
        buffer.used += 8;
    }
    for (int i = 0; i < (how.twice ? 2 : 1); i++)
        if (mock_settings.shared)
            mock_settings.full(buffer.at, buffer.size, buffer.used, NULL);
        else
            full(NULL, 0, buffer.at, buffer.size, buffer.used);
}

// The state domain of callbacks came with 12.2.
static void report(uint32_t id, int result, const char *message) {
    const struct cupti_state_data data = {.result = result, .message = message};
    if (subscriber && state_enabled[id])
        subscriber(subscriber_context, CUPTI_DOMAIN_STATE, id, &data);
}

struct buffer mock_ask(void) {
    struct buffer buffer = {NULL, 0, 0, 0};
    size_t records = 0;
    if (mock_settings.shared)
        mock_settings.wanted(&buffer.at, &buffer.size, &records, NULL);
    else if (wanted)
        wanted(&buffer.at, &buffer.size, &records);
    mock_check_zeroed(&buffer);
    // As the release notes of 12.9 say, without the status.
    if (!buffer.at && (mock_settings.shared || wanted) && how.version >= CUPTI_12_9)
        report(CUPTI_STATE_ERROR, CUPTI_OUT_OF_MEMORY, "no buffer was provided");
    return buffer;
}

static void drop_one(void) {
    atomic_fetch_add(&dropped, 1);
}

static __thread bool in_slow_flush;

// Of the waiting buffers, those whose records are all complete, or every one.
static void deliver_done(bool all) {
    for (size_t i = 0;;) {
        struct buffer mine = {NULL, 0, 0, 0};
        pthread_mutex_lock(&lock);
        const uint64_t time = mock_time();
        while (i < done_count && !all && done[i].complete > time)
            i++;
        if (i < done_count) {
            mine = done[i];
            done[i] = done[--done_count];
        }
        pthread_mutex_unlock(&lock);
        if (!mine.at)
            return;
        if (in_slow_flush)
            mock_let_forced_pass();
        mock_deliver(mine);
    }
}

// Puts a record into a buffer, and hands buffers over. Called without the lock.
static void put(const void *record, size_t bytes, uint64_t complete) {
    struct buffer finished = {NULL, 0, 0, 0};
    const uint64_t number = atomic_fetch_add(&written, 1) + 1;
    if (how.drop && number % how.drop == 0) {
        drop_one();
        return;
    }
    if (!own)
        own = &owns[atomic_fetch_add(&own_count, 1) % 256];
    pthread_mutex_lock(&lock);
    struct buffer *buffer = how.threads ? own : &shared;
    const size_t limit = how.partial ? buffer->size / 2 : buffer->size - (how.torn ? 8 : 0);
    if (buffer->at && buffer->used + bytes > limit) {
        finished = *buffer;
        *buffer = (struct buffer){NULL, 0, 0, 0};
    }
    if (!buffer->at) {
        pthread_mutex_unlock(&lock);
        struct buffer fresh = mock_ask();
        pthread_mutex_lock(&lock);
        if (!buffer->at)
            *buffer = fresh;
        else if (fresh.at) { // another thread was faster: it goes back empty
            done[done_count++] = fresh;
        }
    }
    if (buffer->at && buffer->used + bytes <= buffer->size) {
        memcpy(buffer->at + buffer->used, record, bytes);
        buffer->used += bytes;
        buffer->complete = complete > buffer->complete ? complete : buffer->complete;
    } else {
        drop_one();
    }
    if (finished.at && ((!how.threads && how.late) || finished.complete > mock_time()) &&
        done_count < sizeof done / sizeof *done) {
        done[done_count++] = finished;
        finished.at = NULL;
    }
    pthread_mutex_unlock(&lock);
    mock_deliver(finished);
    if (!how.late)
        deliver_done(false);
}

bool mock_is_enabled(uint32_t kind) {
    return kind < KIND_LIMIT && (atomic_load_explicit(&enabled, memory_order_relaxed) >> kind & 1);
}

void mock_write(const void *record, size_t size, uint32_t kind) {
    uint8_t copy[RECORD_MAX];
    const size_t bytes = mock_bytes_of(kind);
    copy_record(copy, bytes, record, size);
    put(copy, bytes, 0);
}

// Those whose commands have ended, or all.
int cuptiActivityFlushAll(uint32_t flags);

static void settle(bool all) {
    static uint32_t seed = 1;
    for (;;) {
        uint8_t record[RECORD_MAX];
        size_t bytes = 0;
        pthread_mutex_lock(&lock);
        const uint64_t time = mock_time();
        const size_t from =
            how.unordered && waiting_count ? (seed = seed * 1664525u + 1013904223u) % waiting_count : 0;
        for (size_t i = 0; i < waiting_count && !bytes; i++) {
            const size_t at = (from + i) % waiting_count;
            if (!all && waiting[at].end > time)
                continue;
            bytes = waiting[at].bytes;
            memcpy(record, waiting[at].record, bytes);
            if (how.unordered)
                waiting[at] = waiting[--waiting_count];
            else
                memmove(&waiting[at], &waiting[at + 1], (--waiting_count - at) * sizeof *waiting);
        }
        pthread_mutex_unlock(&lock);
        if (!bytes)
            return;
        put(record, bytes, 0);
    }
}

// The record of a command has its place in a buffer from the launch on, and is complete when the command has ended; where the
// order is to be another one, it gets its place then.
static void write_at(const void *record, size_t size, uint32_t kind, uint64_t end) {
    size_t count;
    if (!how.unordered) {
        uint8_t copy[RECORD_MAX];
        copy_record(copy, mock_bytes_of(kind), record, size);
        put(copy, mock_bytes_of(kind), end);
        return;
    }
    pthread_mutex_lock(&lock);
    if (!waiting)
        waiting = malloc(PENDING * sizeof *waiting);
    struct pending *place = waiting_count < PENDING ? &waiting[waiting_count++] : NULL;
    if (place) {
        place->end = end;
        place->bytes = mock_bytes_of(kind);
        copy_record(place->record, place->bytes, record, size);
    }
    count = waiting_count;
    pthread_mutex_unlock(&lock);
    if (!place)
        drop_one();
    if (count >= 64)
        settle(count == PENDING);
}

// ---- reports of the driver

uint32_t mock_thread(void) {
    return mock_settings.system_threads ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

static void on_call(int site, int domain, uint32_t id, const char *name, uint32_t correlation,
                    const int *result, void *context) {
    struct cupti_callback_data data = {.site = site,
                                       .function = name,
                                       .result = result,
                                       .context = context,
                                       .context_uid = mock_context_id(context),
                                       .correlation = correlation};
    if (subscriber && id < 2048 && call_enabled[domain - 1][id])
        subscriber(subscriber_context, domain, id, &data);
}

static void on_called(int domain, uint32_t id, uint64_t start, uint64_t end, uint32_t correlation,
                      int result) {
    const uint32_t kind = domain == 1 ? CUPTI_KIND_DRIVER : CUPTI_KIND_RUNTIME;
    const struct cupti_api record = {.kind = kind,
                                     .cbid = id,
                                     .start = start,
                                     .end = end,
                                     .process = (uint32_t)getpid(),
                                     .thread = mock_thread(),
                                     .correlation = correlation,
                                     .result = (uint32_t)result};
    mock_write_external(correlation);
    if (mock_is_enabled(kind) && !mock_left_out(domain, id))
        mock_write(&record, sizeof record, kind);
    if (how.strange) {
        const uint32_t odd[4] = {KIND_LIMIT + 9, 0, 0, 0};
        mock_write(odd, sizeof odd, KIND_LIMIT + 9);
    }
}

// A client that shares CUPTI must have declared that before: switching the kind on is not enough.
static bool graphs_as_a_whole(void) {
    return mock_is_enabled(CUPTI_KIND_GRAPH_TRACE) &&
           (!mock_settings.shared || mock_settings.graphs_as_a_whole);
}

static void finalize_itself(void) {
    cuptiActivityFlushAll(1);
    report(CUPTI_STATE_FATAL_ERROR, CUPTI_UNKNOWN, "an error of the mock");
    subscriber = NULL;
    atomic_store(&enabled, 0);
    mock_settings.finalized = true;
}

// Nothing is reported, and buffers that were not flushed are lost.
static void detach(void) {
    subscriber = NULL;
    subscribed = 0;
    atomic_store(&enabled, 0);
    for (uint32_t id = 0; id < 2048; id++)
        call_enabled[0][id] = call_enabled[1][id] = call_enabled[2][id] = 0;
    for (uint32_t id = 0; id <= CUPTI_STATE_WARNING; id++)
        state_enabled[id] = 0;
}

static void on_kernel(const struct operation *operation) {
    if (operation->graph && mock_has("hostnodes")) {
        const struct cupti_graph_host_node node = mock_host_node(operation);
        if (mock_is_enabled(node.kind))
            write_at(&node, sizeof node, node.kind, operation->done);
        return;
    }
    struct cupti_kernel record = {.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                  .registers = 24,
                                  .start = operation->start,
                                  .end = operation->end,
                                  .device = operation->device,
                                  .context = operation->context,
                                  .stream = operation->stream,
                                  .dynamic_shared = (int32_t)operation->shared,
                                  .correlation = operation->correlation,
                                  .name = operation->name,
                                  .graph_node = operation->graph_node,
                                  .graph = operation->graph};
    const uint64_t number = atomic_fetch_add(&kernels, 1) + 1;
    mock_measured_kernel();
    mock_sampled_kernel(operation);
    if (number == mock_value("fatal", 0))
        finalize_itself();
    if (number == mock_value("detached", 0))
        detach();
    if (mock_value("error", 0) && number % mock_value("error", 0) == 0)
        report(CUPTI_STATE_ERROR, CUPTI_OUT_OF_MEMORY, "an error that passes");
    if (mock_value("warning", 0) && number % mock_value("warning", 0) == 0)
        report(CUPTI_STATE_WARNING, CUPTI_NOT_SUPPORTED, NULL);
    if (how.takeover && number == 300) {
        cuptiActivityFlushAll(0);
        wanted = mock_their_buffer;
        full = mock_their_records;
    }
    for (int i = 0; i < 3; i++) {
        record.grid[i] = (int32_t)operation->grid[i];
        record.block[i] = (int32_t)operation->block[i];
    }
    if (how.zero && number % how.zero == 0)
        record.start = record.end = 0;
    if (how.wrong && number % how.wrong == 0) {
        record.start -= 3600000000000u;
        record.end -= 3600000000000u;
    }
    if (mock_settings.latency) {
        record.queued = operation->start - LATENCY_QUEUED;
        record.submitted = number % 2 ? operation->start - LATENCY_SUBMITTED : 0; // not every one is known
    }
    if (how.strict &&
        (number <= mock_settings.clocks || (operation->graph && !mock_is_enabled(CUPTI_KIND_MEMCPY))))
        record.start = record.end = 0;
    if (how.strict && operation->graph && disabled)
        return;
    if (mock_is_enabled(CUPTI_KIND_CONCURRENT_KERNEL) && !how.silent &&
        !(operation->graph && graphs_as_a_whole()))
        write_at(&record, sizeof record, record.kind, operation->done);
}

static void on_operated(const struct operation *o) {
    const struct cupti_memcpy copy = {.kind = CUPTI_KIND_MEMCPY,
                                      .copy_kind = (uint8_t)o->copy_kind,
                                      .source_kind = o->copy_kind == 1 ? 1 : 3,
                                      .destination_kind = o->copy_kind == 1 ? 3 : 1,
                                      .bytes = o->bytes,
                                      .start = o->start,
                                      .end = o->end,
                                      .device = o->device,
                                      .context = o->context,
                                      .stream = o->stream,
                                      .correlation = o->correlation};
    const struct cupti_peer_copy peer = {.kind = CUPTI_KIND_MEMCPY2,
                                         .copy_kind = 10,
                                         .source_kind = 3,
                                         .destination_kind = 3,
                                         .bytes = o->bytes,
                                         .start = o->start,
                                         .end = o->end,
                                         .device = o->device,
                                         .context = o->context,
                                         .stream = o->stream,
                                         .source_device = o->device,
                                         .destination_device = o->peer,
                                         .correlation = o->correlation};
    const struct cupti_memset set = {.kind = CUPTI_KIND_MEMSET,
                                     .value = o->value,
                                     .bytes = o->bytes,
                                     .start = o->start,
                                     .end = o->end,
                                     .device = o->device,
                                     .context = o->context,
                                     .stream = o->stream,
                                     .correlation = o->correlation};
    const struct cupti_graph_trace graph = {.kind = CUPTI_KIND_GRAPH_TRACE,
                                            .correlation = o->correlation,
                                            .start = o->start,
                                            .end = o->end,
                                            .device = o->device,
                                            .graph = o->graph,
                                            .context = o->context,
                                            .stream = o->stream};
    const void *const records[] = {NULL, &copy, &set, &peer, &graph};
    const size_t sizes[] = {0, sizeof copy, sizeof set, sizeof peer, sizeof graph};
    if (o->kind == OPERATION_KERNEL)
        on_kernel(o);
    else if (mock_is_enabled(*(const uint32_t *)records[o->kind]) &&
             (o->kind != OPERATION_GRAPH || graphs_as_a_whole()))
        write_at(records[o->kind], sizes[o->kind], *(const uint32_t *)records[o->kind], o->done);
}

static void on_resource(uint32_t id, void *context, void *stream, const void *about) {
    struct cupti_module_data loaded = {0};
    struct cupti_graph_data node = {0};
    const bool of_graph = id == CUPTI_RESOURCE_GRAPH_NODE_CREATED || id == CUPTI_RESOURCE_GRAPH_NODE_CLONED;
    void *descriptor = of_graph ? (void *)&node : &loaded;
    struct cupti_resource_data data = {.context = context, .stream = stream, .descriptor = descriptor};
    if (about)
        memcpy(descriptor, about, of_graph ? sizeof node : sizeof loaded);
    if (id == CUPTI_RESOURCE_CONTEXT_CREATED)
        mock_write_context(context);
    mock_sampled_module(&loaded);
    if (id == CUPTI_RESOURCE_CONTEXT_DESTROY)
        mock_sampled_context_ends(context);
    if (subscriber && call_enabled[2][id])
        subscriber(subscriber_context, CUPTI_DOMAIN_RESOURCE, id, &data);
    if (id == CUPTI_RESOURCE_CONTEXT_DESTROY)
        mock_sampled_context_ended(context);
}

static uint64_t call_back(uint64_t launches) {
    enum { LAUNCHES_OF_BUFFER = 1000 };
    const int result = 0;
    struct timespec from, to;
    struct cupti_callback_data data = {.function = "cuLaunchKernel"};
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = 0; subscriber && i < launches; i++) {
        data.correlation = mock_made_up(i);
        data.site = 0;
        data.result = NULL;
        subscriber(subscriber_context, CUPTI_DOMAIN_DRIVER, 307, &data);
        data.site = 1;
        data.result = &result;
        subscriber(subscriber_context, CUPTI_DOMAIN_DRIVER, 307, &data);
        // The records of these launches would fill a buffer: without one the client would conclude that they go to another.
        if (i % LAUNCHES_OF_BUFFER == 0)
            mock_deliver(mock_ask());
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
}

// What was not handed over goes with the context.
static void on_reset(void) {
    if (!mock_has("resets"))
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < done_count; i++)
        done[i].used = 0;
    for (size_t i = 0; i < 256; i++)
        owns[i].used = 0;
    shared.used = 0;
    pthread_mutex_unlock(&lock);
}

static const struct hooks ours = {.call = on_call,
                                  .reset = on_reset,
                                  .reached = mock_write_event,
                                  .migrated = mock_write_migration,
                                  .called = on_called,
                                  .operated = on_operated,
                                  .waited = mock_write_wait,
                                  .memory = mock_write_memory,
                                  .resource = on_resource,
                                  .feed = mock_fill_and_deliver,
                                  .rare = mock_write_rare,
                                  .callbacks = call_back,
                                  .flushes = mock_flushes,
                                  .hoard = mock_hoard};

// ---- the interface

#define API(name, ...)                                                                                       \
    int cupti##name(__VA_ARGS__);                                                                            \
    int cupti##name(__VA_ARGS__)

API(GetVersion, uint32_t *version) {
    *version = how.version;
    return CUPTI_OK;
}

API(GetTimestamp, uint64_t *time) {
    mock_late_call("cuptiGetTimestamp");
    MOCK_FIRST_ONLY
    *time = mock_now();
    return CUPTI_OK;
}

API(GetResultString, int result, const char **text) {
    *text = result == CUPTI_MULTIPLE_SUBSCRIBERS ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == CUPTI_PRIVILEGES         ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                 : "CUPTI_ERROR_OF_THE_MOCK";
    return CUPTI_OK;
}

int mock_subscribe(void **handle, cupti_callback *callback, void *context) {
    mock_hook(&ours); // of the subscribed client
    if (mock_has("held") || subscribed)
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    if (mock_has("denied"))
        return (int)mock_value("denied", CUPTI_PRIVILEGES);
    subscribed = 1;
    subscriber = callback;
    subscriber_context = context;
    *handle = &subscribed;
    return CUPTI_OK;
}

API(Subscribe, void **handle, cupti_callback *callback, void *context) {
    return mock_subscribe(handle, callback, context);
}

API(Unsubscribe, void *handle) {
    mock_late_call("cuptiUnsubscribe");
    (void)handle;
    subscriber = NULL;
    subscribed = 0;
    mock_settings.shared = false;
    return CUPTI_OK;
}

API(EnableCallback, uint32_t enable, void *handle, int domain, uint32_t id) {
    (void)handle;
    mock_asked("call", domain, id);
    if (domain >= 1 && domain <= 3 && id < 2048)
        call_enabled[domain - 1][id] = (uint8_t)enable;
    if (domain == CUPTI_DOMAIN_STATE && (how.version < CUPTI_12_2 || id > CUPTI_STATE_WARNING))
        return 1;
    if (domain == CUPTI_DOMAIN_STATE)
        state_enabled[id] = (uint8_t)enable;
    return CUPTI_OK;
}

API(GetCallbackState, uint32_t *enable, void *handle, int domain, uint32_t id) {
    if (!subscribed || handle != &subscribed || domain < 1 || domain > 3 || id >= 2048)
        return mock_no_subscriber();
    *enable = call_enabled[domain - 1][id];
    return CUPTI_OK;
}

API(GetCallbackName, int domain, uint32_t id, const char **name) {
#define CALL_NAME(d, number, text)                                                                           \
    if (domain == d && id == number) {                                                                       \
        *name = mock_own_name(d, number, #text);                                                             \
        return CUPTI_OK;                                                                                     \
    }
    MOCK_CALLS(CALL_NAME)
#undef CALL_NAME
    *name = "RESOURCE";
    return domain == CUPTI_DOMAIN_RESOURCE && id < 20 ? CUPTI_OK : 1;
}

API(GetDeviceId, void *context, uint32_t *id) {
    *id = mock_context_device(context);
    return context ? CUPTI_OK : 3;
}

API(GetContextId, void *context, uint32_t *id) {
    *id = mock_context_id(context);
    return context ? CUPTI_OK : 3;
}

API(GetStreamIdEx, void *context, void *stream, uint8_t per_thread, uint32_t *id) {
    (void)per_thread;
    *id = mock_stream_id(context, stream);
    return CUPTI_OK;
}

API(ActivityRegisterCallbacks, cupti_buffer_wanted *asks, cupti_buffer_full *gives) {
    MOCK_FIRST_ONLY
    wanted = asks;
    full = gives;
    return CUPTI_OK;
}

API(SetThreadIdType, int type) {
    MOCK_FIRST_ONLY
    if (mock_has("pthreads") || type > 1)
        return CUPTI_NOT_SUPPORTED;
    mock_settings.system_threads = type == 1;
    return CUPTI_OK;
}

int mock_enable(uint32_t kind) {
    if (mock_has("exclusive") || (mock_has("early") && !mock_is_ready()))
        return mock_has("exclusive") ? CUPTI_MULTIPLE_SUBSCRIBERS : CUPTI_NOT_INITIALIZED;
    if (kind >= KIND_LIMIT || !mock_bytes_of(kind))
        return CUPTI_INVALID_KIND;
    // It comes with whole graphs, where that was requested (cupti_activity.h of 13.5).
    if (kind == CUPTI_KIND_DEVICE_GRAPH_TRACE)
        return CUPTI_NOT_COMPATIBLE;
    if (kind == CUPTI_KIND_GRAPH_TRACE && mock_settings.device_graphs &&
        mock_bytes_of(CUPTI_KIND_DEVICE_GRAPH_TRACE))
        atomic_fetch_or(&enabled, UINT64_C(1) << CUPTI_KIND_DEVICE_GRAPH_TRACE);
    mock_asked("kind", (int)kind, 1);
    mock_hook(&ours); // records need no subscriber
    mock_whole(kind);
    atomic_fetch_or(&enabled, UINT64_C(1) << kind);
    if (kind == CUPTI_KIND_DEVICE)
        mock_write_devices();
    return CUPTI_OK;
}

API(ActivityEnable, int kind) {
    MOCK_FIRST_ONLY
    return mock_enable((uint32_t)kind);
}

API(ActivityConfigureUnifiedMemoryCounter, struct cupti_unified_memory_config *config, uint32_t count) {
    mock_asked("unified", (int)count, config[0].device);
    for (uint32_t i = 0; i < count; i++)
        if (config[i].scope != 1 || !config[i].enable)
            return 1;
    if (!mock_is_ready() || mock_has("unmanageable"))
        return mock_is_ready() ? CUPTI_NOT_SUPPORTED : CUPTI_NOT_INITIALIZED;
    for (uint32_t i = 0; i < count; i++)
        mock_settings.unified_memory |= UINT64_C(1) << config[i].device;
    return CUPTI_OK;
}

API(ActivityEnableCudaEventDeviceTimestamps, uint8_t enable) {
    MOCK_FIRST_ONLY
    return enable == 1 ? CUPTI_OK : 1;
}

// Before CUDA is initialized, and not where hardware events give the times.
API(ActivityEnableLatencyTimestamps, uint8_t enable) {
    MOCK_FIRST_ONLY
    if (mock_has("hardware") || mock_is_ready())
        return CUPTI_NOT_SUPPORTED;
    mock_settings.latency = enable == 1;
    return CUPTI_OK;
}

API(ActivityDisable, int kind) {
    MOCK_FIRST_ONLY
    atomic_store(&disabled, 1);
    if (kind < KIND_LIMIT)
        atomic_fetch_and(&enabled, ~(UINT64_C(1) << kind));
    return CUPTI_OK;
}

API(ActivityFlushAll, uint32_t flags) {
    const bool forced = flags & 1;
    mock_late_call("cuptiActivityFlushAll");
    if (mock_is_down())
        return CUPTI_OK;
    if (forced && mock_has("slow"))
        mock_let_slow_begin();
    settle(forced);
    mock_play();
    const uint64_t time = mock_time();
    for (uint32_t i = 0; i < 256 && i < atomic_load(&own_count); i++) {
        struct buffer theirs = {NULL, 0, 0, 0};
        pthread_mutex_lock(&lock);
        if (forced || owns[i].complete <= time) {
            theirs = owns[i];
            owns[i] = (struct buffer){NULL, 0, 0, 0};
        }
        pthread_mutex_unlock(&lock);
        mock_deliver(theirs);
    }
    pthread_mutex_lock(&lock);
    if (shared.at && (shared.used || how.nothing) && done_count < sizeof done / sizeof *done) {
        if (forced || shared.complete <= time) {
            done[done_count++] = shared;
            shared = (struct buffer){NULL, 0, 0, 0};
        }
    }
    pthread_mutex_unlock(&lock);
    in_slow_flush = !forced && mock_has("slow");
    deliver_done(forced);
    in_slow_flush = false;
    mock_flushed(forced);
    return CUPTI_OK;
}

int mock_next(uint8_t *buffer, size_t valid, void **record) {
    uint8_t *at = *record;
    at = at ? at + mock_bytes_of(*(const uint32_t *)(const void *)at) : buffer;
    if (at >= buffer + valid)
        return CUPTI_LIMIT_REACHED;
    if (*(const uint32_t *)(const void *)at == UINT32_MAX)
        return 1; // torn
    *record = at;
    return CUPTI_OK;
}

API(ActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record) {
    MOCK_FIRST_ONLY
    return mock_next(buffer, valid, record);
}

uint64_t mock_dropped(void) {
    return atomic_exchange(&dropped, 0);
}

API(ActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *count) {
    (void)context;
    (void)stream;
    MOCK_FIRST_ONLY
    *count = mock_dropped();
    return CUPTI_OK;
}
