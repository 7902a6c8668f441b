// SPDX-License-Identifier: Apache-2.0
// Keeps a thread of the library out of the allocator while the program forks, in processes with AddressSanitizer only. The
// runtimes of GCC and of LLVM before 17 do not lock their allocator around fork: a child that was forked while another
// thread allocated would wait forever for a thread that it does not have. glibc locks its allocator itself. A thread
// allocates also when it begins and when it ends: glibc and the runtime do it for its stack and its caches.
#ifndef API_FORK_HOLD_H
#define API_FORK_HOLD_H

#include <pthread.h>

// As pthread_create with default attributes. Forks of other threads wait until the thread has begun.
int fork_hold_create(pthread_t *thread, void *(*run)(void *), void *of);

// As pthread_join, of a thread of fork_hold_create.
void fork_hold_join(pthread_t thread);

// Around what the thread does that may allocate. A fork waits for the end of it, at most ten seconds.
void fork_hold_enter(void);
void fork_hold_leave(void);

#endif
