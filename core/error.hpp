// Raises errors of rankstone.errors, which are all that the core raises. The caller holds the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

namespace rankstone {

// The class of this name: a new reference, or null where importing it raised.
PyObject* error_class(const char* name);

// Where bad data is, as far as that is known.
struct Where {
    const char* kind;  // as DataError names it
    const char* side = nullptr;
    PyObject* query = nullptr;  // borrowed; null: not known
    PyObject* item = nullptr;
    int64_t row = -1;            // in the user's columns; negative: not known
    bool is_type_error = false;  // a DataTypeError, which is a TypeError too
};

// Sets a DataError, or the exception that making it met.
void set_data_error(PyObject* text, const Where& where);

}  // namespace rankstone
