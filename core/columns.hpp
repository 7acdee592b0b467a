// The door for flat columns: one row for each query and item, the rows of a query next to each other or not.
#pragma once

#include <memory>

#include "segments.hpp"

namespace rankstone {

struct ColumnResult {
    std::vector<int64_t> queries;  // the first row of each query in the truth
    std::vector<int64_t> extra;    // the first row in the run of each query that the truth does not have
    Output output;
};

struct Rows {
    Column queries, items;
    std::optional<Column> values;
};

// Fills `queries` before anything that may throw a Problem, which names a query by its number in there.
void align_columns(const Rows& truth, const Rows& run, const Options& options, Team& team, ColumnResult& result);

// What each list shows, of the queries that are `known` and, with `extra_queries`, of the others.
struct ShownResult {
    std::vector<int64_t> queries, extra;  // as above, where the known ones are those of the truth
    First first;
};

void first_columns(const Column& known, const Rows& run, const Options& options, int64_t depth, Team& team,
                   ShownResult& result);

// Stretches of a column that hold the same query.
struct Stretches {
    std::vector<int64_t> starts;   // first rows
    std::vector<int64_t> queries;  // their numbers in the truth, -1 for those it does not have
};

// The queries of a truth, for a run that comes in batches with each query's rows together.
class Queries {
public:
    virtual ~Queries() = default;
    virtual Stretches stretches(const Column& column, Team& team) const = 0;

    std::vector<int64_t> first_rows;  // one a query, in order of first appearance
    std::vector<int64_t> offsets;     // where each query's rows start, once they are by query
    std::vector<int64_t> rows;        // by query; empty: as they are
};

std::unique_ptr<Queries> number_queries(const Column& column, Team& team);

// Which rows are one item of a query. codes: a row's subtopic; null: there is but one.
Items item_columns(const Column& queries, const Column& items, const int64_t* codes, Team& team);

}  // namespace rankstone
