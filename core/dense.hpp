// The door for matrices: one row a query, one column an item, every cell both returned and judged.
#pragma once

#include "segments.hpp"

namespace rankstone {

struct Matrix {
    Column cells;      // of the first row
    int64_t row_step;  // bytes from one row to the next
};

struct Dense {
    int64_t queries, items;
    Matrix scores, labels;
    std::optional<Matrix> mask;  // true: a real item
};

// A Problem's row is the matrix's column.
Output align_dense(const Dense& input, const Options& options, Team& team);

}  // namespace rankstone
