// Raises rankstone.errors.DataError: bad data, with what is known of where it is. The caller holds the GIL.
#pragma once

#include <Python.h>

#include <cstdint>

namespace rankstone {

struct Where {
    const char* kind;  // as DataError names it
    const char* side = nullptr;
    PyObject* query = nullptr;  // borrowed; null: not known
    PyObject* item = nullptr;
    int64_t row = -1;            // in the user's columns; negative: not known
    bool is_type_error = false;  // a DataTypeError, which is a TypeError too
};

// Sets the exception, or the one that making it met.
void set_data_error(PyObject* text, const Where& where);

}  // namespace rankstone
