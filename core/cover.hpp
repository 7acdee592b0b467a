// Ideal lists that cover many subtopics early, filled greedily: at each place the item that adds most.
#pragma once

#include <span>

#include "memory.hpp"
#include "parallel.hpp"

namespace rankstone {

// Judged items, and a row for each of their subtopics. Offsets start at 0, never fall, and end where the next array
// does.
struct Covered {
    std::span<const int64_t> queries;   // offsets of each query's items
    std::span<const int64_t> items;     // offsets of each item's rows
    std::span<const int64_t> subtopic;  // a row: its number in the query, not below 0 and less than there are rows
    std::span<const bool> relevant;     // a row: whether it counts
    std::span<const int64_t> order;  // an item: its place in the query, from 0; of those that add the same, the first
};

struct Filled {
    Array<double> gain;   // per query: the gain of its list
    Array<int64_t> rank;  // per item: its rank in the list, from 1; 0: it has none
};

// An item adds the worth of its subtopics: 1, less the part `alpha` for each item above that covers it too. What is
// added counts by its place's weight; there are as many places as weights.
Filled fill_greedily(const Covered& truth, double alpha, std::span<const double> weights, Team& team);

}  // namespace rankstone
