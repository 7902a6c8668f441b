// SPDX-License-Identifier: Apache-2.0
// Reads the comparisons of clocks of traces, and makes conditions of them. The comparison of ranks and the merge call it.
#include "state/host_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

// The rate of a trace clock by UTC or PTP is within this of 1.
static const int64_t SHARED_RATE = 2000; // 1 / 500 ppm

void host_claims_finish(struct host_claims *claims) {
    free(claims->clock);
    for (size_t i = 0; i < claims->count; i++) {
        free(claims->lists[i].of);
        free(claims->lists[i].items);
    }
    free(claims->lists);
    *claims = (struct host_claims){0};
}

struct host_claim_list *host_claims_add_list(struct host_claims *claims, const char *of, size_t length) {
    struct host_claim_list *list = ARRAY_PUSH(claims->lists, claims->count, claims->capacity);
    if (!list)
        return NULL;
    *list = (struct host_claim_list){.of = strndup(of, length)};
    if (!list->of) {
        claims->count--;
        return NULL;
    }
    list->source = strcmp(list->of, TSMITH_CLOCK_UTC) == 0   ? HOST_CLOCKS_UTC
                   : strcmp(list->of, TSMITH_CLOCK_PTP) == 0 ? HOST_CLOCKS_PTP
                                                             : HOST_CLOCKS_PROBE;
    return list;
}

// ---- reading

// The name of the clock of another host, UTC or PTP; {NULL, 0}: it is another kind of clock.
static tsmith_string claimed(const tsmith_dictionary *dictionary, uint32_t id) {
    static const size_t prefix = sizeof TSMITH_CLOCK_OF - 1;
    const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, id);
    const tsmith_string name =
        clock ? tsmith_dictionary_string(dictionary, clock->name) : (tsmith_string){"", 0};
    if (!clock || clock->process || clock->device)
        return (tsmith_string){0};
    if (strcmp(name.bytes, TSMITH_CLOCK_UTC) == 0 || strcmp(name.bytes, TSMITH_CLOCK_PTP) == 0)
        return name;
    if (name.length > prefix && memcmp(name.bytes, TSMITH_CLOCK_OF, prefix) == 0)
        return (tsmith_string){name.bytes + prefix, name.length - prefix};
    return (tsmith_string){0};
}

static int by_here(const void *left, const void *right) {
    const struct host_claim *a = left, *b = right;
    if (a->here != b->here)
        return a->here < b->here ? -1 : 1;
    if (a->error != b->error)
        return a->error < b->error ? -1 : 1;
    return a->there < b->there ? -1 : a->there > b->there;
}

// The best of each stretch, of many.
static void thin(struct host_claim_list *list) {
    const double first = list->count ? (double)list->items[0].here : 0,
                 length = list->count ? (double)list->items[list->count - 1].here - first : 0;
    size_t kept = 0, stretch = SIZE_MAX;
    if (list->count <= HOST_CLAIMS_MOST)
        return;
    for (size_t i = 0; i < list->count; i++) {
        const double part = ((double)list->items[i].here - first) / (length > 0 ? length : 1);
        const size_t now = (size_t)(part * (HOST_CLAIMS_MOST - 1));
        if (now != stretch)
            list->items[kept++] = list->items[i];
        else if (list->items[i].error < list->items[kept - 1].error)
            list->items[kept - 1] = list->items[i];
        stretch = now;
    }
    list->count = kept;
}

static bool read_list(struct host_claims *claims, const tsmith_dictionary *dictionary, uint32_t clock,
                      tsmith_string name) {
    struct host_claim_list *list = host_claims_add_list(claims, name.bytes, name.length);
    const uint32_t pairs = tsmith_dictionary_clock_pair_count(dictionary);
    for (uint32_t id = 1; list && id < pairs; id++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, id);
        if (pair->clock != clock || pair->error < 0)
            continue;
        struct host_claim *place = ARRAY_PUSH(list->items, list->count, list->capacity);
        if (!place)
            return false;
        *place = (struct host_claim){pair->clock_time, pair->trace_time, pair->error};
    }
    if (list && list->count)
        qsort(list->items, list->count, sizeof *list->items, by_here);
    if (list)
        thin(list);
    return list;
}

// By how much times of calls, which are read as ticks, may be off.
static int64_t error_of_ticks(const tsmith_dictionary *dictionary) {
    int64_t most = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_clock_pair_count(dictionary); id++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, id);
        const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, pair->clock);
        if (clock && !clock->process && !clock->device && pair->error > most &&
            strcmp(tsmith_dictionary_string(dictionary, clock->name).bytes, "tsc") == 0)
            most = pair->error;
    }
    return most;
}

bool host_claims_read(struct host_claims *claims, const tsmith_dictionary *dictionary) {
    const tsmith_string id = tsmith_dictionary_find_attribute(dictionary, TSMITH_CLOCK_ATTRIBUTE);
    if (!id.length)
        return true;
    claims->clock = strndup(id.bytes, id.length);
    claims->ticks_error = error_of_ticks(dictionary);
    bool done = claims->clock;
    for (uint32_t clock = 1; done && clock < tsmith_dictionary_clock_count(dictionary); clock++) {
        const tsmith_string name = claimed(dictionary, clock);
        if (name.bytes)
            done = read_list(claims, dictionary, clock, name);
    }
    return done;
}

// ---- conditions

// The clocks of all traces, by name.
struct clock_names {
    tsmith_dictionary *names;
    uint32_t *numbers; // by string: 1 + the number of the clock
    uint32_t named;    // strings
    uint32_t count;
};

static bool number_clocks(struct clock_names *clocks, const struct host_claims *const *traces, size_t count,
                          uint32_t *numbers) {
    clocks->numbers = calloc(count + 2, sizeof *clocks->numbers);
    if (!clocks->numbers || tsmith_dictionary_create(&clocks->names) != TSMITH_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t name =
            traces[i]->clock ? tsmith_dictionary_intern_cstr(clocks->names, traces[i]->clock) : 0;
        if (!name || !clocks->numbers[name])
            numbers[i] = clocks->count++;
        else
            numbers[i] = clocks->numbers[name] - 1;
        if (name)
            clocks->numbers[name] = numbers[i] + 1;
    }
    clocks->named = tsmith_dictionary_string_count(clocks->names);
    return !tsmith_dictionary_failed(clocks->names);
}

// False: none of the traces has this clock.
static bool find_number(const struct clock_names *clocks, const char *name, uint32_t *number) {
    const uint32_t id = tsmith_dictionary_intern_cstr(clocks->names, name);
    if (id == 0 || id >= clocks->named)
        return false;
    *number = clocks->numbers[id] - 1;
    return true;
}

static int64_t add_or_limit(int64_t a, int64_t b, int64_t limit) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? limit : sum;
}

static bool add_claim(struct host_clocks *clocks, uint32_t here, uint32_t there, uint32_t source,
                      const struct host_claim *claim) {
    int64_t offset;
    if (__builtin_sub_overflow(claim->there, claim->here, &offset))
        return true;
    return host_clocks_add(clocks, &(struct host_condition){
                                       .a = here,
                                       .b = there,
                                       .source = source,
                                       .at_a = claim->here,
                                       .at_b = claim->there,
                                       .low = add_or_limit(offset, -claim->error, INT64_MIN),
                                       .high = add_or_limit(offset, claim->error, INT64_MAX),
                                   });
}

static bool add_probes(const struct clock_names *names, uint32_t here, const struct host_claim_list *list,
                       struct host_clocks *clocks) {
    uint32_t there;
    if (!find_number(names, list->of, &there))
        return true;
    for (size_t i = 0; i < list->count; i++)
        if (!add_claim(clocks, here, there, HOST_CLOCKS_PROBE, &list->items[i]))
            return false;
    return true;
}

static const struct host_claim_list *find_shared(const struct host_claims *claims, uint32_t source) {
    for (size_t i = 0; i < claims->count; i++)
        if (claims->lists[i].source == source && claims->lists[i].count)
            return &claims->lists[i];
    return NULL;
}

static uint64_t apart(const struct host_claim *a, const struct host_claim *b) {
    return a->there > b->there ? (uint64_t)a->there - (uint64_t)b->there
                               : (uint64_t)b->there - (uint64_t)a->there;
}

// Two clocks at one time by a clock that all hosts share: where one of them was not compared at that time, its rate bounds how far it went on.
static bool add_shared(struct host_clocks *clocks, uint32_t first, const struct host_claim_list *hub,
                       uint32_t second, const struct host_claim_list *list) {
    size_t near = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct host_claim *one = &list->items[i];
        while (near + 1 < hub->count && apart(&hub->items[near + 1], one) <= apart(&hub->items[near], one))
            near++;
        const uint64_t distance = apart(&hub->items[near], one);
        struct host_claim claim = {.there = one->here, .error = INT64_MAX};
        int64_t since;
        if (distance > INT64_MAX / 4 || one->error > INT64_MAX / 4 ||
            hub->items[near].error > INT64_MAX / 4 ||
            __builtin_sub_overflow(one->there, hub->items[near].there, &since) ||
            __builtin_add_overflow(hub->items[near].here, since, &claim.here))
            continue;
        claim.error = one->error + hub->items[near].error + (int64_t)distance / SHARED_RATE + 1;
        if (!add_claim(clocks, first, second, list->source, &claim))
            return false;
    }
    return true;
}

// By one of the clocks that all hosts share.
static bool add_all_shared(const struct host_claims *const *traces, size_t count, const uint32_t *numbers,
                           uint32_t source, struct host_clocks *clocks) {
    size_t hub = 0; // the first trace that knows it
    while (hub < count && !find_shared(traces[hub], source))
        hub++;
    for (size_t i = hub + 1; i < count; i++) {
        const struct host_claim_list *list = find_shared(traces[i], source);
        if (list && numbers[i] != numbers[hub] &&
            !add_shared(clocks, numbers[hub], find_shared(traces[hub], source), numbers[i], list))
            return false;
    }
    return true;
}

static bool add_all(const struct clock_names *names, const struct host_claims *const *traces, size_t count,
                    const uint32_t *numbers, struct host_clocks *clocks) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < traces[i]->count; k++)
            if (traces[i]->lists[k].source == HOST_CLOCKS_PROBE &&
                !add_probes(names, numbers[i], &traces[i]->lists[k], clocks))
                return false;
    return add_all_shared(traces, count, numbers, HOST_CLOCKS_UTC, clocks) &&
           add_all_shared(traces, count, numbers, HOST_CLOCKS_PTP, clocks);
}

struct host_clocks *host_claims_relate(const struct host_claims *const *traces, size_t count,
                                       uint32_t *numbers) {
    struct clock_names names = {0};
    struct host_clocks *clocks = NULL;
    if (number_clocks(&names, traces, count, numbers))
        clocks = host_clocks_create(names.count);
    if (clocks && !add_all(&names, traces, count, numbers, clocks)) {
        host_clocks_destroy(clocks);
        clocks = NULL;
    }
    tsmith_dictionary_destroy(names.names);
    free(names.numbers);
    return clocks;
}
