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

// Which rows belong to a query: row numbers, or positions where the rows have been moved.
struct Range {
    int64_t first = -1, last = -1;

    bool present() const { return first >= 0; }
    int64_t size() const { return last - first; }
};

// A side's rows, moved so that those of a few queries lie together, in their order: all that aligning them needs. Part
// p has the queries [p << shift, (p + 1) << shift).
struct Parts {
    struct Row {
        uint64_t tag;
        double value;
        uint64_t where;  // the query's number in the part, above the row's number

        static constexpr int row_bits = 38, query_bits = 26;  // 274 billion rows
        int64_t row() const { return static_cast<int64_t>(where & ((uint64_t{1} << row_bits) - 1)); }
        size_t query() const { return static_cast<size_t>(where >> row_bits); }
    };

    int shift = 0;
    int64_t queries = 0;
    Scratch<Row> rows;
    std::vector<int64_t> starts;  // of each part, and the end; empty: the rows are where they were
};

struct Side {
    Column items;
    std::optional<Column> values;  // grades or scores
    std::vector<Range> ranges;     // one a query; empty if there are parts
    Parts parts;

    bool moved() const { return !parts.starts.empty(); }
    int64_t queries() const { return moved() ? parts.queries : std::ssize(ranges); }
    // How many rows the queries [first, last) have; where rows were moved, they must be those of whole parts.
    int64_t size(int64_t first, int64_t last) const;
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

// Reads numbers as doubles, from the first row on. An integer that has no exact double becomes NaN.
void read_numbers(const Column& column, int64_t first, int64_t count, double* out);

// How much work some queries are, and how many rows they can have at most in the output.
struct Cost {
    int64_t work, truth_rows, placements;
};

// Makes room in the output, cuts the queries into chunks of about the same work, and has `align` write each. `cost` is
// asked for each query, or for each stretch of `1 << shift` of them, which stay together.
Output align_chunks(int64_t queries, Team& team, const std::function<Cost(int64_t)>& cost,
                    const std::function<void(Chunk&, Output&)>& align, int shift = 0);

}  // namespace rankstone
