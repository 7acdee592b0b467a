#include "dense.hpp"

#include <cmath>

namespace rankstone {
namespace {

class Worker {
public:
    Worker(const Dense& input, const Options& options, const Team& team, Output& output)
        : input_(input),
          options_(options),
          team_(team),
          output_(output),
          cells_(static_cast<size_t>(input.items)),
          labels_(cells_.size()),
          mask_(cells_.size(), 1) {}

    void align(Chunk& chunk) {
        // The items are the columns, so the order of the items is that of the cells.
        const Order order = options_.order == Order::item_asc    ? Order::input
                            : options_.order == Order::item_desc ? Order::reverse_input
                                                                 : options_.order;
        for (int64_t query = chunk.first; query < chunk.last; ++query) {
            read(query);
            if (Ranker::count(scores_.data(), std::ssize(scores_), placements_))
                ranker_.break_ties(scores_.data(), std::ssize(scores_), placements_, order,
                                   [](int64_t, int64_t) { return 0; });
            ranker_.sort(placements_, std::ssize(scores_));
            output_.write(chunk, query, true, std::ssize(scores_), grades_, placements_);
            team_.check();
        }
    }

private:
    void read(int64_t query) {
        copy(input_.scores, query, cells_);
        copy(input_.labels, query, labels_);
        if (input_.mask) copy(*input_.mask, query, mask_);
        scores_.clear();
        grades_.clear();
        placements_.clear();
        for (size_t i = 0; i < cells_.size(); ++i) {
            if (mask_[i] == 0) continue;
            const auto column = static_cast<int64_t>(i);
            const double score = options_.float32 ? static_cast<float>(cells_[i]) : cells_[i];
            if (score != score) throw Problem{Problem::bad_value, true, query, column};
            if (!std::isfinite(labels_[i])) throw Problem{Problem::bad_value, false, query, column};
            const int64_t row = std::ssize(scores_);
            scores_.push_back(score);
            if (!options_.zeros && labels_[i] == 0) continue;
            grades_.push_back(labels_[i]);
            placements_.push_back({row, row + 1, labels_[i], score});
        }
    }

    static void copy(const Matrix& matrix, int64_t query, std::vector<double>& out) {
        Column cells = matrix.cells;
        cells.values = static_cast<const char*>(cells.values) + query * matrix.row_step;
        read_numbers(cells, 0, std::ssize(out), out.data());
    }

    const Dense& input_;
    const Options& options_;
    const Team& team_;
    Output& output_;

    // Of the query being aligned: all cells, and those that the mask leaves.
    std::vector<double> cells_, labels_, mask_;
    std::vector<double> scores_, grades_;
    std::vector<Placement> placements_;
    Ranker ranker_;
};

}  // namespace

Output align_dense(const Dense& input, const Options& options, Team& team) {
    const auto cost = [&](int64_t) -> Cost { return {16 + 8 * input.items, input.items, input.items}; };
    return align_chunks(input.queries, team, cost,
                        [&](Chunk& chunk, Output& output) { Worker(input, options, team, output).align(chunk); });
}

}  // namespace rankstone
