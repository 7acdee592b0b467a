// A hash table of one query's items, made to be filled and forgotten a hundred thousand times in a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "memory.hpp"

namespace rankstone {

__extension__ typedef unsigned __int128 uint128;

inline uint64_t mix(uint64_t a, uint64_t b) {
    const uint128 product = static_cast<uint128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

// Drawn anew by each process, so that no input can put all ids into the same slot. It decides where a key lies
// in a table, and nothing that is visible outside.
struct Seed {
    uint64_t tag, text, length;
};
inline const Seed seed = [] {
    std::random_device device;
    const auto draw = [&] { return uint64_t{device()} << 32 | device(); };
    return Seed{draw(), draw(), draw()};
}();

// A tag's bits, mixed: each one of the answer depends on all of the tag's.
inline uint64_t spread(uint64_t tag, uint64_t with = seed.tag) { return mix(tag ^ with, 0x9E3779B97F4A7C15u); }

// Maps keys to small numbers. A key is known by its 64-bit tag (the integer itself, or a hash); where different keys
// can have the same tag, `same(number)` decides.
class Table {
public:
    struct Slot {
        uint64_t tag;
        int64_t number;  // on top of `base`
    };

    // What a look-up needs. A loop keeps its own copy, so that the compiler can keep it in registers.
    struct View {
        Slot* slots = nullptr;
        uint64_t size = 0;
        int64_t base = 1;  // numbers below it are forgotten
        uint64_t with = seed.tag;

        // Finds the key, or adds it with this number. `number` of the slot shows which it was.
        template <class Same>
        Slot& find_or_add(uint64_t tag, int64_t number, Same same) const {
            Slot& slot = probe(tag, same);
            if (slot.number < base) slot = {tag, base + number};
            return slot;
        }

        // The key's number, or -1.
        template <class Same>
        int64_t find(uint64_t tag, Same same) const {
            return std::max<int64_t>(number(probe(tag, same)), -1);
        }

        int64_t number(const Slot& slot) const { return slot.number - base; }
        void renumber(Slot& slot, int64_t number) const { slot.number = base + number; }

        // Inline, or GCC takes a function that does nothing else for one that does nothing.
        [[gnu::always_inline]] void prefetch(uint64_t tag) const { __builtin_prefetch(home(tag), 1); }
        bool beyond_cache() const { return size > (1 << 12); }

        // The key's slot, or the free one where it belongs.
        template <class Same>
        Slot& probe(uint64_t tag, Same same) const {
            return probe(home(tag), tag, same);
        }
        template <class Same>
        Slot& probe(Slot* slot, uint64_t tag, Same same) const {
            while (slot->number >= base && !(slot->tag == tag && same(slot->number - base)))
                if (++slot == slots + size) slot = slots;
            return *slot;
        }

        // Where a key's search starts.
        Slot* home(uint64_t tag) const {
            return slots + static_cast<uint64_t>((static_cast<uint128>(spread(tag, with)) * size) >> 64);
        }
    };

    // Forgets everything and makes room for `count` keys, numbered below `count`.
    const View& start(int64_t count) {
        view_.base += used_;
        used_ = count;
        // Collisions cost most where memory costs least: three quarters empty in the first cache, half empty in the
        // second, a quarter empty beyond. A small query uses only the front of a large table, which stays in the cache.
        const int64_t size = count < (1 << 9) ? 4 * count + 4 : count < (1 << 16) ? 2 * count : count + count / 3;
        if (size > room_) {
            room_ = size < (1 << 17) ? 2 * size : size;  // so that growing is rare
            slots_.reset();
            slots_ = make_zeros<Slot>(room_);
            view_ = {slots_.get(), 0, 1};
        }
        view_.size = static_cast<uint64_t>(size);
        return view_;
    }

    // Makes room for `count` keys and keeps those that are there.
    const View& grow(int64_t count) {
        const std::unique_ptr<Slot[], Free> old = std::move(slots_);
        const View before = view_;
        room_ = 0;
        start(count);
        for (const Slot* slot = before.slots; slot != before.slots + before.size; ++slot)
            if (slot->number >= before.base)
                view_.probe(slot->tag, [](int64_t) { return false; }) = {slot->tag, before.number(*slot) + view_.base};
        return view_;
    }

    const View& view() const { return view_; }

private:
    std::unique_ptr<Slot[], Free> slots_;
    View view_;
    int64_t room_ = 0, used_ = 0;
};

}  // namespace rankstone
