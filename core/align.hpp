// Ranks by counting. An item's rank is one plus the number of items placed before it, so no list is ever sorted:
// only the hits (judged items that the run returned) are looked at, against the bare scores of their query.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace rankstone {

// Who goes first among equal scores.
enum class Order { item_desc, item_asc, input, reverse_input };

// What an item means that occurs twice in one query's run, and in its truth.
enum class Duplicates { error, first, best, count, once };
enum class TruthDuplicates { error, first, count };

struct Options {
    Order order = Order::item_desc;
    Duplicates duplicates = Duplicates::error;
    TruthDuplicates truth_duplicates = TruthDuplicates::error;
    bool float32 = false;        // compare scores after rounding them to float32
    bool zeros = true;           // false: leave out what the truth grades 0
    bool extra_queries = false;  // true: queries that only the run has count as queries with an empty truth
    int threads = 0;             // 0: as many as there are cores
};

struct Hit {
    int64_t row;    // its row among the query's rows of the run, from 0
    int64_t place;  // its position in the query's truth, from 1
    double grade;
    double score;
    int64_t rank = 0;   // from 1
    int64_t above = 0;  // rows with a higher score
    int64_t tied = 1;   // rows with this score, itself included
};

// Sets `above` and `tied` of every hit. Rows whose score is NaN count nowhere: that is how rows are dropped.
void count_rows(const double* scores, int64_t rows, std::vector<Hit>& hits);

// Ranks the hits of one query. Keeps its buffers from one query to the next.
class Ranker {
public:
    // Counts, and ranks as if there were no ties. Returns whether some hit is tied with another row.
    static bool count(const double* scores, int64_t rows, std::vector<Hit>& hits) {
        count_rows(scores, rows, hits);
        bool tied = false;
        for (Hit& hit : hits) {
            hit.rank = hit.above + 1;
            tied |= hit.tied > 1;
        }
        return tied;
    }

    // Ranks tied hits. `compare(a, b)` says how the items in rows a and b compare: negative, 0 or positive.
    template <class Compare>
    void break_ties(const double* scores, int64_t rows, std::vector<Hit>& hits, Order order, Compare compare) {
        sort(hits, rows);
        for (size_t first = 0, last = 0; first < hits.size(); first = last) {
            while (last < hits.size() && hits[last].above == hits[first].above) ++last;
            if (hits[first].tied == 1) continue;
            tied_rows_.clear();
            for (int64_t row = 0; row < rows; ++row)
                if (scores[row] == hits[first].score) tied_rows_.push_back(row);
            rank_group(hits.data() + first, hits.data() + last, order, compare);
        }
    }

    void sort(std::vector<Hit>& hits, int64_t rows) {
        if (std::is_sorted(hits.begin(), hits.end(), lower_rank)) return;
        // Ranks are distinct once ties are broken, so many hits are put in order by writing each to its rank.
        const auto many = int64_t{64};
        if (std::ssize(hits) < many || std::ssize(hits) < rows / 4 || !scatter(hits, rows))
            std::sort(hits.begin(), hits.end(), lower_rank);
    }

private:
    static bool lower_rank(const Hit& a, const Hit& b) { return a.rank < b.rank; }

    bool scatter(std::vector<Hit>& hits, int64_t rows) {
        slots_.assign(static_cast<size_t>(rows), -1);
        for (size_t i = 0; i < hits.size(); ++i) {
            int64_t& slot = slots_[static_cast<size_t>(hits[i].rank - 1)];
            if (slot >= 0) return false;
            slot = static_cast<int64_t>(i);
        }
        sorted_.clear();
        for (int64_t slot : slots_)
            if (slot >= 0) sorted_.push_back(hits[static_cast<size_t>(slot)]);
        hits.swap(sorted_);
        return true;
    }

    // Ranks the hits of one score; tied_rows_ holds the rows with that score in input order.
    template <class Compare>
    void rank_group(Hit* first, Hit* last, Order order, Compare compare) {
        const auto before = [&](int64_t a, int64_t b) {
            const int c = compare(a, b);
            return c ? (c < 0) == (order == Order::item_asc) : a < b;
        };
        const bool by_item = order == Order::item_asc || order == Order::item_desc;
        if (by_item && last - first <= static_cast<int64_t>(std::bit_width(tied_rows_.size()))) {
            for (Hit* hit = first; hit != last; ++hit)
                for (int64_t row : tied_rows_)
                    if (row != hit->row) hit->rank += before(row, hit->row);
            return;
        }
        std::sort(first, last, [](const Hit& a, const Hit& b) { return a.row < b.row; });
        if (by_item) merge_sort(before);
        const auto count = static_cast<int64_t>(tied_rows_.size());
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = tied_rows_[static_cast<size_t>(i)];
            Hit* hit = std::lower_bound(first, last, row, [](const Hit& h, int64_t r) { return h.row < r; });
            if (hit != last && hit->row == row)
                hit->rank += order == Order::reverse_input ? count - 1 - i : i;
        }
    }

    // Not std::sort: that may leave its range when a user's own `<` contradicts itself.
    template <class Before>
    void merge_sort(Before before) {
        const size_t count = tied_rows_.size();
        merged_.resize(count);
        for (size_t width = 1; width < count; width *= 2) {
            for (size_t left = 0; left < count; left += 2 * width) {
                const size_t middle = std::min(left + width, count), right = std::min(middle + width, count);
                size_t a = left, b = middle;
                for (size_t out = left; out < right; ++out) {
                    const bool take_b = a == middle || (b < right && before(tied_rows_[b], tied_rows_[a]));
                    merged_[out] = tied_rows_[take_b ? b++ : a++];
                }
            }
            tied_rows_.swap(merged_);
        }
    }

    std::vector<int64_t> tied_rows_, merged_, slots_;
    std::vector<Hit> sorted_;
};

}  // namespace rankstone
