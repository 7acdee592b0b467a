// Reads Arrow's C data interface, and says what is wrong with a column.
#include "column.hpp"

#include <algorithm>
#include <limits>

#include "arrow.hpp"

namespace rankstone {
namespace {

struct Format {
    std::string_view code;
    Type type;
    int64_t width;  // bytes a row in the values buffer
};

constexpr Format formats[] = {
    {"c", Type::int8, 1},       {"s", Type::int16, 2},   {"i", Type::int32, 4},  {"l", Type::int64, 8},
    {"C", Type::uint8, 1},      {"S", Type::uint16, 2},  {"I", Type::uint32, 4}, {"L", Type::uint64, 8},
    {"f", Type::float32, 4},    {"g", Type::float64, 8}, {"b", Type::bits, 0},   {"u", Type::utf8, 4},
    {"U", Type::large_utf8, 8}, {"vu", Type::view, 16},  {"n", Type::none, 0},
};

// How many bytes each of the buffers has that string views point into: the last buffer says so.
std::span<const int64_t> view_sizes(const ArrowArray& array) {
    if (array.n_buffers < 4) return {};
    return {static_cast<const int64_t*>(array.buffers[array.n_buffers - 1]), static_cast<size_t>(array.n_buffers - 3)};
}

[[noreturn]] void fail_null(const char* name, int64_t row) { throw BadRow("missing", name, row, " is null"); }

bool is_valid(const ArrowArray& array, int64_t row) {
    const auto* bitmap = array.n_buffers ? static_cast<const uint8_t*>(array.buffers[0]) : nullptr;
    row += array.offset;
    return !bitmap || array.null_count == 0 || (bitmap[row / 8] >> (row % 8) & 1);
}

void check_nulls(const ArrowArray& array, const char* name) {
    if (array.null_count == 0 || !array.n_buffers || !array.buffers[0]) return;
    for (int64_t row = 0; row < array.length; ++row)
        if (!is_valid(array, row)) fail_null(name, row);
}

Column read_plain(const ArrowSchema& schema, const ArrowArray& array, const char* name) {
    Column column;
    column.name = name;
    column.length = array.length;
    const Format* format = nullptr;
    for (const Format& each : formats)
        if (each.code == schema.format) format = &each;
    if (!format) throw TypeError(std::string(name) + ": Arrow type '" + schema.format + "' is not supported");
    column.type = format->type;
    if (array.length == 0) return column;
    if (format->type == Type::none) fail_null(name, 0);
    column.values = static_cast<const char*>(array.buffers[1]) + format->width * array.offset;
    column.bit_offset = array.offset;
    if (format->type == Type::utf8 || format->type == Type::large_utf8) {
        // No bytes at all may come as a null buffer.
        column.text = array.buffers[2] ? static_cast<const char*>(array.buffers[2]) : "";
        column.text_size = format->type == Type::utf8 ? static_cast<const int32_t*>(column.values)[array.length]
                                                      : static_cast<const int64_t*>(column.values)[array.length];
    }
    if (format->type == Type::view) {
        column.buffers = array.buffers + 2;
        column.buffer_sizes = view_sizes(array);
    }
    return column;
}

// Indices that point at a null of the dictionary, or outside of it.
void check_indices(const Column& column, const ArrowArray& values, const char* name) {
    with_numbers(column, [&](auto get) {
        bool inside = true;
        for (int64_t row = 0; row < column.length; ++row)
            inside &= static_cast<uint64_t>(get(row)) < static_cast<uint64_t>(values.length);
        for (int64_t row = 0; row < column.length && (!inside || values.null_count); ++row) {
            const size_t index = index_in(column, get(row), static_cast<size_t>(values.length), row);
            if (!is_valid(values, static_cast<int64_t>(index))) fail_null(name, row);
        }
    });
}

// The first row that ends before it starts, or starts before the memory does.
template <class Offset>
int64_t invalid_text(const ArrowArray& array) {
    const Offset* offsets = static_cast<const Offset*>(array.buffers[1]) + array.offset;
    if (offsets[0] < 0) return 0;
    constexpr int64_t block = 1 << 12;
    for (int64_t first = 0; first < array.length; first += block) {
        const int64_t last = std::min(array.length, first + block);
        Offset falls = 0;
        for (int64_t row = first; row < last; ++row) falls |= offsets[row + 1] < offsets[row];
        for (int64_t row = first; row < last && falls; ++row)
            if (offsets[row + 1] < offsets[row]) return row;
    }
    return -1;
}

// The same, or the first that goes past what the lists hold.
template <class Offset>
int64_t invalid_list(const ArrowArray& array) {
    if (const int64_t row = invalid_text<Offset>(array); row >= 0) return row;
    const Offset *ends = static_cast<const Offset*>(array.buffers[1]) + array.offset + 1, *last = ends + array.length;
    const Offset* past = std::upper_bound(ends, last, array.children[0]->length);
    return past == last ? -1 : past - ends;
}

// The first row for which `bad` holds, but for nulls.
template <class Bad>
int64_t first_row(const ArrowArray& array, Bad bad) {
    for (int64_t row = 0; row < array.length; ++row)
        if (bad(row + array.offset) && is_valid(array, row)) return row;
    return -1;
}

template <class Offset>
int64_t invalid_list_view(const ArrowArray& array) {
    const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
    const auto* sizes = static_cast<const Offset*>(array.buffers[2]);
    const int64_t most = array.children[0]->length;
    return first_row(array, [&](int64_t row) {
        return offsets[row] < 0 || sizes[row] < 0 || sizes[row] > most || offsets[row] > most - sizes[row];
    });
}

int64_t invalid_view(const ArrowArray& array) {
    const std::span<const int64_t> sizes = view_sizes(array);
    const auto* views = static_cast<const int32_t*>(array.buffers[1]);
    return first_row(array, [&](int64_t row) {
        const int32_t size = views[4 * row], buffer = views[4 * row + 2], offset = views[4 * row + 3];
        if (size <= 12) return size < 0;
        return buffer < 0 || buffer >= std::ssize(sizes) || offset < 0 ||
               int64_t{offset} + size > sizes[static_cast<size_t>(buffer)];
    });
}

template <class Index>
int64_t invalid_index(const ArrowArray& array) {
    const auto* indices = static_cast<const Index*>(array.buffers[1]);
    const auto most = static_cast<uint64_t>(array.dictionary->length);
    return first_row(array, [&](int64_t row) { return static_cast<uint64_t>(indices[row]) >= most; });
}

struct Layout {
    std::string_view code;
    int64_t (*invalid)(const ArrowArray&);
};

constexpr Layout layouts[] = {
    {"u", invalid_text<int32_t>},
    {"z", invalid_text<int32_t>},
    {"U", invalid_text<int64_t>},
    {"Z", invalid_text<int64_t>},
    {"vu", invalid_view},
    {"vz", invalid_view},
    {"+l", invalid_list<int32_t>},
    {"+m", invalid_list<int32_t>},
    {"+L", invalid_list<int64_t>},
    {"+vl", invalid_list_view<int32_t>},
    {"+vL", invalid_list_view<int64_t>},
};
constexpr Layout index_layouts[] = {
    {"c", invalid_index<int8_t>},   {"s", invalid_index<int16_t>},  {"i", invalid_index<int32_t>},
    {"l", invalid_index<int64_t>},  {"C", invalid_index<uint8_t>},  {"S", invalid_index<uint16_t>},
    {"I", invalid_index<uint32_t>}, {"L", invalid_index<uint64_t>},
};

}  // namespace

void fail_outside(const Column& column, int64_t row) {
    throw BadRow("shape", column.name, row, " lies outside of the column's memory, or changed while it was read");
}

int64_t invalid_row(const ArrowSchema& schema, const ArrowArray& array) {
    if (array.length > 0)
        for (const Layout& layout : schema.dictionary ? std::span<const Layout>(index_layouts) : layouts)
            if (layout.code == schema.format)
                if (const int64_t row = layout.invalid(array); row >= 0) return row;
    if (schema.dictionary)
        if (const int64_t row = invalid_row(*schema.dictionary, *array.dictionary); row >= 0) return row;
    for (int64_t i = 0; i < schema.n_children; ++i)
        if (const int64_t row = invalid_row(*schema.children[i], *array.children[i]); row >= 0) return row;
    return -1;
}

std::shared_ptr<const Dictionary> read_dictionary(const Column& values) {
    auto dictionary = std::make_shared<Dictionary>();
    dictionary->is_text = values.is_text();
    if (values.length == 0) return dictionary;
    if (!values.is_text() && !values.is_int())
        throw TypeError(std::string(values.name) + ": a dictionary must hold strings or integers");
    check_ids(values);
    if (values.is_text())
        TextKeys::with_keys(values, [&](auto get) {
            for (int64_t row = 0; row < values.length; ++row) {
                const TextKeys::Key key = get(row);
                dictionary->texts.push_back(key.text);
                dictionary->tags.push_back(key.tag);
            }
        });
    else
        IntKeys::with_values(values, [&](auto get) {
            for (int64_t row = 0; row < values.length; ++row) dictionary->ints.push_back(get(row));
        });
    return dictionary;
}

uint64_t tag_apart(std::string_view text, const Seed& with) {
    const char* p = text.data();
    const size_t size = text.size();
    if (std::endian::native != std::endian::little) return tag_long(text, with);
    if (size >= 4) return tag_word(load(p, 4) | load(p + size - 4, 4) << 8 * (size - 4), text, with);
    const auto byte = [&](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])} << 8 * i; };
    return tag_word(size ? byte(0) | byte(size / 2) | byte(size - 1) : 0, text, with);
}

Column read_arrow(const ArrowSchema& schema, const ArrowArray& array, const char* name) {
    check_nulls(array, name);
    Column column = read_plain(schema, array, name);
    if (!schema.dictionary) return column;
    if (column.type > Type::uint64) throw TypeError(std::string(name) + ": a dictionary's indices must be integers");
    check_indices(column, *array.dictionary, name);
    column.dictionary =
        read_dictionary(schema.dictionary->dictionary ? read_arrow(*schema.dictionary, *array.dictionary, name)
                                                      : read_plain(*schema.dictionary, *array.dictionary, name));
    return column;
}

void check_ids(const Column& column) {
    if (column.length == 0) return;
    if (!column.is_int() && !column.is_text())
        throw TypeError(std::string(column.name) + ": ids must be integers or strings, not " +
                        (column.type == Type::bytes || column.type == Type::bits ? "booleans" : "floats"));
    if (column.dictionary || column.type != Type::uint64) return;
    const auto* values = static_cast<const uint64_t*>(column.values);
    for (int64_t row = 0; row < column.length; ++row)
        if (values[row] > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
            throw BadRow("id", column.name, row,
                         ": id " + std::to_string(values[row]) + " does not fit 64 signed bits");
}

void check_same_kind(const Column& a, const Column& b) {
    if (a.length == 0 || b.length == 0 || a.is_text() == b.is_text()) return;
    const auto kind = [](const Column& column) { return column.is_text() ? " are strings" : " are integers"; };
    throw TypeError(std::string(a.name) + kind(a) + " but " + b.name + kind(b));
}

void check_numbers(const Column& column) {
    if (column.length == 0) return;
    if (column.dictionary || column.type > Type::bits)
        throw TypeError(std::string(column.name) + " must be numbers, not " +
                        (column.is_text() ? "strings" : "dictionary-encoded"));
}

}  // namespace rankstone
