// A pool of threads that share the tasks of one call.
#ifndef MILLRACE_CGO_DATASETS_WORKER_POOL_H_
#define MILLRACE_CGO_DATASETS_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace {

// WorkerPool runs the tasks of one call on the calling thread and on a few
// worker threads. The first call with more than one task starts the workers;
// the destructor joins them. Only one thread may call Run.
//
//   caller    Run ── wake workers ── task 0, 2, 5 ... ── wait until idle ──
//   return worker 1              └───────── task 1, 4 ...    ──┘ worker 2
//   └───────── task 3 ...       ──┘
//
// Tasks are numbers below n. Each thread takes the next number from one atomic
// counter until none is left, so a slow worker delays only the task it holds.
// A worker that wakes up after the last task was taken is not waited for: Run
// withdraws the wakeups that are still pending.
class WorkerPool {
 public:
  // `threads` counts the calling thread. A pool never uses more threads than
  // the machine has processors.
  explicit WorkerPool(int64_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Run calls `task` once with every number below n, in any order and from
  // several threads, and returns when all calls have returned. A task must not
  // throw.
  void Run(size_t n, const std::function<void(size_t)>& task);

 private:
  void Start(size_t workers);
  void WorkerLoop();
  void TakeTasks(const std::function<void(size_t)>& task, size_t n);

  const size_t max_workers_;
  std::vector<std::thread> workers_;
  std::atomic<size_t> next_{0};  // the next task's number
  std::mutex mu_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  // Guarded by mu_:
  const std::function<void(size_t)>* task_ = nullptr;
  size_t tasks_ = 0;
  size_t pending_wakeups_ = 0;  // workers that have yet to join this Run
  size_t working_ = 0;          // workers that have joined and not finished
  bool closing_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_WORKER_POOL_H_
