// SPDX-License-Identifier: Apache-2.0
// The extension module tracesmith._native: the public C API as Python types. What a user sees is in tracesmith/*.py.
#include "native.h"
#include "nvtx.h"

#include "tracesmith/version.h"

static int execute(PyObject *module) {
    struct native_state *state = PyModule_GetState(module);
    nvtx_look();
    const bool good = native_add_trace(module, state) && native_add_stream(module, state) &&
                      native_add_analysis(module, state) && native_add_simulate(module) &&
                      native_add_merge(module) && native_add_session(module, state) &&
                      native_add_range(module, state) && native_add_functions(module) &&
                      PyModule_AddStringConstant(module, "library_version", tsmith_version()) == 0;
    return good ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    struct native_state *state = PyModule_GetState(module);
    Py_VISIT(state->trace_type);
    Py_VISIT(state->stream_type);
    Py_VISIT(state->analysis_type);
    Py_VISIT(state->session_type);
    Py_VISIT(state->range_type);
    Py_VISIT(state->make_error);
    Py_VISIT(state->active);
    Py_VISIT(state->attached);
    // Ranges are not known to the collector. One that only this module holds is a part of it, with its reference to the type.
    for (size_t i = 0; i < NATIVE_RANGES; i++)
        if (state->ranges[i] && Py_REFCNT(state->ranges[i]) == 1)
            Py_VISIT(Py_TYPE(state->ranges[i]));
    return 0;
}

static int clear(PyObject *module) {
    struct native_state *state = PyModule_GetState(module);
    struct native_functions *functions = state->functions;
    state->functions = NULL;
    native_functions_release(functions);
    for (size_t i = 0; i < NATIVE_RANGES; i++)
        Py_CLEAR(state->ranges[i]);
    Py_CLEAR(state->active); // stops the session
    Py_CLEAR(state->attached);
    Py_CLEAR(state->trace_type);
    Py_CLEAR(state->stream_type);
    Py_CLEAR(state->analysis_type);
    Py_CLEAR(state->session_type);
    Py_CLEAR(state->range_type);
    Py_CLEAR(state->make_error);
    return 0;
}

static void release(void *module) {
    clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_mod_gil // builds for one version of Python, from 3.13: sessions, ranges and code tables have no lock of their own
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "TraceSmith's C API. Private: use the package tracesmith.",
    .m_size = sizeof(struct native_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void) {
    return PyModuleDef_Init(&definition);
}
