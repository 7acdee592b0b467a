// Arguments: options, and columns where they lie, in NumPy's memory or Arrow's.
#include <limits>

#include "arrow.hpp"
#include "bind.hpp"

namespace rankstone {
namespace {

template <class Choice, size_t count>
Choice choose(const char* what, const char* value, const std::pair<const char*, Choice> (&choices)[count]) {
    for (const auto& [name, choice] : choices)
        if (std::string_view(value) == name) return choice;
    std::string known;
    for (const auto& [name, choice] : choices) known += (known.empty() ? "" : ", ") + std::string(name);
    value_error(std::string("unknown ") + what + " '" + value + "'; choose one of: " + known);
}

// An array by Arrow's protocol, as long as the pair lives.
struct Arrow {
    Arrow(nb::handle object, const char* name) : pair(object.attr("__arrow_c_array__")()) {
        const nb::object schemas = pair[0], arrays = pair[1];
        schema = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(schemas.ptr(), "arrow_schema"));
        array = static_cast<const ArrowArray*>(PyCapsule_GetPointer(arrays.ptr(), "arrow_array"));
        if (!schema || !array) throw nb::python_error();
        if (!schema->release || !array->release)
            value_error(std::string(name) + ": this Arrow array was handed over before");
    }

    nb::object pair;
    const ArrowSchema* schema;
    const ArrowArray* array;
};

}  // namespace

int read_threads(nb::handle object) {
    if (!PyIndex_Check(object.ptr()))
        type_error(std::string("threads must be a whole number, not ") + nb::repr(object).c_str());
    const Py_ssize_t threads = PyNumber_AsSsize_t(object.ptr(), nullptr);  // the nearest there is
    if (threads == -1 && PyErr_Occurred()) throw nb::python_error();
    if (threads < 0) value_error("threads must be 0 (all cores) or more");
    return static_cast<int>(std::min<Py_ssize_t>(threads, std::numeric_limits<int>::max()));
}

Options read_options(nb::handle how) {
    const auto choice = [&](const char* name, const auto& choices) {
        const nb::object text = how.attr(name);
        const char* value = PyUnicode_AsUTF8(text.ptr());
        if (!value) throw nb::python_error();
        return choose(name, value, choices);
    };
    const auto flag = [&](const char* name) {
        const nb::object value = how.attr(name);
        const int answer = PyObject_IsTrue(value.ptr());
        if (answer < 0) throw nb::python_error();
        return answer > 0;
    };
    static constexpr std::pair<const char*, Order> orders[] = {{"item_desc", Order::item_desc},
                                                               {"item_asc", Order::item_asc},
                                                               {"input", Order::input},
                                                               {"reverse_input", Order::reverse_input}};
    static constexpr std::pair<const char*, Duplicates> duplicates[] = {{"error", Duplicates::error},
                                                                        {"first", Duplicates::first},
                                                                        {"best", Duplicates::best},
                                                                        {"count", Duplicates::count},
                                                                        {"once", Duplicates::once}};
    static constexpr std::pair<const char*, TruthDuplicates> truth_duplicates[] = {
        {"error", TruthDuplicates::error},
        {"first", TruthDuplicates::first},
        {"count", TruthDuplicates::count},
        {"distinct", TruthDuplicates::distinct},
        {"max", TruthDuplicates::max}};
    return {.order = choice("order", orders),
            .duplicates = choice("duplicates", duplicates),
            .truth_duplicates = choice("truth_duplicates", truth_duplicates),
            .float32 = flag("float32"),
            .zeros = flag("keep_zero_grades"),
            .extra_queries = flag("extra_queries"),
            .threads = read_threads(how.attr("threads"))};
}

Type numpy_kind(PyArrayObject* array, const char* name) {
    const char kind = PyArray_DESCR(array)->kind;
    const auto size = PyArray_ITEMSIZE(array);
    const auto power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    if (kind == 'b') return Type::bytes;
    if (kind == 'i') return static_cast<Type>(static_cast<int>(Type::int8) + power);
    if (kind == 'u') return static_cast<Type>(static_cast<int>(Type::uint8) + power);
    if (kind == 'f' && size == 4) return Type::float32;
    if (kind == 'f' && size == 8) return Type::float64;
    type_error(std::string(name) + ": NumPy type " +
               nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))).c_str() + " is not supported");
}

PyArrayObject* Inputs::contiguous(nb::handle object) {
    keep_.push_back(checked(PyArray_FROM_OF(object.ptr(), NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED)));
    return as_array(keep_.back());
}

Column Inputs::column(nb::handle object, const char* name) {
    if (PyArray_Check(object.ptr())) {
        if (PyArray_NDIM(as_array(object)) != 1) value_error(std::string(name) + ": must have one dimension");
        PyArrayObject* array = contiguous(object);
        Column column;
        column.name = name;
        column.length = PyArray_DIM(array, 0);
        if (column.length == 0) return column;
        column.type = numpy_kind(array, name);
        column.values = PyArray_DATA(array);
        return column;
    }
    if (std::optional<Column> strings = strings_column(object, name)) return *strings;
    if (!nb::hasattr(object, "__arrow_c_array__"))
        type_error(std::string(name) + ": not a NumPy array or an Arrow array, but " +
                   nb::type_name(object.type()).c_str());
    const Arrow arrow(object, name);
    keep_.push_back(arrow.pair);
    return read_arrow(*arrow.schema, *arrow.array, name);
}

int64_t bind_invalid_row(nb::handle object) {
    const Arrow arrow(object, "column");
    const nb::gil_scoped_release no_gil;
    return invalid_row(*arrow.schema, *arrow.array);
}

Column Inputs::ids(nb::handle object, const char* name) {
    Column result = column(object, name);
    check_ids(result);
    return result;
}

std::optional<Column> Inputs::numbers(nb::handle object, const char* name) {
    if (object.is_none()) return std::nullopt;
    Column result = column(object, name);
    check_numbers(result);
    return result;
}

std::vector<int64_t> Inputs::indices(nb::handle object, const char* name) {
    const Column column = ids(object, name);
    if (column.is_text()) type_error(std::string(name) + " must be integers");
    std::vector<int64_t> indices(static_cast<size_t>(column.length));
    IntKeys::with_values(column, [&](auto get) {
        for (int64_t i = 0; i < column.length; ++i) indices[static_cast<size_t>(i)] = get(i);
    });
    return indices;
}

void check_lengths(const Column& items, const Column& other) {
    if (items.length != other.length)
        value_error(std::string(items.name) + " and " + other.name +
                    " differ in length: " + std::to_string(items.length) + " and " + std::to_string(other.length));
}

Rows read_rows(Inputs& inputs, const SideNames& names, nb::handle query, nb::handle item, nb::handle value) {
    Rows rows{inputs.ids(query, names.queries), inputs.ids(item, names.items), inputs.numbers(value, names.values)};
    check_lengths(rows.queries, rows.items);
    if (rows.values) check_lengths(rows.items, *rows.values);
    return rows;
}

Lists read_lists(Inputs& inputs, const SideNames& names, nb::handle offsets, nb::handle items, nb::handle values) {
    Lists lists{inputs.indices(offsets, names.offsets), inputs.ids(items, names.items),
                inputs.numbers(values, names.values)};
    if (lists.values) check_lengths(lists.items, *lists.values);
    return lists;
}

}  // namespace rankstone
