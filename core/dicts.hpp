// The door for nested dicts: {query: {item: grade}} against {query: {item: score}}.
#pragma once

#include <Python.h>

#include "output.hpp"

namespace rankstone {

// Thrown when a Python exception has been set.
struct PythonError {};

struct DictResult {
    PyObject* queries = nullptr;  // new references: lists of ids
    PyObject* extra = nullptr;
    Output output;
};

// The caller holds the GIL throughout.
DictResult align_dicts(PyObject* truth, PyObject* run, const Options& options);

}  // namespace rankstone
