// SPDX-License-Identifier: Apache-2.0
// The type Range: a context manager and decorator for a named time range.
//
// A range is emitted whole when it ends. So ranges of coroutines and generators, which do not end in the order in which they
// began, are right.
#include "nvtx.h"
#include "session.h"

#include <string.h>

typedef struct range_object {
    PyObject_HEAD PyObject *name;
    session_object *session; // where it began; NULL: it has not begun, or no session was active
    int64_t start;           // ns
    double flops;
    uint64_t bytes;
    bool has_flops, has_bytes;
    bool entered;
    bool nvtx_open;
    uint64_t nvtx_id;
} range_object;

// NVTX wants a text that ends with a zero byte; a name that has no UTF-8 is left out.
static void begin_nvtx(range_object *self) {
    const char *text = PyUnicode_AsUTF8AndSize(self->name, NULL);
    if (text)
        self->nvtx_open = nvtx_start(text, &self->nvtx_id);
    else
        PyErr_Clear();
}

static PyObject *range_enter(PyObject *object, PyObject *unused) {
    (void)unused;
    range_object *self = (range_object *)object;
    struct native_state *state = PyType_GetModuleState(Py_TYPE(object));
    session_object *session = (session_object *)state->active;
    if (self->entered) {
        PyErr_SetString(PyExc_RuntimeError, "this range has begun and not ended; make another one");
        return NULL;
    }
    self->entered = true;
    if (nvtx_on)
        begin_nvtx(self);
    if (session && session->session) {
        self->session = (session_object *)Py_NewRef((PyObject *)session);
        self->start = tsmith_session_now(session->session);
        if (session->open_ranges++ == 0)
            session->first_open = self->start;
    }
    return Py_NewRef(object);
}

static void emit(const range_object *self, int64_t end) {
    session_object *session = self->session;
    tsmith_value values[2];
    size_t count = 0;
    if (self->has_bytes)
        values[count++] = (tsmith_value){TSMITH_FIELD_BYTES, self->bytes};
    if (self->has_flops && session->flops) {
        values[count] = (tsmith_value){.field = session->flops};
        memcpy(&values[count++].bits, &self->flops, sizeof self->flops);
    }
    tsmith_emit(session->session, TSMITH_KIND_RANGE, 0, session_name_id(session, self->name), self->start,
                end - self->start, values, count);
}

// Also called with the exception that ends the range: it is recorded like any other, and the exception goes on.
static PyObject *range_exit(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
    (void)arguments;
    (void)count;
    range_object *self = (range_object *)object;
    session_object *session = self->session;
    if (session) {
        if (session->session) { // else it was stopped, and counted this range as open
            emit(self, tsmith_session_now(session->session));
            session->open_ranges--;
        }
        self->session = NULL;
        Py_DECREF((PyObject *)session);
    }
    if (self->nvtx_open) {
        nvtx_end(self->nvtx_id);
        self->nvtx_open = false;
    }
    self->entered = false;
    Py_RETURN_FALSE;
}

static PyObject *number_or_none(bool known, PyObject *(*make)(const range_object *),
                                const range_object *self) {
    return known ? make(self) : Py_NewRef(Py_None);
}
static PyObject *make_flops(const range_object *self) {
    return PyFloat_FromDouble(self->flops);
}
static PyObject *make_bytes(const range_object *self) {
    return PyLong_FromUnsignedLongLong(self->bytes);
}

// As a decorator. Functions, coroutines and generators differ: tracesmith._decorate knows them.
static PyObject *range_call(PyObject *object, PyObject *arguments, PyObject *keywords) {
    const range_object *self = (const range_object *)object;
    PyObject *function;
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "a range decorates one function");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O:range", &function))
        return NULL;
    PyObject *module = PyImport_ImportModule("tracesmith._decorate");
    PyObject *flops = number_or_none(self->has_flops, make_flops, self);
    PyObject *bytes = number_or_none(self->has_bytes, make_bytes, self);
    PyObject *decorated = NULL;
    if (module && flops && bytes)
        decorated = PyObject_CallMethod(module, "decorate", "OOOO", function, self->name, flops, bytes);
    Py_XDECREF(module);
    Py_XDECREF(flops);
    Py_XDECREF(bytes);
    return decorated;
}

static PyObject *range_name(PyObject *object, void *unused) {
    (void)unused;
    return Py_NewRef(((range_object *)object)->name);
}

static void range_dealloc(PyObject *object) {
    range_object *self = (range_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct native_state *state = PyType_GetModuleState(type);
    Py_XDECREF(self->name);
    Py_XDECREF((PyObject *)self->session); // one that never ended stays counted as open
    if (!state)                            // the interpreter is ending and has taken the type apart
        PyErr_Clear();
    if (!state || state->spare_range)
        PyObject_Free(object);
    else
        state->spare_range = object;
    Py_DECREF(type);
}

// Ranges come and go one after the other: the memory of one that is gone is a third cheaper than new memory.
static range_object *allocate_range(struct native_state *state) {
    PyObject *memory = state->spare_range;
    state->spare_range = NULL;
    if (!memory)
        memory = PyObject_Malloc(sizeof(range_object));
    if (!memory)
        return (range_object *)PyErr_NoMemory();
    memset(memory, 0, sizeof(range_object));
    return (range_object *)PyObject_Init(memory, state->range_type);
}

// ---- range(name, *, flops=None, bytes=None), a function: a call of a type costs twice as much

static bool take_flops(range_object *self, PyObject *value) {
    self->flops = PyFloat_AsDouble(value);
    self->has_flops = true;
    return !(self->flops == -1.0 && PyErr_Occurred());
}

static bool take_bytes(range_object *self, PyObject *value) {
    self->bytes = PyLong_AsUnsignedLongLong(value);
    self->has_bytes = true;
    return !(self->bytes == (uint64_t)-1 && PyErr_Occurred());
}

static bool take_option(range_object *self, PyObject *keyword, PyObject *value) {
    const bool is_flops = PyUnicode_CompareWithASCIIString(keyword, "flops") == 0;
    if (!is_flops && PyUnicode_CompareWithASCIIString(keyword, "bytes") != 0) {
        PyErr_Format(PyExc_TypeError, "range: no argument is named %R; there are flops and bytes", keyword);
        return false;
    }
    if (value == Py_None)
        return true;
    return is_flops ? take_flops(self, value) : take_bytes(self, value);
}

static PyObject *make_range(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *keywords) {
    struct native_state *state = PyModule_GetState(module);
    if (count != 1 || !PyUnicode_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "range takes a name (str), and flops and bytes by keyword");
        return NULL;
    }
    range_object *self = allocate_range(state);
    if (!self)
        return NULL;
    self->name = Py_NewRef(arguments[0]);
    const Py_ssize_t options = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < options; i++)
        if (!take_option(self, PyTuple_GetItem(keywords, i), arguments[count + i])) {
            Py_DECREF((PyObject *)self);
            return NULL;
        }
    return (PyObject *)self;
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type;
    (void)arguments;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Range is made by tracesmith.range");
    return NULL;
}

#define METHOD_OF_ANY_TYPE(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"range", METHOD_OF_ANY_TYPE(make_range), METH_FASTCALL | METH_KEYWORDS,
     "range(name, /, *, flops=None, bytes=None)\n--\n\n"
     "A time range, to be used in a with statement or as a decorator.\n\n"
     "name: what the range is called (str).\n"
     "flops: floating-point operations in it (a number).\n"
     "bytes: bytes that it moves (an int of 0 or more).\n\n"
     "Records nothing while no session is active. Raises TypeError and OverflowError for arguments of\n"
     "the wrong kind, whether a session is active or not."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"__enter__", range_enter, METH_NOARGS, "Begins the range."},
    {"__exit__", METHOD_OF_ANY_TYPE(range_exit), METH_FASTCALL, "Ends the range."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"name", range_name, NULL, "What the range is called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A named time range: context manager and decorator."},
    {Py_tp_new, (void *)refuse_new},
    {Py_tp_dealloc, (void *)range_dealloc},
    {Py_tp_call, (void *)range_call},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Range", sizeof(range_object), 0, Py_TPFLAGS_DEFAULT, slots};

bool native_add_range(PyObject *module, struct native_state *state) {
    state->range_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->range_type && PyModule_AddType(module, state->range_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
