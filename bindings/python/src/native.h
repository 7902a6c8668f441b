// SPDX-License-Identifier: Apache-2.0
// What the files of the extension module share: the module's state, errors, and the handle of a trace.
#ifndef TRACESMITH_PYTHON_NATIVE_H
#define TRACESMITH_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tracesmith/analyze.h"
#include "tracesmith/arrow.h"
#include "tracesmith/status.h"
#include "tracesmith/trace.h"

struct native_functions;

enum { NATIVE_RANGES = 8 };

struct native_state {
    PyTypeObject *trace_type;
    PyTypeObject *stream_type;
    PyTypeObject *analysis_type;
    PyTypeObject *session_type;
    PyTypeObject *range_type;
    PyObject *make_error;               // tracesmith._errors.make, found when it is first needed
    PyObject *active;                   // the Session that ranges, marks and counters go to; NULL: none
    struct native_functions *functions; // calls of functions are recorded; NULL: they are not
    // Ranges referenced only from here are reused (range.c); NULL: a free place.
    PyObject *ranges[NATIVE_RANGES];
    PyObject
        *attached; // the Session of the process that started this one; active when no other is; NULL: none
};

// Raises the exception of `status` with the message, path, offset and record of `error`. Always NULL.
PyObject *native_raise(struct native_state *state, tsmith_status status, const tsmith_error *error,
                       const char *path);

// A trace and everybody who reads it: the Trace object, and streams that other libraries hold. They may be used and
// released by any thread, with or without the interpreter's lock. The interpreter's lock is never waited for while `lock`
// is held.
struct trace_handle {
    atomic_int holders;
    pthread_mutex_t lock; // of what follows: the library allows one thread at a time
    bool closed;          // streams end with an error
    tsmith_trace *trace;
    char *path;
};

void trace_handle_release(struct trace_handle *handle);
// The handle of a Trace with one holder more, so that it lives while the interpreter's lock is not held. NULL with an
// exception: it is none, or closed.
struct trace_handle *trace_hold(PyObject *object);

// A stream of the answer to the first statement of `sql`, which must be the only one. NULL with an exception.
PyObject *stream_of_sql(struct native_state *state, struct trace_handle *handle, const char *sql,
                        size_t length);

// Which events, and which of their columns.
struct events_wanted {
    uint32_t *fields;
    size_t field_count;
    uint64_t kinds; // TSMITH_KIND_BIT of each; 0: all
    bool has_window;
    int64_t from, to; // start of an event: at or after, before
};
// A stream of events; `names` (a tuple) are those of the fields. NULL with an exception.
PyObject *stream_of_events(struct native_state *state, struct trace_handle *handle,
                           const struct events_wanted *wanted, PyObject *names);

// A stream of a table of a report, which is copied. NULL with an exception.
PyObject *stream_of_table(struct native_state *state, struct trace_handle *handle,
                          const tsmith_report_table *table);

// Which analyses, of what part of a trace. The strings are those of the arguments.
struct analysis_wanted {
    const char **names, **skip;
    size_t name_count, skip_count;
    int has_window, hide_interpreter;
    double peak_flops, peak_bytes; // per second; 0: not stated
    int64_t from, to;
};
// Reads (names, skip, from, to, hide_interpreter, peak_flops, peak_bytes). False with an exception; to be released in any case.
bool analysis_wanted_take(PyObject *arguments, struct analysis_wanted *out);
void analysis_wanted_release(struct analysis_wanted *wanted);
// An Analysis. NULL with an exception.
PyObject *analysis_of(struct native_state *state, struct trace_handle *handle,
                      const struct analysis_wanted *wanted);

// How busy each queue was: (from, to, rows, holes), see timeline.c. `window`: two times, or NULL. NULL with an exception.
PyObject *timeline_of(struct native_state *state, struct trace_handle *handle, const int64_t *window,
                      size_t buckets);

// A report as str; (format, title, from, to, rows). NULL with an exception.
PyObject *report_of(struct native_state *state, struct trace_handle *handle, PyObject *arguments);

// A time, or `otherwise` for None. Times beyond int64 are before and after all events. False with an exception.
bool native_take_time(PyObject *value, int64_t otherwise, int64_t *out);

// A value of an array. `words` are those of its dictionary, if it has one.
PyObject *decode_cell(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row,
                      PyObject *words);
// Adds to the list `*words` (NULL: made) what the dictionary has beyond it: the dictionary of a stream only grows.
bool decode_words(const struct ArrowArray *dictionary, PyObject **words);

// What a whole column is collected in; see Stream.columns in stream.c.
struct collected {
    PyObject *values; // bytearray of numbers, or list of str, bytes and None
    PyObject *valid;  // bytearray with 0 or 1 per row, or NULL while every row has a value
    PyObject *words;  // list: `values` are numbers of these; NULL: they are the values
    size_t size;      // bytes of a number
    int64_t rows;
};
bool collect_begin(const struct ArrowSchema *schema, struct collected *column);
bool collect_add(const struct ArrowSchema *schema, const struct ArrowArray *array, struct collected *column);
void collect_release(struct collected *column);

bool native_add_trace(PyObject *module, struct native_state *state);
bool native_add_stream(PyObject *module, struct native_state *state);
bool native_add_simulate(PyObject *module);
bool native_add_merge(PyObject *module);
bool native_add_analysis(PyObject *module, struct native_state *state);
bool native_add_session(PyObject *module, struct native_state *state);
bool native_add_range(PyObject *module, struct native_state *state);
bool native_add_functions(PyObject *module);

void native_functions_release(struct native_functions *functions);

#endif
