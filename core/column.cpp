// Reads Arrow's C data interface, and says what is wrong with a column.
#include "column.hpp"

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
    if (!format) throw ColumnTypeError(std::string(name) + ": Arrow type '" + schema.format + "' is not supported");
    column.type = format->type;
    if (array.length == 0) return column;
    if (format->type == Type::none) fail_null(name, 0);
    column.values = static_cast<const char*>(array.buffers[1]) + format->width * array.offset;
    column.bit_offset = array.offset;
    if (format->type == Type::utf8 || format->type == Type::large_utf8) {
        // No bytes at all may come as a null buffer.
        column.text = array.buffers[2] ? static_cast<const char*>(array.buffers[2]) : "";
    }
    if (format->type == Type::view) column.buffers = array.buffers + 2;
    return column;
}

// An index that points outside is a crash, so each is looked at.
void check_indices(const Column& column, const ArrowArray& values, const char* name) {
    with_numbers(column, [&](auto get) {
        bool inside = true;
        for (int64_t row = 0; row < column.length; ++row)
            inside &= get(row) >= 0 && static_cast<uint64_t>(get(row)) < static_cast<uint64_t>(values.length);
        if (!inside) throw ColumnValueError(std::string(name) + ": an index is outside of its dictionary");
        if (values.null_count == 0) return;
        for (int64_t row = 0; row < column.length; ++row)
            if (!is_valid(values, static_cast<int64_t>(get(row)))) fail_null(name, row);
    });
}

}  // namespace

std::shared_ptr<const Dictionary> read_dictionary(const Column& values) {
    auto dictionary = std::make_shared<Dictionary>();
    dictionary->is_text = values.is_text();
    if (values.length == 0) return dictionary;
    if (!values.is_text() && !values.is_int())
        throw ColumnTypeError(std::string(values.name) + ": a dictionary must hold strings or integers");
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
    if (column.type > Type::uint64)
        throw ColumnTypeError(std::string(name) + ": a dictionary's indices must be integers");
    check_indices(column, *array.dictionary, name);
    column.dictionary = read_dictionary(read_plain(*schema.dictionary, *array.dictionary, name));
    return column;
}

void check_ids(const Column& column) {
    if (column.length == 0) return;
    if (!column.is_int() && !column.is_text())
        throw ColumnTypeError(std::string(column.name) + ": ids must be integers or strings, not " +
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
    throw ColumnTypeError(std::string(a.name) + kind(a) + " but " + b.name + kind(b));
}

void check_numbers(const Column& column) {
    if (column.length == 0) return;
    if (column.dictionary || column.type > Type::bits)
        throw ColumnTypeError(std::string(column.name) + " must be numbers, not " +
                              (column.is_text() ? "strings" : "dictionary-encoded"));
}

}  // namespace rankstone
