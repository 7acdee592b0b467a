// Text that the core reads without any NumPy, and the columns of strings that come of it.
#include "text.hpp"

#include "arrow.hpp"
#include "bind.hpp"

namespace rankstone {
namespace {

// A column of strings that the core has read itself, and reads again where it lies. It speaks Arrow, too.
class BoundStrings {
public:
    BoundStrings(Strings&& strings, int64_t rows)
        : strings_(std::make_shared<const Strings>(std::move(strings))), rows_(rows) {}

    int64_t size() const { return rows_; }

    nb::object at(nb::handle self, nb::handle row) const {
        if (PySlice_Check(row.ptr())) return nb::module_::import_("pyarrow").attr("array")(self)[row];
        const std::string_view text = text_at(nb::cast<int64_t>(row));
        return nb::bytes(text.data(), text.size());
    }

    nb::list words(nb::handle rows) const {
        nb::list found;
        for (nb::handle row : rows) {
            const std::string_view text = text_at(nb::cast<int64_t>(row));
            found.append(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict")));
        }
        return found;
    }

    Column column(const char* name) const {
        Column column;
        column.name = name;
        column.length = rows_;
        column.type = strings_->narrow.data() ? Type::utf8 : Type::large_utf8;
        column.values =
            strings_->narrow.data() ? static_cast<const void*>(strings_->narrow.data()) : strings_->wide.data();
        column.text = reinterpret_cast<const char*>(strings_->text.data());
        column.text_size = strings_->bytes;
        if (!strings_->codes.data()) return column;
        if (!dictionary_) {
            Column distinct = column;
            distinct.length = strings_->count;
            dictionary_ = read_dictionary(distinct);
        }
        column.dictionary = dictionary_;
        column.type = Type::int32;
        column.values = strings_->codes.data();
        return column;
    }

    nb::tuple arrow(nb::handle) const {
        struct Held {
            std::shared_ptr<const Strings> strings;
            const void* buffers[3];
        };
        const auto strings =
            strings_->codes.data() ? std::make_shared<const Strings>(spread(*strings_, rows_)) : strings_;
        const bool narrow = strings->narrow.data();
        const void* offsets = narrow ? static_cast<const void*>(strings->narrow.data()) : strings->wide.data();
        auto held = std::make_unique<Held>(Held{strings, {nullptr, offsets, strings->text.data()}});
        auto array = std::make_unique<ArrowArray>();
        array->length = rows_;
        array->n_buffers = 3;
        array->buffers = held->buffers;
        array->private_data = held.release();
        array->release = [](ArrowArray* self) {
            delete static_cast<Held*>(self->private_data);
            self->release = nullptr;
        };
        auto schema = std::make_unique<ArrowSchema>();
        schema->format = narrow ? "u" : "U";
        schema->name = "";
        schema->release = [](ArrowSchema* self) { self->release = nullptr; };
        return nb::make_tuple(capsule(std::move(schema), "arrow_schema"), capsule(std::move(array), "arrow_array"));
    }

private:
    std::string_view text_at(int64_t row) const {
        if (row < 0 || row >= rows_) throw nb::index_error();
        return strings_->of_row(row);
    }
    // Released by its consumer, or else here.
    template <class T>
    static nb::object capsule(std::unique_ptr<T> value, const char* name) {
        const auto end = [](PyObject* self) {
            auto* held = static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
            if (held->release) held->release(held);
            delete held;
        };
        nb::object made = checked(PyCapsule_New(value.get(), name, end));
        value.release();
        return made;
    }

    std::shared_ptr<const Strings> strings_;
    int64_t rows_;
    mutable std::shared_ptr<const Dictionary> dictionary_;  // made when it is first asked for
};

class BoundText {
public:
    BoundText(nb::handle text, const char* fields, bool more, bool comments, bool blanks, bool utf8,
              nb::handle threads) {
        const TrecShape shape{fields, more, comments, blanks, utf8};
        if (shape.fields.empty() || shape.fields.find_first_not_of("iqnw-") != std::string_view::npos)
            value_error("fields: one letter each, i or q (an id), n (a number), w (a whole number) or -");
        struct Buffer {
            Py_buffer view;
            ~Buffer() { PyBuffer_Release(&view); }
        } buffer{};
        TextSource source;
        if (PyTuple_Check(text.ptr())) {
            source.file = nb::cast<int>(text[0]);
            source.start = nb::cast<int64_t>(text[1]);
            source.size = nb::cast<int64_t>(text[2]) - source.start;
            if (source.file < 0 || source.start < 0 || source.size < 0) value_error("no part of a file");
        } else {
            if (PyObject_GetBuffer(text.ptr(), &buffer.view, PyBUF_SIMPLE)) throw nb::python_error();
            source.text = {static_cast<const char*>(buffer.view.buf), static_cast<size_t>(buffer.view.len)};
        }
        try {
            columns_ = without_gil(read_threads(threads), [&](Team& team) { return parse_trec(source, shape, team); });
        } catch (const BadLine& bad) {
            const std::string_view before = source.text.substr(0, static_cast<size_t>(bad.offset));
            line_ = 1 + std::count(before.begin(), before.end(), '\n');
            offset_ = bad.offset;
        }
    }

    BoundText(const BoundText&) = delete;

    // The columns, which are given away; or where the first bad line is: its number, from 1, and its first byte.
    nb::tuple columns() {
        if (line_) return nb::make_tuple(line_, offset_);
        if (std::exchange(handed_over_, true)) value_error("the columns of a text are given away once");
        nb::list ids, numbers;
        for (Strings& strings : columns_.ids) ids.append(nb::cast(BoundStrings(std::move(strings), columns_.rows)));
        for (Array<double>& each : columns_.numbers) numbers.append(to_numpy(each, columns_.rows));
        return nb::make_tuple(std::move(ids), std::move(numbers));
    }

private:
    TrecColumns columns_;
    int64_t line_ = 0, offset_ = 0;
    bool handed_over_ = false;
};

}  // namespace

std::optional<Column> strings_column(nb::handle object, const char* name) {
    if (!nb::isinstance<BoundStrings>(object)) return std::nullopt;
    return nb::cast<const BoundStrings&>(object).column(name);
}

void bind_text(nb::module_& m) {
    nb::class_<BoundText>(m, "Text")
        .def(nb::init<nb::handle, const char*, bool, bool, bool, bool, nb::handle>(), "text"_a, "fields"_a,
             nb::kw_only(), "more"_a = false, "comments"_a = true, "blanks"_a = true, "utf8"_a = true,
             "threads"_a.none() = 0)
        .def("columns", &BoundText::columns);
    nb::class_<BoundStrings>(m, "Strings")
        .def("__len__", &BoundStrings::size)
        .def(
            "__getitem__",
            [](nb::handle self, nb::handle row) { return nb::cast<const BoundStrings&>(self).at(self, row); }, "row"_a)
        .def("words", &BoundStrings::words, "rows"_a)
        .def("__iter__", [](nb::handle self) { return checked(PySeqIter_New(self.ptr())); })
        .def("__reduce__",
             [](nb::handle self) {
                 const nb::object array = nb::module_::import_("pyarrow").attr("array");
                 return nb::make_tuple(array, nb::make_tuple(array(self)));
             })
        .def("__arrow_c_array__", &BoundStrings::arrow, "requested_schema"_a.none() = nb::none());
}

}  // namespace rankstone
