#include "lists.hpp"

namespace rankstone {
namespace {

std::vector<Range> ranges_of(const Lists& lists, const char* side) {
    const auto fail = [&](const std::string& what) { throw ColumnValueError(std::string(side) + what); };
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

}  // namespace

Output align_lists(const Lists& truth, const Lists& run, const std::optional<std::vector<int64_t>>& run_rows,
                   const Options& options, Team& team) {
    Side judged{truth.items, truth.values, ranges_of(truth, "truth"), {}};
    Side returned{run.items, run.values, ranges_of(run, "run"), {}};
    const size_t queries = judged.ranges.size();
    const auto mismatch = [&](size_t count, const char* what) {
        throw ColumnValueError("the truth has " + std::to_string(queries) + " rows but " + what +
                               std::to_string(count));
    };
    if (!run_rows && returned.ranges.size() != queries) mismatch(returned.ranges.size(), "the run has ");
    if (run_rows) {
        if (run_rows->size() != queries) mismatch(run_rows->size(), "run_rows has ");
        std::vector<Range> paired(queries);
        for (size_t i = 0; i < queries; ++i) {
            const int64_t row = (*run_rows)[i];
            if (row < -1 || row >= std::ssize(returned.ranges))
                throw ColumnValueError("run_rows: row " + std::to_string(i) + ": the run has no row " +
                                       std::to_string(row));
            if (row >= 0) paired[i] = returned.ranges[static_cast<size_t>(row)];
        }
        returned.ranges = std::move(paired);
    }
    return align_segments(judged, returned, options, team);
}

}  // namespace rankstone
