#include "record_group.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr char kFeatures[] = "features";

}  // namespace

absl::Status RecordSpec::Read(OpKernelConstruction* ctx,
                              const ChunkSpec& chunks) {
  TF_RETURN_IF_ERROR(form_.Read(ctx));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFeatures, &features_));
  if (features_.size() != chunks.columns().size()) {
    return absl::InvalidArgumentError("not one feature for each column");
  }
  const BatchSpec& batch = form_.batch();
  for (size_t i = 0; i < features_.size(); ++i) {
    const ChunkSpec::Column& c = chunks.columns()[i];
    const bool known =
        features_[i] >= 0 &&
        features_[i] < static_cast<int64_t>(batch.features().size());
    if (!known || batch.types()[feature(i)] != c.type ||
        batch.features()[feature(i)].is_list != c.ragged ||
        (c.sequence && !c.ragged && batch.dims(feature(i)).empty())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column ", Quote(c.name, 256), " is not that of its feature"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::pair<absl::string_view, AttrValue>> RecordSpec::Attrs() const {
  auto attrs = form_.Attrs();
  attrs.emplace_back(kFeatures, AttrValue());
  SetAttrValue(features_, &attrs.back().second);
  return attrs;
}

RecordGroup::RecordGroup(const RecordSpec& spec, const ChunkSpec& chunks)
    : spec_(spec), chunks_(chunks), row_(spec.form()) {
  records_ = 1;
  values_.resize(chunks.columns().size());
  texts_.resize(chunks.columns().size());
}

bool RecordGroup::Decode(std::string_view record, Fault* fault) {
  if (!row_.Decode(record, fault)) return false;
  try {
    for (size_t i = 0; i < values_.size(); ++i) Refer(i);
  } catch (const std::bad_alloc&) {
    return fault->Set(Cause::kResourceExhausted, "no memory for a record");
  }
  return true;
}

// Refer finds the values of a decoded column.
void RecordGroup::Refer(size_t column) {
  const ChunkSpec::Column& c = chunks_.columns()[column];
  const size_t feature = spec_.feature(column);
  const std::vector<int64_t>& dims = spec_.form().batch().dims(feature);
  ChunkValues& v = values_[column];
  const bool framed = c.sequence && !c.ragged;
  v.frame.assign(dims.begin() + (framed ? 1 : 0), dims.end());
  if (!c.ragged) {
    const Tensor& fixed = row_.fixed(feature);
    v.frames = framed ? dims[0] : 1;
    if (c.type == DT_STRING) {
      v.texts = fixed.flat<tstring>().data();
    } else {
      v.data = static_cast<const char*>(fixed.data());
    }
    return;
  }
  const Joined& list = row_.list(feature);
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
