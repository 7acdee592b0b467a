#include "columns.hpp"

#include <atomic>
#include <limits>

namespace rankstone {
namespace {

// Numbers the queries in order of first appearance: first those of the truth, then those that only the run has.
template <class Keys>
class Numbering {
public:
    using Key = typename Keys::Key;

    Numbering() { table_.start(room()); }

    // Writes the numbers of up to `block` rows, -1 for one that is not known: first of those whose key lies where its
    // search starts, without a branch, then of the others. Says whether all are known.
    static constexpr int64_t block = 64;
    template <class Get, class Number>
    bool find(Get get, int64_t first, int64_t count, Number* numbers) const {
        const Table::View table = table_.view();
        Key keys[block];
        const Table::Slot* slots[block];
        int64_t missed[block], misses = 0;
        for (int64_t i = 0; i < count; ++i) {
            keys[i] = get(first + i);
            __builtin_prefetch(slots[i] = table.home(Keys::tag(keys[i])));
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t number = table.number(*slots[i]);
            const bool hit = (number >= 0) & (slots[i]->tag == Keys::tag(keys[i])) & Keys::exact(Keys::tag(keys[i]));
            numbers[i] = static_cast<Number>(number);
            missed[misses] = i;
            misses += !hit;
        }
        if constexpr (!Keys::tag_is_key) {  // what lies there is most likely the id to compare with
            int64_t near[block], count_near = 0;
            for (int64_t i = 0; i < misses; ++i)
                if ((near[count_near] = table.number(*slots[missed[i]])) >= 0)
                    __builtin_prefetch(values_.data() + near[count_near++]);
            for (int64_t i = 0; i < count_near; ++i) __builtin_prefetch(value_of(near[i]).data());
        }
        bool known = true;
        for (int64_t i = 0; i < misses; ++i) {
            const Key& key = keys[missed[i]];
            const int64_t number = table.find(Keys::tag(key), [&](int64_t number) { return is(number, key); });
            numbers[missed[i]] = static_cast<Number>(number);
            known &= number >= 0;
        }
        return known;
    }
    // Often the run has the queries in the truth's order, so the next number is tried first.
    int64_t next_or_add(const Key& key, int64_t row, bool in_run) {
        const bool guessed = next_ < std::ssize(queries) && Keys::same(value_of(next_), Keys::value(key));
        const int64_t number = guessed ? next_ : find_or_add(key, row, in_run);
        next_ = number + 1;
        return number;
    }
    int64_t find_or_add(const Key& key, int64_t row, bool in_run) {
        if (count() == most_) {
            most_ *= 2;
            table_.grow(room());
        }
        const auto& slot =
            table_.view().find_or_add(Keys::tag(key), count(), [&](int64_t number) { return is(number, key); });
        const int64_t number = table_.view().number(slot);
        if (number == count()) {
            (in_run ? extra : queries).push_back(row);
            values_.push_back(keep(Keys::value(key)));
        }
        return number;
    }
    int64_t count() const { return std::ssize(values_); }

    std::vector<int64_t> queries, extra;  // first rows

private:
    bool is(int64_t number, const Key& key) const {
        return Keys::exact(Keys::tag(key)) || Keys::same(value_of(number), Keys::value(key));
    }
    typename Keys::Value value_of(int64_t number) const { return values_[static_cast<size_t>(number)]; }

    // Copies of texts lie close together, so that rows in random order find them in the cache.
    static int64_t keep(int64_t value) { return value; }
    std::string_view keep(std::string_view text) {
        if (text.size() > left_) {
            left_ = std::max<size_t>(text.size(), 1 << 16);
            texts_.push_back(std::make_unique<char[]>(left_));
            end_ = texts_.back().get();
        }
        std::copy(text.begin(), text.end(), end_);
        const std::string_view copy(end_, text.size());
        end_ += text.size();
        left_ -= text.size();
        return copy;
    }

    // All rows look here, so that a search that ends at once is worth some memory while the table fits a cache.
    int64_t room() const { return most_ <= (1 << 18) ? 3 * most_ : most_; }

    Table table_;
    std::vector<typename Keys::Value> values_;
    std::vector<std::unique_ptr<char[]>> texts_;
    char* end_ = nullptr;  // of the last of these
    size_t left_ = 0;
    int64_t most_ = 64, next_ = 0;
};

// The rows whose query differs from that of the row before, and the end.
template <class Keys>
std::vector<int64_t> find_starts(const Column& column, int64_t rows, Team& team) {
    if (rows == 0) return {0};
    constexpr int64_t piece = 1 << 18;
    const int64_t pieces = (rows + piece - 1) / piece;
    std::vector<std::vector<int64_t>> found(static_cast<size_t>(pieces));
    team.each(pieces, rows, [&](int64_t i) {
        auto& starts = found[static_cast<size_t>(i)];
        const int64_t last = std::min(rows, (i + 1) * piece);
        Keys::with_values(column, [&](auto get) {
            for (int64_t row = std::max<int64_t>(1, i * piece), next; row < last; row = next) {
                // Most rows have the query of the row before, so a step passes over some of them together.
                constexpr int64_t step = 16;
                next = std::min(row + step, last);
                if (next == row + step && Keys::template all_same<step>(column, get, row - 1)) continue;
                for (int64_t each = row; each < next; ++each)
                    if (!Keys::same(get(each), get(each - 1))) starts.push_back(each);
            }
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

// Finds the rows of each query in one column.
template <class Keys>
class Grouping {
public:
    Grouping(const Column& column, bool in_run, Numbering<Keys>& numbering, Team& team, std::vector<Range>& ranges)
        : column_(column), in_run_(in_run), numbering_(numbering), team_(team), ranges_(ranges) {}

    // If each query's rows are next to each other (most often they are), sets the ranges and says so.
    bool grouped(int64_t rows) {
        ranges_.clear();
        const std::vector<int64_t> starts = find_starts<Keys>(column_, rows, team_);
        for (size_t i = 0; i + 1 < starts.size(); ++i) {
            if (i % Team::few_rows == 0) team_.listen();
            const int64_t number = numbering_.next_or_add(key_at<Keys>(column_, starts[i]), starts[i], in_run_);
            Range& range = range_of(number);
            if (range.present()) return false;
            range = {starts[i], starts[i + 1]};
        }
        return true;
    }

    // Otherwise numbers each row's query. Looking up is shared between the threads; adding, which sets the order of
    // first appearance, is not. Batches grow, so that almost all queries are known when the work becomes large.
    template <class Row>
    Scratch<Row> number_rows() {
        constexpr Row unknown = std::numeric_limits<Row>::max();
        const int64_t rows = column_.length;
        Scratch<Row> numbers(rows);
        Keys::with_keys(column_, [&](auto get) {
            for (int64_t first = 0, size = 1 << 15; first < rows; first += size, size = std::max(size, first)) {
                const int64_t batch = std::min(size, rows - first);
                std::atomic<bool> all_known = true;
                team_.each_piece(batch, [&](int64_t from, int64_t to) {
                    constexpr int64_t block = Numbering<Keys>::block;
                    bool known = true;
                    for (int64_t start = first + from; start < first + to; start += block) {
                        const int64_t count = std::min(block, first + to - start);
                        known &= numbering_.find(get, start, count, numbers.data() + start);
                    }
                    if (!known) all_known = false;
                    team_.check();
                });
                for (int64_t row = first; row < first + batch && !all_known; ++row) {
                    if (row % Team::few_rows == 0) team_.listen();
                    if (numbers[row] == unknown)
                        numbers[row] = static_cast<Row>(numbering_.find_or_add(get(row), row, in_run_));
                }
            }
        });
        return numbers;
    }

private:
    Range& range_of(int64_t number) {
        if (number >= std::ssize(ranges_)) ranges_.resize(static_cast<size_t>(number) + 1);
        return ranges_[static_cast<size_t>(number)];
    }

    const Column& column_;
    const bool in_run_;
    Numbering<Keys>& numbering_;
    Team& team_;
    std::vector<Range>& ranges_;
};

// The number of each row's query, as narrow as the rows allow. Empty: each query's rows are next to each other.
struct Numbers {
    Scratch<uint32_t> narrow;
    Scratch<uint64_t> wide;

    bool empty() const { return !narrow.data() && !wide.data(); }
};

template <class Keys>
Numbers group(const Column& column, bool in_run, bool wide, Numbering<Keys>& numbering, Team& team,
              std::vector<Range>& ranges) {
    Grouping<Keys> grouping(column, in_run, numbering, team, ranges);
    // The first rows show whether rows are scattered or grouped, before much time is lost on the wrong method.
    constexpr int64_t front = 4096;
    if (grouping.grouped(std::min(front, column.length)) && (column.length <= front || grouping.grouped(column.length)))
        return {};
    ranges.clear();
    Numbers numbers;
    if (wide)
        numbers.wide = grouping.template number_rows<uint64_t>();
    else
        numbers.narrow = grouping.template number_rows<uint32_t>();
    return numbers;
}

// Moves the rows of the first `queries` into their parts. One pass counts, the next one moves each row with all that is
// needed of it, so that nothing has to be looked for in the columns later.
template <class Keys, class Number>
void move_rows(const Number* numbers, int64_t queries, Team& team, Side& side) {
    Parts& parts = side.parts;
    const int shift = parts.shift;
    const int64_t rows = side.items.length, count = ((queries - 1) >> shift) + 1;
    parts.queries = queries;
    const int64_t pieces = std::max<int64_t>(1, std::min<int64_t>(4 * team.threads(), rows / (8 * count + (1 << 15))));
    const auto first_row = [&](int64_t piece) { return rows * piece / pieces; };
    std::vector<std::vector<int64_t>> next(static_cast<size_t>(pieces));
    team.each(pieces, rows, [&, queries, shift](int64_t piece) {
        std::vector<int64_t> counts(static_cast<size_t>(count));
        for (int64_t row = first_row(piece), last = first_row(piece + 1); row < last; ++row)
            if (static_cast<int64_t>(numbers[row]) < queries) ++counts[numbers[row] >> shift];
        next[static_cast<size_t>(piece)] = std::move(counts);
        team.check();
    });
    int64_t at = 0;
    for (size_t part = 0; part < static_cast<size_t>(count); ++part) {
        parts.starts.push_back(at);
        for (auto& counts : next) at += std::exchange(counts[part], at);
    }
    parts.starts.push_back(at);
    parts.rows = Scratch<Parts::Row>(at);
    team.each(pieces, rows, [&, queries, shift](int64_t piece) {
        constexpr int64_t block = 256;
        double values[block] = {};
        int64_t* const to = next[static_cast<size_t>(piece)].data();
        Parts::Row* const moved = parts.rows.data();
        Keys::with_keys(side.items, [&, queries, shift](auto get) {
            const int64_t last = first_row(piece + 1);
            for (int64_t first = first_row(piece); first < last; first += block) {
                const int64_t size = std::min(block, last - first);
                if (side.values) read_numbers(*side.values, first, size, values);
                for (int64_t i = 0; i < size; ++i) {
                    const auto query = static_cast<uint64_t>(numbers[first + i]);
                    if (static_cast<int64_t>(query) >= queries) continue;
                    const uint64_t part = query >> shift;
                    moved[to[part]++] = {
                        Keys::tag(get(first + i)), values[i],
                        (query - (part << shift)) << Parts::Row::row_bits | static_cast<uint64_t>(first + i)};
                }
                team.check();
            }
        });
    });
}

// Parts that fit the cache, unless there would be more of them than can be written to at the same time.
int part_shift(int64_t rows, int64_t queries) {
    const int64_t parts = std::clamp<int64_t>(rows >> 13, 1, 1 << 10);
    int shift = 0;
    while (shift < Parts::Row::query_bits && (queries - 1) >> shift >= parts) ++shift;
    return shift;
}

// Makes a side of the first `queries` out of what grouping found.
void place_rows(Numbers numbers, int64_t queries, int shift, Team& team, Side& side) {
    if (numbers.empty()) return side.ranges.resize(static_cast<size_t>(queries));
    side.parts.shift = shift;
    with_kind(side.items, side.items, [&]<class Keys>(Keys) {
        if (numbers.narrow.data())
            move_rows<Keys>(numbers.narrow.data(), queries, team, side);
        else
            move_rows<Keys>(numbers.wide.data(), queries, team, side);
    });
}

}  // namespace

void align_columns(const Rows& truth, const Rows& run, const Options& options, Team& team, ColumnResult& result) {
    Side judged{truth.items, truth.values, {}, {}}, returned{run.items, run.values, {}, {}};
    const int64_t rows = truth.queries.length + run.queries.length;
    const bool wide = rows >= std::numeric_limits<uint32_t>::max();
    Numbers in_truth, in_run;
    with_kind(truth.queries, run.queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering;
        in_truth = group(truth.queries, false, wide, numbering, team, judged.ranges);
        in_run = group(run.queries, true, wide, numbering, team, returned.ranges);
        result.queries = std::move(numbering.queries);
        result.extra = std::move(numbering.extra);
    });
    const int64_t queries = std::ssize(result.queries) + (options.extra_queries ? std::ssize(result.extra) : 0);
    const int shift = part_shift(rows, queries);
    place_rows(std::move(in_truth), queries, shift, team, judged);
    place_rows(std::move(in_run), queries, shift, team, returned);
    result.output = align_segments(judged, returned, options, team);
}

void first_columns(const Column& known, const Rows& run, const Options& options, int64_t depth, Team& team,
                   ShownResult& result) {
    Side returned{run.items, run.values, {}, {}};
    const bool wide = known.length + run.queries.length >= std::numeric_limits<uint32_t>::max();
    Numbers in_run;
    with_kind(known, run.queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering;
        std::vector<Range> unused;
        group(known, false, wide, numbering, team, unused);
        in_run = group(run.queries, true, wide, numbering, team, returned.ranges);
        result.queries = std::move(numbering.queries);
        result.extra = std::move(numbering.extra);
    });
    const int64_t queries = std::ssize(result.queries) + (options.extra_queries ? std::ssize(result.extra) : 0);
    place_rows(std::move(in_run), queries, part_shift(run.queries.length, queries), team, returned);
    result.first = first_segments(returned, options, depth, team);
}

namespace {

template <class Keys>
class TypedQueries final : public Queries {
public:
    TypedQueries(const Column& column, Team& team) {
        std::vector<Range> ranges;
        const Numbers numbers = group(column, false, true, numbering_, team, ranges);
        first_rows = std::move(numbering_.queries);
        offsets.assign(first_rows.size() + 1, 0);
        if (numbers.empty()) {
            for (size_t i = 0; i < first_rows.size(); ++i) {
                if (i >= ranges.size() || ranges[i].first != offsets[i]) fail_outside(column, offsets[i]);
                offsets[i + 1] = ranges[i].last;
            }
            return;
        }
        const uint64_t* const number = numbers.wide.data();
        for (int64_t row = 0; row < column.length; ++row) ++offsets[number[row] + 1];
        for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
        std::vector<int64_t> next(offsets.begin(), offsets.end() - 1);
        rows.resize(static_cast<size_t>(column.length));
        for (int64_t row = 0; row < column.length; ++row) rows[static_cast<size_t>(next[number[row]]++)] = row;
    }

    Stretches stretches(const Column& column, Team& team) const override {
        Stretches found;
        found.starts = find_starts<Keys>(column, column.length, team);
        found.starts.pop_back();
        found.queries.resize(found.starts.size());
        Keys::with_keys(column, [&](auto get) {
            const auto start = [&](int64_t i) { return get(found.starts[static_cast<size_t>(i)]); };
            team.each_piece(std::ssize(found.starts), [&](int64_t first, int64_t last) {
                constexpr int64_t block = Numbering<Keys>::block;
                for (int64_t at = first; at < last; at += block)
                    numbering_.find(start, at, std::min(block, last - at), found.queries.data() + at);
                team.check();
            });
        });
        return found;
    }

private:
    Numbering<Keys> numbering_;
};

}  // namespace

std::unique_ptr<Queries> number_queries(const Column& column, Team& team) {
    std::unique_ptr<Queries> queries;
    with_kind(column, column, [&]<class Keys>(Keys) { queries = std::make_unique<TypedQueries<Keys>>(column, team); });
    return queries;
}

Items item_columns(const Column& queries, const Column& items, const int64_t* codes, Team& team) {
    Side side{items, {}, {}, {}};
    with_kind(queries, queries, [&]<class Keys>(Keys) {
        Numbering<Keys> numbering;
        const bool wide = queries.length >= std::numeric_limits<uint32_t>::max();
        Numbers numbers = group(queries, false, wide, numbering, team, side.ranges);
        const int64_t count = numbering.count();
        place_rows(std::move(numbers), count, part_shift(queries.length, count), team, side);
    });
    return item_segments(side, codes, team);
}

}  // namespace rankstone
