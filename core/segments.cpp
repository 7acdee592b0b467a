#include "segments.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace rankstone {
namespace {

constexpr int64_t block =
    256;  // rows read ahead at a time: enough to hide memory's latency, small enough for the cache

// Calls use(i, row) for the positions first + i.
template <class Use>
void for_rows(const Permutation& rows, int64_t first, int64_t count, Use use) {
    if (rows.empty())
        for (int64_t i = 0; i < count; ++i) use(i, first + i);
    else if (const uint32_t* narrow = rows.narrow.data())
        for (int64_t i = 0; i < count; ++i) use(i, narrow[first + i]);
    else
        for (int64_t i = 0; i < count; ++i) use(i, static_cast<int64_t>(rows.wide.data()[first + i]));
}

// Aligns one query after the other, with buffers that stay.
template <class Keys>
class Worker {
public:
    using Key = typename Keys::Key;
    using Value = typename Keys::Value;

    Worker(const Side& truth, const Side& run, const Options& options, const Team& team, Output& output)
        : truth_(truth), run_(run), options_(options), team_(team), output_(output) {}

    void align(Chunk& chunk) {
        for (int64_t query = chunk.first; query < chunk.last; ++query) {
            read(query);
            if (in_run_.present()) rank();
            chunk.dropped += dropped_;
            output_.write(chunk, query, in_run_.present(), in_run_.size() - dropped_, kept_grades_, placements_);
            team_.check();
        }
    }

    // The rows of a query's list that come first, no more than `depth`: how many there are. Returns the rows left out.
    int64_t first(int64_t query, int64_t depth, int64_t* out, int64_t& count) {
        marking_ = true;
        read(query);
        count = 0;
        if (!in_run_.present()) return 0;
        const bool dropping = options_.duplicates != Duplicates::once;  // else a repeated item keeps its places
        order_.clear();
        for (int64_t row = 0; row < in_run_.size(); ++row)
            if (!dropping || !repeated_[static_cast<size_t>(row)]) order_.push_back(row);
        count = std::min(depth, static_cast<int64_t>(order_.size()));
        if (scores_) sort_first(count);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = order_[static_cast<size_t>(i)];
            out[i] = repeated_[static_cast<size_t>(row)] ? -1 : run_.rows[in_run_.first + row];
        }
        return dropped_;
    }

private:
    // Brings one query's truth and list together, but for the ranks.
    void read(int64_t query) {
        query_ = query;
        in_truth_ = truth_.ranges[static_cast<size_t>(query)];
        in_run_ = run_.ranges[static_cast<size_t>(query)];
        judged_ = in_truth_.size();
        dropped_ = 0;
        placements_.clear();
        if (marking_) repeated_.assign(static_cast<size_t>(std::max<int64_t>(in_run_.size(), 0)), 0);
        read_truth();
        if (!in_run_.present()) return;
        read_scores();
        find_placements();
    }

    // Puts the best `count` of the rows in `order_` at its front.
    void sort_first(int64_t count) {
        const auto before = [&](int64_t a, int64_t b) {
            if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
            switch (options_.order) {
                case Order::input:
                    return a < b;
                case Order::reverse_input:
                    return a > b;
                case Order::item_asc:
                case Order::item_desc:
                    break;
            }
            const int compared = Keys::compare(run_value(a), run_value(b));
            return compared ? (compared < 0) == (options_.order == Order::item_asc) : a < b;
        };
        if (std::is_sorted(order_.begin(), order_.end(), before)) return;
        const auto end = order_.begin() + count;
        if (end != order_.end()) std::nth_element(order_.begin(), end, order_.end(), before);
        std::sort(order_.begin(), end, before);
    }

    [[noreturn]] void fail(Problem::Kind kind, bool in_run, int64_t position) const {
        throw Problem{kind, in_run, query_, (in_run ? run_ : truth_).rows[position]};
    }

    void read_truth() {
        grades_.assign(static_cast<size_t>(judged_), 1.0);
        if (truth_.values) {
            gather_numbers(*truth_.values, truth_.rows, in_truth_.first, judged_, grades_.data());
            for (int64_t i = 0; i < judged_; ++i)
                if (!std::isfinite(grades_[static_cast<size_t>(i)]))
                    fail(Problem::bad_value, false, in_truth_.first + i);
        }
        judged_keys_.resize(static_cast<size_t>(judged_));
        gather_keys(truth_, in_truth_.first, judged_, judged_keys_.data());
        const Table::View table = table_.start(judged_ + in_run_.size());
        first_row_.assign(static_cast<size_t>(judged_), -1);
        placement_at_.assign(static_cast<size_t>(judged_), -1);
        kept_grades_.clear();
        for (int64_t i = 0; i < judged_; ++i) {
            const Key& key = judged_keys_[static_cast<size_t>(i)];
            const auto& slot = table.find_or_add(Keys::tag(key), i, [&](int64_t number) {
                return Keys::tag_is_key || Keys::same(value_of(number), Keys::value(key));
            });
            if (table.number(slot) != i) {
                if (options_.truth_duplicates == TruthDuplicates::error)
                    fail(Problem::twice, false, in_truth_.first + i);
                if (options_.truth_duplicates == TruthDuplicates::first) continue;
                if (grades_[static_cast<size_t>(table.number(slot))] != grades_[static_cast<size_t>(i)])
                    fail(Problem::two_grades, false, in_truth_.first + i);  // or the order of rows would count
            }
            const double grade = grades_[static_cast<size_t>(i)];
            if (options_.zeros || grade != 0) kept_grades_.push_back(grade);
        }
    }

    // Points `scores_` at the query's scores: in the column itself where that holds doubles in order.
    void read_scores() {
        scores_ = nullptr;
        if (!run_.values) return;
        const int64_t count = in_run_.size();
        if (run_.values->type == Type::float64 && run_.rows.empty() && !options_.float32) {
            scores_ = static_cast<const double*>(run_.values->values) + in_run_.first;
        } else {
            own_scores_.resize(static_cast<size_t>(count));
            gather_numbers(*run_.values, run_.rows, in_run_.first, count, own_scores_.data());
            if (options_.float32)
                for (double& score : own_scores_) score = static_cast<float>(score);
            scores_ = own_scores_.data();
        }
        if (!any_nan(scores_, count)) return;
        for (int64_t i = 0; i < count; ++i)
            if (scores_[i] != scores_[i]) fail(Problem::bad_value, true, in_run_.first + i);
    }

    static void gather_keys(const Side& side, int64_t first, int64_t count, Key* keys) {
        Keys::with_keys(side.items, [&](auto get) {
            for_rows(side.rows, first, count, [&](int64_t i, int64_t row) { keys[i] = get(row); });
        });
    }

    void find_placements() {
        const Table::View table = table_.view();
        const bool counting = options_.duplicates == Duplicates::count;
        if (counting && judged_ == 0) return;
        Key keys[block];
        for (int64_t start = 0; start < in_run_.size(); start += block) {
            const int64_t count = std::min(block, in_run_.size() - start);
            gather_keys(run_, in_run_.first + start, count, keys);
            if (table.beyond_cache()) {
                team_.check();
                for (int64_t i = 0; i < count; ++i) table.prefetch(Keys::tag(keys[i]));
            }
            for (int64_t i = 0; i < count; ++i) {
                // Judged items have the numbers of their places, all others that of their first row, on top of those.
                const int64_t fresh = judged_ + start + i;
                const auto same = [&](int64_t number) {
                    return Keys::tag_is_key || Keys::same(value_of(number), Keys::value(keys[i]));
                };
                if (counting) {
                    const int64_t number = table.find(Keys::tag(keys[i]), same);
                    if (number >= 0) add_placement(start + i, number);
                    continue;
                }
                Table::Slot& slot = table.find_or_add(Keys::tag(keys[i]), fresh, same);
                if (table.number(slot) != fresh) meet(start + i, slot);
            }
        }
    }

    Value value_of(int64_t number) const {
        return number < judged_ ? Keys::value(judged_keys_[static_cast<size_t>(number)]) : run_value(number - judged_);
    }
    Value run_value(int64_t row) const { return value_at<Keys>(run_.items, run_.rows[in_run_.first + row]); }

    // A row whose item the table knows: judged, or seen in an earlier row, or both.
    void meet(int64_t row, Table::Slot& slot) {
        const int64_t number = table_.view().number(slot);
        if (number >= judged_ || first_row_[static_cast<size_t>(number)] >= 0) return repeat(row, number, slot);
        first_row_[static_cast<size_t>(number)] = row;
        add_placement(row, number);
    }

    void add_placement(int64_t row, int64_t number) {
        const double grade = grades_[static_cast<size_t>(number)];
        if (!options_.zeros && grade == 0) return;
        placement_at_[static_cast<size_t>(number)] = static_cast<int64_t>(placements_.size());
        if (scores_) {
            placements_.push_back({row, number + 1, grade, scores_[row]});
        } else {
            const int64_t rank = row + 1 - dropped_;
            placements_.push_back(
                {row, number + 1, grade, std::numeric_limits<double>::quiet_NaN(), rank, rank - 1, 1});
        }
    }

    // An item that an earlier row has already shown.
    void repeat(int64_t row, int64_t number, Table::Slot& slot) {
        switch (options_.duplicates) {
            case Duplicates::error:
                fail(Problem::twice, true, in_run_.first + row);
            case Duplicates::count:
                return;
            case Duplicates::first:
                mark(row);
                drop(row);
                return;
            case Duplicates::once:
            case Duplicates::best:
                break;
        }
        const bool dropping = options_.duplicates == Duplicates::best;  // else all rows keep their places
        const bool judged = number < judged_;
        const int64_t kept = judged ? first_row_[static_cast<size_t>(number)] : number - judged_;
        if (!scores_ || scores_[row] <= scores_[kept]) {
            mark(row);
            if (dropping) drop(row);
            return;
        }
        mark(kept);
        if (judged) {
            first_row_[static_cast<size_t>(number)] = row;
            const int64_t placement = placement_at_[static_cast<size_t>(number)];
            if (placement >= 0)
                placements_[static_cast<size_t>(placement)].row = row,
                placements_[static_cast<size_t>(placement)].score = scores_[row];
        } else {
            table_.view().renumber(slot, judged_ + row);
        }
        if (dropping) drop(kept);
    }

    // Notes that a row shows its item again, where somebody wants to know.
    void mark(int64_t row) {
        if (marking_) repeated_[static_cast<size_t>(row)] = 1;
    }

    // A score that is NaN is neither above nor tied with anything, so the row is gone.
    void drop(int64_t row) {
        ++dropped_;
        if (!scores_) return;
        if (scores_ != own_scores_.data()) {
            own_scores_.assign(scores_, scores_ + in_run_.size());
            scores_ = own_scores_.data();
        }
        own_scores_[static_cast<size_t>(row)] = std::numeric_limits<double>::quiet_NaN();
    }

    void rank() {
        if (!scores_) return;  // the rows are the ranks
        const int64_t count = in_run_.size();
        if (Ranker::count(scores_, count, placements_))
            ranker_.break_ties(scores_, count, placements_, options_.order,
                               [&](int64_t a, int64_t b) { return Keys::compare(run_value(a), run_value(b)); });
        ranker_.sort(placements_, count);
    }

    const Side& truth_;
    const Side& run_;
    const Options& options_;
    const Team& team_;
    Output& output_;

    // Of the query being aligned. By place in the truth: the grade, the key, the row and the placement that showed it.
    int64_t query_ = 0, judged_ = 0, dropped_ = 0;
    Range in_truth_, in_run_;
    std::vector<double> grades_, kept_grades_, own_scores_;
    std::vector<Key> judged_keys_;
    std::vector<int64_t> first_row_, placement_at_;
    const double* scores_ = nullptr;
    std::vector<Placement> placements_;
    Table table_;
    Ranker ranker_;

    // For what is shown: the rows in their order, and which of them show an item again.
    bool marking_ = false;
    std::vector<int64_t> order_;
    std::vector<char> repeated_;
};

// Finds which rows of a query are one item, with buffers that stay.
template <class Keys>
class Finder {
public:
    Finder(const Side& side, const int64_t* codes, Items& found) : side_(side), codes_(codes), found_(found) {}

    // Writes a query's items and rows from its first position on. Returns a row that is there for the second time, or
    // -1.
    int64_t find(int64_t query) {
        const Range& range = side_.ranges[static_cast<size_t>(query)];
        const Table::View table = table_.start(range.size());
        spreader_.start(range.size());
        named_.clear();
        Keys::with_keys(side_.items, [&](auto get) {
            for_rows(side_.rows, range.first, range.size(), [&](int64_t, int64_t row) {
                const typename Keys::Key key = get(row);
                const auto next = std::ssize(named_);
                const int64_t number = table.number(table.find_or_add(Keys::tag(key), next, [&](int64_t known) {
                    return Keys::tag_is_key || Keys::same(named_[static_cast<size_t>(known)].value, Keys::value(key));
                }));
                if (number == next) {
                    named_.push_back({Keys::front(Keys::value(key)), Keys::value(key), next});
                    found_.first[range.first + next] = row;
                }
                spreader_.add(number, codes_ ? codes_[row] : 0, row);
            });
        });
        const int64_t repeated = spreader_.finish();
        spreader_.write(found_.rows, range.first, range.first, std::ssize(named_));
        found_.offsets[query + 1] = std::ssize(named_);
        found_.row_offsets[query + 1] = spreader_.size();
        rank(found_.order.data() + range.first);
        return repeated;
    }

private:
    struct Named {
        uint64_t front;
        typename Keys::Value value;
        int64_t number;

        bool above(const Named& other) const {
            return front != other.front ? front > other.front : Keys::compare(value, other.value) > 0;
        }
    };

    // Writes each item's place, the largest id first. A few are compared each with each, which needs no branches.
    void rank(int64_t* order) {
        constexpr size_t few = 32;
        if (named_.size() > few) {
            std::sort(named_.begin(), named_.end(), [](const Named& a, const Named& b) { return a.above(b); });
            for (size_t i = 0; i < named_.size(); ++i) order[named_[i].number] = static_cast<int64_t>(i);
            return;
        }
        for (size_t i = 0; i < named_.size(); ++i) {
            int64_t place = 0;
            for (size_t j = 0; j < i; ++j) {
                const bool above = named_[i].above(named_[j]);
                order[j] += above;
                place += !above;
            }
            order[i] = place;
        }
    }

    const Side& side_;
    const int64_t* codes_;
    Items& found_;
    Table table_;
    Spreader spreader_;
    std::vector<Named> named_;  // the items
};

// Cuts the queries into pieces, each with work for one thread: where they start, and the end.
std::vector<int64_t> cut(const std::vector<Range>& ranges) {
    std::vector<int64_t> pieces{0};
    int64_t work = 0;
    for (size_t query = 0; query < ranges.size(); ++query) {
        work += 16 + ranges[query].size();
        if (work >= Team::few_rows) pieces.push_back(static_cast<int64_t>(query) + 1), work = 0;
    }
    if (pieces.back() != std::ssize(ranges)) pieces.push_back(std::ssize(ranges));
    return pieces;
}

}  // namespace

void gather_numbers(const Column& column, const Permutation& rows, int64_t first, int64_t count, double* out) {
    with_numbers(column, [&](auto get) {
        for_rows(rows, first, count, [&](int64_t i, int64_t row) { out[i] = static_cast<double>(get(row)); });
        using T = decltype(get(0));
        if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
            constexpr double exact = 1LL << 53;  // below it every integer is a double
            bool large = false;
            for (int64_t i = 0; i < count; ++i) large |= std::abs(out[i]) >= exact;
            if (!large) return;
            const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);  // the first double that is no T
            for_rows(rows, first, count, [&](int64_t i, int64_t row) {
                if (out[i] >= limit || static_cast<T>(out[i]) != get(row))
                    out[i] = std::numeric_limits<double>::quiet_NaN();
            });
        }
    });
}

Output align_chunks(int64_t queries, Team& team, const std::function<Cost(int64_t)>& cost,
                    const std::function<void(Chunk&, Output&)>& align) {
    int64_t total = 0;
    for (int64_t query = 0; query < queries; ++query) total += cost(query).work;
    const int64_t size = std::max(Team::few_rows, total / (16 * team.threads()) + 1);
    std::vector<Chunk> chunks(1);
    int64_t work = 0, truth_rows = 0, placements = 0;
    for (int64_t query = 0; query < queries; ++query) {
        if (work >= size) {
            chunks.push_back({query, query, truth_rows, placements});
            work = 0;
        }
        const Cost each = cost(query);
        work += each.work;
        truth_rows += each.truth_rows;
        placements += each.placements;
        chunks.back().last = query + 1;
    }
    Output output;
    output.reserve_queries(queries);
    output.reserve_truth(truth_rows);
    output.reserve_placements(placements);
    team.each(std::ssize(chunks), total, [&](int64_t i) { align(chunks[static_cast<size_t>(i)], output); });
    output.finish(chunks);
    return output;
}

Output align_segments(const Side& truth, const Side& run, const Options& options, Team& team) {
    const auto cost = [&](int64_t query) -> Cost {
        const int64_t judged = truth.ranges[static_cast<size_t>(query)].size();
        const int64_t rows = run.ranges[static_cast<size_t>(query)].size();
        const bool counts = options.duplicates == Duplicates::count;
        return {16 + 2 * judged + rows, judged, counts && judged ? rows : std::min(judged, rows)};
    };
    Output output;
    with_kind(truth.items, run.items, [&]<class Keys>(Keys) {
        output = align_chunks(std::ssize(truth.ranges), team, cost, [&](Chunk& chunk, Output& written) {
            Worker<Keys>(truth, run, options, team, written).align(chunk);
        });
    });
    return output;
}

First first_segments(const Side& run, const Options& options, int64_t depth, Team& team) {
    const int64_t queries = std::ssize(run.ranges);
    const Side nothing{run.items, {}, std::vector<Range>(run.ranges.size(), {0, 0}), {}};
    First first;
    first.queries = queries;
    first.offsets.resize(queries + 1);
    Array<int64_t> starts(queries + 1);
    int64_t room = 0;
    for (int64_t query = 0; query < queries; ++query) {
        starts[query] = room;
        room += std::min(run.ranges[static_cast<size_t>(query)].size(), depth);
    }
    starts[queries] = room;
    const std::vector<int64_t> pieces = cut(run.ranges);
    first.rows.resize(room);
    std::vector<int64_t> dropped(pieces.size());
    with_kind(run.items, run.items, [&]<class Keys>(Keys) {
        team.each(std::ssize(pieces) - 1, run.items.length, [&](int64_t piece) {
            Output unused;
            Worker<Keys> worker(nothing, run, options, team, unused);
            const auto at = static_cast<size_t>(piece);
            for (int64_t query = pieces[at]; query < pieces[at + 1]; ++query) {
                dropped[at] += worker.first(query, depth, first.rows.data() + starts[query], first.offsets[query + 1]);
                team.check();
            }
        });
    });
    for (int64_t each : dropped) first.dropped += each;
    first.offsets[0] = 0;
    for (int64_t query = 0; query < queries; ++query) {  // fewer rows than there was room for leave gaps
        const int64_t to = first.offsets[query], count = first.offsets[query + 1];
        if (to != starts[query] && count)
            std::memmove(first.rows.data() + to, first.rows.data() + starts[query],
                         static_cast<size_t>(count) * sizeof(int64_t));
        first.offsets[query + 1] += to;
    }
    first.count = first.offsets[queries];
    return first;
}

Items item_segments(const Side& side, const int64_t* codes, Team& team) {
    const int64_t queries = std::ssize(side.ranges), rows = side.items.length;
    Items found;
    found.queries = queries;
    found.offsets.resize(queries + 1);
    found.row_offsets.resize(queries + 1);
    for (Array<int64_t>* each : {&found.first, &found.order, &found.rows.ends, &found.rows.row, &found.rows.subtopic})
        each->resize(rows);
    const std::vector<int64_t> pieces = cut(side.ranges);
    std::vector<int64_t> repeated(pieces.size(), -1);
    with_kind(side.items, side.items, [&]<class Keys>(Keys) {
        team.each(std::ssize(pieces) - 1, rows, [&](int64_t piece) {
            Finder<Keys> finder(side, codes, found);
            const auto at = static_cast<size_t>(piece);
            for (int64_t query = pieces[at]; query < pieces[at + 1]; ++query) {
                const int64_t row = finder.find(query);
                if (repeated[at] < 0) repeated[at] = row;
                team.check();
            }
        });
    });
    for (int64_t row : repeated)
        if (found.repeated < 0) found.repeated = row;
    found.offsets[0] = found.row_offsets[0] = 0;
    for (int64_t query = 0; query < queries; ++query) {  // fewer items than rows leave gaps
        const int64_t from = side.ranges[static_cast<size_t>(query)].first;
        const auto close = [&](Array<int64_t>& offsets, std::initializer_list<Array<int64_t>*> arrays) {
            const int64_t to = offsets[query], count = offsets[query + 1];
            if (from != to)
                for (Array<int64_t>* each : arrays) std::copy_n(each->data() + from, count, each->data() + to);
            offsets[query + 1] += to;
        };
        close(found.offsets, {&found.first, &found.order, &found.rows.ends});
        for (int64_t item = found.offsets[query]; item < found.offsets[query + 1]; ++item)
            found.rows.ends[item] += found.row_offsets[query] - from;
        close(found.row_offsets, {&found.rows.row, &found.rows.subtopic});
    }
    found.count = found.offsets[queries];
    found.rows.count = found.row_offsets[queries];
    return found;
}

}  // namespace rankstone
