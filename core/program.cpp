#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

// Wider vectors are chosen when the module is loaded, as in count.cpp. Not v3, which would round products and sums at
// once, and so make other numbers on other machines.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(RANKSTONE_SANITIZE)
#define RANKSTONE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define RANKSTONE_CLONES
#endif

namespace rankstone {
namespace {

constexpr int64_t few_items = 2048;  // at a time: all registers stay in the cache, and a step's start costs little

constexpr std::pair<const char*, Op> names[] = {
    {"column", Op::column},
    {"nth", Op::nth},
    {"+", Op::add},
    {"-", Op::subtract},
    {"*", Op::multiply},
    {"/", Op::divide},
    {"minimum", Op::minimum},
    {"maximum", Op::maximum},
    {"power", Op::power},
    {"<", Op::less},
    {"<=", Op::less_equal},
    {"==", Op::equal},
    {"and", Op::both},
    {"or", Op::either},
    {"negative", Op::negative},
    {"not", Op::invert},
    {"log2", Op::log2},
    {"log", Op::log},
    {"sqrt", Op::sqrt},
    {"exp", Op::exp},
    {"abs", Op::abs},
    {"floor", Op::floor},
    {"ceil", Op::ceil},
    {"rint", Op::rint},
    {"where", Op::where},
    {"table", Op::table},
    {"spread", Op::spread},
    {"length", Op::length},
    {"sum", Op::sum},
    {"highest", Op::highest},
    {"lowest", Op::lowest},
    {"product", Op::product},
    {"running", Op::running},
    {"surviving", Op::surviving},
    {"higher", Op::higher},
    {"level", Op::level},
    {"at", Op::at},
    {"upto", Op::upto},
    {"elsewhere", Op::elsewhere},
    {"refuse", Op::refuse},
    {"answer", Op::answer},
};

double power_of(double base, double exponent) { return base == 2.0 ? std::exp2(exponent) : std::pow(base, exponent); }

// One value after the other, by itself.
RANKSTONE_CLONES
void each(Op op, const double* a, const double* b, const double* c, double* to, int64_t count) {
    const auto make = [&](auto function) {
        for (int64_t i = 0; i < count; ++i) to[i] = function(i);
    };
    const auto truth = [](bool holds) { return holds ? 1.0 : 0.0; };
    switch (op) {
        case Op::add:
            return make([&](int64_t i) { return a[i] + b[i]; });
        case Op::subtract:
            return make([&](int64_t i) { return a[i] - b[i]; });
        case Op::multiply:
            return make([&](int64_t i) { return a[i] * b[i]; });
        case Op::divide:
            return make([&](int64_t i) { return a[i] / b[i]; });
        // What is not a number stays so.
        case Op::minimum:
            return make([&](int64_t i) { return (a[i] < b[i]) | (a[i] != a[i]) ? a[i] : b[i]; });
        case Op::maximum:
            return make([&](int64_t i) { return (a[i] > b[i]) | (a[i] != a[i]) ? a[i] : b[i]; });
        case Op::power:
            return make([&](int64_t i) { return power_of(a[i], b[i]); });
        case Op::less:
            return make([&](int64_t i) { return truth(a[i] < b[i]); });
        case Op::less_equal:
            return make([&](int64_t i) { return truth(a[i] <= b[i]); });
        case Op::equal:
            return make([&](int64_t i) { return truth(a[i] == b[i]); });
        case Op::both:
            return make([&](int64_t i) { return a[i] * b[i]; });
        case Op::either:
            return make([&](int64_t i) { return a[i] > b[i] ? a[i] : b[i]; });
        case Op::negative:
            return make([&](int64_t i) { return -a[i]; });
        case Op::invert:
            return make([&](int64_t i) { return 1.0 - a[i]; });
        case Op::log2:
            return make([&](int64_t i) { return std::log2(a[i]); });
        case Op::log:
            return make([&](int64_t i) { return std::log(a[i]); });
        case Op::sqrt:
            return make([&](int64_t i) { return std::sqrt(a[i]); });
        case Op::exp:
            return make([&](int64_t i) { return std::exp(a[i]); });
        case Op::abs:
            return make([&](int64_t i) { return std::fabs(a[i]); });
        case Op::floor:
            return make([&](int64_t i) { return std::floor(a[i]); });
        case Op::ceil:
            return make([&](int64_t i) { return std::ceil(a[i]); });
        case Op::rint:
            return make([&](int64_t i) { return std::nearbyint(a[i]); });
        case Op::where:
            return make([&](int64_t i) { return a[i] != 0.0 ? b[i] : c[i]; });
        default:
            return;
    }
}

}  // namespace

// Runs a program over one stretch of queries after the other, with buffers that stay.
class Machine {
public:
    explicit Machine(const Program& program)
        : program_(program), at_(static_cast<size_t>(program.registers)), spans_(program.spaces.size()) {}

    // Writes the answers of some queries, and the first refusal of each kind.
    void run(const Data& data, int64_t first, int64_t last, Answers& answers, std::vector<Refusal>& refusals) {
        data_ = &data;
        answers_ = &answers;
        refusals_ = &refusals;
        refusals.assign(static_cast<size_t>(program_.faults), {});
        for (int64_t query = first; query < last;) query = run_some(query, last);
    }

private:
    // The items of the queries at hand: where each query's start and end, counted from the first, and in the columns.
    struct Span {
        std::vector<int64_t> ends;
        int64_t start = 0, count = 0;
        bool whole = true;  // no item is left out

        bool holds(int64_t query) const {  // any item
            const auto at = static_cast<size_t>(query);
            return ends[at] > (at ? ends[at - 1] : 0);
        }
    };

    int64_t run_some(int64_t first, int64_t last) {
        first_ = first;
        const int64_t end = find_end(first, last);
        queries_ = end - first;
        int64_t most = queries_;
        for (size_t space = 1; space < spans_.size(); ++space) most = std::max(most, measure(space, first, end));
        make_room(most);
        for (const Step& step : program_.steps) run_step(step);
        return end;
    }

    const int64_t* offsets(size_t space) const {
        return static_cast<const int64_t*>(column(program_.spaces[space].offsets).values);
    }

    // So many queries that their items are few, but one at least.
    int64_t find_end(int64_t first, int64_t last) const {
        int64_t end = std::min(last, first + few_items);
        for (size_t space = 1; space < spans_.size(); ++space) {
            const int64_t* starts = offsets(space);
            if (starts[end] - starts[first] <= few_items) continue;
            const int64_t* found = std::upper_bound(starts + first + 1, starts + end, starts[first] + few_items);
            end = std::max(first + 1, static_cast<int64_t>(found - starts) - 1);
        }
        return end;
    }

    int64_t measure(size_t space, int64_t first, int64_t end) {
        const int64_t* starts = offsets(space);
        const int64_t most = program_.spaces[space].most;
        Span& span = spans_[space];
        span.start = starts[first];
        span.ends.resize(static_cast<size_t>(end - first));
        int64_t count = 0;
        for (int64_t query = first; query < end; ++query)
            span.ends[static_cast<size_t>(query - first)] = count += std::min(most, starts[query + 1] - starts[query]);
        span.count = count;
        span.whole = count == starts[end] - starts[first];
        return count;
    }

    void make_room(int64_t most) {
        if (most <= room_) return;
        room_ = std::max(most, 2 * room_);
        buffers_.resize(static_cast<size_t>(room_) * at_.size());
        for (size_t i = 0; i < program_.constants.size(); ++i)
            std::fill_n(write(program_.constants[i]), room_, data_->constants[i]);
    }

    double* write(int to) {
        double* buffer = buffers_.data() + static_cast<size_t>(to) * static_cast<size_t>(room_);
        at_[static_cast<size_t>(to)] = buffer;
        return buffer;
    }
    const double* read(int from) const { return from < 0 ? nullptr : at_[static_cast<size_t>(from)]; }
    const Given& column(int at) const { return data_->columns[static_cast<size_t>(at)]; }

    // Calls use(query, first, end) for the items of each query at hand.
    template <class Use>
    void queries(const Span& span, Use use) const {
        int64_t first = 0;
        for (int64_t query = 0; query < queries_; ++query) {
            const int64_t end = span.ends[static_cast<size_t>(query)];
            use(query, first, end);
            first = end;
        }
    }

    // The same one item after the other, next(state, item), and what comes of it, done(query, state). Four lists at a
    // time, since each sum waits for the one before it in its list, and for no other.
    template <class Next, class Done>
    void down(const Span& span, double state, Next next, Done done) const {
        constexpr int side = 4;
        int64_t query = 0, first = 0;
        for (; query + side <= queries_; query += side) {
            int64_t at[side], left = std::numeric_limits<int64_t>::max();
            double states[side];
            for (int i = 0; i < side; ++i) {
                at[i] = first;
                first = span.ends[static_cast<size_t>(query + i)];
                left = std::min(left, first - at[i]);
                states[i] = state;
            }
            for (; left > 0; --left)
                for (int i = 0; i < side; ++i) states[i] = next(states[i], at[i]++);
            for (int i = 0; i < side; ++i) {
                const int64_t end = span.ends[static_cast<size_t>(query + i)];
                while (at[i] < end) states[i] = next(states[i], at[i]++);
                done(query + i, states[i]);
            }
        }
        for (; query < queries_; ++query) {
            double last = state;
            for (const int64_t end = span.ends[static_cast<size_t>(query)]; first < end;) last = next(last, first++);
            done(query, last);
        }
    }

    void run_step(const Step& step) {
        const Span& span = spans_[static_cast<size_t>(step.space)];
        const int64_t count = step.space ? span.count : queries_;
        switch (step.op) {
            case Op::column:
                return load(step, span, count);
            case Op::nth: {
                double* to = write(step.to);
                return queries(span, [&](int64_t, int64_t first, int64_t end) {
                    for (int64_t i = first; i < end; ++i) to[i] = static_cast<double>(i - first + 1);
                });
            }
            case Op::table:
                return look_up(step, count);
            case Op::spread: {
                const double* from = read(step.a);
                double* to = write(step.to);
                return queries(span, [&](int64_t query, int64_t first, int64_t end) {
                    std::fill(to + first, to + end, from[query]);
                });
            }
            case Op::length:
            case Op::sum:
            case Op::highest:
            case Op::lowest:
            case Op::product:
                return reduce(step, spans_[static_cast<size_t>(step.b)]);
            case Op::running: {
                const double* from = read(step.a);
                double* to = write(step.to);
                return down(
                    span, 0.0, [&](double sum, int64_t i) { return to[i] = sum + from[i]; }, [](int64_t, double) {});
            }
            case Op::surviving: {
                const double* stops = read(step.a);
                double* to = write(step.to);
                return queries(span, [&](int64_t, int64_t first, int64_t end) {
                    double left = 1;
                    for (int64_t i = first; i < end; ++i) {
                        const double stop = stops[i];
                        to[i] = left;
                        left *= 1.0 - stop;
                    }
                });
            }
            case Op::higher:
            case Op::level:
                return by_score(step, span);
            case Op::at:
            case Op::upto:
                return across(step, span, spans_[static_cast<size_t>(step.b)]);
            case Op::elsewhere:
                return elsewhere(step, span);
            case Op::refuse:
                return refuse(step, span, count);
            case Op::answer: {
                const double* from = read(step.a);
                std::copy_n(from, queries_, answers_->values[static_cast<size_t>(step.b)].data() + first_);
                return;
            }
            default: {
                const double *a = read(step.a), *b = read(step.b), *c = read(step.c);
                each(step.op, a, b, c, write(step.to), count);
            }
        }
    }

    void load(const Step& step, const Span& span, int64_t count) {
        const Given& given = column(step.a);
        const int64_t start = step.space ? span.start : first_;
        const bool whole = step.space == 0 || span.whole;
        if (given.type == Given::float64 && whole) {  // read where it lies
            at_[static_cast<size_t>(step.to)] = static_cast<const double*>(given.values) + start;
            return;
        }
        double* to = write(step.to);
        if (given.type != Given::none) return copy(given, step.space, start, whole, count, to);
        if (step.b < 0)
            std::fill_n(to, count, 0.0);
        else
            copy(column(step.b), step.space, start, whole, count, to);
        for (int64_t i = 0; i < count; ++i) to[i] += step.c;
    }

    void copy(const Given& given, int space, int64_t start, bool whole, int64_t count, double* to) const {
        const auto from = [&](const auto* values) {
            if (whole) {
                for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(values[start + i]);
                return;
            }
            const int64_t* starts = offsets(static_cast<size_t>(space));
            queries(spans_[static_cast<size_t>(space)], [&](int64_t query, int64_t first, int64_t end) {
                const auto* own = values + starts[first_ + query];
                for (int64_t i = first; i < end; ++i) to[i] = static_cast<double>(own[i - first]);
            });
        };
        if (given.type == Given::float64) from(static_cast<const double*>(given.values));
        if (given.type == Given::int64) from(static_cast<const int64_t*>(given.values));
        if (given.type == Given::boolean) from(static_cast<const bool*>(given.values));
    }

    void look_up(const Step& step, int64_t count) {
        const double* from = read(step.a);
        double* to = write(step.to);
        const std::span<const double> table = data_->tables[static_cast<size_t>(step.b)];
        const auto last = static_cast<double>(table.size() - 1);
        for (int64_t i = 0; i < count; ++i) {
            const double at = from[i] > 0 ? (from[i] < last ? from[i] : last) : 0.0;
            to[i] = table[static_cast<size_t>(at)];
        }
    }

    void reduce(const Step& step, const Span& span) {
        const double* from = read(step.a);
        double* to = write(step.to);
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const auto done = [&](int64_t query, double made) { to[query] = made; };
        switch (step.op) {
            case Op::length:
                return queries(span, [&](int64_t query, int64_t first, int64_t end) {
                    to[query] = static_cast<double>(end - first);
                });
            case Op::sum:  // from the top of the list down
                return down(span, 0.0, [&](double sum, int64_t i) { return sum + from[i]; }, done);
            case Op::product:
                return down(span, 1.0, [&](double product, int64_t i) { return product * from[i]; }, done);
            case Op::highest:
                return down(
                    span, -infinity,
                    [&](double best, int64_t i) { return (from[i] > best) | (from[i] != from[i]) ? from[i] : best; },
                    [&](int64_t query, double best) { to[query] = span.holds(query) ? best : 0.0; });
            default:
                return down(
                    span, infinity, [&](double least, int64_t i) { return from[i] < least ? from[i] : least; }, done);
        }
    }

    // Sums over the items of one score, or of all higher ones. Items of one score have the same number above them.
    void by_score(const Step& step, const Span& span) {
        const double *from = read(step.a), *above = read(step.b);
        double* to = write(step.to);
        queries(span, [&](int64_t, int64_t first, int64_t end) {
            double before = 0;
            for (int64_t i = first; i < end;) {
                double sum = from[i];
                int64_t next = i + 1;  // at least one, also where `above` is NaN
                for (; next < end && above[next] == above[i]; ++next) sum += from[next];
                const double made = step.op == Op::higher ? before : sum;
                before += sum;
                std::fill(to + i, to + next, made);
                i = next;
            }
        });
    }

    void across(const Step& step, const Span& span, const Span& other) {
        const double *from = read(step.a), *by = read(step.c);
        double* to = write(step.to);
        const auto nth = [&](int64_t start, int64_t stop, int64_t i) {
            const auto count = static_cast<double>(stop - start);
            const double at = by[i] < count ? by[i] : count;
            to[i] = at >= 1.0 ? from[start + static_cast<int64_t>(at) - 1] : 0.0;
        };
        int64_t start = 0;
        if (step.space == 0) {
            for (int64_t query = 0; query < queries_; ++query) {
                const int64_t stop = other.ends[static_cast<size_t>(query)];
                if (step.op == Op::upto)
                    to[query] = static_cast<double>(no_more(from + start, from + stop, by[query]));
                else
                    nth(start, stop, query);
                start = stop;
            }
            return;
        }
        queries(span, [&](int64_t query, int64_t first, int64_t end) {
            const int64_t stop = other.ends[static_cast<size_t>(query)];
            for (int64_t i = first, next = start; i < end; ++i) {
                if (step.op == Op::at) {
                    nth(start, stop, i);
                    continue;
                }
                while (next < stop && from[next] <= by[i]) ++next;
                to[i] = static_cast<double>(next - start);
            }
            start = stop;
        });
    }

    void elsewhere(const Step& step, const Span& span) {
        const double *own = read(step.a), *places = read(step.c);
        double* to = write(step.to);
        const std::span<const double> table = data_->tables[static_cast<size_t>(step.b)];
        const auto most = static_cast<double>(table.size() - 1);
        queries(span, [&](int64_t query, int64_t first, int64_t end) {
            const auto behind = static_cast<size_t>(places[query] > 0 ? std::min(places[query], most) : 0.0) + 1;
            size_t place = 1;
            double sum = 0;
            for (int64_t i = first; i <= end; ++i) {
                const bool held = i < end && own[i] < static_cast<double>(behind);
                if (held && !(own[i] >= static_cast<double>(place))) continue;
                const size_t stop = held ? static_cast<size_t>(own[i]) : behind;
                for (; place < stop; ++place) sum += table[place];
                place += held;
            }
            to[query] = sum;
        });
    }

    // How many of some values, which only grow, are no more than a limit.
    static int64_t no_more(const double* from, const double* end, double limit) {
        constexpr int64_t few = 64;  // they are looked at all at once
        if (end - from > few) return std::upper_bound(from, end, limit) - from;
        int64_t count = 0;
        for (; from < end; ++from) count += *from <= limit;
        return count;
    }

    void refuse(const Step& step, const Span& span, int64_t count) {
        Refusal& refusal = (*refusals_)[static_cast<size_t>(step.b)];
        if (refusal.query >= 0) return;
        const double* holds = read(step.a);
        int64_t at = 0;
        while (at < count && holds[at] == 0.0) ++at;
        if (at == count) return;
        const auto end = std::upper_bound(span.ends.begin(), span.ends.end(), at);
        refusal.query = first_ + (step.space ? end - span.ends.begin() : at);
        if (const double* value = read(step.c)) refusal.value = value[at];
    }

    const Program& program_;
    const Data* data_ = nullptr;
    Answers* answers_ = nullptr;
    std::vector<Refusal>* refusals_ = nullptr;
    int64_t first_ = 0, queries_ = 0, room_ = 0;
    std::vector<const double*> at_;  // where each register's values are: in its buffer, or in place
    std::vector<double> buffers_;
    std::vector<Span> spans_;
};

namespace {

constexpr int64_t stretch = 128;

double total_of(const double* values, const double* keep, int64_t count) {
    if (count > stretch) {
        const int64_t half = count / 2 / stretch * stretch + (count / 2 < stretch ? stretch : 0);
        return total_of(values, keep, half) + total_of(values + half, keep ? keep + half : nullptr, count - half);
    }
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
        if (!keep || keep[i] != 0.0) sum += values[i];
    return sum;
}

}  // namespace

Op op_named(std::string_view name) {
    for (const auto& [known, op] : names)
        if (name == known) return op;
    throw std::invalid_argument("unknown step '" + std::string(name) + "'");
}

void Program::check() const {
    const auto within = [](int at, int64_t end) { return at >= 0 && at < end; };
    const auto demand = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("a step of the program names no ") + what);
    };
    for (size_t space = 1; space < spaces.size(); ++space) demand(within(spaces[space].offsets, columns), "column");
    for (int constant : constants) demand(within(constant, registers), "register");
    const auto optional = [&](int at) { demand(at == -1 || within(at, registers), "register"); };
    for (const Step& step : steps) {
        demand(within(step.space, std::ssize(spaces)), "list");
        switch (step.op) {
            case Op::column:
                demand(within(step.a, columns) && (step.b == -1 || within(step.b, columns)), "column");
                break;
            case Op::nth:
                break;
            case Op::table:
                demand(within(step.b, tables), "table"), demand(within(step.a, registers), "register");
                break;
            case Op::length:
                demand(within(step.b, std::ssize(spaces)), "list");
                break;
            case Op::sum:
            case Op::highest:
            case Op::lowest:
            case Op::product:
                demand(within(step.b, std::ssize(spaces)), "list"), demand(within(step.a, registers), "register");
                break;
            case Op::elsewhere:
                demand(step.space > 0, "list"), demand(within(step.b, tables), "table");
                demand(within(step.a, registers) && within(step.c, registers), "register");
                break;
            case Op::at:
            case Op::upto:
                demand(step.b > 0 && within(step.b, std::ssize(spaces)), "list");
                demand(within(step.a, registers) && within(step.c, registers), "register");
                break;
            case Op::refuse:
                demand(within(step.b, faults), "fault"), demand(within(step.a, registers), "register");
                optional(step.c);
                break;
            case Op::answer:
                demand(within(step.b, answers), "answer"), demand(within(step.a, registers), "register");
                break;
            default:
                demand(within(step.a, registers), "register");
                optional(step.b), optional(step.c);
        }
        if (step.op != Op::refuse && step.op != Op::answer) demand(within(step.to, registers), "register");
    }
}

Answers run_program(const Program& program, const Data& data, Team& team) {
    Answers answers;
    answers.queries = data.queries;
    for (int i = 0; i < program.answers; ++i) answers.values.emplace_back(std::max<int64_t>(data.queries, 1));
    answers.refusals.resize(static_cast<size_t>(program.faults));
    // Pieces of about as many items each.
    std::vector<int64_t> pieces{0};
    int64_t work = 0, all = 0;
    for (int64_t query = 0; query < data.queries; ++query) {
        int64_t items = 1;
        for (size_t space = 1; space < program.spaces.size(); ++space) {
            const auto* starts =
                static_cast<const int64_t*>(data.columns[static_cast<size_t>(program.spaces[space].offsets)].values);
            items += std::min(program.spaces[space].most, starts[query + 1] - starts[query]);
        }
        all += items;
        if ((work += items) >= Team::few_rows) pieces.push_back(query + 1), work = 0;
    }
    if (pieces.back() != data.queries) pieces.push_back(data.queries);
    std::mutex mutex;
    std::vector<std::unique_ptr<Machine>> idle;  // with buffers that are filled already
    team.each(std::ssize(pieces) - 1, all, [&](int64_t piece) {
        const auto at = static_cast<size_t>(piece);
        std::unique_ptr<Machine> machine;
        {
            const std::lock_guard lock(mutex);
            if (!idle.empty()) machine = std::move(idle.back()), idle.pop_back();
        }
        if (!machine) machine = std::make_unique<Machine>(program);
        std::vector<Refusal> refusals;
        machine->run(data, pieces[at], pieces[at + 1], answers, refusals);
        const std::lock_guard lock(mutex);
        idle.push_back(std::move(machine));
        for (size_t fault = 0; fault < answers.refusals.size(); ++fault) {
            const Refusal& found = refusals[fault];
            Refusal& first = answers.refusals[fault];
            if (found.query >= 0 && (first.query < 0 || found.query < first.query)) first = found;
        }
    });
    return answers;
}

Runner::Runner(Program program) : program_(std::move(program)), machine_(std::make_unique<Machine>(program_)) {
    answers_.values.resize(static_cast<size_t>(program_.answers));
}
Runner::~Runner() = default;

const Answers& Runner::run(const Data& data) {
    answers_.queries = data.queries;
    for (Array<double>& values : answers_.values) values.grow(data.queries);
    machine_->run(data, 0, data.queries, answers_, answers_.refusals);
    return answers_;
}

double total(const double* values, const double* keep, int64_t count) { return total_of(values, keep, count); }

}  // namespace rankstone
