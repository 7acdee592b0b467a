// What every door hands back: flat arrays, by query and then by rank.
#pragma once

#include <cstring>
#include <span>

#include "align.hpp"
#include "memory.hpp"

namespace rankstone {

// A stretch of queries that one thread writes. It starts where it would if all earlier queries had as many rows as they
// possibly can; Output::finish closes the gaps.
struct Chunk {
    int64_t first = 0, last = 0;  // queries
    int64_t truth_start = 0, placement_start = 0;
    int64_t truth_rows = 0, placements = 0;  // written so far
    int64_t dropped = 0;
    bool tied = false;
};

struct Output {
    int64_t queries = 0, truth_rows = 0, placements = 0, dropped = 0;
    bool any_tied = false;  // else `above` and `tied` are not filled
    Array<int64_t> retrieved;
    Array<bool> present;
    Array<int64_t> truth_offsets;
    Array<double> truth_grades, ideal_grades;
    Array<int64_t> placed_offsets, rank;
    Array<double> grade, score;
    Array<int64_t> place, above, tied;

    void reserve_queries(int64_t count) {
        retrieved.grow(count);
        present.grow(count);
        truth_offsets.grow(count + 1);
        placed_offsets.grow(count + 1);
    }
    void reserve_truth(int64_t count) {
        truth_grades.grow(count);
        ideal_grades.grow(count);
    }
    void reserve_placements(int64_t count) {
        rank.grow(count);
        grade.grow(count);
        score.grow(count);
        place.grow(count);
        above.grow(count);
        tied.grow(count);
    }

    // Appends a query to its chunk. There must be room; the placements must be sorted by rank.
    void write(Chunk& chunk, int64_t query, bool is_present, int64_t retrieved_rows, std::span<const double> truth,
               const std::vector<Placement>& found) {
        retrieved[query] = retrieved_rows;
        present[query] = is_present;

        const auto rows = static_cast<int64_t>(truth.size());
        const int64_t truth_at = chunk.truth_start + chunk.truth_rows;
        std::copy(truth.begin(), truth.end(), truth_grades.data() + truth_at);
        sort_down(truth, ideal_grades.data() + truth_at);
        truth_offsets[query + 1] = rows;
        chunk.truth_rows += rows;

        if (!chunk.tied &&
            std::any_of(found.begin(), found.end(), [](const Placement& placement) { return placement.tied > 1; })) {
            chunk.tied = true;
            fill_untied(chunk.placement_start, chunk.placements);
        }
        int64_t at = chunk.placement_start + chunk.placements;
        for (const Placement& placement : found) {
            rank[at] = placement.rank;
            grade[at] = placement.grade;
            score[at] = placement.score;
            place[at] = placement.place;
            if (chunk.tied) {
                above[at] = placement.above;
                tied[at] = placement.tied;
            }
            ++at;
        }
        placed_offsets[query + 1] = static_cast<int64_t>(found.size());
        chunk.placements += static_cast<int64_t>(found.size());
    }

    // Closes the gaps between the chunks, turns the counts into offsets, and gives back the room that was not needed.
    void finish(std::span<const Chunk> chunks) {
        for (const Chunk& chunk : chunks) {
            any_tied |= chunk.tied;
            dropped += chunk.dropped;
        }
        for (const Chunk& chunk : chunks) {
            if (any_tied && !chunk.tied) fill_untied(chunk.placement_start, chunk.placements);
            const auto truth = [&](auto& array) { move(array, truth_rows, chunk.truth_start, chunk.truth_rows); };
            truth(truth_grades), truth(ideal_grades);
            truth_rows += chunk.truth_rows;
            const auto found = [&](auto& array) { move(array, placements, chunk.placement_start, chunk.placements); };
            found(rank), found(grade), found(score), found(place);
            if (any_tied) found(above), found(tied);
            placements += chunk.placements;
            queries = chunk.last;
        }
        truth_offsets[0] = placed_offsets[0] = 0;
        for (int64_t i = 0; i < queries; ++i) {
            truth_offsets[i + 1] += truth_offsets[i];
            placed_offsets[i + 1] += placed_offsets[i];
        }
    }

private:
    // Writes the highest first. A few are compared each with each, which needs no branches.
    static void sort_down(std::span<const double> grades, double* best) {
        constexpr size_t few = 16;
        if (grades.size() <= few && grades.size() > 1) {
            for (size_t i = 0; i < grades.size(); ++i) {
                size_t place = 0;
                for (size_t j = 0; j < i; ++j) place += grades[j] >= grades[i];
                for (size_t j = i + 1; j < grades.size(); ++j) place += grades[j] > grades[i];
                best[place] = grades[i];
            }
            return;
        }
        std::copy(grades.begin(), grades.end(), best);
        if (!std::is_sorted(best, best + grades.size(), std::greater<>()))
            std::sort(best, best + grades.size(), std::greater<>());
    }

    template <class T>
    static void move(Array<T>& array, int64_t to, int64_t from, int64_t count) {
        if (to != from && count)
            std::memmove(array.data() + to, array.data() + from, static_cast<size_t>(count) * sizeof(T));
    }
    void fill_untied(int64_t start, int64_t count) {
        for (int64_t i = start; i < start + count; ++i) {
            above[i] = rank[i] - 1;
            tied[i] = 1;
        }
    }
};

}  // namespace rankstone
