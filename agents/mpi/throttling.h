// SPDX-License-Identifier: Apache-2.0
// What recording costs the program, and keeping it below what the user allows (agentkit/overhead.h, profile --max-overhead P). Rules: agent.h.
//
// The cost of a thread is the time that its calls spend in this library around MPI's functions, measured of one call in some 32. The rule:
//
//     share > P       one call in 2^k is recorded, with the smallest k that would bring the share below P
//     share < P / 4   k is made one less
//
// Of collectives the number in their communicator decides: each process has its own k, and what a larger k keeps, a smaller one keeps too. So
// the ranks still record the same ones, as far as they record any. A call that completes an operation that is recorded is always recorded; so is what makes and frees
// communicators, windows and files. The ledger counts a call that is passed over as `thinned`.
#ifndef MPI_THROTTLING_H
#define MPI_THROTTLING_H

#include "agent.h"
#include "agentkit/overhead.h"

enum left_out { LEFT_OUT_NONE, LEFT_OUT_CALL, LEFT_OUT_COLLECTIVE };

// What --max-overhead may leave out of a class: calls one by one, or a collective on all ranks. Waits are judged by their requests.
// Looks that find nothing are one event anyway.
enum {
    RULE_SEND = LEFT_OUT_CALL,
    RULE_RECV = LEFT_OUT_CALL,
    RULE_SENDRECV = LEFT_OUT_CALL,
    RULE_ISEND = LEFT_OUT_CALL,
    RULE_IRECV = LEFT_OUT_CALL,
    RULE_START = LEFT_OUT_CALL,
    RULE_PROBE = LEFT_OUT_CALL,
    RULE_MPROBE = LEFT_OUT_CALL,
    RULE_RMA = LEFT_OUT_CALL,
    RULE_IRMA = LEFT_OUT_CALL,
    RULE_WIN = LEFT_OUT_CALL,
    RULE_WIN_PEER = LEFT_OUT_CALL,
    RULE_FILE_MOVE = LEFT_OUT_CALL,
    RULE_FILE_START = LEFT_OUT_CALL,
    RULE_COLL = LEFT_OUT_COLLECTIVE,
    RULE_ICOLL = LEFT_OUT_COLLECTIVE,
    RULE_WIN_COLL = LEFT_OUT_COLLECTIVE,
    RULE_FILE_MOVE_ALL = LEFT_OUT_COLLECTIVE,
    RULE_FILE_START_ALL = LEFT_OUT_COLLECTIVE,
    RULE_FILE_BEGIN = LEFT_OUT_COLLECTIVE,
    RULE_FILE_COLL = LEFT_OUT_COLLECTIVE,
    RULE_POLL = LEFT_OUT_NONE,
    RULE_MPOLL = LEFT_OUT_NONE,
    RULE_MAKE_SEND = LEFT_OUT_NONE,
    RULE_MAKE_RECV = LEFT_OUT_NONE,
    RULE_WAIT = LEFT_OUT_NONE,
    RULE_WAITALL = LEFT_OUT_NONE,
    RULE_WAITANY = LEFT_OUT_NONE,
    RULE_WAITSOME = LEFT_OUT_NONE,
    RULE_TEST = LEFT_OUT_NONE,
    RULE_TESTALL = LEFT_OUT_NONE,
    RULE_TESTANY = LEFT_OUT_NONE,
    RULE_TESTSOME = LEFT_OUT_NONE,
    RULE_FREE_REQUEST = LEFT_OUT_NONE,
    RULE_MAKE_COMM = LEFT_OUT_NONE,
    RULE_IDUP_COMM = LEFT_OUT_NONE,
    RULE_GROUP_COMM = LEFT_OUT_NONE,
    RULE_INTER_COMM = LEFT_OUT_NONE,
    RULE_FREE_COMM = LEFT_OUT_NONE,
    RULE_MAKE_WIN = LEFT_OUT_NONE,
    RULE_FREE_WIN = LEFT_OUT_NONE,
    RULE_MAKE_FILE = LEFT_OUT_NONE,
    RULE_FREE_FILE = LEFT_OUT_NONE,
    RULE_CALL = LEFT_OUT_NONE,
    RULE_INIT = LEFT_OUT_NONE,
    RULE_FINALIZE = LEFT_OUT_NONE,
    RULE_ABORT = LEFT_OUT_NONE
};

// Reads the environment; before any call can come.
void throttling_start(void);
// Starts the thread that chooses k, where it is needed; once recording.
void throttling_watch(void);
// Whether a call is to be recorded; counts it if not. Only where agent_overhead.on.
bool throttling_admits(enum left_out rule, const struct said *said);
// A call begins that may be measured. False: it is passed over, and is_on is false.
bool throttling_enter(struct entry *entry, enum left_out rule, const struct said *said);
// A measured call is over: the time outside of MPI was the agent's.
void throttling_left(const struct entry *entry);

#endif
