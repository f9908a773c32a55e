#include "sequence_batch.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "example_decoder.h"
#include "fill.h"
#include "sequence_decoder.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr std::pair<const char*, Part> kPartNames[] = {
    {"values", Part::kValues}, {"splits", Part::kSplits},
    {"padded", Part::kPadded}, {"lengths", Part::kLengths},
    {"mask", Part::kMask},     {"elements", Part::kElements},
};

// Values returns the number of values of an element of a list, or of a feature
// of fixed size.
int64_t Values(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= dim;
  return n;
}

// Used returns how many elements of a record are used.
int64_t Used(const std::vector<int64_t>& splits, size_t record, int64_t most) {
  return std::min(splits[record + 1] - splits[record], most);
}

int64_t Longest(const std::vector<int64_t>& splits, int64_t most) {
  int64_t n = 0;
  for (size_t i = 0; i + 1 < splits.size(); ++i) {
    n = std::max(n, Used(splits, i, most));
  }
  return n;
}

// Text returns string i of a list.
absl::string_view Text(const Joined& list, size_t i) {
  const size_t begin = i == 0 ? 0 : list.texts()[i - 1];
  return {list.data() + begin, list.texts()[i] - begin};
}

}  // namespace

absl::Status SequenceSpec::Read(OpKernelConstruction* ctx,
                                const BatchSpec& batch) {
  TF_RETURN_IF_ERROR(ctx->GetAttr(kExamples, &examples_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kParts, &parts_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kOf, &of_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kSizes, &sizes_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kMost, &most_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFillTypes, &fill_types_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kOutputTypes, &types_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kOutputShapes, &shapes_));
  if (ctx->HasAttr(kPositions)) {
    // The op itself adds a last component.
    bool positions = false;
    TF_RETURN_IF_ERROR(ctx->GetAttr(kPositions, &positions));
    if (positions && !types_.empty()) types_.pop_back();
    if (positions && !shapes_.empty()) shapes_.pop_back();
  }
  const size_t n = parts_.size();
  if (of_.size() != n || sizes_.size() != n || types_.size() != n ||
      shapes_.size() != n || (!most_.empty() && most_.size() != n)) {
    return absl::InvalidArgumentError(
        "the attributes of components differ in length");
  }
  TF_RETURN_IF_ERROR(CheckLists(examples_, batch));
  limits_.assign(batch.features().size(), -1);
  for (size_t i = 0; i < n; ++i) {
    const absl::Status s = Add(batch, i);
    if (!s.ok()) {
      return absl::Status(s.code(),
                          absl::StrCat("component ", i, ": ", s.message()));
    }
  }
  return absl::OkStatus();
}

std::unique_ptr<RowDecoder> SequenceSpec::NewDecoder(
    std::vector<FeatureSpec> features) const {
  if (examples_) return std::make_unique<ExampleDecoder>(std::move(features));
  return std::make_unique<SequenceDecoder>(std::move(features));
}

absl::Status SequenceSpec::Add(const BatchSpec& batch, size_t i) {
  const auto* name =
      std::find_if(std::begin(kPartNames), std::end(kPartNames),
                   [&](const auto& named) { return named.first == parts_[i]; });
  if (name == std::end(kPartNames)) {
    return absl::InvalidArgumentError("unknown part");
  }
  if (of_[i] < 0 || of_[i] >= static_cast<int64_t>(batch.features().size())) {
    return absl::InvalidArgumentError("no such feature");
  }
  const auto feature = static_cast<size_t>(of_[i]);
  const Part part = name->second;
  if (part != Part::kValues && part != Part::kElements &&
      !batch.features()[feature].is_list) {
    return absl::InvalidArgumentError("no list");
  }
  DataType want = DT_INT64;
  if (part == Part::kMask) want = DT_BOOL;
  if (part == Part::kValues || part == Part::kPadded) {
    want = batch.types()[feature];
  }
  if (types_[i] != want) {
    return absl::InvalidArgumentError(
        absl::StrCat("its type is ", DataTypeString(want)));
  }
  int64_t most = INT64_MAX;
  if (!most_.empty() && most_[i] >= 0) most = most_[i];
  if (most != INT64_MAX && (part == Part::kValues || part == Part::kSplits ||
                            !batch.features()[feature].is_list)) {
    return absl::InvalidArgumentError("all elements of it are used");
  }
  components_.push_back({part, feature, sizes_[i], most, Tensor()});
  const bool sized = part == Part::kPadded || part == Part::kMask;
  if (sized && sizes_[i] >= 0 && most > sizes_[i]) {
    int64_t& limit = limits_[feature];
    limit = limit < 0 ? sizes_[i] : std::min(limit, sizes_[i]);
  }
  return absl::OkStatus();
}

absl::Status SequenceSpec::WithFills(OpKernelContext* ctx,
                                     SequenceSpec* spec) const {
  *spec = *this;
  OpInputList fills;
  TF_RETURN_IF_ERROR(ctx->input_list(kFills, &fills));
  int next = 0;
  for (size_t i = 0; i < components_.size(); ++i) {
    if (components_[i].part != Part::kPadded) continue;
    if (next == fills.size() || fills[next].dtype() != types_[i] ||
        fills[next].dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", i, ": no scalar of its type to pad with"));
    }
    spec->components_[i].fill = fills[next++];
  }
  if (next != fills.size()) {
    return absl::InvalidArgumentError("more values to pad with than padded");
  }
  return absl::OkStatus();
}

std::vector<std::pair<absl::string_view, AttrValue>> SequenceSpec::Attrs(
    const BatchSpec& batch) const {
  std::vector<bool> lists, optional;
  for (const FeatureSpec& f : batch.features()) {
    lists.push_back(f.is_list);
    optional.push_back(f.is_optional);
  }
  std::vector<std::pair<absl::string_view, AttrValue>> attrs;
  const auto add = [&](const char* name, const auto& value) {
    attrs.emplace_back(name, AttrValue());
    SetAttrValue(value, &attrs.back().second);
  };
  add(kLists, lists);
  add(kOptional, optional);
  add(kExamples, examples_);
  add(kParts, parts_);
  add(kOf, of_);
  add(kSizes, sizes_);
  add(kMost, most_);
  add(kFillTypes, fill_types_);
  add(kRecordTypes, batch.types());
  add(kRecordShapes, batch.shapes());
  return attrs;
}

absl::Status SequenceBatcher::Begin(Allocator* allocator, int64_t rows) {
  rows_ = rows;
  decoder_->Clear();
  return batch_.Allocate(allocator, rows, &fixed_, &destinations_);
}

bool SequenceBatcher::Decode(std::string_view record, int64_t row,
                             Fault* fault) {
  return decoder_->Decode(record, destinations_.data(), row, fault) &&
         batch_.Finite(destinations_, row, fault);
}

bool SequenceBatcher::WithinPadding(Fault* fault) const {
  for (size_t i = 0; i < fixed_.size(); ++i) {
    const int64_t limit = spec_.limit(i);
    if (limit < 0) continue;
    const std::vector<int64_t>& splits = decoder_->list(i).splits();
    const int64_t n = splits.back() - splits[splits.size() - 2];
    if (n <= limit) continue;
    return fault->SetFeature(
        decoder_->features()[i].key, Cause::kInvalidArgument,
        "%" PRId64 " elements, padded to %" PRId64, n, limit);
  }
  return true;
}

absl::Status SequenceBatcher::Finish(Allocator* allocator, int64_t rows,
                                     std::vector<Tensor>* out) {
  if (rows < rows_) {
    for (size_t i = 0; i < fixed_.size(); ++i) {
      if (batch_.features()[i].is_list) continue;
      fixed_[i] = tensor::DeepCopy(fixed_[i].Slice(0, rows));
    }
    rows_ = rows;
  }
  out->resize(spec_.components().size());
  for (size_t i = 0; i < out->size(); ++i) {
    TF_RETURN_IF_ERROR(Make(allocator, i, &(*out)[i]));
  }
  fixed_.clear();
  return absl::OkStatus();
}

// Make makes one component.
absl::Status SequenceBatcher::Make(Allocator* allocator, size_t component,
                                   Tensor* out) const {
  const SequenceSpec::Component& c = spec_.components()[component];
  const bool is_list = batch_.features()[c.feature].is_list;
  if (c.part == Part::kValues && !is_list) {
    *out = fixed_[c.feature];
    return absl::OkStatus();
  }
  const std::vector<int64_t>& splits = decoder_->list(c.feature).splits();
  std::vector<int64_t> shape = {rows_};
  if (c.part == Part::kSplits) shape[0] = rows_ + 1;
  if (c.part == Part::kValues) shape[0] = splits.back();
  if (c.part == Part::kPadded || c.part == Part::kMask) {
    shape.push_back(c.size >= 0 ? c.size : Longest(splits, c.most));
  }
  if (c.part == Part::kPadded || c.part == Part::kValues) {
    const std::vector<int64_t>& dims = batch_.dims(c.feature);
    shape.insert(shape.end(), dims.begin(), dims.end());
  }
  TensorShape made;
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(shape, &made));
  *out = Tensor(allocator, spec_.types()[component], made);
  if (!out->IsInitialized()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a batch of shape ", made.DebugString()));
  }
  if (c.part == Part::kSplits) {
    std::copy(splits.begin(), splits.end(), out->flat<int64_t>().data());
  } else if (c.part == Part::kLengths || c.part == Part::kElements) {
    Elements(c, out);
  } else if (out->dtype() == DT_STRING) {
    PadTexts(c, out);
  } else {
    Pad(c, out);
  }
  return absl::OkStatus();
}

// Elements counts the elements of each record, or the values in them.
void SequenceBatcher::Elements(const SequenceSpec::Component& c,
                               Tensor* out) const {
  const int64_t each =
      c.part == Part::kLengths ? 1 : Values(batch_.dims(c.feature));
  int64_t* const to = out->flat<int64_t>().data();
  if (!batch_.features()[c.feature].is_list) {
    std::fill(to, to + rows_, each);
    return;
  }
  const std::vector<int64_t>& splits = decoder_->list(c.feature).splits();
  for (int64_t i = 0; i < rows_; ++i) {
    to[i] = Used(splits, i, c.most) * each;
  }
}

// Pad writes the rows of a list of numbers, or its mask. Joined elements are
// one row.
void SequenceBatcher::Pad(const SequenceSpec::Component& c, Tensor* out) const {
  const Joined& list = decoder_->list(c.feature);
  char* const to = static_cast<char*>(out->data());
  const std::vector<int64_t>& splits = list.splits();
  const size_t value = DataTypeSize(out->dtype());
  const size_t element = Values(batch_.dims(c.feature)) * value;
  if (c.part == Part::kValues) {
    for (int64_t i = 0; i < rows_ && element > 0; ++i) {
      list.Copy(i, element, to + splits[i] * element);
    }
    return;
  }
  const auto columns = static_cast<size_t>(out->dim_size(1));
  if (c.part == Part::kMask) {
    for (int64_t i = 0; i < rows_; ++i) {
      const auto n = static_cast<size_t>(Used(splits, i, c.most));
      std::memset(to + i * columns, 1, n);
      std::memset(to + i * columns + n, 0, columns - n);
    }
    return;
  }
  if (element == 0) return;
  const char* const fill = static_cast<const char*>(c.fill.data());
  for (int64_t i = 0; i < rows_; ++i) {
    const size_t n = Used(splits, i, c.most) * element;
    char* const row = to + i * columns * element;
    list.Copy(i, element, row, c.most);
    Fill(row + n, columns * element - n, fill, value);
  }
}

// PadTexts is Pad for strings.
void SequenceBatcher::PadTexts(const SequenceSpec::Component& c,
                               Tensor* out) const {
  const Joined& list = decoder_->list(c.feature);
  tstring* to = out->flat<tstring>().data();
  if (c.part == Part::kValues) {
    for (size_t i = 0; i < list.texts().size(); ++i) to[i] = Text(list, i);
    return;
  }
  const std::vector<int64_t>& splits = list.splits();
  const int64_t each = Values(batch_.dims(c.feature));
  const tstring& fill = c.fill.scalar<tstring>()();
  for (int64_t i = 0; i < rows_; ++i) {
    tstring* const end = to + out->dim_size(1) * each;
    auto next = static_cast<size_t>(splits[i] * each);
    for (int64_t n = Used(splits, i, c.most) * each; n > 0; --n) {
      *to++ = Text(list, next++);
    }
    if (!fill.empty()) std::fill(to, end, fill);
    to = end;
  }
}

}  // namespace millrace
