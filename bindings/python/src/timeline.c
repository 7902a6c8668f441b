// SPDX-License-Identifier: Apache-2.0
// How busy each queue of a trace was, in equal parts of a window: what Trace.timeline gives and a notebook draws.
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/memory.h"
#include "tracesmith/sbt.h"
#include "tracesmith/timeline.h"

static const uint32_t WORKS[] = {
    1u << TSMITH_WORK_COMPUTE, 1u << TSMITH_WORK_COMMUNICATION, 1u << TSMITH_WORK_COPY,
    1u << TSMITH_WORK_COMPUTE | 1u << TSMITH_WORK_COMMUNICATION | 1u << TSMITH_WORK_COPY};
enum { WORK_COUNT = sizeof WORKS / sizeof *WORKS };

// Adds the parts of disjoint intervals in each bucket, as shares of it.
static void spread(const tsmith_interval *busy, size_t count, tsmith_interval window, size_t buckets,
                   double *shares) {
    const double length = (double)(window.to - window.from) / (double)buckets;
    for (size_t i = 0; i < count; i++) {
        const double from = (double)(busy[i].from - window.from) / length,
                     to = (double)(busy[i].to - window.from) / length;
        for (size_t bucket = from > 0 ? (size_t)from : 0; bucket < buckets && (double)bucket < to; bucket++) {
            const double begin = from > (double)bucket ? from : (double)bucket,
                         end = to < (double)bucket + 1 ? to : (double)bucket + 1;
            shares[bucket] += end > begin ? end - begin : 0;
        }
    }
}

static PyObject *list_of(const double *shares, size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *share = PyFloat_FromDouble(shares[i] < 1 ? shares[i] : 1);
        if (!share || PyList_SetItem(list, (Py_ssize_t)i, share) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *string_of(tsmith_string text) {
    return PyUnicode_DecodeUTF8(text.bytes ? text.bytes : "", (Py_ssize_t)text.length, "replace");
}

// [compute, communication, copy, any of them], each a list of shares.
static PyObject *shares_of(const tsmith_timeline *timeline, const tsmith_row *row, size_t buckets) {
    PyObject *all = PyList_New(0);
    double *shares = malloc(buckets * sizeof *shares);
    bool good = all && shares;
    for (size_t i = 0; i < WORK_COUNT && good; i++) {
        tsmith_interval *busy = NULL;
        size_t count = 0;
        memset(shares, 0, buckets * sizeof *shares);
        good = tsmith_timeline_busy(timeline, row, WORKS[i], &busy, &count) == TSMITH_OK;
        if (good)
            spread(busy, count, tsmith_timeline_window(timeline), buckets, shares);
        tsmith_free(busy);
        PyObject *list = good ? list_of(shares, buckets) : NULL;
        good = list && PyList_Append(all, list) == 0;
        Py_XDECREF(list);
    }
    free(shares);
    if (!good && !PyErr_Occurred())
        PyErr_NoMemory();
    if (!good)
        Py_CLEAR(all);
    return all;
}

// (name, device, process id, busy ns, shares)
static PyObject *row_of(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                        const tsmith_row *row, size_t buckets) {
    char name[TSMITH_LABEL_SIZE], device[TSMITH_LABEL_SIZE];
    const tsmith_process *process = tsmith_dictionary_process(dictionary, row->process);
    return Py_BuildValue("(NNLLN)", string_of(tsmith_track_name(dictionary, row->track, name)),
                         string_of(tsmith_device_name(dictionary, row->dictionary_device, device)),
                         process ? (long long)process->pid : 0LL, (long long)row->busy,
                         shares_of(timeline, row, buckets));
}

// (from, to, reason, lost events)
static PyObject *holes_of(const tsmith_timeline *timeline) {
    size_t count;
    const tsmith_hole *holes = tsmith_timeline_holes(timeline, &count);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        const char *reason = tsmith_reason_name((tsmith_reason)holes[i].reason);
        PyObject *hole = Py_BuildValue("(LLsK)", (long long)holes[i].from, (long long)holes[i].to,
                                       reason ? reason : "", (unsigned long long)holes[i].lost);
        if (!hole || PyList_Append(list, hole) != 0)
            Py_CLEAR(list);
        Py_XDECREF(hole);
    }
    return list;
}

// (from, to, rows, holes)
static PyObject *describe(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                          size_t buckets) {
    size_t count;
    const tsmith_row *rows = tsmith_timeline_rows(timeline, &count);
    const tsmith_interval window = tsmith_timeline_window(timeline);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *row = row_of(timeline, dictionary, &rows[i], buckets);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list ? Py_BuildValue("(LLNN)", (long long)window.from, (long long)window.to, list,
                                holes_of(timeline))
                : NULL;
}

PyObject *timeline_of(struct native_state *state, struct trace_handle *handle, const int64_t *window,
                      size_t buckets) {
    tsmith_timeline_options options = {.size = sizeof options};
    tsmith_timeline *timeline = NULL;
    tsmith_source *source = NULL;
    tsmith_error error;
    tsmith_status status;
    if (window) {
        options.has_window = 1;
        options.from = window[0];
        options.to = window[1];
    }
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    status = tsmith_sbt_scan(tsmith_trace_sbt(handle->trace), NULL, &source, &error);
    if (status == TSMITH_OK)
        status = tsmith_timeline_read(source, &options, &timeline, &error);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    // The source belongs to this call, and so does its dictionary until it is read further.
    PyObject *described = status < 0 ? native_raise(state, status, &error, handle->path)
                                     : describe(timeline, tsmith_source_dictionary(source), buckets);
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    tsmith_timeline_destroy(timeline);
    tsmith_source_destroy(source);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    return described;
}
