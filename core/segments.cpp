#include "segments.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace rankstone {
namespace {

constexpr int64_t block =
    256;  // rows read ahead at a time: enough to hide memory's latency, small enough for the cache

// What is needed of a side, one query after the other, wherever its rows are. A row is known by its position.
template <class Keys>
class Reader {
public:
    explicit Reader(const Side& side) : side_(side) {}

    // The positions of a query's rows. Queries come in their order, so that each part is opened once.
    Range seek(int64_t query) {
        if (!side_.moved()) return side_.ranges[static_cast<size_t>(query)];
        const Parts& parts = side_.parts;
        if (query >> parts.shift != part_) open(query >> parts.shift);
        const int64_t at = query - (part_ << parts.shift);
        const Range range{start_ + (at ? ends_[at - 1] : 0), start_ + ends_[at]};
        return range.size() ? range : Range{};
    }

    int64_t row(int64_t position) const { return side_.moved() ? rows_.data()[position - start_] : position; }

    typename Keys::Value value(int64_t position) const {
        if constexpr (Keys::tag_is_key)
            if (side_.moved()) return static_cast<typename Keys::Value>(tags_.data()[position - start_]);
        return value_at<Keys>(side_.items, row(position));
    }

    // The tags from a position on, until the next call.
    const uint64_t* tags(int64_t first, int64_t count) {
        if (side_.moved()) return tags_.data() + (first - start_);
        if constexpr (Keys::tag_is_key)
            if ((side_.items.type == Type::int64 || side_.items.type == Type::uint64) && !side_.items.dictionary)
                return static_cast<const uint64_t*>(side_.items.values) + first;
        tags_.grow(count);
        Keys::with_keys(side_.items, [&](auto get) {
            for (int64_t i = 0; i < count; ++i) tags_[i] = Keys::tag(get(first + i));
        });
        return tags_.data();
    }

    // The grades or scores from a position on, until the next call: copies, as others may write to the column while
    // its numbers are looked at more than once.
    const double* numbers(int64_t first, int64_t count) {
        if (side_.moved()) return numbers_.data() + (first - start_);
        numbers_.grow(count);
        read_numbers(*side_.values, first, count, numbers_.data());
        return numbers_.data();
    }

private:
    // Puts a part's rows in order by query, keeping their order within each: a counting sort, in the cache.
    void open(int64_t part) {
        const Parts& parts = side_.parts;
        part_ = part;
        start_ = parts.starts[static_cast<size_t>(part)];
        const Parts::Row* rows = parts.rows.data() + start_;
        const int64_t count = parts.starts[static_cast<size_t>(part) + 1] - start_, queries = int64_t{1} << parts.shift;
        tags_.grow(count);
        numbers_.grow(count);
        rows_.grow(count);
        ends_.grow(queries);
        std::fill_n(ends_.data(), queries, 0);
        for (int64_t i = 0; i < count; ++i) ++ends_[rows[i].query()];
        int64_t at = 0;
        for (int64_t query = 0; query < queries; ++query) at += std::exchange(ends_[query], at);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t to = ends_[rows[i].query()]++;
            tags_[to] = rows[i].tag;
            numbers_[to] = rows[i].value;
            rows_[to] = rows[i].row();
        }
    }

    const Side& side_;
    int64_t part_ = -1, start_ = 0;  // of the part that is open: its first position
    Array<int64_t> ends_, rows_;
    Array<uint64_t> tags_;
    Array<double> numbers_;
};

// Finds the rows whose tag may have occurred before. Most have not; the others are found without unpredictable
// branches.
class Sieve {
public:
    static constexpr int64_t most = 1 << 10;  // tags; for more a table is as good

    void start(int64_t count) {
        const int bits = 7 + std::bit_width(static_cast<uint64_t>(count));
        shift_ = 64 - bits;
        if (stamps_.empty()) stamps_.resize(size_t{1} << (7 + std::bit_width(static_cast<uint64_t>(most))));
        if (++now_ == 0) {
            std::fill(stamps_.begin(), stamps_.end(), 0);
            now_ = 1;
        }
    }
    void add(uint64_t tag) { stamps_[home(tag)] = now_; }

    // Writes the numbers of such rows, and returns how many there are. The others are added, if asked for.
    template <bool adding>
    int64_t pass(const uint64_t* tags, int64_t count, int32_t* met) {
        uint8_t* const stamps = stamps_.data();
        const uint8_t now = now_;
        const int shift = shift_;
        const uint64_t with = seed.tag | 1;
        int64_t found = 0;
        for (int64_t i = 0; i < count; ++i) {
            uint8_t& stamp = stamps[tags[i] * with >> shift];
            met[found] = static_cast<int32_t>(i);
            found += stamp == now;
            if (adding) stamp = now;
        }
        return found;
    }

private:
    size_t home(uint64_t tag) const { return static_cast<size_t>(tag * (seed.tag | 1) >> shift_); }

    std::vector<uint8_t> stamps_;  // which query was there last
    uint8_t now_ = 0;
    int shift_ = 0;
};

// Aligns one query after the other, with buffers that stay.
template <class Keys>
class Worker {
public:
    using Value = typename Keys::Value;

    Worker(const Side& truth, const Side& run, const Options& options, const Team& team, Output& output)
        : truth_(truth),
          run_(run),
          graded_(truth.values.has_value()),
          scored_(run.values.has_value()),
          options_(options),
          team_(team),
          output_(output) {}

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
            out[i] = repeated_[static_cast<size_t>(row)] ? -1 : run_.row(in_run_.first + row);
        }
        return dropped_;
    }

private:
    // Brings one query's truth and list together, but for the ranks.
    void read(int64_t query) {
        query_ = query;
        in_truth_ = truth_.seek(query);
        in_run_ = run_.seek(query);
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
            const int compared = compare(a, b);
            return compared ? (compared < 0) == (options_.order == Order::item_asc) : a < b;
        };
        if (std::is_sorted(order_.begin(), order_.end(), before)) return;
        // Ids that others write to may contradict themselves, which heaps and merging can stand.
        if (count < std::ssize(order_) / 4)
            std::partial_sort(order_.begin(), order_.begin() + count, order_.end(), before);
        else
            merge_sort(order_, merged_, before);
    }

    [[noreturn]] void fail(Problem::Kind kind, bool in_run, int64_t position) const {
        throw Problem{kind, in_run, query_, (in_run ? run_ : truth_).row(position)};
    }

    void read_truth() {
        grades_.assign(static_cast<size_t>(judged_), 1.0);
        if (graded_ && judged_) {
            const double* grades = truth_.numbers(in_truth_.first, judged_);
            for (int64_t i = 0; i < judged_; ++i)
                if (!std::isfinite(grades[i])) fail(Problem::bad_value, false, in_truth_.first + i);
            std::copy_n(grades, judged_, grades_.begin());
        }
        const Table::View table = table_.start(judged_ + in_run_.size());
        first_row_.assign(static_cast<size_t>(judged_), -1);
        placement_at_.assign(static_cast<size_t>(judged_), -1);
        kept_grades_.clear();
        judged_again_.clear();
        judged_tags_ = judged_ ? truth_.tags(in_truth_.first, judged_) : nullptr;
        for (int64_t i = 0; i < judged_; ++i) {
            if (i % block == block - 1) team_.check();
            const auto& slot = table.find_or_add(judged_tags_[i], i, [&](int64_t number) {
                return Keys::exact(judged_tags_[i]) || Keys::same(value_of(number), value_of(i));
            });
            if (table.number(slot) != i) {
                if (options_.truth_duplicates == TruthDuplicates::error)
                    fail(Problem::twice, false, in_truth_.first + i);
                if (options_.truth_duplicates == TruthDuplicates::first) continue;
                double& grade = grades_[static_cast<size_t>(table.number(slot))];
                if (options_.truth_duplicates == TruthDuplicates::max) {
                    grade = std::max(grade, grades_[static_cast<size_t>(i)]);
                    judged_again_.push_back(i);
                    continue;
                }
                if (grade != grades_[static_cast<size_t>(i)])
                    fail(Problem::two_grades, false, in_truth_.first + i);  // or the order of rows would count
                if (options_.truth_duplicates == TruthDuplicates::distinct) continue;
            }
            keep_grade(i);
        }
        if (judged_again_.empty()) return;
        kept_grades_.clear();  // a grade may have become higher
        auto next = judged_again_.begin();
        for (int64_t i = 0; i < judged_; ++i) {
            if (next != judged_again_.end() && *next == i)
                ++next;
            else
                keep_grade(i);
        }
    }

    void keep_grade(int64_t i) {
        const double grade = grades_[static_cast<size_t>(i)];
        if (options_.zeros || grade != 0) kept_grades_.push_back(grade);
    }

    // Points `scores_` at the query's scores.
    void read_scores() {
        scores_ = nullptr;
        if (!scored_) return;
        const int64_t count = in_run_.size();
        scores_ = run_.numbers(in_run_.first, count);
        if (options_.float32) {
            own_scores_.resize(static_cast<size_t>(count));
            for (int64_t i = 0; i < count; ++i) own_scores_[static_cast<size_t>(i)] = static_cast<float>(scores_[i]);
            scores_ = own_scores_.data();
        }
        if (!any_nan(scores_, count)) return;
        for (int64_t i = 0; i < count; ++i)
            if (scores_[i] != scores_[i]) fail(Problem::bad_value, true, in_run_.first + i);
    }

    // Finds the rows whose item is judged, or was shown by an earlier row.
    void find_placements() {
        const bool counting = options_.duplicates == Duplicates::count;
        if ((counting && judged_ == 0) || sift(counting)) return;
        const Table::View table = table_.view();
        for (int64_t start = 0; start < in_run_.size(); start += block) {
            const int64_t count = std::min(block, in_run_.size() - start);
            const uint64_t* tags = run_.tags(in_run_.first + start, count);
            if (table.beyond_cache()) {
                team_.check();
                for (int64_t i = 0; i < count; ++i) table.prefetch(tags[i]);
            }
            for (int64_t i = 0; i < count; ++i) {
                // Judged items have the numbers of their places, all others that of their first row, on top of those.
                const int64_t row = start + i, fresh = judged_ + row;
                const auto same = [&](int64_t number) { return is(number, row, tags[i]); };
                Table::Slot& slot = counting ? table.probe(tags[i], same) : table.find_or_add(tags[i], fresh, same);
                if (table.number(slot) >= 0 && table.number(slot) != fresh) meet(row, slot);
            }
        }
    }

    // Does the same for a short list in which no item is there twice but judged ones, or does nothing: then only
    // judged items need be known.
    bool sift(bool counting) {
        const int64_t rows = in_run_.size();
        if (judged_ + rows > Sieve::most) return false;
        const uint64_t* tags = run_.tags(in_run_.first, rows);
        sieve_.start(judged_ + rows);
        for (int64_t i = 0; i < judged_; ++i) sieve_.add(judged_tags_[i]);
        const int64_t count =
            counting ? sieve_.pass<false>(tags, rows, sifted_) : sieve_.pass<true>(tags, rows, sifted_);
        const Table::View table = table_.view();
        int64_t known = 0, others = 0;
        for (int64_t i = 0; i < count; ++i) {
            const int32_t row = sifted_[i];
            Table::Slot& slot = table.probe(tags[row], [&](int64_t number) { return is(number, row, tags[row]); });
            sifted_[known] = row;
            slots_[known] = &slot;
            if (table.number(slot) >= 0) {
                ++known;
            } else if (!counting) {
                constexpr int64_t few = 8;
                if (++others > few || std::find(tags, tags + row, tags[row]) != tags + row) return false;
            }
        }
        for (int64_t i = 0; i < known; ++i) meet(sifted_[i], *slots_[i]);
        return true;
    }

    // Is the item in this row, whose tag is the same, the one of that number?
    bool is(int64_t number, int64_t row, uint64_t tag) const {
        return Keys::exact(tag) || Keys::same(value_of(number), run_value(row));
    }
    Value value_of(int64_t number) const {
        return number < judged_ ? truth_.value(in_truth_.first + number) : run_value(number - judged_);
    }
    Value run_value(int64_t row) const { return run_.value(in_run_.first + row); }
    int compare(int64_t a, int64_t b) const {
        team_.check();  // millions of items may be tied
        return Keys::compare(run_value(a), run_value(b));
    }

    // A row whose item the table knows: judged, or seen in an earlier row, or both.
    void meet(int64_t row, Table::Slot& slot) {
        const int64_t number = table_.view().number(slot);
        if (options_.duplicates == Duplicates::count) return add_placement(row, number);
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
                return;  // which does not come here
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

    // Marks a row that repeats an item, if repeated rows are wanted.
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
                               [&](int64_t a, int64_t b) { return compare(a, b); });
        ranker_.sort(placements_, count);
    }

    Reader<Keys> truth_, run_;
    const bool graded_, scored_;
    const Options& options_;
    const Team& team_;
    Output& output_;

    // Of the query being aligned. By place in the truth: the grade, the tag, the row and the placement that showed it.
    int64_t query_ = 0, judged_ = 0, dropped_ = 0;
    Range in_truth_, in_run_;
    std::vector<double> grades_, kept_grades_, own_scores_;
    std::vector<int64_t> judged_again_;  // rows of the truth that are the second of their items
    const uint64_t* judged_tags_ = nullptr;
    std::vector<int64_t> first_row_, placement_at_;
    const double* scores_ = nullptr;
    std::vector<Placement> placements_;
    Table table_;
    Sieve sieve_;
    int32_t sifted_[Sieve::most];
    Table::Slot* slots_[Sieve::most];
    Ranker ranker_;

    // For what is shown: the rows in their order, and which of them show an item again.
    bool marking_ = false;
    std::vector<int64_t> order_, merged_;
    std::vector<char> repeated_;
};

// Finds which rows of a query are one item, with buffers that stay.
template <class Keys>
class Finder {
public:
    Finder(const Side& side, const int64_t* codes, Items& found) : side_(side), codes_(codes), found_(found) {}

    // Writes a query's items from one place on, and its rows from another. Returns a row that is there for the second
    // time, or -1.
    int64_t find(int64_t query, int64_t item_at, int64_t row_at) {
        const Range range = side_.seek(query);
        const Table::View table = table_.start(range.size());
        spreader_.start(range.size());
        named_.clear();
        for (int64_t start = range.first; start < range.last; start += block) {
            const int64_t count = std::min(block, range.last - start);
            const uint64_t* tags = side_.tags(start, count);
            for (int64_t i = 0; i < count; ++i) {
                const int64_t row = side_.row(start + i);
                const auto next = std::ssize(named_);
                const int64_t number = table.number(table.find_or_add(tags[i], next, [&](int64_t known) {
                    return Keys::exact(tags[i]) ||
                           Keys::same(named_[static_cast<size_t>(known)].value, side_.value(start + i));
                }));
                if (number == next) {
                    const typename Keys::Value value = side_.value(start + i);
                    named_.push_back({Keys::front(value), value});
                    found_.first[item_at + next] = row;
                }
                spreader_.add(number, codes_ ? codes_[row] : 0, row);
            }
        }
        const int64_t repeated = spreader_.finish();
        spreader_.write(found_.rows, row_at, item_at, std::ssize(named_));
        found_.offsets[query + 1] = std::ssize(named_);
        found_.row_offsets[query + 1] = spreader_.size();
        rank(found_.order.data() + item_at);
        return repeated;
    }

private:
    struct Named {
        uint64_t front;
        typename Keys::Value value;

        bool above(const Named& other) const {
            return front != other.front ? front > other.front : Keys::compare(value, other.value) > 0;
        }
    };

    // Writes each item's place, the largest id first. A few are compared each with each, which needs no branches.
    void rank(int64_t* order) {
        constexpr size_t few = 32;
        if (named_.size() > few) {
            places_.resize(named_.size());
            std::iota(places_.begin(), places_.end(), 0);
            const auto named = [&](int64_t number) -> const Named& { return named_[static_cast<size_t>(number)]; };
            merge_sort(places_, merged_, [&](int64_t a, int64_t b) { return named(a).above(named(b)); });
            for (size_t i = 0; i < places_.size(); ++i) order[places_[i]] = static_cast<int64_t>(i);
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

    Reader<Keys> side_;
    const int64_t* codes_;
    Items& found_;
    Table table_;
    Spreader spreader_;
    std::vector<Named> named_;  // the items
    std::vector<int64_t> places_, merged_;
};

// Queries that are work for one thread, and where what it writes starts: it has room for all rows of theirs, or for
// `depth` of each.
struct Piece {
    int64_t first, last, start;
};
std::vector<Piece> cut(const Side& side, int64_t depth, int64_t& room) {
    std::vector<Piece> pieces;
    const int64_t queries = side.queries(), step = int64_t{1} << side.parts.shift;
    int64_t work = Team::few_rows;
    room = 0;
    for (int64_t query = 0; query < queries; query += step) {
        const int64_t last = std::min(queries, query + step), rows = side.size(query, last);
        if (work >= Team::few_rows) pieces.push_back({query, query, room}), work = 0;
        pieces.back().last = last;
        work += 16 * (last - query) + rows;
        room += depth < rows / (last - query) ? depth * (last - query) : rows;
    }
    return pieces;
}

// Turns counts into offsets.
void add_up(Array<int64_t>& offsets, int64_t queries) {
    offsets[0] = 0;
    for (int64_t query = 0; query < queries; ++query) offsets[query + 1] += offsets[query];
}

// Moves what a piece wrote up to what the one before wrote: fewer rows than there was room for leave gaps.
void close_gap(Array<int64_t>& array, int64_t from, int64_t first, int64_t last) {
    if (from != first && first != last)
        std::memmove(array.data() + first, array.data() + from, static_cast<size_t>(last - first) * sizeof(int64_t));
}

}  // namespace

int64_t Side::size(int64_t first, int64_t last) const {
    int64_t rows = 0;
    if (moved()) {
        const int64_t end = (last + (int64_t{1} << parts.shift) - 1) >> parts.shift;
        return parts.starts[static_cast<size_t>(end)] - parts.starts[static_cast<size_t>(first >> parts.shift)];
    }
    for (int64_t query = first; query < last; ++query) rows += ranges[static_cast<size_t>(query)].size();
    return rows;
}

void read_numbers(const Column& column, int64_t first, int64_t count, double* out) {
    with_numbers(column, [&](auto get) {
        for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(get(first + i));
        using T = decltype(get(0));
        if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
            constexpr double exact = 1LL << 53;  // below it every integer is a double
            bool large = false;
            for (int64_t i = 0; i < count; ++i) large |= std::abs(out[i]) >= exact;
            if (!large) return;
            const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);  // the first double that is no T
            for (int64_t i = 0; i < count; ++i)
                if (out[i] >= limit || static_cast<T>(out[i]) != get(first + i))
                    out[i] = std::numeric_limits<double>::quiet_NaN();
        }
    });
}

Output align_chunks(int64_t queries, Team& team, const std::function<Cost(int64_t)>& cost,
                    const std::function<void(Chunk&, Output&)>& align, int shift) {
    const int64_t step = int64_t{1} << shift;
    int64_t total = 0;
    for (int64_t query = 0; query < queries; query += step) total += cost(query).work;
    const int64_t size = std::max(Team::few_rows, total / (16 * team.threads()) + 1);
    std::vector<Chunk> chunks(1);
    int64_t work = 0, truth_rows = 0, placements = 0;
    for (int64_t query = 0; query < queries; query += step) {
        if (work >= size) {
            chunks.push_back({query, query, truth_rows, placements});
            work = 0;
        }
        const Cost each = cost(query);
        work += each.work;
        truth_rows += each.truth_rows;
        placements += each.placements;
        chunks.back().last = std::min(queries, query + step);
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
    const int64_t queries = truth.queries();
    const int shift = std::max(truth.parts.shift, run.parts.shift);
    const auto cost = [&](int64_t query) -> Cost {
        const int64_t last = std::min(queries, query + (int64_t{1} << shift));
        const int64_t judged = truth.size(query, last), rows = run.size(query, last);
        const bool counts = options.duplicates == Duplicates::count;
        return {16 * (last - query) + 2 * judged + rows, judged, counts && judged ? rows : std::min(judged, rows)};
    };
    Output output;
    with_kind(truth.items, run.items, [&]<class Keys>(Keys) {
        output = align_chunks(
            queries, team, cost,
            [&](Chunk& chunk, Output& written) { Worker<Keys>(truth, run, options, team, written).align(chunk); },
            shift);
    });
    return output;
}

First first_segments(const Side& run, const Options& options, int64_t depth, Team& team) {
    const int64_t queries = run.queries();
    const Side nothing{run.items, {}, std::vector<Range>(static_cast<size_t>(queries), {0, 0}), {}};
    First first;
    first.queries = queries;
    first.offsets.resize(queries + 1);
    int64_t room = 0;
    const std::vector<Piece> pieces = cut(run, depth, room);
    first.rows.resize(room);
    std::vector<int64_t> dropped(pieces.size());
    with_kind(run.items, run.items, [&]<class Keys>(Keys) {
        team.each(std::ssize(pieces), run.items.length, [&](int64_t i) {
            Output unused;
            Worker<Keys> worker(nothing, run, options, team, unused);
            const Piece& piece = pieces[static_cast<size_t>(i)];
            int64_t at = piece.start;
            for (int64_t query = piece.first; query < piece.last; ++query) {
                int64_t& count = first.offsets[query + 1];
                dropped[static_cast<size_t>(i)] += worker.first(query, depth, first.rows.data() + at, count);
                at += count;
                team.check();
            }
        });
    });
    for (int64_t each : dropped) first.dropped += each;
    add_up(first.offsets, queries);
    for (const Piece& piece : pieces)
        close_gap(first.rows, piece.start, first.offsets[piece.first], first.offsets[piece.last]);
    first.count = first.offsets[queries];
    return first;
}

Items item_segments(const Side& side, const int64_t* codes, Team& team) {
    const int64_t queries = side.queries(), rows = side.items.length;
    Items found;
    found.queries = queries;
    found.offsets.resize(queries + 1);
    found.row_offsets.resize(queries + 1);
    for (Array<int64_t>* each : {&found.first, &found.order, &found.rows.ends, &found.rows.row, &found.rows.subtopic})
        each->resize(rows);
    int64_t room = 0;
    const std::vector<Piece> pieces = cut(side, rows, room);
    std::vector<int64_t> repeated(pieces.size(), -1);
    with_kind(side.items, side.items, [&]<class Keys>(Keys) {
        team.each(std::ssize(pieces), rows, [&](int64_t i) {
            Finder<Keys> finder(side, codes, found);
            const Piece& piece = pieces[static_cast<size_t>(i)];
            int64_t item_at = piece.start, row_at = piece.start;
            for (int64_t query = piece.first; query < piece.last; ++query) {
                const int64_t row = finder.find(query, item_at, row_at);
                if (repeated[static_cast<size_t>(i)] < 0) repeated[static_cast<size_t>(i)] = row;
                item_at += found.offsets[query + 1];
                row_at += found.row_offsets[query + 1];
                team.check();
            }
        });
    });
    for (int64_t row : repeated)
        if (found.repeated < 0) found.repeated = row;
    add_up(found.offsets, queries);
    add_up(found.row_offsets, queries);
    for (const Piece& piece : pieces) {
        const int64_t to = found.row_offsets[piece.first];
        const int64_t first = found.offsets[piece.first], last = found.offsets[piece.last];
        for (Array<int64_t>* each : {&found.first, &found.order, &found.rows.ends})
            close_gap(*each, piece.start, first, last);
        for (int64_t item = first; item < last; ++item) found.rows.ends[item] += to - piece.start;
        for (Array<int64_t>* each : {&found.rows.row, &found.rows.subtopic})
            close_gap(*each, piece.start, to, found.row_offsets[piece.last]);
    }
    found.count = found.offsets[queries];
    found.rows.count = found.row_offsets[queries];
    return found;
}

}  // namespace rankstone
