// The only file that knows nanobind and NumPy: reads the arguments, calls a door, makes arrays of what it answers.
#include <nanobind/nanobind.h>

#define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <limits>
#include <string_view>

#include "arrow.hpp"
#include "columns.hpp"
#include "cover.hpp"
#include "dense.hpp"
#include "dicts.hpp"
#include "error.hpp"
#include "exact.hpp"
#include "lists.hpp"
#include "program.hpp"
#include "stream.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rankstone {
namespace {

template <class Choice, size_t count>
Choice choose(const char* what, const char* value, const std::pair<const char*, Choice> (&choices)[count]) {
    for (const auto& [name, choice] : choices)
        if (std::string_view(value) == name) return choice;
    std::string known;
    for (const auto& [name, choice] : choices) known += (known.empty() ? "" : ", ") + std::string(name);
    throw nb::value_error((std::string("unknown ") + what + " '" + value + "'; choose one of: " + known).c_str());
}

nb::object checked(PyObject* owned) {
    if (!owned) throw nb::python_error();
    return nb::steal(owned);
}

int read_threads(nb::handle given) {
    if (!PyIndex_Check(given.ptr()))
        throw nb::type_error((std::string("threads must be a whole number, not ") + nb::repr(given).c_str()).c_str());
    const Py_ssize_t threads = PyNumber_AsSsize_t(given.ptr(), nullptr);  // the nearest there is
    if (threads == -1 && PyErr_Occurred()) throw nb::python_error();
    if (threads < 0) throw nb::value_error("threads must be 0 (all cores) or more");
    return static_cast<int>(std::min<Py_ssize_t>(threads, std::numeric_limits<int>::max()));
}

// How to bring a truth and a run together: the fields of rankstone.data.source.Align.
Options read_options(nb::handle how) {
    const auto choice = [&](const char* name, const auto& choices) {
        const nb::object given = how.attr(name);
        const char* value = PyUnicode_AsUTF8(given.ptr());
        if (!value) throw nb::python_error();
        return choose(name, value, choices);
    };
    const auto flag = [&](const char* name) {
        const nb::object given = how.attr(name);
        const int answer = PyObject_IsTrue(given.ptr());
        if (answer < 0) throw nb::python_error();
        return answer > 0;
    };
    static constexpr std::pair<const char*, Order> orders[] = {{"item_desc", Order::item_desc},
                                                               {"item_asc", Order::item_asc},
                                                               {"input", Order::input},
                                                               {"reverse_input", Order::reverse_input}};
    static constexpr std::pair<const char*, Duplicates> duplicates[] = {{"error", Duplicates::error},
                                                                        {"first", Duplicates::first},
                                                                        {"best", Duplicates::best},
                                                                        {"count", Duplicates::count},
                                                                        {"once", Duplicates::once}};
    static constexpr std::pair<const char*, TruthDuplicates> truth_duplicates[] = {
        {"error", TruthDuplicates::error}, {"first", TruthDuplicates::first}, {"count", TruthDuplicates::count}};
    return {.order = choice("order", orders),
            .duplicates = choice("duplicates", duplicates),
            .truth_duplicates = choice("truth_duplicates", truth_duplicates),
            .float32 = flag("float32"),
            .zeros = flag("zeros"),
            .extra_queries = flag("extra_queries"),
            .threads = read_threads(how.attr("threads"))};
}

template <class T>
constexpr int numpy_type = std::is_same_v<T, bool>      ? NPY_BOOL
                           : std::is_same_v<T, double>  ? NPY_DOUBLE
                           : std::is_same_v<T, int32_t> ? NPY_INT32
                           : std::is_same_v<T, uint8_t> ? NPY_UINT8
                                                        : NPY_INT64;

// Small arrays are copied, which is cheaper than a second object to own their memory.
template <class T>
nb::object to_numpy(Array<T>& array, int64_t size) {
    npy_intp length = size;
    const size_t bytes = static_cast<size_t>(size) * sizeof(T);
    if (bytes <= 4096) {
        nb::object result = checked(PyArray_SimpleNew(1, &length, numpy_type<T>));
        if (bytes) std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr())), array.data(), bytes);
        return result;
    }
    array.resize(size);
    nb::object result = checked(PyArray_SimpleNewFromData(1, &length, numpy_type<T>, array.data()));
    nb::capsule owner(array.data(), [](void* data) noexcept { std::free(data); });
    array.release();
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result.ptr()), owner.release().ptr()))
        throw nb::python_error();
    return result;
}

// The answer's fields, in the order in which `to_alignment` fills them; _core.pyi says what they hold.
PyStructSequence_Field fields[] = {
    {"queries", nullptr},       {"extra", nullptr},        {"retrieved", nullptr},    {"present", nullptr},
    {"truth_offsets", nullptr}, {"truth_grades", nullptr}, {"ideal_grades", nullptr}, {"placed_offsets", nullptr},
    {"rank", nullptr},          {"grade", nullptr},        {"score", nullptr},        {"place", nullptr},
    {"above", nullptr},         {"tied", nullptr},         {"dropped", nullptr},      {nullptr, nullptr},
};
PyStructSequence_Desc description{"rankstone._core.Alignment", "Where the judged items stand.", fields,
                                  static_cast<int>(std::size(fields)) - 1};
PyTypeObject* alignment_type = nullptr;  // made once, with the module

nb::object to_alignment(nb::object queries, nb::object extra, Output& output) {
    const int64_t count = output.queries;
    nb::object result = checked(PyStructSequence_New(alignment_type));
    Py_ssize_t at = 0;
    const auto add = [&](nb::object value) { PyStructSequence_SetItem(result.ptr(), at++, value.release().ptr()); };
    add(std::move(queries));
    add(std::move(extra));
    add(to_numpy(output.retrieved, count));
    add(to_numpy(output.present, count));
    add(to_numpy(output.truth_offsets, count + 1));
    add(to_numpy(output.truth_grades, output.truth_rows));
    add(to_numpy(output.ideal_grades, output.truth_rows));
    add(to_numpy(output.placed_offsets, count + 1));
    add(to_numpy(output.rank, output.placements));
    add(to_numpy(output.grade, output.placements));
    add(to_numpy(output.score, output.placements));
    add(to_numpy(output.place, output.placements));
    add(output.any_tied ? to_numpy(output.above, output.placements) : nb::none());
    add(output.any_tied ? to_numpy(output.tied, output.placements) : nb::none());
    add(nb::int_(output.dropped));
    return result;
}

nb::object bind_dicts(nb::handle truth, nb::handle run, nb::handle how) {
    const Options options = read_options(how);
    try {
        DictResult result = align_dicts(truth.ptr(), run.ptr(), options);
        return to_alignment(nb::steal(result.queries), nb::steal(result.extra), result.output);
    } catch (const PythonError&) {
        throw nb::python_error();
    }
}

nb::object bind_unite(nb::handle names, nb::handle queries, nb::handle contents) {
    try {
        UnitedResult result = unite_dicts(names.ptr(), queries.ptr(), contents.ptr());
        const nb::object items = nb::steal(result.items);
        return nb::make_tuple(items, to_numpy(result.counts, result.queries), to_numpy(result.item, result.rows),
                              to_numpy(result.score, result.rows));
    } catch (const PythonError&) {
        throw nb::python_error();
    }
}

nb::object bind_spread(nb::handle truth) {
    try {
        SpreadResult result = spread_dicts(truth.ptr());
        if (!result.truth) return nb::none();
        const nb::object flat = nb::steal(result.truth);
        return nb::make_tuple(flat, to_numpy(result.order, result.items), to_numpy(result.rows.ends, result.items),
                              to_numpy(result.rows.row, result.rows.count),
                              to_numpy(result.rows.subtopic, result.rows.count),
                              to_numpy(result.grade, result.rows.count));
    } catch (const PythonError&) {
        throw nb::python_error();
    }
}

PyArrayObject* as_array(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

Type numpy_kind(PyArrayObject* array, const char* name) {
    const char kind = PyArray_DESCR(array)->kind;
    const auto size = PyArray_ITEMSIZE(array);
    const auto power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    if (kind == 'b') return Type::bytes;
    if (kind == 'i') return static_cast<Type>(static_cast<int>(Type::int8) + power);
    if (kind == 'u') return static_cast<Type>(static_cast<int>(Type::uint8) + power);
    if (kind == 'f' && size == 4) return Type::float32;
    if (kind == 'f' && size == 8) return Type::float64;
    throw nb::type_error((std::string(name) + ": NumPy type " +
                          nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))).c_str() +
                          " is not supported")
                             .c_str());
}

// A column of strings that the core has read itself, and reads again where it lies. It speaks Arrow, too.
class BoundStrings {
public:
    BoundStrings(Strings&& strings, int64_t rows)
        : strings_(std::make_shared<const Strings>(std::move(strings))), rows_(rows) {}

    int64_t size() const { return rows_; }

    nb::object at(nb::handle self, nb::handle row) const {
        if (PySlice_Check(row.ptr())) return nb::module_::import_("pyarrow").attr("array")(self)[row];
        const std::string_view text = text_at(nb::cast<int64_t>(row));
        return nb::bytes(text.data(), text.size());
    }

    nb::list words(nb::handle rows) const {
        nb::list found;
        for (nb::handle row : rows) {
            const std::string_view text = text_at(nb::cast<int64_t>(row));
            found.append(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict")));
        }
        return found;
    }

    Column column(const char* name) const {
        Column column;
        column.name = name;
        column.length = rows_;
        column.type = strings_->narrow.data() ? Type::utf8 : Type::large_utf8;
        column.values =
            strings_->narrow.data() ? static_cast<const void*>(strings_->narrow.data()) : strings_->wide.data();
        column.text = reinterpret_cast<const char*>(strings_->text.data());
        if (!strings_->codes.data()) return column;
        if (!dictionary_) {
            Column distinct = column;
            distinct.length = strings_->count;
            dictionary_ = read_dictionary(distinct);
        }
        column.dictionary = dictionary_;
        column.type = Type::int32;
        column.values = strings_->codes.data();
        return column;
    }

    nb::tuple arrow(nb::handle) const {
        struct Held {
            std::shared_ptr<const Strings> strings;
            const void* buffers[3];
        };
        const auto strings =
            strings_->codes.data() ? std::make_shared<const Strings>(spread(*strings_, rows_)) : strings_;
        const bool narrow = strings->narrow.data();
        const void* offsets = narrow ? static_cast<const void*>(strings->narrow.data()) : strings->wide.data();
        auto held = std::make_unique<Held>(Held{strings, {nullptr, offsets, strings->text.data()}});
        auto array = std::make_unique<ArrowArray>();
        array->length = rows_;
        array->n_buffers = 3;
        array->buffers = held->buffers;
        array->private_data = held.release();
        array->release = [](ArrowArray* self) {
            delete static_cast<Held*>(self->private_data);
            self->release = nullptr;
        };
        auto schema = std::make_unique<ArrowSchema>();
        schema->format = narrow ? "u" : "U";
        schema->name = "";
        schema->release = [](ArrowSchema* self) { self->release = nullptr; };
        return nb::make_tuple(capsule(std::move(schema), "arrow_schema"), capsule(std::move(array), "arrow_array"));
    }

private:
    std::string_view text_at(int64_t row) const {
        if (row < 0 || row >= rows_) throw nb::index_error();
        return strings_->of_row(row);
    }
    // Released by whoever takes it over, or else when nobody has.
    template <class T>
    static nb::object capsule(std::unique_ptr<T> value, const char* name) {
        const auto end = [](PyObject* self) {
            auto* held = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
            if (held->release) held->release(held);
            delete held;
        };
        nb::object made = checked(PyCapsule_New(value.get(), name, end));
        value.release();
        return made;
    }

    std::shared_ptr<const Strings> strings_;
    int64_t rows_;
    mutable std::shared_ptr<const Dictionary> dictionary_;  // made when it is first asked for
};

// The user's columns, and whatever must live as long as they are read.
class Inputs {
public:
    Column column(nb::handle object, const char* name) {
        if (PyArray_Check(object.ptr())) return numpy_column(object, name);
        if (nb::isinstance<BoundStrings>(object)) return nb::cast<const BoundStrings&>(object).column(name);
        if (!nb::hasattr(object, "__arrow_c_array__"))
            throw nb::type_error((std::string(name) + ": not a NumPy array or an Arrow array, but " +
                                  nb::type_name(object.type()).c_str())
                                     .c_str());
        const nb::object pair = object.attr("__arrow_c_array__")();
        keep_.push_back(pair);
        const nb::object schema = pair[0], array = pair[1];
        const auto* schema_at = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(schema.ptr(), "arrow_schema"));
        const auto* array_at = static_cast<const ArrowArray*>(PyCapsule_GetPointer(array.ptr(), "arrow_array"));
        if (!schema_at || !array_at) throw nb::python_error();
        if (!schema_at->release || !array_at->release)
            throw nb::value_error((std::string(name) + ": this Arrow array was handed over before").c_str());
        return read_arrow(*schema_at, *array_at, name);
    }

    Column ids(nb::handle object, const char* name) {
        Column result = column(object, name);
        check_ids(result);
        return result;
    }

    std::optional<Column> numbers(nb::handle object, const char* name) {
        if (object.is_none()) return std::nullopt;
        Column result = column(object, name);
        check_numbers(result);
        return result;
    }

    Matrix matrix(nb::handle object, const char* name, PyArrayObject* like) {
        if (!PyArray_Check(object.ptr())) throw nb::type_error((std::string(name) + ": not a NumPy array").c_str());
        PyArrayObject* array = as_array(object);
        if (PyArray_NDIM(array) != 2) throw nb::value_error((std::string(name) + ": must have two dimensions").c_str());
        if (like && !PyArray_SAMESHAPE(array, like))
            throw nb::value_error((std::string(name) + " and scores differ in shape").c_str());
        if (PyArray_STRIDE(array, 1) != PyArray_ITEMSIZE(array) || !PyArray_ISBEHAVED_RO(array)) array = plain(object);
        Matrix result{{}, PyArray_STRIDE(array, 0)};
        result.cells.name = name;
        result.cells.type = numpy_kind(array, name);
        result.cells.length = PyArray_DIM(array, 1);
        result.cells.values = PyArray_DATA(array);
        return result;
    }

private:
    Column numpy_column(nb::handle object, const char* name) {
        PyArrayObject* array = as_array(object);
        if (PyArray_NDIM(array) != 1) throw nb::value_error((std::string(name) + ": must have one dimension").c_str());
        array = plain(object);
        Column column;
        column.name = name;
        column.length = PyArray_DIM(array, 0);
        if (column.length == 0) return column;
        column.type = numpy_kind(array, name);
        column.values = PyArray_DATA(array);
        return column;
    }

    // The array itself if it lies in one piece, in this machine's byte order; else a copy.
    PyArrayObject* plain(nb::handle object) {
        keep_.push_back(checked(PyArray_FROM_OF(object.ptr(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED)));
        return as_array(keep_.back());
    }

    std::vector<nb::object> keep_;
};

// A value of a column as Python has it.
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

// The query or the item of a problem: what it is, and what the user calls it.
struct Named {
    const char* what;  // "query" or "row", "item" or "column"
    nb::object id;

    std::string text() const { return std::string(what) + " " + nb::repr(id).c_str(); }
};

const char* side_of(bool in_run) { return in_run ? "run" : "truth"; }

void set_error(const std::string& text, const Where& where) {
    set_data_error(nb::str(text.data(), text.size()).ptr(), where);
}

// `row` is the problem's in the user's columns, `value` the number that may be wrong.
[[noreturn]] void fail(const Problem& problem, const Named& query, const Named& item, int64_t row,
                       const std::optional<Column>& values) {
    const char* side = side_of(problem.in_run);
    std::string text = query.text();
    if (problem.kind == Problem::twice) {
        text += ": " + item.text() + " appears twice in the " + side;
    } else if (problem.kind == Problem::two_grades) {
        text += ": " + item.text() + " is judged twice, with two grades";
    } else {
        const std::string value = nb::repr(value_of(*values, problem.row)).c_str();
        text += ", " + item.text() + ": " + (problem.in_run ? "score" : "grade");
        text += values->is_int() ? " " + value + " is too large to be exact as a float" : " is " + value;
    }
    set_error(text, {.kind = problem.kind == Problem::bad_value ? "number" : "twice",
                     .side = side,
                     .query = query.id.ptr(),
                     .item = item.id.ptr(),
                     .row = row});
    throw nb::python_error();
}

// Runs a door without the GIL, so that other Python threads go on and Ctrl-C is heard.
template <class Door>
auto open(int threads, Door door) {
    Team team(threads, [] {
        const nb::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;
    });
    try {
        const nb::gil_scoped_release no_gil;
        return door(team);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

void check_lengths(const Column& items, const Column& other) {
    if (items.length != other.length)
        throw nb::value_error((std::string(items.name) + " and " + other.name + " differ in length: " +
                               std::to_string(items.length) + " and " + std::to_string(other.length))
                                  .c_str());
}

template <class Columns>
void read_rows(Inputs& inputs, Columns& truth, Columns& run, nb::handle truth_item, nb::handle truth_grade,
               nb::handle run_item, nb::handle run_score) {
    truth.items = inputs.ids(truth_item, "truth items");
    truth.values = inputs.numbers(truth_grade, "truth grades");
    run.items = inputs.ids(run_item, "run items");
    run.values = inputs.numbers(run_score, "run scores");
    check_same_kind(truth.items, run.items);
    if (truth.values) check_lengths(truth.items, *truth.values);
    if (run.values) check_lengths(run.items, *run.values);
}

nb::object index_array(const std::vector<int64_t>& rows) {
    Array<int64_t> array(std::ssize(rows));
    std::copy(rows.begin(), rows.end(), array.data());
    return to_numpy(array, std::ssize(rows));
}

nb::object bind_columns(nb::handle truth_query, nb::handle truth_item, nb::handle truth_grade, nb::handle run_query,
                        nb::handle run_item, nb::handle run_score, nb::handle how) {
    const Options options = read_options(how);
    Inputs inputs;
    Rows truth, run;
    truth.queries = inputs.ids(truth_query, "truth queries");
    run.queries = inputs.ids(run_query, "run queries");
    check_same_kind(truth.queries, run.queries);
    read_rows(inputs, truth, run, truth_item, truth_grade, run_item, run_score);
    check_lengths(truth.queries, truth.items);
    check_lengths(run.queries, run.items);
    ColumnResult result;
    try {
        open(options.threads, [&](Team& team) { align_columns(truth, run, options, team, result); });
    } catch (const Problem& problem) {
        const Rows& side = problem.in_run ? run : truth;
        const auto query = static_cast<size_t>(problem.query), judged = result.queries.size();
        fail(problem,
             {"query", query < judged ? value_of(truth.queries, result.queries[query])
                                      : value_of(run.queries, result.extra[query - judged])},
             {"item", value_of(side.items, problem.row)}, problem.row, side.values);
    }
    return to_alignment(index_array(result.queries), index_array(result.extra), result.output);
}

std::vector<int64_t> read_indices(Inputs& inputs, nb::handle object, const char* name) {
    const Column column = inputs.ids(object, name);
    if (column.is_text()) throw nb::type_error((std::string(name) + " must be integers").c_str());
    std::vector<int64_t> indices(static_cast<size_t>(column.length));
    IntKeys::with_values(column, [&](auto get) {
        for (int64_t i = 0; i < column.length; ++i) indices[static_cast<size_t>(i)] = get(i);
    });
    return indices;
}

nb::object bind_lists(nb::handle truth_offsets, nb::handle truth_items, nb::handle truth_grades, nb::handle run_offsets,
                      nb::handle run_items, nb::handle run_scores, nb::handle run_rows, nb::handle how,
                      nb::handle names) {
    const Options options = read_options(how);
    Inputs inputs;
    Lists truth, run;
    truth.offsets = read_indices(inputs, truth_offsets, "truth offsets");
    run.offsets = read_indices(inputs, run_offsets, "run offsets");
    read_rows(inputs, truth, run, truth_items, truth_grades, run_items, run_scores);
    std::optional<std::vector<int64_t>> pairs;
    if (!run_rows.is_none()) pairs = read_indices(inputs, run_rows, "run_rows");
    try {
        Output output =
            open(options.threads, [&](Team& team) { return align_lists(truth, run, pairs, options, team); });
        return to_alignment(nb::none(), nb::none(), output);
    } catch (const Problem& problem) {
        const Lists& side = problem.in_run ? run : truth;
        const nb::object query = nb::int_(problem.query);
        fail(problem, names.is_none() ? Named{"row", query} : Named{"query", names(query)},
             {"item", value_of(side.items, problem.row)}, problem.row, side.values);
    }
}

int64_t read_depth(nb::handle depth) {
    return depth.is_none() ? std::numeric_limits<int64_t>::max() : nb::cast<int64_t>(depth);
}

nb::object bind_first_columns(nb::handle known, nb::handle query, nb::handle item, nb::handle score, nb::handle how,
                              nb::handle depth) {
    const Options options = read_options(how);
    const int64_t rows = read_depth(depth);
    Inputs inputs;
    Rows run;
    const Column named = inputs.ids(known, "truth queries");
    run.queries = inputs.ids(query, "run queries");
    check_same_kind(named, run.queries);
    run.items = inputs.ids(item, "run items");
    run.values = inputs.numbers(score, "run scores");
    if (run.values) check_lengths(run.items, *run.values);
    check_lengths(run.queries, run.items);
    ShownResult result;
    try {
        open(options.threads, [&](Team& team) { first_columns(named, run, options, rows, team, result); });
    } catch (const Problem& problem) {
        const auto at = static_cast<size_t>(problem.query), judged = result.queries.size();
        fail(problem,
             {"query",
              at < judged ? value_of(named, result.queries[at]) : value_of(run.queries, result.extra[at - judged])},
             {"item", value_of(run.items, problem.row)}, problem.row, run.values);
    }
    First& first = result.first;
    return nb::make_tuple(to_numpy(first.offsets, first.queries + 1), to_numpy(first.rows, first.count), first.dropped);
}

nb::object bind_first_lists(nb::handle offsets, nb::handle items, nb::handle scores, nb::handle run_rows,
                            nb::handle how, nb::handle depth, nb::handle names) {
    const Options options = read_options(how);
    const int64_t rows = read_depth(depth);
    Inputs inputs;
    Lists run;
    run.offsets = read_indices(inputs, offsets, "run offsets");
    run.items = inputs.ids(items, "run items");
    run.values = inputs.numbers(scores, "run scores");
    if (run.values) check_lengths(run.items, *run.values);
    std::optional<std::vector<int64_t>> pairs;
    if (!run_rows.is_none()) pairs = read_indices(inputs, run_rows, "run_rows");
    try {
        First first = open(options.threads, [&](Team& team) { return first_lists(run, pairs, options, rows, team); });
        return nb::make_tuple(to_numpy(first.offsets, first.queries + 1), to_numpy(first.rows, first.count),
                              first.dropped);
    } catch (const Problem& problem) {
        const nb::object query = nb::int_(problem.query);
        fail(problem, names.is_none() ? Named{"row", query} : Named{"query", names(query)},
             {"item", value_of(run.items, problem.row)}, problem.row, run.values);
    }
}

// The array's memory, which `keep` holds: of this type and one dimension, copied if need be.
template <class T>
std::span<const T> read_span(std::vector<nb::object>& keep, nb::handle object, const char* name) {
    if (!PyArray_Check(object.ptr()) || !PyArray_EquivTypenums(PyArray_TYPE(as_array(object)), numpy_type<T>) ||
        PyArray_NDIM(as_array(object)) != 1)
        throw nb::type_error((std::string(name) + ": not a NumPy array of the right type and one dimension").c_str());
    keep.push_back(checked(PyArray_FROM_OF(object.ptr(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED)));
    PyArrayObject* array = as_array(keep.back());
    return {static_cast<const T*>(PyArray_DATA(array)), static_cast<size_t>(PyArray_DIM(array, 0))};
}

nb::object bind_items(nb::handle query, nb::handle item, nb::handle codes, nb::handle threads) {
    Inputs inputs;
    const Column queries = inputs.ids(query, "truth queries"), items = inputs.ids(item, "truth items");
    check_lengths(queries, items);
    std::vector<nb::object> keep;
    const int64_t* subtopics = nullptr;
    if (!codes.is_none()) {
        const std::span<const int64_t> given = read_span<int64_t>(keep, codes, "codes");
        if (std::ssize(given) != items.length) throw nb::value_error("truth items and codes differ in length");
        subtopics = given.data();
    }
    Items found =
        open(read_threads(threads), [&](Team& team) { return item_columns(queries, items, subtopics, team); });
    return nb::make_tuple(to_numpy(found.offsets, found.queries + 1), to_numpy(found.first, found.count),
                          to_numpy(found.order, found.count), to_numpy(found.rows.ends, found.count),
                          to_numpy(found.rows.row, found.rows.count), to_numpy(found.rows.subtopic, found.rows.count),
                          found.repeated);
}

void check_offsets(std::span<const int64_t> offsets, size_t end, const char* name) {
    bool right = !offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<int64_t>(end);
    for (size_t i = 1; i < offsets.size(); ++i) right &= offsets[i - 1] <= offsets[i];
    if (!right) throw nb::value_error((std::string(name) + ": not offsets into what follows").c_str());
}

nb::object bind_greedy(nb::handle queries, nb::handle items, nb::handle subtopic, nb::handle relevant, nb::handle order,
                       double alpha, nb::handle weights, nb::handle threads) {
    std::vector<nb::object> keep;
    const Covered truth{read_span<int64_t>(keep, queries, "queries"), read_span<int64_t>(keep, items, "items"),
                        read_span<int64_t>(keep, subtopic, "subtopic"), read_span<bool>(keep, relevant, "relevant"),
                        read_span<int64_t>(keep, order, "order")};
    const std::span<const double> places = read_span<double>(keep, weights, "weights");
    check_offsets(truth.queries, truth.order.size(), "queries");
    check_offsets(truth.items, truth.subtopic.size(), "items");
    if (truth.items.size() != truth.order.size() + 1) throw nb::value_error("items and order differ in length");
    if (truth.relevant.size() != truth.subtopic.size()) throw nb::value_error("subtopic and relevant differ in length");
    for (int64_t number : truth.subtopic)
        if (number < 0 || number >= std::ssize(truth.subtopic)) throw nb::value_error("subtopic: out of range");
    Filled filled = open(read_threads(threads), [&](Team& team) { return fill_greedily(truth, alpha, places, team); });
    return nb::make_tuple(to_numpy(filled.earned, std::ssize(truth.queries) - 1),
                          to_numpy(filled.rank, std::ssize(truth.order)));
}

nb::object bind_dense(nb::handle scores, nb::handle labels, nb::handle mask, nb::handle how) {
    const Options options = read_options(how);
    Inputs inputs;
    Dense input{};
    input.scores = inputs.matrix(scores, "scores", nullptr);
    input.labels = inputs.matrix(labels, "labels", as_array(scores));
    if (!mask.is_none()) input.mask = inputs.matrix(mask, "mask", as_array(scores));
    if (input.mask && input.mask->cells.type != Type::bytes) throw nb::type_error("mask: must be booleans");
    input.queries = PyArray_DIM(as_array(scores), 0);
    input.items = PyArray_DIM(as_array(scores), 1);
    try {
        Output output = open(options.threads, [&](Team& team) { return align_dense(input, options, team); });
        return to_alignment(nb::none(), nb::none(), output);
    } catch (const Problem& problem) {
        Matrix& matrix = problem.in_run ? input.scores : input.labels;
        matrix.cells.values = static_cast<const char*>(matrix.cells.values) + problem.query * matrix.row_step;
        fail(problem, {"row", nb::int_(problem.query)}, {"column", nb::int_(problem.row)}, problem.query, matrix.cells);
    }
}

nb::object number_array(const std::vector<double>& numbers) {
    Array<double> array(std::ssize(numbers));
    std::copy(numbers.begin(), numbers.end(), array.data());
    return to_numpy(array, std::ssize(numbers));
}

// The queries of a truth, and the column they are in.
class BoundQueries {
public:
    BoundQueries(nb::handle query, nb::handle threads) {
        column_ = inputs_.ids(query, "truth queries");
        open(read_threads(threads), [&](Team& team) { queries_ = number_queries(column_, team); });
    }

    nb::tuple stretches(nb::handle query, nb::handle threads) const {
        Inputs inputs;
        const Column column = inputs.ids(query, "run queries");
        check_same_kind(column_, column);
        const Stretches found =
            open(read_threads(threads), [&](Team& team) { return queries_->stretches(column, team); });
        return nb::make_tuple(index_array(found.starts), index_array(found.queries));
    }
    nb::object first_rows() const { return index_array(queries_->first_rows); }
    nb::object offsets() const { return index_array(queries_->offsets); }
    nb::object rows() const { return queries_->rows.empty() ? nb::none() : index_array(queries_->rows); }

private:
    Inputs inputs_;
    Column column_;
    std::unique_ptr<Queries> queries_;
};

// A stream, and the columns of its truth, which it reads where they lie.
class BoundStream {
public:
    BoundStream(nb::handle query, nb::handle item, nb::handle grade, nb::handle how) {
        const Options options = read_options(how);
        truth_.queries = inputs_.ids(query, "truth queries");
        truth_.items = inputs_.ids(item, "truth items");
        truth_.values = inputs_.numbers(grade, "truth grades");
        check_lengths(truth_.queries, truth_.items);
        if (truth_.values) check_lengths(truth_.items, *truth_.values);
        std::vector<int64_t> first_rows;
        try {
            stream_ = make_stream(truth_, options, first_rows);
        } catch (const Problem& problem) {
            fail(problem, {"query", value_of(truth_.queries, first_rows[static_cast<size_t>(problem.query)])},
                 {"item", value_of(truth_.items, problem.row)}, problem.row, truth_.values);
        }
    }

    nb::object find(nb::handle query, nb::handle item, nb::handle score, nb::handle threads) {
        std::vector<int64_t> extra;
        stream_->sealed = false;
        read_batch(query, item, score, threads,
                   [&](const Rows& batch, Team& team) { extra = stream_->find(batch, team); });
        return index_array(extra);
    }

    void count(nb::handle query, nb::handle item, nb::handle score, nb::handle threads) {
        read_batch(query, item, score, threads, [&](const Rows& batch, Team& team) {
            if (!stream_->sealed) stream_->seal(team);
            stream_->count(batch, team);
        });
    }

    nb::object result(nb::handle how) {
        const Options options = read_options(how);
        Output output = open(options.threads, [&](Team& team) {
            if (!stream_->sealed) stream_->seal(team);
            return stream_->result(options.order, options.zeros, team);
        });
        return to_alignment(index_array(stream_->first_rows()), index_array({}), output);
    }

    nb::tuple truth() const {
        return nb::make_tuple(index_array(stream_->truth_rows()), index_array(stream_->truth_offsets()));
    }

    nb::tuple finds() const {
        const Finds& all = stream_->finds;
        return nb::make_tuple(number_array(all.scores), index_array(all.retrieved), index_array(all.repeated),
                              number_array(all.repeated_scores), all.rows, all.unjudged);
    }
    void set_finds(const nb::tuple& state) {
        check_fields(state, 6);
        const Finds& now = stream_->finds;
        const nb::object again = state[2];
        Finds all{.scores = read_vector<double>(state[0], now.scores.size()),
                  .retrieved = read_counts(state[1], now.retrieved.size()),
                  .repeated = read_vector<int64_t>(again, nb::len(again)),
                  .repeated_scores = {},
                  .rows = read_count(state[4]),
                  .unjudged = read_count(state[5])};
        all.repeated_scores = read_vector<double>(state[3], all.repeated.size());
        for (int64_t item : all.repeated)
            if (item < 0 || item >= std::ssize(all.scores)) fail_range();
        stream_->finds = std::move(all);
        stream_->sealed = false;
    }

    nb::tuple counts() {
        if (!stream_->sealed) open(0, [&](Team& team) { stream_->seal(team); });
        const Counts& all = stream_->counts;
        return nb::make_tuple(index_array(all.levels), index_array(all.before), all.rows);
    }
    void set_counts(const nb::tuple& state) {
        check_fields(state, 3);
        if (!stream_->sealed) open(0, [&](Team& team) { stream_->seal(team); });
        const Counts& now = stream_->counts;
        stream_->counts = {.levels = read_counts(state[0], now.levels.size()),
                           .before = read_counts(state[1], now.before.size()),
                           .rows = read_count(state[2])};
    }

private:
    template <class Use>
    void read_batch(nb::handle query, nb::handle item, nb::handle score, nb::handle threads, Use use) {
        const int workers = read_threads(threads);
        Inputs inputs;
        Rows batch{inputs.ids(query, "run queries"), inputs.ids(item, "run items"),
                   inputs.numbers(score, "run scores")};
        if (!batch.values) throw nb::type_error("run scores: must not be None");
        check_same_kind(truth_.queries, batch.queries);
        check_same_kind(truth_.items, batch.items);
        check_lengths(batch.queries, batch.items);
        check_lengths(batch.items, *batch.values);
        if (broken_)
            throw nb::value_error("an earlier batch stopped half-way, so this stream cannot go on; start again");
        if (batch.queries.length == 0) return;
        broken_ = true;
        try {
            open(workers, [&](Team& team) { use(batch, team); });
        } catch (const Problem& problem) {
            fail(problem, {"query", value_of(batch.queries, problem.row)}, {"item", value_of(batch.items, problem.row)},
                 problem.row, batch.values);
        }
        broken_ = false;
    }

    static void fail_size() { throw nb::value_error("a stream's state has the wrong size"); }
    static void fail_range() { throw nb::value_error("a stream's state is out of range"); }

    static void check_fields(const nb::tuple& state, size_t size) {
        if (state.size() != size) fail_size();
    }

    template <class T>
    static std::vector<T> read_vector(nb::handle object, size_t size) {
        const nb::object array = checked(PyArray_FROM_OTF(object.ptr(), numpy_type<T>, NPY_ARRAY_CARRAY_RO));
        if (PyArray_NDIM(as_array(array)) != 1 || static_cast<size_t>(PyArray_DIM(as_array(array), 0)) != size)
            fail_size();
        const auto* data = static_cast<const T*>(PyArray_DATA(as_array(array)));
        return {data, data + size};
    }

    // Counts of rows, which are added up later: so must they be here, without overflow.
    static std::vector<int64_t> read_counts(nb::handle object, size_t size) {
        std::vector<int64_t> counts = read_vector<int64_t>(object, size);
        int64_t rows = 0;
        for (int64_t count : counts) rows += checked_count(count), checked_count(rows);
        return counts;
    }
    static int64_t read_count(nb::handle object) { return checked_count(nb::cast<int64_t>(object)); }
    static int64_t checked_count(int64_t count) {
        if (count < 0 || count > 1LL << 53) fail_range();
        return count;
    }

    Inputs inputs_;
    Rows truth_;
    std::unique_ptr<Stream> stream_;
    bool broken_ = false;
};

// Metrics' functions written down, ready to be run over any alignment.
class BoundProgram {
public:
    BoundProgram(nb::handle steps, nb::handle spaces, nb::handle constants, int registers, int columns, int tables,
                 int answers, int faults)
        : program_{{}, {{}}, {}, registers, columns, tables, answers, faults} {
        for (nb::handle step : steps) {
            const auto part = [&](size_t at) { return nb::cast<int>(step[at]); };
            program_.steps.push_back(
                {op_named(nb::cast<const char*>(step[0])), part(1), part(2), part(3), part(4), part(5)});
        }
        for (nb::handle space : spaces) {
            const nb::object most = space[1];
            Space made{nb::cast<int>(space[0])};
            if (!most.is_none()) made.most = nb::cast<int64_t>(most);
            program_.spaces.push_back(made);
        }
        for (nb::handle constant : constants) program_.constants.push_back(nb::cast<int>(constant));
        program_.check();
    }

    nb::tuple run(int64_t queries, nb::handle columns, nb::handle constants, nb::handle tables, nb::handle threads) {
        Data data;
        data.queries = queries;
        std::vector<int64_t> lengths;
        std::vector<nb::object> held;
        for (nb::handle column : columns) data.columns.push_back(read(column, lengths, held));
        for (nb::handle constant : constants) data.constants.push_back(nb::cast<double>(constant));
        for (nb::handle table : tables) {
            std::vector<int64_t> length;
            const Given given = read(table, length, held);
            if (given.type != Given::float64 || !length[0]) throw nb::value_error("a table of floats has an entry");
            data.tables.emplace_back(static_cast<const double*>(given.values), static_cast<size_t>(length[0]));
        }
        check(data, lengths);
        Answers found = open(read_threads(threads), [&](Team& team) { return run_program(program_, data, team); });
        nb::list values, refusals;
        for (Array<double>& each : found.values) values.append(to_numpy(each, queries));
        for (const Refusal& each : found.refusals) refusals.append(nb::make_tuple(each.query, each.value));
        return nb::make_tuple(std::move(values), std::move(refusals));
    }

    const Program& program() const { return program_; }

private:
    static Given read(nb::handle object, std::vector<int64_t>& lengths, std::vector<nb::object>& held) {
        if (object.is_none()) return lengths.push_back(0), Given{};
        if (!PyArray_Check(object.ptr())) throw nb::type_error("a program runs over arrays");
        held.push_back(checked(PyArray_FROM_OF(object.ptr(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED)));
        PyArrayObject* array = as_array(held.back());
        lengths.push_back(PyArray_SIZE(array));
        const int type = PyArray_TYPE(array);
        const bool whole = PyArray_DESCR(array)->kind == 'i' && PyArray_ITEMSIZE(array) == 8;
        if (!whole && type != NPY_DOUBLE && type != NPY_BOOL)
            throw nb::type_error("a program runs over int64, float64 and bool");
        return {whole ? Given::int64 : type == NPY_DOUBLE ? Given::float64 : Given::boolean, PyArray_DATA(array)};
    }

    // Every column must reach as far as the program reads it.
    void check(const Data& data, const std::vector<int64_t>& lengths) const {
        const auto demand = [](bool holds) {
            if (!holds) throw nb::value_error("the data is not of the size that the program was made for");
        };
        demand(std::ssize(data.columns) == program_.columns && std::ssize(data.tables) == program_.tables &&
               data.constants.size() == program_.constants.size() && data.queries >= 0);
        std::vector<int64_t> sizes{data.queries};
        for (size_t i = 1; i < program_.spaces.size(); ++i) {
            const auto at = static_cast<size_t>(program_.spaces[i].offsets);
            demand(data.columns[at].type == Given::int64 && lengths[at] == data.queries + 1);
            const auto* offsets = static_cast<const int64_t*>(data.columns[at].values);
            demand(offsets[0] == 0 && std::is_sorted(offsets, offsets + lengths[at]));
            sizes.push_back(offsets[data.queries]);
        }
        for (const Step& step : program_.steps) {
            if (step.op != Op::column) continue;
            for (int at : {step.a, step.b})
                demand(at < 0 || data.columns[static_cast<size_t>(at)].type == Given::none ||
                       lengths[static_cast<size_t>(at)] >= sizes[static_cast<size_t>(step.space)]);
        }
    }

    Program program_;
};

// A truth and a run that were measured, and what is told of them when somebody asks.
struct Swift {
    nb::object queries, extra;
    Output output;
    Plain truth;
    nb::list sums;
    std::vector<double> answers;  // of the program, one after the other

    // Each answer of the program, one value per query.
    nb::list values() const {
        nb::list values;
        for (size_t first = 0; first < answers.size(); first += static_cast<size_t>(output.queries)) {
            Array<double> each(output.queries);
            std::copy_n(answers.data() + first, output.queries, each.data());
            values.append(to_numpy(each, output.queries));
        }
        return values;
    }

    nb::object alignment() {
        if (!queries) throw nb::value_error("the alignment was handed over before");
        return to_alignment(std::move(queries), std::move(extra), output);
    }
};

// One way to align dicts, and one program for what comes of it: the numbers of a small call, without an array.
class Kept {
public:
    // fields: of an alignment, one for each column of the program. short_lists: the tables reach no further.
    // sums: for each metric the answers that are added up above and below (-1: how many queries there are), and the
    // one that says which queries count (-1: all).
    Kept(const BoundProgram& program, nb::handle how, nb::handle fields, nb::handle constants, nb::handle tables,
         nb::handle sums, int64_t short_lists)
        : runner_(program.program()), options_(read_options(how)), short_lists_(short_lists) {
        const Program& made = runner_.program();
        for (nb::handle field : fields) fields_.push_back(field_named(nb::cast<const char*>(field)));
        for (nb::handle constant : constants) data_.constants.push_back(nb::cast<double>(constant));
        for (nb::handle table : tables) {
            const nb::object read = checked(PyArray_FROM_OTF(table.ptr(), NPY_DOUBLE, NPY_ARRAY_CARRAY_RO));
            const auto* first = static_cast<const double*>(PyArray_DATA(as_array(read)));
            tables_.emplace_back(first, first + PyArray_SIZE(as_array(read)));
            if (tables_.back().empty()) throw nb::value_error("a table of floats has an entry");
        }
        for (const std::vector<double>& table : tables_) data_.tables.emplace_back(table);
        for (nb::handle sum : sums) {
            Sum one{};
            for (size_t i = 0; i < 3; ++i)
                if ((one[i] = nb::cast<int>(sum[i])) >= made.answers) throw nb::value_error("no such answer");
            sums_.push_back(one);
        }
        data_.columns.resize(fields_.size());
        if (std::ssize(fields_) != made.columns || std::ssize(tables_) != made.tables ||
            data_.constants.size() != made.constants.size())
            throw nb::value_error("the data is not of the size that the program was made for");
    }

    // None where something is out of the ordinary: whoever asks goes the long way then, where it is said. That nothing
    // returned was judged is, unless there is but one list.
    nb::object measure(nb::handle truth, nb::handle run, bool one_list) {
        try {
            const std::optional<Plain> judged = plain_side(truth.ptr());
            if (!judged || !plain_side(run.ptr())) return nb::none();
            DictResult aligned = align_dicts(truth.ptr(), run.ptr(), options_);
            Swift swift{
                nb::steal(aligned.queries), nb::steal(aligned.extra), std::move(aligned.output), *judged, {}, {}};
            if (!(one_list || swift.output.placements) || !add_up(swift)) return nb::none();
            return nb::cast(std::move(swift));
        } catch (const PythonError&) {
            throw nb::python_error();
        }
    }

private:
    using Field = Given (*)(const Output&);
    using Sum = std::array<int, 3>;

    static Field field_named(std::string_view name) {
        static constexpr std::pair<const char*, Field> known[] = {
            {"retrieved", [](const Output& o) { return Given{Given::int64, o.retrieved.data()}; }},
            {"present", [](const Output& o) { return Given{Given::boolean, o.present.data()}; }},
            {"truth_offsets", [](const Output& o) { return Given{Given::int64, o.truth_offsets.data()}; }},
            {"truth_grades", [](const Output& o) { return Given{Given::float64, o.truth_grades.data()}; }},
            {"ideal_grades", [](const Output& o) { return Given{Given::float64, o.ideal_grades.data()}; }},
            {"placed_offsets", [](const Output& o) { return Given{Given::int64, o.placed_offsets.data()}; }},
            {"rank", [](const Output& o) { return Given{Given::int64, o.rank.data()}; }},
            {"grade", [](const Output& o) { return Given{Given::float64, o.grade.data()}; }},
            {"score", [](const Output& o) { return Given{Given::float64, o.score.data()}; }},
            {"place", [](const Output& o) { return Given{Given::int64, o.place.data()}; }},
            {"above", [](const Output& o) { return o.any_tied ? Given{Given::int64, o.above.data()} : Given{}; }},
            {"tied", [](const Output& o) { return o.any_tied ? Given{Given::int64, o.tied.data()} : Given{}; }},
        };
        for (const auto& [field, get] : known)
            if (name == field) return get;
        throw nb::value_error("no such field of an alignment");
    }

    bool add_up(Swift& swift) {
        const Output& output = swift.output;
        if (output.queries == 0) return false;
        int64_t longest = 0;
        for (int64_t query = 0; query < output.queries; ++query) {
            const int64_t judged = output.truth_offsets.data()[query + 1] - output.truth_offsets.data()[query];
            longest = std::max({longest, output.retrieved.data()[query], judged});
        }
        if (longest > short_lists_) return false;
        data_.queries = output.queries;
        for (size_t i = 0; i < fields_.size(); ++i) data_.columns[i] = fields_[i](output);
        const Answers& found = runner_.run(data_);
        for (const Refusal& refusal : found.refusals)
            if (refusal.query >= 0) return false;
        struct Total {
            double above, below;
            int64_t count;
        };
        std::vector<Total> totals;  // before any object is made, which can run code that comes here again
        for (const Sum& sum : sums_) {
            const auto values = [&](int at) { return at < 0 ? nullptr : found.values[static_cast<size_t>(at)].data(); };
            const double* keep = values(sum[2]);
            int64_t count = found.queries;
            if (keep) count -= std::count(keep, keep + found.queries, 0.0);
            const double below = sum[1] < 0 ? static_cast<double>(count) : total(values(sum[1]), keep, found.queries);
            totals.push_back({total(values(sum[0]), keep, found.queries), below, count});
        }
        swift.answers.reserve(found.values.size() * static_cast<size_t>(found.queries));
        for (const Array<double>& values : found.values)
            swift.answers.insert(swift.answers.end(), values.data(), values.data() + found.queries);
        for (const Total& each : totals) swift.sums.append(nb::make_tuple(each.above, each.below, each.count));
        return true;
    }

    Runner runner_;
    Options options_;
    int64_t short_lists_;
    std::vector<Field> fields_;
    std::vector<std::vector<double>> tables_;
    std::vector<Sum> sums_;
    Data data_;
};

double bind_total(nb::handle values, nb::handle keep) {
    const auto read = [](nb::handle object) {
        return checked(PyArray_FROM_OTF(object.ptr(), NPY_DOUBLE, NPY_ARRAY_CARRAY_RO));
    };
    const nb::object all = read(values), some = keep.is_none() ? nb::none() : read(keep);
    const int64_t count = PyArray_SIZE(as_array(all));
    if (!some.is_none() && PyArray_SIZE(as_array(some)) != count) throw nb::value_error("keep is of another size");
    return total(static_cast<const double*>(PyArray_DATA(as_array(all))),
                 some.is_none() ? nullptr : static_cast<const double*>(PyArray_DATA(as_array(some))), count);
}

nb::tuple bind_exact(nb::handle values) {
    const nb::object all = checked(PyArray_FROM_OTF(values.ptr(), NPY_DOUBLE, NPY_ARRAY_CARRAY_RO));
    const auto* first = static_cast<const double*>(PyArray_DATA(as_array(all)));
    ExactSum sum;
    for (npy_intp i = 0; i < PyArray_SIZE(as_array(all)); ++i) sum.add(first[i]);
    const std::vector<unsigned char> units = sum.bytes();
    return nb::make_tuple(nb::bytes(units.data(), units.size()), sum.other());
}

// Text that was read, without any NumPy.
class BoundText {
public:
    BoundText(nb::handle text, const char* fields, bool more, bool comments, bool blanks, bool utf8,
              nb::handle threads) {
        const TrecShape shape{fields, more, comments, blanks, utf8};
        if (shape.fields.empty() || shape.fields.find_first_not_of("iqnw-") != std::string_view::npos)
            throw nb::value_error("fields: one letter each, i or q (an id), n (a number), w (a whole number) or -");
        struct Buffer {
            Py_buffer view;
            ~Buffer() { PyBuffer_Release(&view); }
        } buffer{};
        if (PyObject_GetBuffer(text.ptr(), &buffer.view, PyBUF_SIMPLE)) throw nb::python_error();
        const std::string_view data(static_cast<const char*>(buffer.view.buf), static_cast<size_t>(buffer.view.len));
        try {
            columns_ = open(read_threads(threads), [&](Team& team) { return parse_trec(data, shape, team); });
        } catch (const BadLine& bad) {
            line_ = 1 + std::count(data.begin(), data.begin() + bad.offset, '\n');
            offset_ = bad.offset;
        }
    }

    BoundText(const BoundText&) = delete;

    // The columns, which are given away; or where the first bad line is: its number, from 1, and its first byte.
    nb::tuple columns() {
        if (line_) return nb::make_tuple(line_, offset_);
        if (std::exchange(given_, true)) throw nb::value_error("the columns of a text are given away once");
        nb::list ids, numbers;
        for (Strings& strings : columns_.ids) ids.append(nb::cast(BoundStrings(std::move(strings), columns_.rows)));
        for (Array<double>& each : columns_.numbers) numbers.append(to_numpy(each, columns_.rows));
        return nb::make_tuple(std::move(ids), std::move(numbers));
    }

private:
    TrecColumns columns_;
    int64_t line_ = 0, offset_ = 0;
    bool given_ = false;
};

}  // namespace
}  // namespace rankstone

NB_MODULE(_core, m) {
    using namespace rankstone;
    nb::set_leak_warnings(false);  // programs are kept until the process ends
    if (_import_array() < 0) throw nb::python_error();
    alignment_type = PyStructSequence_NewType(&description);
    if (!alignment_type) throw nb::python_error();
    m.attr("Alignment") = nb::handle(reinterpret_cast<PyObject*>(alignment_type));
    nb::register_exception_translator([](const std::exception_ptr& failure, void*) {
        try {
            std::rethrow_exception(failure);
        } catch (const ColumnTypeError& error) {
            PyErr_SetString(PyExc_TypeError, error.what());
        } catch (const BadRow& error) {
            set_error(error.what(), {.kind = error.kind, .side = side_of(error.in_run), .row = error.row});
        } catch (const ColumnValueError& error) {
            PyErr_SetString(PyExc_ValueError, error.what());
        }
    });
    m.def("align_dicts", &bind_dicts, "truth"_a.none(), "run"_a.none(), "how"_a);
    m.def("unite_dicts", &bind_unite, "names"_a, "queries"_a, "contents"_a);
    m.def("spread_dicts", &bind_spread, "truth"_a.none());
    m.def("align_columns", &bind_columns, "truth_query"_a.none(), "truth_item"_a.none(), "truth_grade"_a.none(),
          "run_query"_a.none(), "run_item"_a.none(), "run_score"_a.none(), "how"_a);
    m.def("align_lists", &bind_lists, "truth_offsets"_a.none(), "truth_items"_a.none(), "truth_grades"_a.none(),
          "run_offsets"_a.none(), "run_items"_a.none(), "run_scores"_a.none(), "run_rows"_a.none(), "how"_a,
          "names"_a.none() = nb::none());
    m.def("first_columns", &bind_first_columns, "known"_a.none(), "query"_a.none(), "item"_a.none(), "score"_a.none(),
          "how"_a, "depth"_a.none());
    m.def("first_lists", &bind_first_lists, "offsets"_a.none(), "items"_a.none(), "scores"_a.none(),
          "run_rows"_a.none(), "how"_a, "depth"_a.none(), "names"_a.none() = nb::none());
    m.def("item_columns", &bind_items, "query"_a.none(), "item"_a.none(), "codes"_a.none(), "threads"_a = 0);
    m.def("fill_greedily", &bind_greedy, "queries"_a.none(), "items"_a.none(), "subtopic"_a.none(), "relevant"_a.none(),
          "order"_a.none(), "alpha"_a, "weights"_a.none(), "threads"_a = 0);
    m.def("align_dense", &bind_dense, "scores"_a.none(), "labels"_a.none(), "mask"_a.none(), "how"_a);
    nb::class_<BoundText>(m, "Text")
        .def(nb::init<nb::handle, const char*, bool, bool, bool, bool, nb::handle>(), "text"_a, "fields"_a,
             nb::kw_only(), "more"_a = false, "comments"_a = true, "blanks"_a = true, "utf8"_a = true, "threads"_a = 0)
        .def("columns", &BoundText::columns);
    m.def("total", &bind_total, "values"_a, "keep"_a.none() = nb::none());
    m.def("exact_total", &bind_exact, "values"_a);
    nb::class_<BoundProgram>(m, "Program")
        .def(nb::init<nb::handle, nb::handle, nb::handle, int, int, int, int, int>(), "steps"_a, "spaces"_a,
             "constants"_a, "registers"_a, "columns"_a, "tables"_a, "answers"_a, "faults"_a)
        .def("run", &BoundProgram::run, "queries"_a, "columns"_a, "constants"_a, "tables"_a, "threads"_a = 0);
    m.def("is_plain", [](nb::handle side) { return plain_side(side.ptr()).has_value(); }, "side"_a.none());
    nb::class_<Swift>(m, "Swift")
        .def_ro("sums", &Swift::sums)
        .def_prop_ro("graded", [](const Swift& swift) { return swift.truth.graded; })
        .def_prop_ro("ordered", [](const Swift& swift) { return swift.truth.ordered; })
        .def_prop_ro("placed", [](const Swift& swift) { return swift.output.placements; })
        .def("values", &Swift::values)
        .def("alignment", &Swift::alignment);
    nb::class_<Kept>(m, "Kept")
        .def(nb::init<const BoundProgram&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, int64_t>(),
             "program"_a, "how"_a, "fields"_a, "constants"_a, "tables"_a, "sums"_a, "short_lists"_a)
        .def("measure", &Kept::measure, "truth"_a.none(), "run"_a.none(), "one_list"_a = false);
    nb::class_<BoundStrings>(m, "Strings")
        .def("__len__", &BoundStrings::size)
        .def(
            "__getitem__",
            [](nb::handle self, nb::handle row) { return nb::cast<const BoundStrings&>(self).at(self, row); }, "row"_a)
        .def("words", &BoundStrings::words, "rows"_a)
        .def("__iter__", [](nb::handle self) { return checked(PySeqIter_New(self.ptr())); })
        .def("__arrow_c_array__", &BoundStrings::arrow, "requested_schema"_a.none() = nb::none());
    nb::class_<BoundQueries>(m, "Queries")
        .def(nb::init<nb::handle, nb::handle>(), "query"_a.none(), "threads"_a = 0)
        .def("stretches", &BoundQueries::stretches, "query"_a.none(), "threads"_a = 0)
        .def_prop_ro("first_rows", &BoundQueries::first_rows)
        .def_prop_ro("offsets", &BoundQueries::offsets)
        .def_prop_ro("rows", &BoundQueries::rows);
    nb::class_<BoundStream>(m, "Stream")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), "truth_query"_a.none(), "truth_item"_a.none(),
             "truth_grade"_a.none(), "how"_a)
        .def("find", &BoundStream::find, "query"_a.none(), "item"_a.none(), "score"_a.none(), "threads"_a = 0)
        .def("count", &BoundStream::count, "query"_a.none(), "item"_a.none(), "score"_a.none(), "threads"_a = 0)
        .def("result", &BoundStream::result, "how"_a)
        .def("truth", &BoundStream::truth)
        .def_prop_rw("finds", &BoundStream::finds, &BoundStream::set_finds)
        .def_prop_rw("counts", &BoundStream::counts, &BoundStream::set_counts);
}
