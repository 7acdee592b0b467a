// The module, and its errors.
#define RANKSTONE_IMPORTS_NUMPY
#include "bind.hpp"

#include <cxxabi.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "dicts.hpp"

namespace rankstone {
namespace {

const char* side_of(bool in_run) { return in_run ? "run" : "truth"; }

std::string text_of(const Named& named) { return std::string(named.what) + " " + nb::repr(named.id).c_str(); }

void set_error(const std::string& text, const Where& where) {
    set_data_error(nb::str(text.data(), text.size()).ptr(), where);
}

void set_error(const char* name, const std::exception& error) {
    const nb::object type = nb::steal(error_class(name));
    if (type) PyErr_SetString(type.ptr(), error.what());
}

void translate(const std::exception_ptr& failure, void*) {
    try {
        std::rethrow_exception(failure);
    } catch (const PythonError&) {  // which is set
    } catch (const TypeError& error) {
        set_error("InputTypeError", error);
    } catch (const BadRow& error) {
        set_error(error.what(), {.kind = error.kind, .side = side_of(error.in_run), .row = error.row});
    } catch (const std::invalid_argument& error) {
        set_error("InputError", error);
    }
}

std::atomic<int> unlocked_threads{0};
std::atomic<unsigned long> last_thread{0};  // the one that ends the program

bool is_over() { return last_thread && last_thread != PyThread_get_thread_ident(); }

[[noreturn]] void wait_for_end() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Python may end this thread by unwinding its stack, past what cannot be unwound.
void take_gil(PyThreadState* state) {
    if (is_over()) wait_for_end();
#ifdef __GLIBCXX__
    try {
        PyEval_RestoreThread(state);
    } catch (const abi::__forced_unwind&) {
        wait_for_end();
    }
#else
    PyEval_RestoreThread(state);
#endif
}

}  // namespace

Unlocked::Unlocked() : state_(PyEval_SaveThread()) {
    ++unlocked_threads;
    if (!is_over()) return;
    --unlocked_threads;
    wait_for_end();
}

Unlocked::~Unlocked() {
    --unlocked_threads;
    take_gil(state_);
}

bool Unlocked::interrupted() {
    if (is_over()) return true;
    take_gil(state_);
    const bool stop = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return stop;
}

void Unlocked::end() {
    last_thread = PyThread_get_thread_ident();
    Team::ending = true;
    const nb::gil_scoped_release no_gil;
    for (int i = 0; i < 10'000 && unlocked_threads > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

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
    m.def("end", &Unlocked::end);
    nb::module_::import_("atexit").attr("register")(m.attr("end"));
    pthread_atfork(nullptr, nullptr, [] { unlocked_threads = 0; });  // a child has no other threads
}
