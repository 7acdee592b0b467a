// The one loop that everything rests on: how many scores are above a placement's score, and how many equal it.
#include "align.hpp"

#include <cstdlib>

// Wider vectors are chosen when the module is loaded, so one build runs everywhere. This needs GCC and glibc's ifunc,
// which the sanitizers cannot stand; elsewhere the plain build remains.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(RANKSTONE_SANITIZE)
#define RANKSTONE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RANKSTONE_CLONES
#endif

namespace rankstone {
namespace {

RANKSTONE_CLONES
void count_each(const double* scores, int64_t rows, Placement* placements, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const double score = placements[i].score;
        int64_t above = 0, tied = 0;
        for (int64_t row = 0; row < rows; ++row) {
            above += scores[row] > score;
            tied += scores[row] == score;
        }
        placements[i].above = above;
        placements[i].tied = tied;
    }
}

RANKSTONE_CLONES
int64_t count_nan(const double* scores, int64_t rows) {
    int64_t count = 0;
    for (int64_t row = 0; row < rows; ++row) count += scores[row] != scores[row];
    return count;
}

// Is no score higher than the one before it. One that is NaN is no order.
RANKSTONE_CLONES
bool descending(const double* scores, int64_t rows) {
    constexpr int64_t some = 256;  // looked at before the next: most lists that are in no order show it soon
    for (int64_t first = 1; first < rows; first += some) {
        int64_t rising = 0;
        for (int64_t row = first; row < std::min(rows, first + some); ++row)
            rising += !(scores[row - 1] >= scores[row]);
        if (rising) return false;
    }
    return true;
}

// For lists that come best first, as most do: a score stands where it is, or is found by halves.
void count_in_order(const double* scores, int64_t rows, std::vector<Placement>& placements) {
    const double* end = scores + rows;
    for (Placement& placement : placements) {
        const double score = placement.score;
        const double* first = scores + std::min(placement.row, rows - 1);
        if (*first != score || (first > scores && first[-1] == score))
            first = std::lower_bound(scores, end, score, std::greater<>());
        const double* last = first;
        if (last < end && *last == score) ++last;  // else no row has it
        if (last > first && last < end && *last == score) last = std::upper_bound(last, end, score, std::greater<>());
        placement.above = first - scores;
        placement.tied = last - first;
    }
}

// The other way round, for many placements: the placements' distinct scores, high to low, and one binary search a row.
void count_by_search(const double* scores, int64_t rows, std::vector<Placement>& placements) {
    std::vector<double> levels;
    levels.reserve(placements.size());
    for (const Placement& placement : placements) levels.push_back(placement.score);
    std::sort(levels.begin(), levels.end(), std::greater<>());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    const size_t count = levels.size();
    std::vector<int64_t> tied(count + 1), above(count + 1);
    for (int64_t row = 0; row < rows; ++row) {
        const double score = scores[row];
        const size_t at = find_level(levels, score);
        const bool equal = at < count && levels[at] == score;
        tied[at] += equal;
        above[at + equal] += score == score;  // the search takes a NaN for the highest score, which it is not
    }
    for (size_t i = 1; i < count; ++i) above[i] += above[i - 1];
    for (Placement& placement : placements) {
        const auto at = static_cast<size_t>(
            std::lower_bound(levels.begin(), levels.end(), placement.score, std::greater<>()) - levels.begin());
        placement.above = above[at];
        placement.tied = tied[at];
    }
}

}  // namespace

bool any_nan(const double* scores, int64_t rows) { return count_nan(scores, rows) > 0; }

void count_rows(const double* scores, int64_t rows, std::vector<Placement>& placements) {
    // Measured with AVX-512, on fresh data for each call: passing over the rows costs 0.14 ns a placement and row,
    // searching 10 ns a row and, for sorting the placements, 90 ns a placement. So few rows are passed over whatever
    // the placements, many only for some 70 placements.
    const auto count = static_cast<int64_t>(placements.size());
    if (count > 1 && rows > 1 && descending(scores, rows) && scores[0] == scores[0])
        count_in_order(scores, rows, placements);
    else if (count * rows < 70 * rows + 650 * count)
        count_each(scores, rows, placements.data(), count);
    else
        count_by_search(scores, rows, placements);
}

}  // namespace rankstone
