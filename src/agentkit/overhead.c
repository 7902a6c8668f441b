// SPDX-License-Identifier: Apache-2.0
// Measures the recording overhead of each thread and chooses the throttling level. The agents of CUDA, OpenCL and MPI call it.
#include "agentkit/overhead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/record_words.h"

enum { COSTS = 1024, TEXT_MAX = 512, LEVEL_MOST = 20 };
static const int64_t WINDOW = 50000000; // ns

struct agent_overhead agent_overhead;
__thread struct agent_overhead_thread agent_overhead_here;

static const struct agent_overhead_rule *rule;
static struct channel *channel;
static struct agent_overhead_cost costs[COSTS];
static _Atomic uint32_t costs_used; // how many were ever owned, at most
static double allowed;              // P / 100
static pthread_key_t owner_ends;    // notices the end of a thread
static uint16_t overhead_shape;
static uint32_t name;

// The control thread's.
static struct {
    uint64_t tick;           // when it looked last
    int64_t time;            // the same, ns
    double share, worst;     // of the last window, of the worst one
    double ticks, all_ticks; // ours, and the time of the costliest thread of each window
    uint64_t skipped;
} looked;

static void thread_end(void *cost) {
    agent_overhead_here.cost = NULL;
    atomic_store(&((struct agent_overhead_cost *)cost)->owned, 0);
}

#define OVERHEAD_WORDS(WORD)                                                                                 \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(name, TSMITH_FIELD_NAME, RECORD_STRING)                                                             \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)
RECORD_PART(overhead_words, OVERHEAD_WORDS)
RECORD_PART_SHAPE(overhead_words, OVERHEAD_WORDS)

static void after_fork_child(void) {
    // The child's only thread keeps its place; the others' are free again.
    for (uint32_t i = 0; i < COSTS; i++) {
        if (&costs[i] != agent_overhead_here.cost)
            atomic_store(&costs[i].owned, 0);
        costs[i].seen_ticks = atomic_load(&costs[i].ticks);
        costs[i].seen_skipped = atomic_load(&costs[i].skipped);
    }
    looked.skipped = 0;
    looked.ticks = looked.all_ticks = looked.worst = 0;
}

void agent_overhead_start(struct channel *where, const struct agent_overhead_rule *what) {
    const char *text = secure_getenv(CHANNEL_MAX_OVERHEAD);
    const unsigned long millionths = text ? strtoul(text, NULL, 10) : 0;
    if (millionths == 0 || pthread_key_create(&owner_ends, thread_end))
        return;
    rule = what;
    channel = where;
    allowed = (double)millionths / 1e6;
    overhead_shape = record_register(channel, TSMITH_KIND_OVERHEAD, RECORD_SUBJECT_TRACK, overhead_words_add);
    name = channel_string_cstr(channel, "recording");
    agent_overhead.tsc = channel_tick_is_tsc(channel);
    looked.tick = clock_tick(agent_overhead.tsc);
    looked.time = clock_trace_now();
    agent_overhead.on = true;
    pthread_atfork(NULL, NULL, after_fork_child);
}

// ---- the program's threads

struct agent_overhead_cost *agent_overhead_claim(void) {
    if (agent_overhead_here.unclaimed)
        return NULL;
    for (uint32_t i = 0; i < COSTS; i++) {
        uint32_t unowned = 0, used = atomic_load(&costs_used);
        if (!atomic_compare_exchange_strong(&costs[i].owned, &unowned, 1))
            continue;
        while (used <= i && !atomic_compare_exchange_weak(&costs_used, &used, i + 1))
            ;
        atomic_store(&costs[i].track, channel_thread_track(channel));
        agent_overhead_here.cost = &costs[i];
        pthread_setspecific(owner_ends, agent_overhead_here.cost);
        return agent_overhead_here.cost;
    }
    agent_overhead_here.unclaimed = true;
    return NULL;
}

uint32_t agent_overhead_next_sample(void) {
    uint32_t random = agent_overhead_here.random ? agent_overhead_here.random : 2463534242u;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    agent_overhead_here.random = random;
    return 16 + random % 32;
}

// ---- the control thread

uint32_t agent_overhead_halve(uint32_t level, double share, double limit) {
    while (share > limit && level < LEVEL_MOST) {
        level++;
        share /= 2;
    }
    return share < limit / 4 && level > 0 ? level - 1 : level;
}

// Without printf's point, which is the program's locale's.
static const char *format_percent(double share, char text[32]) {
    const unsigned long long thousandths = share > 0 ? (unsigned long long)(share * 1e5 + 0.5) : 0;
    snprintf(text, 32, "%llu.%03llu %%", thousandths / 1000, thousandths % 1000);
    return text;
}

static void publish_cost(uint32_t level) {
    static char published[TEXT_MAX]; // with the process: a forked child has the parent's
    static pid_t process;
    char key[64], text[TEXT_MAX], left_out[TEXT_MAX / 2], of_all[32], most[32], may[32];
    char worst[64] = ""; // events that ended before the first window have no cost in it
    const double all = looked.all_ticks > 0 ? looked.ticks / looked.all_ticks : 0;
    snprintf(key, sizeof key, "overhead.%d%s", (int)getpid(), rule->key);
    rule->describe(level, left_out, sizeof left_out);
    if (looked.worst > 0)
        snprintf(worst, sizeof worst, ", at most %s in 50 ms", format_percent(looked.worst, most));
    snprintf(text, sizeof text, "%s of a thread's time%s; allowed %s; %s, %llu thinned",
             format_percent(all, of_all), worst, format_percent(allowed, may), left_out,
             (unsigned long long)looked.skipped);
    if (process == getpid() && strcmp(text, published) == 0)
        return; // `info` would list it twice
    process = getpid();
    memcpy(published, text, strlen(text) + 1);
    channel_attribute(channel, key, text);
}

static void write_event(const struct agent_overhead_cost *cost, uint64_t ticks) {
    if (channel_armed(channel))
        RECORD_WRITE(channel_ring(channel), overhead_shape, atomic_load(&cost->track), overhead_words,
                     .start = looked.tick, .end = looked.tick + ticks, .name = name,
                     .certainty = TSMITH_CERTAINTY_INFERRED);
}

// What the threads have spent since the last look, `passed` ticks ago; of the costliest one. A measured call during which
// its thread was preempted is not typical of the other calls, so a thread's cost is limited to the time that passed.
static uint64_t gather(uint64_t passed) {
    const uint32_t used = atomic_load(&costs_used);
    uint64_t most = 0, skipped = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct agent_overhead_cost *cost = &costs[i];
        const uint64_t ticks = atomic_load_explicit(&cost->ticks, memory_order_relaxed);
        const uint64_t skips = atomic_load_explicit(&cost->skipped, memory_order_relaxed);
        const uint64_t estimate = ticks - cost->seen_ticks, spent = estimate < passed ? estimate : passed;
        skipped += skips - cost->seen_skipped;
        cost->seen_ticks = ticks;
        cost->seen_skipped = skips;
        if (spent)
            write_event(cost, spent);
        most = spent > most ? spent : most;
    }
    if (skipped)
        channel_lose(channel, TSMITH_REASON_THINNED, skipped);
    looked.skipped += skipped;
    return most;
}

void agent_overhead_look(bool last) {
    const int64_t now = clock_trace_now();
    if (!agent_overhead.on || (now - looked.time < WINDOW && !last))
        return;
    const uint64_t tick = clock_tick(agent_overhead.tsc);
    const double passed = (double)(tick - looked.tick);
    const uint64_t spent = gather(tick - looked.tick);
    const uint32_t level = atomic_load(&agent_overhead.level);
    looked.share = passed > 0 ? (double)spent / passed : 0;
    // A window shorter than the others is a poor sample for the rule, and at the end there is nothing left to control.
    const uint32_t next = last ? level : rule->next(level, looked.share, allowed);
    if (spent && !last)
        looked.worst = looked.share > looked.worst ? looked.share : looked.worst;
    if (spent) {
        looked.ticks += looked.share * passed;
        looked.all_ticks += passed;
    }
    looked.tick = tick;
    looked.time = now;
    atomic_store(&agent_overhead.level, next);
    if (next != level || last)
        publish_cost(next);
}
