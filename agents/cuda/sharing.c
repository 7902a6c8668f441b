// SPDX-License-Identifier: Apache-2.0
// What the other tool calls instead of libcupti, and what it wants. Rules: agent.h. What it gets is in sharing_records.c.
#include "sharing.h"

#include <pthread.h>

#include "buffers.h"
#include "interpose.h"
#include "launches.h"
#include "library.h"
#include "sharing_records.h"
#include "subscribe.h"

enum { DOMAINS = 10, CALLS = 2048, INVALID_PARAMETER = 1, OURS = 1, THEIRS = 2 };

atomic_bool sharing_on;
static atomic_bool held; // the subscription is ours
static _Atomic uint64_t our_kinds;
static _Atomic uint8_t calls[DOMAINS][CALLS]; // OURS | THEIRS
static struct {
    cupti_callback *_Atomic callback;
    void *_Atomic context;
    char handle; // its address is their subscriber's handle
} theirs;

typedef uint64_t timestamp_function(void);

// X(name, parameters, their names)
#define FORWARDED(X)                                                                                         \
    X(ActivityRegisterCallbacks, (cupti_buffer_wanted * wanted, cupti_buffer_full * full), (wanted, full))   \
    X(ActivityRegisterTimestampCallback, (timestamp_function * clock), (clock))                              \
    X(ActivityEnable, (int kind), (kind))                                                                    \
    X(ActivityDisable, (int kind), (kind))                                                                   \
    X(ActivityEnableContext, (void *context, int kind), (context, kind))                                     \
    X(ActivityDisableContext, (void *context, int kind), (context, kind))                                    \
    X(ActivityEnableRuntimeApi, (uint32_t id, uint8_t enable), (id, enable))                                 \
    X(ActivityEnableDriverApi, (uint32_t id, uint8_t enable), (id, enable))                                  \
    X(ActivityFlushAll, (uint32_t flags), (flags))                                                           \
    X(ActivityFlush, (void *context, uint32_t stream, uint32_t flags), (context, stream, flags))             \
    X(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *count),                         \
      (context, stream, count))                                                                              \
    X(ActivitySetAttribute, (int attribute, size_t *size, void *value), (attribute, size, value))            \
    X(GetTimestamp, (uint64_t * time), (time))                                                               \
    X(SetThreadIdType, (int type), (type))                                                                   \
    X(Subscribe, (void **handle, cupti_callback *callback, void *context), (handle, callback, context))      \
    X(Unsubscribe, (void *handle), (handle))                                                                 \
    X(EnableCallback, (uint32_t enable, void *handle, int domain, uint32_t id),                              \
      (enable, handle, domain, id))                                                                          \
    X(EnableDomain, (uint32_t enable, void *handle, int domain), (enable, handle, domain))                   \
    X(EnableAllDomains, (uint32_t enable, void *handle), (enable, handle))                                   \
    X(Finalize, (void), ())

// Their calls: through us while we hold CUPTI.
enum {
#define INDEX(name, parameters, names) AT_##name,
    FORWARDED(INDEX)
#undef INDEX
        FUNCTIONS
};
static struct interpose_function functions[FUNCTIONS];

#define DECLARE(name, parameters, names)                                                                     \
    static int on_##name parameters;                                                                         \
    static int real_##name parameters {                                                                      \
        int(*function) parameters = NULL;                                                                    \
        *(void **)&function = functions[AT_##name].real;                                                     \
        return function names;                                                                               \
    }                                                                                                        \
    static int their_##name parameters {                                                                     \
        return atomic_load(&held) ? on_##name names : real_##name names;                                     \
    }
FORWARDED(DECLARE)
#undef DECLARE

// ---- buffers

static int on_ActivityRegisterCallbacks(cupti_buffer_wanted *wanted, cupti_buffer_full *full) {
    if (!wanted || !full)
        return INVALID_PARAMETER;
    sharing_records_register(wanted, full);
    atomic_store(&sharing_on, true);
    return CUPTI_OK;
}

static int on_ActivityRegisterTimestampCallback(timestamp_function *clock) {
    if (!clock)
        return INVALID_PARAMETER;
    sharing_records_clock(clock);
    return CUPTI_OK;
}

static int on_GetTimestamp(uint64_t *time) {
    return time && sharing_records_now(time) ? CUPTI_OK : real_GetTimestamp(time);
}

// The control thread may flush at the same time, and have buffers of theirs that CUPTI no longer has.
static int deliver_flushed(int result) {
    buffers_read_all();
    sharing_records_flush();
    return result;
}

static int on_ActivityFlushAll(uint32_t flags) {
    return deliver_flushed(real_ActivityFlushAll(flags));
}

static int on_ActivityFlush(void *context, uint32_t stream, uint32_t flags) {
    return deliver_flushed(real_ActivityFlush(context, stream, flags));
}

static int on_ActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
    size_t dropped = 0;
    const int result = real_ActivityGetNumDroppedRecords(context, stream, &dropped);
    if (dropped && agent_recording())
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, dropped);
    if (count)
        *count = dropped + sharing_records_dropped();
    return result;
}

// The buffers belong to the agent, so the agent decides whether they are zeroed, and CUPTI whether threads have their own: Kineto
// switches that off at the end of each session, which CUPTI allows only before callbacks are registered. Records keep their form and
// their clock.
static int on_ActivitySetAttribute(int attribute, size_t *size, void *value) {
    switch (attribute) {
    case CUPTI_ATTRIBUTE_ZEROED_BUFFERS:
    case CUPTI_ATTRIBUTE_THREAD_BUFFERS:
        return CUPTI_OK;
    case CUPTI_ATTRIBUTE_RECORD_FIELDS:
    case CUPTI_ATTRIBUTE_CLOCK:
        return CUPTI_NOT_SUPPORTED;
    case CUPTI_ATTRIBUTE_THREAD_IDS:
        return size && value && *size == sizeof(uint32_t) ? on_SetThreadIdType(*(const int *)value)
                                                          : INVALID_PARAMETER;
    default:
        return real_ActivitySetAttribute(attribute, size, value);
    }
}

static int on_SetThreadIdType(int type) {
    if (type < 0 || type > 1)
        return INVALID_PARAMETER;
    sharing_records_system_threads(type == 1);
    return CUPTI_OK;
}

// ---- kinds

static bool is_ours(int kind) {
    return kind >= 0 && kind < CUPTI_KIND_LIMIT && (atomic_load(&our_kinds) >> kind & 1);
}

// They get the calls too that we leave out; as long as they do, so do we.
static bool is_calls(int kind) {
    return (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER) && is_ours(kind);
}

static int kind_enabled(int kind, int result) {
    atomic_store(&sharing_on, true);
    if (is_calls(kind))
        subscribe_leave_out_calls(false);
    if (result == CUPTI_OK) {
        sharing_records_kind((uint32_t)kind, true);
        sharing_records_open();
    }
    return result;
}

static int kind_disabled(int kind, int result) {
    if (result == CUPTI_OK)
        sharing_records_kind((uint32_t)kind, false);
    if (is_calls(kind) && !sharing_records_now_on(CUPTI_KIND_RUNTIME) &&
        !sharing_records_now_on(CUPTI_KIND_DRIVER))
        subscribe_leave_out_calls(true);
    return result;
}

static int on_ActivityEnable(int kind) {
    return kind_enabled(kind, is_ours(kind) ? CUPTI_OK : real_ActivityEnable(kind));
}

static int on_ActivityDisable(int kind) {
    return kind_disabled(kind, is_ours(kind) ? CUPTI_OK : real_ActivityDisable(kind));
}

// The agent's kinds are on for every context, so contexts of the tool are not distinguished.
static int on_ActivityEnableContext(void *context, int kind) {
    return kind_enabled(kind, is_ours(kind) ? CUPTI_OK : real_ActivityEnableContext(context, kind));
}

static int on_ActivityDisableContext(void *context, int kind) {
    return kind_disabled(kind, is_ours(kind) ? CUPTI_OK : real_ActivityDisableContext(context, kind));
}

// Calls that they do not want are left out of their copies.
static int on_ActivityEnableRuntimeApi(uint32_t id, uint8_t enable) {
    sharing_records_leave_out(CUPTI_DOMAIN_RUNTIME, id, !enable);
    return is_ours(CUPTI_KIND_RUNTIME) ? CUPTI_OK : real_ActivityEnableRuntimeApi(id, enable);
}

static int on_ActivityEnableDriverApi(uint32_t id, uint8_t enable) {
    sharing_records_leave_out(CUPTI_DOMAIN_DRIVER, id, !enable);
    return is_ours(CUPTI_KIND_DRIVER) ? CUPTI_OK : real_ActivityEnableDriverApi(id, enable);
}

void sharing_own_kind(uint32_t kind) {
    if (kind < CUPTI_KIND_LIMIT)
        atomic_fetch_or(&our_kinds, UINT64_C(1) << kind);
}

bool sharing_only_theirs(uint32_t kind) {
    return kind < CUPTI_KIND_LIMIT && !is_ours((int)kind) && sharing_records_ever(kind);
}

bool sharing_kept(uint32_t kind) {
    return sharing_records_now_on(kind);
}

// ---- callbacks

static int on_Subscribe(void **handle, cupti_callback *callback, void *context) {
    cupti_callback *none = NULL;
    if (!handle || !callback)
        return INVALID_PARAMETER;
    if (!atomic_compare_exchange_strong(&theirs.callback, &none, callback))
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    atomic_store(&theirs.context, context);
    atomic_store(&sharing_on, true);
    *handle = &theirs.handle;
    return CUPTI_OK;
}

static int switch_call(bool enable, int domain, uint32_t id) {
    const uint8_t bit = THEIRS;
    if (domain < 0 || domain >= DOMAINS || id >= CALLS)
        return INVALID_PARAMETER;
    const uint8_t before = enable ? atomic_fetch_or(&calls[domain][id], bit)
                                  : atomic_fetch_and(&calls[domain][id], (uint8_t)~bit);
    return before & OURS ? CUPTI_OK : real_EnableCallback(enable, cupti.subscriber, domain, id);
}

static int on_EnableCallback(uint32_t enable, void *handle, int domain, uint32_t id) {
    return handle == &theirs.handle ? switch_call(enable != 0, domain, id)
                                    : real_EnableCallback(enable, handle, domain, id);
}

// Without a gap for us: each callback of a domain by itself.
static int on_EnableDomain(uint32_t enable, void *handle, int domain) {
    if (handle != &theirs.handle)
        return real_EnableDomain(enable, handle, domain);
    if (domain < 1 || domain >= DOMAINS)
        return INVALID_PARAMETER;
    for (uint32_t id = 1; id < CALLS; id++) {
        const char *name = NULL;
        if (cupti.GetCallbackName(domain, id, &name) == CUPTI_OK && name)
            switch_call(enable != 0, domain, id);
    }
    return CUPTI_OK;
}

static int on_EnableAllDomains(uint32_t enable, void *handle) {
    for (int domain = 1; handle == &theirs.handle && domain < DOMAINS; domain++)
        on_EnableDomain(enable, handle, domain);
    return handle == &theirs.handle ? CUPTI_OK : real_EnableAllDomains(enable, handle);
}

static int on_Unsubscribe(void *handle) {
    if (handle != &theirs.handle)
        return real_Unsubscribe(handle);
    atomic_store(&theirs.callback, NULL);
    for (int domain = 1; domain < DOMAINS; domain++)
        for (uint32_t id = 0; id < CALLS; id++)
            if (atomic_load_explicit(&calls[domain][id], memory_order_relaxed) & THEIRS)
                switch_call(false, domain, id);
    return CUPTI_OK;
}

// They are done with CUPTI, and we are not.
static int on_Finalize(void) {
    on_Unsubscribe(&theirs.handle);
    for (int kind = 0; kind < CUPTI_KIND_LIMIT; kind++)
        if (sharing_records_now_on((uint32_t)kind))
            on_ActivityDisable(kind);
    return CUPTI_OK;
}

void sharing_own_call(int domain, uint32_t id) {
    if (domain >= 0 && domain < DOMAINS && id < CALLS)
        atomic_fetch_or_explicit(&calls[domain][id], OURS, memory_order_relaxed);
}

void sharing_call(int domain, uint32_t id, const void *data) {
    cupti_callback *callback = atomic_load_explicit(&theirs.callback, memory_order_acquire);
    if (callback && domain >= 0 && domain < DOMAINS && id < CALLS &&
        atomic_load_explicit(&calls[domain][id], memory_order_relaxed) & THEIRS)
        callback(atomic_load(&theirs.context), domain, id, data);
}

// ---- for the rest of the agent

bool sharing_needed(void) {
    char name[64];
    const struct interpose_function registers = {
        .name = name, .real = library_function(cupti.handle, "ActivityRegisterCallbacks", name)};
    return interpose_count(&registers, 1) > 0;
}

void sharing_start(void) {
    if (cupti.shared)
        return; // CUPTI itself serves several
    static char texts[FUNCTIONS][64];
#define TABLE(function, parameters, names)                                                                   \
    functions[AT_##function] = (struct interpose_function){                                                  \
        .name = texts[AT_##function],                                                                        \
        .ours = (void *)(uintptr_t)their_##function,                                                         \
        .real = library_function(cupti.handle, #function, texts[AT_##function])};
    FORWARDED(TABLE)
#undef TABLE
    atomic_store(&held, true);
    sharing_look();
}

void sharing_look(void) {
    static atomic_flag looking = ATOMIC_FLAG_INIT;
    if (!atomic_load(&held) || atomic_flag_test_and_set(&looking))
        return;
    interpose(functions, FUNCTIONS);
    atomic_flag_clear(&looking);
}

void sharing_released(void) {
    atomic_store(&held, false);
}
