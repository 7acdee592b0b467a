// Spreads work over threads, while the calling thread stays awake for Ctrl-C.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace rankstone {

// Thrown out of all work when the user has asked to stop.
struct Interrupted {};

class Team {
public:
    // `interrupted` is asked by the calling thread, ten times a second or more. `threads` 0: as many as there are
    // cores.
    Team(int threads, std::function<bool()> interrupted);

    int threads() const { return threads_; }

    // Calls work(task) for every task below `tasks`, in any order; `rows` says how much there is to do in all. If some
    // throw, the exception of the lowest one comes out, so that the same data gives the same error whatever the number
    // of threads.
    void each(int64_t tasks, int64_t rows, const std::function<void(int64_t task)>& work);

    // Cuts rows into even pieces, a few for each thread, and calls work(first, last) for each.
    void each_piece(int64_t rows, const std::function<void(int64_t first, int64_t last)>& work);

    // Long work calls these now and then: the first anywhere, the second on the calling thread. They throw Interrupted.
    void check() const {
        if (stop_.load(std::memory_order_relaxed) | (early_ & ending.load(std::memory_order_relaxed)))
            throw Interrupted();
    }
    void listen() {
        if (interrupted_()) stop_ = true;
        check();
    }

    // Whether the program ends: then what was begun before stops.
    static inline std::atomic<bool> ending{false};

    static constexpr int64_t few_rows = 1 << 15;  // take no longer than starting a thread does

private:
    int threads_;
    std::function<bool()> interrupted_;
    std::atomic<bool> stop_{false};
    const bool early_ = !ending;
};

}  // namespace rankstone
