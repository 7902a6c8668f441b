// SPDX-License-Identifier: Apache-2.0
// Asks CPython 3.14 to run a script, the way sys.remote_exec does (PEP 768): its path is written into the state of the main thread, and
// the interpreter runs it at the next place where it looks after signals too. No thread is stopped, and no code is written to.
//
// The word that makes the interpreter look is read and written without stopping it, as CPython itself does it for another process. Of
// this word only the lowest byte is written. In the microsecond between, a bit that the program sets in this byte can be lost: a
// thread that waits for the interpreter asks again, and the handler of a signal that arrived just then runs with the next signal.
#ifndef INJECT_REMOTE_PYTHON_H
#define INJECT_REMOTE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/inject.h"
#include "inject/python_offsets.h"

struct remote_python {
    uint64_t eval_breaker, pending, path; // addresses in the process
};

// False: nothing was written. `why` has the reason, or is "" if the process has no CPython.
bool remote_python_ask(const struct inject_target *target, const char *script, struct remote_python *out,
                       char why[PYTHON_WHY_BYTES]);
// Whether the interpreter has taken the request.
bool remote_python_is_taken(const struct inject_target *target, const struct remote_python *request);
// Takes it back. One that the interpreter takes at this very moment may still run the script.
void remote_python_withdraw(const struct inject_target *target, const struct remote_python *request);

#endif
