// SPDX-License-Identifier: Apache-2.0
// Calls of Python functions as ranges: the callbacks of sys.monitoring (Python 3.12). tracesmith/_functions.py registers them.
//
// A range begins when a function is called or resumed, and ends when it returns, yields or is left by an exception: ranges of a
// thread nest. The interpreter's lock is held in all of this.
#include "session.h"

#include <stdlib.h>
#include <string.h>

// A code object and the id of its name; 0: its calls are not recorded.
struct known_code {
    PyObject *code; // NULL: a free place
    uint32_t id;
};

struct native_functions {
    session_object *session;
    PyObject *only, *except; // tuples of str: beginnings of file names; `only` may be empty
    PyObject *disable;       // sys.monitoring.DISABLE
    uint64_t number;         // of this tracing in the process
    struct known_code *table;
    size_t capacity, count;
};

// Ranges that are open in this thread, of the tracing that has this number.
static __thread struct {
    uint64_t number;
    uint64_t depth;
} here;
static uint64_t last_number;

static void release_table(struct native_functions *functions) {
    for (size_t i = 0; i < functions->capacity; i++)
        Py_XDECREF(functions->table[i].code);
    free(functions->table);
}

void native_functions_release(struct native_functions *functions) {
    if (!functions)
        return;
    release_table(functions);
    Py_XDECREF((PyObject *)functions->session);
    Py_XDECREF(functions->only);
    Py_XDECREF(functions->except);
    Py_XDECREF(functions->disable);
    free(functions);
}

static struct known_code *find(struct known_code *table, size_t capacity, PyObject *code) {
    size_t place = ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15u >> 20 & (capacity - 1);
    while (table[place].code && table[place].code != code)
        place = (place + 1) & (capacity - 1);
    return &table[place];
}

static bool make_room(struct native_functions *functions) {
    if (functions->count * 2 < functions->capacity)
        return true;
    const size_t capacity = functions->capacity ? functions->capacity * 2 : 256;
    struct known_code *table = calloc(capacity, sizeof *table);
    for (size_t i = 0; table && i < functions->capacity; i++)
        if (functions->table[i].code)
            *find(table, capacity, functions->table[i].code) = functions->table[i];
    if (!table)
        return false;
    free(functions->table);
    functions->table = table;
    functions->capacity = capacity;
    return true;
}

static bool begins_with(PyObject *text, PyObject *beginnings) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(beginnings); i++)
        if (PyUnicode_Tailmatch(text, PyTuple_GetItem(beginnings, i), 0, PY_SSIZE_T_MAX, -1) == 1)
            return true;
    return false;
}

// "Class.method (file.py:12)"
static PyObject *name_of(PyObject *code, PyObject *file) {
    PyObject *function = PyObject_GetAttrString(code, "co_qualname");
    PyObject *line = PyObject_GetAttrString(code, "co_firstlineno");
    const Py_ssize_t length = PyUnicode_GetLength(file);
    const Py_ssize_t slash = PyUnicode_FindChar(file, '/', 0, length, -1);
    PyObject *base = PyUnicode_Substring(file, slash + 1, length);
    PyObject *name =
        function && line && base ? PyUnicode_FromFormat("%U (%U:%S)", function, base, line) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(line);
    Py_XDECREF(base);
    return name;
}

static uint32_t make_id(const struct native_functions *functions, PyObject *code) {
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    const bool wanted = file && !begins_with(file, functions->except) &&
                        (PyTuple_Size(functions->only) == 0 || begins_with(file, functions->only));
    PyObject *name = wanted ? name_of(code, file) : NULL;
    const uint32_t id = name ? session_name_id(functions->session, name) : 0;
    Py_XDECREF(file);
    Py_XDECREF(name);
    if (PyErr_Occurred())
        PyErr_Clear();
    return id;
}

static uint32_t id_of(struct native_functions *functions, PyObject *code) {
    if (!make_room(functions))
        return 0;
    struct known_code *known = find(functions->table, functions->capacity, code);
    if (!known->code) {
        const uint32_t id = make_id(functions, code);
        known = find(functions->table, functions->capacity, code);
        *known = (struct known_code){Py_NewRef(code), id};
        functions->count++;
    }
    return known->id;
}

// The callback's answer: None, or that this place is of no interest, if that is allowed here.
static PyObject *answer(const struct native_functions *functions, bool wanted, bool may_disable) {
    return Py_NewRef(!wanted && may_disable && functions ? functions->disable : Py_None);
}

static PyObject *begin(PyObject *module, PyObject *code, bool may_disable) {
    const struct native_state *state = PyModule_GetState(module);
    struct native_functions *functions = state->functions;
    const uint32_t id = functions ? id_of(functions, code) : 0;
    if (id && functions->session->session) {
        if (here.number != functions->number) {
            here.number = functions->number;
            here.depth = 0;
        }
        here.depth++;
        tsmith_range_begin(functions->session->session, id);
    }
    return answer(functions, id != 0, may_disable);
}

// Functions that were running when the tracing began end without a range.
static PyObject *end(PyObject *module, PyObject *code, bool may_disable) {
    const struct native_state *state = PyModule_GetState(module);
    struct native_functions *functions = state->functions;
    const uint32_t id = functions ? id_of(functions, code) : 0;
    if (id && functions->session->session && here.number == functions->number && here.depth) {
        here.depth--;
        tsmith_range_end(functions->session->session);
    }
    return answer(functions, id != 0, may_disable);
}

static PyObject *on_start(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    return count ? begin(module, arguments[0], true) : Py_NewRef(Py_None);
}
static PyObject *on_throw(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    return count ? begin(module, arguments[0], false) : Py_NewRef(Py_None);
}
static PyObject *on_return(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    return count ? end(module, arguments[0], true) : Py_NewRef(Py_None);
}
static PyObject *on_unwind(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    return count ? end(module, arguments[0], false) : Py_NewRef(Py_None);
}

static PyObject *raise_state(struct native_state *state, const char *message) {
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    PyOS_snprintf(error.message, sizeof error.message, "%s", message);
    return native_raise(state, TSMITH_ERROR_STATE, &error, NULL);
}

static PyObject *functions_begin(PyObject *module, PyObject *arguments) {
    struct native_state *state = PyModule_GetState(module);
    session_object *session = (session_object *)state->active;
    PyObject *only, *except, *disable;
    if (!PyArg_ParseTuple(arguments, "OOO:functions_begin", &only, &except, &disable))
        return NULL;
    if (state->functions)
        return raise_state(state, "Functions are traced already");
    if (!session || !session->session)
        return raise_state(state, "There is no active session to trace functions into");
    struct native_functions *functions = calloc(1, sizeof *functions);
    if (!functions)
        return PyErr_NoMemory();
    *functions = (struct native_functions){.session = (session_object *)Py_NewRef((PyObject *)session),
                                           .only = Py_NewRef(only),
                                           .except = Py_NewRef(except),
                                           .disable = Py_NewRef(disable),
                                           .number = ++last_number};
    state->functions = functions;
    Py_RETURN_NONE;
}

static PyObject *functions_end(PyObject *module, PyObject *unused) {
    struct native_state *state = PyModule_GetState(module);
    struct native_functions *functions = state->functions;
    (void)unused;
    state->functions = NULL;
    if (functions && here.number == functions->number)
        for (; here.depth; here.depth--)
            tsmith_range_end(functions->session->session);
    native_functions_release(functions);
    Py_RETURN_NONE;
}

#define METHOD_OF_ANY_TYPE(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"functions_begin", functions_begin, METH_VARARGS,
     "functions_begin(only, except, disable): calls go to the active session from now on."},
    {"functions_end", functions_end, METH_NOARGS, "Ends what functions_begin began."},
    {"function_start", METHOD_OF_ANY_TYPE(on_start), METH_FASTCALL, "Callback of PY_START and PY_RESUME."},
    {"function_throw", METHOD_OF_ANY_TYPE(on_throw), METH_FASTCALL, "Callback of PY_THROW."},
    {"function_return", METHOD_OF_ANY_TYPE(on_return), METH_FASTCALL, "Callback of PY_RETURN and PY_YIELD."},
    {"function_unwind", METHOD_OF_ANY_TYPE(on_unwind), METH_FASTCALL, "Callback of PY_UNWIND."},
    {NULL, NULL, 0, NULL},
};

bool native_add_functions(PyObject *module) {
    return PyModule_AddFunctions(module, functions) == 0;
}
