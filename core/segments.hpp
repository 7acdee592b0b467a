// Aligns rows that have been sorted into queries: flat columns and list columns end up here.
#pragma once

#include <functional>
#include <optional>

#include "column.hpp"
#include "output.hpp"
#include "parallel.hpp"
#include "spread.hpp"

namespace rankstone {

// What is wrong with the data. The binder, which can show Python values, puts it in words.
struct Problem {
    enum Kind { twice, two_grades, bad_value } kind;
    bool in_run;
    int64_t query;
    int64_t row;  // of the run's or the truth's columns
};

// Which rows belong to a query: positions in the permutation if there is one, else rows.
struct Range {
    int64_t first = -1, last = -1;

    bool present() const { return first >= 0; }
    int64_t size() const { return last - first; }
};

// Row numbers, as narrow as the rows allow. Empty: the rows are in place already.
struct Permutation {
    Array<uint32_t> narrow;
    Array<uint64_t> wide;

    bool empty() const { return !narrow.data() && !wide.data(); }
    int64_t operator[](int64_t i) const {
        if (narrow.data()) return narrow.data()[i];
        return wide.data() ? static_cast<int64_t>(wide.data()[i]) : i;
    }
};

struct Side {
    Column items;
    std::optional<Column> values;  // grades or scores
    std::vector<Range> ranges;     // one a query
    Permutation rows;
};

Output align_segments(const Side& truth, const Side& run, const Options& options, Team& team);

// What each list shows: its first rows, best first. -1 holds the place of an item that was there before and counts
// once.
struct First {
    int64_t queries = 0, count = 0, dropped = 0;
    Array<int64_t> offsets, rows;  // rows of the run's columns; query q's are [offsets[q], offsets[q + 1])
};

First first_segments(const Side& run, const Options& options, int64_t depth, Team& team);

// Which rows are one item of a query. Items are numbered by query, then as they come.
struct Items {
    int64_t queries = 0, count = 0, repeated = -1;  // a row whose item and subtopic an earlier one has, if any
    Array<int64_t> offsets, row_offsets;            // where each query's items and rows start
    Array<int64_t> first;                           // an item: its first row
    Array<int64_t> order;  // an item: its place among those of its query, the largest id first, from 0
    ItemRows rows;         // but for those that are there again
};

// codes: a row's subtopic; null: there is but one.
Items item_segments(const Side& side, const int64_t* codes, Team& team);

// Reads numbers as doubles, from positions first, first + 1, ... An integer that has no exact double becomes NaN.
void gather_numbers(const Column& column, const Permutation& rows, int64_t first, int64_t count, double* out);

// How much work a query is, and how many rows it can have at most in the output.
struct Cost {
    int64_t work, truth_rows, placements;
};

// Makes room in the output, cuts the queries into chunks of about the same work, and has `align` write each.
Output align_chunks(int64_t queries, Team& team, const std::function<Cost(int64_t query)>& cost,
                    const std::function<void(Chunk&, Output&)>& align);

}  // namespace rankstone
