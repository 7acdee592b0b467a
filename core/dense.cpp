#include "dense.hpp"

#include <cmath>

namespace rankstone {
namespace {

Column row(const Matrix& matrix, int64_t query) {
    Column cells = matrix.cells;
    cells.values = static_cast<const char*>(cells.values) + query * matrix.row_step;
    return cells;
}

void copy(const Matrix& matrix, int64_t query, std::vector<double>& out) {
    read_numbers(row(matrix, query), 0, std::ssize(out), out.data());
}

// How many labels of each query are not 0.
std::vector<int64_t> count_judged(const Dense& input, Team& team) {
    std::vector<int64_t> judged(static_cast<size_t>(input.queries));
    constexpr int64_t swift = 32;  // labels that take as long as a row does elsewhere
    const int64_t step = std::max<int64_t>(1, swift * Team::few_rows / std::max<int64_t>(1, input.items));
    team.each((input.queries + step - 1) / step, input.queries * input.items / swift, [&](int64_t task) {
        for (int64_t query = task * step; query < std::min(input.queries, (task + 1) * step); ++query)
            judged[static_cast<size_t>(query)] = with_numbers(row(input.labels, query), [&](auto label) {
                int64_t count = 0;
                for (int64_t i = 0; i < input.items; ++i) count += label(i) != 0;
                return count;
            });
    });
    return judged;
}

class Worker {
public:
    // `judged`: how many labels of each query there is room for; empty: for all.
    Worker(const Dense& input, const std::vector<int64_t>& judged, const Options& options, const Team& team,
           Output& output)
        : input_(input),
          judged_(judged),
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
        if (!judged_.empty() && std::ssize(grades_) > judged_[static_cast<size_t>(query)])
            throw BadRow("number", "labels", query, " changed while it was read");
    }

    const Dense& input_;
    const std::vector<int64_t>& judged_;
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
    // Where most labels are 0, room for all of them would be memory that the system clears for nothing.
    const std::vector<int64_t> judged = options.zeros ? std::vector<int64_t>() : count_judged(input, team);
    const auto cost = [&](int64_t query) -> Cost {
        const int64_t rows = options.zeros ? input.items : judged[static_cast<size_t>(query)];
        return {16 + 2 * input.items, rows, rows};
    };
    return align_chunks(input.queries, team, cost, [&](Chunk& chunk, Output& output) {
        Worker(input, judged, options, team, output).align(chunk);
    });
}

}  // namespace rankstone
