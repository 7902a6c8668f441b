// SPDX-License-Identifier: Apache-2.0
// Threads of an agent in the profiled program. All signals are blocked in them: the program's handlers run in the program's
// threads only.
#ifndef AGENTKIT_THREAD_H
#define AGENTKIT_THREAD_H

#include <stdbool.h>

// Starts `work` with the argument on a detached thread. False if no thread could be made. Any thread of the program.
bool agent_thread_start(void *(*work)(void *), void *argument);

// Runs `work` on a thread of its own and waits until it has ended. False, and `work` did not run, if no thread could be
// made. For exit handlers that call a driver: exit() destroys the thread-local objects of its thread before it calls the
// first handler, and a driver written in C++ (Oclgrind is one) uses its own then although they are gone.
bool agent_thread_run(void (*work)(void));

#endif
