#include "stream.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

namespace rankstone {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t block =
    256;  // rows read ahead at a time: enough to hide memory's latency, small enough for the cache

void add(int64_t& counter, int64_t amount) {
    std::atomic_ref<int64_t>(counter).fetch_add(amount, std::memory_order_relaxed);
}

template <class Keys>
void gather_keys(const Column& column, int64_t first, int64_t count, typename Keys::Key* keys) {
    Keys::with_keys(column, [&](auto get) {
        for (int64_t i = 0; i < count; ++i) keys[i] = get(first + i);
    });
}

// Which items a query's truth has. One byte an item decides almost every row of the run, so that a large truth's tables
// stay in the cache: a row of the run is seldom judged.
struct ItemTable {
    int64_t start = 0;  // in `bytes` and `places`
    uint64_t mask = 0;
};

template <class QueryKeys, class ItemKeys>
class TypedStream final : public Stream {
public:
    using QueryKey = typename QueryKeys::Key;
    using ItemKey = typename ItemKeys::Key;
    using ItemValue = typename ItemKeys::Value;

    TypedStream(const Rows& truth, const Options& options, std::vector<int64_t>& first_rows) : options_(options) {
        number_queries(truth.queries);
        make_filter();
        first_rows = first_rows_;
        read_truth(truth);
        finds.scores.assign(items_.size(), nan);
        finds.retrieved.assign(queries_.size(), 0);
    }

    std::vector<int64_t> find(const Rows& batch, Team& team) override {
        std::mutex mutex;
        std::vector<int64_t> unknown;
        std::atomic<int64_t> unjudged{0};
        team.each_piece(batch.queries.length, [&](int64_t first, int64_t last) {
            std::vector<int64_t> extra;
            int64_t judged = 0;
            for_blocks(batch, first, last, team, [&](Block& rows) {
                judged += rows.count;
                find_block(rows);
                if (rows.count < rows.size && !extra_full_) note_extra(rows, extra);
            });
            unjudged += last - first - judged;
            const std::lock_guard lock(mutex);
            unknown.insert(unknown.end(), extra.begin(), extra.end());
        });
        finds.rows += batch.queries.length;
        finds.unjudged += unjudged;
        std::sort(unknown.begin(), unknown.end());
        return remember(batch.queries, unknown);
    }

    void seal(Team& team) override {
        sort_repeated();
        const auto queries = std::ssize(queries_);
        placed_offsets_.assign(queries_.size() + 1, 0);
        level_offsets_.assign(queries_.size() + 1, 0);
        for (int64_t query = 0; query < queries; ++query) {
            int64_t found = 0;
            for (int64_t i = truth_offsets_[at(query)]; i < truth_offsets_[at(query + 1)]; ++i)
                found += !std::isnan(finds.scores[at(i)]);
            placed_offsets_[at(query + 1)] = found + std::ssize(repeats_of(query));
        }
        for (int64_t query = 0; query < queries; ++query) placed_offsets_[at(query + 1)] += placed_offsets_[at(query)];
        const int64_t placements = placed_offsets_.back();
        placements_.resize(at(placements));
        std::vector<double> levels(at(placements));
        std::vector<uint32_t> level_placements(at(placements));
        // Sorted where they are, with gaps between the levels of one query and the next, which are closed afterwards.
        team.each_piece(queries, [&](int64_t first, int64_t last) {
            for (int64_t query = first; query < last; ++query) {
                sort_placements(query, levels.data(), level_placements.data());
                if (query % 1024 == 0) team.check();
            }
        });
        for (int64_t query = 0; query < queries; ++query) {
            const int64_t from = placed_offsets_[at(query)], to = level_offsets_[at(query)],
                          count = level_offsets_[at(query + 1)];
            std::copy_n(levels.begin() + from, count, levels.begin() + to);
            std::copy_n(level_placements.begin() + from, count, level_placements.begin() + to);
            level_offsets_[at(query + 1)] = to + count;
        }
        levels.resize(at(level_offsets_.back()));
        level_placements.resize(at(level_offsets_.back()));
        levels.shrink_to_fit();
        level_placements.shrink_to_fit();
        levels_ = std::move(levels);
        level_placements_ = std::move(level_placements);
        counts.levels.assign(2 * levels_.size(), 0);
        counts.before.assign(placements_.size(), 0);
        sealed = true;
    }

    void count(const Rows& batch, Team& team) override {
        team.each_piece(batch.queries.length, [&](int64_t first, int64_t last) {
            std::vector<int64_t> local;
            for_blocks(batch, first, last, team, [&](Block& rows) { count_block(rows, local); });
        });
        counts.rows += batch.queries.length;
    }

    Output result(Order order, bool zeros, Team& team) const override {
        const auto cost = [&](int64_t query) -> Cost {
            const int64_t judged = truth_offsets_[at(query + 1)] - truth_offsets_[at(query)];
            const int64_t placements = placed_offsets_[at(query + 1)] - placed_offsets_[at(query)];
            return {16 + 2 * judged + placements, judged, placements};
        };
        return align_chunks(std::ssize(queries_), team, cost, [&](Chunk& chunk, Output& output) {
            std::vector<Placement> placements;
            std::vector<double> grades;
            for (int64_t query = chunk.first; query < chunk.last; ++query) {
                read_grades(query, zeros, grades);
                rank_placements(query, order, zeros, placements);
                const int64_t rows = finds.retrieved[at(query)];
                output.write(chunk, query, rows > 0, rows, grades, placements);
                team.check();
            }
        });
    }

private:
    // Some rows of a batch, and the query of each. Those of unjudged queries are in no list.
    struct Block {
        explicit Block(const Rows& rows_of) : batch(rows_of) {}

        const Rows& batch;
        int64_t first = 0, size = 0, count = 0;
        bool one_query = false;  // all of its rows have the same
        QueryKey keys[block];
        int64_t numbers[block];  // -1: unjudged
        int64_t rows[block];     // those of judged queries, from 0
        double scores[block];

        int64_t query(int64_t i) const { return numbers[rows[i]]; }
        double score(int64_t i) const { return scores[rows[i]]; }
    };

    static constexpr size_t at(int64_t i) { return static_cast<size_t>(i); }

    // -- the truth
    // -----------------------------------------------------------------------------------------------------

    void number_queries(const Column& column) {
        int64_t room = 64;
        table_.start(room);
        std::vector<int64_t> numbers(at(column.length));
        QueryKeys::with_keys(column, [&](auto get) {
            for (int64_t row = 0; row < column.length; ++row) {
                const QueryKey key = get(row);
                if (row > 0 && same(key, queries_[at(numbers[at(row - 1)])])) {
                    numbers[at(row)] = numbers[at(row - 1)];
                    continue;
                }
                const auto known = std::ssize(queries_);
                if (known == room) table_.grow(room *= 2);
                const auto& slot = table_.view().find_or_add(QueryKeys::tag(key), known, [&](int64_t number) {
                    return QueryKeys::exact(QueryKeys::tag(key)) || same(queries_[at(number)], key);
                });
                const int64_t number = numbers[at(row)] = table_.view().number(slot);
                if (number == known) {
                    queries_.push_back(key);
                    first_rows_.push_back(row);
                }
            }
        });
        truth_offsets_.assign(queries_.size() + 1, 0);
        for (int64_t number : numbers) ++truth_offsets_[at(number + 1)];
        for (size_t i = 1; i < truth_offsets_.size(); ++i) truth_offsets_[i] += truth_offsets_[i - 1];
        std::vector<int64_t> next(truth_offsets_.begin(), truth_offsets_.end() - 1);
        truth_rows_.resize(numbers.size());
        for (size_t row = 0; row < numbers.size(); ++row)
            truth_rows_[at(next[at(numbers[row])]++)] = static_cast<int64_t>(row);
    }

    void read_truth(const Rows& truth) {
        items_.resize(truth_rows_.size());
        ItemKeys::with_values(truth.items, [&](auto get) {
            for (size_t i = 0; i < items_.size(); ++i) items_[i] = get(truth_rows_[i]);
        });
        grades_.assign(items_.size(), 1.0);
        if (truth.values) {
            std::vector<double> grades(items_.size());
            read_numbers(*truth.values, 0, std::ssize(grades), grades.data());
            for (size_t i = 0; i < items_.size(); ++i) grades_[i] = grades[at(truth_rows_[i])];
        }
        again_.assign(items_.size(), false);
        tables_.resize(queries_.size());
        int64_t slots = 0;
        for (size_t query = 0; query < queries_.size(); ++query) {
            const auto count = static_cast<uint64_t>(truth_offsets_[query + 1] - truth_offsets_[query]);
            const uint64_t size = std::bit_ceil(2 * count);
            tables_[query] = {slots, size - 1};
            slots += static_cast<int64_t>(size);
        }
        bytes_.assign(at(slots), 0);
        places_.assign(at(slots), 0);
        for (int64_t query = 0; query < std::ssize(queries_); ++query) {
            const int64_t first = truth_offsets_[at(query)];
            for (int64_t i = first; i < truth_offsets_[at(query + 1)]; ++i) {
                if (!std::isfinite(grades_[at(i)])) throw Problem{Problem::bad_value, false, query, truth_rows_[at(i)]};
                const ItemKey key = key_at<ItemKeys>(truth.items, truth_rows_[at(i)]);
                const uint64_t hash = spread(ItemKeys::tag(key));
                const int64_t slot = probe(query, hash, key);
                if (bytes_[at(slot)]) {
                    if (options_.truth_duplicates == TruthDuplicates::error)
                        throw Problem{Problem::twice, false, query, truth_rows_[at(i)]};
                    double& grade = grades_[at(first + places_[at(slot)])];
                    if (options_.truth_duplicates == TruthDuplicates::max)
                        grade = std::max(grade, grades_[at(i)]);
                    else if (options_.truth_duplicates != TruthDuplicates::first && grade != grades_[at(i)])
                        throw Problem{Problem::two_grades, false, query, truth_rows_[at(i)]};
                    again_[at(i)] = true;
                    continue;
                }
                bytes_[at(slot)] = byte_of(hash);
                places_[at(slot)] = static_cast<uint32_t>(i - first);
            }
        }
    }

    // -- looking up
    // ----------------------------------------------------------------------------------------------------

    static uint8_t byte_of(uint64_t hash) { return std::max<uint8_t>(1, static_cast<uint8_t>(hash >> 56)); }

    // The item's slot in its query's table, or the free one where it belongs.
    int64_t probe(int64_t query, uint64_t hash, const ItemKey& key) const {
        const ItemTable table = tables_[at(query)];
        const uint8_t* bytes = bytes_.data() + table.start;
        const uint8_t byte = byte_of(hash);
        uint64_t slot = hash & table.mask;
        while (bytes[slot] &&
               !(bytes[slot] == byte &&
                 ItemKeys::same(item_in(query, table.start + static_cast<int64_t>(slot)), ItemKeys::value(key))))
            slot = (slot + 1) & table.mask;
        return table.start + static_cast<int64_t>(slot);
    }
    ItemValue item_in(int64_t query, int64_t slot) const {
        return items_[at(truth_offsets_[at(query)] + places_[at(slot)])];
    }

    static bool same(const QueryKey& a, const QueryKey& b) {
        return QueryKeys::same(QueryKeys::value(a), QueryKeys::value(b));
    }

    int64_t find_query(const QueryKey& key) const {
        return table_.view().find(QueryKeys::tag(key), [&](int64_t number) {
            return QueryKeys::exact(QueryKeys::tag(key)) || same(queries_[at(number)], key);
        });
    }

    // Calls use(block) for the rows from first to last.
    template <class Use>
    void for_blocks(const Rows& batch, int64_t first, int64_t last, const Team& team, Use use) const {
        Block rows(batch);
        const Table::View table = table_.view();
        bool mostly_unjudged = false;  // had most rows of the last block unjudged queries
        for (rows.first = first; rows.first < last; rows.first += rows.size) {
            team.check();
            rows.size = std::min(block, last - rows.first);
            gather_keys<QueryKeys>(batch.queries, rows.first, rows.size, rows.keys);
            if (table.beyond_cache() && mostly_unjudged) {
                find_few(rows, table);
            } else {
                if (table.beyond_cache())
                    for (int64_t i = 0; i < rows.size; ++i) table.prefetch(QueryKeys::tag(rows.keys[i]));
                find_queries(rows);
            }
            mostly_unjudged = 2 * rows.count < rows.size;
            if (rows.count) read_scores(rows);
            use(rows);
        }
    }

    void find_queries(Block& rows) const {
        rows.count = 0;
        rows.one_query = true;
        for (int64_t i = 0; i < rows.size; ++i) {
            if (i > 0 && same(rows.keys[i], rows.keys[i - 1])) {
                rows.numbers[i] = rows.numbers[i - 1];
            } else {
                rows.numbers[i] = find_query(rows.keys[i]);
                rows.one_query &= i == 0;
            }
            rows.rows[rows.count] = i;
            rows.count += rows.numbers[i] >= 0;
        }
    }

    // The same where few queries are judged: one bit in a small table excludes almost all of the others.
    void find_few(Block& rows, const Table::View& table) const {
        int64_t likely = 0;
        for (int64_t i = 0; i < rows.size; ++i) {
            rows.numbers[i] = -1;
            rows.rows[likely] = i;
            likely += is_likely(QueryKeys::tag(rows.keys[i]));
        }
        for (int64_t i = 0; i < likely; ++i) table.prefetch(QueryKeys::tag(rows.keys[rows.rows[i]]));
        rows.count = 0;
        rows.one_query = false;
        for (int64_t i = 0; i < likely; ++i) {
            const int64_t row = rows.rows[i];
            rows.numbers[row] = find_query(rows.keys[row]);
            rows.rows[rows.count] = row;
            rows.count += rows.numbers[row] >= 0;
        }
    }

    bool is_likely(uint64_t tag) const {
        const uint64_t bit = spread(tag) >> filter_shift_;
        return filter_[bit / 64] >> (bit % 64) & 1;
    }
    // Sixteen bits a query: at most one in sixteen unjudged queries is searched in vain.
    void make_filter() {
        const uint64_t bits = std::bit_ceil(16 * std::max<uint64_t>(queries_.size(), 4));
        filter_shift_ = 64 - std::countr_zero(bits);
        filter_.assign(bits / 64, 0);
        for (const QueryKey& key : queries_) {
            const uint64_t bit = spread(QueryKeys::tag(key)) >> filter_shift_;
            filter_[bit / 64] |= uint64_t{1} << (bit % 64);
        }
    }

    void read_scores(Block& rows) const {
        read_numbers(*rows.batch.values, rows.first, rows.size, rows.scores);
        if (options_.float32)
            for (int64_t i = 0; i < rows.size; ++i) rows.scores[i] = static_cast<float>(rows.scores[i]);
        bool wrong = false;
        for (int64_t i = 0; i < rows.size; ++i) wrong |= rows.scores[i] != rows.scores[i];
        if (!wrong) return;
        for (int64_t i = 0; i < rows.count; ++i)
            if (std::isnan(rows.score(i)))
                throw Problem{Problem::bad_value, true, rows.query(i), rows.first + rows.rows[i]};
    }

    // -- the first pass
    // ------------------------------------------------------------------------------------------------

    void find_block(const Block& rows) {
        if (rows.count == 0) return;
        ItemKey keys[block];
        uint64_t hashes[block];
        gather_keys<ItemKeys>(rows.batch.items, rows.first, rows.size, keys);
        for (int64_t i = 0; i < rows.count; ++i) __builtin_prefetch(&tables_[at(rows.query(i))]);
        for (int64_t i = 0; i < rows.count; ++i) {
            const ItemTable table = tables_[at(rows.query(i))];
            hashes[i] = spread(ItemKeys::tag(keys[rows.rows[i]]));
            __builtin_prefetch(&bytes_[at(table.start + static_cast<int64_t>(hashes[i] & table.mask))]);
        }
        for (int64_t i = 0; i < rows.count; ++i) {
            const int64_t query = rows.query(i), slot = probe(query, hashes[i], keys[rows.rows[i]]);
            if (bytes_[at(slot)]) keep(rows, i, truth_offsets_[at(query)] + places_[at(slot)]);
            if (!rows.one_query) add(finds.retrieved[at(query)], 1);
        }
        if (rows.one_query) add(finds.retrieved[at(rows.numbers[0])], rows.count);
    }

    // Remembers a placement's score.
    void keep(const Block& rows, int64_t i, int64_t item) {
        std::atomic_ref<double> score(finds.scores[at(item)]);
        double empty = score.load(std::memory_order_relaxed);
        if (std::isnan(empty) && score.compare_exchange_strong(empty, rows.score(i), std::memory_order_relaxed)) return;
        if (options_.duplicates == Duplicates::error)
            throw Problem{Problem::twice, true, rows.query(i), rows.first + rows.rows[i]};
        const std::lock_guard lock(repeated_mutex_);
        finds.repeated.push_back(item);
        finds.repeated_scores.push_back(rows.score(i));
    }

    // Rows of unjudged queries that no earlier batch had.
    void note_extra(const Block& rows, std::vector<int64_t>& extra) const {
        for (int64_t i = 0; i < rows.size; ++i) {
            if (rows.numbers[i] >= 0 || (i > 0 && same(rows.keys[i], rows.keys[i - 1]))) continue;
            if (extra_.view().slots &&
                extra_.view().find(QueryKeys::tag(rows.keys[i]), [](int64_t) { return true; }) >= 0)
                continue;
            extra.push_back(rows.first + i);
        }
    }

    // Known by their tags alone: two strings with the same 64-bit hash would count as one.
    std::vector<int64_t> remember(const Column& queries, const std::vector<int64_t>& rows) {
        std::vector<int64_t> fresh;
        for (int64_t row : rows) {
            if (extra_known_ == extra_room_) extra_.grow(extra_room_ = std::max<int64_t>(64, 2 * extra_room_));
            const auto& slot = extra_.view().find_or_add(QueryKeys::tag(key_at<QueryKeys>(queries, row)), extra_known_,
                                                         [](int64_t) { return true; });
            if (extra_.view().number(slot) != extra_known_) continue;
            ++extra_known_;
            fresh.push_back(row);
            if ((extra_full_ = extra_known_ > extra_limit)) break;
        }
        return fresh;
    }

    // -- the placements
    // ------------------------------------------------------------------------------------------------------

    // In one order, whatever the order in which they came.
    void sort_repeated() {
        std::vector<size_t> order(finds.repeated.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            if (finds.repeated[a] != finds.repeated[b]) return finds.repeated[a] < finds.repeated[b];
            return finds.repeated_scores[a] < finds.repeated_scores[b];
        });
        std::vector<int64_t> items;
        std::vector<double> scores;
        for (size_t i : order) items.push_back(finds.repeated[i]), scores.push_back(finds.repeated_scores[i]);
        finds.repeated = std::move(items);
        finds.repeated_scores = std::move(scores);
    }
    std::span<const int64_t> repeats_of(int64_t query) const {
        const auto& all = finds.repeated;
        const auto first = std::lower_bound(all.begin(), all.end(), truth_offsets_[at(query)]);
        return {first, std::lower_bound(first, all.end(), truth_offsets_[at(query + 1)])};
    }

    struct Scored {
        double score;
        int64_t item;
    };

    void sort_placements(int64_t query, double* levels, uint32_t* level_placements) {
        std::vector<Scored> found;
        for (int64_t i = truth_offsets_[at(query)]; i < truth_offsets_[at(query + 1)]; ++i)
            if (!std::isnan(finds.scores[at(i)])) found.push_back({finds.scores[at(i)], i});
        const auto repeats = repeats_of(query);
        for (size_t i = 0; i < repeats.size(); ++i)
            found.push_back(
                {finds.repeated_scores[static_cast<size_t>(&repeats[i] - finds.repeated.data())], repeats[i]});
        std::vector<int64_t> sorted(found.size()), merged;
        std::iota(sorted.begin(), sorted.end(), 0);
        merge_sort(sorted, merged, [&](int64_t one, int64_t other) {
            const Scored &a = found[at(one)], &b = found[at(other)];
            if (a.score != b.score) return a.score > b.score;
            const int order = a.item == b.item ? 0 : ItemKeys::compare(items_[at(a.item)], items_[at(b.item)]);
            return order > 0;
        });
        const int64_t start = placed_offsets_[at(query)];
        int64_t count = 0;
        for (size_t i = 0; i < sorted.size(); ++i) {
            const Scored& placed = found[at(sorted[i])];
            placements_[at(start) + i] = placed.item;
            if (i > 0 && placed.score == found[at(sorted[i - 1])].score) continue;
            levels[start + count] = placed.score;
            level_placements[start + count++] = static_cast<uint32_t>(i);
        }
        level_offsets_[at(query + 1)] = count;
    }

    // The placements of one level, in the query's part of `placements_`.
    struct LevelPlacements {
        int64_t first, last;
    };
    LevelPlacements placements_at(int64_t query, int64_t level) const {
        const int64_t start = placed_offsets_[at(query)];
        const bool lowest = level + 1 == level_offsets_[at(query + 1)];
        return {start + level_placements_[at(level)],
                lowest ? placed_offsets_[at(query + 1)] : start + level_placements_[at(level + 1)]};
    }

    // -- the second pass
    // -----------------------------------------------------------------------------------------------

    void count_block(const Block& rows, std::vector<int64_t>& local) {
        if (rows.count == 0) return;
        for (int64_t i = 0; i < rows.count; ++i) __builtin_prefetch(&level_offsets_[at(rows.query(i))]);
        for (int64_t i = 0; i < rows.count; ++i) __builtin_prefetch(levels_.data() + level_offsets_[at(rows.query(i))]);
        // Where the rows of a query come together, threads would fight over its few counters.
        const int64_t first = level_offsets_[at(rows.query(0))], last = level_offsets_[at(rows.query(0) + 1)];
        const bool apart = rows.one_query && last - first < block;
        if (apart) local.assign(at(2 * (last - first)), 0);
        int64_t counters[block];
        for (int64_t i = 0; i < rows.count; ++i) {
            const int64_t query = rows.query(i);
            const int64_t lowest = level_offsets_[at(query + 1)];
            const int64_t level = level_of(level_offsets_[at(query)], lowest, rows.score(i));
            const bool below = level == lowest;
            const bool tied = !below && levels_[at(level)] == rows.score(i);
            if (tied) count_tie(rows, i, level);
            if (apart) {
                if (!below) ++local[at(2 * (level - first) + tied)];
                continue;
            }
            counters[i] = below ? -1 : 2 * level + tied;
            if (!below) __builtin_prefetch(&counts.levels[at(counters[i])], 1);
        }
        if (apart) {
            for (size_t i = 0; i < local.size(); ++i)
                if (local[i]) add(counts.levels[at(2 * first) + i], local[i]);
            return;
        }
        for (int64_t i = 0; i < rows.count; ++i)
            if (counters[i] >= 0) add(counts.levels[at(counters[i])], 1);
    }

    // The first of a query's levels that is not above the score.
    int64_t level_of(int64_t first, int64_t last, double score) const {
        if (first == last) return last;
        const double* level = levels_.data() + first;
        for (int64_t size = last - first; size > 1; size -= size / 2)
            level += level[size / 2 - 1] > score ? size / 2 : 0;
        return (level - levels_.data()) + (*level > score);
    }

    void count_tie(const Block& rows, int64_t i, int64_t level) {
        const ItemValue value = value_at<ItemKeys>(rows.batch.items, rows.first + rows.rows[i]);
        const LevelPlacements placements = placements_at(rows.query(i), level);
        const auto first = placements_.begin() + placements.first, last = placements_.begin() + placements.last;
        const auto next = std::partition_point(
            first, last, [&](int64_t item) { return ItemKeys::compare(items_[at(item)], value) >= 0; });
        if (next != last) add(counts.before[static_cast<size_t>(next - placements_.begin())], 1);
    }

    // -- the result
    // ----------------------------------------------------------------------------------------------------

    void read_grades(int64_t query, bool zeros, std::vector<double>& grades) const {
        grades.clear();
        for (int64_t i = truth_offsets_[at(query)]; i < truth_offsets_[at(query + 1)]; ++i) {
            if (again_[at(i)] && options_.truth_duplicates != TruthDuplicates::count) continue;
            if (zeros || grades_[at(i)] != 0) grades.push_back(grades_[at(i)]);
        }
    }

    void rank_placements(int64_t query, Order order, bool zeros, std::vector<Placement>& placements) const {
        placements.clear();
        int64_t above = 0;
        for (int64_t level = level_offsets_[at(query)]; level < level_offsets_[at(query + 1)]; ++level) {
            above += counts.levels[at(2 * level)];
            const int64_t tied = counts.levels[at(2 * level + 1)];
            const LevelPlacements range = placements_at(query, level);
            if (tied < range.last - range.first)
                throw std::invalid_argument("second_pass() has not seen all the rows that first_pass() saw");
            int64_t before = 0;
            for (int64_t first = range.first, last = first; first < range.last; first = last) {
                // The same item more than once is so many placements, one after the other.
                while (last < range.last && placements_[at(last)] == placements_[at(first)])
                    before += counts.before[at(last++)];
                const int64_t item = placements_[at(first)];
                if (!zeros && grades_[at(item)] == 0) continue;
                const int64_t ahead = order == Order::item_asc ? tied - before - (last - first) : before;
                for (int64_t i = first; i < last; ++i)
                    placements.push_back({0, item - truth_offsets_[at(query)] + 1, grades_[at(item)],
                                          levels_[at(level)], above + ahead + 1 + (i - first), above, tied});
            }
            above += tied;
        }
        if (order == Order::item_asc)
            std::sort(placements.begin(), placements.end(),
                      [](const Placement& a, const Placement& b) { return a.rank < b.rank; });
    }

    const Options options_;

    // By query. Queries have the numbers of their first appearance in the truth.
    std::vector<QueryKey> queries_;
    Table table_;
    std::vector<uint64_t> filter_;
    int filter_shift_ = 0;
    std::vector<ItemTable> tables_;
    std::vector<int64_t> placed_offsets_, level_offsets_;

    // By judged item, each query's together.
    std::vector<ItemValue> items_;
    std::vector<double> grades_;
    std::vector<bool> again_;  // the query's truth has it in an earlier row already

    // By slot of the queries' item tables.
    std::vector<uint8_t> bytes_;  // 0: free
    std::vector<uint32_t> places_;

    std::vector<int64_t> placements_;         // judged items, by query, level and item
    std::vector<double> levels_;              // scores, by query
    std::vector<uint32_t> level_placements_;  // the first placement of each level, counted from the query's first

    std::mutex repeated_mutex_;
    Table extra_;
    int64_t extra_known_ = 0, extra_room_ = 0;
    bool extra_full_ = false;
};

}  // namespace

std::unique_ptr<Stream> make_stream(const Rows& truth, const Options& options, std::vector<int64_t>& first_rows) {
    std::unique_ptr<Stream> stream;
    const auto with_one = [](const Column& column, auto use) { with_kind(column, column, use); };
    with_one(truth.queries, [&]<class QueryKeys>(QueryKeys) {
        with_one(truth.items, [&]<class ItemKeys>(ItemKeys) {
            stream = std::make_unique<TypedStream<QueryKeys, ItemKeys>>(truth, options, first_rows);
        });
    });
    return stream;
}

}  // namespace rankstone
