// Large arrays, made so that memory which is never written is never paid for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace rankstone {

#ifdef __linux__
// Says something of the large pages that lie within.
inline void advise_large_pages(void* data, size_t bytes, int advice) {
    constexpr size_t page = 1 << 21;
    const auto first = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
    const auto last = (reinterpret_cast<uintptr_t>(data) + bytes) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, advice);
}
#endif

// Asks for large pages, as NumPy does: the first touch of each small page costs more than what we write there.
inline void use_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
    advise_large_pages(data, bytes, MADV_HUGEPAGE);
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

// Large blocks that a call is done with, for the next one: a page that is new to the process is cleared first, which
// takes longer than all that is done with it here. The system may take them meanwhile. Who finds them locked does
// without.
class Spare {
public:
    struct Block {
        void* data = nullptr;
        size_t bytes = 0;
    };

    static Block take(size_t bytes) {
        if (const std::unique_lock lock(mutex(), std::try_to_lock); lock)
            for (auto at = blocks().begin(); at != blocks().end(); ++at)
                if (at->bytes >= bytes && at->bytes / 2 <= bytes) {
                    const Block found = *at;
                    blocks().erase(at);
                    return found;
                }
        void* data = std::malloc(std::max<size_t>(bytes, 1));
        if (!data) throw std::bad_alloc();
        use_large_pages(data, bytes);
        return {data, bytes};
    }

    static void give(Block block) noexcept {
#ifdef __linux__
        if (block.bytes >= least && block.bytes <= most)
            if (const std::unique_lock lock(mutex(), std::try_to_lock); lock) return keep(block);
#endif
        std::free(block.data);
    }

private:
    static constexpr size_t least = 1 << 23, most = 1 << 29;  // bytes; all of them together are no more, either
    static constexpr size_t many = 8;

#ifdef __linux__
    static void keep(Block block) noexcept {
        size_t all = block.bytes;
        for (const Block& other : blocks()) all += other.bytes;
        while (!blocks().empty() && (all > most || blocks().size() == many)) {  // the oldest goes first
            all -= blocks().front().bytes;
            std::free(blocks().front().data);
            blocks().erase(blocks().begin());
        }
        advise_large_pages(block.data, block.bytes, MADV_FREE);
        blocks().push_back(block);
    }
#endif

    // They stay until the process ends, as threads may still be at work when it does.
    static std::mutex& mutex() {
        static auto* const made = new std::mutex;
        return *made;
    }
    static std::vector<Block>& blocks() {
        static auto* const made = [] {
            auto* all = new std::vector<Block>;
            all->reserve(many);
            return all;
        }();
        return *made;
    }
};

// An array for the time of a call.
template <class T>
class Scratch {
public:
    Scratch() = default;
    explicit Scratch(int64_t size) : block_(Spare::take(static_cast<size_t>(size) * sizeof(T))) {}
    Scratch(Scratch&& other) noexcept : block_(std::exchange(other.block_, {})) {}
    Scratch& operator=(Scratch&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Scratch() { Spare::give(block_); }

    T* data() { return static_cast<T*>(block_.data); }
    const T* data() const { return static_cast<const T*>(block_.data); }
    T& operator[](int64_t i) { return data()[i]; }

private:
    Spare::Block block_;
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
