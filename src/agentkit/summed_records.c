// SPDX-License-Identifier: Apache-2.0
// Sums of the events of agents that know only records: a kernel, copy, call or wait is described in a place of the thread's own,
// where its record would be in the ring, and what the record's shape says of its words is added to a row (sums.h). Records of other
// kinds go on to the ring. agent.c starts it for agents that ask for it.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agentkit/agent.h"
#include "agentkit/sums.h"
#include "agentkit/thread.h"
#include "agentkit/wait.h"
#include "wire/record_part.h"

enum { TRACKS_KNOWN = 4096 };
static const int64_t LONGEST_REST = 200000000, SHORTEST_REST = 5000000; // ns

// The words of a record that a sum has.
enum part { START, DURATION, CERTAINTY, NAME, STACK, OPERATION, DIRECTION, BYTES, PARTS };
static const uint16_t part_fields[PARTS] = {
    TSMITH_FIELD_START, TSMITH_FIELD_DURATION,  TSMITH_FIELD_CERTAINTY, TSMITH_FIELD_NAME,
    TSMITH_FIELD_STACK, TSMITH_FIELD_OPERATION, TSMITH_FIELD_DIRECTION, TSMITH_FIELD_BYTES};

// What is done with records of a shape. Two words, of which the first one is stored last.
enum { PLAN_UNKNOWN, PLAN_WRITE, PLAN_ADD };
union plan {
    struct {
        uint8_t state, kind;
        uint8_t known;      // of their times, if they have them
        uint8_t difference; // the duration is the end, from which the start is to be taken
        uint8_t of_thread;  // the subject is the name, and the track the thread's
        uint8_t at[PARTS];  // the number of the word; 0, that of the head: there is none
    };
    uint64_t words[2];
};
static_assert(sizeof(union plan) == 16, "a plan is two words");

static _Atomic uint64_t plans[RECORD_MAX_SHAPES][2];
static _Atomic uint32_t known_tracks[TRACKS_KNOWN]; // of the sums, by track

static bool is_summed(uint8_t kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
           kind == TSMITH_KIND_API || kind == TSMITH_KIND_SYNC;
}

static void plan_word(union plan *plan, const struct record_field *field, uint8_t number) {
    const uint8_t encoding = field->encoding & (uint8_t)~RECORD_ZERO_IS_NONE;
    if (encoding == RECORD_DYNAMIC || encoding == RECORD_LIST)
        return; // DYNAMIC: its number is of the agent's own fields
    for (int part = 0; part < PARTS; part++)
        if (field->field == part_fields[part])
            plan->at[part] = number;
    if (field->field != TSMITH_FIELD_DURATION)
        return;
    plan->difference = encoding == RECORD_TICK_END || encoding == RECORD_DEVICE_END;
    plan->known = encoding == RECORD_TICK_END ? SUMS_TIMED | SUMS_TICKS : SUMS_TIMED;
}

static union plan make_plan(uint32_t shape) {
    struct record_shape of;
    union plan plan = {.state = PLAN_WRITE};
    if (!channel_find_shape(agent.channel, (uint16_t)shape, &of))
        return plan; // the next record asks again
    plan.kind = of.kind;
    if (of.role == RECORD_EVENT && is_summed(of.kind)) {
        plan.state = PLAN_ADD;
        plan.of_thread = of.subject == RECORD_SUBJECT_NAME;
        for (uint8_t i = 0; i < of.field_count; i++)
            plan_word(&plan, &of.fields[i], (uint8_t)(i + 1));
    }
    atomic_store_explicit(&plans[shape][1], plan.words[1], memory_order_relaxed);
    atomic_store_explicit(&plans[shape][0], plan.words[0], memory_order_release);
    return plan;
}

static union plan plan_of(uint32_t shape) {
    union plan plan = {.state = PLAN_WRITE};
    if (shape >= RECORD_MAX_SHAPES)
        return plan;
    plan.words[0] = atomic_load_explicit(&plans[shape][0], memory_order_acquire);
    if (!plan.words[0])
        return make_plan(shape);
    plan.words[1] = atomic_load_explicit(&plans[shape][1], memory_order_relaxed);
    return plan;
}

// That of the device whose queue the track is; of the host, if it is a thread. 0: it is not known.
static uint32_t track_of(uint32_t track) {
    tsmith_track of;
    uint32_t known = track < TRACKS_KNOWN ? atomic_load(&known_tracks[track]) : 0;
    if (known)
        return known;
    if (!channel_find_track(agent.channel, track, &of))
        return 0;
    known =
        of.kind == TSMITH_TRACK_THREAD ? sums_host : sums_track(of.device, of.flags & TSMITH_TRACK_SIMULATED);
    if (track < TRACKS_KNOWN)
        atomic_store(&known_tracks[track], known);
    return known;
}

static uint64_t duration_of(const union plan *plan, const uint64_t *record) {
    const uint64_t word = record[plan->at[DURATION]], start = record[plan->at[START]];
    return !plan->difference ? word : word > start ? word - start : 0;
}

// False: whose sum it is, is not known.
static bool add_up(const union plan *plan, const uint64_t *record) {
#define WORD(part) (plan->at[part] ? record[plan->at[part]] : 0)
    const uint32_t subject = (uint32_t)(*record >> 32);
    const bool timed = plan->known && WORD(CERTAINTY) != TSMITH_CERTAINTY_UNTIMED;
    const uint32_t track = plan->of_thread ? sums_host : track_of(subject);
    if (!track)
        return false;
    sums_add(sums_what((tsmith_kind)plan->kind, timed ? plan->known : 0, WORD(OPERATION) & 0xff,
                       WORD(DIRECTION) & 0xff, plan->of_thread ? subject : (uint32_t)WORD(NAME)),
             sums_who(track, (uint32_t)WORD(STACK)), timed ? duration_of(plan, record) : 0, 0, WORD(BYTES));
    return true;
#undef WORD
}

// ---- the thread that writes at the end of each period: an agent's control thread is made late, or never

static _Atomic bool
    looked_after; // the process has had its thread; a forked child has none, and its first record makes one
static _Atomic uint32_t looking; // 1: the thread goes on
static _Atomic uint32_t ending;  // 1: it ends

static void after_fork_child(void) {
    atomic_store(&looked_after, false);
    atomic_store(&looking, 0);
}

static void rest_until_due(struct channel *channel) {
    int64_t time = sums_until_due();
    time = time < SHORTEST_REST ? SHORTEST_REST : time > LONGEST_REST ? LONGEST_REST : time;
    channel_rest(channel, true);
    (void)wait_change(&ending, 0, clock_trace_now() + time);
    channel_rest(channel, false);
}

static void *keep_looking(void *of) {
    struct channel *const channel = of;
    prctl(PR_SET_NAME, "tracesmith");
    while (!atomic_load(&ending) && channel_live(channel)) {
        rest_until_due(channel);
        sums_look();
    }
    atomic_store(&looking, 0);
    wait_wake(&looking);
    return NULL;
}

static __attribute__((noinline)) void look_after(void) {
    if (atomic_exchange(&looked_after, true))
        return;
    atomic_store(&looking, 1);
    if (!agent_thread_start(keep_looking, agent.channel))
        atomic_store(&looking, 0);
}

bool sums_end_of_records(int patience_ms) {
    const int64_t until = clock_trace_now() + patience_ms * INT64_C(1000000);
    atomic_store(&ending, 1);
    if (!atomic_load(&looking))
        return true;
    wait_wake(&ending);
    while (atomic_load(&looking) && wait_change(&looking, 1, until)) {
    }
    return !atomic_load(&looking);
}

// ---- the hook

static uint64_t *reserve(uint32_t words) {
    if (!sums_on) // they were of an earlier attachment
        return NULL;
    if (__builtin_expect(!atomic_load_explicit(&looked_after, memory_order_relaxed), 0))
        look_after();
    return words <= RECORD_MAX_WORDS ? sums_scratch_take() : NULL;
}

static void commit(struct ring *ring, uint64_t *head, uint32_t words) {
    if (!sums_is_scratch(head)) { // a signal handler's, in the middle of another record; or there are no sums
        ring_commit(ring, words);
        return;
    }
    const union plan plan = plan_of((uint32_t)(*head & 0xffff));
    if (plan.state != PLAN_ADD || !add_up(&plan, head)) {
        uint64_t *const at = ring_reserve(ring, words);
        if (at) {
            memcpy(at, head, words * sizeof *at);
            ring_commit(ring, words);
        }
    }
    sums_scratch_give_back();
}

void sums_start_of_records(struct channel *channel) {
    static const struct record_hook hook = {reserve, commit};
    sums_start(channel);
    if (!sums_on)
        return;
    // Tracks are of the session. The numbers of shapes are not: they mean the same in the next one (channel_open_again), and the plans stay.
    for (uint32_t i = 0; i < TRACKS_KNOWN; i++)
        atomic_store_explicit(&known_tracks[i], 0, memory_order_relaxed);
    if (!record_hook)
        pthread_atfork(NULL, NULL, after_fork_child);
    atomic_store(&ending, 0);
    atomic_store(&looked_after, false);
    look_after();
    record_hook = &hook; // and stays: a thread may be between its two calls
}
