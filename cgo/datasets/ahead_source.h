// Sources that are read ahead of their reader.
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

// AheadSource prefetches another source on a separate thread. It is for
// compressed files: inflating a record takes several times as long as checking
// and decoding it, and both can run at the same time.
//
//	thread  inflate 1 | inflate 2 | inflate 3 | inflate 4 | ...
//	caller              decode 1    | decode 2  | decode 3  | ...
//
// The bytes are passed in blocks. The thread stops when its limit of bytes is
// prefetched, and continues when half of them are taken. A caller that finds no
// block waits until there are several: waking a thread can take the system a
// tenth of the time to inflate a block, and did when each block woke one.
//
// A fault comes after all preceding bytes, as without a thread. The caller
// reads the first bytes itself: a small file is not worth a thread. Only one
// thread may use it.
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

  const std::unique_ptr<ByteSource>
      source_;        // only used by thread_ once it runs
  size_t own_ = 0;    // bytes that the caller has read itself
  Block block_;       // the block that Read takes from
  size_t taken_ = 0;  // bytes taken from block_
  std::thread thread_;

  std::mutex mu_;
  std::condition_variable room_;   // signals room for another block
  std::condition_variable ready_;  // a block, or the end
  // Guarded by mu_:
  std::deque<Block> blocks_;
  std::vector<Block> spares_;
  size_t most_;           // largest size of blocks_
  bool ended_ = false;    // the thread has stopped reading
  bool full_ = false;     // the thread waits for room
  bool waiting_ = false;  // Read waits for blocks
  bool closing_ = false;
  Fault fault_;  // why reading ended; kNone at the end of the source
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_AHEAD_SOURCE_H_
