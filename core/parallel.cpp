#include "parallel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace rankstone {

Team::Team(int threads, std::function<bool()> interrupted)
    : threads_(threads ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
      interrupted_(std::move(interrupted)) {}

void Team::each(int64_t tasks, int64_t rows, const std::function<void(int64_t)>& work) {
    if (rows <= few_rows) {
        for (int64_t task = 0; task < tasks; ++task) work(task);
        return;
    }

    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    int64_t failed = tasks;
    std::exception_ptr failure;
    int working = 0;

    const auto labour = [&] {
        for (int64_t task; (task = next.fetch_add(1)) < tasks;) {
            try {
                check();
                work(task);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (task < failed) failed = task, failure = std::current_exception();
                next = tasks;  // lower tasks are already under way, and finish
            }
        }
        const std::lock_guard lock(mutex);
        --working;
        finished.notify_one();
    };

    std::vector<std::thread> threads;
    const auto wanted = static_cast<int>(std::min<int64_t>(threads_, tasks));
    for (int i = 0; i < wanted; ++i) {
        const std::lock_guard lock(mutex);
        try {
            threads.emplace_back(labour);
            ++working;
        } catch (const std::system_error&) {  // the system has no more threads to give
            break;
        }
    }
    if (threads.empty()) {
        working = 1;
        labour();
    }
    {
        std::unique_lock lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return working == 0; })) {
            lock.unlock();
            if (interrupted_()) stop_ = true;
            lock.lock();
        }
    }
    for (std::thread& thread : threads) thread.join();
    check();
    if (failure) std::rethrow_exception(failure);
}

void Team::each_piece(int64_t rows, const std::function<void(int64_t, int64_t)>& work) {
    const int64_t pieces = std::max<int64_t>(1, std::min<int64_t>(rows / few_rows, 8 * threads_));
    each(pieces, rows, [&](int64_t piece) { work(rows * piece / pieces, rows * (piece + 1) / pieces); });
}

}  // namespace rankstone
