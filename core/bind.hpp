// What the files of the binding share: arguments in, arrays and errors out. Only bind*.cpp know nanobind and NumPy.
#pragma once

#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL rankstone_numpy
#ifndef RANKSTONE_IMPORTS_NUMPY  // as bind.cpp does, for all of them
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "error.hpp"
#include "lists.hpp"
#include "program.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rankstone {

// Each adds its functions and classes to the module.
void bind_align(nb::module_& m);
void bind_cover(nb::module_& m);
void bind_program(nb::module_& m);
void bind_stream(nb::module_& m);
void bind_text(nb::module_& m);

// -- errors ----------------------------------------------------------------------------------------------------------

[[noreturn]] inline void value_error(const std::string& text) { throw std::invalid_argument(text); }
[[noreturn]] inline void type_error(const std::string& text) { throw TypeError(text); }

inline nb::object checked(PyObject* owned) {
    if (!owned) throw nb::python_error();
    return nb::steal(owned);
}

// A value of a column as Python has it.
nb::object value_of(const Column& column, int64_t row);

// The query or the item of a problem: what it is, and what the user calls it.
struct Named {
    const char* what;  // "query" or "row", "item" or "column"
    nb::object id;
};

// Raises the problem. `row` is its row in the user's columns, `values` have the number that may be wrong.
[[noreturn]] void fail(const Problem& problem, const Named& query, const Named& item, int64_t row,
                       const std::optional<Column>& values);

// The same in the rows or lists of one side.
template <class Side>
[[noreturn]] void fail(const Problem& problem, const Named& query, const Side& side) {
    fail(problem, query, {"item", value_of(side.items, problem.row)}, problem.row, side.values);
}

// -- arguments -------------------------------------------------------------------------------------------------------

int read_threads(nb::handle object);

// How to bring a truth and a run together: the fields of rankstone.data.source.Align.
Options read_options(nb::handle how);

inline PyArrayObject* as_array(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

template <class T>
constexpr int numpy_type = std::is_same_v<T, bool>      ? NPY_BOOL
                           : std::is_same_v<T, double>  ? NPY_DOUBLE
                           : std::is_same_v<T, int32_t> ? NPY_INT32
                           : std::is_same_v<T, uint8_t> ? NPY_UINT8
                                                        : NPY_INT64;

template <class T>
std::span<const T> values_in(PyArrayObject* array) {
    return {static_cast<const T*>(PyArray_DATA(array)), static_cast<size_t>(PyArray_SIZE(array))};
}

// An array of this type of whatever can be made one; itself, if it is.
template <class T>
nb::object converted(nb::handle object) {
    return checked(PyArray_FROM_OTF(object.ptr(), numpy_type<T>, NPY_ARRAY_CARRAY_RO));
}

// The user's columns, and whatever must live as long as they are read.
class Inputs {
public:
    Column column(nb::handle object, const char* name);
    Column ids(nb::handle object, const char* name);
    std::optional<Column> numbers(nb::handle object, const char* name);
    std::vector<int64_t> indices(nb::handle object, const char* name);

    // The array itself if it lies in one piece, in this machine's byte order; else a copy.
    PyArrayObject* contiguous(nb::handle object);

    // The memory of an array of this type and one dimension.
    template <class T>
    std::span<const T> span(nb::handle object, const char* name) {
        if (!PyArray_Check(object.ptr()) || !PyArray_EquivTypenums(PyArray_TYPE(as_array(object)), numpy_type<T>) ||
            PyArray_NDIM(as_array(object)) != 1)
            type_error(std::string(name) + ": not a NumPy array of the right type and one dimension");
        return values_in<T>(contiguous(object));
    }

private:
    std::vector<nb::object> keep_;
};

// The first row of an Arrow array that points nowhere; -1 if none.
int64_t bind_invalid_row(nb::handle object);

// A NumPy type as a column has it.
Type numpy_kind(PyArrayObject* array, const char* name);

// A column of `Strings` that the core has read itself; nothing if the object is none.
std::optional<Column> strings_column(nb::handle object, const char* name);

// What the columns of a side are called in errors.
struct SideNames {
    const char *queries, *offsets, *items, *values;
};
inline constexpr SideNames truth_names{"truth queries", "truth offsets", "truth items", "truth grades"};
inline constexpr SideNames run_names{"run queries", "run offsets", "run items", "run scores"};

void check_lengths(const Column& items, const Column& other);
Rows read_rows(Inputs& inputs, const SideNames& names, nb::handle query, nb::handle item, nb::handle value);
Lists read_lists(Inputs& inputs, const SideNames& names, nb::handle offsets, nb::handle items, nb::handle values);

// A thread without the GIL. When the program ends, Python ends threads that ask for it, and frees what they read: so
// `end` stops their work first, and they wait here for the end, as they do in later versions of Python.
class Unlocked {
public:
    Unlocked();
    Unlocked(const Unlocked&) = delete;
    ~Unlocked();

    // Takes the GIL for a moment: whether the user has asked to stop.
    bool interrupted();

    static void end();

private:
    PyThreadState* state_;
};

// Runs work without the GIL, so that other Python threads go on and Ctrl-C is heard.
template <class Work>
auto without_gil(int threads, Work work) {
    std::optional<Unlocked> unlocked;
    Team team(threads, [&] { return unlocked->interrupted(); });
    try {
        unlocked.emplace();
        if constexpr (std::is_void_v<decltype(work(team))>) {
            work(team);
            unlocked.reset();
        } else {
            auto result = work(team);
            unlocked.reset();
            return result;
        }
    } catch (const Interrupted&) {
        unlocked.reset();
        throw nb::python_error();
    }
}

// -- answers ---------------------------------------------------------------------------------------------------------

// A copy.
template <class T>
nb::object to_numpy(std::span<const T> values) {
    npy_intp length = std::ssize(values);
    nb::object result = checked(PyArray_SimpleNew(1, &length, numpy_type<T>));
    if (length) std::memcpy(PyArray_DATA(as_array(result)), values.data(), values.size_bytes());
    return result;
}

template <class T>
nb::object to_numpy(const std::vector<T>& values) {
    return to_numpy(std::span<const T>(values));
}

// Hands the memory over. Small arrays are copied, which is cheaper than a second object to own their memory.
template <class T>
nb::object to_numpy(Array<T>& array, int64_t size) {
    const std::span<const T> values(array.data(), static_cast<size_t>(size));
    if (values.size_bytes() <= 4096) return to_numpy(values);
    array.resize(size);
    npy_intp length = size;
    nb::object result = checked(PyArray_SimpleNewFromData(1, &length, numpy_type<T>, array.data()));
    nb::capsule owner(array.data(), [](void* data) noexcept { std::free(data); });
    array.release();
    if (PyArray_SetBaseObject(as_array(result), owner.release().ptr())) throw nb::python_error();
    return result;
}

nb::object to_alignment(nb::object queries, nb::object extra, Output& output);

// A field of an alignment by its name, as a program reads it.
using FieldView = Given (*)(const Output&);
FieldView field_named(std::string_view name);

}  // namespace rankstone
