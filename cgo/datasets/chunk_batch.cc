#include "chunk_batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fault.h"
#include "fill.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

absl::Status ElementGroup::Make(const ChunkSpec& spec,
                                std::vector<Tensor> element,
                                std::shared_ptr<const ElementGroup>* group) {
  std::shared_ptr<ElementGroup> made(new ElementGroup());
  made->element_ = std::move(element);
  const Tensor& places = made->element_.back();
  if (places.dims() != 2 || places.dim_size(1) != 3) {
    return absl::InvalidArgumentError(
        "the places of records have no 3 columns");
  }
  made->records_ = places.dim_size(0);
  size_t next = 0;
  for (const ChunkSpec::Column& c : spec.columns()) {
    ChunkValues v;
    const Tensor& values = made->element_[next++];
    const int lead = c.sequence && !c.ragged ? 2 : 1;
    bool fits = values.dims() >= lead && values.dtype() == c.type;
    if (fits && c.type == DT_STRING) {
      v.texts = values.flat<tstring>().data();
    } else if (fits) {
      v.data = static_cast<const char*>(values.data());
    }
    for (int d = lead; d < values.dims(); ++d) {
      v.frame.push_back(values.dim_size(d));
    }
    if (c.ragged) {
      const Tensor& splits = made->element_[next++];
      fits = fits && splits.dims() == 1 && splits.dtype() == DT_INT64 &&
             splits.NumElements() == made->records_ + 1;
      if (fits) {
        v.splits = splits.flat<int64_t>().data();
        fits = v.splits[0] == 0 &&
               std::is_sorted(v.splits, v.splits + made->records_ + 1) &&
               v.splits[made->records_] == values.dim_size(0);
      }
    } else {
      fits = fits && values.dim_size(0) == made->records_;
      v.frames = fits && c.sequence ? values.dim_size(1) : 1;
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", Quote(c.name, 256), " is not that of ",
                       made->records_, " records"));
    }
    made->values_.push_back(std::move(v));
  }
  *group = std::move(made);
  return absl::OkStatus();
}

RecordPlace ElementGroup::place(int64_t record) const {
  const int64_t* const at = element_.back().flat<int64_t>().data() + 3 * record;
  return {at[0], at[1], at[2]};
}

int64_t RowFrames(const ChunkSpec& spec, const ChunkRow& row, size_t column) {
  const ChunkSpec::Column& c = spec.columns()[column];
  const int64_t all = row.group->Length(column, row.record);
  if (!c.sequence) return all;
  return c.left + (row.whole ? all : row.end - row.begin) + c.right;
}

namespace {

// Layout describes the frames of a row: first `before` frames of padding, then
// `real` frames of the column's values, then padding again.
struct Layout {
  int64_t before = 0;
  int64_t first = 0;
  int64_t real = 0;
};

Layout LayOut(const ChunkSpec::Column& c, const ChunkRow& row, size_t column) {
  const int64_t all = row.group->Length(column, row.record);
  const int64_t first = row.group->First(column, row.record);
  if (!c.sequence) return {0, first, all};
  const int64_t begin = (row.whole ? 0 : row.begin) - c.left;
  const int64_t end = (row.whole ? all : row.end) + c.right;
  const int64_t from = std::clamp<int64_t>(begin, 0, all);
  const int64_t to = std::clamp<int64_t>(end, from, all);
  return {from - begin, first + from, to - from};
}

// Frames copies frames of one column into the rows of a tensor.
class Frames {
 public:
  // `each` is the number of values per frame.
  Frames(const ChunkSpec::Column& column, int64_t each, Tensor* out)
      : column_(column), each_(each) {
    if (out->dtype() == DT_STRING) {
      texts_ = out->flat<tstring>().data();
      return;
    }
    value_ = DataTypeSize(out->dtype());
    bytes_ = static_cast<char*>(out->data());
    fill_ = static_cast<const char*>(column.fill.data());
  }

  // Add adds a row of `frames` frames. Frames after the end of the record are
  // padding.
  void Add(const ChunkRow& row, size_t column, int64_t frames) {
    const Layout l = LayOut(column_, row, column);
    MakeUp(l.before);
    Copy(row.group->values(column), l.first, l.real);
    MakeUp(frames - l.before - l.real);
  }

 private:
  void MakeUp(int64_t frames) {
    const int64_t n = frames * each_;
    if (n == 0) return;
    if (texts_ != nullptr) {
      std::fill(texts_, texts_ + n, column_.fill.scalar<tstring>()());
      texts_ += n;
      return;
    }
    Fill(bytes_, n * value_, fill_, value_);
    bytes_ += n * value_;
  }

  void Copy(const ChunkValues& from, int64_t first, int64_t frames) {
    const int64_t n = frames * each_;
    if (n == 0) return;
    if (texts_ != nullptr) {
      const tstring* const begin = from.texts + first * each_;
      std::copy(begin, begin + n, texts_);
      texts_ += n;
      return;
    }
    std::memcpy(bytes_, from.data + first * each_ * value_, n * value_);
    bytes_ += n * value_;
  }

  const ChunkSpec::Column& column_;
  const int64_t each_;
  tstring* texts_ = nullptr;
  char* bytes_ = nullptr;
  const char* fill_ = nullptr;
  size_t value_ = 0;
};

// Maker makes one component of a batch.
class Maker {
 public:
  Maker(const ChunkSpec& spec, const std::vector<ChunkRow>& rows, bool last,
        Allocator* allocator)
      : spec_(spec), rows_(rows), last_(last), allocator_(allocator) {}

  absl::Status Make(size_t i, Tensor* out) const {
    const ChunkSpec::Component& c = spec_.components()[i];
    const auto n = static_cast<int64_t>(rows_.size());
    switch (c.part) {
      case ChunkPart::kRow:
      case ChunkPart::kJoined:
        return Values(i, out);
      case ChunkPart::kMask:
        return Mask(i, out);
      case ChunkPart::kSplits: {
        TF_RETURN_IF_ERROR(Allocate(i, {2}, out));
        out->flat<int64_t>()(0) = 0;
        out->flat<int64_t>()(1) = RowFrames(spec_, rows_[0], c.column);
        return absl::OkStatus();
      }
      case ChunkPart::kPlace: {
        TF_RETURN_IF_ERROR(Allocate(i, {n, 3}, out));
        int64_t* to = out->flat<int64_t>().data();
        for (const ChunkRow& row : rows_) {
          const RecordPlace place = row.group->place(row.record);
          *to++ = place.file;
          *to++ = place.record;
          *to++ = place.offset;
        }
        return absl::OkStatus();
      }
      default:
        return Numbers(i, out);
    }
  }

 private:
  absl::Status Allocate(size_t i, const std::vector<int64_t>& shape,
                        Tensor* out) const {
    TensorShape made;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(shape, &made));
    *out = Tensor(allocator_, spec_.types()[i], made);
    if (out->IsInitialized()) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a batch of shape ", made.DebugString()));
  }

  // Longest returns the number of frames that rows are padded to. No row has
  // more than a fixed size.
  int64_t Longest(size_t column) const {
    int64_t frames = std::max<int64_t>(spec_.columns()[column].fixed, 0);
    for (const ChunkRow& row : rows_) {
      frames = std::max(frames, RowFrames(spec_, row, column));
    }
    return frames;
  }

  // Values makes the rows themselves.
  absl::Status Values(size_t i, Tensor* out) const {
    const ChunkSpec::Component& part = spec_.components()[i];
    const ChunkSpec::Column& c = spec_.columns()[part.column];
    const auto& frame = rows_[0].group->values(part.column).frame;
    const bool framed = c.ragged || c.sequence;
    int64_t frames = 1;
    std::vector<int64_t> shape;
    if (part.part == ChunkPart::kJoined) {
      frames = RowFrames(spec_, rows_[0], part.column);
      shape = {frames};
    } else {
      shape = {static_cast<int64_t>(rows_.size())};
      if (framed) {
        frames = Longest(part.column);
        shape.push_back(frames);
      }
    }
    int64_t each = 1;
    for (int64_t size : frame) {
      shape.push_back(size);
      each *= size;
    }
    TF_RETURN_IF_ERROR(Allocate(i, shape, out));
    Frames to(c, each, out);
    for (const ChunkRow& row : rows_) to.Add(row, part.column, frames);
    return absl::OkStatus();
  }

  absl::Status Mask(size_t i, Tensor* out) const {
    const size_t column = spec_.components()[i].column;
    const int64_t frames = Longest(column);
    TF_RETURN_IF_ERROR(
        Allocate(i, {static_cast<int64_t>(rows_.size()), frames}, out));
    bool* to = out->flat<bool>().data();
    for (const ChunkRow& row : rows_) {
      const int64_t n = RowFrames(spec_, row, column);
      std::fill(to, to + n, true);
      std::fill(to + n, to + frames, false);
      to += frames;
    }
    return absl::OkStatus();
  }

  // Numbers makes a component with one number for each row.
  absl::Status Numbers(size_t i, Tensor* out) const {
    const ChunkSpec::Component& c = spec_.components()[i];
    const auto n = static_cast<int64_t>(rows_.size());
    TF_RETURN_IF_ERROR(Allocate(i, {n}, out));
    for (int64_t r = 0; r < n; ++r) {
      const ChunkRow& row = rows_[r];
      if (c.part == ChunkPart::kEnd) {
        out->flat<bool>()(r) = last_ && r == n - 1;
      } else if (c.part == ChunkPart::kStart) {
        out->flat<int32_t>()(r) = static_cast<int32_t>(row.begin);
      } else if (c.part == ChunkPart::kSize) {
        out->flat<int32_t>()(r) =
            static_cast<int32_t>(RowFrames(spec_, row, c.column));
      } else {
        out->flat<int64_t>()(r) = RowFrames(spec_, row, c.column) * c.each;
      }
    }
    return absl::OkStatus();
  }

  const ChunkSpec& spec_;
  const std::vector<ChunkRow>& rows_;
  const bool last_;
  Allocator* const allocator_;
};

}  // namespace

absl::Status MakeChunkBatch(const ChunkSpec& spec,
                            const std::vector<ChunkRow>& rows, bool last,
                            Allocator* allocator, std::vector<Tensor>* out) {
  const Maker maker(spec, rows, last, allocator);
  out->resize(spec.components().size());
  for (size_t i = 0; i < out->size(); ++i) {
    TF_RETURN_IF_ERROR(maker.Make(i, &(*out)[i]));
  }
  return absl::OkStatus();
}

}  // namespace millrace
