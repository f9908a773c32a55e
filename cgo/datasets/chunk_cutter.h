// Cutting of groups of records into rows, and batching of the rows.
#ifndef MILLRACE_CGO_DATASETS_CHUNK_CUTTER_H_
#define MILLRACE_CGO_DATASETS_CHUNK_CUTTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "chunk_batch.h"
#include "chunk_form.h"
#include "placed_record.h"

namespace millrace {

// GroupSource yields groups of records, one after the other.
class GroupSource {
 public:
  virtual ~GroupSource() = default;

  // NextGroup returns the next group, or none at the end.
  virtual absl::Status NextGroup(std::shared_ptr<const ChunkGroup>* group) = 0;
};

// ChunkCutter makes batches from the groups of a source.
//
// A row is a record of a group and a range of its frames; making one copies
// nothing. The cutter walks the rows of a group, record by record, and requests
// the next group at its end:
//
//	groups   [ r0 | r1 | r2 ]   [ r3 | r4 ]
//	rows     r0:0 r0:25 r0:50 r1:0 r1:25 | r2:0 r3:0 r3:25 | ...
//	batches  ------------ 0 ------------   ------ 1 ------
//
// Rows join a batch until the budget refuses one. Only then is memory
// allocated, and every frame is copied once. The groups of all its rows stay
// alive until then, so that a batch may span groups. Not thread-safe.
class ChunkCutter {
 public:
  // The form must outlive the cutter. `files` are the names of the files that
  // the locations of records refer to by index.
  ChunkCutter(const ChunkForm& form, std::vector<std::string> files)
      : form_(form),
        rules_(form.rules()),
        origin_(true, std::move(files)),
        budget_(form.NewBudget()),
        lengths_(form.spec().sequences().size()) {}

  // Batch makes the next batch, or finds that there is none.
  absl::Status Batch(GroupSource* source, tensorflow::Allocator* allocator,
                     std::vector<tensorflow::Tensor>* out, bool* end);

  // Cursor is the position of the next row.
  struct Cursor {
    std::shared_ptr<const ChunkGroup>
        group;           // nullptr: the source's current group
    int64_t record = 0;  // index of the record in the group
    int64_t row =
        0;  // row of the record, or of the first record of the next group
    bool ended = false;  // the source has no more groups
  };
  const Cursor& cursor() const { return next_; }
  void Seek(Cursor next) { next_ = std::move(next); }

 private:
  absl::Status Fill(GroupSource* source, bool* last);
  absl::Status Find(GroupSource* source, ChunkRow* row, bool* end);
  absl::Status CheckAligned() const;
  absl::Status CheckFits(const ChunkRow& row) const;
  absl::Status Refuse(int64_t record, const std::string& what) const;

  const ChunkSpec& spec() const { return form_.spec(); }

  const ChunkForm& form_;
  const ChunkRules rules_;
  const RecordOrigin origin_;
  Cursor next_;
  // State of the current batch.
  Budget budget_;
  std::vector<ChunkRow> rows_;
  std::vector<std::shared_ptr<const ChunkGroup>> held_;  // groups of the rows
  std::vector<int64_t> lengths_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CHUNK_CUTTER_H_
