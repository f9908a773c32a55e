// Rows of sequences, and batches of them.
#ifndef MILLRACE_CGO_DATASETS_CHUNK_BATCH_H_
#define MILLRACE_CGO_DATASETS_CHUNK_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "chunk_spec.h"
#include "placed_record.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// ChunkValues has the values of one column in the records of a group.
struct ChunkValues {
  const char* data = nullptr;                  // bytes of numbers, not aligned
  const tensorflow::tstring* texts = nullptr;  // values of a column of strings
  const int64_t* splits = nullptr;  // start of each record in a ragged column
  int64_t frames = 0;               // frames per record in any other column
  absl::InlinedVector<int64_t, 4> frame;  // the shape of a frame
};

// ChunkGroup is a group of decoded records.
class ChunkGroup {
 public:
  virtual ~ChunkGroup() = default;

  int64_t records() const { return records_; }
  const ChunkValues& values(size_t column) const { return values_[column]; }

  // First and Length return the index of a record's first frame among the
  // values of a column, and the number of its frames.
  int64_t First(size_t column, int64_t record) const {
    const ChunkValues& v = values_[column];
    return v.splits != nullptr ? v.splits[record] : record * v.frames;
  }
  int64_t Length(size_t column, int64_t record) const {
    const ChunkValues& v = values_[column];
    return v.splits != nullptr ? v.splits[record + 1] - v.splits[record]
                               : v.frames;
  }

  virtual RecordPlace place(int64_t record) const = 0;

 protected:
  std::vector<ChunkValues> values_;  // values per column
  int64_t records_ = 0;
};

// ElementGroup is the records of one element of another dataset.
class ElementGroup : public ChunkGroup {
 public:
  // Make checks an element and takes it.
  static absl::Status Make(const ChunkSpec& spec,
                           std::vector<tensorflow::Tensor> element,
                           std::shared_ptr<const ElementGroup>* group);

  RecordPlace place(int64_t record) const override;
  const std::vector<tensorflow::Tensor>& element() const { return element_; }

 private:
  ElementGroup() = default;

  std::vector<tensorflow::Tensor> element_;
};

// ChunkRow is one row of a batch. Its maker keeps the group alive: a row has no
// reference of its own because a group has many rows.
struct ChunkRow {
  const ChunkGroup* group = nullptr;
  int64_t record = 0;
  int64_t begin = 0;  // frames of a chunk, without context
  int64_t end = 0;
  bool whole = false;  // all frames that each column has
};

// RowFrames returns the number of frames of a row in a column, including
// context.
int64_t RowFrames(const ChunkSpec& spec, const ChunkRow& row, size_t column);

// MakeChunkBatch makes the components of a batch of rows. `last` is set for the
// last batch.
absl::Status MakeChunkBatch(const ChunkSpec& spec,
                            const std::vector<ChunkRow>& rows, bool last,
                            tensorflow::Allocator* allocator,
                            std::vector<tensorflow::Tensor>* out);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CHUNK_BATCH_H_
