// Truths by subtopic: taken apart, and filled into ideal lists.
#include "bind.hpp"
#include "cover.hpp"
#include "dicts.hpp"

namespace rankstone {
namespace {

nb::object bind_spread(nb::handle truth) {
    SpreadResult result = spread_dicts(truth.ptr());
    if (!result.truth) return nb::none();
    const nb::object flat = nb::steal(result.truth);
    return nb::make_tuple(flat, to_numpy(result.order, result.items), to_numpy(result.rows.ends, result.items),
                          to_numpy(result.rows.row, result.rows.count),
                          to_numpy(result.rows.subtopic, result.rows.count), to_numpy(result.grade, result.rows.count));
}

nb::tuple bind_items(nb::handle query, nb::handle item, nb::handle codes, nb::handle threads) {
    Inputs inputs;
    const Column queries = inputs.ids(query, truth_names.queries), items = inputs.ids(item, truth_names.items);
    check_lengths(queries, items);
    const int64_t* subtopics = nullptr;
    if (!codes.is_none()) {
        const std::span<const int64_t> numbers = inputs.span<int64_t>(codes, "codes");
        if (std::ssize(numbers) != items.length) value_error("truth items and codes differ in length");
        subtopics = numbers.data();
    }
    Items found =
        without_gil(read_threads(threads), [&](Team& team) { return item_columns(queries, items, subtopics, team); });
    return nb::make_tuple(to_numpy(found.offsets, found.queries + 1), to_numpy(found.first, found.count),
                          to_numpy(found.order, found.count), to_numpy(found.rows.ends, found.count),
                          to_numpy(found.rows.row, found.rows.count), to_numpy(found.rows.subtopic, found.rows.count),
                          found.repeated);
}

void check_offsets(std::span<const int64_t> offsets, size_t end, const char* name) {
    bool right = !offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<int64_t>(end);
    for (size_t i = 1; i < offsets.size(); ++i) right &= offsets[i - 1] <= offsets[i];
    if (!right) value_error(std::string(name) + ": not offsets into what follows");
}

nb::tuple bind_greedy(nb::handle queries, nb::handle items, nb::handle subtopic, nb::handle relevant, nb::handle order,
                      double alpha, nb::handle weights, nb::handle threads) {
    Inputs inputs;
    const Covered truth{inputs.span<int64_t>(queries, "queries"), inputs.span<int64_t>(items, "items"),
                        inputs.span<int64_t>(subtopic, "subtopic"), inputs.span<bool>(relevant, "relevant"),
                        inputs.span<int64_t>(order, "order")};
    const std::span<const double> places = inputs.span<double>(weights, "weights");
    check_offsets(truth.queries, truth.order.size(), "queries");
    check_offsets(truth.items, truth.subtopic.size(), "items");
    if (truth.items.size() != truth.order.size() + 1) value_error("items and order differ in length");
    if (truth.relevant.size() != truth.subtopic.size()) value_error("subtopic and relevant differ in length");
    for (int64_t number : truth.subtopic)
        if (number < 0 || number >= std::ssize(truth.subtopic)) value_error("subtopic: out of range");
    Filled filled =
        without_gil(read_threads(threads), [&](Team& team) { return fill_greedily(truth, alpha, places, team); });
    return nb::make_tuple(to_numpy(filled.gain, std::ssize(truth.queries) - 1),
                          to_numpy(filled.rank, std::ssize(truth.order)));
}

}  // namespace

void bind_cover(nb::module_& m) {
    m.def("spread_dicts", &bind_spread, "truth"_a.none());
    m.def("item_columns", &bind_items, "query"_a.none(), "item"_a.none(), "codes"_a.none(), "threads"_a.none() = 0);
    m.def("fill_greedily", &bind_greedy, "queries"_a.none(), "items"_a.none(), "subtopic"_a.none(), "relevant"_a.none(),
          "order"_a.none(), "alpha"_a, "weights"_a.none(), "threads"_a.none() = 0);
}

}  // namespace rankstone
