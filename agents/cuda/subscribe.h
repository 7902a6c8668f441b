// SPDX-License-Identifier: Apache-2.0
// What is asked of CUPTI.
#ifndef CUDA_SUBSCRIBE_H
#define CUDA_SUBSCRIBE_H

#include "agent.h"

// Subscribes with the loaded libcupti; returns CUPTI's status.
int subscribe_take(void);
// Switches on the selected kinds; `taken` is the status of subscribing. False: nothing is recorded and nothing is
// left switched on; `why` has the obstacle and the remedy, in one line.
bool subscribe(int taken, char *why, size_t size);
// CUPTI has no callbacks for the agent: another tool is subscribed, and only records are available.
bool subscribe_alone(void);
// On the control thread: looks whether CUPTI was ended, and requests again what it refused within cuInit, where no callback does.
void subscribe_look(void);
// For the control thread. False: CUPTI was ended, or seems to be, which the next look tells. Nothing else is asked of it then.
bool subscribe_usable(void);
// At the end: whether CUPTI was ended since the look before.
void subscribe_look_last(void);
// Switches everything off again: the session is over, the program continues.
void subscribe_end(void);

// At the end: how often CUPTI reported errors and warnings that it went on after.
void subscribe_tell_reports(void);

// Enables a kind of record. CUPTI's error.
int subscribe_kind(uint32_t kind);

// Calls that are made very often and do nothing are left out, from CUDA 12.5 on; or not.
void subscribe_leave_out_calls(bool out);

#endif
