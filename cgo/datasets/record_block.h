// Consecutive records of a file, read together.
#ifndef MILLRACE_CGO_DATASETS_RECORD_BLOCK_H_
#define MILLRACE_CGO_DATASETS_RECORD_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fault.h"
#include "file_source.h"
#include "read_ahead.h"
#include "record_walk.h"

namespace millrace {

// RecordSlot is one record of a block and its decoded values.
class RecordSlot {
 public:
  virtual ~RecordSlot() = default;

  // at returns the location of the record.
  const WalkPosition& at() const { return at_; }

  // behind returns the start of the next record.
  WalkPosition behind() const;

  // intact reports whether the record was read and its checksum is right.
  bool intact() const { return intact_; }

  // fault returns the reason if it could not be decoded.
  const Fault& fault() const { return fault_; }

 protected:
  // Decode decodes the record, whose bytes stay valid until the slot is reused.
  // A fault names the feature, not the record. It must not throw.
  virtual bool Decode(std::string_view record, Fault* fault) = 0;

 private:
  friend class RecordBlock;

  WalkPosition at_;
  size_t begin_ = 0;   // offset of the record in the block's bytes
  size_t length_ = 0;  // length of the record
  bool intact_ = false;
  Fault fault_;
};

// RecordBlock is a few records of a file in one piece of memory. It is read in
// two steps, because the first step already determines the start of the next
// block:
//
//	Find   |hd|data |ck|hd|data   |ck|hd|dat|       one piece, headers
// checked 	Load   |hd|data |ck|hd|data   |ck|hd|data   |ck|  the rest,
// checksums, values
//
// The next block may be found while this one is loaded by another thread. A
// record longer than a piece takes as much memory as it needs, and nearly all
// of it is read by Load.
class RecordBlock : public ReadAhead::Piece {
 public:
  using MakeSlot = std::function<std::unique_ptr<RecordSlot>()>;

  // kMostRecords is the maximum number of records of a block.
  static constexpr size_t kMostRecords = 64;

  // `make` makes a slot.
  explicit RecordBlock(MakeSlot make) : make_(std::move(make)) {}

  // Find reads up to `piece` bytes of a file from a position on, and finds the
  // records that begin there, `count` in the whole file unless it is negative.
  // It stops before a faulty record. It returns whether there is a record.
  bool Find(std::shared_ptr<const FileSource> file, const WalkPosition& at,
            int64_t count, size_t piece);

  // Load reads the rest of the last record, and checks and decodes all records.
  void Load() override;

  // Hold makes this a block of one record that has already been checked.
  bool Hold(std::string_view record, const WalkPosition& at, Fault* fault);

  // size returns the number of records.
  size_t size() const { return size_; }
  const RecordSlot& slot(size_t i) const { return *slots_[i]; }

  // bytes returns the size of the records in the file.
  size_t bytes() const override { return bytes_; }

 private:
  bool Reserve(size_t bytes, size_t kept);
  RecordSlot* Add();
  bool ReadTo(size_t end);

  const MakeSlot make_;
  std::shared_ptr<const FileSource>
      file_;            // file of a block that is not loaded
  int64_t offset_ = 0;  // offset of its bytes in the file
  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  size_t read_ = 0;   // bytes that were read
  size_t bytes_ = 0;  // size of the records
  std::vector<std::unique_ptr<RecordSlot>> slots_;
  size_t size_ = 0;  // slots with a record
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_BLOCK_H_
