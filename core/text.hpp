// Reads TREC text: qrels (`query iteration item grade`) and runs (`query Q0 item rank score tag`), on all cores.
#pragma once

#include <string_view>

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
};

struct TrecColumns {
    int64_t rows = 0;
    Strings queries, items;
    Array<double> values;  // grades or scores, all of them finite
};

// A line that is not as it should be, or that needs a closer look: a number that is no double, an id that is no UTF-8,
// too few fields.
struct BadLine {
    int64_t offset;  // where it starts
};

// Any white space between fields; blank lines and lines that start with # are left out; what follows a run's tag is
// ignored.
TrecColumns parse_trec(std::string_view text, bool is_run, Team& team);

}  // namespace rankstone
