#include "ordered_windows.h"

#include <cstdint>
#include <vector>

#include "dataset_base.h"
#include "status.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr char kWindow[] = "window";
constexpr int64_t kWindowNumbers = 6;

}  // namespace

// ReadForm reads the rules for windows.
absl::Status OrderedWindows::ReadForm() {
  if (window.dims() != 1 || window.NumElements() != kWindowNumbers) {
    return absl::InvalidArgumentError("want six numbers about windows");
  }
  const auto numbers = window.vec<int64_t>();
  constexpr int64_t kMax = INT32_MAX;
  TF_RETURN_IF_ERROR(CheckRange("size of windows", numbers(0), 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange("step of windows", numbers(1), 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange("units of records", numbers(2), 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange("first record", numbers(4), 0, INT64_MAX));
  form = {numbers(0),      numbers(1), numbers(2),
          numbers(3) != 0, numbers(4), numbers(5) < 0 ? INT64_MAX : numbers(5)};
  return absl::OkStatus();
}

absl::Status OrderedWindows::Read(OpKernelContext* ctx,
                                  const OrderRules& rules) {
  const Tensor* given;
  TF_RETURN_IF_ERROR(ctx->input(kWindow, &given));
  window = *given;
  TF_RETURN_IF_ERROR(ReadForm());
  const auto count = [&](const std::vector<int64_t>& counts,
                         std::vector<int64_t>* windows) {
    int64_t records = 0, units = 0;
    for (const int64_t c : counts) records += c;
    if (__builtin_mul_overflow(records, form.each, &units)) {
      return absl::InvalidArgumentError("the records have too many units");
    }
    spans = std::make_shared<WindowSpans>(form, counts);
    *windows = spans->InFiles();
    return absl::OkStatus();
  };
  return files.ReadOf(ctx, rules, count);
}

}  // namespace millrace
