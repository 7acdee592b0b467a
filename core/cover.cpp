#include "cover.hpp"

#include <limits>
#include <stdexcept>
#include <vector>

namespace rankstone {
namespace {

// Fills one list after the other, with buffers that stay.
class Filler {
public:
    Filler(const Covered& truth, double alpha, std::span<const double> weights, std::span<const double> rest,
           Filled& filled)
        : truth_(truth), alpha_(alpha), weights_(weights), rest_(rest), filled_(filled) {}

    void fill(int64_t query) {
        find_candidates(query);
        double gain = 0;
        for (size_t step = 0; step < weights_.size() && step < candidates_.size(); ++step) {
            // Added up row by row, so that items of the same subtopics add the very same.
            gains_ = left_;
            for (const Row& row : rows_) gains_[row.candidate] += worth_[row.subtopic];
            size_t best = 0;
            double most = gains_[0];
            for (size_t i = 1; i < gains_.size(); ++i) {
                const bool more = gains_[i] > most;
                best = more ? i : best;
                most = more ? gains_[i] : most;
            }
            if (most * rest_[step] <= gain * 1e-18) break;  // nothing further down can be seen in the sum
            gain += most * weights_[step];
            left_[best] = -std::numeric_limits<double>::infinity();
            filled_.rank[candidates_[best].item] = static_cast<int64_t>(step) + 1;
            for (size_t row = candidates_[best].first; row < candidates_[best].last; ++row)
                worth_[rows_[row].subtopic] *= 1.0 - alpha_;
        }
        filled_.gain[query] = gain;
    }

private:
    struct Candidate {
        int64_t item;
        size_t first, last;  // rows
    };
    struct Row {
        size_t candidate, subtopic;
    };

    // The items that are relevant for a subtopic, in their order.
    void find_candidates(int64_t query) {
        const int64_t start = at(truth_.queries, query), items = at(truth_.queries, query + 1) - start;
        arranged_.assign(static_cast<size_t>(items), -1);
        for (int64_t item = start; item < start + items; ++item) {
            const int64_t place = at(truth_.order, item);
            if (place < 0 || place >= items || arranged_[static_cast<size_t>(place)] >= 0)
                throw std::invalid_argument("order does not give each item a place");
            arranged_[static_cast<size_t>(place)] = item;
            filled_.rank[item] = 0;
        }
        candidates_.clear();
        rows_.resize(static_cast<size_t>(at(truth_.items, start + items) - at(truth_.items, start)));
        size_t count = 0, subtopics = 0;
        for (int64_t item : arranged_) {
            const size_t first = count;
            for (int64_t row = at(truth_.items, item); row < at(truth_.items, item + 1); ++row) {
                const auto subtopic = static_cast<size_t>(at(truth_.subtopic, row));
                const bool relevant = truth_.relevant[static_cast<size_t>(row)];
                rows_[count] = {candidates_.size(), subtopic};  // which the next one takes if it does not count
                count += relevant;
                subtopics = std::max(subtopics, relevant * (subtopic + 1));
            }
            if (count > first) candidates_.push_back({item, first, count});
        }
        rows_.resize(count);
        worth_.assign(subtopics, 1.0);
        left_.assign(candidates_.size(), 0.0);
    }

    static int64_t at(std::span<const int64_t> values, int64_t i) { return values[static_cast<size_t>(i)]; }

    const Covered& truth_;
    const double alpha_;
    const std::span<const double> weights_, rest_;
    Filled& filled_;

    // Of the query at hand.
    std::vector<int64_t> arranged_;  // items
    std::vector<Candidate> candidates_;
    std::vector<Row> rows_;
    std::vector<double> left_, gains_;  // a candidate: 0, or -inf once it is in the list; what it adds on top of that
    std::vector<double> worth_;         // of each subtopic, for the next item
};

}  // namespace

Filled fill_greedily(const Covered& truth, double alpha, std::span<const double> weights, Team& team) {
    const int64_t queries = std::ssize(truth.queries) - 1;
    Filled filled{Array<double>(queries), Array<int64_t>(std::ssize(truth.order))};
    std::vector<double> rest(weights.begin(), weights.end());  // the weights from a place on
    for (size_t step = rest.size(); step-- > 1;) rest[step - 1] += rest[step];
    std::vector<int64_t> pieces{0};  // queries, cut where there is work for one thread
    for (int64_t query = 0, work = 0; query < queries; ++query) {
        const auto from = static_cast<size_t>(query);
        work += 16 + 16 * (truth.queries[from + 1] - truth.queries[from]);
        if (work >= Team::few_rows || query + 1 == queries) pieces.push_back(query + 1), work = 0;
    }
    team.each(std::ssize(pieces) - 1, 16 * std::ssize(truth.order), [&](int64_t piece) {
        Filler filler(truth, alpha, weights, rest, filled);
        const auto at = static_cast<size_t>(piece);
        for (int64_t query = pieces[at]; query < pieces[at + 1]; ++query) {
            filler.fill(query);
            team.check();
        }
    });
    return filled;
}

}  // namespace rankstone
