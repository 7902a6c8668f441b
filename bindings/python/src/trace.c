// SPDX-License-Identifier: Apache-2.0
// The type Trace: a trace of any format, its summary, its tables, and SQL over it.
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/query.h"
#include "tracesmith/sbt.h"

enum { BUCKETS_MOST = 100000 };

typedef struct trace_object {
    PyObject_HEAD struct trace_handle *handle; // NULL once it is closed
} trace_object;

void trace_handle_release(struct trace_handle *handle) {
    if (!handle || atomic_fetch_sub(&handle->holders, 1) != 1)
        return;
    tsmith_trace_close(handle->trace);
    pthread_mutex_destroy(&handle->lock);
    free(handle->path);
    free(handle);
}

static struct trace_handle *handle_make(const char *path) {
    struct trace_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    atomic_init(&handle->holders, 1);
    handle->path = strdup(path);
    if (!handle->path || pthread_mutex_init(&handle->lock, NULL) != 0) {
        free(handle->path);
        free(handle);
        return NULL;
    }
    return handle;
}

static PyObject *open_at(PyTypeObject *type, const char *path) {
    struct native_state *state = PyType_GetModuleState(type);
    struct trace_handle *handle = handle_make(path);
    if (!handle)
        return PyErr_NoMemory();
    tsmith_error error;
    tsmith_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tsmith_trace_open(path, &(tsmith_trace_options){.size = sizeof(tsmith_trace_options)},
                               &handle->trace, &error);
    Py_END_ALLOW_THREADS;
    if (status != TSMITH_OK) {
        handle->trace = NULL;
        trace_handle_release(handle);
        return native_raise(state, status, &error, path);
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    trace_object *self = (trace_object *)allocate(type, 0);
    if (!self) {
        trace_handle_release(handle);
        return NULL;
    }
    self->handle = handle;
    return (PyObject *)self;
}

static PyObject *trace_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *path;
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Trace() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O&:Trace", PyUnicode_FSConverter, &path))
        return NULL;
    PyObject *self = open_at(type, PyBytes_AsString(path));
    Py_DECREF(path);
    return self;
}

static void close_handle(trace_object *self) {
    struct trace_handle *handle = self->handle;
    self->handle = NULL;
    if (!handle)
        return;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    handle->closed = true;
    pthread_mutex_unlock(&handle->lock);
    trace_handle_release(handle);
    Py_END_ALLOW_THREADS;
}

static PyObject *trace_close(PyObject *object, PyObject *unused) {
    (void)unused;
    close_handle((trace_object *)object);
    Py_RETURN_NONE;
}

// Streams that were made from the trace continue: the trace is not closed.
static void trace_dealloc(PyObject *object) {
    trace_object *self = (trace_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct trace_handle *handle = self->handle;
    self->handle = NULL;
    Py_BEGIN_ALLOW_THREADS;
    trace_handle_release(handle);
    Py_END_ALLOW_THREADS;
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

// The handle with one holder more, so that it lives while the interpreter's lock is not held; NULL with an exception.
static struct trace_handle *hold(PyObject *object, struct native_state **state) {
    struct trace_handle *handle = ((trace_object *)object)->handle;
    *state = PyType_GetModuleState(Py_TYPE(object));
    if (handle) {
        atomic_fetch_add(&handle->holders, 1);
        return handle;
    }
    const tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX, .message = "The trace is closed"};
    native_raise(*state, TSMITH_ERROR_STATE, &error, NULL);
    return NULL;
}

struct trace_handle *trace_hold(PyObject *object) {
    struct native_state *state;
    // The slot is looked up in the type itself: only a Trace has this function in it.
    if (PyType_GetSlot(Py_TYPE(object), Py_tp_new) == (void *)trace_new)
        return hold(object, &state);
    PyErr_SetString(PyExc_TypeError, "this is no tracesmith trace");
    return NULL;
}

static PyObject *trace_sql(PyObject *object, PyObject *text) {
    struct native_state *state;
    Py_ssize_t length;
    const char *sql = PyUnicode_AsUTF8AndSize(text, &length);
    struct trace_handle *handle = sql ? hold(object, &state) : NULL;
    if (!handle)
        return NULL;
    PyObject *stream = stream_of_sql(state, handle, sql, (size_t)length);
    trace_handle_release(handle);
    return stream;
}

static PyObject *unknown_name(struct native_state *state, const char *what, PyObject *name) {
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    PyObject *shown = PyObject_ASCII(name);
    const char *text = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
    if (text) {
        PyOS_snprintf(error.message, sizeof error.message, "events: there is no %s %.200s", what, text);
        native_raise(state, TSMITH_ERROR_INVALID_ARGUMENT, &error, NULL);
    }
    Py_XDECREF(shown);
    return NULL;
}

static bool find_fields(struct native_state *state, PyObject *columns, struct events_wanted *out) {
    const Py_ssize_t count = PyTuple_Size(columns);
    out->fields = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *out->fields);
    for (Py_ssize_t i = 0; out->fields && i < count; i++) {
        PyObject *name = PyTuple_GetItem(columns, i);
        const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
        const uint32_t field = text ? tsmith_field_find(text) : 0;
        if (!field && text)
            unknown_name(state, "column", name);
        if (!field)
            return false;
        out->fields[out->field_count++] = field;
    }
    if (!out->fields && !PyErr_Occurred())
        PyErr_NoMemory();
    return out->fields != NULL;
}

bool native_take_time(PyObject *value, int64_t otherwise, int64_t *out) {
    int beyond = 0;
    *out = otherwise;
    if (value == Py_None)
        return true;
    const long long time = PyLong_AsLongLongAndOverflow(value, &beyond);
    *out = beyond > 0 ? INT64_MAX : beyond < 0 ? INT64_MIN : time;
    return !(time == -1 && PyErr_Occurred());
}

static PyObject *trace_events(PyObject *object, PyObject *arguments) {
    struct native_state *state = PyType_GetModuleState(Py_TYPE(object));
    struct events_wanted wanted = {0};
    struct trace_handle *handle = NULL;
    PyObject *columns, *kinds, *from, *to, *stream = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOO:events", &columns, &kinds, &from, &to))
        return NULL;
    bool good = find_fields(state, columns, &wanted);
    for (Py_ssize_t i = 0; good && kinds != Py_None && i < PyTuple_Size(kinds); i++) {
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kinds, i), NULL);
        const tsmith_kind kind = text ? tsmith_kind_find(text) : TSMITH_KIND_NONE;
        good = kind != TSMITH_KIND_NONE;
        if (text && !good)
            unknown_name(state, "kind", PyTuple_GetItem(kinds, i));
        wanted.kinds |= TSMITH_KIND_BIT(kind);
    }
    good = good && native_take_time(from, INT64_MIN, &wanted.from) &&
           native_take_time(to, INT64_MAX, &wanted.to);
    wanted.has_window = from != Py_None || to != Py_None;
    if (good && (handle = hold(object, &state)) != NULL)
        stream = stream_of_events(state, handle, &wanted, columns);
    trace_handle_release(handle);
    free(wanted.fields);
    return stream;
}

static PyObject *trace_analyze(PyObject *object, PyObject *arguments) {
    struct native_state *state;
    struct analysis_wanted wanted;
    PyObject *analysis = NULL;
    struct trace_handle *handle = analysis_wanted_take(arguments, &wanted) ? hold(object, &state) : NULL;
    if (handle)
        analysis = analysis_of(state, handle, &wanted);
    trace_handle_release(handle);
    analysis_wanted_release(&wanted);
    return analysis;
}

static PyObject *trace_timeline(PyObject *object, PyObject *arguments) {
    struct native_state *state;
    PyObject *from, *to;
    Py_ssize_t buckets;
    int64_t window[2];
    if (!PyArg_ParseTuple(arguments, "OOn:timeline", &from, &to, &buckets))
        return NULL;
    const bool has_window = from != Py_None && to != Py_None;
    if (buckets < 1 || buckets > BUCKETS_MOST) {
        PyErr_Format(PyExc_ValueError, "timeline: from 1 to %d buckets", (int)BUCKETS_MOST);
        return NULL;
    }
    if (has_window && (!native_take_time(from, 0, &window[0]) || !native_take_time(to, 0, &window[1])))
        return NULL;
    if (has_window && window[0] >= window[1]) {
        PyErr_SetString(PyExc_ValueError, "timeline: the window ends before it begins");
        return NULL;
    }
    struct trace_handle *handle = hold(object, &state);
    if (!handle)
        return NULL;
    PyObject *timeline = timeline_of(state, handle, has_window ? window : NULL, (size_t)buckets);
    trace_handle_release(handle);
    return timeline;
}

static PyObject *trace_report(PyObject *object, PyObject *arguments) {
    struct native_state *state;
    struct trace_handle *handle = hold(object, &state);
    PyObject *report = handle ? report_of(state, handle, arguments) : NULL;
    trace_handle_release(handle);
    return report;
}

// Takes `value` over; a NULL fails.
static bool put(PyObject *dictionary, const char *key, PyObject *value) {
    const bool good = value && PyDict_SetItemString(dictionary, key, value) == 0;
    Py_XDECREF(value);
    return good;
}

static PyObject *counts(const uint64_t *numbers, int limit, const char *(*name_of)(int)) {
    PyObject *dictionary = PyDict_New();
    for (int i = 1; dictionary && i < limit; i++)
        if (numbers[i] && !put(dictionary, name_of(i), PyLong_FromUnsignedLongLong(numbers[i])))
            Py_CLEAR(dictionary);
    return dictionary;
}

static const char *kind_name(int kind) {
    return tsmith_kind_name((tsmith_kind)kind);
}
static const char *reason_name(int reason) {
    return tsmith_reason_name((tsmith_reason)reason);
}

static PyObject *time_or_none(bool known, int64_t time) {
    return known ? PyLong_FromLongLong(time) : Py_NewRef(Py_None);
}

static PyObject *number_or_none(uint32_t number, uint32_t offset) {
    return number ? PyLong_FromUnsignedLong(number - offset) : Py_NewRef(Py_None);
}

static PyObject *text_or_none(tsmith_string text) {
    return text.length ? PyUnicode_DecodeUTF8(text.bytes, (Py_ssize_t)text.length, "replace")
                       : Py_NewRef(Py_None);
}

// Of a trace that is one rank's.
static bool put_rank(PyObject *info, const tsmith_dictionary *dictionary) {
    const tsmith_rank rank = dictionary ? tsmith_dictionary_find_rank(dictionary, 0) : (tsmith_rank){0};
    const tsmith_string none = {"", 0};
    return put(info, "rank", number_or_none(rank.rank, 1)) &&
           put(info, "world_size", number_or_none(rank.world, 0)) &&
           put(info, "local_rank", number_or_none(rank.local_rank, 1)) &&
           put(info, "node", number_or_none(rank.node, 1)) &&
           put(info, "launcher",
               text_or_none(dictionary ? tsmith_dictionary_string(dictionary, rank.launcher) : none)) &&
           put(info, "job", text_or_none(dictionary ? tsmith_dictionary_string(dictionary, rank.job) : none));
}

static PyObject *info_of(const struct trace_handle *handle, const tsmith_sbt_summary *summary,
                         tsmith_status ended, const tsmith_error *why) {
    const uint64_t bytes = tsmith_trace_bytes(handle->trace);
    const bool complete = summary->complete && ended == TSMITH_OK;
    const tsmith_dictionary *dictionary = NULL;
    (void)tsmith_sbt_dictionary(tsmith_trace_sbt(handle->trace), &dictionary, NULL);
    PyObject *info = PyDict_New();
    const bool good =
        info && put(info, "path", PyUnicode_DecodeFSDefault(handle->path)) &&
        put(info, "format", PyUnicode_FromString(tsmith_trace_format(handle->trace))) &&
        put(info, "bytes", bytes ? PyLong_FromUnsignedLongLong(bytes) : Py_NewRef(Py_None)) &&
        put(info, "complete", PyBool_FromLong(complete)) &&
        put(info, "incomplete_because",
            ended == TSMITH_OK ? Py_NewRef(Py_None) : PyUnicode_DecodeFSDefault(why->message)) &&
        put(info, "damaged_frames", PyLong_FromUnsignedLongLong(summary->damaged_frames)) &&
        put(info, "events", PyLong_FromUnsignedLongLong(summary->events)) &&
        put(info, "first_start", time_or_none(summary->events != 0, summary->first_start)) &&
        put(info, "last_end", time_or_none(summary->events != 0, summary->last_end)) &&
        put(info, "kinds", counts(summary->kinds, TSMITH_KIND_LIMIT, kind_name)) &&
        put(info, "lost", counts(summary->lost, TSMITH_REASON_LIMIT, reason_name)) &&
        put_rank(info, dictionary);
    if (!good)
        Py_CLEAR(info);
    return info;
}

static PyObject *trace_info(PyObject *object, PyObject *unused) {
    (void)unused;
    struct native_state *state;
    struct trace_handle *handle = hold(object, &state);
    if (!handle)
        return NULL;
    tsmith_error error, why;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_status status, ended;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    status = tsmith_sbt_summarize(tsmith_trace_sbt(handle->trace), &summary, &error);
    ended = tsmith_trace_ended(handle->trace, &why);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    PyObject *info = status == TSMITH_OK ? info_of(handle, &summary, ended, &why)
                                         : native_raise(state, status, &error, handle->path);
    trace_handle_release(handle);
    return info;
}

static PyObject *columns_of(const tsmith_query_table *table) {
    PyObject *columns = PyList_New(0);
    for (size_t i = 0; columns && i < table->column_count; i++) {
        const tsmith_query_column *column = &table->columns[i];
        PyObject *entry = Py_BuildValue("(ssssN)", column->name, column->type, column->unit, column->doc,
                                        PyBool_FromLong(column->hidden));
        if (!entry || PyList_Append(columns, entry) != 0)
            Py_CLEAR(columns);
        Py_XDECREF(entry);
    }
    return columns;
}

// [(name, doc, [(name, type, unit, doc, hidden)...])...]
static PyObject *tables_of(const tsmith_query *query) {
    PyObject *tables = PyList_New(0);
    const tsmith_query_table *table;
    for (size_t i = 0; tables && (table = tsmith_query_table_at(query, i)) != NULL; i++) {
        PyObject *columns = columns_of(table);
        PyObject *entry = columns ? Py_BuildValue("(ssN)", table->name, table->doc, columns) : NULL;
        if (!entry || PyList_Append(tables, entry) != 0)
            Py_CLEAR(tables);
        Py_XDECREF(entry);
    }
    return tables;
}

static PyObject *trace_tables(PyObject *object, PyObject *unused) {
    (void)unused;
    struct native_state *state;
    struct trace_handle *handle = hold(object, &state);
    if (!handle)
        return NULL;
    tsmith_error error;
    tsmith_query *query = NULL;
    tsmith_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    status = tsmith_query_open(tsmith_trace_sbt(handle->trace), &query, &error);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    // The tables were made when the query was opened and are its own: no lock is needed to read them.
    PyObject *tables =
        status == TSMITH_OK ? tables_of(query) : native_raise(state, status, &error, handle->path);
    if (status == TSMITH_OK) {
        Py_BEGIN_ALLOW_THREADS;
        pthread_mutex_lock(&handle->lock);
        tsmith_query_close(query);
        pthread_mutex_unlock(&handle->lock);
        Py_END_ALLOW_THREADS;
    }
    trace_handle_release(handle);
    return tables;
}

static PyObject *trace_closed(PyObject *object, void *unused) {
    (void)unused;
    return PyBool_FromLong(((trace_object *)object)->handle == NULL);
}

static PyMethodDef methods[] = {
    {"close", trace_close, METH_NOARGS, "Closes the trace; its streams fail from now on."},
    {"info", trace_info, METH_NOARGS, "What is known without reading events, as a dict."},
    {"tables", trace_tables, METH_NOARGS, "The tables of SQL, as a list of tuples."},
    {"events", trace_events, METH_VARARGS,
     "events(columns, kinds, start, end): a Stream of events. columns: a tuple of names of fields; kinds: a\n"
     "tuple of names, or None; start, end: ns, or None."},
    {"analyze", trace_analyze, METH_VARARGS,
     "analyze(names, skip, start, end, hide_interpreter, peak_flops, peak_bytes): an Analysis. names, skip: "
     "tuples; peaks: 0 if not stated; start, end: ns, "
     "or None."},
    {"timeline", trace_timeline, METH_VARARGS,
     "timeline(start, end, buckets): how busy each queue was, as a tuple (start, end, rows, holes)."},
    {"report", trace_report, METH_VARARGS,
     "report(format, title, start, end, rows): a report as str. title: str or None; start, end: ns, or None; "
     "rows: 0 for the default."},
    {"sql", trace_sql, METH_O, "A Stream of the answer to one statement."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"closed", trace_closed, NULL, "Whether close was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A trace of any format that TraceSmith reads."},
    {Py_tp_new, (void *)trace_new},
    {Py_tp_dealloc, (void *)trace_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Trace", sizeof(trace_object), 0, Py_TPFLAGS_DEFAULT, slots};

// {name: type}, as in docs/events.md.
static PyObject *fields(PyObject *module, PyObject *unused) {
    PyObject *dictionary = PyDict_New();
    (void)module;
    (void)unused;
    for (uint32_t field = 1; dictionary && field < TSMITH_FIELD_LIMIT; field++) {
        const tsmith_field_info *info = tsmith_field_describe(field);
        if (info && !put(dictionary, info->name, PyUnicode_FromString(tsmith_type_name(info->type))))
            Py_CLEAR(dictionary);
    }
    return dictionary;
}

static PyObject *kinds(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module;
    (void)unused;
    for (uint32_t kind = 1; list && kind < TSMITH_KIND_LIMIT; kind++) {
        PyObject *name = PyUnicode_FromString(tsmith_kind_name((tsmith_kind)kind));
        if (!name || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"fields", fields, METH_NOARGS, "The fields of events and their types, as a dict."},
    {"kinds", kinds, METH_NOARGS, "The names of the kinds of events, as a list."},
    {NULL, NULL, 0, NULL},
};

bool native_add_trace(PyObject *module, struct native_state *state) {
    state->trace_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->trace_type && PyModule_AddType(module, state->trace_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
