// The door for a run that does not fit in memory: batches of rows in any order, seen twice. The first time finds the
// placements, the second counts, for each row, the placements that it precedes. What is kept grows with the truth,
// never with the run.
#pragma once

#include <memory>

#include "columns.hpp"

namespace rankstone {

// What the first pass has found.
struct Finds {
    std::vector<double> scores;      // one a judged item: NaN while the run has not returned it
    std::vector<int64_t> retrieved;  // one a query: rows of the run
    std::vector<int64_t> repeated;   // judged items that were returned again, where those count as placements too
    std::vector<double> repeated_scores;
    int64_t rows = 0;      // of the run, whatever their query
    int64_t unjudged = 0;  // of them, rows of unjudged queries
};

// What the second pass has counted.
struct Counts {
    // A level is a score that some placement of a query has; a query's levels go from high to low. Two numbers a level:
    // how many rows lie between it and the level above, and how many have this very score.
    std::vector<int64_t> levels;
    // One number a placement, the placements of a level by item, descending: how many rows of the level come before it,
    // but not before the placement in front of it.
    std::vector<int64_t> before;
    int64_t rows = 0;
};

class Stream {
public:
    virtual ~Stream() = default;

    // The truth's queries, by the first row of each, and its rows by query; both in order of first appearance.
    const std::vector<int64_t>& first_rows() const { return first_rows_; }
    const std::vector<int64_t>& truth_rows() const { return truth_rows_; }
    const std::vector<int64_t>& truth_offsets() const { return truth_offsets_; }

    // Returns the first rows of queries that the truth does not have, each once, as long as there are not too many.
    virtual std::vector<int64_t> find(const Rows& batch, Team& team) = 0;
    // Ends the first pass: sorts the placements and makes room for the counts.
    virtual void seal(Team& team) = 0;
    virtual void count(const Rows& batch, Team& team) = 0;
    virtual Output result(Order order, bool zeros, Team& team) const = 0;

    Finds finds;
    Counts counts;
    bool sealed = false;

    static constexpr int64_t extra_limit = 1 << 16;  // how many unjudged queries are remembered

protected:
    std::vector<int64_t> first_rows_, truth_rows_, truth_offsets_;
};

// The truth's memory must outlive the stream. Throws a Problem if the truth is wrong; `first_rows` then names its
// queries.
std::unique_ptr<Stream> make_stream(const Rows& truth, const Options& options, std::vector<int64_t>& first_rows);

}  // namespace rankstone
