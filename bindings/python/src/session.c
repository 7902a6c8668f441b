// SPDX-License-Identifier: Apache-2.0
// The type Session, and mark and counter, which go to the session that is active.
//
// All of this runs under the interpreter's lock, except the start and the stop of a session: these take the session out of
// the object first.
#include "session.h"
#include "nvtx.h"

#include <string.h>

#include "tracesmith/capture.h"
#include "tracesmith/launcher.h"

// Names may be any str. What UTF-8 has no form for is escaped, and a zero byte, which would end the name, becomes '?'.
static uint32_t register_name(session_object *session, PyObject *name) {
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
    if (!bytes)
        return 0;
    char *text = PyBytes_AsString(bytes); // no other code has seen these bytes yet
    const size_t length = (size_t)PyBytes_Size(bytes);
    for (char *zero = text; (zero = memchr(zero, '\0', (size_t)(text + length - zero))) != NULL;)
        *zero = '?';
    const uint32_t id = tsmith_session_name(session->session, text);
    Py_DECREF(bytes);
    PyObject *number = PyLong_FromUnsignedLong(id);
    if (number && id)
        PyDict_SetItem(session->ids, name, number);
    Py_XDECREF(number);
    return id;
}

uint32_t session_name_id(session_object *session, PyObject *name) {
    PyObject *known = PyDict_GetItemWithError(session->ids, name);
    const uint32_t id = known ? (uint32_t)PyLong_AsUnsignedLong(known) : register_name(session, name);
    if (PyErr_Occurred())
        PyErr_Clear();
    return id;
}

static tsmith_status start(session_object *self, const tsmith_session_options *options, tsmith_error *error) {
    tsmith_session *session = NULL;
    tsmith_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tsmith_session_start(options, &session, error);
    Py_END_ALLOW_THREADS;
    if (status != TSMITH_OK)
        return status;
    self->session = session;
    self->flops = tsmith_session_field(session, "flops", TSMITH_TYPE_F64, "");
    return TSMITH_OK;
}

static session_object *allocate_session(PyTypeObject *type) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    session_object *self = (session_object *)allocate(type, 0);
    if (self && !(self->ids = PyDict_New()))
        Py_CLEAR(self);
    return self;
}

// What the arguments of Session() ask for; `apis` points into Python's objects.
struct wanted {
    PyObject *path; // bytes
    unsigned long long buffer_bytes;
    const char *overflow;
    int agents, stacks;
    unsigned int stack_frames;
    const char *cuda;
    double max_overhead;
    PyObject *api_names; // list of bytes, or NULL
    const char *apis[16];
    size_t api_count;
};

static bool take_apis(PyObject *names, void *result) {
    struct wanted *wanted = result;
    const Py_ssize_t count = names == Py_None ? 0 : PySequence_Size(names);
    if (names == Py_None)
        return true;
    if (count < 0)
        return false;
    if (count == 0 || (size_t)count > sizeof wanted->apis / sizeof *wanted->apis) {
        PyErr_SetString(PyExc_ValueError, "apis: name at least one API, and at most 16");
        return false;
    }
    wanted->api_names = PyList_New(0);
    for (Py_ssize_t i = 0; wanted->api_names && i < count; i++) {
        PyObject *name = PySequence_GetItem(names, i), *bytes = NULL;
        const bool good =
            name && PyUnicode_FSConverter(name, &bytes) && PyList_Append(wanted->api_names, bytes) == 0;
        if (good)
            wanted->apis[wanted->api_count++] = PyBytes_AsString(bytes);
        Py_XDECREF(name);
        Py_XDECREF(bytes);
        if (!good)
            return false;
    }
    return wanted->api_names != NULL;
}

static bool parse(PyObject *arguments, PyObject *keywords, struct wanted *out) {
    static char path[] = "path", buffer[] = "buffer_bytes", overflow[] = "overflow", agents[] = "gpu",
                stacks[] = "stacks", frames[] = "stack_frames", cuda[] = "cuda", overhead[] = "max_overhead",
                apis[] = "apis";
    static char *names[] = {path, buffer, overflow, agents, stacks, frames, cuda, overhead, apis, NULL};
    PyObject *wanted_apis = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|$KzppIzdO:Session", names,
                                     PyUnicode_FSConverter, &out->path, &out->buffer_bytes, &out->overflow,
                                     &out->agents, &out->stacks, &out->stack_frames, &out->cuda,
                                     &out->max_overhead, &wanted_apis))
        return false;
    return take_apis(wanted_apis, out);
}

static bool start_wanted(session_object *self, const struct wanted *wanted, struct native_state *state) {
    const tsmith_capture_options capture = {.size = sizeof capture,
                                            .apis = wanted->api_count ? wanted->apis : NULL,
                                            .api_count = wanted->api_count,
                                            .stacks = wanted->stacks,
                                            .stack_frames = wanted->stack_frames,
                                            .cuda = wanted->cuda,
                                            .max_overhead = wanted->max_overhead};
    tsmith_session_options options = {.size = sizeof options,
                                      .path = PyBytes_AsString(wanted->path),
                                      .buffer_bytes = (size_t)wanted->buffer_bytes,
                                      .agents = wanted->agents ? &capture : NULL};
    tsmith_error error;
    if (wanted->overflow && !tsmith_overflow_find(wanted->overflow, &options.overflow)) {
        PyErr_Format(PyExc_ValueError, "overflow: '%s' is no policy", wanted->overflow);
        return false;
    }
    const tsmith_status status = start(self, &options, &error);
    if (status != TSMITH_OK)
        native_raise(state, status, &error, options.path);
    return status == TSMITH_OK;
}

static void *raise_state(struct native_state *state, const char *message) {
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    PyOS_snprintf(error.message, sizeof error.message, "%s", message);
    return native_raise(state, TSMITH_ERROR_STATE, &error, NULL);
}

static bool is_other_active(const struct native_state *state, const PyObject *object) {
    return state->active && state->active != object && state->active != state->attached;
}

static const char ANOTHER[] = "Another session of this interpreter is active; stop it first";

static PyObject *session_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    struct wanted wanted = {0};
    struct native_state *state = PyType_GetModuleState(type);
    if (is_other_active(state, NULL)) // before the file is opened, which may hold a trace
        return raise_state(state, ANOTHER);
    session_object *self = parse(arguments, keywords, &wanted) ? allocate_session(type) : NULL;
    if (self && !start_wanted(self, &wanted, state))
        Py_CLEAR(self);
    Py_XDECREF(wanted.path);
    Py_XDECREF(wanted.api_names);
    return (PyObject *)self;
}

static void make_active(struct native_state *state, PyObject *session) {
    PyObject *before = state->active;
    state->active = session ? Py_NewRef(session) : NULL;
    Py_XDECREF(before);
}

// Makes it the one that ranges, marks and counters go to, and switches its agents on.
static PyObject *session_activate(PyObject *object, PyObject *unused) {
    (void)unused;
    session_object *self = (session_object *)object;
    struct native_state *state = PyType_GetModuleState(Py_TYPE(object));
    if (is_other_active(state, object))
        return raise_state(state, ANOTHER);
    make_active(state, object);
    if (self->session)
        tsmith_session_switch(self->session, 1,
                              NULL); // refused in a forked child, whose agents follow its parent
    Py_RETURN_NONE;
}

static void deactivate(struct native_state *state, PyObject *object) {
    if (state && state->active == object)
        make_active(state, state->attached == object ? NULL : state->attached);
}

static PyObject *session_pause(PyObject *object, PyObject *unused) {
    (void)unused;
    session_object *self = (session_object *)object;
    deactivate(PyType_GetModuleState(Py_TYPE(object)), object);
    if (self->session)
        tsmith_session_switch(self->session, 0, NULL);
    Py_RETURN_NONE;
}

static PyObject *session_note(PyObject *object, PyObject *unused) {
    (void)unused;
    session_object *self = (session_object *)object;
    return PyUnicode_DecodeFSDefault(self->session ? tsmith_session_note(self->session) : "");
}

static PyObject *session_environment(PyObject *object, PyObject *unused) {
    (void)unused;
    session_object *self = (session_object *)object;
    const char *const *entries = self->session ? tsmith_session_environment(self->session) : NULL;
    PyObject *list = PyList_New(0);
    for (; list && entries && *entries; entries++) {
        PyObject *entry = PyBytes_FromString(*entries);
        if (!entry || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

// A range without an end is not in the trace: it is counted in the loss ledger.
static void count_open(session_object *self, tsmith_session *session) {
    if (!self->open_ranges)
        return;
    const int64_t now = tsmith_session_now(session);
    const tsmith_value values[] = {{TSMITH_FIELD_LOST, self->open_ranges},
                                   {TSMITH_FIELD_REASON, TSMITH_REASON_UNMATCHED}};
    tsmith_emit(session, TSMITH_KIND_LOSS, 0, 0, self->first_open, now - self->first_open, values, 2);
    self->open_ranges = 0;
}

static tsmith_status stop(session_object *self, tsmith_session_statistics *statistics, tsmith_error *error) {
    tsmith_session *session = self->session;
    tsmith_status status;
    self->session = NULL;
    count_open(self, session);
    Py_BEGIN_ALLOW_THREADS;
    status = tsmith_session_stop(session, statistics, error);
    Py_END_ALLOW_THREADS;
    return status;
}

static PyObject *session_stop(PyObject *object, PyObject *unused) {
    (void)unused;
    session_object *self = (session_object *)object;
    struct native_state *state = PyType_GetModuleState(Py_TYPE(object));
    tsmith_session_statistics statistics = {.size = sizeof statistics};
    tsmith_error error = {
        .offset = UINT64_MAX, .record = UINT64_MAX, .message = "The session was stopped before"};
    const unsigned long long open_ranges = self->open_ranges;
    tsmith_status status = TSMITH_ERROR_STATE;
    Py_INCREF(object); // deactivating may drop the last other reference
    deactivate(state, object);
    if (self->session)
        status = stop(self, &statistics, &error);
    Py_DECREF(object);
    if (status != TSMITH_OK)
        return native_raise(state, status, &error, NULL);
    return Py_BuildValue("{sKsKsKsKsLsK}", "emitted", (unsigned long long)statistics.emitted, "kept",
                         (unsigned long long)statistics.kept, "dropped",
                         (unsigned long long)statistics.dropped, "threads",
                         (unsigned long long)statistics.threads, "duration", (long long)statistics.duration,
                         "open_ranges", open_ranges);
}

static PyObject *session_now(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(tsmith_session_now(((session_object *)object)->session));
}

static void session_dealloc(PyObject *object) {
    session_object *self = (session_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->session)
        stop(self, NULL, NULL);
    Py_XDECREF(self->ids);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

// ---- functions of the module

// The session of the process that started this one, active while no other is; None if this process is not recorded.
static PyObject *attach(PyObject *module, PyObject *unused) {
    (void)unused;
    struct native_state *state = PyModule_GetState(module);
    tsmith_session *session = NULL;
    if (state->attached || tsmith_session_attach(&session, NULL) != TSMITH_OK)
        Py_RETURN_NONE;
    session_object *self = allocate_session(state->session_type);
    if (!self) {
        tsmith_session_stop(session, NULL, NULL);
        return NULL;
    }
    self->session = session;
    self->flops = tsmith_session_field(session, "flops", TSMITH_TYPE_F64, "");
    state->attached = Py_NewRef((PyObject *)self);
    if (!state->active)
        make_active(state, state->attached);
    return (PyObject *)self;
}

static session_object *active_session(PyObject *module) {
    struct native_state *state = PyModule_GetState(module);
    session_object *session = (session_object *)state->active;
    return session && session->session ? session : NULL;
}

static bool want_name(PyObject *name, const char *function) {
    if (PyUnicode_Check(name))
        return true;
    PyErr_Format(PyExc_TypeError, "%s: the name must be a str", function);
    return false;
}

static PyObject *mark(PyObject *module, PyObject *name) {
    if (!want_name(name, "mark"))
        return NULL;
    session_object *session = active_session(module);
    const char *text = nvtx_on ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (text)
        nvtx_mark(text);
    else if (nvtx_on)
        PyErr_Clear();
    if (session)
        tsmith_mark(session->session, session_name_id(session, name));
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "counter takes a name and a value");
        return NULL;
    }
    if (!want_name(arguments[0], "counter"))
        return NULL;
    const double value = PyFloat_AsDouble(arguments[1]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    session_object *session = active_session(module);
    if (session)
        tsmith_count(session->session, session_name_id(session, arguments[0]), value);
    Py_RETURN_NONE;
}

#define METHOD_OF_ANY_TYPE(function) ((PyCFunction)(void (*)(void))(function))

// The name of a file: a pattern with the rank, the host and the process.
static PyObject *output_name(PyObject *module, PyObject *path) {
    PyObject *pattern = NULL, *answer = NULL;
    char name[4096];
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    if (!PyUnicode_FSConverter(path, &pattern))
        return NULL;
    const tsmith_status status =
        tsmith_output_expand(PyBytes_AsString(pattern), 0, name, sizeof name, &error);
    if (status == TSMITH_OK)
        answer = PyUnicode_DecodeFSDefault(name);
    else
        native_raise(PyModule_GetState(module), status, &error, NULL);
    Py_DECREF(pattern);
    return answer;
}

static PyMethodDef functions[] = {
    {"attach", attach, METH_NOARGS,
     "The Session of the recording that this process was started under, or None."},
    {"mark", mark, METH_O,
     "mark(name, /)\n--\n\n"
     "Records an instant. Does nothing while no session is active."},
    {"counter", METHOD_OF_ANY_TYPE(counter), METH_FASTCALL,
     "counter(name, value, /)\n--\n\n"
     "Records the value of a counter at this instant. Does nothing while no session is active."},
    {"output_name", output_name, METH_O, "output_name(pattern): the name of a file, with %r the rank."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"activate", session_activate, METH_NOARGS, "Ranges, marks and counters go to this session from now on."},
    {"pause", session_pause, METH_NOARGS, "Nothing is recorded until activate is called."},
    {"note", session_note, METH_NOARGS,
     "What agents cannot record, and why; empty when there is nothing to say."},
    {"environment", session_environment, METH_NOARGS,
     "The environment that agents and children need, as a list of b\"NAME=VALUE\"; empty without agents."},
    {"stop", session_stop, METH_NOARGS, "Ends the session and finishes its file; returns its statistics."},
    {"now", session_now, METH_NOARGS, "The trace clock in ns."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A file that this process records into."},
    {Py_tp_new, (void *)session_new},
    {Py_tp_dealloc, (void *)session_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Session", sizeof(session_object), 0, Py_TPFLAGS_DEFAULT,
                           slots};

bool native_add_session(PyObject *module, struct native_state *state) {
    state->session_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->session_type && PyModule_AddType(module, state->session_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
