#include "text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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
struct Piece {
    const char *start = nullptr, *end = nullptr;
    std::vector<Field> ids;       // row by row
    std::vector<double> numbers;  // row by row
    int64_t rows = 0;
    std::vector<int64_t> bytes;  // of each column of ids
    int64_t row = 0;             // where its rows go
    std::vector<int64_t> at;     // where the text of each column of ids goes
};

// A bit for each of 64 bytes that is not above a space. All white space is there, and little else.
uint64_t low_bytes(const char* at) {
    uint64_t bits = 0;
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' ');
    for (int i = 0; i < 64; i += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
        const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, space), bytes));
        bits |= static_cast<uint64_t>(static_cast<unsigned>(low)) << i;
    }
#else
    for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(static_cast<unsigned char>(at[i]) <= ' ') << i;
#endif
    return bits;
}

// Goes from one white space to the next, and then stays at the end.
class Spaces {
public:
    Spaces(const char* first, const char* last) : block_(first), last_(last) { look(); }

    const char* next() {
        for (;;) {
            while (!bits_) {
                if (last_ - block_ <= 64) return last_;
                block_ += 64;
                look();
            }
            const char* found = block_ + std::countr_zero(bits_);
            bits_ &= bits_ - 1;
            if (kind(*found) != letter) return found;
        }
    }

private:
    void look() {
        if (last_ - block_ >= 64) {
            bits_ = low_bytes(block_);
            return;
        }
        char rest[64];
        std::memset(rest, 'x', sizeof rest);
        std::copy(block_, last_, rest);
        bits_ = low_bytes(rest);
    }

    const char* block_;
    const char* const last_;
    uint64_t bits_ = 0;
};

// As Python decodes it: no surrogates, nothing longer than it need be.
bool is_utf8(std::string_view text) {
    const auto at = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
    const auto follows = [&](size_t i) { return (at(i) & 0xC0) == 0x80; };
    size_t start = 0;
    for (uint64_t word = 0; start + 8 <= text.size(); start += 8) {
        std::memcpy(&word, text.data() + start, 8);
        if (word & 0x8080808080808080u) break;
    }
    for (size_t i = start; i < text.size();) {
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

// Up to 15 digits, with a point among them or not: two numbers that are exact, and one division, which rounds once.
bool read_plain(const char* at, const char* last, double& value) {
    static constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool negative = at != last && *at == '-';
    at += negative;
    if (last - at > 16) return false;
    int64_t digits = 0;
    const char* point = nullptr;
    const char* first = at;
    for (; at != last; ++at) {
        const auto digit = static_cast<unsigned char>(*at - '0');
        if (digit <= 9)
            digits = 10 * digits + digit;
        else if (*at == '.' && !point)
            point = at;
        else
            return false;
    }
    const auto count = last - first - (point ? 1 : 0);
    if (count == 0 || count > 15) return false;
    value = static_cast<double>(digits) / powers[point ? last - point - 1 : 0];
    if (negative) value = -value;
    return true;
}

bool read_number(const char* first, const char* last, double& value) {
    if (read_plain(first, last, value)) return true;
    if (first != last && *first == '+') {
        ++first;
        if (first != last && *first == '-') return false;
    }
    const auto [end, error] = std::from_chars(first, last, value);
    return error == std::errc() && end == last && std::isfinite(value);
}

bool read_whole(const char* first, const char* last, double& value) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::all_of(first + (*first == '-' || *first == '+'), last, is_digit) && read_number(first, last, value);
}

// Goes through the lines of a piece.
class Reader {
public:
    Reader(std::string_view all, const char* first, const char* last, const TrecShape& shape, Piece& piece)
        : all_(all), last_(last), shape_(shape), piece_(piece), spaces_(first, last) {
        piece.start = first;
        piece.end = last;
        piece.rows = 0;
        piece.ids.clear();
        piece.numbers.clear();
        piece.bytes.assign(shape.ids(), 0);
    }

    void read() {
        for (const char* at = piece_.start; at < last_;) at = read_line(at);
    }

private:
    // Returns where the next one starts.
    const char* read_line(const char* line) {
        const char* start = line;
        const char* end = find_field(start);
        if (start == last_) return last_;  // behind the last line
        if (start == end && !shape_.blanks) fail(line);
        if (start == end || (shape_.comments && *start == '#')) return next_line(end);
        size_t column = 0;
        for (size_t i = 0; i < shape_.fields.size(); ++i) {
            if (i > 0) {
                if (ends_line(end)) fail(line);
                start = end + 1;
                end = find_field(start);
                if (start == end) fail(line);
            }
            const char what = shape_.fields[i];
            if (what == 'i') {
                if (shape_.utf8 && !is_utf8({start, static_cast<size_t>(end - start)})) fail(line);
                piece_.ids.push_back({static_cast<uint32_t>(start - piece_.start), static_cast<uint32_t>(end - start)});
                piece_.bytes[column++] += end - start;
            } else if (what != '-') {
                double value;
                if (!(what == 'w' ? read_whole(start, end, value) : read_number(start, end, value))) fail(line);
                piece_.numbers.push_back(value);
            }
        }
        while (!shape_.more && !ends_line(end)) {
            start = end + 1;
            end = find_field(start);
            if (start != end) fail(line);
        }
        ++piece_.rows;
        return next_line(end);
    }

    // Moves the start over blanks, and returns the end: the same if the line has no more fields.
    const char* find_field(const char*& start) {
        const char* end = spaces_.next();
        while (end == start && !ends_line(end)) {
            start = end + 1;
            end = spaces_.next();
        }
        return end;
    }

    bool ends_line(const char* at) const { return at == last_ || *at == '\n'; }

    const char* next_line(const char* at) {
        while (!ends_line(at)) at = spaces_.next();
        return at == last_ ? at : at + 1;
    }

    [[noreturn]] void fail(const char* line) const { throw BadLine{line - all_.data()}; }

    const std::string_view all_;
    const char* const last_;
    const TrecShape& shape_;
    Piece& piece_;
    Spaces spaces_;
};

// Copies one id of each row.
template <class Offset>
void copy_text(const Piece& piece, size_t column, uint8_t* text, Offset* offsets) {
    int64_t row = piece.row, at = piece.at[column];
    constexpr int64_t block = 32;  // more than most ids; one of known size is copied without a call
    const int64_t last_block = at + piece.bytes[column] - block;
    for (size_t i = column; i < piece.ids.size(); i += piece.bytes.size()) {
        const Field found = piece.ids[i];
        const char* from = piece.start + found.start;
        if (found.size <= block && at <= last_block && from + block <= piece.end)
            std::memcpy(text + at, from, block);
        else
            std::memcpy(text + at, from, found.size);
        at += found.size;
        offsets[++row] = static_cast<Offset>(at);
    }
}

// Room that is not used costs nothing, so there is as much as the file can need: no line is shorter than two bytes a
// field.
void make_room(Strings& strings, int64_t bytes, int64_t rows) {
    strings.text.reserve(bytes);
    if (bytes <= std::numeric_limits<int32_t>::max()) {
        strings.narrow.reserve(rows + 1);
        strings.narrow[0] = 0;
    } else {
        strings.wide.reserve(rows + 1);
        strings.wide[0] = 0;
    }
}

void copy(const Piece& piece, TrecColumns& columns) {
    for (size_t c = 0; c < columns.ids.size(); ++c) {
        Strings& strings = columns.ids[c];
        if (strings.narrow.data())
            copy_text(piece, c, strings.text.data(), strings.narrow.data());
        else
            copy_text(piece, c, strings.text.data(), strings.wide.data());
    }
    const size_t width = columns.numbers.size();
    for (size_t c = 0; c < width; ++c) {
        double* to = columns.numbers[c].data() + piece.row;
        for (size_t i = c; i < piece.numbers.size(); i += width) *to++ = piece.numbers[i];
    }
}

}  // namespace

TrecColumns parse_trec(std::string_view text, const TrecShape& shape, Team& team) {
    // Cut at line ends. A line longer than a piece leaves the pieces after it empty.
    const auto bytes = static_cast<int64_t>(text.size());
    const int64_t count = std::max<int64_t>(1, bytes / piece_bytes);
    std::vector<int64_t> cuts{0};
    for (int64_t i = 1; i < count; ++i) {
        const size_t found = text.find('\n', static_cast<size_t>(std::max(cuts.back(), i * piece_bytes - 1)));
        cuts.push_back(found == std::string_view::npos ? bytes : static_cast<int64_t>(found) + 1);
    }
    cuts.push_back(bytes);
    const auto cuts_at = [&](int64_t i) { return cuts[static_cast<size_t>(i)]; };

    TrecColumns columns;
    columns.ids.resize(shape.ids());
    columns.numbers.resize(shape.numbers());
    const int64_t most_rows = bytes / (2 * std::ssize(shape.fields)) + 1;
    for (Strings& strings : columns.ids) make_room(strings, bytes, most_rows);
    for (Array<double>& numbers : columns.numbers) numbers.reserve(most_rows);

    // A few pieces at a time, so that what was read of them is still near when it is copied.
    const int64_t few = 4 * team.threads();
    std::vector<Piece> pieces(static_cast<size_t>(std::min(few, count)));
    for (int64_t done = 0; done < count; done += few) {
        const int64_t now = std::min(few, count - done), size = cuts_at(done + now) - cuts_at(done);
        team.each(now, size, [&](int64_t i) {
            const int64_t first = cuts_at(done + i), last = cuts_at(done + i + 1);
            if (last - first > std::numeric_limits<uint32_t>::max()) throw BadLine{first};
            Reader(text, text.data() + first, text.data() + last, shape, pieces[static_cast<size_t>(i)]).read();
        });
        for (Piece& piece : std::span(pieces).first(static_cast<size_t>(now))) {
            piece.row = std::exchange(columns.rows, columns.rows + piece.rows);
            piece.at.clear();
            for (size_t c = 0; c < columns.ids.size(); ++c)
                piece.at.push_back(std::exchange(columns.ids[c].bytes, columns.ids[c].bytes + piece.bytes[c]));
        }
        team.each(now, size, [&](int64_t i) { copy(pieces[static_cast<size_t>(i)], columns); });
    }
    for (Strings& strings : columns.ids) {
        strings.text.resize(strings.bytes);
        if (strings.narrow.data())
            strings.narrow.resize(columns.rows + 1);
        else
            strings.wide.resize(columns.rows + 1);
    }
    return columns;
}

}  // namespace rankstone
