// The records of plain files, read by several threads, in their order.
#ifndef MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
#define MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fault.h"
#include "file_source.h"
#include "record_walk.h"
#include "worker_pool.h"

namespace millrace {

// RecordSlot holds one record and what is decoded of it.
class RecordSlot {
 public:
  virtual ~RecordSlot() = default;

  // at returns where the record is.
  const WalkPosition& at() const { return at_; }

 protected:
  // Decode decodes the record, whose bytes stay where they are until the slot
  // is used again. A fault names the feature, not the record. It must not
  // throw.
  virtual bool Decode(std::string_view record, Fault* fault) = 0;

 private:
  friend class RecordBlocks;

  bool Reserve(size_t bytes);
  void Load();

  WalkPosition at_;
  std::shared_ptr<const FileSource> file_;
  size_t length_ = 0;    // of the record
  bool intact_ = false;  // the record was read, and its checksum is right
  Fault fault_;          // of decoding it
  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
};

// RecordBlocks reads the records of a list of files of plain local records.
//
// The bytes of a record are worth reading on several threads: the system copies
// them out of its cache, their checksum is computed, and they are decoded.
// Where the next record begins is known without that, from the header of the
// one before. So a block of records is found first, header by header, and then
// read by a pool of workers, each record by one of them while it is in that
// processor's cache:
//
//	file     [hd|data |ck][hd|data   |ck][hd|data|ck] ...
//	headers   1            2              3              the calling thread
//	records       1 - - - -    2 - - - -     3 - - -     any thread
//	Next                                             1 2 3
//
// Only what is as it should be takes this way. What is not (a checksum, a
// length, a number of records, the end of the last file) is left to a
// RecordWalk from that record on, which says what is wrong. So faults are the
// same as with one thread, and come behind the same records. Not for several
// threads.
class RecordBlocks {
 public:
  // `files` must outlive the reader; their epochs are 1. `make` makes a slot.
  // `threads` counts the calling one.
  RecordBlocks(const FileList& files, size_t buffer_bytes, int64_t threads,
               std::function<std::unique_ptr<RecordSlot>()> make);

  // Next returns the next record, or nullptr and that there is none. The slot
  // is used again when nobody holds it any more.
  bool Next(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);

  // position returns where the next record is.
  const WalkPosition& position() const { return position_; }

  // Seek has Next go on at a position.
  void Seek(const WalkPosition& at);

  // Fits reports whether a position is one of this list of files.
  bool Fits(const WalkPosition& at) const { return walk_.Fits(at); }

 private:
  struct Spares;

  void ReadBlock();
  bool Find(WalkPosition* at);
  bool NextFile(WalkPosition* at);
  bool Walk(std::shared_ptr<const RecordSlot>* record, bool* end, Fault* fault);
  std::shared_ptr<RecordSlot> Take();

  const FileList& files_;
  const size_t threads_;
  const std::function<std::unique_ptr<RecordSlot>()> make_;
  WalkPosition position_;
  std::shared_ptr<Spares> spares_;
  std::vector<std::shared_ptr<RecordSlot>> block_;
  size_t taken_ = 0;  // of the block
  std::shared_ptr<FileSource> file_;
  int64_t open_ = -1;  // the number of file_
  RecordWalk walk_;
  WorkerPool workers_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_BLOCKS_H_
