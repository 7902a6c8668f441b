// SPDX-License-Identifier: Apache-2.0
// How long a trace would take if something were different: what Trace.simulate gives.
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/graph.h"
#include "tracesmith/sbt.h"
#include "tracesmith/simulate.h"
#include "tracesmith/timeline.h"

// A simulation and what it borrows. Used and released with the lock of the trace.
struct model {
    tsmith_source *source;
    tsmith_timeline *timeline;
    tsmith_graph *graph;
    tsmith_simulation *simulation;
    uint64_t affected;
    tsmith_simulated result;
    tsmith_bounds bounds;
};

static void model_release(struct model *model) {
    tsmith_simulation_destroy(model->simulation);
    tsmith_graph_destroy(model->graph);
    tsmith_timeline_destroy(model->timeline);
    tsmith_source_destroy(model->source);
}

static tsmith_status model_make(struct model *model, tsmith_sbt *trace, tsmith_error *error) {
    tsmith_status status = tsmith_sbt_scan(trace, NULL, &model->source, error);
    if (status == TSMITH_OK)
        status = tsmith_timeline_read(model->source, NULL, &model->timeline, error);
    if (status < 0)
        return status;
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(model->source);
    status = tsmith_graph_create(model->timeline, dictionary, &model->graph, error);
    if (status != TSMITH_OK)
        return status;
    return tsmith_simulation_create(model->timeline, model->graph, dictionary, &model->simulation, error);
}

static tsmith_status model_run(struct model *model, const tsmith_change *changes, size_t count,
                               tsmith_policy policy, tsmith_error *error) {
    const tsmith_simulation_options options = {.size = sizeof options, .policy = policy};
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; i < count && status == TSMITH_OK; i++) {
        uint64_t affected = 0;
        status = tsmith_simulation_change(model->simulation, &changes[i], &affected, error);
        model->affected += affected;
    }
    model->result.size = sizeof model->result;
    model->bounds.size = sizeof model->bounds;
    if (status == TSMITH_OK)
        status = tsmith_simulation_run(model->simulation, &options, &model->result, error);
    return status == TSMITH_OK ? tsmith_simulation_bounds(model->simulation, &options, &model->bounds, error)
                               : status;
}

// [(what, name, count, ns)...]
static PyObject *parts_of(const struct model *model) {
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(model->source);
    PyObject *parts = PyList_New(0);
    for (size_t i = 0; parts && i < model->result.part_count; i++) {
        const tsmith_simulated_part *part = &model->result.parts[i];
        const tsmith_string name = tsmith_dictionary_string(dictionary, part->name);
        PyObject *text =
            PyUnicode_DecodeUTF8(name.bytes ? name.bytes : "", (Py_ssize_t)name.length, "replace");
        PyObject *entry = text ? Py_BuildValue("(sNKL)", part->what, text, (unsigned long long)part->count,
                                               (long long)part->time)
                               : NULL;
        if (!entry || PyList_Append(parts, entry) != 0)
            Py_CLEAR(parts);
        Py_XDECREF(entry);
    }
    return parts;
}

static PyObject *result_of(const struct model *model) {
    const tsmith_simulation_model *about = tsmith_simulation_get_model(model->simulation);
    const tsmith_bounds *bounds = &model->bounds;
    PyObject *parts = parts_of(model);
    if (!parts)
        return NULL;
    return Py_BuildValue(
        "{s:L,s:d,s:d,s:d,s:K,s:L,s:L,s:L,s:(LL),s:(LL),s:K,s:K,s:L,s:N}", "recorded",
        (long long)about->recorded, "error", about->error, "held_out_error", about->held_out_error,
        "held_out_covered", about->held_out_covered, "affected", (unsigned long long)model->affected,
        "makespan", (long long)model->result.makespan, "least", (long long)model->result.least, "unexplained",
        (long long)model->result.unexplained, "interval", (long long)bounds->makespan.from,
        (long long)bounds->makespan.to, "open", (long long)bounds->open.from, (long long)bounds->open.to,
        "unknown_launches", (unsigned long long)bounds->unknown_launches, "untimed",
        (unsigned long long)bounds->untimed, "device_busy", (long long)model->result.device_busy, "parts",
        parts);
}

// ---- what is asked: a tuple of (kind, (name...), factor, ns)

static bool take_change(PyObject *entry, tsmith_change *out) {
    int kind;
    PyObject *names;
    long long time;
    if (!PyTuple_Check(entry) ||
        !PyArg_ParseTuple(entry, "iO!dL:change", &kind, &PyTuple_Type, &names, &out->factor, &time)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a change is a tuple");
        return false;
    }
    const Py_ssize_t count = PyTuple_Size(names);
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return false;
    }
    out->size = sizeof *out;
    out->kind = (tsmith_change_kind)kind;
    out->time = time;
    out->names = texts;
    out->name_count = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!(texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL)))
            return false;
    if (!count) { // all
        free((void *)(uintptr_t)texts);
        out->names = NULL;
    }
    return true;
}

static void release_changes(tsmith_change *changes, size_t count) {
    for (size_t i = 0; changes && i < count; i++)
        free((void *)(uintptr_t)changes[i].names);
    free(changes);
}

static PyObject *simulate_trace(struct native_state *state, struct trace_handle *handle,
                                const tsmith_change *changes, size_t count, tsmith_policy policy) {
    struct model model = {0};
    tsmith_error error;
    tsmith_status status;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    status = model_make(&model, tsmith_trace_sbt(handle->trace), &error);
    if (status == TSMITH_OK)
        status = model_run(&model, changes, count, policy, &error);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    PyObject *result =
        status == TSMITH_OK ? result_of(&model) : native_raise(state, status, &error, handle->path);
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&handle->lock);
    model_release(&model);
    pthread_mutex_unlock(&handle->lock);
    Py_END_ALLOW_THREADS;
    return result;
}

static PyObject *simulate(PyObject *module, PyObject *arguments) {
    PyObject *trace, *entries, *result = NULL;
    int policy;
    if (!PyArg_ParseTuple(arguments, "OO!i:simulate", &trace, &PyTuple_Type, &entries, &policy))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(entries);
    struct trace_handle *handle = trace_hold(trace);
    if (!handle)
        return NULL;
    tsmith_change *changes = calloc((size_t)count + 1, sizeof *changes);
    bool good = changes != NULL;
    if (!good)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < count; i++)
        good = take_change(PyTuple_GetItem(entries, i), &changes[i]);
    if (good)
        result =
            simulate_trace(PyModule_GetState(module), handle, changes, (size_t)count, (tsmith_policy)policy);
    release_changes(changes, (size_t)count);
    trace_handle_release(handle);
    return result;
}

static PyMethodDef functions[] = {
    {"simulate", simulate, METH_VARARGS,
     "simulate(trace, changes, policy): a dict. changes: a tuple of (kind, names, factor, ns)."},
    {NULL, NULL, 0, NULL},
};

bool native_add_simulate(PyObject *module) {
    return PyModule_AddFunctions(module, functions) == 0;
}
