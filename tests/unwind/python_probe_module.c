// SPDX-License-Identifier: Apache-2.0
// The probe as an extension module, which every interpreter of a process can import, those with a lock of their own too.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

int probe_look(void);
int probe_stack(char *out, size_t size);
int probe_missing(void);

enum { SIZE = 1 << 20 };

// (count, text, whether Python functions are missing); with the interpreter lock held, or without.
static PyObject *stack(PyObject *self, PyObject *release) {
    static __thread char text[SIZE];
    int count;
    (void)self;
    if (PyObject_IsTrue(release)) {
        Py_BEGIN_ALLOW_THREADS count = probe_stack(text, SIZE);
        Py_END_ALLOW_THREADS
    } else {
        count = probe_stack(text, SIZE);
    }
    return Py_BuildValue("(isi)", count, text, probe_missing());
}

static int begin(PyObject *module) {
    (void)module;
    return probe_look() ? 0 : (PyErr_SetString(PyExc_RuntimeError, "no interpreter found"), -1);
}

static PyMethodDef methods[] = {{"stack", stack, METH_O, ""}, {0}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)begin},
#if PY_VERSION_HEX >= 0x030c0000
                                   {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
                                   {0}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "probe_inside", .m_methods = methods,
                             .m_slots = slots};

PyMODINIT_FUNC PyInit_probe_inside(void) {
    return PyModuleDef_Init(&module);
}
