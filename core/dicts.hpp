// Alignment of nested dicts: {query: {item: grade}} against {query: {item: score}}; and runs as dicts next to each
// other.
#pragma once

#include <Python.h>

#include <optional>

#include "output.hpp"
#include "spread.hpp"

namespace rankstone {

// Thrown when a Python exception has been set.
struct PythonError {};

struct DictResult {
    PyObject* queries = nullptr;  // new references: lists of ids
    PyObject* extra = nullptr;
    Output output;
};

// What is walked as it is: a dict of dicts of numbers, lists, tuples and sets, whose first ids are texts or whole
// numbers.
struct Plain {
    bool graded = false;  // some of them are dicts
    bool ordered = true;  // all of them are lists or tuples
};

// Nothing if it is not. Runs no code of the user's.
std::optional<Plain> plain_side(PyObject* side);

// The caller holds the GIL throughout.
DictResult align_dicts(PyObject* truth, PyObject* run, const Options& options);

struct UnitedResult {
    PyObject* items = nullptr;  // new reference: a list of each query's different items, one query after the other
    int64_t queries = 0, rows = 0;
    Array<int64_t> counts;  // a query: its different items
    Array<int64_t> item;    // a row: its place in `items`
    Array<double> score;    // from a list's length down to 1 where it has none
};

// Numbers the items of several runs, rows by query, then by run. names: of the runs. queries: a list. contents: for
// each run a list with a dict {item: score}, a list of items or None for each query. The caller holds the GIL
// throughout.
UnitedResult unite_dicts(PyObject* names, PyObject* queries, PyObject* contents);

struct SpreadResult {
    PyObject* truth = nullptr;  // new reference: {query: {item: its highest grade}}; null: the truth is not plain
    int64_t items = 0;
    ItemRows rows;
    Array<double> grade;   // a row's
    Array<int64_t> order;  // an item: its place among those of its query, the largest id first, from 0
};

// Takes {query: {item: {subtopic: grade}}} apart, or the same with lists or sets of subtopics. Plain is what has dicts,
// lists, tuples and sets, finite numbers that are ints or floats, and no subtopic twice. The caller holds the GIL
// throughout.
SpreadResult spread_dicts(PyObject* truth);

}  // namespace rankstone
