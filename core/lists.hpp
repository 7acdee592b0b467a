// The door for list columns: offsets and values, as Arrow, DuckDB and Spark have them.
#pragma once

#include "segments.hpp"

namespace rankstone {

struct Lists {
    std::vector<int64_t> offsets;  // one more than there are rows
    Column items;
    std::optional<Column> values;
};

// Row i of the truth goes with row run_rows[i] of the run, or row i if there are no run_rows; -1: none.
Output align_lists(const Lists& truth, const Lists& run, const std::optional<std::vector<int64_t>>& run_rows,
                   const Options& options, Team& team);

// What each list of the run shows.
First first_lists(const Lists& run, const std::optional<std::vector<int64_t>>& run_rows, const Options& options,
                  int64_t depth, Team& team);

}  // namespace rankstone
