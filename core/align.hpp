// Ranks by counting. An item's rank is one plus the number of items placed before it, so no list is ever sorted:
// only the placements (judged items that the run returned) are looked at, against the bare scores of their query.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace rankstone {

// Who goes first among equal scores.
enum class Order { item_desc, item_asc, input, reverse_input };

// What an item means that occurs twice in one query's run, and in its truth.
enum class Duplicates { error, first, best, count, once };
enum class TruthDuplicates { error, first, count, distinct, max };

struct Options {
    Order order = Order::item_desc;
    Duplicates duplicates = Duplicates::error;
    TruthDuplicates truth_duplicates = TruthDuplicates::error;
    bool float32 = false;        // compare scores after rounding them to float32
    bool zeros = true;           // false: leave out what the truth grades 0
    bool extra_queries = false;  // true: queries that only the run has count as queries with an empty truth
    int threads = 0;             // 0: as many as there are cores
};

// A judged item that the run returned.
struct Placement {
    int64_t row;    // its row among the query's rows of the run, from 0
    int64_t place;  // its position in the query's truth, from 1
    double grade;
    double score;
    int64_t rank = 0;   // from 1
    int64_t above = 0;  // rows with a higher score
    int64_t tied = 1;   // rows with this score, itself included
};

// Sets `above` and `tied` of every placement. Rows whose score is NaN count nowhere: that is how rows are dropped.
void count_rows(const double* scores, int64_t rows, std::vector<Placement>& placements);

// How many of the levels, which go from high to low, are above the score.
inline size_t find_level(const std::vector<double>& levels, double score) {
    if (levels.empty()) return 0;
    const double* level = levels.data();
    for (size_t size = levels.size(); size > 1; size -= size / 2) level += level[size / 2 - 1] > score ? size / 2 : 0;
    return static_cast<size_t>(level - levels.data()) + (*level > score);
}

bool any_nan(const double* scores, int64_t rows);

// Not std::sort: that may leave its range when a user's own `<` contradicts itself. `merged` is for its own use.
template <class Before>
void merge_sort(std::span<int64_t> rows, std::vector<int64_t>& merged, Before before) {
    merged.resize(rows.size());
    for (size_t width = 1; width < rows.size(); width *= 2) {
        for (size_t left = 0; left < rows.size(); left += 2 * width) {
            const size_t middle = std::min(left + width, rows.size()), right = std::min(middle + width, rows.size());
            size_t a = left, b = middle;
            for (size_t out = left; out < right; ++out) {
                const bool take_b = a == middle || (b < right && before(rows[b], rows[a]));
                merged[out] = rows[take_b ? b++ : a++];
            }
        }
        std::copy(merged.begin(), merged.end(), rows.begin());
    }
}

// Ranks the placements of one query. Keeps its buffers from one query to the next.
class Ranker {
public:
    // Counts, and ranks as if there were no ties. Returns whether some placement is tied with another row.
    static bool count(const double* scores, int64_t rows, std::vector<Placement>& placements) {
        count_rows(scores, rows, placements);
        bool tied = false;
        for (Placement& placement : placements) {
            placement.rank = placement.above + 1;
            tied |= placement.tied > 1;
        }
        return tied;
    }

    // Ranks tied placements. `compare(a, b)` says how the items in rows a and b compare: negative, 0 or positive.
    template <class Compare>
    void break_ties(const double* scores, int64_t rows, std::vector<Placement>& placements, Order order,
                    Compare compare) {
        collect_ties(scores, rows, placements);
        rank_ties(placements, order, compare);
    }

    // The same in two steps, for who must look at the tied rows in between. The first sorts the placements by score.
    void collect_ties(const double* scores, int64_t rows, std::vector<Placement>& placements) {
        sort(placements, rows);
        rows_ = rows;
        levels_.clear();
        ends_.clear();
        int64_t count = 0;
        for (const Placement& placement : placements)
            if (placement.tied > 1 && (levels_.empty() || levels_.back() != placement.score)) {
                levels_.push_back(placement.score);
                ends_.push_back(count);
                count += placement.tied;
            }
        tied_rows_.resize(static_cast<size_t>(count));
        for (int64_t row = 0; row < rows; ++row) {
            const size_t level = find_level(levels_, scores[row]);
            if (level < levels_.size() && levels_[level] == scores[row])
                tied_rows_[static_cast<size_t>(ends_[level]++)] = row;
        }
    }
    const std::vector<int64_t>& tied_rows() const { return tied_rows_; }

    template <class Compare>
    void rank_ties(std::vector<Placement>& placements, Order order, Compare compare) {
        int64_t* rows = tied_rows_.data();
        for (size_t first = 0, last = 0; first < placements.size(); first = last) {
            while (last < placements.size() && placements[last].above == placements[first].above) ++last;
            if (placements[first].tied == 1) continue;
            rank_group(placements.data() + first, placements.data() + last, {rows, rows + placements[first].tied},
                       order, compare);
            rows += placements[first].tied;
        }
    }

    void sort(std::vector<Placement>& placements, int64_t rows) {
        if (std::is_sorted(placements.begin(), placements.end(), lower_rank)) return;
        // Ranks are distinct once ties are broken, so many placements are put in order by writing each to its rank.
        const auto many = int64_t{64};
        if (std::ssize(placements) < many || std::ssize(placements) < rows / 4 || !scatter(placements, rows))
            std::sort(placements.begin(), placements.end(), lower_rank);
    }

private:
    static bool lower_rank(const Placement& a, const Placement& b) { return a.rank < b.rank; }

    bool scatter(std::vector<Placement>& placements, int64_t rows) {
        slots_.assign(static_cast<size_t>(rows), -1);
        for (size_t i = 0; i < placements.size(); ++i) {
            int64_t& slot = slots_[static_cast<size_t>(placements[i].rank - 1)];
            if (slot >= 0) return false;
            slot = static_cast<int64_t>(i);
        }
        sorted_.clear();
        for (int64_t slot : slots_)
            if (slot >= 0) sorted_.push_back(placements[static_cast<size_t>(slot)]);
        placements.swap(sorted_);
        return true;
    }

    // Ranks the placements of one score, given the rows with that score in input order.
    template <class Compare>
    void rank_group(Placement* first, Placement* last, std::span<int64_t> rows, Order order, Compare compare) {
        const auto before = [&](int64_t a, int64_t b) {
            const int c = compare(a, b);
            return c ? (c < 0) == (order == Order::item_asc) : a < b;
        };
        const bool by_item = order == Order::item_asc || order == Order::item_desc;
        if (by_item && last - first <= static_cast<int64_t>(std::bit_width(rows.size()))) {
            for (Placement* placement = first; placement != last; ++placement)
                for (int64_t row : rows)
                    if (row != placement->row) placement->rank += before(row, placement->row);
            return;
        }
        if (by_item) merge_sort(rows, merged_, before);
        // Where each row's placement is; rows without one have whatever was there before.
        if (std::ssize(slots_) < rows_) slots_.resize(static_cast<size_t>(rows_));
        for (Placement* placement = first; placement != last; ++placement)
            slots_[static_cast<size_t>(placement->row)] = placement - first;
        for (size_t i = 0; i < rows.size(); ++i) {
            const int64_t at = slots_[static_cast<size_t>(rows[i])];
            if (at >= 0 && at < last - first && first[at].row == rows[i])
                first[at].rank += static_cast<int64_t>(order == Order::reverse_input ? rows.size() - 1 - i : i);
        }
    }

    int64_t rows_ = 0;            // of the query
    std::vector<double> levels_;  // the tied scores, high to low
    std::vector<int64_t> ends_;   // where the rows of each end in the next
    std::vector<int64_t> tied_rows_, merged_, slots_;
    std::vector<Placement> sorted_;
};

}  // namespace rankstone
