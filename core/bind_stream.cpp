// Runs that come in batches: the queries of their truth, and streams.
#include "stream.hpp"

#include "bind.hpp"

namespace rankstone {
namespace {

// The queries of a truth, and the column they are in.
class BoundQueries {
public:
    BoundQueries(nb::handle query, nb::handle threads) {
        column_ = inputs_.ids(query, truth_names.queries);
        without_gil(read_threads(threads), [&](Team& team) { queries_ = number_queries(column_, team); });
    }

    nb::tuple stretches(nb::handle query, nb::handle threads) const {
        Inputs inputs;
        const Column column = inputs.ids(query, run_names.queries);
        check_same_kind(column_, column);
        const Stretches found =
            without_gil(read_threads(threads), [&](Team& team) { return queries_->stretches(column, team); });
        return nb::make_tuple(to_numpy(found.starts), to_numpy(found.queries));
    }
    nb::object first_rows() const { return to_numpy(queries_->first_rows); }
    nb::object offsets() const { return to_numpy(queries_->offsets); }
    nb::object rows() const { return queries_->rows.empty() ? nb::none() : to_numpy(queries_->rows); }

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
        truth_ = read_rows(inputs_, truth_names, query, item, grade);
        std::vector<int64_t> first_rows;
        try {
            stream_ = make_stream(truth_, options, first_rows);
        } catch (const Problem& problem) {
            fail(problem, {"query", value_of(truth_.queries, first_rows[static_cast<size_t>(problem.query)])}, truth_);
        }
    }

    nb::object find(nb::handle query, nb::handle item, nb::handle score, nb::handle threads) {
        std::vector<int64_t> extra;
        stream_->sealed = false;
        read_batch(query, item, score, threads,
                   [&](const Rows& batch, Team& team) { extra = stream_->find(batch, team); });
        return to_numpy(extra);
    }

    void count(nb::handle query, nb::handle item, nb::handle score, nb::handle threads) {
        read_batch(query, item, score, threads, [&](const Rows& batch, Team& team) {
            if (!stream_->sealed) stream_->seal(team);
            stream_->count(batch, team);
        });
    }

    nb::object result(nb::handle how) {
        const Options options = read_options(how);
        Output output = without_gil(options.threads, [&](Team& team) {
            if (!stream_->sealed) stream_->seal(team);
            return stream_->result(options.order, options.zeros, team);
        });
        return to_alignment(to_numpy(stream_->first_rows()), to_numpy(std::vector<int64_t>{}), output);
    }

    nb::tuple truth() const {
        return nb::make_tuple(to_numpy(stream_->truth_rows()), to_numpy(stream_->truth_offsets()));
    }

    nb::tuple finds() const {
        const Finds& all = stream_->finds;
        return nb::make_tuple(to_numpy(all.scores), to_numpy(all.retrieved), to_numpy(all.repeated),
                              to_numpy(all.repeated_scores), all.rows, all.unjudged);
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
        if (!stream_->sealed) without_gil(0, [&](Team& team) { stream_->seal(team); });
        const Counts& all = stream_->counts;
        return nb::make_tuple(to_numpy(all.levels), to_numpy(all.before), all.rows);
    }
    void set_counts(const nb::tuple& state) {
        check_fields(state, 3);
        if (!stream_->sealed) without_gil(0, [&](Team& team) { stream_->seal(team); });
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
        const Rows batch = read_rows(inputs, run_names, query, item, score);
        if (!batch.values) type_error("run scores: must not be None");
        check_same_kind(truth_.queries, batch.queries);
        check_same_kind(truth_.items, batch.items);
        if (broken_) value_error("an earlier batch stopped half-way, so this stream cannot go on; start again");
        if (batch.queries.length == 0) return;
        broken_ = true;
        try {
            without_gil(workers, [&](Team& team) { use(batch, team); });
        } catch (const Problem& problem) {
            fail(problem, {"query", value_of(batch.queries, problem.row)}, batch);
        }
        broken_ = false;
    }

    static void fail_size() { value_error("a stream's state has the wrong size"); }
    static void fail_range() { value_error("a stream's state is out of range"); }

    static void check_fields(const nb::tuple& state, size_t size) {
        if (state.size() != size) fail_size();
    }

    template <class T>
    static std::vector<T> read_vector(nb::handle object, size_t size) {
        const nb::object array = converted<T>(object);
        const std::span<const T> values = values_in<T>(as_array(array));
        if (PyArray_NDIM(as_array(array)) != 1 || values.size() != size) fail_size();
        return {values.begin(), values.end()};
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

}  // namespace

void bind_stream(nb::module_& m) {
    nb::class_<BoundQueries>(m, "Queries")
        .def(nb::init<nb::handle, nb::handle>(), "query"_a.none(), "threads"_a.none() = 0)
        .def("stretches", &BoundQueries::stretches, "query"_a.none(), "threads"_a.none() = 0)
        .def_prop_ro("first_rows", &BoundQueries::first_rows)
        .def_prop_ro("offsets", &BoundQueries::offsets)
        .def_prop_ro("rows", &BoundQueries::rows);
    nb::class_<BoundStream>(m, "Stream")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), "truth_query"_a.none(), "truth_item"_a.none(),
             "truth_grade"_a.none(), "how"_a)
        .def("find", &BoundStream::find, "query"_a.none(), "item"_a.none(), "score"_a.none(), "threads"_a.none() = 0)
        .def("count", &BoundStream::count, "query"_a.none(), "item"_a.none(), "score"_a.none(), "threads"_a.none() = 0)
        .def("result", &BoundStream::result, "how"_a)
        .def("truth", &BoundStream::truth)
        .def_prop_rw("finds", &BoundStream::finds, &BoundStream::set_finds)
        .def_prop_rw("counts", &BoundStream::counts, &BoundStream::set_counts);
}

}  // namespace rankstone
