// SPDX-License-Identifier: Apache-2.0
// What is asked of CUPTI.
#ifndef CUDA_SUBSCRIBE_H
#define CUDA_SUBSCRIBE_H

#include "agent.h"

// Subscribes with the libcupti that is there; what CUPTI says.
int subscribe_take(void);
// Switches on what is to be recorded; `taken` is what subscribing said. False: nothing is recorded and nothing is left switched
// on; `why` says what is in the way and what to do, in one line.
bool subscribe(int taken, char *why, size_t size);
// CUPTI has no callbacks for the agent: somebody else is subscribed, and only records are to be had.
bool subscribe_alone(void);
// On the control thread: requests again what CUPTI refused within cuInit, where no callback does.
void subscribe_look(void);
// Switches everything off again: the session is over, the program goes on.
void subscribe_end(void);

// Enables a kind of record. CUPTI's error.
int subscribe_kind(uint32_t kind);

// Calls that are made very often and do nothing are left out, from CUDA 12.5 on; or not.
void subscribe_leave_out_calls(bool out);

#endif
