// SPDX-License-Identifier: Apache-2.0
// Turns a failed call of the library into an exception of tracesmith._errors.
#include "native.h"

static PyObject *number_or_none(uint64_t number) {
    if (number == UINT64_MAX)
        return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(number);
}

static bool find_make(struct native_state *state) {
    if (state->make_error)
        return true;
    PyObject *errors = PyImport_ImportModule("tracesmith._errors");
    if (!errors)
        return false;
    state->make_error = PyObject_GetAttrString(errors, "make");
    Py_DECREF(errors);
    return state->make_error != NULL;
}

// A path or message of the system's may be no UTF-8.
static PyObject *text_or_none(const char *text) {
    return text ? PyUnicode_DecodeFSDefault(text) : Py_NewRef(Py_None);
}

PyObject *native_raise(struct native_state *state, tsmith_status status, const tsmith_error *error,
                       const char *path) {
    if (!find_make(state))
        return NULL;
    PyObject *message =
        text_or_none(error && error->message[0] ? error->message : tsmith_status_text(status));
    PyObject *where = text_or_none(path);
    PyObject *offset = number_or_none(error ? error->offset : UINT64_MAX);
    PyObject *record = number_or_none(error ? error->record : UINT64_MAX);
    PyObject *exception = NULL;
    if (message && where && offset && record)
        exception = PyObject_CallFunction(state->make_error, "sOOOOi", tsmith_status_name(status), message,
                                          where, offset, record, error ? error->system_errno : 0);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(message);
    Py_XDECREF(where);
    Py_XDECREF(offset);
    Py_XDECREF(record);
    return NULL;
}
