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
// bits. Where rows next to each other share a string, it is there once for all of them, and `codes` has its number.
struct Strings {
    Array<uint8_t> text;
    Array<int32_t> narrow;
    Array<int64_t> wide;
    Array<int32_t> codes;  // of each row; null: each has a string of its own
    int64_t bytes = 0, count = 0;

    std::string_view of_row(int64_t row) const { return at(codes.data() ? codes.data()[row] : row); }
    std::string_view at(int64_t string) const {
        const auto cut = [&](auto* offsets) {
            return std::string_view(reinterpret_cast<const char*>(text.data()) + offsets[string],
                                    static_cast<size_t>(offsets[string + 1] - offsets[string]));
        };
        return narrow.data() ? cut(narrow.data()) : cut(wide.data());
    }
};

// What a line should look like.
struct TrecShape {
    // One letter each: 'i' for an id, 'q' for one that rows next to each other share, 'n' for a number, 'w' for one
    // that is written with digits only, '-' for an ignored field.
    std::string_view fields;
    bool more = false;     // may other fields follow
    bool comments = true;  // are lines that start with # left out
    bool blanks = true;    // are blank lines left out
    bool utf8 = true;      // must an id be valid text

    size_t ids() const { return count("iq"); }
    size_t numbers() const { return count("nw"); }

private:
    size_t count(std::string_view letters) const {
        return static_cast<size_t>(
            std::ranges::count_if(fields, [&](char field) { return letters.find(field) != std::string_view::npos; }));
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

// The same strings, one for each row.
Strings spread(const Strings& strings, int64_t rows);

// Text in memory, or a part of an open file, which each thread reads for itself: a file that is cut or rewritten
// meanwhile is no crash, as it would be if it were mapped.
struct TextSource {
    std::string_view text;
    int file = -1;  // negative: in memory
    int64_t start = 0, size = 0;
};

TrecColumns parse_trec(const TextSource& source, const TrecShape& shape, Team& team);

}  // namespace rankstone
