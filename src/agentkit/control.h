// SPDX-License-Identifier: Apache-2.0
// The control thread of an agent: does periodic work that no thread of the program should do, and makes the last pass
// at exit. One per library; for agents, in the profiled process.
//
//     NONE --start--> RUNNING --exit handler--> STOPPING --last pass done--> STOPPED
//                        \--session is over--> STOPPED
//
// Each time it also looks after stacks (stacks.h) and sums (sums.h), which the last pass writes.
//
// The program's threads never wait for it but at exit, and there for `last_pass_ms` at most. After STOPPED (or a last
// pass that hung) calls of other exit handlers are still recorded by their own threads.
#ifndef AGENTKIT_CONTROL_H
#define AGENTKIT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/channel.h"

struct agent_control_work {
    bool (*look)(
        void); // every period_ms or so; false: there is nothing more to do, not even a last pass. NULL: none
    void (*flush)(void); // every flush_ms, for a driver that keeps its records until it is asked for them
    void (*over)(
        void); // the session is over, nothing is recorded any more, and the thread ends. NULL: it stays
    void (*last_pass)(void); // NULL: none
    uint32_t period_ms, flush_ms, last_pass_ms;
};

// Makes the thread, once per process, with all signals blocked, and its end at exit: exit handlers run youngest first, so
// before those of libraries that registered before this call. `work` stays. Later calls do nothing. Any thread. Without a
// thread to be had a later call tries again. Whether this call made it. In a forked
// child there is none until the next start.
bool agent_control_start(const struct agent_control_work *work, struct channel *channel);
// Ends it before the program does, with its last pass. A later start makes one again. False: it did not end in time.
bool agent_control_stop(void);
// Its end at exit is registered once more: before those of libraries that registered since. Whichever comes first ends it.
void agent_control_exit_first(void);
// It looks soon: there is something to do that threads of the program should be spared. One system call; any thread, signal
// handlers too.
void agent_control_wake(void);
// From `look`: the driver is asked for its records in this look, and not only when their time has come.
void agent_control_flush(void);

#endif
