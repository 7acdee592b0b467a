// Large arrays, made so that memory which is never written is never paid for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace rankstone {

// Asks for large pages, as NumPy does: the first touch of each small page costs more than what we write there.
inline void use_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
    constexpr size_t page = 1 << 21;
    const auto first = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
    const auto last = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// A growing array that can give its memory away. Room that is never written costs no memory, so a generous bound is
// free.
template <class T>
class Array {
public:
    Array() = default;
    explicit Array(int64_t size) { reserve(size); }
    Array(Array&& other) noexcept : data_(std::exchange(other.data_, nullptr)), room_(std::exchange(other.room_, 0)) {}
    Array& operator=(Array&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(room_, other.room_);
        return *this;
    }
    ~Array() { std::free(data_); }

    void reserve(int64_t size) {
        if (size > room_) resize(size);
    }
    void grow(int64_t size) {
        if (size > room_) resize(std::max(size, 2 * room_));
    }
    void resize(int64_t size) {
        const auto bytes = static_cast<size_t>(std::max<int64_t>(size, 1)) * sizeof(T);
        void* moved = std::realloc(data_, bytes);
        if (!moved) throw std::bad_alloc();
        if (size > room_) use_large_pages(moved, bytes);
        data_ = static_cast<T*>(moved);
        room_ = size;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](int64_t i) { return data_[i]; }
    T* release() {
        room_ = 0;
        return std::exchange(data_, nullptr);
    }

private:
    T* data_ = nullptr;
    int64_t room_ = 0;
};

struct Free {
    void operator()(void* data) const { std::free(data); }
};

// Zeros, which the system provides as they are touched.
template <class T>
std::unique_ptr<T[], Free> make_zeros(int64_t size) {
    const auto count = static_cast<size_t>(std::max<int64_t>(size, 1));
    void* data = std::calloc(count, sizeof(T));
    if (!data) throw std::bad_alloc();
    use_large_pages(data, count * sizeof(T));
    return std::unique_ptr<T[], Free>(static_cast<T*>(data));
}

}  // namespace rankstone
