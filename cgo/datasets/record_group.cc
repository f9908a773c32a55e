#include "record_group.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "example_decoder.h"
#include "sequence_batch.h"
#include "sequence_decoder.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr char kFeatures[] = "features";

}  // namespace

absl::Status RecordSpec::Read(OpKernelConstruction* ctx,
                              const ChunkSpec& chunks) {
  TF_RETURN_IF_ERROR(batch_.Read(ctx, kRecordShapes, kRecordTypes));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kExamples, &examples_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFeatures, &features_));
  if (features_.size() != chunks.columns().size()) {
    return absl::InvalidArgumentError("not one feature for each column");
  }
  for (size_t i = 0; i < features_.size(); ++i) {
    const ChunkSpec::Column& c = chunks.columns()[i];
    const bool known =
        features_[i] >= 0 &&
        features_[i] < static_cast<int64_t>(batch_.features().size());
    if (!known || batch_.types()[feature(i)] != c.type ||
        batch_.features()[feature(i)].is_list != c.ragged ||
        (c.sequence && !c.ragged && batch_.dims(feature(i)).empty())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column ", Quote(c.name, 256), " is not that of its feature"));
    }
  }
  for (const FeatureSpec& f : batch_.features()) {
    const bool list = examples_ && f.is_list;
    if ((f.is_optional && !list) ||
        (list && (f.kind == Kind::kRaw || f.values < 1))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature ", Quote(f.key, 256), " is no list of Examples"));
    }
  }
  return absl::OkStatus();
}

std::unique_ptr<RowDecoder> RecordSpec::NewDecoder() const {
  std::unique_ptr<RowDecoder> decoder;
  if (examples_) {
    decoder = std::make_unique<ExampleDecoder>(batch_.features());
  } else {
    decoder = std::make_unique<SequenceDecoder>(batch_.features());
  }
  decoder->LeaveInPlace();
  return decoder;
}

std::vector<std::pair<absl::string_view, AttrValue>> RecordSpec::Attrs() const {
  std::vector<bool> lists, optional;
  for (const FeatureSpec& f : batch_.features()) {
    lists.push_back(f.is_list);
    optional.push_back(f.is_optional);
  }
  auto attrs = batch_.Attrs();
  const auto add = [&](const char* name, const auto& value) {
    attrs.emplace_back(name, AttrValue());
    SetAttrValue(value, &attrs.back().second);
  };
  add(kLists, lists);
  add(kOptional, optional);
  add(kExamples, examples_);
  add(kRecordTypes, batch_.types());
  add(kRecordShapes, batch_.shapes());
  add(kFeatures, features_);
  return attrs;
}

RecordGroup::RecordGroup(const RecordSpec& spec, const ChunkSpec& chunks)
    : spec_(spec), chunks_(chunks), decoder_(spec.NewDecoder()) {
  records_ = 1;
  values_.resize(chunks.columns().size());
  texts_.resize(chunks.columns().size());
}

bool RecordGroup::Decode(std::string_view record, Fault* fault) {
  try {
    decoder_->Clear();
    if (fixed_.empty()) {
      const absl::Status s =
          spec_.batch().Allocate(cpu_allocator(), 1, &fixed_, &destinations_);
      if (!s.ok()) {
        fixed_.clear();
        return fault->Set(Cause::kResourceExhausted, "%s",
                          std::string(s.message()).c_str());
      }
    }
    if (!decoder_->Decode(record, destinations_.data(), 0, fault)) return false;
    for (size_t i = 0; i < values_.size(); ++i) Refer(i);
  } catch (const std::bad_alloc&) {
    return fault->Set(Cause::kResourceExhausted, "no memory for a record");
  }
  return true;
}

// Refer finds the values of a column that was decoded.
void RecordGroup::Refer(size_t column) {
  const ChunkSpec::Column& c = chunks_.columns()[column];
  const size_t feature = spec_.feature(column);
  const std::vector<int64_t>& dims = spec_.batch().dims(feature);
  ChunkValues& v = values_[column];
  const bool framed = c.sequence && !c.ragged;
  v.frame.assign(dims.begin() + (framed ? 1 : 0), dims.end());
  if (!c.ragged) {
    const Tensor& fixed = fixed_[feature];
    v.frames = framed ? dims[0] : 1;
    if (c.type == DT_STRING) {
      v.texts = fixed.flat<tstring>().data();
    } else {
      v.data = static_cast<const char*>(fixed.data());
    }
    return;
  }
  const Joined& list = decoder_->list(feature);
  v.splits = list.splits().data();
  v.data = list.data();
  if (c.type != DT_STRING) return;
  std::vector<tstring>& texts = texts_[column];
  texts.resize(list.texts().size());
  size_t begin = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i].assign(list.data() + begin, list.texts()[i] - begin);
    begin = list.texts()[i];
  }
  v.texts = texts.data();
}

}  // namespace millrace
