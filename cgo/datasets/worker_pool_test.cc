#include "worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace millrace {
namespace {

TEST(WorkerPool, CallsTheTaskOnceWithEachNumber) {
  for (int threads = -1; threads <= 4; ++threads) {
    WorkerPool workers(threads);
    for (size_t n = 0; n < 200; ++n) {
      std::vector<int> calls(n);  // no lock: each task has its own
      workers.Run(n, [&](size_t i) { ++calls[i]; });
      ASSERT_EQ(calls, std::vector<int>(n, 1)) << threads << " threads";
    }
  }
}

TEST(WorkerPool, ReturnsAfterTheLastTask) {
  WorkerPool workers(4);
  std::vector<int64_t> squares(1000);
  for (int round = 0; round < 200; ++round) {
    workers.Run(squares.size(), [&](size_t i) {
      squares[i] = static_cast<int64_t>(i * i) + round;
    });
    // This is read without a lock: a race if a task were still running.
    const int64_t sum =
        std::accumulate(squares.begin(), squares.end(), int64_t{0});
    ASSERT_EQ(sum, int64_t{332833500} + 1000 * round);
  }
}

TEST(WorkerPool, WorksOnTheCallersThreadAlone) {
  WorkerPool workers(1);
  std::set<std::thread::id> seen;
  workers.Run(50, [&](size_t) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen, std::set<std::thread::id>{std::this_thread::get_id()});
}

// Two tasks that wait for each other end only if two threads run them.
TEST(WorkerPool, RunsTasksSideBySide) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  WorkerPool workers(2);
  std::mutex mu;
  std::condition_variable met;
  int here = 0;
  std::set<std::thread::id> seen;
  workers.Run(2, [&](size_t) {
    std::unique_lock<std::mutex> lock(mu);
    seen.insert(std::this_thread::get_id());
    ++here;
    met.notify_all();
    met.wait(lock, [&] { return here == 2; });
  });
  EXPECT_EQ(seen.size(), 2u);
}

// Pools can be destroyed while their workers wait, work or wake up.
TEST(WorkerPool, EndsInEveryState) {
  std::atomic<int> calls{0};
  for (int round = 0; round < 300; ++round) {
    auto workers = std::make_unique<WorkerPool>(3);
    if (round % 3 > 0) workers->Run(round % 7, [&](size_t) { ++calls; });
    workers.reset();
  }
  int want = 0;
  for (int round = 0; round < 300; ++round) {
    if (round % 3 > 0) want += round % 7;
  }
  EXPECT_EQ(calls, want);
}

TEST(WorkerPool, ServesManyCallersEachWithAPoolOfItsOwn) {
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4);
  for (size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&sums, c] {
      WorkerPool workers(3);
      std::atomic<int64_t> sum{0};
      for (int round = 0; round < 100; ++round) {
        workers.Run(20, [&](size_t i) { sum += static_cast<int64_t>(i); });
      }
      sums[c] = sum;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 100 * 190));
}

}  // namespace
}  // namespace millrace
