#include "dataset_base.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr const char* kFormats[] = {"", "GZIP", "ZLIB"};  // indexed by Format

}  // namespace

absl::Status FileInputs::ReadFiles(OpKernelContext* ctx, Format stored) {
  const Tensor* names;
  const Tensor* numbers;
  TF_RETURN_IF_ERROR(ctx->input(kFilenames, &names));
  TF_RETURN_IF_ERROR(ctx->input(kCounts, &numbers));
  const bool unknown = numbers->NumElements() == 0;
  if (names->dims() > 1 || names->dtype() != DT_STRING ||
      numbers->dtype() != DT_INT64 ||
      (!unknown && names->shape() != numbers->shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        names->NumElements(), " filenames, but ", numbers->NumElements(),
        " counts; want a scalar or a vector of each"));
  }
  for (int64_t i = 0; i < names->NumElements(); ++i) {
    files.names.emplace_back(names->flat<tstring>()(i));
    files.counts.push_back(unknown ? -1 : numbers->flat<int64_t>()(i));
  }
  format = stored;
  TF_RETURN_IF_ERROR(
      data::ParseScalarArgument(ctx, kBufferBytes, &buffer_bytes));
  return CheckRange(kBufferBytes, buffer_bytes, 0, kMaxBuffer);
}

absl::Status ReadFormat(OpKernelConstruction* ctx, Format* format) {
  std::string name;
  TF_RETURN_IF_ERROR(ctx->GetAttr(kCompression, &name));
  for (Format f : {Format::kPlain, Format::kGzip, Format::kZlib}) {
    if (name != FormatName(f)) continue;
    *format = f;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("unknown compression");
}

absl::Status ReadSkipped(OpKernelConstruction* ctx, SkippedRecords* skipped) {
  if (!ctx->HasAttr(kSkipped)) return absl::OkStatus();
  std::vector<int64_t> numbers;
  TF_RETURN_IF_ERROR(ctx->GetAttr(kSkipped, &numbers));
  if (skipped->Set(numbers)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "want three numbers for each skipped record, sorted");
}

absl::Status CheckSkipped(const SkippedRecords& skipped, int64_t records,
                          int64_t epochs) {
  const auto n = static_cast<int64_t>(skipped.size());
  if (n == 0 || epochs >= 0 || records < 0 || n < records) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("all records are skipped, without end");
}

const char* FormatName(Format format) {
  return kFormats[static_cast<size_t>(format)];
}

absl::Status CheckRange(const char* input, int64_t value, int64_t least,
                        int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(input, " is ", value, ", want ", least, " to ", most));
}

absl::Status CheckRecords(const data::DatasetBase* input) {
  const DataTypeVector& types = input->output_dtypes();
  if (types.size() == 1 && types[0] == DT_STRING &&
      input->output_shapes()[0].IsCompatibleWith(PartialTensorShape({}))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the input must be a dataset of one scalar string");
}

absl::Status CheckCancelled(data::IteratorContext* ctx) {
  if (ctx->cancellation_manager() != nullptr &&
      ctx->cancellation_manager()->IsCancelled()) {
    return absl::CancelledError("the iterator was cancelled");
  }
  return absl::OkStatus();
}

}  // namespace millrace
