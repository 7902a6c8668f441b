// SPDX-License-Identifier: Apache-2.0
// Joining a recording with another profiler's trace of the same run: tsmith_traces_merge for tracesmith/_merge.py.
#include "native.h"

#include "tracesmith/merge.h"

static PyObject *merge(PyObject *module, PyObject *arguments) {
    PyObject *recording = NULL, *other = NULL, *output = NULL, *answer = NULL;
    tsmith_merge_result result = {.size = sizeof result};
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    tsmith_status status;
    if (!PyArg_ParseTuple(arguments, "O&O&O&:merge", PyUnicode_FSConverter, &recording, PyUnicode_FSConverter,
                          &other, PyUnicode_FSConverter, &output))
        goto end;
    const char *const paths[] = {PyBytes_AsString(recording), PyBytes_AsString(other),
                                 PyBytes_AsString(output)};
    Py_BEGIN_ALLOW_THREADS;
    status = tsmith_traces_merge(paths[0], paths[1], paths[2], &result, &error);
    Py_END_ALLOW_THREADS;
    if (status < 0)
        native_raise(PyModule_GetState(module), status, &error, NULL);
    else
        answer = Py_BuildValue("{szsKsKsL}", "incomplete", status == TSMITH_OK ? NULL : error.message,
                               "added", (unsigned long long)result.added, "left_out",
                               (unsigned long long)result.left_out, "error", (long long)result.error);
end:
    Py_XDECREF(recording);
    Py_XDECREF(other);
    Py_XDECREF(output);
    return answer;
}

static PyMethodDef functions[] = {
    {"merge", merge, METH_VARARGS, "merge(recording, other, output): a dict of what was written."},
    {NULL, NULL, 0, NULL},
};

bool native_add_merge(PyObject *module) {
    return PyModule_AddFunctions(module, functions) == 0;
}
