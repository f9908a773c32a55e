// The records of plain files, read ahead by several threads, in their order.
#ifndef MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
#define MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "block_pool.h"
#include "fault.h"
#include "file_source.h"
#include "record_block.h"
#include "record_walk.h"

namespace millrace {

// RecordBlocks reads the records of a list of files of plain local records.
//
// The bytes of a record are worth reading on several threads: the system copies
// them out of its cache, their checksum is computed, and they are decoded. And
// they are worth reading ahead: whoever takes the records copies them once
// more, which keeps one processor busy and left the others idle when a block
// was only read after the one before was taken.
//
// So workers keep a queue of loaded blocks full. A block is found by one thread
// at a time, since it begins where the one before ends. Finding reads a piece
// of the file and looks at the headers in it; most of the work comes after it,
// and several threads do that for several blocks:
//
//	worker     find 1 | load 1      | find 3 | load 3    | find 4 | load ...
//	caller              find 2 | load 2 | Next: 1 | ..   | Next: 2 | Next: 3
//
// The caller does not wait while there is something to find: if the block that
// it needs is still being loaded, it loads a later one.
//
// Only what is as it should be takes this way. What is not (a checksum, a
// length, a number of records, the end of the last file) is left to a
// RecordWalk from that record on, which says what is wrong. So faults are the
// same as with one thread, and come behind the same records. Not for several
// threads.
class RecordBlocks {
 public:
  // `files` must outlive the reader; their epochs are 1. `threads` counts the
  // calling one. Other readers may share the pool.
  RecordBlocks(const FileList& files, size_t buffer_bytes, int64_t threads,
               std::shared_ptr<BlockPool> pool);
  ~RecordBlocks();
  RecordBlocks(const RecordBlocks&) = delete;
  RecordBlocks& operator=(const RecordBlocks&) = delete;

  // Next returns the next record, or nullptr and that there is none. Its memory
  // is used again when nobody holds a record of the same block any more.
  bool Next(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);

  // position returns where the next record is.
  const WalkPosition& position() const { return position_; }

  // Seek has Next go on at a position.
  void Seek(const WalkPosition& at);

  // Fits reports whether a position is one of this list of files.
  bool Fits(const WalkPosition& at) const { return walk_.Fits(at); }

 private:
  struct Ahead {
    std::shared_ptr<RecordBlock> block;
    bool loaded = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  void Restart(const WalkPosition& at);
  void NextBlock();
  bool MayRead() const;
  void ReadOne(Lock* lock);
  void StartWorkers();
  void WorkerLoop();
  bool Find(RecordBlock* block);
  bool OpenFound();
  bool Walk(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);

  const FileList& files_;
  const size_t threads_;
  const std::shared_ptr<BlockPool> pool_;

  // Of the calling thread.
  WalkPosition position_;
  std::shared_ptr<const RecordBlock> block_;  // whose records are next
  size_t taken_ = 0;                          // of them
  RecordWalk walk_;
  std::vector<std::thread> workers_;

  // Of the thread that finds a block.
  WalkPosition found_;  // where the next block begins
  std::shared_ptr<FileSource> file_;
  int64_t open_ = -1;  // the number of file_
  size_t piece_;

  std::mutex mu_;
  std::condition_variable room_;      // for workers
  std::condition_variable progress_;  // for the caller
  // Guarded by mu_:
  std::deque<Ahead> queue_;
  size_t bytes_ahead_ = 0;  // of the queue
  bool finding_ = false;    // a thread finds a block
  size_t loading_ = 0;      // blocks
  bool stopped_ = false;    // there is nothing to find
  size_t sleeping_ = 0;     // workers
  bool waiting_ = false;    // the caller
  bool closing_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
