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
    int64_t truth_start = 0, hit_start = 0;
    int64_t truth_rows = 0, hits = 0;  // written so far
    int64_t dropped = 0;
    bool tied = false;
};

struct Output {
    int64_t queries = 0, truth_rows = 0, hits = 0, dropped = 0;
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
    void reserve_hits(int64_t count) {
        rank.grow(count);
        grade.grow(count);
        score.grow(count);
        place.grow(count);
        above.grow(count);
        tied.grow(count);
    }

    // Appends a query to its chunk. There must be room; the hits must be sorted by rank.
    void write(Chunk& chunk, int64_t query, bool is_present, int64_t retrieved_rows, std::span<const double> truth,
               const std::vector<Hit>& found) {
        retrieved[query] = retrieved_rows;
        present[query] = is_present;

        const auto rows = static_cast<int64_t>(truth.size());
        const int64_t truth_at = chunk.truth_start + chunk.truth_rows;
        std::copy(truth.begin(), truth.end(), truth_grades.data() + truth_at);
        std::copy(truth.begin(), truth.end(), ideal_grades.data() + truth_at);
        const std::span best(ideal_grades.data() + truth_at, truth.size());
        if (!std::is_sorted(best.begin(), best.end(), std::greater<>()))
            std::sort(best.begin(), best.end(), std::greater<>());
        truth_offsets[query + 1] = rows;
        chunk.truth_rows += rows;

        if (!chunk.tied && std::any_of(found.begin(), found.end(), [](const Hit& hit) { return hit.tied > 1; })) {
            chunk.tied = true;
            fill_untied(chunk.hit_start, chunk.hits);
        }
        int64_t at = chunk.hit_start + chunk.hits;
        for (const Hit& hit : found) {
            rank[at] = hit.rank;
            grade[at] = hit.grade;
            score[at] = hit.score;
            place[at] = hit.place;
            if (chunk.tied) {
                above[at] = hit.above;
                tied[at] = hit.tied;
            }
            ++at;
        }
        placed_offsets[query + 1] = static_cast<int64_t>(found.size());
        chunk.hits += static_cast<int64_t>(found.size());
    }

    // Closes the gaps between the chunks, turns the counts into offsets, and gives back the room that was not needed.
    void finish(std::span<const Chunk> chunks) {
        for (const Chunk& chunk : chunks) {
            any_tied |= chunk.tied;
            dropped += chunk.dropped;
        }
        for (const Chunk& chunk : chunks) {
            if (any_tied && !chunk.tied) fill_untied(chunk.hit_start, chunk.hits);
            const auto truth = [&](auto& array) { move(array, truth_rows, chunk.truth_start, chunk.truth_rows); };
            truth(truth_grades), truth(ideal_grades);
            truth_rows += chunk.truth_rows;
            const auto found = [&](auto& array) { move(array, hits, chunk.hit_start, chunk.hits); };
            found(rank), found(grade), found(score), found(place);
            if (any_tied) found(above), found(tied);
            hits += chunk.hits;
            queries = chunk.last;
        }
        truth_offsets[0] = placed_offsets[0] = 0;
        for (int64_t i = 0; i < queries; ++i) {
            truth_offsets[i + 1] += truth_offsets[i];
            placed_offsets[i + 1] += placed_offsets[i];
        }
    }

private:
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
