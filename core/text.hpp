// Reads TREC text, on all cores: lines of fields with white space between them, such as qrels (`query iteration item
// grade`) and runs (`query Q0 item rank score tag`).
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "output.hpp"
#include "parallel.hpp"

namespace rankstone {

// Strings as Arrow lays them out: one after the other, and where each starts. The offsets are narrow where they fit 31
// bits.
struct Strings {
    Array<uint8_t> text;
    Array<int32_t> narrow;
    Array<int64_t> wide;
    int64_t bytes = 0;

    std::string_view at(int64_t row) const {
        const auto cut = [&](auto* offsets) {
            return std::string_view(reinterpret_cast<const char*>(text.data()) + offsets[row],
                                    static_cast<size_t>(offsets[row + 1] - offsets[row]));
        };
        return narrow.data() ? cut(narrow.data()) : cut(wide.data());
    }
};

// What a line should look like.
struct TrecShape {
    // One letter each: 'i' for an id, 'n' for a number, 'w' for one that is written with digits only, '-' for what
    // nobody asks for.
    std::string_view fields;
    bool more = false;     // may other fields follow
    bool comments = true;  // are lines that start with # left out
    bool blanks = true;    // are blank lines left out
    bool utf8 = true;      // must an id be valid text

    size_t ids() const { return static_cast<size_t>(std::ranges::count(fields, 'i')); }
    size_t numbers() const {
        return static_cast<size_t>(std::ranges::count(fields, 'n') + std::ranges::count(fields, 'w'));
    }
};

struct TrecColumns {
    int64_t rows = 0;
    std::vector<Strings> ids;
    std::vector<Array<double>> numbers;  // all of them finite
};

// A line that is not as it should be, or that needs a closer look: a number that is no double, an id that is no UTF-8,
// too few fields.
struct BadLine {
    int64_t offset;  // where it starts
};

TrecColumns parse_trec(std::string_view text, const TrecShape& shape, Team& team);

}  // namespace rankstone
