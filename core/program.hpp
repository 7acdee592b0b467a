// Programs of metrics: what their functions do, written down once and run over a few queries at a time, in the cache.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "memory.hpp"
#include "parallel.hpp"

namespace rankstone {

enum class Op : uint8_t {
    // Values as they are given: one an item or one a query.
    column,  // column a; or where it is not given, column b (none: 0) plus c
    nth,     // which item of its query it is, from 1
    // Arithmetic. A condition is 1 where it holds, else 0.
    add,
    subtract,
    multiply,
    divide,
    minimum,
    maximum,
    power,
    less,
    less_equal,
    equal,
    both,
    either,
    negative,
    invert,
    log2,
    log,
    sqrt,
    exp,
    abs,
    floor,
    ceil,
    rint,
    where,  // b where a holds, else c
    table,  // entry a of table b; an entry beyond its ends is the one at that end
    // From items to queries and back.
    spread,
    length,
    sum,
    highest,
    lowest,
    product,
    // Down the list. `higher` and `level` take how many items have a higher score for b.
    running,
    surviving,
    higher,
    level,
    // From list b to another, or to queries: a of its item number c, or of its last where it has no more (0 where it
    // has none); and how many of its items have an a of no more than c, where both only grow down the lists.
    at,
    upto,
    elsewhere,  // the sum of table b's entries from 1 to c, one a query, but for those that an item has for its a
    // To the outside: fault b where a holds, with c for a value; answer b.
    refuse,
    answer,
};

// Its name in a program's text; throws std::invalid_argument for one that there is not.
Op op_named(std::string_view name);

struct Step {
    Op op;
    int space;    // whose values it makes: 0, one a query; else one an item of that list
    int to;       // the register it writes
    int a, b, c;  // registers, or whatever the operation takes; -1: none
};

// Items by query: where each query's start in the columns, and how many of them are looked at.
struct Space {
    int offsets = -1;
    int64_t most = std::numeric_limits<int64_t>::max();
};

struct Program {
    std::vector<Step> steps;
    std::vector<Space> spaces;   // the first is that of the queries themselves
    std::vector<int> constants;  // registers that hold one number each
    int registers = 0, columns = 0, tables = 0, answers = 0, faults = 0;

    void check() const;  // throws std::invalid_argument if a step leaves what there is
};

struct Given {
    enum Type { none, float64, int64, boolean } type = none;
    const void* values = nullptr;
};

// What a program runs over.
struct Data {
    int64_t queries = 0;
    std::vector<Given> columns;
    std::vector<double> constants;
    std::vector<std::span<const double>> tables;
};

// Where a check failed: the first query, and the value; -1: nowhere.
struct Refusal {
    int64_t query = -1;
    double value = 0;
};

struct Answers {
    int64_t queries = 0;
    std::vector<Array<double>> values;  // one a query each
    std::vector<Refusal> refusals;
};

Answers run_program(const Program& program, const Data& data, Team& team);

class Machine;

// The same for one thread and little data, with buffers that stay from one run to the next.
class Runner {
public:
    explicit Runner(Program program);
    Runner(const Runner&) = delete;
    ~Runner();
    const Answers& run(const Data& data);
    const Program& program() const { return program_; }

private:
    Program program_;
    std::unique_ptr<Machine> machine_;
    Answers answers_;
};

// The sum of some values, the same whoever asks: of those where `keep` is not 0, or of all. In pairs of stretches, as
// a plain sum loses a digit in ten million.
double total(const double* values, const double* keep, int64_t count);

}  // namespace rankstone
