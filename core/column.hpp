// One column of ids, grades or scores, read where it lies: NumPy's memory or Arrow's.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "table.hpp"

struct ArrowSchema;
struct ArrowArray;

namespace rankstone {

// A value of the wrong type. What has the wrong value is a std::invalid_argument.
struct TypeError : std::runtime_error {
    using runtime_error::runtime_error;
};
struct BadRow : std::invalid_argument {
    BadRow(const char* what_kind, const char* name, int64_t at, const std::string& what)
        : std::invalid_argument(std::string(name) + ": row " + std::to_string(at) + what),
          kind(what_kind),
          in_run(std::string_view(name).starts_with("run")),
          row(at) {}

    const char* kind;  // as rankstone.errors.DataError names it
    bool in_run;
    int64_t row;
};

enum class Type {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    bytes,
    bits,
    utf8,
    large_utf8,
    view,
    none
};

// A value of memory that another thread may write: read once, and not again after it was checked.
template <class T>
T once(T value) {
    asm("" : "+r"(value));
    return value;
}

inline uint64_t tag_text(std::string_view text, const Seed& with, const char* start);
bool same_text(std::string_view a, std::string_view b);

// The distinct values of a dictionary-encoded column, made quick to reach.
struct Dictionary {
    bool is_text = false;
    std::vector<int64_t> ints;
    std::vector<std::string_view> texts;
    std::vector<uint64_t> tags;
};

struct Column {
    const char* name = "";  // for errors
    Type type = Type::none;
    int64_t length = 0;
    const void* values = nullptr;  // numbers, offsets into `text`, or Arrow's string views
    const char* text = nullptr;
    int64_t text_size = 0;
    const void* const* buffers = nullptr;   // what string views point into
    std::span<const int64_t> buffer_sizes;  // of each of these
    int64_t bit_offset = 0;
    std::shared_ptr<const Dictionary> dictionary;  // then the values are indices into it

    bool is_text() const { return dictionary ? dictionary->is_text : type >= Type::utf8 && type <= Type::view; }
    bool is_int() const { return dictionary ? !dictionary->is_text : type <= Type::uint64; }
};

// Throws if the column cannot hold ids. An empty column can, whatever its type.
void check_ids(const Column& column);
// Throws if one column holds integers and the other strings.
void check_same_kind(const Column& a, const Column& b);
// Throws if the column does not hold numbers.
void check_numbers(const Column& column);

// Throws: the row lies outside of the memory that its column has.
[[noreturn, gnu::cold]] void fail_outside(const Column& column, int64_t row);

// Strings or integers, to be found by their numbers. The memory stays whoever's it is.
std::shared_ptr<const Dictionary> read_dictionary(const Column& values);

// The memory stays Arrow's; schema and array must outlive the column. Throws if there are nulls.
Column read_arrow(const ArrowSchema& schema, const ArrowArray& array, const char* name);

// The first row whose offsets, view or index of a dictionary point nowhere, in the array or what it holds; -1 if none.
int64_t invalid_row(const ArrowSchema& schema, const ArrowArray& array);

// Calls use(get), where get(row) reads the row as its C type: once a column for the type, not once a row.
template <class Use>
decltype(auto) with_numbers(const Column& column, Use use) {
    const auto plain = [&]<class T>(const T* values) { return use([values](int64_t row) { return values[row]; }); };
    switch (column.type) {
        case Type::int8:
            return plain(static_cast<const int8_t*>(column.values));
        case Type::int16:
            return plain(static_cast<const int16_t*>(column.values));
        case Type::int32:
            return plain(static_cast<const int32_t*>(column.values));
        case Type::int64:
            return plain(static_cast<const int64_t*>(column.values));
        case Type::uint8:
        case Type::bytes:
            return plain(static_cast<const uint8_t*>(column.values));
        case Type::uint16:
            return plain(static_cast<const uint16_t*>(column.values));
        case Type::uint32:
            return plain(static_cast<const uint32_t*>(column.values));
        case Type::uint64:
            return plain(static_cast<const uint64_t*>(column.values));
        case Type::float32:
            return plain(static_cast<const float*>(column.values));
        case Type::float64:
            return plain(static_cast<const double*>(column.values));
        default:
            return use([bits = static_cast<const uint8_t*>(column.values), offset = column.bit_offset](int64_t row) {
                return static_cast<uint8_t>(bits[(row + offset) / 8] >> ((row + offset) % 8) & 1);
            });
    }
}

// The two kinds of id. A value is what an id is compared by; a key adds the tag, which a hash table knows it by. Ids
// with the same tag are the same if it is exact; else the values decide. Where the fronts of two differ, they compare
// as the values do.
// The place in a dictionary of so many values.
template <class Index>
size_t index_in(const Column& column, Index index, size_t count, int64_t row) {
    const auto i = once(static_cast<size_t>(index));
    if (i >= count) [[unlikely]]
        fail_outside(column, row);
    return i;
}

struct IntKeys {
    using Value = int64_t;
    using Key = int64_t;

    static Value value(Key key) { return key; }
    static uint64_t tag(Key key) { return static_cast<uint64_t>(key); }
    static constexpr bool tag_is_key = true;
    static constexpr bool exact(uint64_t) { return true; }
    static bool same(Value a, Value b) { return a == b; }
    static int compare(Value a, Value b) { return (a > b) - (a < b); }
    static uint64_t front(Value value) { return static_cast<uint64_t>(value) ^ 1ULL << 63; }

    template <class Use>
    static decltype(auto) with_values(const Column& column, Use use) {
        return with_numbers(column, [&](auto get) {
            if (column.dictionary)
                return use([get, &column, &values = column.dictionary->ints](int64_t row) {
                    return values[index_in(column, get(row), values.size(), row)];
                });
            return use([get](int64_t row) { return static_cast<int64_t>(get(row)); });
        });
    }
    template <class Use>
    static decltype(auto) with_keys(const Column& column, Use use) {
        return with_values(column, use);
    }

    // Whether a row and the `more` after it are all the same; false may also mean that the quick check was
    // inconclusive.
    template <int64_t more, class Get>
    static bool all_same(const Column&, Get get, int64_t row) {
        int64_t differ = 0;
        for (int64_t i = 0; i < more; ++i) differ |= get(row + i) ^ get(row + i + 1);
        return !differ;
    }
};

struct TextKeys {
    using Value = std::string_view;
    struct Key {
        std::string_view text;
        uint64_t tag;
    };

    static Value value(const Key& key) { return key.text; }
    static uint64_t tag(const Key& key) { return key.tag; }
    static constexpr bool tag_is_key = false;
    static constexpr uint64_t hashed = 15ULL << 60;  // all of these bits: the tag is a hash
    static constexpr bool exact(uint64_t tag) { return tag < hashed; }
    static bool same(Value a, Value b) { return same_text(a, b); }
    // By unsigned bytes of UTF-8, which is the order of the code points.
    static int compare(Value a, Value b) { return a.compare(b); }
    static uint64_t front(Value value) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < 8; ++i)
            bytes = bytes << 8 | (i < value.size() ? static_cast<unsigned char>(value[i]) : 0);
        return bytes;
    }

    template <class Use>
    static decltype(auto) with_values(const Column& column, Use use) {
        if (column.dictionary)
            return with_numbers(column, [&](auto get) {
                return use([get, &column, &texts = column.dictionary->texts](int64_t row) {
                    return texts[index_in(column, get(row), texts.size(), row)];
                });
            });
        const auto cut = [&](auto* offsets) {
            return use([offsets, &column, text = column.text, size = column.text_size](int64_t row) {
                const auto first = once(static_cast<int64_t>(offsets[row]));
                const auto last = once(static_cast<int64_t>(offsets[row + 1]));
                if ((first < 0) | (last < first) | (last > size)) [[unlikely]]
                    fail_outside(column, row);
                return Value(text + first, static_cast<size_t>(last - first));
            });
        };
        switch (column.type) {
            case Type::utf8:
                return cut(static_cast<const int32_t*>(column.values));
            case Type::large_utf8:
                return cut(static_cast<const int64_t*>(column.values));
            default:
                return use([&column](int64_t row) { return view_text(column, row); });
        }
    }
    template <class Use>
    static decltype(auto) with_keys(const Column& column, Use use) {
        if (column.dictionary)
            return with_numbers(column, [&](auto get) {
                return use([get, &column, dictionary = column.dictionary.get()](int64_t row) {
                    const size_t i = index_in(column, get(row), dictionary->texts.size(), row);
                    return Key{dictionary->texts[i], dictionary->tags[i]};
                });
            });
        return with_values(column, [&](auto get) {
            return use([get, with = seed, start = column.text](int64_t row) {  // copies, which stay in registers
                const Value text = get(row);
                return Key{text, tag_text(text, with, start)};
            });
        });
    }

    // As above. Texts of one length that are the same repeat their bytes.
    template <int64_t more, class Get>
    static bool all_same(const Column& column, Get, int64_t row) {
        const auto look = [&]<class Offset>(const Offset* offsets) {
            using Size = std::make_unsigned_t<Offset>;  // which wraps around
            Size differ = 0;
            const auto at = [&](int64_t i) { return static_cast<Size>(offsets[row + i]); };
            const auto first = once(static_cast<int64_t>(offsets[row]));
            const auto size = once(static_cast<int64_t>(offsets[row + 1])) - first;
            for (int64_t i = 1; i <= more; ++i) differ |= (at(i + 1) - at(i)) ^ static_cast<Size>(size);
            if (differ || first < 0 || size < 0 || first > column.text_size ||
                size > (column.text_size - first) / (more + 1))
                return false;
            const char* text = column.text + first;
            return std::memcmp(text, text + size, static_cast<size_t>(size) * more) == 0;
        };
        if (column.dictionary) return false;
        if (column.type == Type::utf8) return look(static_cast<const int32_t*>(column.values));
        return column.type == Type::large_utf8 && look(static_cast<const int64_t*>(column.values));
    }

private:
    static Value view_text(const Column& column, int64_t row) {
        // Arrow's layout: the length, then the text itself if it fits 12 bytes, else 4 bytes of it, a buffer, an
        // offset.
        const char* view = static_cast<const char*>(column.values) + 16 * row;
        int32_t size, buffer, offset;
        std::memcpy(&size, view, 4);
        size = once(size);
        if (size < 0) fail_outside(column, row);
        if (size <= 12) return {view + 4, static_cast<size_t>(size)};
        std::memcpy(&buffer, view + 8, 4);
        std::memcpy(&offset, view + 12, 4);
        buffer = once(buffer), offset = once(offset);
        if (buffer < 0 || buffer >= std::ssize(column.buffer_sizes) || offset < 0 ||
            int64_t{offset} + size > column.buffer_sizes[static_cast<size_t>(buffer)])
            fail_outside(column, row);
        return {static_cast<const char*>(column.buffers[buffer]) + offset, static_cast<size_t>(size)};
    }
};

template <class Keys>
typename Keys::Value value_at(const Column& column, int64_t row) {
    return Keys::with_values(column, [row](auto get) { return get(row); });
}

template <class Keys>
typename Keys::Key key_at(const Column& column, int64_t row) {
    return Keys::with_keys(column, [row](auto get) { return get(row); });
}

// Calls use(Keys{}) with the kind of key that both columns need. An empty column may be of any type.
template <class Use>
void with_kind(const Column& a, const Column& b, Use use) {
    if ((a.length ? a : b).is_text())
        use(TextKeys{});
    else
        use(IntKeys{});
}

inline uint64_t load(const char* from, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    return value;
}

inline uint64_t hash_text(std::string_view text, const Seed& with) {
    const uint64_t k0 = with.length, k1 = with.text;
    const char* p = text.data();
    size_t size = text.size();
    uint64_t state = size * k0;
    for (; size > 16; p += 16, size -= 16) state = mix(load(p, 8) ^ k1, load(p + 8, 8) ^ state);
    // Two words that overlap cover whatever is left, from 4 to 16 bytes.
    if (size >= 8) return mix(load(p, 8) ^ k1, load(p + size - 8, 8) ^ state ^ k0);
    if (size >= 4) return mix(load(p, 4) ^ k1, load(p + size - 4, 4) ^ state ^ k0);
    uint64_t last = 0;
    for (size_t i = 0; i < size; ++i) last = last << 8 | static_cast<unsigned char>(p[i]);
    return mix(last ^ k1, state ^ k1);
}

[[gnu::noinline]] inline uint64_t tag_long(std::string_view text, const Seed& with) {
    return hash_text(text, with) | TextKeys::hashed;
}

// A short text is its own tag, so that the text is not read again: up to 7 bytes under a byte that has their
// number and the highest bit, which 8 bytes of ASCII leave free.
[[gnu::always_inline]] inline uint64_t tag_word(uint64_t word, std::string_view text, const Seed& with) {
    const bool whole = text.size() == 8;
    if (whole & ((word & 0x8080808080808080u) != 0)) return tag_long(text, with);
    return word | (whole ? 0 : (0x80 | uint64_t{text.size()}) << 56);
}
uint64_t tag_apart(std::string_view text, const Seed& with);

// Texts that lie in one piece of memory from `start` on are read together with what is before them, which takes no
// branch whatever their size.
[[gnu::always_inline]] inline uint64_t tag_text(std::string_view text, const Seed& with, const char* start) {
    const char* end = text.data() + text.size();
    if (std::endian::native == std::endian::little && text.size() - 1 < 8 && start && end - start >= 8)
        return tag_word(load(end - 8, 8) >> (64 - 8 * text.size()), text, with);
    return text.size() > 8 ? tag_long(text, with) : tag_apart(text, with);
}

// The same two words; a call of memcmp would take longer than the comparison of a usual id.
inline bool same_text(std::string_view a, std::string_view b) {
    const size_t size = a.size();
    if (size != b.size()) return false;
    const char *p = a.data(), *q = b.data();
    if (size > 16 || size < 4) return size == 0 || std::memcmp(p, q, size) == 0;
    if (size >= 8) return load(p, 8) == load(q, 8) && load(p + size - 8, 8) == load(q + size - 8, 8);
    return load(p, 4) == load(q, 4) && load(p + size - 4, 4) == load(q + size - 4, 4);
}

}  // namespace rankstone
