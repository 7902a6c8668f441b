// SPDX-License-Identifier: Apache-2.0
// The type Range: a context manager and decorator for a named time range.
//
// A range is emitted whole when it ends. So ranges of coroutines and generators, which do not end in the order in which they
// began, are right.
#include "nvtx.h"
#include "session.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef PyObject *(*call_function)(PyObject *, PyObject *const *, size_t, PyObject *);

typedef struct range_object {
    PyObject_HEAD call_function call; // where the type says that it is (__vectorcalloffset__)
    PyObject *name;
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

static PyObject *range_enter(PyObject *object) {
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

// Also called with the exception that ends the range: it is recorded like any other, and the exception propagates.
static PyObject *range_exit(PyObject *object) {
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
static PyObject *decorate(const range_object *self, PyObject *function) {
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

// A range is its own __enter__ and __exit__ (special_object below): without arguments it begins, with the three of __exit__ it
// ends, with a function it decorates.
static PyObject *call_with(PyObject *object, PyObject *function, size_t count, bool keywords) {
    if (count == 0 && !keywords)
        return range_enter(object);
    if (count == 3 && !keywords)
        return range_exit(object);
    if (count == 1 && !keywords)
        return decorate((range_object *)object, function);
    PyErr_SetString(PyExc_TypeError, "a range decorates one function");
    return NULL;
}

// PEP 590. Its names are in the limited API from 3.12 on, and what they stand for is the same in 3.10 and 3.11.
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif

static PyObject *range_vectorcall(PyObject *object, PyObject *const *arguments, size_t count,
                                  PyObject *keywords) {
    count &= ~((size_t)1 << (8 * sizeof count - 1)); // a flag about arguments[-1]
    return call_with(object, count ? arguments[0] : NULL, count, keywords && PyTuple_Size(keywords) > 0);
}

static PyObject *range_call(PyObject *object, PyObject *arguments, PyObject *keywords) {
    const size_t count = (size_t)PyTuple_Size(arguments);
    return call_with(object, count ? PyTuple_GetItem(arguments, 0) : NULL, count,
                     keywords && PyDict_Size(keywords) > 0);
}

static PyObject *range_name(PyObject *object, void *unused) {
    (void)unused;
    return Py_NewRef(((range_object *)object)->name);
}

static void range_dealloc(PyObject *object) {
    range_object *self = (range_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->name);
    Py_XDECREF((PyObject *)self->session); // one that never ended stays counted as open
    PyObject_Free(object);
    Py_DECREF(type);
}

// What another range left behind in an object that is used again.
static void forget(range_object *self) {
    PyObject *session = (PyObject *)self->session;
    self->session = NULL;
    self->has_flops = self->has_bytes = self->entered = self->nvtx_open = false;
    Py_XDECREF(session);
}

// Ranges come and go one after the other, a few deep: one that only the module still holds is used again, at half the
// cost of making a new one.
static range_object *take_range(struct native_state *state, PyObject *name) {
    PyObject **place = NULL;
    for (size_t i = 0; i < NATIVE_RANGES; i++) {
        range_object *self = (range_object *)state->ranges[i];
        if (!self) {
            place = &state->ranges[i];
            break;
        }
        if (Py_REFCNT((PyObject *)self) == 1) {
            PyObject *before = self->name;
            Py_INCREF((PyObject *)self); // before anything of Python runs
            self->name = Py_NewRef(name);
            if (self->entered || self->has_flops || self->has_bytes)
                forget(self);
            Py_DECREF(before);
            return self;
        }
    }
    range_object *self = PyObject_Malloc(sizeof *self);
    if (!self)
        return (range_object *)PyErr_NoMemory();
    memset(self, 0, sizeof *self);
    PyObject_Init((PyObject *)self, state->range_type);
    self->call = range_vectorcall;
    self->name = Py_NewRef(name);
    if (place)
        *place = Py_NewRef((PyObject *)self);
    return self;
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
    range_object *self = take_range(state, arguments[0]);
    if (!self)
        return NULL;
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

// ---- __enter__ and __exit__
//
// A with statement looks both up before it calls them. Ordinary methods are bound then: two objects are made and freed, which
// costs as much as all else. These give the range itself, which knows by the arguments what it is called for. Of the type they
// give themselves, to be called with the range before the arguments (contextlib.ExitStack).

typedef struct special_object {
    PyObject_HEAD const char *doc;
    Py_ssize_t count; // of arguments with the range
} special_object;

static PyObject *special_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    return Py_NewRef(object ? object : self);
}

static PyObject *special_call(PyObject *self, PyObject *arguments, PyObject *keywords) {
    const struct native_state *state = PyType_GetModuleState(Py_TYPE(self));
    const Py_ssize_t count = PyTuple_Size(arguments);
    PyObject *object = count ? PyTuple_GetItem(arguments, 0) : NULL;
    if (!state || !object || !Py_IS_TYPE(object, state->range_type) ||
        count != ((special_object *)self)->count) {
        PyErr_SetString(PyExc_TypeError, "__enter__ takes a range, __exit__ a range and an exception");
        return NULL;
    }
    PyObject *rest = PyTuple_GetSlice(arguments, 1, count);
    PyObject *result = rest ? range_call(object, rest, keywords) : NULL;
    Py_XDECREF(rest);
    return result;
}

static PyObject *special_doc(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(((special_object *)object)->doc);
}

static PyGetSetDef special_properties[] = {
    {"__doc__", special_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *refuse_new_special(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type;
    (void)arguments;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "this belongs to a range");
    return NULL;
}

static PyType_Slot special_slots[] = {
    {Py_tp_new, (void *)refuse_new_special},
    {Py_tp_call, (void *)special_call},
    {Py_tp_descr_get, (void *)special_get},
    {Py_tp_getset, special_properties},
    {0, NULL},
};

static PyType_Spec special_spec = {"tracesmith._native.RangeMethod", sizeof(special_object), 0,
                                   Py_TPFLAGS_DEFAULT, special_slots};

static bool add_special(PyTypeObject *type, PyTypeObject *special, const char *name, Py_ssize_t count,
                        const char *doc) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(special, Py_tp_alloc);
    special_object *method = (special_object *)allocate(special, 0);
    if (!method)
        return false;
    method->doc = doc;
    method->count = count;
    const bool good = PyObject_SetAttrString((PyObject *)type, name, (PyObject *)method) == 0;
    Py_DECREF((PyObject *)method);
    return good;
}

static bool add_specials(PyObject *module, PyTypeObject *type) {
    PyTypeObject *special = (PyTypeObject *)PyType_FromModuleAndSpec(module, &special_spec, NULL);
    const bool good = special && add_special(type, special, "__enter__", 1, "Begins the range.") &&
                      add_special(type, special, "__exit__", 4, "Ends the range.");
    Py_XDECREF((PyObject *)special);
    return good;
}

static PyGetSetDef properties[] = {
    {"name", range_name, NULL, "What the range is called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(range_object, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_members, members},
    {Py_tp_doc, (void *)(uintptr_t) "A named time range: context manager and decorator."},
    {Py_tp_new, (void *)refuse_new},
    {Py_tp_dealloc, (void *)range_dealloc},
    {Py_tp_call, (void *)range_call},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Range", sizeof(range_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

bool native_add_range(PyObject *module, struct native_state *state) {
    state->range_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->range_type && add_specials(module, state->range_type) &&
           PyModule_AddType(module, state->range_type) == 0 && PyModule_AddFunctions(module, functions) == 0;
}
