// SPDX-License-Identifier: Apache-2.0
// Commands in flight: enqueued, and their times not yet asked for. Rules: agent.h.
//
// Each thread has a list of the commands it enqueued, a ring of variable-length entries. Its thread alone appends
// (`tail`). Entries are finished by the thread that holds the list's lock: the owner inside its own waiting calls, any thread
// before it lets an object go or asks for a reference count, and, every few ms, the control thread, if the owner has not
// looked since the last time: where a program waits often enough, no thread of ours calls into its driver. The lock is a
// flag that is tried, never waited for on the event path: a failed try leaves the entries to the next.
//
//     appended (tail, release) --holder: the command is complete--> DONE --holder: all before it are too-->
//     gone (head)
//
// Entries may finish in any order (several queues); `head` follows the first unfinished one.
//
// The control thread is for programs that never wait. It is made at the first command, blocks every signal,
// and ends in the exit handler, which gives it a bounded time for a last pass: a driver that hangs there
// delays no thread. What is still in flight when the library goes is counted as NO_COMPLETION.
#ifndef OPENCL_PENDING_H
#define OPENCL_PENDING_H

#include "agent.h"
#include "objects.h"

// Takes over a command whose queue is known, and our reference on its event: it is recorded and the event released once
// complete. `held`: the program has the event too. False when there is no room: the caller keeps the reference.
struct command;
bool pending_push(const struct command *command, cl_event event, bool held, uint32_t wait_count,
                  const cl_event *waits);

// Records what is complete of the calling thread's list; of all lists. `patient` waits a short while for a
// list that somebody else is at: for calls that let objects go, so that what we hold of them is given back
// before.
void pending_reap_own(void);
void pending_reap_all(bool patient);
// Records what is complete of the lists whose owners have not looked themselves since the last call. For the control
// thread: where a program waits often enough, no thread of ours calls into its driver.
void pending_reap_neglected(void);

// Counts the passes that have ended, twice; odd while one is at work. The same even number before and after
// means that in between nothing of ours was released.
uint64_t pending_epoch(void);

// Forgets everything in flight, without touching the driver; how many commands that were.
uint64_t pending_abandon(void);
void pending_after_fork_child(void);

#endif
