// Pieces of a long read, made ahead by several threads, in their order.
#ifndef MILLRACE_CGO_DATASETS_READ_AHEAD_H_
#define MILLRACE_CGO_DATASETS_READ_AHEAD_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace {

// ReadAhead keeps a queue of loaded pieces full.
//
// Only one thread at a time finds a piece, since it begins where the one before
// ends. Finding reads a part of a file and checks the headers in it; most of
// the work follows, and several threads do it for several pieces:
//
//	worker     find 1 | load 1      | find 3 | load 3    | find 4 | load ...
//	caller              find 2 | load 2 | Next: 1 | ..   | Next: 2 | Next: 3
//
// The caller does not wait while there is something to find: if the piece that
// it needs is still being loaded, it loads a later one. Only one thread calls.
class ReadAhead {
 public:
  // Piece is a part of the read.
  class Piece {
   public:
    virtual ~Piece() = default;

    // Load does the work that several threads can do at the same time for
    // several pieces. It must not throw.
    virtual void Load() = 0;

    // bytes returns the size of the piece in the file, which Find determines.
    virtual size_t bytes() const = 0;
  };

  // Find returns the next piece, or nullptr if there is none that can be read
  // in this way. It may throw std::bad_alloc.
  using Find = std::function<std::shared_ptr<Piece>()>;

  // `threads` includes the calling thread, and is capped at the number of
  // processors. The queue has up to `ahead` pieces more than there are threads.
  ReadAhead(int64_t threads, size_t ahead, Find find);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Next returns the next piece, loaded, or nullptr if there is none.
  std::shared_ptr<Piece> Next();

  // Restart drops all pieces read ahead, and calls `change` while no thread is
  // finding one.
  void Restart(const std::function<void()>& change);

 private:
  struct Ahead {
    std::shared_ptr<Piece> piece;
    bool loaded = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  bool MayRead() const;
  void ReadOne(Lock* lock);
  void StartWorkers();
  void WorkerLoop();

  const size_t threads_;
  const size_t ahead_;
  const Find find_;

  // State of the calling thread.
  bool first_ = true;  // the next piece may be the only one
  std::vector<std::thread> workers_;

  std::mutex mu_;
  std::condition_variable room_;      // signals room to workers
  std::condition_variable progress_;  // signals progress to the caller
  // Guarded by mu_:
  std::deque<Ahead> queue_;
  size_t bytes_ahead_ = 0;  // bytes in the queue
  bool finding_ = false;    // a thread is finding a piece
  size_t loading_ = 0;      // pieces being loaded
  bool stopped_ = false;    // there are no more pieces
  size_t sleeping_ = 0;     // sleeping workers
  bool waiting_ = false;    // the caller waits
  bool closing_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_READ_AHEAD_H_
