// Programs of metrics, run over arrays or over dicts; and sums.
#include <algorithm>
#include <array>

#include "bind.hpp"
#include "dicts.hpp"
#include "exact.hpp"

namespace rankstone {
namespace {

void demand_size(bool holds) {
    if (!holds) value_error("the data is not of the size that the program was made for");
}

void read_constants(Data& data, nb::handle constants) {
    for (nb::handle constant : constants) data.constants.push_back(nb::cast<double>(constant));
}

void check_table(bool has_entry) {
    if (!has_entry) value_error("a table of floats has an entry");
}

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
        Inputs inputs;
        for (nb::handle column : columns) data.columns.push_back(read(column, lengths, inputs));
        read_constants(data, constants);
        for (nb::handle table : tables) {
            std::vector<int64_t> length;
            const Given given = read(table, length, inputs);
            check_table(given.type == Given::float64 && length[0]);
            data.tables.emplace_back(static_cast<const double*>(given.values), static_cast<size_t>(length[0]));
        }
        check(data, lengths);
        Answers found =
            without_gil(read_threads(threads), [&](Team& team) { return run_program(program_, data, team); });
        nb::list values, refusals;
        for (Array<double>& each : found.values) values.append(to_numpy(each, queries));
        for (const Refusal& each : found.refusals) refusals.append(nb::make_tuple(each.query, each.value));
        return nb::make_tuple(std::move(values), std::move(refusals));
    }

    const Program& program() const { return program_; }

private:
    static Given read(nb::handle object, std::vector<int64_t>& lengths, Inputs& inputs) {
        if (object.is_none()) return lengths.push_back(0), Given{};
        if (!PyArray_Check(object.ptr())) type_error("a program runs over arrays");
        PyArrayObject* array = inputs.contiguous(object);
        lengths.push_back(PyArray_SIZE(array));
        const int type = PyArray_TYPE(array);
        const bool whole = PyArray_DESCR(array)->kind == 'i' && PyArray_ITEMSIZE(array) == 8;
        if (!whole && type != NPY_DOUBLE && type != NPY_BOOL) type_error("a program runs over int64, float64 and bool");
        return {whole ? Given::int64 : type == NPY_DOUBLE ? Given::float64 : Given::boolean, PyArray_DATA(array)};
    }

    // Every column must reach as far as the program reads it.
    void check(const Data& data, const std::vector<int64_t>& lengths) const {
        demand_size(std::ssize(data.columns) == program_.columns && std::ssize(data.tables) == program_.tables &&
                    data.constants.size() == program_.constants.size() && data.queries >= 0);
        std::vector<int64_t> sizes{data.queries};
        for (size_t i = 1; i < program_.spaces.size(); ++i) {
            const auto at = static_cast<size_t>(program_.spaces[i].offsets);
            demand_size(data.columns[at].type == Given::int64 && lengths[at] == data.queries + 1);
            const auto* offsets = static_cast<const int64_t*>(data.columns[at].values);
            demand_size(offsets[0] == 0 && std::is_sorted(offsets, offsets + lengths[at]));
            sizes.push_back(offsets[data.queries]);
        }
        for (const Step& step : program_.steps) {
            if (step.op != Op::column) continue;
            for (int at : {step.a, step.b})
                demand_size(at < 0 || data.columns[static_cast<size_t>(at)].type == Given::none ||
                            lengths[static_cast<size_t>(at)] >= sizes[static_cast<size_t>(step.space)]);
        }
    }

    Program program_;
};

// A truth and a run that were evaluated, with values that are computed on demand.
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
            values.append(to_numpy(std::span(answers).subspan(first, static_cast<size_t>(output.queries))));
        }
        return values;
    }

    nb::object alignment() {
        if (!queries) value_error("the alignment was handed over before");
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
        read_constants(data_, constants);
        for (nb::handle table : tables) {
            const nb::object array = converted<double>(table);
            const std::span<const double> entries = values_in<double>(as_array(array));
            check_table(!entries.empty());
            tables_.emplace_back(entries.begin(), entries.end());
        }
        for (const std::vector<double>& table : tables_) data_.tables.emplace_back(table);
        for (nb::handle sum : sums) {
            Sum one{};
            for (size_t i = 0; i < 3; ++i)
                if ((one[i] = nb::cast<int>(sum[i])) >= made.answers) value_error("no such answer");
            sums_.push_back(one);
        }
        data_.columns.resize(fields_.size());
        demand_size(std::ssize(fields_) == made.columns && std::ssize(tables_) == made.tables &&
                    data_.constants.size() == made.constants.size());
    }

    // None where something is out of the ordinary: whoever asks goes the long way then, where it is said. That nothing
    // returned was judged is, unless there is but one list.
    nb::object measure(nb::handle truth, nb::handle run, bool one_list) {
        const std::optional<Plain> judged = plain_side(truth.ptr());
        if (!judged || !plain_side(run.ptr())) return nb::none();
        DictResult aligned = align_dicts(truth.ptr(), run.ptr(), options_);
        Swift swift{nb::steal(aligned.queries), nb::steal(aligned.extra), std::move(aligned.output), *judged, {}, {}};
        if (!(one_list || swift.output.placements) || !add_up(swift)) return nb::none();
        return nb::cast(std::move(swift));
    }

private:
    using Sum = std::array<int, 3>;

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
    std::vector<FieldView> fields_;
    std::vector<std::vector<double>> tables_;
    std::vector<Sum> sums_;
    Data data_;
};

double bind_total(nb::handle values, nb::handle keep) {
    const nb::object all = converted<double>(values), some = keep.is_none() ? nb::none() : converted<double>(keep);
    const std::span<const double> numbers = values_in<double>(as_array(all));
    if (some.is_none()) return total(numbers.data(), nullptr, std::ssize(numbers));
    const std::span<const double> flags = values_in<double>(as_array(some));
    if (flags.size() != numbers.size()) value_error("keep is of another size");
    return total(numbers.data(), flags.data(), std::ssize(numbers));
}

nb::tuple bind_exact(nb::handle values) {
    const nb::object all = converted<double>(values);
    ExactSum sum;
    for (double value : values_in<double>(as_array(all))) sum.add(value);
    const std::vector<unsigned char> units = sum.bytes();
    return nb::make_tuple(nb::bytes(units.data(), units.size()), sum.other());
}

}  // namespace

void bind_program(nb::module_& m) {
    m.def("total", &bind_total, "values"_a, "keep"_a.none() = nb::none());
    m.def("exact_total", &bind_exact, "values"_a);
    nb::class_<BoundProgram>(m, "Program")
        .def(nb::init<nb::handle, nb::handle, nb::handle, int, int, int, int, int>(), "steps"_a, "spaces"_a,
             "constants"_a, "registers"_a, "columns"_a, "tables"_a, "answers"_a, "faults"_a)
        .def("run", &BoundProgram::run, "queries"_a, "columns"_a, "constants"_a, "tables"_a, "threads"_a.none() = 0);
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
}

}  // namespace rankstone
