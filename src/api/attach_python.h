// SPDX-License-Identifier: Apache-2.0
// The first step of `attach` for a program of Python 3.14: its own interpreter loads the agents. attach.c calls it.
#ifndef API_ATTACH_PYTHON_H
#define API_ATTACH_PYTHON_H

#include "api/attach.h"
#include "inject/inject.h"

enum { ATTACH_PYTHON_WHY = sizeof((tsmith_attach_report *)0)->not_remote };

// Whether the library that carries out the order was reached. Otherwise nothing is asked of the interpreter any more; `why` has the
// reason, or is "" if the process has no CPython. `loaded`: our file of the library that the process has loaded already; NULL: it is
// loaded now, by the link in the session directory.
bool attach_python(const struct attach_what *what, const struct inject_target *target, const char *loaded,
                   struct attach_order *order, char why[ATTACH_PYTHON_WHY]);

#endif
