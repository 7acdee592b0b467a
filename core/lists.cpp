#include "lists.hpp"

namespace rankstone {
namespace {

std::vector<Range> ranges_of(const Lists& lists, const char* side) {
    const auto fail = [&](const std::string& what) { throw std::invalid_argument(std::string(side) + what); };
    if (lists.offsets.empty()) fail(" offsets: there must be at least one");
    std::vector<Range> ranges(lists.offsets.size() - 1);
    for (size_t i = 0; i < ranges.size(); ++i) {
        ranges[i] = {lists.offsets[i], lists.offsets[i + 1]};
        if (ranges[i].first < 0 || ranges[i].size() < 0)
            fail(" offsets: row " + std::to_string(i) + " ends before it starts");
    }
    if (lists.offsets.back() > lists.items.length)
        fail(" offsets: the last is " + std::to_string(lists.offsets.back()) + ", past the " +
             std::to_string(lists.items.length) + " items");
    return ranges;
}

// The lists of the queries, which are in the rows that `run_rows` has: -1 for one that is nowhere.
std::vector<Range> paired(const Lists& run, const std::optional<std::vector<int64_t>>& run_rows) {
    std::vector<Range> ranges = ranges_of(run, "run");
    if (!run_rows) return ranges;
    std::vector<Range> found(run_rows->size());
    for (size_t i = 0; i < found.size(); ++i) {
        const int64_t row = (*run_rows)[i];
        if (row < -1 || row >= std::ssize(ranges))
            throw std::invalid_argument("run_rows: row " + std::to_string(i) + ": the run has no row " +
                                        std::to_string(row));
        if (row >= 0) found[i] = ranges[static_cast<size_t>(row)];
    }
    return found;
}

}  // namespace

Output align_lists(const Lists& truth, const Lists& run, const std::optional<std::vector<int64_t>>& run_rows,
                   const Options& options, Team& team) {
    Side judged{truth.items, truth.values, ranges_of(truth, "truth"), {}};
    Side returned{run.items, run.values, paired(run, run_rows), {}};
    const size_t queries = judged.ranges.size();
    if (returned.ranges.size() != queries)
        throw std::invalid_argument("the truth has " + std::to_string(queries) + " rows but " +
                                    (run_rows ? "run_rows" : "the run") + " has " +
                                    std::to_string(returned.ranges.size()));
    return align_segments(judged, returned, options, team);
}

First first_lists(const Lists& run, const std::optional<std::vector<int64_t>>& run_rows, const Options& options,
                  int64_t depth, Team& team) {
    return first_segments({run.items, run.values, paired(run, run_rows), {}}, options, depth, team);
}

}  // namespace rankstone
