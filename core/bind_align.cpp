// Alignments, by each way in which truths and runs come; and the first items of each list.
#include <limits>

#include "bind.hpp"
#include "dense.hpp"
#include "dicts.hpp"

namespace rankstone {
namespace {

// -- what they answer ------------------------------------------------------------------------------------------------

enum class Extent { queries, offsets, truth, placed, tied };

int64_t size_of(const Output& output, Extent extent) {
    if (extent == Extent::queries) return output.queries;
    if (extent == Extent::offsets) return output.queries + 1;
    return extent == Extent::truth ? output.truth_rows : output.placements;
}

bool is_there(const Output& output, Extent extent) { return extent != Extent::tied || output.any_tied; }

struct Field {
    const char* name;
    nb::object (*array)(Output&);
    FieldView view;
};

template <class T>
Given given(const Array<T>& array) {
    constexpr auto type = std::is_same_v<T, bool>     ? Given::boolean
                          : std::is_same_v<T, double> ? Given::float64
                                                      : Given::int64;
    return {type, array.data()};
}

template <auto member, Extent extent>
constexpr Field field(const char* name) {
    return {name,
            [](Output& output) {
                return is_there(output, extent) ? to_numpy(output.*member, size_of(output, extent)) : nb::none();
            },
            [](const Output& output) { return is_there(output, extent) ? given(output.*member) : Given{}; }};
}

// The arrays of an alignment, in their order; `queries` and `extra` come before them, `dropped` after. _core.pyi says
// what they hold.
constexpr Field fields[] = {
    field<&Output::retrieved, Extent::queries>("retrieved"),
    field<&Output::present, Extent::queries>("present"),
    field<&Output::truth_offsets, Extent::offsets>("truth_offsets"),
    field<&Output::truth_grades, Extent::truth>("truth_grades"),
    field<&Output::ideal_grades, Extent::truth>("ideal_grades"),
    field<&Output::placed_offsets, Extent::offsets>("placed_offsets"),
    field<&Output::rank, Extent::placed>("rank"),
    field<&Output::grade, Extent::placed>("grade"),
    field<&Output::score, Extent::placed>("score"),
    field<&Output::place, Extent::placed>("place"),
    field<&Output::above, Extent::tied>("above"),
    field<&Output::tied, Extent::tied>("tied"),
};

PyTypeObject* alignment_type = nullptr;  // made once, with the module

PyTypeObject* make_alignment_type() {
    static std::vector<PyStructSequence_Field> names{{"queries", nullptr}, {"extra", nullptr}};
    for (const Field& field : fields) names.push_back({field.name, nullptr});
    names.push_back({"dropped", nullptr});
    const int count = static_cast<int>(names.size());
    names.push_back({nullptr, nullptr});
    PyStructSequence_Desc description{"rankstone._core.Alignment", "Where the judged items stand.", names.data(),
                                      count};
    PyTypeObject* type = PyStructSequence_NewType(&description);
    if (!type) throw nb::python_error();
    return type;
}

nb::tuple to_tuple(First& first) {
    return nb::make_tuple(to_numpy(first.offsets, first.queries + 1), to_numpy(first.rows, first.count), first.dropped);
}

// -- dicts -----------------------------------------------------------------------------------------------------------

nb::object bind_dicts(nb::handle truth, nb::handle run, nb::handle how) {
    DictResult result = align_dicts(truth.ptr(), run.ptr(), read_options(how));
    return to_alignment(nb::steal(result.queries), nb::steal(result.extra), result.output);
}

nb::tuple bind_unite(nb::handle names, nb::handle queries, nb::handle contents) {
    UnitedResult result = unite_dicts(names.ptr(), queries.ptr(), contents.ptr());
    const nb::object items = nb::steal(result.items);
    return nb::make_tuple(items, to_numpy(result.counts, result.queries), to_numpy(result.item, result.rows),
                          to_numpy(result.score, result.rows));
}

// -- columns ---------------------------------------------------------------------------------------------------------

// The query of a problem, by its number among those of a result.
template <class Result>
Named query_of(const Problem& problem, const Result& result, const Column& judged, const Column& returned) {
    const auto query = static_cast<size_t>(problem.query), count = result.queries.size();
    return {"query",
            query < count ? value_of(judged, result.queries[query]) : value_of(returned, result.extra[query - count])};
}

nb::object bind_columns(nb::handle truth_query, nb::handle truth_item, nb::handle truth_grade, nb::handle run_query,
                        nb::handle run_item, nb::handle run_score, nb::handle how) {
    const Options options = read_options(how);
    Inputs inputs;
    const Rows truth = read_rows(inputs, truth_names, truth_query, truth_item, truth_grade);
    const Rows run = read_rows(inputs, run_names, run_query, run_item, run_score);
    check_same_kind(truth.queries, run.queries);
    check_same_kind(truth.items, run.items);
    ColumnResult result;
    try {
        without_gil(options.threads, [&](Team& team) { align_columns(truth, run, options, team, result); });
    } catch (const Problem& problem) {
        fail(problem, query_of(problem, result, truth.queries, run.queries), problem.in_run ? run : truth);
    }
    return to_alignment(to_numpy(result.queries), to_numpy(result.extra), result.output);
}

int64_t read_depth(nb::handle depth) {
    return depth.is_none() ? std::numeric_limits<int64_t>::max() : nb::cast<int64_t>(depth);
}

nb::tuple bind_first_columns(nb::handle known, nb::handle query, nb::handle item, nb::handle score, nb::handle how,
                             nb::handle depth) {
    const Options options = read_options(how);
    const int64_t rows = read_depth(depth);
    Inputs inputs;
    const Column judged = inputs.ids(known, truth_names.queries);
    const Rows run = read_rows(inputs, run_names, query, item, score);
    check_same_kind(judged, run.queries);
    ShownResult result;
    try {
        without_gil(options.threads, [&](Team& team) { first_columns(judged, run, options, rows, team, result); });
    } catch (const Problem& problem) {
        fail(problem, query_of(problem, result, judged, run.queries), run);
    }
    return to_tuple(result.first);
}

// -- lists -----------------------------------------------------------------------------------------------------------

// The list of a problem, by its row or by what the user calls that.
Named list_of(const Problem& problem, nb::handle names) {
    const nb::object row = nb::int_(problem.query);
    return names.is_none() ? Named{"row", row} : Named{"query", names(row)};
}

std::optional<std::vector<int64_t>> read_run_rows(Inputs& inputs, nb::handle rows) {
    if (rows.is_none()) return std::nullopt;
    return inputs.indices(rows, "run_rows");
}

nb::object bind_lists(nb::handle truth_offsets, nb::handle truth_items, nb::handle truth_grades, nb::handle run_offsets,
                      nb::handle run_items, nb::handle run_scores, nb::handle run_rows, nb::handle how,
                      nb::handle names) {
    const Options options = read_options(how);
    Inputs inputs;
    const Lists truth = read_lists(inputs, truth_names, truth_offsets, truth_items, truth_grades);
    const Lists run = read_lists(inputs, run_names, run_offsets, run_items, run_scores);
    check_same_kind(truth.items, run.items);
    const auto pairs = read_run_rows(inputs, run_rows);
    try {
        Output output =
            without_gil(options.threads, [&](Team& team) { return align_lists(truth, run, pairs, options, team); });
        return to_alignment(nb::none(), nb::none(), output);
    } catch (const Problem& problem) {
        fail(problem, list_of(problem, names), problem.in_run ? run : truth);
    }
}

nb::tuple bind_first_lists(nb::handle offsets, nb::handle items, nb::handle scores, nb::handle run_rows, nb::handle how,
                           nb::handle depth, nb::handle names) {
    const Options options = read_options(how);
    const int64_t rows = read_depth(depth);
    Inputs inputs;
    const Lists run = read_lists(inputs, run_names, offsets, items, scores);
    const auto pairs = read_run_rows(inputs, run_rows);
    try {
        First first =
            without_gil(options.threads, [&](Team& team) { return first_lists(run, pairs, options, rows, team); });
        return to_tuple(first);
    } catch (const Problem& problem) {
        fail(problem, list_of(problem, names), run);
    }
}

// -- matrices --------------------------------------------------------------------------------------------------------

Matrix read_matrix(Inputs& inputs, nb::handle object, const char* name, PyArrayObject* like) {
    if (!PyArray_Check(object.ptr())) type_error(std::string(name) + ": not a NumPy array");
    PyArrayObject* array = as_array(object);
    if (PyArray_NDIM(array) != 2) value_error(std::string(name) + ": must have two dimensions");
    if (like && !PyArray_SAMESHAPE(array, like)) value_error(std::string(name) + " and scores differ in shape");
    if (PyArray_STRIDE(array, 1) != PyArray_ITEMSIZE(array) || !PyArray_ISBEHAVED_RO(array))
        array = inputs.contiguous(object);
    Matrix result{{}, PyArray_STRIDE(array, 0)};
    result.cells.name = name;
    result.cells.type = numpy_kind(array, name);
    result.cells.length = PyArray_DIM(array, 1);
    result.cells.values = PyArray_DATA(array);
    return result;
}

nb::object bind_dense(nb::handle scores, nb::handle labels, nb::handle mask, nb::handle how) {
    const Options options = read_options(how);
    Inputs inputs;
    Dense input{};
    input.scores = read_matrix(inputs, scores, "scores", nullptr);
    input.labels = read_matrix(inputs, labels, "labels", as_array(scores));
    if (!mask.is_none()) input.mask = read_matrix(inputs, mask, "mask", as_array(scores));
    if (input.mask && input.mask->cells.type != Type::bytes) type_error("mask: must be booleans");
    input.queries = PyArray_DIM(as_array(scores), 0);
    input.items = PyArray_DIM(as_array(scores), 1);
    try {
        Output output = without_gil(options.threads, [&](Team& team) { return align_dense(input, options, team); });
        return to_alignment(nb::none(), nb::none(), output);
    } catch (const Problem& problem) {
        Matrix& matrix = problem.in_run ? input.scores : input.labels;
        matrix.cells.values = static_cast<const char*>(matrix.cells.values) + problem.query * matrix.row_step;
        fail(problem, {"row", nb::int_(problem.query)}, {"column", nb::int_(problem.row)}, problem.query, matrix.cells);
    }
}

}  // namespace

nb::object to_alignment(nb::object queries, nb::object extra, Output& output) {
    nb::object result = checked(PyStructSequence_New(alignment_type));
    Py_ssize_t at = 0;
    const auto add = [&](nb::object value) { PyStructSequence_SetItem(result.ptr(), at++, value.release().ptr()); };
    add(std::move(queries));
    add(std::move(extra));
    for (const Field& field : fields) add(field.array(output));
    add(nb::int_(output.dropped));
    return result;
}

FieldView field_named(std::string_view name) {
    for (const Field& field : fields)
        if (name == field.name) return field.view;
    value_error("no such field of an alignment");
}

void bind_align(nb::module_& m) {
    alignment_type = make_alignment_type();
    m.attr("Alignment") = nb::handle(reinterpret_cast<PyObject*>(alignment_type));
    m.def("align_dicts", &bind_dicts, "truth"_a.none(), "run"_a.none(), "how"_a);
    m.def("unite_dicts", &bind_unite, "names"_a, "queries"_a, "contents"_a);
    m.def("align_columns", &bind_columns, "truth_query"_a.none(), "truth_item"_a.none(), "truth_grade"_a.none(),
          "run_query"_a.none(), "run_item"_a.none(), "run_score"_a.none(), "how"_a);
    m.def("align_lists", &bind_lists, "truth_offsets"_a.none(), "truth_items"_a.none(), "truth_grades"_a.none(),
          "run_offsets"_a.none(), "run_items"_a.none(), "run_scores"_a.none(), "run_rows"_a.none(), "how"_a,
          "names"_a.none() = nb::none());
    m.def("first_columns", &bind_first_columns, "known"_a.none(), "query"_a.none(), "item"_a.none(), "score"_a.none(),
          "how"_a, "depth"_a.none());
    m.def("first_lists", &bind_first_lists, "offsets"_a.none(), "items"_a.none(), "scores"_a.none(),
          "run_rows"_a.none(), "how"_a, "depth"_a.none(), "names"_a.none() = nb::none());
    m.def("invalid_row", &bind_invalid_row, "array"_a);
    m.def("align_dense", &bind_dense, "scores"_a.none(), "labels"_a.none(), "mask"_a.none(), "how"_a);
}

}  // namespace rankstone
