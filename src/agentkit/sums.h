// SPDX-License-Identifier: Apache-2.0
// Sums of events in the profiled process (profile --aggregate): in place of a record for each event, an agent adds its time to a row
// of a table, and a thread of the agent writes the rows as events of kind `sum` once in a period. For agents of any API:
//
//     attaching:      sums_start(channel);                                 in `begin` and `again`; sets sums_on
//     an event:       if (sums_on) sums_add(sums_what(...), sums_who(...), duration, delay, bytes);
//     periodically:   sums_look();                                         from a thread of the agent
//     the last pass:  sums_write();                                        agent.c does so too before it closes the channel
//
// An agent that only writes records (wire/record_part.h) has nothing of this to call: its files define RECORD_HOOKED, and its spec
// says AGENT_SUMS_OF_RECORDS (summed_records.c).
//
// A row is what events have in common: kind, operation, direction, name, the stack of their call, and a track (sums_track: one for
// each device, and one for the host). Each thread has a table of its own, with a flag that it tries for each event; the thread which
// writes the rows takes it for a moment, to exchange them for empty ones. Where the flag is taken, the event is written as a sum of
// one. sums_add takes no lock, allocates nothing and makes no system call, but for the memory of a thread's table at its first event.
//
// Rows are bounded, for all threads of the process together: what finds no room is added to a row "(other)" of its kind and track,
// and counted (SUM_FULL). What was added and not written is counted where it outlives the process (channel_summed): of a process that
// is killed the ledger has exactly that many SUM_UNWRITTEN.
#ifndef AGENTKIT_SUMS_H
#define AGENTKIT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/channel.h"

enum { SUMS_ROWS_MAX = 4096 }; // of a process, in a period

// What is known of the events of a row.
enum {
    SUMS_TIMED = 1,   // `duration`
    SUMS_DELAYED = 2, // and `delay`: from queued to start
    SUMS_TICKS = 4    // `duration` is of the host's clock
};

extern bool sums_on __attribute__((visibility("hidden")));
extern uint32_t sums_host
    __attribute__((visibility("hidden"))); // sums_track(0): of calls and waits of the host

// Decides whether the agent adds up, for this channel. Once per channel; one channel at a time. Its sums begin now: what is left of an
// earlier one's is dropped.
void sums_start(struct channel *channel);
// The track of the sums of a device of the channel; 0: of the host. May take a lock; `flags` are those of tsmith_track.
uint32_t sums_track(uint32_t device, uint16_t flags);

static inline uint64_t sums_what(tsmith_kind kind, uint64_t known, uint64_t operation, uint64_t direction,
                                 uint32_t name) {
    return (uint64_t)kind | operation << 8 | direction << 16 | known << 24 | (uint64_t)name << 32;
}
static inline uint64_t sums_who(uint32_t track, uint32_t stack) {
    return (uint64_t)stack << 32 | track;
}

// Any thread; signal handlers too. The first of what has neither a delay nor bytes.
void sums_add_time(uint64_t what, uint64_t who, uint64_t duration);
void sums_add(uint64_t what, uint64_t who, uint64_t duration, uint64_t delay, uint64_t bytes);

// Writes all rows if the period is over; at once.
void sums_look(void);
void sums_write(void);
// ns until it is over; 0 or less: it is.
int64_t sums_until_due(void);

// ---- of records (summed_records.c)

void sums_start_of_records(struct channel *channel); // in place of sums_start
// The thread that writes them ends, before the channel does. False: it did not within this time.
bool sums_end_of_records(int patience_ms);
// Room for a record of any length, of the calling thread; NULL: it is taken, or there is no memory. Given back by the same thread.
uint64_t *sums_scratch_take(void);
bool sums_is_scratch(const uint64_t *at);
void sums_scratch_give_back(void);

#endif
