// SPDX-License-Identifier: Apache-2.0
// Keeps a thread of the library out of the allocator while the program forks, in processes with AddressSanitizer only. The
// runtimes of GCC and of LLVM before 17 do not lock their allocator around fork: a child that was forked while another
// thread allocated would wait forever for a thread that it does not have. glibc locks its allocator itself.
#ifndef API_FORK_HOLD_H
#define API_FORK_HOLD_H

// Before the thread is created. Any thread; may be called again.
void fork_hold_prepare(void);

// Around what the thread does that may allocate. A fork waits for the end of it, at most ten seconds.
void fork_hold_enter(void);
void fork_hold_leave(void);

#endif
