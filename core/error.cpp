#include "error.hpp"

namespace rankstone {

PyObject* error_class(const char* name) {
    PyObject* errors = PyImport_ImportModule("rankstone.errors");
    PyObject* type = errors ? PyObject_GetAttrString(errors, name) : nullptr;
    Py_XDECREF(errors);
    return type;
}

void set_data_error(PyObject* text, const Where& where) {
    PyObject* type = error_class(where.is_type_error ? "DataTypeError" : "DataError");
    PyObject* row = where.row < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(where.row);
    if (type && row) {
        PyObject* error =
            PyObject_CallFunction(type, "OzzOOO", text, where.kind, where.side, where.query ? where.query : Py_None,
                                  where.item ? where.item : Py_None, row);
        if (error) PyErr_SetObject(type, error);
        Py_XDECREF(error);
    }
    Py_XDECREF(row);
    Py_XDECREF(type);
}

}  // namespace rankstone
