// Walks the dicts where they are: no score object is made, no string is copied. Ids and numbers may be any Python
// object, so their own __eq__, __hash__, __lt__, __float__, __repr__ and __del__ may run here, and may change the very
// dicts being walked. Hence every object is held by a reference before such code can run, nothing is read twice as if
// it were the same, and a dict that changed is an error.
#include "dicts.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "error.hpp"
#include "table.hpp"

namespace rankstone {
namespace {

// An owned reference.
class Ref {
public:
    explicit Ref(PyObject* owned) : object_(owned) {
        if (!owned) throw PythonError();
    }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ~Ref() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }

private:
    PyObject* object_;
};

Ref borrow(PyObject* object) { return Ref(Py_NewRef(object)); }

// Owned references to many objects; what is not there is null.
class Refs {
public:
    ~Refs() { clear(); }
    void push(PyObject* object) { objects_.push_back(Py_XNewRef(object)); }
    void clear() {
        // A __del__ may run on release, so the objects leave the list first.
        while (!objects_.empty()) {
            PyObject* last = objects_.back();
            objects_.pop_back();
            Py_XDECREF(last);
        }
    }
    PyObject* operator[](int64_t i) const { return objects_[static_cast<size_t>(i)]; }
    int64_t size() const { return static_cast<int64_t>(objects_.size()); }

private:
    std::vector<PyObject*> objects_;
};

[[noreturn]] void fail(const char* error, const char* format, auto... arguments) {
    const Ref type(error_class(error));
    PyErr_Format(type.get(), format, arguments...);
    throw PythonError();
}

enum class Number { ok, not_a_number, inexact };

Number read_int(PyObject* object, double& value) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) {
        value = static_cast<double>(whole);
        constexpr long long exact = 1LL << 53;
        if (whole >= -exact && whole <= exact) return Number::ok;
    } else {
        value = PyLong_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return Number::inexact;
        }
    }
    const Ref back(PyLong_FromDouble(value));
    const int equal = PyObject_RichCompareBool(back.get(), object, Py_EQ);
    if (equal < 0) throw PythonError();
    return equal ? Number::ok : Number::inexact;
}

// Anything that says it is a number, but no string, although float("1") would read one.
Number read_number_slowly(PyObject* object, double& value) {
    if (PyFloat_Check(object)) {
        value = PyFloat_AS_DOUBLE(object);
        return Number::ok;
    }
    if (PyLong_Check(object)) return read_int(object, value);
    const Ref hold_type = borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));  // its own methods can change it
    const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object) || !methods)
        return Number::not_a_number;
    if (methods->nb_index) {
        if (PyObject* whole = PyNumber_Index(object)) return read_int(Ref(whole).get(), value);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
        PyErr_Clear();
    }
    if (!methods->nb_float) return Number::not_a_number;
    value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
        PyErr_Clear();
        return Number::not_a_number;
    }
    return Number::ok;
}

// Copied, as whatever runs next may give the type another name.
std::string type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

bool is_list(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
bool is_text(PyObject* object) { return PyUnicode_CheckExact(object); }

bool same_item(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (is_text(a) && is_text(b)) return PyUnicode_Compare(a, b) == 0;
    const Ref hold_a = borrow(a), hold_b = borrow(b);
    const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0) throw PythonError();
    return equal;
}

bool holds(PyObject* a, PyObject* b, int relation) {
    const int answer = PyObject_RichCompareBool(a, b, relation);
    if (answer < 0 && !PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
    if (answer < 0) PyErr_Clear();
    return answer > 0;
}

// Negative, 0 or positive; nothing where they cannot be compared. The caller holds both.
std::optional<int> compare_ids(PyObject* a, PyObject* b) {
    if (is_text(a) && is_text(b)) return PyUnicode_Compare(a, b);
    if (holds(a, b, Py_LT)) return -1;
    if (holds(a, b, Py_GT)) return 1;
    if (a == b || holds(a, b, Py_EQ)) return 0;
    return std::nullopt;
}

[[noreturn]] void fail_changed(const char* what) { fail("DataError", "%s changed while it was read", what); }

void check_size(PyObject* dict, Py_ssize_t size, const char* what) {
    if (PyDict_GET_SIZE(dict) != size) fail_changed(what);
}

// Calls `use(key, value)` for each entry of a dict, as many as it had at the start: one that loses an entry for each
// that it gets would never end. Both are borrowed.
template <class Use>
void walk(PyObject* dict, const char* what, Use use) {
    const Py_ssize_t size = PyDict_GET_SIZE(dict);
    Py_ssize_t position = 0, seen = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &position, &key, &value)) {
        if (seen++ == size) fail_changed(what);
        use(key, value);
        check_size(dict, size, what);
        if (seen % (1 << 16) == 0 && PyErr_CheckSignals()) throw PythonError();
    }
    if (seen != size) fail_changed(what);
}

class Aligner {
public:
    Aligner(PyObject* truth, PyObject* run, const Options& options)
        : truth_(truth), run_(run), options_(options), queries_(PyList_New(0)), extra_(PyList_New(0)) {}

    DictResult align() {
        output_.reserve_queries(PyDict_GET_SIZE(truth_));
        Py_ssize_t present = 0;
        walk(truth_, "the truth", [&](PyObject* query, PyObject* judged) {
            const Ref hold_query = borrow(query), hold_judged = borrow(judged);
            PyObject* ranked = PyDict_GetItemWithError(run_, query);
            if (!ranked && PyErr_Occurred()) throw PythonError();
            const Ref hold_ranked = borrow(ranked ? ranked : Py_None);
            if (PyList_Append(queries_.get(), query)) throw PythonError();
            present += ranked != nullptr;
            align_query(query, judged, ranked);
        });
        if (present < PyDict_GET_SIZE(run_)) find_extra();
        chunk_.last = at_;
        output_.finish({&chunk_, 1});
        return {queries_.release(), extra_.release(), std::move(output_)};
    }

private:
    // Bad data in the query being aligned. The names in the text may run Python code, so what they name is held.
    [[noreturn]] void fail_data(Where where, const char* format, auto... arguments) {
        where.query = query_;
        const Ref hold_item = borrow(where.item ? where.item : Py_None);
        const Ref text(PyUnicode_FromFormat(format, arguments...));
        set_data_error(text.get(), where);
        throw PythonError();
    }

    void find_extra() {
        walk(run_, "the run", [&](PyObject* query, PyObject* ranked) {
            const Ref hold_query = borrow(query), hold_ranked = borrow(ranked);
            const int known = PyDict_Contains(truth_, query);
            if (known < 0 || (!known && PyList_Append(extra_.get(), query))) throw PythonError();
            if (!known && options_.extra_queries) {
                output_.reserve_queries(at_ + 1);
                align_query(query, nullptr, ranked);
            }
        });
    }

    // `judged` and `ranked` may be null: nothing judged, nothing returned. The caller holds all three.
    void align_query(PyObject* query, PyObject* judged, PyObject* ranked) {
        query_ = query;
        if (judged && !PyDict_Check(judged) && !is_list(judged) && !PyAnySet_Check(judged) && !PyDictKeys_Check(judged))
            fail_data({.kind = "shape", .side = "truth", .is_type_error = true},
                      "query %R: the truth must be a dict {item: grade}, or a list or set of items, not %s", query,
                      type_name(judged).c_str());
        may_repeat_ = judged && is_list(judged);
        // Immutable from here on, unless it is a dict, whose size is watched.
        const Ref hold_judged =
            judged && !PyDict_Check(judged) ? Ref(PySequence_Tuple(judged)) : borrow(judged ? judged : Py_None);
        if (judged) judged = hold_judged.get();
        items_.clear();
        placed_items_.clear();
        keys_.clear();
        all_grades_.clear();
        grades_.clear();
        placements_.clear();
        int64_t retrieved = 0;
        if (ranked) {
            if (PyDict_Check(ranked))
                retrieved = align_scores(judged, ranked);
            else if (is_list(ranked))
                retrieved = align_order(judged, Ref(PySequence_Tuple(ranked)).get());
            else
                fail_data({.kind = "shape", .side = "run", .is_type_error = true},
                          "query %R: the run must be a dict {item: score} or a list of items, not %s", query,
                          type_name(ranked).c_str());
        } else if (judged) {
            read_truth(judged, nullptr, 0);
        }
        output_.reserve_truth(chunk_.truth_rows + static_cast<int64_t>(grades_.size()));
        output_.reserve_placements(chunk_.placements + static_cast<int64_t>(placements_.size()));
        output_.write(chunk_, at_++, ranked != nullptr, retrieved, grades_, placements_);
        check_signals(static_cast<int64_t>(all_grades_.size()) + 10);
    }

    void check_signals(int64_t pairs) {
        if ((since_check_ += pairs) < 100'000) return;
        since_check_ = 0;
        if (PyErr_CheckSignals()) throw PythonError();
    }

    // Calls `use(item, grade or null)` for each row of the truth, whatever its shape.
    template <class Use>
    void walk_truth(PyObject* judged, Use use) {
        if (PyDict_Check(judged)) {
            return walk(judged, "the truth", [&](PyObject* item, PyObject* grade) {
                const Ref hold = borrow(item);
                use(item, grade);
            });
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(judged); ++i) {
            check_signals(1);
            use(PyTuple_GET_ITEM(judged, i), nullptr);
        }
    }

    // Reads the truth's grades. Finds the placements too if the run is a dict: one look-up for each judged item, not
    // each row. Otherwise the items go into the table, which gets room for the rows of the run as well.
    void read_truth(PyObject* judged, PyObject* scores, int64_t table_rows) {
        const bool in_table = may_repeat_ || !scores;
        // Not len(), which a dict of the user's own may answer as it likes.
        const int64_t judged_rows = !judged                ? 0
                                    : PyDict_Check(judged) ? PyDict_GET_SIZE(judged)
                                                           : PyTuple_GET_SIZE(judged);
        if (in_table) table_.start(table_rows + judged_rows);
        if (!judged) return;
        walk_truth(judged, [&](PyObject* item, PyObject* graded) {
            const double grade = graded ? read_number(graded, Value::grade, item) : 1.0;
            const auto place = static_cast<int64_t>(all_grades_.size());
            all_grades_.push_back(grade);
            const bool first = !in_table || add_judged(item, place);
            const bool counts = options_.zeros || grade != 0;
            if (counts && (first || options_.truth_duplicates == TruthDuplicates::count)) grades_.push_back(grade);
            if (!scores || !first || !counts) return;
            PyObject* score = PyDict_GetItemWithError(scores, item);
            if (!score && PyErr_Occurred()) throw PythonError();
            if (!score) return;
            // Not the row, which the look-up does not return; it is searched later if it matters.
            placements_.push_back(
                {placed_items_.size(), place + 1, grade, rounded(read_number(score, Value::score, item))});
            placed_items_.push(item);
        });
    }

    // Puts an item of the truth in the table; false if an equal one is there.
    bool add_judged(PyObject* item, int64_t place) {
        const auto& slot = table_.view().find_or_add(hash(item, "truth"), place,
                                                     [&](int64_t n) { return same_item(items_[n], item); });
        items_.push(item);
        if (table_.view().number(slot) == place) return true;
        if (options_.truth_duplicates == TruthDuplicates::error)
            fail_data({.kind = "twice", .side = "truth", .item = item}, "query %R: item %R appears twice in the truth",
                      query_, item);
        return false;
    }

    uint64_t hash(PyObject* item, const char* side) {
        const Py_hash_t value = PyObject_Hash(item);
        if (value != -1) return static_cast<uint64_t>(value);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
        PyErr_Clear();
        fail_data({.kind = "id", .side = side, .item = item, .is_type_error = true},
                  "query %R: item %R of type %s cannot be hashed", query_, item, type_name(item).c_str());
    }

    enum class Value { grade, score };
    static const char* name(Value what) { return what == Value::grade ? "grade" : "score"; }
    static Where number(Value what, PyObject* item, bool is_type_error = false) {
        return {.kind = "number",
                .side = what == Value::grade ? "truth" : "run",
                .item = item,
                .is_type_error = is_type_error};
    }

    double read_number(PyObject* object, Value what, PyObject* item) {
        if (PyFloat_CheckExact(object)) return check_value(PyFloat_AS_DOUBLE(object), what, item);
        const Ref hold = borrow(object), hold_item = borrow(item);
        double value = 0;
        switch (read_number_slowly(object, value)) {
            case Number::ok:
                break;
            case Number::not_a_number:
                fail_data(number(what, item, true), "query %R, item %R: %s %R is not a number", query_, item,
                          name(what), object);
            case Number::inexact:
                fail_data(number(what, item), "query %R, item %R: %s %R is too large to be exact as a float", query_,
                          item, name(what), object);
        }
        return check_value(value, what, item);
    }

    double check_value(double value, Value what, PyObject* item) {
        if (what == Value::grade ? std::isfinite(value) : value == value) return value;
        const Ref shown(PyFloat_FromDouble(value));
        fail_data(number(what, item), "query %R, item %R: %s is %R", query_, item, name(what), shown.get());
    }

    double rounded(double score) const { return options_.float32 ? static_cast<float>(score) : score; }

    int64_t align_scores(PyObject* judged, PyObject* ranked) {
        const Py_ssize_t rows = PyDict_GET_SIZE(ranked);
        scores_.resize(static_cast<size_t>(rows));
        size_t row = 0;
        walk(ranked, "the run", [&](PyObject* item, PyObject* value) {
            scores_[row++] = rounded(read_number(value, Value::score, item));
            check_signals(1);
        });
        read_truth(judged, ranked, 0);
        check_size(ranked, rows, "the run");
        const bool tied = Ranker::count(scores_.data(), rows, placements_);
        // The look-up has read the score again, and whoever made it may say another number each time.
        for (const Placement& placement : placements_)
            if (placement.tied == 0) fail_changed("the run");
        if (tied) break_ties(ranked);
        ranker_.sort(placements_, rows);
        return rows;
    }

    void break_ties(PyObject* ranked) {
        ranker_.collect_ties(scores_.data(), std::ssize(scores_), placements_);
        find_rows(ranked);
        ranker_.rank_ties(placements_, options_.order,
                          [&](int64_t a, int64_t b) { return compare(keys_[a], keys_[b]); });
        keys_.clear();
    }

    // A look-up does not return the row of the item. Ties need it, so here the tied rows look for the
    // placements.
    void find_rows(PyObject* ranked) {
        is_tied_.assign(scores_.size(), false);
        for (int64_t row : ranker_.tied_rows()) is_tied_[static_cast<size_t>(row)] = true;
        Py_ssize_t position = 0;
        PyObject *item, *value;
        for (size_t row = 0; row < scores_.size() && PyDict_Next(ranked, &position, &item, &value); ++row)
            keys_.push(is_tied_[row] ? item : nullptr);
        if (keys_.size() != std::ssize(scores_)) fail_changed("the run");

        table_.start(std::ssize(placements_));
        for (int64_t i = 0; i < std::ssize(placements_); ++i) {
            Placement& placement = placements_[static_cast<size_t>(i)];
            item = placed_items_[std::exchange(placement.row, -1)];
            if (placement.tied > 1) {
                const auto same = [&](int64_t n) { return same_item(found_items_[n], item); };
                table_.view().find_or_add(hash(item, "truth"), i, same);
            }
            found_items_.push(item);
        }
        for (int64_t row : ranker_.tied_rows()) {
            check_signals(1);
            item = keys_[row];
            const int64_t placement =
                table_.view().find(hash(item, "run"), [&](int64_t n) { return same_item(found_items_[n], item); });
            if (placement >= 0) placements_[static_cast<size_t>(placement)].row = row;
        }
        found_items_.clear();
        for (const Placement& placement : placements_)
            if (placement.tied > 1 &&
                (placement.row < 0 || scores_[static_cast<size_t>(placement.row)] != placement.score))
                fail("DataError", "query %R: the items' __eq__ contradicts itself, or the run changed", query_);
    }

    int compare(PyObject* a, PyObject* b) {
        check_signals(1);
        if (const std::optional<int> answer = compare_ids(a, b)) return *answer;
        fail_data({.kind = "id", .side = "run", .is_type_error = true},
                  "query %R: items %R and %R have the same score and cannot be compared; ties=\"input\" needs no "
                  "comparison",
                  query_, a, b);
    }

    // The run is a list of items, best first: the row is the rank.
    int64_t align_order(PyObject* judged, PyObject* ranked) {
        read_truth(judged, nullptr, PyTuple_GET_SIZE(ranked));
        const auto judged_rows = static_cast<int64_t>(all_grades_.size());
        seen_.assign(all_grades_.size(), 0);
        int64_t dropped = 0;
        for (Py_ssize_t row = 0; row < PyTuple_GET_SIZE(ranked); ++row) {
            check_signals(1);
            PyObject* item = PyTuple_GET_ITEM(ranked, row);
            const auto same = [&](int64_t n) {
                return same_item(n < judged_rows ? items_[n] : PyTuple_GET_ITEM(ranked, n - judged_rows), item);
            };
            const auto& slot = table_.view().find_or_add(hash(item, "run"), judged_rows + row, same);
            const int64_t number = table_.view().number(slot);
            if (number == judged_rows + row) continue;
            const bool is_judged = number < judged_rows;
            bool repeated = !is_judged;
            if (is_judged) {
                repeated = seen_[static_cast<size_t>(number)];
                seen_[static_cast<size_t>(number)] = 1;
            }
            if (repeated) {
                switch (options_.duplicates) {
                    case Duplicates::error:
                        fail_data({.kind = "twice", .side = "run", .item = item},
                                  "query %R: item %R appears twice in the run", query_, item);
                    case Duplicates::first:
                    case Duplicates::best:
                        ++dropped;
                        continue;
                    case Duplicates::once:
                        continue;
                    case Duplicates::count:
                        break;
                }
            }
            if (!is_judged) continue;
            const double grade = all_grades_[static_cast<size_t>(number)];
            if (!options_.zeros && grade == 0) continue;
            const int64_t rank = row + 1 - dropped;
            placements_.push_back(
                {row, number + 1, grade, std::numeric_limits<double>::quiet_NaN(), rank, rank - 1, 1});
        }
        chunk_.dropped += dropped;
        return PyTuple_GET_SIZE(ranked) - dropped;
    }

    PyObject* truth_;
    PyObject* run_;
    const Options& options_;
    Ref queries_, extra_;
    Output output_;
    Chunk chunk_;
    int64_t at_ = 0, since_check_ = 0;

    // Of the query being aligned.
    PyObject* query_ = nullptr;
    std::vector<double> all_grades_, grades_, scores_;
    std::vector<Placement> placements_;
    std::vector<char> seen_, is_tied_;
    Refs items_;                              // of the truth, by place, if the table needs them
    Refs placed_items_, found_items_, keys_;  // of the placements as found and as sorted; of the tied rows
    bool may_repeat_ = false;
    Table table_;
    Ranker ranker_;
};

// Gives equal items of a query one number, in whichever run they are.
class Uniter {
public:
    Uniter(PyObject* names, PyObject* queries, PyObject* contents)
        : names_(PySequence_Tuple(names)), queries_(PySequence_Tuple(queries)), contents_(PySequence_Tuple(contents)) {}

    UnitedResult unite() {
        const Py_ssize_t count = PyTuple_GET_SIZE(queries_.get()), runs = PyTuple_GET_SIZE(contents_.get());
        if (PyTuple_GET_SIZE(names_.get()) != runs) fail("InputError", "there are as many names as runs");
        result_.counts.reserve(count);
        for (Py_ssize_t query = 0; query < count; ++query) {
            base_ = items_.size();
            hold_query(query, runs);
            for (Py_ssize_t run = 0; run < runs; ++run) add(run);
            result_.counts[query] = items_.size() - base_;
            if (query % 64 == 0 && PyErr_CheckSignals()) throw PythonError();
        }
        result_.queries = count;
        Ref list(PyList_New(items_.size()));
        for (int64_t i = 0; i < items_.size(); ++i) PyList_SET_ITEM(list.get(), i, Py_NewRef(items_[i]));
        result_.items = list.release();
        return std::move(result_);
    }

private:
    // The query's contents, and room for all of its rows: dicts are watched, lists are copied.
    void hold_query(Py_ssize_t query, Py_ssize_t runs) {
        query_ = PyTuple_GET_ITEM(queries_.get(), query);
        held_.clear();
        sizes_.clear();
        int64_t rows = 0;
        for (Py_ssize_t run = 0; run < runs; ++run) {
            PyObject* all = PyTuple_GET_ITEM(contents_.get(), run);
            if (!PyList_Check(all) || PyList_GET_SIZE(all) <= query)
                fail("InputTypeError", "a run is a list of contents");
            PyObject* content = PyList_GET_ITEM(all, query);
            if (PyDict_Check(content) || content == Py_None) {
                held_.push(content);
            } else if (is_list(content)) {
                const Ref copy(PySequence_Tuple(content));
                held_.push(copy.get());
            } else {
                fail_data({.kind = "shape", .side = "run", .is_type_error = true}, run,
                          "%U: query %R: the run must be a dict {item: score} or a list of items, not %s", name(run),
                          query_, type_name(content).c_str());
            }
            sizes_.push_back(size(held_[run]));
            rows += sizes_.back();
        }
        table_.start(rows);
        result_.item.grow(result_.rows + rows);
        result_.score.grow(result_.rows + rows);
    }

    static int64_t size(PyObject* content) {
        return content == Py_None ? 0 : PyDict_Check(content) ? PyDict_GET_SIZE(content) : PyTuple_GET_SIZE(content);
    }

    void add(Py_ssize_t run) {
        PyObject* content = held_[run];
        const int64_t rows = sizes_[static_cast<size_t>(run)];
        if (size(content) != rows) fail_changed("the run");
        if (content == Py_None) return;
        if (PyDict_Check(content)) {
            walk(content, "the run", [&](PyObject* item, PyObject* value) {
                const Ref hold = borrow(item);
                const double score = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : read(value, item, run);
                push(item, score, run);
            });
        } else {
            for (int64_t row = 0; row < rows; ++row) {
                push(PyTuple_GET_ITEM(content, row), static_cast<double>(rows - row), run);
                if (row % (1 << 16) == 0 && PyErr_CheckSignals()) throw PythonError();
            }
        }
    }

    void push(PyObject* item, double score, Py_ssize_t run) {
        const Py_hash_t hash = PyObject_Hash(item);
        if (hash == -1) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
            PyErr_Clear();
            fail_data({.kind = "id", .side = "run", .item = item, .is_type_error = true}, run,
                      "%U: query %R: item %R of type %s cannot be hashed", name(run), query_, item,
                      type_name(item).c_str());
        }
        const int64_t next = items_.size() - base_;
        const auto& slot = table_.view().find_or_add(static_cast<uint64_t>(hash), next,
                                                     [&](int64_t n) { return same_item(items_[base_ + n], item); });
        const int64_t number = table_.view().number(slot);
        if (number == next) items_.push(item);
        result_.item[result_.rows] = base_ + number;
        result_.score[result_.rows++] = score;
    }

    double read(PyObject* object, PyObject* item, Py_ssize_t run) {
        const Ref hold = borrow(object);
        double value = 0;
        switch (read_number_slowly(object, value)) {
            case Number::ok:
                return value;
            case Number::not_a_number:
                fail_data({.kind = "number", .side = "run", .item = item, .is_type_error = true}, run,
                          "%U: query %R, item %R: score %R is not a number", name(run), query_, item, object);
            case Number::inexact:
                break;
        }
        fail_data({.kind = "number", .side = "run", .item = item}, run,
                  "%U: query %R, item %R: score %R is too large to be exact as a float", name(run), query_, item,
                  object);
    }

    PyObject* name(Py_ssize_t run) { return PyTuple_GET_ITEM(names_.get(), run); }

    [[noreturn]] void fail_data(Where where, Py_ssize_t run, const char* format, auto... arguments) {
        if (!PyUnicode_Check(name(run))) fail("InputTypeError", "a run's name is text");
        where.query = query_;
        const Ref text(PyUnicode_FromFormat(format, arguments...));
        set_data_error(text.get(), where);
        throw PythonError();
    }

    Ref names_, queries_, contents_;
    UnitedResult result_;
    Refs items_;  // of all queries
    int64_t base_ = 0;

    // Of the query at hand.
    PyObject* query_ = nullptr;
    Refs held_;
    std::vector<int64_t> sizes_;
    Table table_;
};

// Takes a truth by subtopic apart: the highest grade of each item, and its rows.
class Splitter {
public:
    Splitter() : flat_(PyDict_New()), codes_(PyDict_New()) {}

    SpreadResult split(PyObject* truth) {
        bool plain = true;
        walk(truth, "the truth", [&](PyObject* query, PyObject* content) {
            const Ref hold_query = borrow(query), hold_content = borrow(content);
            plain = plain && PyDict_CheckExact(content) && add_query(query, content);
        });
        if (!plain) return {};
        if (!comparable_) place_as_given();
        result_.truth = flat_.release();
        return std::move(result_);
    }

private:
    bool add_query(PyObject* query, PyObject* content) {
        const Ref highest(PyDict_New());
        const int64_t first = result_.items, first_row = row_;
        items_.clear();
        cells_.clear();
        bool plain = true;
        walk(content, "the truth", [&](PyObject* item, PyObject* judged) {
            const Ref hold_item = borrow(item), hold_judged = borrow(judged);
            plain = plain && add_item(item, judged);
            if (plain && PyDict_SetItem(highest.get(), item, Ref(PyFloat_FromDouble(highest_)).get()))
                throw PythonError();
        });
        if (!plain || PyDict_GET_SIZE(highest.get()) != items_.size()) return false;
        if (PyDict_SetItem(flat_.get(), query, highest.get())) throw PythonError();
        spreader_.start(std::ssize(cells_));
        for (const Cell& cell : cells_) spreader_.add(cell.item, cell.code, cell.row);
        if (spreader_.finish() >= 0) return false;
        result_.items += items_.size();
        result_.rows.count = row_;
        result_.order.grow(result_.items);
        result_.rows.ends.grow(result_.items);
        result_.rows.row.grow(row_);
        result_.rows.subtopic.grow(row_);
        spreader_.write(result_.rows, first_row, first, items_.size());
        place(first);
        sizes_.push_back(items_.size());
        if (sizes_.size() % 1024 == 0 && PyErr_CheckSignals()) throw PythonError();
        return true;
    }

    bool add_item(PyObject* item, PyObject* judged) {
        const auto number = items_.size();
        items_.push(item);
        highest_ = 0;
        bool first = true, plain = true;
        const auto add = [&](PyObject* subtopic, double grade) {
            highest_ = first ? grade : std::max(highest_, grade);
            first = false;
            cells_.push_back({number, code_of(subtopic), row_});
            result_.grade.grow(row_ + 1);
            result_.grade[row_++] = grade;
        };
        if (PyDict_CheckExact(judged)) {
            walk(judged, "the truth", [&](PyObject* subtopic, PyObject* graded) {
                const Ref hold = borrow(subtopic);
                double grade = 0;
                plain = plain && (PyFloat_CheckExact(graded) || PyLong_CheckExact(graded));
                plain = plain && read_number_slowly(graded, grade) == Number::ok && std::isfinite(grade);
                if (plain) add(subtopic, grade);
            });
            return plain;
        }
        if (!PyList_CheckExact(judged) && !PyTuple_CheckExact(judged) && !PyAnySet_CheckExact(judged)) return false;
        const Ref listed(PySequence_Tuple(judged));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(listed.get()); ++i) add(PyTuple_GET_ITEM(listed.get(), i), 1.0);
        return true;
    }

    // One number for each subtopic, in the order in which they come.
    int64_t code_of(PyObject* subtopic) {
        if (PyObject* known = PyDict_GetItemWithError(codes_.get(), subtopic)) return PyLong_AsLongLong(known);
        if (PyErr_Occurred()) throw PythonError();
        const Py_ssize_t next = PyDict_GET_SIZE(codes_.get());
        if (PyDict_SetItem(codes_.get(), subtopic, Ref(PyLong_FromSsize_t(next)).get())) throw PythonError();
        return next;
    }

    // The places of a query's items by id, the largest first.
    void place(int64_t first) {
        places_.resize(static_cast<size_t>(items_.size()));
        std::iota(places_.begin(), places_.end(), 0);
        if (comparable_)
            merge_sort(places_, merged_, [&](int64_t a, int64_t b) {
                const std::optional<int> compared = compare_ids(items_[a], items_[b]);
                comparable_ = comparable_ && compared;
                return compared.value_or(0) > 0;
            });
        for (size_t i = 0; i < places_.size(); ++i) result_.order[first + places_[i]] = static_cast<int64_t>(i);
    }

    // Ids of several types have no order but that of the truth.
    void place_as_given() {
        int64_t at = 0;
        for (int64_t size : sizes_)
            for (int64_t i = 0; i < size; ++i) result_.order[at++] = i;
    }

    struct Cell {
        int64_t item, code, row;
    };

    Ref flat_, codes_;
    SpreadResult result_;
    int64_t row_ = 0;
    bool comparable_ = true;
    std::vector<int64_t> sizes_;  // items of each query

    // Of the query at hand.
    Refs items_;
    std::vector<Cell> cells_;
    double highest_ = 0;
    Spreader spreader_;
    std::vector<int64_t> places_, merged_;
};

}  // namespace

std::optional<Plain> plain_side(PyObject* side) {
    if (!PyDict_CheckExact(side)) return std::nullopt;
    const auto is_id = [](PyObject* item) { return is_text(item) || PyLong_CheckExact(item); };
    Plain plain;
    Py_ssize_t position = 0;
    PyObject *query, *content;
    while (PyDict_Next(side, &position, &query, &content)) {
        bool known = true;
        if (PyDict_CheckExact(content)) {
            Py_ssize_t first = 0;
            PyObject *item, *value;
            if (PyDict_Next(content, &first, &item, &value)) known = is_id(item) && PyNumber_Check(value);
            plain.graded = true, plain.ordered = false;
        } else if (PyList_CheckExact(content) || PyTuple_CheckExact(content)) {
            if (PySequence_Fast_GET_SIZE(content)) known = is_id(PySequence_Fast_GET_ITEM(content, 0));
        } else if (PyAnySet_CheckExact(content)) {
            const Ref items(PyObject_GetIter(content));
            PyObject* item = PyIter_Next(items.get());
            if (!item && PyErr_Occurred()) throw PythonError();
            if (item) known = is_id(Ref(item).get());
            plain.ordered = false;
        } else {
            known = false;
        }
        if (!known) return std::nullopt;
    }
    return plain;
}

SpreadResult spread_dicts(PyObject* truth) {
    if (!PyDict_CheckExact(truth)) return {};
    return Splitter().split(truth);
}

UnitedResult unite_dicts(PyObject* names, PyObject* queries, PyObject* contents) {
    return Uniter(names, queries, contents).unite();
}

DictResult align_dicts(PyObject* truth, PyObject* run, const Options& options) {
    if (!PyDict_Check(truth)) fail("InputTypeError", "the truth must be a dict, not %s", Py_TYPE(truth)->tp_name);
    if (!PyDict_Check(run)) fail("InputTypeError", "the run must be a dict, not %s", Py_TYPE(run)->tp_name);
    return Aligner(truth, run, options).align();
}

}  // namespace rankstone
