// The module, and its errors.
#define RANKSTONE_IMPORTS_NUMPY
#include "bind.hpp"

#include "dicts.hpp"

namespace rankstone {
namespace {

const char* side_of(bool in_run) { return in_run ? "run" : "truth"; }

std::string text_of(const Named& named) { return std::string(named.what) + " " + nb::repr(named.id).c_str(); }

void set_error(const std::string& text, const Where& where) {
    set_data_error(nb::str(text.data(), text.size()).ptr(), where);
}

void translate(const std::exception_ptr& failure, void*) {
    try {
        std::rethrow_exception(failure);
    } catch (const PythonError&) {  // which is set
    } catch (const ColumnTypeError& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const BadRow& error) {
        set_error(error.what(), {.kind = error.kind, .side = side_of(error.in_run), .row = error.row});
    } catch (const ColumnValueError& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    }
}

}  // namespace

nb::object value_of(const Column& column, int64_t row) {
    if (column.is_text()) {
        const std::string_view text = value_at<TextKeys>(column, row);
        return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    }
    if (column.dictionary) return nb::int_(value_at<IntKeys>(column, row));
    return with_numbers(column, [&](auto get) -> nb::object {
        if constexpr (std::is_integral_v<decltype(get(0))>) return nb::int_(get(row));
        return nb::float_(static_cast<double>(get(row)));
    });
}

void fail(const Problem& problem, const Named& query, const Named& item, int64_t row,
          const std::optional<Column>& values) {
    const char* side = side_of(problem.in_run);
    std::string text = text_of(query);
    if (problem.kind == Problem::twice) {
        text += ": " + text_of(item) + " appears twice in the " + side;
    } else if (problem.kind == Problem::two_grades) {
        text += ": " + text_of(item) + " is judged twice, with two grades";
    } else {
        const std::string value = nb::repr(value_of(*values, problem.row)).c_str();
        text += ", " + text_of(item) + ": " + (problem.in_run ? "score" : "grade");
        text += values->is_int() ? " " + value + " is too large to be exact as a float" : " is " + value;
    }
    set_error(text, {.kind = problem.kind == Problem::bad_value ? "number" : "twice",
                     .side = side,
                     .query = query.id.ptr(),
                     .item = item.id.ptr(),
                     .row = row});
    throw nb::python_error();
}

}  // namespace rankstone

NB_MODULE(_core, m) {
    using namespace rankstone;
    nb::set_leak_warnings(false);  // programs are kept until the process ends
    if (_import_array() < 0) throw nb::python_error();
    nb::register_exception_translator(translate);
    bind_align(m);
    bind_cover(m);
    bind_program(m);
    bind_stream(m);
    bind_text(m);
}
