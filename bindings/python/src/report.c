// SPDX-License-Identifier: Apache-2.0
// A report about a trace as text: what Trace.report gives.
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/trace_report.h"

struct text {
    char *bytes;
    size_t length, capacity;
};

static tsmith_status take(void *context, const void *bytes, size_t size) {
    struct text *text = context;
    if (size > text->capacity - text->length) {
        const size_t capacity = 2 * (text->capacity + size);
        char *grown = realloc(text->bytes, capacity);
        if (!grown)
            return TSMITH_ERROR_NO_MEMORY;
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, size);
    text->length += size;
    return TSMITH_OK;
}

static bool find_format(const char *name, tsmith_report_format *out) {
    for (unsigned i = 0; tsmith_report_format_name(i); i++)
        if (strcmp(tsmith_report_format_name(i), name) == 0) {
            *out = (tsmith_report_format)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "report: there is no format %s", name);
    return false;
}

PyObject *report_of(struct native_state *state, struct trace_handle *handle, PyObject *arguments) {
    tsmith_trace_report_options options = {.size = sizeof options};
    const char *format;
    PyObject *from, *to;
    Py_ssize_t rows;
    struct text text = {NULL, 0, 0};
    tsmith_error error;
    if (!PyArg_ParseTuple(arguments, "szOOn:report", &format, &options.title, &from, &to, &rows) ||
        !find_format(format, &options.format) || !native_take_time(from, INT64_MIN, &options.from) ||
        !native_take_time(to, INT64_MAX, &options.to))
        return NULL;
    options.has_window = from != Py_None || to != Py_None;
    options.table_rows = rows > 0 ? (size_t)rows : 0;
    const tsmith_output output = {take, &text};
    tsmith_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    status = tsmith_trace_report_write(handle->trace, &options, &output, &error);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    PyObject *result =
        status < 0 ? native_raise(state, status, &error, handle->path)
                   : PyUnicode_DecodeUTF8(text.bytes ? text.bytes : "", (Py_ssize_t)text.length, "replace");
    free(text.bytes);
    return result;
}
