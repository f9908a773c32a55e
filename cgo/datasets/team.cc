#include "team.h"

#include <algorithm>
#include <system_error>

namespace millrace {

Team::Team(int64_t threads)
    : most_(static_cast<size_t>(std::clamp<int64_t>(
                threads, 1,
                std::max<int64_t>(std::thread::hardware_concurrency(), 1))) -
            1) {}

Team::~Team() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Start starts threads that are not there yet. Without them everything takes
// longer and comes to the same.
void Team::Start(size_t threads) {
  threads = std::min(threads, most_);
  try {
    while (threads_.size() < threads) {
      threads_.emplace_back(&Team::Help, this);
    }
  } catch (const std::system_error&) {
  }
}

void Team::Work(const std::function<void(size_t)>& task, size_t n) {
  for (size_t i; (i = next_.fetch_add(1)) < n;) task(i);
}

void Team::Help() {
  std::unique_lock<std::mutex> lock(mu_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_ || wanted_ > 0; });
    if (ending_) return;
    --wanted_;
    ++working_;
    const auto* task = task_;
    const size_t n = tasks_;
    lock.unlock();
    Work(*task, n);
    lock.lock();
    if (--working_ == 0) idle_.notify_one();
  }
}

void Team::Run(size_t n, const std::function<void(size_t)>& task) {
  if (n > 1) Start(n - 1);
  next_ = 0;
  if (n < 2 || threads_.empty()) return Work(task, n);
  const size_t wanted = std::min(threads_.size(), n - 1);
  {
    const std::lock_guard<std::mutex> lock(mu_);
    task_ = &task;
    tasks_ = n;
    wanted_ = wanted;
  }
  for (size_t i = 0; i < wanted; ++i) wake_.notify_one();
  Work(task, n);
  std::unique_lock<std::mutex> lock(mu_);
  wanted_ = 0;  // who comes now is too late
  idle_.wait(lock, [&] { return working_ == 0; });
}

}  // namespace millrace
