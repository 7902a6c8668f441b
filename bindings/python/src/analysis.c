// SPDX-License-Identifier: Apache-2.0
// The type Analysis: the reports of tracesmith/analyze.h, diff.h and ranks.h. What a user sees is in tracesmith/_answers.py.
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/analyze.h"
#include "tracesmith/diff.h"
#include "tracesmith/ranks.h"
#include "tracesmith/sbt.h"

// Whose reports they are: one of these, finished.
struct reports {
    tsmith_analysis *analysis;
    tsmith_diff *diff;
    tsmith_ranks *ranks;
};

// Immutable once it is made. `handle` keeps the (first) trace, which owns texts of the tables, and whose lock
// protects reading them.
typedef struct analysis_object {
    PyObject_HEAD struct trace_handle *handle;
    struct reports reports;
} analysis_object;

void analysis_wanted_release(struct analysis_wanted *wanted) {
    free(wanted->names);
    free(wanted->skip);
}

static bool take_texts(PyObject *texts, const char ***out, size_t *count) {
    const Py_ssize_t length = PyTuple_Size(texts);
    *out = length < 0 ? NULL : calloc((size_t)length + 1, sizeof **out);
    if (!*out && length >= 0)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; *out && i < length; i++) {
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(texts, i), NULL);
        if (!text)
            return false;
        (*out)[(*count)++] = text;
    }
    return *out != NULL;
}

bool analysis_wanted_take(PyObject *arguments, struct analysis_wanted *out) {
    PyObject *names, *skip, *from, *to;
    *out = (struct analysis_wanted){0};
    if (!PyArg_ParseTuple(arguments, "O!O!OOpdd:analyze", &PyTuple_Type, &names, &PyTuple_Type, &skip, &from,
                          &to, &out->hide_interpreter, &out->peak_flops, &out->peak_bytes) ||
        !take_texts(names, &out->names, &out->name_count) || !take_texts(skip, &out->skip, &out->skip_count))
        return false;
    out->has_window = from != Py_None && to != Py_None;
    return !out->has_window || (native_take_time(from, 0, &out->from) && native_take_time(to, 0, &out->to));
}

static tsmith_status add_events(tsmith_analysis *analysis, tsmith_sbt *file, tsmith_error *error) {
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(file, NULL, &source, error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, error);
        if (status == TSMITH_OK)
            status = tsmith_analysis_add(analysis, tsmith_source_dictionary(source), batch, error);
    }
    // A trace that ends early was reported when it was opened: the readable part is analyzed.
    if (status >= 0)
        status = tsmith_analysis_finish(analysis, tsmith_source_dictionary(source), error);
    tsmith_source_destroy(source);
    return status;
}

static tsmith_status analyze(struct trace_handle *handle, const struct analysis_wanted *wanted,
                             tsmith_analysis **out, tsmith_error *error) {
    const tsmith_analysis_options options = {.size = sizeof options,
                                             .names = wanted->name_count ? wanted->names : NULL,
                                             .name_count = wanted->name_count,
                                             .has_window = wanted->has_window,
                                             .from = wanted->from,
                                             .to = wanted->to,
                                             .skip = wanted->skip,
                                             .skip_count = wanted->skip_count,
                                             .hide_interpreter = wanted->hide_interpreter,
                                             .peak_flops = wanted->peak_flops,
                                             .peak_bytes = wanted->peak_bytes};
    *out = NULL;
    pthread_mutex_lock(&handle->lock);
    tsmith_status status = tsmith_analysis_create(&options, out, error);
    if (status == TSMITH_OK)
        status = add_events(*out, tsmith_trace_sbt(handle->trace), error);
    if (status < 0) {
        tsmith_analysis_destroy(*out);
        *out = NULL;
    }
    pthread_mutex_unlock(&handle->lock);
    return status;
}

static void destroy(struct trace_handle *handle, struct reports *reports) {
    pthread_mutex_lock(&handle->lock);
    tsmith_analysis_destroy(reports->analysis);
    tsmith_diff_destroy(reports->diff);
    tsmith_ranks_destroy(reports->ranks);
    pthread_mutex_unlock(&handle->lock);
    trace_handle_release(handle);
}

// Takes the reports over, also when it fails.
static PyObject *make(struct native_state *state, struct trace_handle *handle, struct reports *reports) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->analysis_type, Py_tp_alloc);
    analysis_object *self = (analysis_object *)allocate(state->analysis_type, 0);
    atomic_fetch_add(&handle->holders, 1);
    if (!self) {
        destroy(handle, reports);
        return NULL;
    }
    self->handle = handle;
    self->reports = *reports;
    return (PyObject *)self;
}

PyObject *analysis_of(struct native_state *state, struct trace_handle *handle,
                      const struct analysis_wanted *wanted) {
    tsmith_error error;
    tsmith_status status;
    struct reports reports = {0};
    Py_BEGIN_ALLOW_THREADS;
    status = analyze(handle, wanted, &reports.analysis, &error);
    Py_END_ALLOW_THREADS;
    return status < 0 ? native_raise(state, status, &error, handle->path) : make(state, handle, &reports);
}

// ---- of several traces

struct several {
    struct trace_handle **handles;
    size_t count;
};

static void several_release(struct several *several) {
    for (size_t i = 0; i < several->count; i++)
        trace_handle_release(several->handles[i]);
    free(several->handles);
}

// From a tuple of at least one Trace. False with an exception; to be released in any case.
static bool several_take(PyObject *traces, struct several *out) {
    const Py_ssize_t length = PyTuple_Size(traces);
    out->handles = length < 0 ? NULL : calloc((size_t)length + 1, sizeof(struct trace_handle *));
    if (!out->handles && length >= 0)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; out->handles && i < length; i++) {
        struct trace_handle *handle = trace_hold(PyTuple_GetItem(traces, i));
        if (!handle)
            return false;
        out->handles[out->count++] = handle;
    }
    if (out->handles && !out->count)
        PyErr_SetString(PyExc_ValueError, "no trace was given");
    return out->handles && out->count;
}

// Gives the events of each trace to `add`, the failed one to *bad.
static tsmith_status each(const struct several *traces,
                          tsmith_status (*add)(void *to, const char *path, tsmith_source *source,
                                               tsmith_error *error),
                          void *to, const char **bad, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < traces->count && status >= 0; i++) {
        struct trace_handle *handle = traces->handles[i];
        tsmith_source *source = NULL;
        *bad = handle->path;
        pthread_mutex_lock(&handle->lock);
        status = tsmith_sbt_scan(tsmith_trace_sbt(handle->trace), NULL, &source, error);
        if (status == TSMITH_OK)
            status = add(to, handle->path, source, error);
        tsmith_source_destroy(source);
        pthread_mutex_unlock(&handle->lock);
    }
    return status;
}

static tsmith_status add_base(void *to, const char *path, tsmith_source *source, tsmith_error *error) {
    (void)path;
    return tsmith_diff_add(to, TSMITH_DIFF_BASE, source, error);
}

static tsmith_status add_new(void *to, const char *path, tsmith_source *source, tsmith_error *error) {
    (void)path;
    return tsmith_diff_add(to, TSMITH_DIFF_NEW, source, error);
}

static tsmith_status add_rank(void *to, const char *path, tsmith_source *source, tsmith_error *error) {
    return tsmith_ranks_add(to, path, source, error);
}

static tsmith_status compare(const struct several *base, const struct several *new, double confidence,
                             tsmith_diff **out, const char **bad, tsmith_error *error) {
    const tsmith_diff_options options = {.size = sizeof options, .confidence = confidence};
    tsmith_status status = tsmith_diff_create(&options, out, error);
    if (status >= 0)
        status = each(base, add_base, *out, bad, error);
    if (status >= 0)
        status = each(new, add_new, *out, bad, error);
    return status < 0 ? status : tsmith_diff_finish(*out, error);
}

static PyObject *diff_of(struct native_state *state, const struct several *base, const struct several *new,
                         double confidence) {
    struct reports reports = {0};
    tsmith_error error;
    tsmith_status status;
    const char *bad = NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = compare(base, new, confidence, &reports.diff, &bad, &error);
    if (status < 0)
        tsmith_diff_destroy(reports.diff);
    Py_END_ALLOW_THREADS;
    return status < 0 ? native_raise(state, status, &error, bad) : make(state, base->handles[0], &reports);
}

// diff(base, new, confidence)
static PyObject *diff(PyObject *module, PyObject *arguments) {
    PyObject *base, *new, *found = NULL;
    double confidence;
    struct several sides[2] = {0};
    if (!PyArg_ParseTuple(arguments, "O!O!d:diff", &PyTuple_Type, &base, &PyTuple_Type, &new, &confidence))
        return NULL;
    if (several_take(base, &sides[0]) && several_take(new, &sides[1]))
        found = diff_of(PyModule_GetState(module), &sides[0], &sides[1], confidence);
    several_release(&sides[0]);
    several_release(&sides[1]);
    return found;
}

static PyObject *ranks_of(struct native_state *state, const struct several *traces) {
    struct reports reports = {0};
    tsmith_error error;
    tsmith_status status;
    const char *bad = NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tsmith_ranks_create(&reports.ranks, &error);
    if (status >= 0)
        status = each(traces, add_rank, reports.ranks, &bad, &error);
    if (status >= 0)
        status = tsmith_ranks_finish(reports.ranks, &error);
    if (status < 0)
        tsmith_ranks_destroy(reports.ranks);
    Py_END_ALLOW_THREADS;
    return status < 0 ? native_raise(state, status, &error, bad) : make(state, traces->handles[0], &reports);
}

static PyObject *ranks(PyObject *module, PyObject *traces) {
    struct several several = {0};
    PyObject *found = NULL;
    if (!PyTuple_Check(traces))
        PyErr_SetString(PyExc_TypeError, "ranks takes a tuple");
    else if (several_take(traces, &several))
        found = ranks_of(PyModule_GetState(module), &several);
    several_release(&several);
    return found;
}

// ---- what is in it

// Texts of a report are UTF-8, with what was not in the trace replaced.
static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *notes_of(const tsmith_report *report) {
    PyObject *notes = PyTuple_New((Py_ssize_t)report->note_count);
    for (size_t i = 0; notes && i < report->note_count; i++) {
        PyObject *note = text_of(report->notes[i]);
        if (!note || PyTuple_SetItem(notes, (Py_ssize_t)i, note) != 0)
            Py_CLEAR(notes);
    }
    return notes;
}

// ((name, doc)...)
static PyObject *tables_of(const tsmith_report *report) {
    PyObject *tables = PyTuple_New((Py_ssize_t)report->table_count);
    for (size_t i = 0; tables && i < report->table_count; i++) {
        PyObject *entry =
            Py_BuildValue("(NN)", text_of(report->tables[i].name), text_of(report->tables[i].doc));
        if (!entry || PyTuple_SetItem(tables, (Py_ssize_t)i, entry) != 0)
            Py_CLEAR(tables);
    }
    return tables;
}

static const tsmith_report *find_report(PyObject *object, size_t index) {
    const struct reports *reports = &((analysis_object *)object)->reports;
    if (reports->analysis)
        return tsmith_analysis_report(reports->analysis, index);
    if (index)
        return NULL;
    return reports->diff ? tsmith_diff_report(reports->diff) : tsmith_ranks_report(reports->ranks);
}

static PyObject *analysis_report(PyObject *object, PyObject *number) {
    const size_t index = PyLong_AsSize_t(number);
    if (index == (size_t)-1 && PyErr_Occurred())
        return NULL;
    const tsmith_report *report = find_report(object, index);
    if (!report)
        Py_RETURN_NONE;
    return Py_BuildValue("(NNNNLLLKN)", text_of(report->name), text_of(report->question),
                         text_of(report->finding), notes_of(report), (long long)report->window.from,
                         (long long)report->window.to, (long long)report->missing,
                         (unsigned long long)report->lost, tables_of(report));
}

static const tsmith_report *report_at(PyObject *object, Py_ssize_t index) {
    const tsmith_report *report = index < 0 ? NULL : find_report(object, (size_t)index);
    if (!report)
        PyErr_SetString(PyExc_IndexError, "there is no such report");
    return report;
}

static PyObject *analysis_table(PyObject *object, PyObject *arguments) {
    analysis_object *self = (analysis_object *)object;
    Py_ssize_t report_index, table_index;
    if (!PyArg_ParseTuple(arguments, "nn:table", &report_index, &table_index))
        return NULL;
    const tsmith_report *report = report_at(object, report_index);
    if (!report)
        return NULL;
    if (table_index < 0 || (size_t)table_index >= report->table_count) {
        PyErr_SetString(PyExc_IndexError, "there is no such table");
        return NULL;
    }
    return stream_of_table(PyType_GetModuleState(Py_TYPE(object)), self->handle,
                           &report->tables[table_index]);
}

struct gathered {
    char *bytes;
    size_t length;
};

static tsmith_status gather(void *context, const void *bytes, size_t size) {
    struct gathered *gathered = context;
    char *grown = realloc(gathered->bytes, gathered->length + size);
    if (!grown)
        return TSMITH_ERROR_NO_MEMORY;
    memcpy(grown + gathered->length, bytes, size);
    gathered->bytes = grown;
    gathered->length += size;
    return TSMITH_OK;
}

static PyObject *analysis_text(PyObject *object, PyObject *arguments) {
    Py_ssize_t index, rows, width;
    struct gathered gathered = {0};
    const tsmith_output output = {gather, &gathered};
    if (!PyArg_ParseTuple(arguments, "nnn:text", &index, &rows, &width))
        return NULL;
    const tsmith_report *report = report_at(object, index);
    if (!report)
        return NULL;
    tsmith_error error;
    const tsmith_status status = tsmith_report_write_text_to(report, rows > 0 ? (size_t)rows : 0,
                                                             width > 0 ? (size_t)width : 0, &output, &error);
    PyObject *text = status == TSMITH_OK
                         ? PyUnicode_DecodeUTF8(gathered.bytes ? gathered.bytes : "",
                                                (Py_ssize_t)gathered.length, "replace")
                         : native_raise(PyType_GetModuleState(Py_TYPE(object)), status, &error, NULL);
    free(gathered.bytes);
    return text;
}

// gate(text): (passed, message), of a diff.
static PyObject *analysis_gate(PyObject *object, PyObject *text) {
    const analysis_object *self = (analysis_object *)object;
    const char *gate = PyUnicode_AsUTF8AndSize(text, NULL);
    tsmith_gate answer = {.size = sizeof answer};
    tsmith_error error = {.offset = UINT64_MAX, .record = UINT64_MAX, .message = "only a diff has gates"};
    if (!gate)
        return NULL;
    const tsmith_status status =
        self->reports.diff ? tsmith_diff_gate(self->reports.diff, gate, &answer, &error) : TSMITH_ERROR_STATE;
    if (status != TSMITH_OK)
        return native_raise(PyType_GetModuleState(Py_TYPE(object)), status, &error, NULL);
    return Py_BuildValue("(NN)", PyBool_FromLong(answer.passed), text_of(answer.message));
}

static void analysis_dealloc(PyObject *object) {
    analysis_object *self = (analysis_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    struct trace_handle *handle = self->handle;
    if (handle) {
        Py_BEGIN_ALLOW_THREADS;
        destroy(handle, &self->reports);
        Py_END_ALLOW_THREADS;
    }
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

// Only Trace makes them.
static PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type;
    (void)arguments;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "an Analysis is made by Trace.analyze, diff and ranks");
    return NULL;
}

static PyMethodDef methods[] = {
    {"report", analysis_report, METH_O,
     "report(index): (name, question, finding, notes, from, to, missing, lost, ((table, doc)...)); None past "
     "the last."},
    {"table", analysis_table, METH_VARARGS, "table(report, table): a Stream of a table."},
    {"text", analysis_text, METH_VARARGS,
     "text(report, rows, width): the report as `tracesmith analyze` prints it."},
    {"gate", analysis_gate, METH_O, "gate(text): (passed, message), of a diff."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "Reports on a trace."},
    {Py_tp_new, (void *)refuse_new},
    {Py_tp_dealloc, (void *)analysis_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"tracesmith._native.Analysis", sizeof(analysis_object), 0, Py_TPFLAGS_DEFAULT,
                           slots};

// ((name, question)...)
static PyObject *analyses(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    const char *name;
    for (size_t i = 0; list && (name = tsmith_analysis_name(i)) != NULL; i++) {
        PyObject *entry = Py_BuildValue("(ss)", name, tsmith_analysis_question(i));
        if (!entry || PyList_Append(list, entry) != 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"diff", diff, METH_VARARGS,
     "diff(base, new, confidence): an Analysis with one report; base, new: tuples of Trace."},
    {"ranks", ranks, METH_O, "ranks(traces): an Analysis with one report, of a tuple of Trace."},
    {"analyses", analyses, METH_NOARGS, "The analyses there are, as a list of (name, question)."},
    {NULL, NULL, 0, NULL},
};

bool native_add_analysis(PyObject *module, struct native_state *state) {
    state->analysis_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->analysis_type && PyModule_AddType(module, state->analysis_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
