#include "worker_pool.h"

#include <algorithm>
#include <system_error>

namespace millrace {

WorkerPool::WorkerPool(int64_t threads)
    : max_workers_(
          static_cast<size_t>(std::clamp<int64_t>(
              threads, 1,
              std::max<int64_t>(std::thread::hardware_concurrency(), 1))) -
          1) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Start starts workers until there are as many as requested. If the system
// refuses a thread, the pool works with fewer: the result is the same.
void WorkerPool::Start(size_t workers) {
  workers = std::min(workers, max_workers_);
  try {
    while (workers_.size() < workers) {
      workers_.emplace_back(&WorkerPool::WorkerLoop, this);
    }
  } catch (const std::system_error&) {
  }
}

void WorkerPool::TakeTasks(const std::function<void(size_t)>& task, size_t n) {
  for (size_t i; (i = next_.fetch_add(1)) < n;) task(i);
}

void WorkerPool::WorkerLoop() {
  std::unique_lock<std::mutex> lock(mu_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || pending_wakeups_ > 0; });
    if (closing_) return;
    --pending_wakeups_;
    ++working_;
    const auto* task = task_;
    const size_t n = tasks_;
    lock.unlock();
    TakeTasks(*task, n);
    lock.lock();
    if (--working_ == 0) idle_.notify_one();
  }
}

void WorkerPool::Run(size_t n, const std::function<void(size_t)>& task) {
  if (n > 1) Start(n - 1);
  next_ = 0;
  if (n < 2 || workers_.empty()) return TakeTasks(task, n);
  const size_t wakeups = std::min(workers_.size(), n - 1);
  {
    const std::lock_guard<std::mutex> lock(mu_);
    task_ = &task;
    tasks_ = n;
    pending_wakeups_ = wakeups;
  }
  for (size_t i = 0; i < wakeups; ++i) wake_.notify_one();
  TakeTasks(task, n);
  std::unique_lock<std::mutex> lock(mu_);
  pending_wakeups_ = 0;
  idle_.wait(lock, [&] { return working_ == 0; });
}

}  // namespace millrace
