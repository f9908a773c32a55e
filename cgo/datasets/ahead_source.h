// Sources that are read ahead of whoever reads them.
#ifndef MILLRACE_CGO_DATASETS_AHEAD_SOURCE_H_
#define MILLRACE_CGO_DATASETS_AHEAD_SOURCE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "byte_source.h"
#include "fault.h"

namespace millrace {

// AheadSource reads another source on a thread of its own, ahead of Read. It is
// for compressed files: inflating a record takes several times as long as
// checking and decoding it, and both can go on at the same time.
//
//	thread  inflate 1 | inflate 2 | inflate 3 | inflate 4 | ...
//	caller              decode 1    | decode 2  | decode 3  | ...
//
// The bytes travel in blocks. The thread stops when it is so many bytes ahead
// as it may be, and goes on when half of them are taken. A caller that finds no
// block waits until there are several: to wake a thread can take the system as
// long as a tenth of a block takes to inflate, and did when each block woke
// one.
//
// A fault comes behind the bytes before it, as it does without a thread. The
// caller reads the first bytes itself: a small file is not worth a thread. Not
// for several threads beside its own.
class AheadSource : public ByteSource {
 public:
  explicit AheadSource(std::unique_ptr<ByteSource> source);
  ~AheadSource() override;

  bool Read(char* to, size_t n, size_t* got, Fault* fault) override;
  bool Skip(int64_t n, Fault* fault) override;
  int64_t left() const override { return -1; }
  bool CheckEnd(Fault* fault) override;
  void ReadAhead(size_t bytes) override;

 private:
  struct Block {
    std::unique_ptr<char[]> data;
    size_t size = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void Start();
  void Loop();
  bool Fill(Block* block, Fault* fault);
  bool NextBlock(Fault* fault);
  bool Enough() const;

  const std::unique_ptr<ByteSource> source_;  // of thread_ once there is one
  size_t own_ = 0;    // bytes that the caller has read by itself
  Block block_;       // that Read takes from
  size_t taken_ = 0;  // bytes of it
  std::thread thread_;

  std::mutex mu_;
  std::condition_variable room_;   // for another block
  std::condition_variable ready_;  // a block, or the end
  // Guarded by mu_:
  std::deque<Block> blocks_;
  std::vector<Block> spares_;
  size_t most_;           // blocks_
  bool ended_ = false;    // the thread reads no more
  bool full_ = false;     // the thread waits for room
  bool waiting_ = false;  // Read waits for blocks
  bool closing_ = false;
  Fault fault_;  // that ended it; kNone: the end of the source
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_AHEAD_SOURCE_H_
