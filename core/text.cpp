#include "text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <unistd.h>

#include "column.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rankstone {
namespace {

constexpr int64_t piece_bytes = 1 << 18;

enum : uint8_t { letter, blank, line_end };

// What Python's bytes.split() takes for white space.
constexpr std::array<uint8_t, 256> kinds = [] {
    std::array<uint8_t, 256> table{};
    for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) table[c] = blank;
    table['\n'] = line_end;
    return table;
}();

uint8_t kind(char c) { return kinds[static_cast<unsigned char>(c)]; }

struct Field {
    const char *start, *end;
};

// Where the white space of a piece is.
class Spaces {
public:
    // Looks through the text. The places of all bytes that are not above a space: all white space, and little else.
    void look(const char* first, const char* last) {
        const auto size = static_cast<uint32_t>(last - first);
        places_.grow(size + 64);
        uint32_t* out = places_.data();
        uint64_t high = 0;
        for (uint32_t at = 0; at < size; at += 64) {
            char rest[64];
            const char* block = first + at;
            if (size - at < 64) {
                std::memset(rest, 'x', sizeof rest);
                std::memcpy(rest, block, size - at);
                block = rest;
            }
            uint64_t bits = low_bytes(block, high);
            // A dozen at a time, some of them for nothing: to guess how many there are would take longer.
            for (uint32_t* end = out + count_bits(bits); bits; out = std::min(out, end))
                for (int i = 0; i < 12; ++i) {
                    *out++ = at + static_cast<uint32_t>(std::countr_zero(bits));
                    bits &= bits - 1;
                }
        }
        ascii = high == 0;
        end_ = out - places_.data();
        at_ = 0;
        size_ = size;
        text_ = first;
    }

    // Goes from one white space to the next, and then stays at the end.
    uint32_t next() {
        while (at_ < end_) {
            const uint32_t found = places_[at_++];
            if (kind(text_[found]) != letter) return found;
        }
        return size_;
    }

    // Where the next fields end, if they have one blank between them and the last of them ends its line, as most lines
    // are; goes on to the next line then. Else null.
    const uint32_t* next_line(uint32_t start, size_t count) {
        if (end_ - at_ < static_cast<int64_t>(count)) return nullptr;
        const uint32_t* ends = places_.data() + at_;
        bool plain = (ends[0] > start) & (text_[ends[count - 1]] == '\n');
        for (size_t i = 0; i + 1 < count; ++i) {
            const char blank_at = text_[ends[i]];
            plain &= (ends[i + 1] > ends[i] + 1) & ((blank_at == ' ') | (blank_at == '\t'));
        }
        if (!plain) return nullptr;
        at_ += static_cast<int64_t>(count);
        return ends;
    }

    bool ascii = true;  // is there nothing but ASCII

private:
    static int64_t count_bits(uint64_t bits) {
        bits -= bits >> 1 & 0x5555555555555555u;
        bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
        return static_cast<int64_t>(((bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
    }

    // A bit for each of 64 bytes that is not above a space.
    static uint64_t low_bytes(const char* at, uint64_t& high) {
        uint64_t bits = 0;
#ifdef __SSE2__
        const __m128i space = _mm_set1_epi8(' ');
        for (int i = 0; i < 64; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
            const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, space), bytes));
            bits |= static_cast<uint64_t>(static_cast<unsigned>(low)) << i;
            high |= static_cast<unsigned>(_mm_movemask_epi8(bytes));
        }
#else
        for (int i = 0; i < 64; ++i) {
            bits |= static_cast<uint64_t>(static_cast<unsigned char>(at[i]) <= ' ') << i;
            high |= static_cast<unsigned char>(at[i]) & 0x80u;
        }
#endif
        return bits;
    }

    Array<uint32_t> places_;
    int64_t at_ = 0, end_ = 0;
    uint32_t size_ = 0;
    const char* text_ = nullptr;
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

// The number that up to eight digits make, or a negative one if they are no digits. The eight bytes before `last` can
// be read.
int64_t read_digits(const char* last, int64_t count) {
    if (count == 0) return 0;
    if constexpr (std::endian::native != std::endian::little) return -1;
    const auto shift = static_cast<unsigned>(64 - 8 * count);
    constexpr uint64_t zeros = 0x3030303030303030u;
    uint64_t digits = (load(last - 8, 8) >> shift << shift | (zeros & ~(~uint64_t{0} << shift))) ^ zeros;
    if (((digits + 0x7676767676767676u) | digits) & 0x8080808080808080u) return -1;
    // Pairs, fours, eights: each step adds up neighbours.
    digits = digits * 10 + (digits >> 8);
    digits = (digits & 0x000000FF000000FFu) * 0x000F424000000064u +
             (digits >> 16 & 0x000000FF000000FFu) * 0x0000271000000001u;
    return static_cast<int64_t>(digits >> 32);
}

// Up to 15 digits, with a point among them or not: two numbers that are exact, and one division, which rounds once.
bool read_plain(const char* at, const char* last, const char* readable, double& value) {
    static constexpr double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    static constexpr int64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const bool negative = *at == '-';
    at += negative;
    if (last - at > 16) return false;
    const char* first = at;
    int64_t digits = 0;
    for (; at != last; ++at) {
        const auto digit = static_cast<unsigned char>(*at - '0');
        if (digit > 9) break;
        digits = 10 * digits + digit;
    }
    int64_t count = at - first, after = 0;
    if (at != last) {
        after = last - at - 1;
        if (*at != '.' || after > 8 || last - readable < 8) return false;
        const int64_t part = read_digits(last, after);
        if (part < 0) return false;
        digits = digits * whole_powers[after] + part;
        count += after;
    }
    if (count == 0 || count > 15) return false;
    const double found = static_cast<double>(digits) / powers[after];
    value = negative ? -found : found;
    return true;
}

// The eight bytes before a number can be read, if they are at or behind `readable`.
bool read_number(const char* first, const char* last, const char* readable, double& value) {
    if (read_plain(first, last, readable, value)) return true;
    if (first != last && *first == '+') {
        ++first;
        if (first != last && *first == '-') return false;
    }
    const auto [end, error] = std::from_chars(first, last, value);
    return error == std::errc() && end == last && std::isfinite(value);
}

bool is_whole(const char* first, const char* last) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::all_of(first + (*first == '-' || *first == '+'), last, is_digit);
}

// The strings of a column that a piece has.
struct Words {
    Array<uint8_t> text;
    Array<int32_t> ends, codes;  // where each ends, and which is a row's, where rows share them
    int64_t bytes = 0, count = 0;

    std::string_view last() const {
        const int32_t start = count > 1 ? ends.data()[count - 2] : 0;
        return {reinterpret_cast<const char*>(text.data()) + start, static_cast<size_t>(bytes - start)};
    }
    // There is room for whatever the piece can hold, and for a block more, which is copied without a call.
    void add(const char* from, int64_t size, const char* readable) {
        constexpr int64_t block = 16;
        if (size <= block && readable - from >= block)
            std::memcpy(text.data() + bytes, from, block);
        else
            std::memcpy(text.data() + bytes, from, static_cast<size_t>(size));
        ends[count++] = static_cast<int32_t>(bytes += size);
    }
};

// What was read of a piece; one a thread, so that it stays in the cache until it is copied.
struct Piece {
    Array<char> text;  // of a file
    Spaces spaces;
    std::vector<Words> ids;
    std::vector<Array<double>> numbers;
    int64_t rows = 0;

    void clear(const TrecShape& shape, int64_t bytes) {
        rows = 0;
        ids.resize(shape.ids());
        numbers.resize(shape.numbers());
        const int64_t most = most_rows(shape, bytes);
        for (Words& words : ids) {
            words.bytes = words.count = 0;
            words.text.grow(bytes + 16);
            words.ends.grow(most);
            words.codes.grow(most);
        }
        for (auto& column : numbers) column.grow(most);
    }
    // No line is shorter than two bytes a field.
    static int64_t most_rows(const TrecShape& shape, int64_t bytes) {
        return bytes / (2 * std::ssize(shape.fields)) + 1;
    }
};

// Goes through the lines of a piece.
class Reader {
public:
    // `all`: what may be read, which starts at `offset` of the text.
    Reader(std::string_view all, int64_t offset, const char* first, const char* last, const TrecShape& shape,
           Piece& piece)
        : all_(all),
          offset_(offset),
          first_(first),
          last_(last),
          shape_(shape),
          piece_(piece),
          spaces_(piece.spaces),
          fields_(shape.fields.size()) {
        piece.clear(shape, last - first);
        spaces_.look(first, last);
        for (size_t i = 0; i < shape.fields.size(); ++i)
            if (shape.fields[i] != '-') wanted_.push_back({shape.fields[i], i});
    }

    void read() {
        for (const char* at = first_; at < last_;) at = read_line(at);
    }

private:
    // Returns where the next one starts.
    const char* read_line(const char* line) {
        if (!(shape_.comments && *line == '#')) {
            const size_t count = fields_.size();
            if (const uint32_t* ends = spaces_.next_line(static_cast<uint32_t>(line - first_), count)) {
                add_row(line, [&](size_t i) { return Field{i ? first_ + ends[i - 1] + 1 : line, first_ + ends[i]}; });
                return first_ + ends[count - 1] + 1;
            }
        }
        const char* start = line;
        const char* end = find_field(start);
        if (start == last_) return last_;  // behind the last line
        if (start == end && !shape_.blanks) fail(line);
        if (start == end || (shape_.comments && *start == '#')) return next_line(end);
        fields_[0] = {start, end};
        for (size_t i = 1; i < fields_.size(); ++i) {
            if (ends_line(end)) fail(line);
            start = end + 1;
            end = find_field(start);
            if (start == end) fail(line);
            fields_[i] = {start, end};
        }
        add_row(line, [&](size_t i) { return fields_[i]; });
        while (!shape_.more && !ends_line(end)) {
            start = end + 1;
            end = find_field(start);
            if (start != end) fail(line);
        }
        const char* next = next_line(end);
        // A carriage return that does not end the line.
        if (next - line > 2 && std::memchr(line, '\r', static_cast<size_t>(next - line - 2))) fail(line);
        return next;
    }

    template <class Get>
    void add_row(const char* line, Get field) {
        size_t id = 0, number = 0;
        for (const auto& [what, at] : wanted_) {
            const auto [start, end] = field(at);
            if (what == 'i' || what == 'q') {
                add_id(piece_.ids[id++], line, start, end, what == 'q');
                continue;
            }
            double& value = piece_.numbers[number++][piece_.rows];
            if (what == 'w' && !is_whole(start, end)) fail(line);
            if (!read_number(start, end, all_.data(), value)) fail(line);
        }
        ++piece_.rows;
    }

    void add_id(Words& words, const char* line, const char* start, const char* end, bool shared) {
        const std::string_view text(start, static_cast<size_t>(end - start));
        if (!shared || words.count == 0 || !same_text(words.last(), text)) {
            if (shape_.utf8 && !spaces_.ascii && !is_utf8(text)) fail(line);
            words.add(start, end - start, all_.data() + all_.size());
        }
        if (shared) words.codes[piece_.rows] = static_cast<int32_t>(words.count - 1);
    }

    // Moves the start over blanks, and returns the end: the same if the line has no more fields.
    const char* find_field(const char*& start) {
        const char* end = first_ + spaces_.next();
        while (end == start && !ends_line(end)) {
            start = end + 1;
            end = first_ + spaces_.next();
        }
        return end;
    }

    bool ends_line(const char* at) const { return at == last_ || *at == '\n'; }

    const char* next_line(const char* at) {
        while (!ends_line(at)) at = first_ + spaces_.next();
        return at == last_ ? at : at + 1;
    }

    [[noreturn]] void fail(const char* line) const { throw BadLine{offset_ + (line - all_.data())}; }

    const std::string_view all_;
    const int64_t offset_;
    const char *const first_, *const last_;
    const TrecShape& shape_;
    Piece& piece_;
    Spaces& spaces_;
    std::vector<Field> fields_;                    // of a line
    std::vector<std::pair<char, size_t>> wanted_;  // the wanted columns, and the field of each
};

// Where the rows of a piece go: how much the pieces before it have.
struct Start {
    int64_t rows = 0;
    std::vector<int64_t> bytes, count;  // of each column of ids
};

// Lets the pieces take their places one after the other, as soon as those before have theirs.
class Queue {
public:
    Queue(TrecColumns& columns, const Team& team) : columns_(columns), team_(team) {}

    // Memory for a piece, which others may have used before.
    std::unique_ptr<Piece> borrow() {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return std::make_unique<Piece>();
        std::unique_ptr<Piece> piece = std::move(idle_.back());
        idle_.pop_back();
        return piece;
    }
    void give_back(std::unique_ptr<Piece> piece) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(piece));
    }

    // None if there is an error in an earlier piece.
    std::optional<Start> take(int64_t number, const Piece& piece) {
        std::unique_lock lock(mutex_);
        const auto is_next = [&] { return next_ == number || broken_ < number; };
        while (!moved_.wait_for(lock, std::chrono::milliseconds(20), is_next)) team_.check();
        if (broken_ < number) return std::nullopt;
        Start start{std::exchange(columns_.rows, columns_.rows + piece.rows), {}, {}};
        for (size_t c = 0; c < columns_.ids.size(); ++c) {
            Strings& strings = columns_.ids[c];
            const Words& words = piece.ids[c];
            start.bytes.push_back(std::exchange(strings.bytes, strings.bytes + words.bytes));
            start.count.push_back(std::exchange(strings.count, strings.count + words.count));
        }
        ++next_;
        moved_.notify_all();
        return start;
    }
    // There is no place for the pieces behind one with an error.
    void close(int64_t number) {
        const std::lock_guard lock(mutex_);
        broken_ = std::min(broken_, number);
        moved_.notify_all();
    }

private:
    TrecColumns& columns_;
    const Team& team_;
    std::mutex mutex_;
    std::condition_variable moved_;
    std::vector<std::unique_ptr<Piece>> idle_;
    int64_t next_ = 0, broken_ = std::numeric_limits<int64_t>::max();
};

// Room that is not used costs nothing, so there is as much as the file can need.
void make_room(Strings& strings, int64_t bytes, int64_t rows, bool shared) {
    strings.text.reserve(bytes);
    if (bytes <= std::numeric_limits<int32_t>::max()) {
        strings.narrow.reserve(rows + 1);
        strings.narrow[0] = 0;
    } else {
        strings.wide.reserve(rows + 1);
        strings.wide[0] = 0;
    }
    if (shared) strings.codes.reserve(rows);
}

void copy(const Piece& piece, const Start& start, TrecColumns& columns) {
    for (size_t c = 0; c < columns.ids.size(); ++c) {
        Strings& strings = columns.ids[c];
        const Words& words = piece.ids[c];
        const int64_t bytes = start.bytes[c], count = start.count[c];
        std::copy_n(words.text.data(), words.bytes, strings.text.data() + bytes);
        const auto shift = [&]<class Offset>(Offset* to) {
            for (int64_t i = 0; i < words.count; ++i) to[i] = static_cast<Offset>(bytes + words.ends.data()[i]);
        };
        if (strings.narrow.data())
            shift(strings.narrow.data() + count + 1);
        else
            shift(strings.wide.data() + count + 1);
        if (int32_t* to = strings.codes.data())
            for (int64_t i = 0; i < piece.rows; ++i)
                to[start.rows + i] = static_cast<int32_t>(count) + words.codes.data()[i];
    }
    for (size_t c = 0; c < columns.numbers.size(); ++c)
        std::copy_n(piece.numbers[c].data(), piece.rows, columns.numbers[c].data() + start.rows);
}

// The lines that start in a piece of a file, and what else was read of it.
class FilePiece {
public:
    FilePiece(const TextSource& source, int64_t number, int64_t count, Array<char>& text)
        : source_(source), text_(text), offset(number ? number * piece_bytes - 1 : 0) {
        // The last piece is the longest. A line belongs to the piece that the newline before it is in.
        const int64_t end = number + 1 == count ? source.size : (number + 1) * piece_bytes - 1;
        load(std::min(source.size, end + (1 << 12)) - offset);
        first = number ? find(0, end - offset) : 0;
        if (first < 0) {  // in the middle of a line
            first = last = 0;
            return;
        }
        while ((last = end == source.size ? size_ : find(end - offset, size_)) < 0) {
            if (offset + size_ == source.size)
                last = size_;
            else
                load(std::min(source.size - offset, 2 * size_));
            if (last == size_) break;
        }
    }

    std::string_view all() const { return {text_.data(), static_cast<size_t>(size_)}; }

private:
    // Behind the first newline, or -1.
    int64_t find(int64_t from, int64_t to) const {
        const void* found = std::memchr(text_.data() + from, '\n', static_cast<size_t>(to - from));
        return found ? static_cast<const char*>(found) - text_.data() + 1 : -1;
    }

    void load(int64_t size) {
        text_.grow(size);
        while (size_ < size) {
            const auto read = ::pread(source_.file, text_.data() + size_, static_cast<size_t>(size - size_),
                                      source_.start + offset + size_);
            if (read <= 0) throw BadLine{0};  // it was cut
            size_ += read;
        }
    }

    const TextSource& source_;
    Array<char>& text_;
    int64_t size_ = 0;

public:
    const int64_t offset;  // where what was read starts
    int64_t first, last;   // in there
};

}  // namespace

Strings spread(const Strings& strings, int64_t rows) {
    Strings out;
    for (int64_t row = 0; row < rows; ++row) out.bytes += std::ssize(strings.of_row(row));
    out.count = rows;
    make_room(out, out.bytes, rows, false);
    int64_t at = 0;
    for (int64_t row = 0; row < rows; ++row) {
        const std::string_view text = strings.of_row(row);
        std::ranges::copy(text, out.text.data() + at);
        at += std::ssize(text);
        if (out.narrow.data())
            out.narrow[row + 1] = static_cast<int32_t>(at);
        else
            out.wide[row + 1] = at;
    }
    return out;
}

TrecColumns parse_trec(const TextSource& source, const TrecShape& given, Team& team) {
    // Cut at line ends. A line longer than a piece leaves the pieces after it empty.
    const std::string_view text = source.text;
    const bool in_memory = source.file < 0;
    const int64_t bytes = in_memory ? std::ssize(text) : source.size;
    const int64_t count = std::max<int64_t>(1, bytes / piece_bytes);
    std::vector<int64_t> cuts{0};
    for (int64_t i = 1; i < count && in_memory; ++i) {
        const size_t found = text.find('\n', static_cast<size_t>(std::max(cuts.back(), i * piece_bytes - 1)));
        cuts.push_back(found == std::string_view::npos ? bytes : static_cast<int64_t>(found) + 1);
    }
    cuts.push_back(bytes);

    const int64_t most_rows = Piece::most_rows(given, bytes);
    std::string fields(given.fields);
    if (most_rows > std::numeric_limits<int32_t>::max()) std::ranges::replace(fields, 'q', 'i');  // too many to number
    TrecShape shape = given;
    shape.fields = fields;
    TrecColumns columns;
    for (const char what : fields) {
        if (what == 'i' || what == 'q') make_room(columns.ids.emplace_back(), bytes, most_rows, what == 'q');
        if (what == 'n' || what == 'w') columns.numbers.emplace_back(most_rows);
    }

    Queue queue(columns, team);
    team.each(count, bytes, [&](int64_t i) {
        try {
            std::unique_ptr<Piece> piece = queue.borrow();
            const auto read = [&](std::string_view all, int64_t offset, int64_t first, int64_t last) {
                if (last - first > std::numeric_limits<int32_t>::max() - 64) throw BadLine{offset + first};
                Reader(all, offset, all.data() + first, all.data() + last, shape, *piece).read();
            };
            if (in_memory) {
                read(text, 0, cuts[static_cast<size_t>(i)], cuts[static_cast<size_t>(i) + 1]);
            } else {
                const FilePiece lines(source, i, count, piece->text);
                read(lines.all(), lines.offset, lines.first, lines.last);
            }
            if (const auto start = queue.take(i, *piece)) copy(*piece, *start, columns);
            queue.give_back(std::move(piece));
        } catch (...) {
            queue.close(i);
            throw;
        }
    });
    for (Strings& strings : columns.ids) {
        strings.text.resize(strings.bytes);
        if (strings.narrow.data())
            strings.narrow.resize(strings.count + 1);
        else
            strings.wide.resize(strings.count + 1);
        if (strings.codes.data()) strings.codes.resize(columns.rows);
    }
    return columns;
}

}  // namespace rankstone
