#include "chunk_form.h"

#include "dataset_base.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

// CheckRules reports rules that are out of range.
absl::Status CheckRules(const std::vector<int64_t>& r, bool aligned,
                        bool single) {
  if (r.size() != 4) return absl::InvalidArgumentError("want 4 rules");
  TF_RETURN_IF_ERROR(CheckRange("the size of a chunk", r[0], 0, kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange("the step", r[1], r[0] > 0 ? 1 : 0, kMaxSize));
  TF_RETURN_IF_ERROR(CheckRange("the frames of a batch", r[2], 1, INT64_MAX));
  TF_RETURN_IF_ERROR(CheckRange("the rows of a batch", r[3], single ? 1 : 0,
                                single ? 1 : kMaxSize));
  if (r[0] > 0 && !aligned) {
    return absl::InvalidArgumentError("chunks need aligned sequences");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ChunkForm::Read(OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(spec_.Read(ctx));
  TF_RETURN_IF_ERROR(ctx->GetAttr("aligned", &aligned_));
  return ctx->GetAttr("keep_tail", &keep_tail_);
}

absl::Status ChunkForm::WithInputs(OpKernelContext* ctx,
                                   ChunkForm* form) const {
  *form = *this;
  TF_RETURN_IF_ERROR(
      data::ParseVectorArgument<int64_t>(ctx, "rules", &form->rules_));
  TF_RETURN_IF_ERROR(CheckRules(form->rules_, aligned_, spec_.single()));
  return spec_.WithFills(ctx, &form->spec_);
}

ChunkRules ChunkForm::rules() const {
  return {rules_[0], rules_[1], keep_tail_};
}

Budget ChunkForm::NewBudget() const {
  std::vector<int64_t> fixed;
  for (size_t i : spec_.sequences()) {
    fixed.push_back(spec_.columns()[i].fixed);
  }
  return Budget(rules_[2], rules_[3], std::move(fixed));
}

}  // namespace millrace
