// The rows of one query's items, one for each subtopic: put in order, and the subtopics numbered.
#pragma once

#include <compare>
#include <vector>

#include "table.hpp"

namespace rankstone {

// By query, then by item, then by subtopic.
struct ItemRows {
    int64_t count = 0;
    Array<int64_t> ends;      // an item: where its rows end
    Array<int64_t> row;       // as it was given
    Array<int64_t> subtopic;  // its number among those of the query, from 0, in the order of the codes
};

// Takes the rows of one query after the other, with buffers that stay.
class Spreader {
public:
    void start(int64_t rows) {
        table_.start(rows);
        codes_.clear();
        cells_.clear();
    }

    // Rows come in their order; `code` says which subtopic it is.
    void add(int64_t item, int64_t code, int64_t row) {
        const auto next = std::ssize(codes_);
        const auto& slot = table_.view().find_or_add(static_cast<uint64_t>(code), next, [](int64_t) { return true; });
        const int64_t number = table_.view().number(slot);
        if (number == next) codes_.push_back({code, next});
        cells_.push_back({item, number, row});
    }

    // Puts the rows in order and leaves out those whose item and subtopic an earlier one has: the first of these, or
    // -1.
    int64_t finish() {
        if (!std::is_sorted(codes_.begin(), codes_.end())) std::sort(codes_.begin(), codes_.end());
        rank_.resize(codes_.size());
        for (size_t i = 0; i < codes_.size(); ++i)
            rank_[static_cast<size_t>(codes_[i].second)] = static_cast<int64_t>(i);
        bool sorted = true;
        int64_t item = -1, subtopic = -1;
        for (Cell& cell : cells_) {
            cell.subtopic = rank_[static_cast<size_t>(cell.subtopic)];
            sorted &= (cell.item > item) | ((cell.item == item) & (cell.subtopic > subtopic));
            item = cell.item, subtopic = cell.subtopic;
        }
        if (sorted) return -1;  // and each is there once
        std::sort(cells_.begin(), cells_.end());
        const auto same = [](const Cell& a, const Cell& b) { return a.item == b.item && a.subtopic == b.subtopic; };
        const auto repeat = std::adjacent_find(cells_.begin(), cells_.end(), same);
        if (repeat == cells_.end()) return -1;
        const int64_t row = repeat[1].row;
        cells_.erase(std::unique(repeat, cells_.end(), same), cells_.end());
        return row;
    }

    int64_t size() const { return std::ssize(cells_); }

    // Writes the rows from `at` on, and where those of the `items` end that are numbered from `first` on.
    void write(ItemRows& out, int64_t at, int64_t first, int64_t items) const {
        int64_t item = 0;
        for (const Cell& cell : cells_) {
            for (; item < cell.item; ++item) out.ends[first + item] = at;
            out.row[at] = cell.row;
            out.subtopic[at++] = cell.subtopic;
        }
        for (; item < items; ++item) out.ends[first + item] = at;
    }

private:
    struct Cell {
        int64_t item, subtopic, row;
        auto operator<=>(const Cell&) const = default;
    };

    Table table_;
    std::vector<std::pair<int64_t, int64_t>> codes_;  // a code, and its number as it came
    std::vector<int64_t> rank_;                       // a number as it came: that by code
    std::vector<Cell> cells_;
};

}  // namespace rankstone
