// SPDX-License-Identifier: Apache-2.0
// Values of the arrays that streams yield as Python objects and as whole columns: int64 "l", uint64 "L", uint32 "I", uint8
// "C", float64 "g", large UTF-8 "U", large binary "Z", and numbers of texts in a dictionary.
#include "native.h"

#include <string.h>

static bool has_value(const struct ArrowArray *array, int64_t row) {
    const uint8_t *valid = array->buffers[0];
    return !valid || array->null_count == 0 || (valid[row / 8] >> (row % 8) & 1);
}

static PyObject *unexpected(const char *format) {
    PyErr_Format(PyExc_NotImplementedError, "a column of the Arrow format '%s' is not decoded here", format);
    return NULL;
}

// Bytes of a number; 0: it is none.
static size_t number_size(const char *format) {
    if (format[0] == '\0' || format[1] != '\0')
        return 0;
    switch (format[0]) {
    case 'l':
    case 'L':
    case 'g':
        return 8;
    case 'I':
        return 4;
    case 'C':
        return 1;
    default:
        return 0;
    }
}

static PyObject *decode_text(char format, const struct ArrowArray *array, int64_t row) {
    const int64_t *offsets = array->buffers[1];
    const char *bytes = (const char *)array->buffers[2] + offsets[row];
    const Py_ssize_t length = (Py_ssize_t)(offsets[row + 1] - offsets[row]);
    return format == 'U' ? PyUnicode_FromStringAndSize(bytes, length)
                         : PyBytes_FromStringAndSize(bytes, length);
}

static PyObject *decode_number(const char *format, const struct ArrowArray *array, int64_t row) {
    const void *values = array->buffers[1];
    switch (number_size(format) ? format[0] : 0) {
    case 'l':
        return PyLong_FromLongLong(((const int64_t *)values)[row]);
    case 'L':
        return PyLong_FromUnsignedLongLong(((const uint64_t *)values)[row]);
    case 'I':
        return PyLong_FromUnsignedLong(((const uint32_t *)values)[row]);
    case 'C':
        return PyLong_FromLong(((const uint8_t *)values)[row]);
    case 'g':
        return PyFloat_FromDouble(((const double *)values)[row]);
    default:
        return unexpected(format);
    }
}

bool decode_words(const struct ArrowArray *dictionary, PyObject **words) {
    if (!*words && !(*words = PyList_New(0)))
        return false;
    for (int64_t i = PyList_Size(*words); i < dictionary->length; i++) {
        PyObject *word = decode_text('U', dictionary, dictionary->offset + i);
        const bool good = word && PyList_Append(*words, word) == 0;
        Py_XDECREF(word);
        if (!good)
            return false;
    }
    return true;
}

static PyObject *decode_word(const char *format, const struct ArrowArray *array, int64_t row,
                             PyObject *words) {
    const size_t size = number_size(format);
    if (size != 4 && size != 1)
        return unexpected(format);
    const uint32_t number =
        size == 4 ? ((const uint32_t *)array->buffers[1])[row] : ((const uint8_t *)array->buffers[1])[row];
    PyObject *word = PyList_GetItem(words, (Py_ssize_t)number);
    return word ? Py_NewRef(word) : NULL;
}

PyObject *decode_cell(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row,
                      PyObject *words) {
    row += array->offset;
    if (!has_value(array, row))
        return Py_NewRef(Py_None);
    if (schema->dictionary)
        return decode_word(schema->format, array, row, words);
    if (strcmp(schema->format, "U") == 0 || strcmp(schema->format, "Z") == 0)
        return decode_text(schema->format[0], array, row);
    return decode_number(schema->format, array, row);
}

bool collect_begin(const struct ArrowSchema *schema, struct collected *column) {
    *column = (struct collected){.size = number_size(schema->format)};
    column->values = column->size ? PyByteArray_FromStringAndSize(NULL, 0) : PyList_New(0);
    if (column->values && schema->dictionary)
        column->words = PyList_New(0);
    return column->values && (column->words || !schema->dictionary);
}

void collect_release(struct collected *column) {
    Py_CLEAR(column->values);
    Py_CLEAR(column->valid);
    Py_CLEAR(column->words);
}

// Notes which of the new rows have a value; there is nothing to note before the first that has none.
static bool add_valid(const struct ArrowArray *array, struct collected *column) {
    if (!column->valid) {
        if (!array->buffers[0] || array->null_count == 0)
            return true;
        column->valid = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)column->rows);
        if (!column->valid)
            return false;
        memset(PyByteArray_AsString(column->valid), 1, (size_t)column->rows);
    }
    if (PyByteArray_Resize(column->valid, (Py_ssize_t)(column->rows + array->length)) != 0)
        return false;
    char *at = PyByteArray_AsString(column->valid) + column->rows;
    for (int64_t row = 0; row < array->length; row++)
        at[row] = has_value(array, array->offset + row);
    return true;
}

static bool add_numbers(const struct ArrowArray *array, struct collected *column) {
    const size_t size = column->size;
    if (PyByteArray_Resize(column->values, (Py_ssize_t)(size * (size_t)(column->rows + array->length))) != 0)
        return false;
    char *at = PyByteArray_AsString(column->values) + size * (size_t)column->rows;
    if (array->length)
        memcpy(at, (const char *)array->buffers[1] + size * (size_t)array->offset,
               size * (size_t)array->length);
    return true;
}

static bool add_objects(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        struct collected *column) {
    for (int64_t row = 0; row < array->length; row++) {
        PyObject *value = decode_cell(schema, array, row, NULL);
        const bool good = value && PyList_Append(column->values, value) == 0;
        Py_XDECREF(value);
        if (!good)
            return false;
    }
    return true;
}

bool collect_add(const struct ArrowSchema *schema, const struct ArrowArray *array, struct collected *column) {
    const bool good = (!array->dictionary || decode_words(array->dictionary, &column->words)) &&
                      (column->size ? add_valid(array, column) && add_numbers(array, column)
                                    : add_objects(schema, array, column));
    column->rows += array->length;
    return good;
}
