// SPDX-License-Identifier: Apache-2.0
// Domains, categories, registered strings, and the names of threads and resources. What is made here is never freed: a
// program may use a handle after it gave it back, and there are few. Rules: agent.h.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "agentkit/map.h"

// ---- domains and registered strings

static _Atomic uint32_t domains;

static void *domain_new(uint32_t name, void *next) {
    struct domain *domain = malloc(sizeof *domain);
    if (domain)
        *domain = (struct domain){.name = name, .number = atomic_fetch_add(&domains, 1) + 1, .next = next};
    return domain;
}

void *nvtx_DomainCreateA(const char *text) {
    void *next = HAS_AFTER(DomainCreateA) ? AFTER(DomainCreateA)(text) : NULL;
    return domain_new(text_ascii(NULL, text), next);
}

void *nvtx_DomainCreateW(const wchar_t *text) {
    void *next = HAS_AFTER(DomainCreateW) ? AFTER(DomainCreateW)(text) : NULL;
    return domain_new(text_unicode(NULL, text), next);
}

void nvtx_DomainDestroy(void *domain) {
    if (HAS_AFTER(DomainDestroy))
        AFTER(DomainDestroy)(domain_next(domain));
}

void nvtx_Initialize(const void *reserved) {
    if (HAS_AFTER(Initialize))
        AFTER(Initialize)(reserved);
}

static void *registered_new(uint32_t text, const char *ascii, void *next) {
    enum { COPY_MAX = 256 };
    struct registered *registered = malloc(sizeof *registered);
    if (registered)
        *registered =
            (struct registered){.text = text, .copy = ascii ? strndup(ascii, COPY_MAX) : NULL, .next = next};
    return registered;
}

void *nvtx_DomainRegisterStringA(void *domain, const char *text) {
    void *next =
        HAS_AFTER(DomainRegisterStringA) ? AFTER(DomainRegisterStringA)(domain_next(domain), text) : NULL;
    return registered_new(text_ascii(NULL, text), text, next);
}

void *nvtx_DomainRegisterStringW(void *domain, const wchar_t *text) {
    void *next =
        HAS_AFTER(DomainRegisterStringW) ? AFTER(DomainRegisterStringW)(domain_next(domain), text) : NULL;
    return registered_new(text_unicode(NULL, text), NULL, next);
}

// ---- categories

static struct map categories; // from domain and number to the string of the name; 0: none yet

bool names_init(void) {
    enum { LOG2_BUCKETS = 10 };
    return map_init(&categories, LOG2_BUCKETS);
}

static _Atomic uint64_t *category_place(const struct domain *domain, uint32_t category) {
    // A category is not 0, so that no key is 0 or 1.
    return map_add(&categories,
                   (const void *)(((uintptr_t)domain_number(domain) << 32 | category) + 1)); // NOLINT
}

uint32_t category_name(const struct domain *domain, uint32_t category) {
    char number[16];
    if (!category)
        return 0;
    _Atomic uint64_t *place = category_place(domain, category);
    uint32_t text = place ? (uint32_t)atomic_load_explicit(place, memory_order_relaxed) : 0;
    if (text)
        return text;
    snprintf(number, sizeof number, "%u", category);
    text = channel_string_cstr(agent.channel, number);
    uint64_t none = 0;
    if (place)
        atomic_compare_exchange_strong(place, &none, text);
    return text;
}

static void name_category(const struct domain *domain, uint32_t category, uint32_t text) {
    _Atomic uint64_t *place = category ? category_place(domain, category) : NULL;
    if (place)
        atomic_store(place, text);
}

void nvtx_DomainNameCategoryA(void *domain, uint32_t category, const char *text) {
    name_category(domain, category, text_ascii(NULL, text));
    if (HAS_AFTER(DomainNameCategoryA))
        AFTER(DomainNameCategoryA)(domain_next(domain), category, text);
}

void nvtx_DomainNameCategoryW(void *domain, uint32_t category, const wchar_t *text) {
    name_category(domain, category, text_unicode(NULL, text));
    if (HAS_AFTER(DomainNameCategoryW))
        AFTER(DomainNameCategoryW)(domain_next(domain), category, text);
}

void nvtx_NameCategoryA(uint32_t category, const char *text) {
    name_category(NULL, category, text_ascii(NULL, text));
    if (HAS_AFTER(NameCategoryA))
        AFTER(NameCategoryA)(category, text);
}

void nvtx_NameCategoryW(uint32_t category, const wchar_t *text) {
    name_category(NULL, category, text_unicode(NULL, text));
    if (HAS_AFTER(NameCategoryW))
        AFTER(NameCategoryW)(category, text);
}

// ---- threads

// Threads that were named, and those that record: whichever comes first waits here for the other.
enum { THREADS = 1024 };
static struct { uint32_t tid, track, name; } known[THREADS];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t known_count;

static void know_thread(uint32_t tid, uint32_t track, uint32_t name) {
    pthread_mutex_lock(&known_lock);
    uint32_t at = known_count;
    while (at > 0 && known[at - 1].tid != tid)
        at--;
    if (at == 0) {
        at =
            known_count < THREADS ? ++known_count : 1 + tid % THREADS; // the name of another may be forgotten
        known[at - 1].tid = tid;
        known[at - 1].track = known[at - 1].name = 0;
    }
    if (track)
        known[at - 1].track = track;
    if (name)
        known[at - 1].name = name;
    track = known[at - 1].track;
    name = known[at - 1].name;
    pthread_mutex_unlock(&known_lock);
    if (track && name)
        channel_name_track(agent.channel, track, name);
}

void names_thread_known(uint32_t tid, uint32_t track) {
    know_thread(tid, track, 0);
}

void names_after_fork_child(void) {
    pthread_mutex_init(&known_lock, NULL); // its holder is not in this process
}

// A program gives its own thread's number most of all, and some give 0 for it.
static void name_thread(uint32_t tid, uint32_t name) {
    const struct thread *own = thread_here();
    if (own && (tid == 0 || tid == own->tid))
        know_thread(own->tid, channel_thread_track(agent.channel), name);
    else
        know_thread(tid, 0, name);
}

void nvtx_NameOsThreadA(uint32_t tid, const char *text) {
    name_thread(tid, text_ascii(NULL, text));
    if (HAS_AFTER(NameOsThreadA))
        AFTER(NameOsThreadA)(tid, text);
}

void nvtx_NameOsThreadW(uint32_t tid, const wchar_t *text) {
    name_thread(tid, text_unicode(NULL, text));
    if (HAS_AFTER(NameOsThreadW))
        AFTER(NameOsThreadW)(tid, text);
}

// ---- resources

void *nvtx_DomainResourceCreate(void *domain, const struct nvtx_resource *given) {
    struct nvtx_resource resource = {0};
    char what[48];
    if (!given)
        return NULL;
    memcpy(&resource, given, given->size < sizeof resource ? given->size : sizeof resource);
    const uint32_t name = text_any(NULL, resource.message_type, resource.message);
    if (resource.type == NVTX_RESOURCE_THREAD_NATIVE) {
        name_thread((uint32_t)resource.identifier.handle, name);
    } else {
        snprintf(what, sizeof what, "resource of type 0x%x", (unsigned)resource.type);
        record_resource(what, resource.identifier.handle, domain_name(domain), name);
    }
    if (!HAS_AFTER(DomainResourceCreate))
        return &domains; // any address: the program gives it back, and nothing else
    if (resource.message_type == NVTX_MESSAGE_REGISTERED && resource.message.registered)
        resource.message.registered = ((const struct registered *)resource.message.registered)->next;
    resource.size = (uint16_t)(given->size < sizeof resource ? given->size : sizeof resource);
    return AFTER(DomainResourceCreate)(domain_next(domain), &resource);
}

void nvtx_DomainResourceDestroy(void *resource) {
    if (HAS_AFTER(DomainResourceDestroy))
        AFTER(DomainResourceDestroy)(resource);
}

#define NAME_RESOURCE(name, type, what)                                                                      \
    void nvtx_Name##name##A(type object, const char *text) {                                                 \
        record_resource(what, (uint64_t)(uintptr_t)object, 0, text_ascii(NULL, text));                       \
        if (HAS_AFTER(Name##name##A))                                                                        \
            AFTER(Name##name##A)(object, text);                                                              \
    }                                                                                                        \
    void nvtx_Name##name##W(type object, const wchar_t *text) {                                              \
        record_resource(what, (uint64_t)(uintptr_t)object, 0, text_unicode(NULL, text));                     \
        if (HAS_AFTER(Name##name##W))                                                                        \
            AFTER(Name##name##W)(object, text);                                                              \
    }
NVTX_CUDA_NAMES(NAME_RESOURCE)
NVTX_OPENCL_NAMES(NAME_RESOURCE)
NVTX_CUDART_NAMES(NAME_RESOURCE)
