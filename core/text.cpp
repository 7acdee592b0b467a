#include "text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace rankstone {
namespace {

constexpr int64_t piece_bytes = 1 << 20;

enum : uint8_t { letter, blank, line_end };

// What Python's bytes.split() takes for white space.
constexpr std::array<uint8_t, 256> kinds = [] {
    std::array<uint8_t, 256> table{};
    for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) table[c] = blank;
    table['\n'] = line_end;
    return table;
}();

uint8_t kind(char c) { return kinds[static_cast<unsigned char>(c)]; }

// A field, by its place in the piece.
struct Field {
    uint32_t start, size;
};
struct Row {
    Field query, item;
    double value;
};
struct Piece {
    const char* start = nullptr;
    std::vector<Row> rows;
    int64_t query_bytes = 0, item_bytes = 0;
};

// As Python decodes it: no surrogates, nothing longer than it need be.
bool is_utf8(std::string_view text) {
    const auto at = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
    const auto follows = [&](size_t i) { return (at(i) & 0xC0) == 0x80; };
    for (size_t i = 0; i < text.size();) {
        const unsigned first = at(i), second = at(i + 1);
        size_t size = 0;
        if (first < 0x80)
            size = 1;
        else if (first >= 0xC2 && first <= 0xDF)
            size = follows(i + 1) ? 2 : 0;
        else if (first >= 0xE0 && first <= 0xEF)
            size = follows(i + 1) && follows(i + 2) && !(first == 0xE0 && second < 0xA0) &&
                           !(first == 0xED && second > 0x9F)
                       ? 3
                       : 0;
        else if (first >= 0xF0 && first <= 0xF4)
            size = follows(i + 1) && follows(i + 2) && follows(i + 3) && !(first == 0xF0 && second < 0x90) &&
                           !(first == 0xF4 && second > 0x8F)
                       ? 4
                       : 0;
        if (size == 0) return false;
        i += size;
    }
    return true;
}

bool read_number(const char* first, const char* last, double& value) {
    if (first != last && *first == '+') {
        ++first;
        if (first != last && *first == '-') return false;
    }
    const auto [end, error] = std::from_chars(first, last, value);
    return error == std::errc() && end == last && std::isfinite(value);
}

// Goes through the lines of a piece.
class Reader {
public:
    Reader(std::string_view all, const char* first, const char* last, bool is_run, Piece& piece)
        : all_(all),
          next_(first),
          last_(last),
          fields_(is_run ? 6 : 4),
          value_at_(is_run ? 4 : 3),
          is_run_(is_run),
          piece_(piece) {
        piece.start = first;
        piece.rows.reserve(static_cast<size_t>((last - first) / 32));
    }

    void read() {
        while (next_ < last_) read_line();
    }

private:
    // The next field, up to the white space behind it. False at the end of the line.
    bool find_field(const char*& start, const char*& end, char& high) {
        while (next_ < last_ && kind(*next_) == blank) ++next_;
        start = next_;
        char any = 0;
        while (next_ < last_ && kind(*next_) == letter) any |= *next_++;
        end = next_;
        high = any;
        return start != end;
    }

    void read_line() {
        const char* line = next_;
        const char *starts[6], *ends[6];
        char high[6];
        int count = 0;
        while (count < fields_ && find_field(starts[count], ends[count], high[count])) {
            if (count == 0 && *starts[0] == '#') return skip_line();
            ++count;
        }
        if (count == 0) return skip_line();
        if (count < fields_) fail(line);
        if (!is_run_) {
            while (next_ < last_ && kind(*next_) == blank) ++next_;
            if (next_ < last_ && kind(*next_) == letter) fail(line);
        }
        Row row;
        if (!read_number(starts[value_at_], ends[value_at_], row.value)) fail(line);
        row.query = field(line, starts[0], ends[0], high[0]);
        row.item = field(line, starts[2], ends[2], high[2]);
        piece_.query_bytes += row.query.size;
        piece_.item_bytes += row.item.size;
        piece_.rows.push_back(row);
        skip_line();
    }

    Field field(const char* line, const char* start, const char* end, char high) const {
        if (high < 0 && !is_utf8({start, static_cast<size_t>(end - start)})) fail(line);
        return {static_cast<uint32_t>(start - piece_.start), static_cast<uint32_t>(end - start)};
    }

    void skip_line() {
        const void* found = next_ < last_ ? std::memchr(next_, '\n', static_cast<size_t>(last_ - next_)) : nullptr;
        next_ = found ? static_cast<const char*>(found) + 1 : last_;
    }

    [[noreturn]] void fail(const char* line) const { throw BadLine{line - all_.data()}; }

    const std::string_view all_;
    const char* next_;
    const char* const last_;
    const int fields_, value_at_;
    const bool is_run_;
    Piece& piece_;
};

// Copies one field of each row; `at` is where the piece's text starts in the column.
template <class Offset>
void copy_text(const Piece& piece, Field Row::* field, int64_t row, int64_t at, uint8_t* text, Offset* offsets) {
    for (const Row& each : piece.rows) {
        const Field found = each.*field;
        std::memcpy(text + at, piece.start + found.start, found.size);
        at += found.size;
        offsets[++row] = static_cast<Offset>(at);
    }
}

void make_room(Strings& strings, int64_t rows) {
    strings.text.reserve(strings.bytes);
    if (strings.bytes <= std::numeric_limits<int32_t>::max()) {
        strings.narrow.reserve(rows + 1);
        strings.narrow[0] = 0;
    } else {
        strings.wide.reserve(rows + 1);
        strings.wide[0] = 0;
    }
}

void copy_column(const Piece& piece, Field Row::* field, int64_t row, int64_t at, Strings& strings) {
    if (strings.narrow.data())
        copy_text(piece, field, row, at, strings.text.data(), strings.narrow.data());
    else
        copy_text(piece, field, row, at, strings.text.data(), strings.wide.data());
}

}  // namespace

TrecColumns parse_trec(std::string_view text, bool is_run, Team& team) {
    // Cut at line ends. A line longer than a piece leaves the pieces after it empty.
    const auto bytes = static_cast<int64_t>(text.size());
    const int64_t count = std::max<int64_t>(1, bytes / piece_bytes);
    std::vector<int64_t> cuts{0};
    for (int64_t i = 1; i < count; ++i) {
        const size_t found = text.find('\n', static_cast<size_t>(std::max(cuts.back(), i * piece_bytes - 1)));
        cuts.push_back(found == std::string_view::npos ? bytes : static_cast<int64_t>(found) + 1);
    }
    cuts.push_back(bytes);
    std::vector<Piece> pieces(static_cast<size_t>(count));
    team.each(count, bytes, [&](int64_t i) {
        const int64_t first = cuts[static_cast<size_t>(i)], last = cuts[static_cast<size_t>(i) + 1];
        if (last - first > std::numeric_limits<uint32_t>::max()) throw BadLine{first};
        Reader(text, text.data() + first, text.data() + last, is_run, pieces[static_cast<size_t>(i)]).read();
    });

    TrecColumns columns;
    struct Start {
        int64_t row, query, item;
    };
    std::vector<Start> starts;
    for (const Piece& piece : pieces) {
        starts.push_back({columns.rows, columns.queries.bytes, columns.items.bytes});
        columns.rows += std::ssize(piece.rows);
        columns.queries.bytes += piece.query_bytes;
        columns.items.bytes += piece.item_bytes;
    }
    make_room(columns.queries, columns.rows);
    make_room(columns.items, columns.rows);
    columns.values.reserve(columns.rows);
    team.each(count, bytes, [&](int64_t i) {
        Piece& piece = pieces[static_cast<size_t>(i)];
        const Start start = starts[static_cast<size_t>(i)];
        copy_column(piece, &Row::query, start.row, start.query, columns.queries);
        copy_column(piece, &Row::item, start.row, start.item, columns.items);
        for (size_t row = 0; row < piece.rows.size(); ++row)
            columns.values[start.row + static_cast<int64_t>(row)] = piece.rows[row].value;
        piece.rows = {};
    });
    return columns;
}

}  // namespace rankstone
