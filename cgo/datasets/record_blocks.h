// The records of plain files, read ahead by several threads, in their order.
#ifndef MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
#define MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "block_pool.h"
#include "fault.h"
#include "file_cursor.h"
#include "read_ahead.h"
#include "record_block.h"
#include "record_walk.h"

namespace millrace {

// RecordBlocks reads the records of a list of files of plain local records.
//
// The bytes of a record are worth reading on several threads: the system copies
// them out of its cache, their checksum is computed, and they are decoded. And
// they are worth prefetching: the consumer copies the records once more, which
// keeps one processor busy. When a block was only read after the one before was
// taken, the others were idle.
//
// So ReadAhead keeps blocks ready.
//
// Only sound records take this path. From a fault on (a checksum, a length, a
// number of records, the end of the last file) a RecordWalk reads the records
// and describes the fault. So faults are the same as with one thread, and come
// after the same records. Only one thread may use it.
class RecordBlocks {
 public:
  // `files` must outlive the reader. `threads` includes the calling thread.
  // Other readers may share the pool.
  RecordBlocks(const FileList& files, size_t buffer_bytes, int64_t threads,
               std::shared_ptr<BlockPool> pool);
  RecordBlocks(const RecordBlocks&) = delete;
  RecordBlocks& operator=(const RecordBlocks&) = delete;

  // Next returns the next record, or nullptr and that there is none. Its memory
  // is reused when no record of the same block is referenced any more.
  bool Next(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);

  // position returns the position of the next record.
  const WalkPosition& position() const { return position_; }

  // Seek makes Next continue at a position.
  void Seek(const WalkPosition& at);

  // Fits reports whether a position is valid in this list of files.
  bool Fits(const WalkPosition& at) const { return walk_.Fits(at); }

 private:
  void Restart(const WalkPosition& at);
  bool Find(RecordBlock* block);
  bool Walk(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);

  const FileList& files_;
  const std::shared_ptr<BlockPool> pool_;

  // State of the calling thread.
  WalkPosition position_;
  std::shared_ptr<const RecordBlock> block_;  // whose records are next
  size_t taken_ = 0;                          // number of records taken
  RecordWalk walk_;

  // State of the thread that finds a block.
  FileCursor found_;  // start of the next block
  size_t piece_;

  ReadAhead ahead_;  // the last member: its threads use the others
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
