// Fuzzes the doors of the core that need no Python, with libFuzzer: TREC text, columns, streams, lists and matrices.
// Nothing may crash, and doors that read the same rows must give the same answer. `make fuzz` builds and runs it.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "columns.hpp"
#include "dense.hpp"
#include "lists.hpp"
#include "stream.hpp"
#include "text.hpp"

namespace rankstone {
namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

Team make_team(FuzzedDataProvider& data) {
    return Team(data.ConsumeIntegralInRange(1, 3), [] { return false; });
}

// -- TREC text

void fuzz_text(FuzzedDataProvider& data) {
    const char* fields[] = {"i-in", "i-i-n-", "iiiw", "iiiin", "ii", "n", "w"};
    const TrecShape shape{data.PickValueInArray(fields), data.ConsumeBool(), data.ConsumeBool(), data.ConsumeBool(),
                          data.ConsumeBool()};
    Team team = make_team(data);
    const std::string text = data.ConsumeRemainingBytesAsString();
    try {
        const TrecColumns columns = parse_trec({.text = text}, shape, team);
        require(columns.ids.size() == shape.ids() && columns.numbers.size() == shape.numbers(), "columns are missing");
        for (const Strings& ids : columns.ids)
            for (int64_t row = 0; row < columns.rows; ++row)
                require(text.find(ids.at(row)) != std::string::npos, "an id that the text does not have");
    } catch (const BadLine& bad) {
        require(bad.offset >= 0 && bad.offset <= std::ssize(text), "a bad line outside of the text");
    }
}

// -- rows

// A column, and the memory that it reads.
struct Ids {
    std::vector<int64_t> ints;
    std::vector<int8_t> bytes;
    std::string text;
    std::vector<int32_t> offsets{0};
    std::vector<int64_t> wide{0};

    void add(int64_t number) {
        static const std::string words[] = {"",
                                            "a",
                                            "b",
                                            "ab",
                                            "item0001",
                                            "item0002",
                                            "a text of more than 16 bytes 1",
                                            "a text of more than 16 bytes 2"};
        ints.push_back(number);
        bytes.push_back(static_cast<int8_t>(number));
        text += words[number];
        offsets.push_back(static_cast<int32_t>(text.size()));
        wide.push_back(static_cast<int64_t>(text.size()));
    }
    Column column(Type type, const char* name) const {
        Column made;
        made.name = name;
        made.type = type;
        made.length = std::ssize(ints);
        made.text = text.data();
        made.values = type == Type::int64  ? static_cast<const void*>(ints.data())
                      : type == Type::int8 ? static_cast<const void*>(bytes.data())
                      : type == Type::utf8 ? static_cast<const void*>(offsets.data())
                                           : static_cast<const void*>(wide.data());
        return made;
    }
};

struct Numbers {
    std::vector<double> values;

    Column column(const char* name) const {
        Column made;
        made.name = name;
        made.type = Type::float64;
        made.length = std::ssize(values);
        made.values = values.data();
        return made;
    }
};

double number(FuzzedDataProvider& data) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    static constexpr double numbers[] = {
        0, -0.0, 1, 1 + 1e-12, 2, 0.5, -1, 1e300, inf, -inf, std::numeric_limits<double>::quiet_NaN()};
    return data.PickValueInArray(numbers);
}

struct Table3 {
    Ids queries, items;
    Numbers numbers;

    Table3(FuzzedDataProvider& data, size_t most) {
        for (size_t rows = data.ConsumeIntegralInRange<size_t>(0, most); rows > 0; --rows) {
            queries.add(data.ConsumeIntegralInRange<int64_t>(0, 3));
            items.add(data.ConsumeIntegralInRange<int64_t>(0, 7));
            numbers.values.push_back(number(data));
        }
    }
    Rows rows(Type query, Type item, bool run) const {
        return {queries.column(query, run ? "run queries" : "truth queries"),
                items.column(item, run ? "run items" : "truth items"),
                numbers.column(run ? "run scores" : "truth grades")};
    }
};

Options options(FuzzedDataProvider& data) {
    return {.order = data.ConsumeBool() ? Order::item_desc : Order::item_asc,
            .duplicates = static_cast<Duplicates>(data.ConsumeIntegralInRange(0, 4)),
            .truth_duplicates = static_cast<TruthDuplicates>(data.ConsumeIntegralInRange(0, 2)),
            .float32 = data.ConsumeBool(),
            .zeros = data.ConsumeBool(),
            .extra_queries = data.ConsumeBool()};
}

template <class T>
void require_same(const Array<T>& a, const Array<T>& b, int64_t size, const char* what) {
    require(std::equal(a.data(), a.data() + size, b.data()), what);
}

void require_same(const Output& a, const Output& b) {
    require(a.queries == b.queries && a.truth_rows == b.truth_rows && a.placements == b.placements, "sizes differ");
    require_same(a.retrieved, b.retrieved, a.queries, "retrieved differs");
    require_same(a.truth_offsets, b.truth_offsets, a.queries + 1, "truth_offsets differs");
    require_same(a.placed_offsets, b.placed_offsets, a.queries + 1, "placed_offsets differs");
    require_same(a.ideal_grades, b.ideal_grades, a.truth_rows, "ideal_grades differs");
    require_same(a.rank, b.rank, a.placements, "rank differs");
    require_same(a.grade, b.grade, a.placements, "grade differs");
    require_same(a.score, b.score, a.placements, "score differs");
    require_same(a.place, b.place, a.placements, "place differs");
}

void fuzz_rows(FuzzedDataProvider& data) {
    static constexpr Type types[] = {Type::int64, Type::int8, Type::utf8, Type::large_utf8};
    const Type query = data.PickValueInArray(types), item = data.PickValueInArray(types);
    Options how = options(data);
    const bool streamed = data.ConsumeBool();
    if (streamed) {  // what a stream can do too
        how.duplicates = Duplicates::count;
        how.extra_queries = false;
    }
    Team team = make_team(data);
    const Table3 truth(data, 12);
    const std::vector<Table3> batches{Table3(data, 12), Table3(data, 12)};
    Table3 run = batches[0];
    for (size_t row = 0; row < batches[1].numbers.values.size(); ++row) {
        run.queries.add(batches[1].queries.ints[row]);
        run.items.add(batches[1].items.ints[row]);
        run.numbers.values.push_back(batches[1].numbers.values[row]);
    }
    const Rows judged = truth.rows(query, item, false);
    ColumnResult result;
    bool refused = false;
    try {
        align_columns(judged, run.rows(query, item, true), how, team, result);
    } catch (const Problem& problem) {
        require(problem.row >= 0 && problem.row < std::ssize((problem.in_run ? run : truth).numbers.values),
                "a problem outside of the rows");
        refused = true;
    }
    if (!streamed || truth.numbers.values.empty()) return;
    try {
        std::vector<int64_t> first_rows;
        const auto stream = make_stream(judged, how, first_rows);
        for (const Table3& batch : batches) stream->find(batch.rows(query, item, true), team);
        stream->seal(team);
        for (const Table3& batch : batches) stream->count(batch.rows(query, item, true), team);
        const Output output = stream->result(how.order, how.zeros, team);
        require(!refused, "the stream took what the columns refused");
        require(stream->first_rows() == result.queries, "queries differ");
        require_same(output, result.output);
    } catch (const Problem&) {
        require(refused, "the stream refused what the columns took");
    }
}

// -- lists and matrices

void fuzz_lists(FuzzedDataProvider& data) {
    const Options how = options(data);
    Team team = make_team(data);
    const Table3 truth(data, 12), run(data, 12);
    const auto offsets = [&] {
        std::vector<int64_t> found;
        for (size_t count = data.ConsumeIntegralInRange<size_t>(0, 4); count > 0; --count)
            found.push_back(data.ConsumeIntegralInRange<int64_t>(-1, 13));
        return found;
    };
    const Lists judged{offsets(), truth.items.column(Type::utf8, "truth items"), truth.numbers.column("truth grades")};
    const Lists returned{offsets(), run.items.column(Type::utf8, "run items"), run.numbers.column("run scores")};
    std::optional<std::vector<int64_t>> pairs;
    if (data.ConsumeBool()) pairs = offsets();
    try {
        align_lists(judged, returned, pairs, how, team);
    } catch (const Problem&) {
    } catch (const std::invalid_argument&) {
    }
}

void fuzz_dense(FuzzedDataProvider& data) {
    const Options how = options(data);
    Team team = make_team(data);
    const int64_t queries = data.ConsumeIntegralInRange(0, 3), items = data.ConsumeIntegralInRange(0, 6);
    Numbers scores, labels;
    std::vector<uint8_t> real;
    for (int64_t cell = 0; cell < queries * items; ++cell) {
        scores.values.push_back(number(data));
        labels.values.push_back(number(data));
        real.push_back(data.ConsumeBool());
    }
    const auto matrix = [&](Column cells, int64_t width) {
        cells.length = items;
        return Matrix{cells, width * items};
    };
    Dense input{queries, items, matrix(scores.column("scores"), 8), matrix(labels.column("labels"), 8), {}};
    if (data.ConsumeBool()) {
        Column mask;
        mask.type = Type::bytes;
        mask.values = real.data();
        input.mask = matrix(mask, 1);
    }
    try {
        align_dense(input, how, team);
    } catch (const Problem&) {
    }
}

}  // namespace
}  // namespace rankstone

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    FuzzedDataProvider data(bytes, size);
    using Door = void (*)(FuzzedDataProvider&);
    static constexpr Door doors[] = {rankstone::fuzz_text, rankstone::fuzz_rows, rankstone::fuzz_lists,
                                     rankstone::fuzz_dense};
    data.PickValueInArray(doors)(data);
    return 0;
}
