// SPDX-License-Identifier: Apache-2.0
// Ranges and marks. Rules: agent.h.
//
// A pushed range nests within its thread and domain: a pop ends the innermost one of its domain, also where ranges of
// other domains were pushed after it. A started range is ended by its number, on whatever thread: it is kept in a table
// of fixed size. A place belongs to the thread that changes its number from a range's to 0.
#include <string.h>

#include "agent.h"
#include "agentkit/free_list.h"
#include "payload.h"
#include "watch.h"

// Structured payloads. An event that has no other name gets one of them.
static void label_data(struct label *label, struct thread *thread, const struct domain *domain,
                       const struct nvtx_data *data, size_t count) {
    uint32_t name = 0;
    const uint32_t text = payload_text(thread, domain, data, count, &name);
    label->payload_type = text ? NVTX_PAYLOAD_STRUCT : NVTX_PAYLOAD_NONE;
    label->payload = text;
    label->name = label->name ? label->name : name;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void label_payload(struct label *label, struct thread *thread, const struct domain *domain,
                          const struct nvtx_attributes *attributes) {
    switch (attributes->payload_type) {
    case NVTX_PAYLOAD_TYPE_EXTENDED:
        label_data(label, thread, domain, (const struct nvtx_data *)(uintptr_t)attributes->payload.u64,
                   attributes->reserved > 0 ? (size_t)attributes->reserved : 0);
        return;
    case NVTX_PAYLOAD_U64:
    case NVTX_PAYLOAD_I64:
    case NVTX_PAYLOAD_F64:
        label->payload = attributes->payload.u64;
        break;
    case NVTX_PAYLOAD_U32:
        label->payload = attributes->payload.u32;
        break;
    case NVTX_PAYLOAD_I32:
        label->payload = (uint64_t)(int64_t)attributes->payload.i32;
        break;
    case NVTX_PAYLOAD_F32:
        label->payload = bits_of((double)attributes->payload.f32);
        break;
    default:
        return;
    }
    label->payload_type = (uint8_t)attributes->payload_type;
}

// `size` is the size of the caller's structure: missing members count as 0.
static struct label label_of(struct thread *thread, const struct domain *domain,
                             const struct nvtx_attributes *given) {
    struct label label = {.domain = domain_name(domain)};
    struct nvtx_attributes attributes = {0};
    if (!given)
        return label;
    memcpy(&attributes, given, given->size < sizeof attributes ? given->size : sizeof attributes);
    label.name = text_any(thread, attributes.message_type, attributes.message);
    label.category = category_name(domain, attributes.category);
    label.has_color = attributes.color_type == NVTX_COLOR_ARGB;
    label.color = label.has_color ? attributes.color : 0;
    label_payload(&label, thread, domain, &attributes);
    return label;
}

// The same for the next tool, who knows its own handles only.
static struct nvtx_attributes attributes_after(const struct domain *domain,
                                               const struct nvtx_attributes *given) {
    struct nvtx_attributes attributes = {0};
    memcpy(&attributes, given, given->size < sizeof attributes ? given->size : sizeof attributes);
    if (attributes.message_type == NVTX_MESSAGE_REGISTERED && attributes.message.registered)
        attributes.message.registered = ((const struct registered *)attributes.message.registered)->next;
    attributes.size = (uint16_t)(given->size < sizeof attributes ? given->size : sizeof attributes);
    if (attributes.payload_type == NVTX_PAYLOAD_TYPE_EXTENDED &&
        !payload_is_plain(domain, (const struct nvtx_data *)(uintptr_t)attributes.payload.u64,
                          attributes.reserved > 0 ? (size_t)attributes.reserved : 0))
        attributes.payload_type = attributes.reserved = NVTX_PAYLOAD_NONE;
    return attributes;
}

static void mark(const struct label *label) {
    if (nvtx_on())
        record_write(FORM_MARK, 0, label, agent_tick(), 0);
}

// ---- pushed

// The level of the range that would be pushed next.
static uint32_t level_of(const struct thread *thread, uint32_t depth, uint32_t domain) {
    while (depth-- > 0)
        if (thread->stack[depth].domain == domain)
            return thread->stack[depth].level + 1;
    return 0;
}

static int push(struct thread *thread, const struct domain *domain, const struct label *label) {
    if (!thread)
        return -1;
    const uint32_t number = domain_number(domain);
    const uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
    if (depth == PUSHED_MAX) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return (int)(PUSHED_MAX + thread->beyond++);
    }
    struct pushed *pushed = &thread->stack[depth];
    pushed->label = *label;
    pushed->domain = number;
    pushed->level = depth ? level_of(thread, depth, number) : 0;
    pushed->generation = thread->generation;
    atomic_store_explicit(&thread->depth, depth + 1, memory_order_relaxed);
    channel_begun(agent.channel, thread->list, 1);
    pushed->start = agent_tick();
    watch_begun(label->name);
    return (int)pushed->level;
}

// `data`: the program's data at the end, if any. Data given at the beginning stays, and this then becomes a mark.
static void label_end(struct pushed *pushed, struct thread *thread, const struct domain *domain,
                      const struct nvtx_data *data, size_t count) {
    struct label label = {.name = pushed->label.name, .domain = pushed->label.domain};
    if (!count || !data)
        return;
    if (pushed->label.payload_type == NVTX_PAYLOAD_NONE && !pushed->label.torch) {
        label_data(&pushed->label, thread, domain, data, count);
        return;
    }
    label_data(&label, thread, domain, data, count);
    mark(&label);
}

static int pop(const struct domain *domain, const struct nvtx_data *data, size_t count) {
    const uint64_t end = agent_tick();
    struct thread *thread = thread_here();
    if (!thread)
        return -1;
    if (thread->beyond)
        return (int)(PUSHED_MAX + --thread->beyond);
    const uint32_t number = domain_number(domain);
    const uint32_t depth = atomic_load_explicit(&thread->depth, memory_order_relaxed);
    uint32_t at = depth;
    while (at > 0 && thread->stack[at - 1].domain != number)
        at--;
    if (at == 0) {
        channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, 1);
        return -1;
    }
    struct pushed *pushed = &thread->stack[--at];
    const int level = (int)pushed->level;
    watch_ended(pushed->label.name);
    if (pushed->generation == thread->generation) {
        label_end(pushed, thread, domain, data, count);
        if (nvtx_on())
            record_write(FORM_RANGE, 0, &pushed->label, pushed->start, end);
        channel_ended(agent.channel, thread->list, 1);
    }
    if (at + 1 < depth)
        memmove(pushed, pushed + 1, (depth - at - 1) * sizeof *pushed);
    atomic_store_explicit(&thread->depth, depth - 1, memory_order_relaxed);
    return level;
}

int nvtx_DomainRangePushEx(void *handle, const struct nvtx_attributes *given) {
    const struct domain *domain = handle;
    struct thread *thread = thread_here();
    int after = 0;
    if (HAS_AFTER(DomainRangePushEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(domain, given);
        after = AFTER(DomainRangePushEx)(domain_next(domain), &attributes);
    }
    const struct label label = label_of(thread, domain, given);
    const int level = push(thread, domain, &label);
    return HAS_AFTER(DomainRangePushEx) ? after : level;
}

int nvtx_DomainRangePop(void *domain) {
    const int level = pop(domain, NULL, 0);
    return HAS_AFTER(DomainRangePop) ? AFTER(DomainRangePop)(domain_next(domain)) : level;
}

int nvtx_RangePushEx(const struct nvtx_attributes *given) {
    struct thread *thread = thread_here();
    int after = 0;
    if (HAS_AFTER(RangePushEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(NULL, given);
        after = AFTER(RangePushEx)(&attributes);
    }
    const struct label label = label_of(thread, NULL, given);
    const int level = push(thread, NULL, &label);
    return HAS_AFTER(RangePushEx) ? after : level;
}

int nvtx_RangePushA(const char *text) {
    struct thread *thread = thread_here();
    struct label label = {0};
    text_named(thread, text, &label);
    const int after = HAS_AFTER(RangePushA) ? AFTER(RangePushA)(text) : 0;
    const int level = push(thread, NULL, &label);
    return HAS_AFTER(RangePushA) ? after : level;
}

int nvtx_RangePushW(const wchar_t *text) {
    struct thread *thread = thread_here();
    const struct label label = {.name = text_unicode(thread, text)};
    const int after = HAS_AFTER(RangePushW) ? AFTER(RangePushW)(text) : 0;
    const int level = push(thread, NULL, &label);
    return HAS_AFTER(RangePushW) ? after : level;
}

int nvtx_RangePop(void) {
    const int level = pop(NULL, NULL, 0);
    return HAS_AFTER(RangePop) ? AFTER(RangePop)() : level;
}

// ---- started

enum { STARTED_MAX = 1 << 16 };
#define STARTED_LIST UINT32_MAX // of channel_begun: threads share it

struct started {
    _Atomic uint64_t number; // of the range; 0: none
    uint32_t free_next;      // free_list.h
    uint32_t track;
    uint32_t generation;
    uint64_t start;
    uint64_t after; // its number for the next tool
    struct label label;
};

static struct started started[STARTED_MAX];
static struct free_list free_places; // of `started`
static _Atomic uint64_t started_count;

static uint32_t *free_next(uint32_t number) {
    return &started[number - 1].free_next;
}

static struct started *started_take(void) {
    uint32_t number = free_list_take(&free_places, 1, free_next);
    if (!number)
        number = free_list_extend(&free_places, 1, STARTED_MAX);
    return number ? &started[number - 1] : NULL;
}

static void started_give_back(const struct started *place) {
    const uint32_t number = (uint32_t)(place - started) + 1;
    free_list_give(&free_places, number, number, free_next);
}

// A range's number: how many there were before it, and its place. Never 0, and never used again.
static uint64_t start(const struct label *label, uint64_t after) {
    const uint64_t count = atomic_fetch_add_explicit(&started_count, 1, memory_order_relaxed) + 1;
    const uint32_t track = channel_thread_track(agent.channel);
    struct started *place = started_take();
    if (!place) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return count << 17 | STARTED_MAX; // no place's: its end passes over
    }
    const uint64_t number = count << 17 | (uint64_t)(place - started);
    place->label = *label;
    place->track = track;
    place->generation = atomic_load(&agent.generation);
    place->after = after;
    place->start = agent_tick();
    channel_begun(agent.channel, STARTED_LIST, 1);
    watch_begun(label->name);
    atomic_store_explicit(&place->number, number, memory_order_release);
    return number;
}

// True when the range was open; the program may end it once.
static bool end(uint64_t number, const struct domain *domain, const struct nvtx_data *data, size_t count,
                uint64_t *after) {
    const uint64_t now = agent_tick();
    const uint32_t at = (uint32_t)(number & ((STARTED_MAX << 1) - 1));
    uint64_t found = number;
    if (at == STARTED_MAX)
        return false;
    if (at > STARTED_MAX || !number ||
        !atomic_compare_exchange_strong_explicit(&started[at].number, &found, 0, memory_order_acquire,
                                                 memory_order_relaxed)) {
        channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, 1);
        return false;
    }
    struct started *place = &started[at];
    watch_ended(place->label.name);
    if (place->generation == atomic_load(&agent.generation)) {
        if (data && count)
            label_data(&place->label, thread_here(), domain, data, count);
        if (nvtx_on())
            record_write(FORM_TRACK, place->track, &place->label, place->start, now);
        channel_ended(agent.channel, STARTED_LIST, 1);
    }
    *after = place->after;
    started_give_back(place);
    return true;
}

void started_over(void) {
    const uint32_t used = atomic_load(&free_places.used), generation = atomic_load(&agent.generation);
    for (uint32_t i = 0; i < used; i++) {
        struct started *place = &started[i];
        if (!atomic_exchange(&place->number, 0) || place->generation != generation)
            continue;
        record_write(FORM_OPEN, place->track, &place->label, place->start, 0);
        channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, 1);
        channel_ended(agent.channel, STARTED_LIST, 1);
    }
}

uint64_t nvtx_DomainRangeStartEx(void *handle, const struct nvtx_attributes *given) {
    const struct domain *domain = handle;
    uint64_t after = 0;
    if (HAS_AFTER(DomainRangeStartEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(domain, given);
        after = AFTER(DomainRangeStartEx)(domain_next(domain), &attributes);
    }
    const struct label label = label_of(thread_here(), domain, given);
    return start(&label, after);
}

void nvtx_DomainRangeEnd(void *domain, uint64_t number) {
    uint64_t after = 0;
    if (end(number, domain, NULL, 0, &after) && HAS_AFTER(DomainRangeEnd))
        AFTER(DomainRangeEnd)(domain_next(domain), after);
}

uint64_t nvtx_RangeStartEx(const struct nvtx_attributes *given) {
    uint64_t after = 0;
    if (HAS_AFTER(RangeStartEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(NULL, given);
        after = AFTER(RangeStartEx)(&attributes);
    }
    const struct label label = label_of(thread_here(), NULL, given);
    return start(&label, after);
}

uint64_t nvtx_RangeStartA(const char *text) {
    const struct label label = {.name = text_ascii(thread_here(), text)};
    return start(&label, HAS_AFTER(RangeStartA) ? AFTER(RangeStartA)(text) : 0);
}

uint64_t nvtx_RangeStartW(const wchar_t *text) {
    const struct label label = {.name = text_unicode(thread_here(), text)};
    return start(&label, HAS_AFTER(RangeStartW) ? AFTER(RangeStartW)(text) : 0);
}

void nvtx_RangeEnd(uint64_t number) {
    uint64_t after = 0;
    if (end(number, NULL, NULL, 0, &after) && HAS_AFTER(RangeEnd))
        AFTER(RangeEnd)(after);
}

// ---- marks

void nvtx_DomainMarkEx(void *handle, const struct nvtx_attributes *given) {
    const struct domain *domain = handle;
    const struct label label = label_of(thread_here(), domain, given);
    mark(&label);
    if (HAS_AFTER(DomainMarkEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(domain, given);
        AFTER(DomainMarkEx)(domain_next(domain), &attributes);
    }
}

void nvtx_MarkEx(const struct nvtx_attributes *given) {
    const struct label label = label_of(thread_here(), NULL, given);
    mark(&label);
    if (HAS_AFTER(MarkEx) && given) {
        const struct nvtx_attributes attributes = attributes_after(NULL, given);
        AFTER(MarkEx)(&attributes);
    }
}

void nvtx_MarkA(const char *text) {
    const struct label label = {.name = text_ascii(thread_here(), text)};
    mark(&label);
    if (HAS_AFTER(MarkA))
        AFTER(MarkA)(text);
}

void nvtx_MarkW(const wchar_t *text) {
    const struct label label = {.name = text_unicode(thread_here(), text)};
    mark(&label);
    if (HAS_AFTER(MarkW))
        AFTER(MarkW)(text);
}

// ---- events that are only a payload

#define NEXT(name) __builtin_expect(payload_next.name != NULL && payload_is_plain(domain, data, count), 0)

void nvtx_MarkPayload(void *handle, const struct nvtx_data *data, size_t count) {
    const struct domain *domain = handle;
    struct label label = {.domain = domain_name(domain)};
    label_data(&label, thread_here(), domain, data, count);
    mark(&label);
    if (NEXT(MarkPayload))
        payload_next.MarkPayload(domain_next(domain), data, count);
}

int nvtx_RangePushPayload(void *handle, const struct nvtx_data *data, size_t count) {
    const struct domain *domain = handle;
    struct thread *thread = thread_here();
    struct label label = {.domain = domain_name(domain)};
    const int after =
        NEXT(RangePushPayload) ? payload_next.RangePushPayload(domain_next(domain), data, count) : 0;
    label_data(&label, thread, domain, data, count);
    const int level = push(thread, domain, &label);
    return NEXT(RangePushPayload) ? after : level;
}

int nvtx_RangePopPayload(void *handle, const struct nvtx_data *data, size_t count) {
    const struct domain *domain = handle;
    const int level = pop(domain, data, count);
    return NEXT(RangePopPayload) ? payload_next.RangePopPayload(domain_next(domain), data, count) : level;
}

uint64_t nvtx_RangeStartPayload(void *handle, const struct nvtx_data *data, size_t count) {
    const struct domain *domain = handle;
    struct label label = {.domain = domain_name(domain)};
    const uint64_t after =
        NEXT(RangeStartPayload) ? payload_next.RangeStartPayload(domain_next(domain), data, count) : 0;
    label_data(&label, thread_here(), domain, data, count);
    return start(&label, after);
}

void nvtx_RangeEndPayload(void *handle, uint64_t number, const struct nvtx_data *data, size_t count) {
    const struct domain *domain = handle;
    uint64_t after = 0;
    if (end(number, domain, data, count, &after) && NEXT(RangeEndPayload))
        payload_next.RangeEndPayload(domain_next(domain), after, data, count);
}
