// SPDX-License-Identifier: Apache-2.0
// What the other tool wants of CUPTI's records, and how it gets them. See sharing.h.
#ifndef CUDA_SHARING_RECORDS_H
#define CUDA_SHARING_RECORDS_H

#include "cupti.h"
#include <stdbool.h>

// Another thread of the parent may have had its lock.
void sharing_records_after_fork_child(void);

void sharing_records_register(cupti_buffer_wanted *wanted, cupti_buffer_full *full);
// The clock that they want times on.
void sharing_records_clock(uint64_t (*clock)(void));
// The time by that clock; false: there is none.
bool sharing_records_now(uint64_t *time);
void sharing_records_system_threads(bool system);
void sharing_records_kind(uint32_t kind, bool on);
bool sharing_records_now_on(uint32_t kind);
bool sharing_records_ever(uint32_t kind);
void sharing_records_leave_out(int domain, uint32_t id, bool left_out);
// Requests a buffer of theirs, if a kind is on and there is none.
void sharing_records_open(void);
// Completes the buffer that is being filled.
void sharing_records_flush(void);
// How many were dropped since it was asked last.
uint64_t sharing_records_dropped(void);

#endif
