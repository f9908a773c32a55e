#include "chunk_spec.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "fault.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr char kNames[] = "names";
constexpr char kRagged[] = "ragged";
constexpr char kSequence[] = "sequence";
constexpr char kLeft[] = "left";
constexpr char kRight[] = "right";
constexpr char kFixed[] = "fixed";
constexpr char kChunkParts[] = "parts";
constexpr char kOfColumn[] = "of";
constexpr char kEach[] = "each";
constexpr char kFillValues[] = "fills";
constexpr char kFillDTypes[] = "Tfills";
constexpr int64_t kMaxFrames = int64_t{1} << 31;

struct PartName {
  const char* name;
  ChunkPart part;
};

constexpr PartName kPartNames[] = {
    {"row", ChunkPart::kRow},           {"joined", ChunkPart::kJoined},
    {"splits", ChunkPart::kSplits},     {"size", ChunkPart::kSize},
    {"length", ChunkPart::kLength},     {"mask", ChunkPart::kMask},
    {"elements", ChunkPart::kElements}, {"start", ChunkPart::kStart},
    {"end", ChunkPart::kEnd},           {"place", ChunkPart::kPlace},
};

// HasColumn reports whether a part belongs to a column.
bool HasColumn(ChunkPart part) {
  return part != ChunkPart::kStart && part != ChunkPart::kEnd &&
         part != ChunkPart::kPlace;
}

// TypeOf returns the type of a component, given the type of its column.
DataType TypeOf(ChunkPart part, DataType column) {
  switch (part) {
    case ChunkPart::kRow:
    case ChunkPart::kJoined:
      return column;
    case ChunkPart::kSize:
    case ChunkPart::kStart:
      return DT_INT32;
    case ChunkPart::kMask:
    case ChunkPart::kEnd:
      return DT_BOOL;
    default:
      return DT_INT64;
  }
}

}  // namespace

absl::Status ChunkSpec::Read(OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr(kNames, &names_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kRagged, &ragged_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kSequence, &sequence_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kLeft, &left_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kRight, &right_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFixed, &fixed_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kChunkParts, &parts_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kOfColumn, &of_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kEach, &each_));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFillDTypes, &fill_types_));
  TF_RETURN_IF_ERROR(ctx->GetAttr("output_types", &types_));
  TF_RETURN_IF_ERROR(ctx->GetAttr("output_shapes", &shapes_));
  const size_t n = names_.size(), m = parts_.size();
  if (ragged_.size() != n || sequence_.size() != n || left_.size() != n ||
      right_.size() != n || fixed_.size() != n || fill_types_.size() != n ||
      of_.size() != m || each_.size() != m || types_.size() != m ||
      shapes_.size() != m) {
    return absl::InvalidArgumentError(
        "the attributes of columns or of components differ in length");
  }
  for (size_t i = 0; i < n; ++i) {
    Column c;
    c.name = names_[i];
    c.type = fill_types_[i];
    c.ragged = ragged_[i];
    c.sequence = sequence_[i];
    c.left = left_[i];
    c.right = right_[i];
    c.fixed = fixed_[i];
    if (c.left < 0 || c.left > kMaxFrames || c.right < 0 ||
        c.right > kMaxFrames || c.fixed < -1 || c.fixed > kMaxFrames ||
        (!c.sequence && c.left + c.right > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", Quote(c.name, 256), ": a size out of range"));
    }
    if (c.sequence) sequences_.push_back(i);
    columns_.push_back(std::move(c));
  }
  if (sequences_.empty()) {
    return absl::InvalidArgumentError("no column is a sequence");
  }
  for (size_t i = 0; i < m; ++i) {
    Component c;
    bool known = false;
    for (const PartName& p : kPartNames) {
      if (parts_[i] != p.name) continue;
      known = true;
      c.part = p.part;
    }
    c.each = each_[i];
    c.column = static_cast<size_t>(of_[i]);
    if (!known || of_[i] < 0 || c.column >= n || c.each < 0 ||
        types_[i] != TypeOf(c.part, columns_[c.column].type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", i, " is no part of a column"));
    }
    const Column& of = columns_[c.column];
    const bool frames = of.ragged || of.sequence;
    if (HasColumn(c.part) && !frames && c.part != ChunkPart::kRow &&
        c.part != ChunkPart::kElements) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", i, ": the column has no frames"));
    }
    single_ =
        single_ || c.part == ChunkPart::kJoined || c.part == ChunkPart::kSplits;
    components_.push_back(c);
  }
  return absl::OkStatus();
}

absl::Status ChunkSpec::WithFills(OpKernelContext* ctx, ChunkSpec* spec) const {
  *spec = *this;
  OpInputList fills;
  TF_RETURN_IF_ERROR(ctx->input_list(kFillValues, &fills));
  if (static_cast<size_t>(fills.size()) != columns_.size()) {
    return absl::InvalidArgumentError("not one value to pad with a column");
  }
  for (int i = 0; i < fills.size(); ++i) {
    if (fills[i].dims() != 0) {
      return absl::InvalidArgumentError("a value to pad with is no scalar");
    }
    spec->columns_[i].fill = fills[i];
  }
  return absl::OkStatus();
}

absl::Status ChunkSpec::CheckInput(const DataTypeVector& types) const {
  DataTypeVector want;
  for (const Column& c : columns_) {
    want.push_back(c.type);
    if (c.ragged) want.push_back(DT_INT64);
  }
  want.push_back(DT_INT64);
  if (types == want) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the input has components of types ", DataTypeVectorString(types),
      ", want ", DataTypeVectorString(want)));
}

std::vector<std::pair<absl::string_view, AttrValue>> ChunkSpec::Attrs() const {
  std::vector<std::pair<absl::string_view, AttrValue>> attrs;
  const auto add = [&attrs](const char* name, const auto& value) {
    attrs.emplace_back(name, AttrValue());
    SetAttrValue(value, &attrs.back().second);
  };
  add(kNames, names_);
  add(kRagged, ragged_);
  add(kSequence, sequence_);
  add(kLeft, left_);
  add(kRight, right_);
  add(kFixed, fixed_);
  add(kChunkParts, parts_);
  add(kOfColumn, of_);
  add(kEach, each_);
  add(kFillDTypes, fill_types_);
  return attrs;
}

}  // namespace millrace
