// SPDX-License-Identifier: Apache-2.0
// The session that ranges, marks and counters of this interpreter go to.
#ifndef TRACESMITH_PYTHON_SESSION_H
#define TRACESMITH_PYTHON_SESSION_H

#include "native.h"

#include "tracesmith/session.h"

typedef struct session_object {
    PyObject_HEAD tsmith_session *session; // NULL once it is stopped
    PyObject *ids;                         // of names: dict of str to int
    uint32_t flops;                        // the number of the session's own field
    uint64_t open_ranges;                  // begun and not ended
    int64_t first_open;                    // a time at which none of them had begun
} session_object;

// The id of a name; 0 when the session has no room for more names, or the name could not be encoded. Never leaves an
// exception: a program runs as it would without a session.
uint32_t session_name_id(session_object *session, PyObject *name);

#endif
