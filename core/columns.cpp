#include "columns.hpp"

#include <limits>

namespace rankstone {
namespace {

// Numbers the queries in order of first appearance: first those of the truth, then those that only the run has.
template <class Keys>
class Numbering {
public:
    using Key = typename Keys::Key;

    Numbering(const Column& truth, const Column& run) : truth_(truth), run_(run) { table_.start(room_); }

    int64_t find(const Key& key) {
        return table_.view().find(Keys::tag(key), [&](int64_t number) { return is(number, key); });
    }
    // Often the run has the queries in the truth's order, so the next number is tried first.
    int64_t next_or_add(const Key& key, int64_t row, bool in_run) {
        const bool guessed = next_ < std::ssize(queries) && Keys::same(value_of(next_), Keys::value(key));
        const int64_t number = guessed ? next_ : find_or_add(key, row, in_run);
        next_ = number + 1;
        return number;
    }
    int64_t find_or_add(const Key& key, int64_t row, bool in_run) {
        if (count() == room_) table_.grow(room_ *= 2);
        const auto& slot =
            table_.view().find_or_add(Keys::tag(key), count(), [&](int64_t number) { return is(number, key); });
        const int64_t number = table_.view().number(slot);
        if (number == count()) (in_run ? extra : queries).push_back(row);
        return number;
    }
    void prefetch(const Key& key) const {
        if (table_.view().beyond_cache()) table_.view().prefetch(Keys::tag(key));
    }
    int64_t count() const { return std::ssize(queries) + std::ssize(extra); }

    std::vector<int64_t> queries, extra;  // first rows

private:
    bool is(int64_t number, const Key& key) const {
        return Keys::tag_is_key || Keys::same(value_of(number), Keys::value(key));
    }
    typename Keys::Value value_of(int64_t number) const {
        const auto i = static_cast<size_t>(number);
        return i < queries.size() ? value_at<Keys>(truth_, queries[i])
                                  : value_at<Keys>(run_, extra[i - queries.size()]);
    }

    const Column& truth_;
    const Column& run_;
    Table table_;
    int64_t room_ = 64, next_ = 0;
};

// Finds the rows of each query in one column.
template <class Keys>
class Grouping {
public:
    Grouping(const Column& column, bool in_run, Numbering<Keys>& numbering, Team& team, std::vector<Range>& ranges)
        : column_(column), in_run_(in_run), numbering_(numbering), team_(team), ranges_(ranges) {}

    // If each query's rows are next to each other (most often they are), sets the ranges and says so.
    bool grouped(int64_t rows) {
        ranges_.clear();
        const std::vector<int64_t> starts = find_starts(rows);
        for (size_t i = 0; i + 1 < starts.size(); ++i) {
            if (i % Team::few_rows == 0) team_.listen();
            const int64_t number = numbering_.next_or_add(key_at<Keys>(column_, starts[i]), starts[i], in_run_);
            Range& range = range_of(number);
            if (range.present()) return false;
            range = {starts[i], starts[i + 1]};
        }
        return true;
    }

    // Otherwise sorts the row numbers by query, keeping their order within each: a counting sort.
    template <class Row>
    void sort(Array<Row>& sorted) {
        Array<Row> numbers = number_rows<Row>();
        const int64_t rows = column_.length, queries = numbering_.count();
        // One histogram a piece lets the pieces be moved at the same time; not worth it if those are as large as the
        // column.
        const int64_t pieces =
            std::max<int64_t>(1, std::min<int64_t>(team_.threads(), rows / (8 * queries + (1 << 15))));
        std::vector<std::vector<int64_t>> starts(static_cast<size_t>(pieces));
        const auto piece_rows = [&](int64_t piece, auto use) {
            for (int64_t row = rows * piece / pieces; row < rows * (piece + 1) / pieces; ++row) use(row);
        };
        team_.each(pieces, rows, [&](int64_t piece) {
            auto& counts = starts[static_cast<size_t>(piece)];
            counts.assign(static_cast<size_t>(queries), 0);
            piece_rows(piece, [&](int64_t row) { ++counts[numbers[row]]; });
        });
        ranges_.assign(static_cast<size_t>(queries), {});
        int64_t at = 0;
        for (size_t query = 0; query < static_cast<size_t>(queries); ++query) {
            const int64_t first = at;
            for (auto& counts : starts) at += std::exchange(counts[query], at);
            if (at > first) ranges_[query] = {first, at};
        }
        sorted.resize(rows);
        team_.each(pieces, rows, [&](int64_t piece) {
            auto& next = starts[static_cast<size_t>(piece)];
            piece_rows(piece, [&](int64_t row) { sorted[next[numbers[row]]++] = static_cast<Row>(row); });
        });
    }

private:
    Range& range_of(int64_t number) {
        if (number >= std::ssize(ranges_)) ranges_.resize(static_cast<size_t>(number) + 1);
        return ranges_[static_cast<size_t>(number)];
    }

    // The rows whose query differs from that of the row before, and the end.
    std::vector<int64_t> find_starts(int64_t rows) {
        if (rows == 0) return {0};
        constexpr int64_t piece = 1 << 18;
        const int64_t pieces = (rows + piece - 1) / piece;
        std::vector<std::vector<int64_t>> found(static_cast<size_t>(pieces));
        team_.each(pieces, rows, [&](int64_t i) {
            Keys::with_values(column_, [&](auto get) {
                auto& starts = found[static_cast<size_t>(i)];
                for (int64_t row = std::max<int64_t>(1, i * piece); row < std::min(rows, (i + 1) * piece); ++row)
                    if (!Keys::same(get(row), get(row - 1))) starts.push_back(row);
            });
        });
        std::vector<int64_t> starts{0};
        for (auto& each : found) {
            starts.insert(starts.end(), each.begin(), each.end());
            each = {};
        }
        starts.push_back(rows);
        return starts;
    }

    // Each row's query number. Looking up is shared between the threads; adding, which sets the order of first
    // appearance, is not. Batches grow, so that almost all queries are known when the work becomes large.
    template <class Row>
    Array<Row> number_rows() {
        constexpr Row unknown = std::numeric_limits<Row>::max();
        const int64_t rows = column_.length;
        Array<Row> numbers(rows);
        Keys::with_keys(column_, [&](auto get) {
            for (int64_t first = 0, size = 1 << 15; first < rows; first += size, size = std::max(size, first)) {
                const int64_t batch = std::min(size, rows - first);
                team_.each_piece(batch, [&](int64_t from, int64_t to) {
                    constexpr int64_t block = 64;
                    typename Keys::Key keys[block];
                    for (int64_t start = first + from; start < first + to; start += block) {
                        const int64_t count = std::min(block, first + to - start);
                        for (int64_t i = 0; i < count; ++i) numbering_.prefetch(keys[i] = get(start + i));
                        for (int64_t i = 0; i < count; ++i)
                            numbers[start + i] = static_cast<Row>(numbering_.find(keys[i]));
                    }
                    team_.check();
                });
                for (int64_t row = first; row < first + batch; ++row) {
                    if (row % Team::few_rows == 0) team_.listen();
                    if (numbers[row] == unknown)
                        numbers[row] = static_cast<Row>(numbering_.find_or_add(get(row), row, in_run_));
                }
            }
        });
        return numbers;
    }

    const Column& column_;
    const bool in_run_;
    Numbering<Keys>& numbering_;
    Team& team_;
    std::vector<Range>& ranges_;
};

template <class Keys>
void group(const Column& column, bool in_run, bool wide, Numbering<Keys>& numbering, Team& team, Side& side) {
    Grouping<Keys> grouping(column, in_run, numbering, team, side.ranges);
    // A look at the front tells scattered rows from grouped ones before much time has gone into the wrong way.
    constexpr int64_t front = 4096;
    if (grouping.grouped(std::min(front, column.length)) && (column.length <= front || grouping.grouped(column.length)))
        return;
    if (wide)
        grouping.sort(side.rows.wide);
    else
        grouping.sort(side.rows.narrow);
}

}  // namespace

void align_columns(const Rows& truth, const Rows& run, const Options& options, Team& team, ColumnResult& result) {
    Side judged{truth.items, truth.values, {}, {}}, returned{run.items, run.values, {}, {}};
    const bool wide = truth.queries.length + run.queries.length >= std::numeric_limits<uint32_t>::max();
    with_kind(truth.queries, run.queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering(truth.queries, run.queries);
        group(truth.queries, false, wide, numbering, team, judged);
        group(run.queries, true, wide, numbering, team, returned);
        result.queries = std::move(numbering.queries);
        result.extra = std::move(numbering.extra);
    });
    const size_t queries = result.queries.size() + (options.extra_queries ? result.extra.size() : 0);
    judged.ranges.resize(queries, {0, 0});
    returned.ranges.resize(queries);
    result.output = align_segments(judged, returned, options, team);
}

void first_columns(const Column& known, const Rows& run, const Options& options, int64_t depth, Team& team,
                   ShownResult& result) {
    Side named{}, returned{run.items, run.values, {}, {}};
    const bool wide = known.length + run.queries.length >= std::numeric_limits<uint32_t>::max();
    with_kind(known, run.queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering(known, run.queries);
        group(known, false, wide, numbering, team, named);
        group(run.queries, true, wide, numbering, team, returned);
        result.queries = std::move(numbering.queries);
        result.extra = std::move(numbering.extra);
    });
    returned.ranges.resize(result.queries.size() + (options.extra_queries ? result.extra.size() : 0));
    result.first = first_segments(returned, options, depth, team);
}

Items item_columns(const Column& queries, const Column& items, const int64_t* codes, Team& team) {
    Side side{items, {}, {}, {}};
    with_kind(queries, queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering(queries, queries);
        group(queries, false, queries.length >= std::numeric_limits<uint32_t>::max(), numbering, team, side);
    });
    return item_segments(side, codes, team);
}

}  // namespace rankstone
