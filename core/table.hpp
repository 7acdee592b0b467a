// A hash table of one query's items, made to be filled and forgotten a hundred thousand times in a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace rankstone {

__extension__ typedef unsigned __int128 uint128;

inline uint64_t mix(uint64_t a, uint64_t b) {
    const uint128 product = static_cast<uint128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

// Maps keys to small numbers. A key is known by its 64-bit tag (the integer itself, or a hash); where tags can be shared
// by different keys, `same(number)` decides.
class Table {
public:
    // Numbers are stored on top of `base_`, which then moves past them: whatever lies below it is forgotten.
    struct Slot {
        uint64_t tag;
        int64_t number;
    };

    // Forgets everything and makes room for `count` keys, numbered below `count`.
    void start(int64_t count) {
        base_ += used_;
        used_ = count;
        // Half empty while the table fits a cache, and a quarter empty beyond, where memory counts more.
        const int64_t want = count < (1 << 16) ? 2 * count + 2 : count + count / 3;
        if (want > room_) {
            room_ = want < (1 << 17) ? 2 * want : want;  // few queries are the largest so far: grow seldom
            slots_.reset();
            slots_ = std::make_unique<Slot[]>(static_cast<size_t>(room_));
            base_ = 1;
        }
        // A small query uses only the front of a large table, which stays in the cache.
        size_ = static_cast<uint64_t>(want);
    }

    // Makes room for `count` keys and keeps those that are there.
    void grow(int64_t count) {
        const std::unique_ptr<Slot[]> old = std::move(slots_);
        const Slot* end = &old[0] + size_;
        const int64_t base = base_;
        room_ = used_ = 0;
        start(count);
        for (const Slot* slot = &old[0]; slot != end; ++slot)
            if (slot->number >= base)
                *probe(slot->tag, [](int64_t) { return false; }) = {slot->tag, slot->number - base + base_};
    }

    // Finds the key or adds it with this number. Returns its slot: `number(slot)` tells which it was.
    template <class Same>
    Slot& find_or_add(uint64_t tag, int64_t number, Same same) {
        Slot* slot = probe(tag, same);
        if (slot->number < base_) *slot = {tag, base_ + number};
        return *slot;
    }

    // The key's number, or -1.
    template <class Same>
    int64_t find(uint64_t tag, Same same) {
        return std::max<int64_t>(number(*probe(tag, same)), -1);
    }

    int64_t number(const Slot& slot) const { return slot.number - base_; }
    void renumber(Slot& slot, int64_t number) const { slot.number = base_ + number; }

    bool large() const { return size_ > (1 << 13); }
    void prefetch(uint64_t tag) const { __builtin_prefetch(&slots_[home(tag)], 1); }

private:
    uint64_t home(uint64_t tag) const {
        return static_cast<uint64_t>((static_cast<uint128>(mix(tag, 0x9E3779B97F4A7C15u)) * size_) >> 64);
    }

    template <class Same>
    Slot* probe(uint64_t tag, Same same) {
        Slot* slot = &slots_[home(tag)];
        Slot* const end = &slots_[0] + size_;
        while (slot->number >= base_ && !(slot->tag == tag && same(slot->number - base_)))
            if (++slot == end) slot = &slots_[0];
        return slot;
    }

    std::unique_ptr<Slot[]> slots_;
    uint64_t size_ = 0;
    int64_t room_ = 0, base_ = 1, used_ = 0;
};

}  // namespace rankstone
