// SPDX-License-Identifier: Apache-2.0
// The type Stream: an Arrow stream that can be read here (rows, whole columns) or handed over (__arrow_c_stream__), once.
//
// What is handed over may be used by a thread without the interpreter's lock, and outlive the Trace object. So the stream is
// wrapped in one that holds the trace and takes its lock.
#include "native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracesmith/query.h"
#include "tracesmith/sbt.h"

// What a wrapped stream is made of.
struct held_stream {
    struct trace_handle *handle;
    tsmith_query *query;
    struct ArrowArrayStream inner;
    bool was_closed; // a call failed since the trace was closed
    bool whole;      // nothing of the trace is read any more: closing it changes nothing
};

typedef struct stream_object {
    PyObject_HEAD struct ArrowArrayStream stream; // release is NULL once it was handed over or ended
    struct ArrowSchema schema;                    // release is NULL until it is needed
    char *path;
    PyObject *names;  // of the columns
    PyObject **words; // of the dictionary of each column; NULL until they are needed
} stream_object;

static const char CLOSED[] = "The trace is closed";

// ---- the wrapper; every function may run without the interpreter's lock

static struct held_stream *enter(struct ArrowArrayStream *stream) {
    struct held_stream *held = stream->private_data;
    pthread_mutex_lock(&held->handle->lock);
    held->was_closed = held->handle->closed && !held->whole;
    return held;
}

static int held_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    struct held_stream *held = enter(stream);
    memset(out, 0, sizeof *out);
    const int code = held->was_closed ? EINVAL : held->inner.get_schema(&held->inner, out);
    pthread_mutex_unlock(&held->handle->lock);
    return code;
}

static int held_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    struct held_stream *held = enter(stream);
    memset(out, 0, sizeof *out);
    const int code = held->was_closed ? EINVAL : held->inner.get_next(&held->inner, out);
    pthread_mutex_unlock(&held->handle->lock);
    return code;
}

static const char *held_last_error(struct ArrowArrayStream *stream) {
    struct held_stream *held = stream->private_data;
    return held->was_closed ? CLOSED : held->inner.get_last_error(&held->inner);
}

static void held_destroy(struct held_stream *held) {
    pthread_mutex_lock(&held->handle->lock);
    if (held->inner.release)
        held->inner.release(&held->inner);
    tsmith_query_close(held->query);
    pthread_mutex_unlock(&held->handle->lock);
    trace_handle_release(held->handle);
    free(held);
}

static void held_release(struct ArrowArrayStream *stream) {
    held_destroy(stream->private_data);
    stream->private_data = NULL;
    stream->release = NULL;
}

// ---- making one

// Whether there is another statement behind the first. It is prepared for that, and drops the first: so this comes before
// the statement is prepared to be run.
static tsmith_status check_single(tsmith_query *query, const char *sql, size_t length, tsmith_error *error) {
    size_t used = 0, more = 0;
    tsmith_status status = tsmith_query_prepare(query, sql, length, &used, error);
    if (status != TSMITH_OK || used >= length)
        return status;
    status = tsmith_query_prepare(query, sql + used, length - used, &more, error);
    if (status == TSMITH_END)
        return TSMITH_OK;
    *error = (tsmith_error){.status = TSMITH_ERROR_INVALID_ARGUMENT,
                            .offset = used,
                            .record = UINT64_MAX,
                            .message = "sql() takes one statement; there is text behind the first"};
    return TSMITH_ERROR_INVALID_ARGUMENT;
}

static tsmith_status prepare(struct held_stream *held, const char *sql, size_t length, tsmith_error *error) {
    size_t used;
    tsmith_status status = tsmith_query_open(tsmith_trace_sbt(held->handle->trace), &held->query, error);
    if (status != TSMITH_OK)
        return status;
    status = check_single(held->query, sql, length, error);
    if (status == TSMITH_OK)
        status = tsmith_query_prepare(held->query, sql, length, &used, error);
    if (status == TSMITH_OK)
        status = tsmith_arrow_query(held->query, &held->inner, error);
    if (status != TSMITH_END)
        return status;
    *error = (tsmith_error){.status = TSMITH_ERROR_INVALID_ARGUMENT,
                            .offset = UINT64_MAX,
                            .record = UINT64_MAX,
                            .message = "sql() was given no statement"};
    return TSMITH_ERROR_INVALID_ARGUMENT;
}

static tsmith_status prepare_locked(struct held_stream *held, const char *sql, size_t length,
                                    tsmith_error *error) {
    pthread_mutex_lock(&held->handle->lock);
    const tsmith_status status = prepare(held, sql, length, error);
    pthread_mutex_unlock(&held->handle->lock);
    return status;
}

static PyObject *names_of(const tsmith_query *query) {
    const size_t count = tsmith_query_column_count(query);
    PyObject *names = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; names && i < count; i++) {
        const char *text = tsmith_query_column_name(query, i);
        PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        if (!name ||
            PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0) // takes `name` over, also when it fails
            Py_CLEAR(names);
    }
    return names;
}

// Takes `held` and `names` over; `names` may be NULL with an exception.
static PyObject *wrap(struct native_state *state, struct held_stream *held, PyObject *names) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->stream_type, Py_tp_alloc);
    stream_object *self = (stream_object *)allocate(state->stream_type, 0);
    if (!self) {
        Py_XDECREF(names);
        held_destroy(held);
        return NULL;
    }
    self->stream = (struct ArrowArrayStream){.get_schema = held_schema,
                                             .get_next = held_next,
                                             .get_last_error = held_last_error,
                                             .release = held_release,
                                             .private_data = held};
    self->path = strdup(held->handle->path);
    self->names = names;
    if (!self->path)
        PyErr_NoMemory();
    if (!self->path || !names) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

PyObject *stream_of_sql(struct native_state *state, struct trace_handle *handle, const char *sql,
                        size_t length) {
    struct held_stream *held = calloc(1, sizeof *held);
    if (!held)
        return PyErr_NoMemory();
    tsmith_error error;
    tsmith_status status;
    atomic_fetch_add(&handle->holders, 1);
    held->handle = handle;
    Py_BEGIN_ALLOW_THREADS;
    status = prepare_locked(held, sql, length, &error);
    if (status != TSMITH_OK)
        held_destroy(held);
    Py_END_ALLOW_THREADS;
    return status == TSMITH_OK ? wrap(state, held, names_of(held->query))
                               : native_raise(state, status, &error, handle->path);
}

static tsmith_status scan(struct held_stream *held, const struct events_wanted *wanted, tsmith_error *error) {
    const tsmith_scan chosen = {.size = sizeof chosen,
                                .has_window = wanted->has_window,
                                .from = wanted->from,
                                .to = wanted->to,
                                .fields = wanted->fields,
                                .field_count = wanted->field_count,
                                .kinds = wanted->kinds};
    // A trace that ends early was reported when it was opened.
    const tsmith_arrow_options options = {.size = sizeof options,
                                          .fields = wanted->fields,
                                          .field_count = wanted->field_count,
                                          .accept_truncated = 1,
                                          .kinds = wanted->kinds,
                                          .has_window = wanted->has_window,
                                          .from = wanted->from,
                                          .to = wanted->to,
                                          .without_track = 1};
    tsmith_source *source = NULL;
    pthread_mutex_lock(&held->handle->lock);
    tsmith_status status = tsmith_sbt_scan(tsmith_trace_sbt(held->handle->trace), &chosen, &source, error);
    if (status == TSMITH_OK)
        status = tsmith_arrow_source(source, &options, &held->inner, error);
    if (status != TSMITH_OK)
        tsmith_source_destroy(source);
    pthread_mutex_unlock(&held->handle->lock);
    return status;
}

PyObject *stream_of_events(struct native_state *state, struct trace_handle *handle,
                           const struct events_wanted *wanted, PyObject *names) {
    struct held_stream *held = calloc(1, sizeof *held);
    if (!held)
        return PyErr_NoMemory();
    tsmith_error error;
    tsmith_status status;
    atomic_fetch_add(&handle->holders, 1);
    held->handle = handle;
    Py_BEGIN_ALLOW_THREADS;
    status = scan(held, wanted, &error);
    if (status != TSMITH_OK)
        held_destroy(held);
    Py_END_ALLOW_THREADS;
    return status == TSMITH_OK ? wrap(state, held, Py_NewRef(names))
                               : native_raise(state, status, &error, handle->path);
}

static PyObject *names_of_schema(struct ArrowArrayStream *stream) {
    struct ArrowSchema schema;
    if (stream->get_schema(stream, &schema) != 0)
        return PyErr_NoMemory();
    PyObject *names = PyTuple_New((Py_ssize_t)schema.n_children);
    for (int64_t i = 0; names && i < schema.n_children; i++) {
        PyObject *name = PyUnicode_FromString(schema.children[i]->name);
        if (!name || PyTuple_SetItem(names, (Py_ssize_t)i, name) != 0)
            Py_CLEAR(names);
    }
    schema.release(&schema);
    return names;
}

PyObject *stream_of_table(struct native_state *state, struct trace_handle *handle,
                          const tsmith_report_table *table) {
    struct held_stream *held = calloc(1, sizeof *held);
    if (!held)
        return PyErr_NoMemory();
    tsmith_error error;
    atomic_fetch_add(&handle->holders, 1);
    held->handle = handle;
    held->whole = true;
    const tsmith_status status = tsmith_arrow_table(table, &held->inner, &error);
    if (status == TSMITH_OK)
        return wrap(state, held, names_of_schema(&held->inner));
    Py_BEGIN_ALLOW_THREADS;
    held_destroy(held);
    Py_END_ALLOW_THREADS;
    return native_raise(state, status, &error, handle->path);
}

// ---- reading it here

static void let_go(struct ArrowArrayStream *stream) {
    if (!stream->release)
        return;
    Py_BEGIN_ALLOW_THREADS;
    stream->release(stream);
    Py_END_ALLOW_THREADS;
}

// The exception for a failed call of the stream.
static void *failed(stream_object *self, int code) {
    const char *message = self->stream.get_last_error(&self->stream);
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX};
    if (message)
        PyOS_snprintf(error.message, sizeof error.message, "%s", message);
    const tsmith_status status = message == CLOSED ? TSMITH_ERROR_STATE
                                 : code == ENOMEM  ? TSMITH_ERROR_NO_MEMORY
                                 : code == EINVAL  ? TSMITH_ERROR_INVALID_ARGUMENT
                                                   : TSMITH_ERROR_IO;
    return native_raise(PyType_GetModuleState(Py_TYPE((PyObject *)self)), status, &error, self->path);
}

// Takes the stream out of the object for one call, so that a second thread that uses the object meanwhile finds none
// instead of the same one.
static bool take(stream_object *self, struct ArrowArrayStream *out) {
    *out = self->stream;
    self->stream.release = NULL;
    if (out->release)
        return true;
    const tsmith_error error = {.offset = UINT64_MAX,
                                .record = UINT64_MAX,
                                .message = "The stream was read to its end, handed over, or is in use"};
    native_raise(PyType_GetModuleState(Py_TYPE((PyObject *)self)), TSMITH_ERROR_STATE, &error, self->path);
    return false;
}

// The next array: 1, or 0 at the end, when the stream is gone, or -1 with an exception.
static int next_array(stream_object *self, struct ArrowArray *out) {
    struct ArrowArrayStream stream;
    int code = 0;
    out->release = NULL;
    if (!take(self, &stream))
        return -1;
    Py_BEGIN_ALLOW_THREADS;
    if (!self->schema.release)
        code = stream.get_schema(&stream, &self->schema);
    if (code == 0)
        code = stream.get_next(&stream, out);
    Py_END_ALLOW_THREADS;
    self->stream = stream;
    if (code != 0) {
        failed(self, code);
        return -1;
    }
    if (out->release)
        return 1;
    let_go(&self->stream);
    return 0;
}

// What dictionaries have that was not decoded yet.
static bool refresh_words(stream_object *self, const struct ArrowArray *array) {
    if (!self->words && !(self->words = calloc((size_t)array->n_children + 1, sizeof(PyObject *)))) {
        PyErr_NoMemory();
        return false;
    }
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->dictionary && !decode_words(array->children[i]->dictionary, &self->words[i]))
            return false;
    return true;
}

static PyObject *row_of(const stream_object *self, const struct ArrowArray *array, int64_t row) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)array->n_children);
    for (int64_t i = 0; tuple && i < array->n_children; i++) {
        PyObject *value = decode_cell(self->schema.children[i], array->children[i], row, self->words[i]);
        if (!value || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *stream_rows(PyObject *object, PyObject *unused) {
    (void)unused;
    stream_object *self = (stream_object *)object;
    struct ArrowArray array;
    const int got = next_array(self, &array);
    if (got < 0)
        return NULL;
    if (got == 0)
        Py_RETURN_NONE;
    PyObject *rows = refresh_words(self, &array) ? PyList_New((Py_ssize_t)array.length) : NULL;
    for (int64_t row = 0; rows && row < array.length; row++) {
        PyObject *tuple = row_of(self, &array, row);
        if (!tuple || PyList_SetItem(rows, (Py_ssize_t)row, tuple) != 0)
            Py_CLEAR(rows);
    }
    array.release(&array);
    return rows;
}

static PyObject *finish_columns(const stream_object *self, const struct collected *columns) {
    const Py_ssize_t count = PyTuple_Size(self->names);
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *entry = Py_BuildValue(
            "(OsOOO)", PyTuple_GetItem(self->names, i), self->schema.children[i]->format, columns[i].values,
            columns[i].valid ? columns[i].valid : Py_None, columns[i].words ? columns[i].words : Py_None);
        if (!entry || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static bool collect_array(const stream_object *self, const struct ArrowArray *array,
                          struct collected *columns) {
    bool good = true;
    for (int64_t i = 0; good && i < array->n_children; i++) {
        const struct ArrowSchema *schema = self->schema.children[i];
        good = (columns[i].values || collect_begin(schema, &columns[i])) &&
               collect_add(schema, array->children[i], &columns[i]);
    }
    return good;
}

// An answer without rows has columns all the same.
static bool begin_missing(const stream_object *self, struct collected *columns, Py_ssize_t count) {
    bool good = true;
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = columns[i].values || collect_begin(self->schema.children[i], &columns[i]);
    return good;
}

static PyObject *stream_columns(PyObject *object, PyObject *unused) {
    (void)unused;
    stream_object *self = (stream_object *)object;
    const Py_ssize_t count = PyTuple_Size(self->names);
    struct collected *columns = calloc((size_t)count + 1, sizeof *columns);
    struct ArrowArray array;
    int got = -1;
    if (!columns)
        return PyErr_NoMemory();
    while ((got = next_array(self, &array)) == 1) {
        const bool good = collect_array(self, &array, columns);
        array.release(&array);
        if (!good) {
            got = -1;
            break;
        }
    }
    PyObject *list = got == 0 && begin_missing(self, columns, count) ? finish_columns(self, columns) : NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        collect_release(&columns[i]);
    free(columns);
    return list;
}

// ---- handing it over

static const char STREAM_NAME[] = "arrow_array_stream";
static const char SCHEMA_NAME[] = "arrow_schema";

static void stream_capsule_free(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, STREAM_NAME);
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

static void schema_capsule_free(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, SCHEMA_NAME);
    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

// The protocol allows ignoring the requested schema.
static PyObject *stream_arrow(PyObject *object, PyObject *arguments, PyObject *keywords) {
    stream_object *self = (stream_object *)object;
    static char name[] = "requested_schema";
    static char *names[] = {name, NULL};
    PyObject *wish = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:__arrow_c_stream__", names, &wish))
        return NULL;
    struct ArrowArrayStream *out = malloc(sizeof *out);
    if (!out)
        return PyErr_NoMemory();
    if (!take(self, out)) {
        free(out);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(out, STREAM_NAME, stream_capsule_free);
    if (!capsule) {
        self->stream = *out;
        free(out);
    }
    return capsule;
}

static PyObject *stream_schema(PyObject *object, PyObject *unused) {
    (void)unused;
    stream_object *self = (stream_object *)object;
    struct ArrowArrayStream stream;
    struct ArrowSchema *out = calloc(1, sizeof *out);
    int code;
    if (!out)
        return PyErr_NoMemory();
    if (!take(self, &stream)) {
        free(out);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    code = stream.get_schema(&stream, out);
    Py_END_ALLOW_THREADS;
    self->stream = stream;
    if (code != 0) {
        free(out);
        return failed(self, code);
    }
    PyObject *capsule = PyCapsule_New(out, SCHEMA_NAME, schema_capsule_free);
    if (!capsule) {
        out->release(out);
        free(out);
    }
    return capsule;
}

static PyObject *stream_names(PyObject *object, void *unused) {
    (void)unused;
    return Py_NewRef(((stream_object *)object)->names);
}

static void stream_dealloc(PyObject *object) {
    stream_object *self = (stream_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    let_go(&self->stream);
    if (self->schema.release)
        self->schema.release(&self->schema);
    free(self->path);
    for (Py_ssize_t i = 0; self->words && i < PyTuple_Size(self->names); i++)
        Py_XDECREF(self->words[i]);
    free(self->words);
    Py_XDECREF(self->names);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

// The table of methods holds functions of several types, given by the flags.
#define METHOD_WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"rows", stream_rows, METH_NOARGS, "The next rows as a list of tuples; None at the end."},
    {"columns", stream_columns, METH_NOARGS,
     "All that is left, as a list of (name, Arrow format, values, valid, words)."},
    {"__arrow_c_stream__", METHOD_WITH_KEYWORDS(stream_arrow), METH_VARARGS | METH_KEYWORDS,
     "Hands the stream over as a capsule."},
    {"__arrow_c_schema__", stream_schema, METH_NOARGS, "The schema as a capsule."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"names", stream_names, NULL, "The names of the columns.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

// Only Trace makes them.
static PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type;
    (void)arguments;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "a Stream is made by Trace.sql and Trace.events");
    return NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "An answer that is read once."},
    {Py_tp_new, (void *)refuse_new},
    {Py_tp_dealloc, (void *)stream_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Stream", sizeof(stream_object), 0, Py_TPFLAGS_DEFAULT, slots};

bool native_add_stream(PyObject *module, struct native_state *state) {
    state->stream_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->stream_type && PyModule_AddType(module, state->stream_type) == 0;
}
