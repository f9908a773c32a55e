// Threads that share out the parts of one piece of work.
#ifndef MILLRACE_CGO_DATASETS_TEAM_H_
#define MILLRACE_CGO_DATASETS_TEAM_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace {

// Team runs tasks on a few threads, the caller's among them. The others are
// started when they are first of use and end with the team. One thread calls
// it.
class Team {
 public:
  // `threads` counts the caller's; more than the processor has are not used.
  explicit Team(int64_t threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Run calls a task with every number below n, in any order, and returns when
  // all calls have. The caller's thread takes part at once: one that is late
  // holds nobody up. A task throws nothing.
  void Run(size_t n, const std::function<void(size_t)>& task);

 private:
  void Start(size_t threads);
  void Help();
  void Work(const std::function<void(size_t)>& task, size_t n);

  const size_t most_;  // threads to start
  std::vector<std::thread> threads_;
  std::atomic<size_t> next_{0};  // task
  std::mutex mu_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  // Guarded by mu_:
  const std::function<void(size_t)>* task_ = nullptr;
  size_t tasks_ = 0;
  size_t wanted_ = 0;  // threads that have not yet come to the tasks
  size_t working_ = 0;
  bool ending_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_TEAM_H_
