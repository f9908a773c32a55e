// The description of MillraceChunkBatchDataset's input and batches.
#ifndef MILLRACE_CGO_DATASETS_CHUNK_SPEC_H_
#define MILLRACE_CGO_DATASETS_CHUNK_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace millrace {

// ChunkPart is the part of a column that a component of a batch contains.
enum class ChunkPart {
  kRow,       // a row of the batch for each row: its frames, padded
  kJoined,    // the frames of the only row, without an axis for rows
  kSplits,    // 0 and the number of frames of the only row
  kSize,      // the number of frames of each row, int32
  kLength,    // the same as int64
  kMask,      // true for frames and padded with false
  kElements,  // the number of values of each row
  kStart,     // the first frame of each row, without context; no column
  kEnd,       // true in the very last row; no column
  kPlace,     // the location of each row's record; no column
};

// ChunkSpec has the attributes of the op, and the padding values.
//
// The op's input yields groups of records. A group has for each column one
// tensor or two, and then the locations of the records, [records, 3]: file,
// record, offset.
//
//   ragged   values [frames of all records, ...], splits [records + 1]
//   others   values [records, ...]
class ChunkSpec {
 public:
  struct Column {
    std::string name;
    tensorflow::DataType type = tensorflow::DT_INVALID;
    bool ragged = false;    // records differ in length along the first axis
    bool sequence = false;  // has a time axis, which is cut
    int64_t left = 0;       // frames of context
    int64_t right = 0;
    int64_t fixed = -1;       // frames to pad rows to, -1: the longest
    tensorflow::Tensor fill;  // a scalar
  };
  struct Component {
    ChunkPart part = ChunkPart::kRow;
    size_t column = 0;
    int64_t each = 1;  // values per frame, or per row without frames
  };

  // Read reads and checks the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx);

  // WithFills returns the spec with the padding values, an input.
  absl::Status WithFills(tensorflow::OpKernelContext* ctx,
                         ChunkSpec* spec) const;

  // CheckInput returns an error for a dataset whose elements are not groups.
  absl::Status CheckInput(const tensorflow::DataTypeVector& types) const;

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Component>& components() const { return components_; }
  const std::vector<size_t>& sequences() const { return sequences_; }
  const tensorflow::DataTypeVector& types() const { return types_; }
  const std::vector<tensorflow::PartialTensorShape>& shapes() const {
    return shapes_;
  }
  bool single() const { return single_; }  // batches must have one row

  // Attrs returns the attributes that AddDataset does not write by itself.
  std::vector<std::pair<absl::string_view, tensorflow::AttrValue>> Attrs()
      const;

 private:
  std::vector<std::string> names_;
  std::vector<bool> ragged_;
  std::vector<bool> sequence_;
  std::vector<int64_t> left_;
  std::vector<int64_t> right_;
  std::vector<int64_t> fixed_;
  std::vector<std::string> parts_;
  std::vector<int64_t> of_;
  std::vector<int64_t> each_;
  tensorflow::DataTypeVector fill_types_;
  tensorflow::DataTypeVector types_;
  std::vector<tensorflow::PartialTensorShape> shapes_;
  std::vector<Column> columns_;
  std::vector<Component> components_;
  std::vector<size_t> sequences_;
  bool single_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_CHUNK_SPEC_H_
