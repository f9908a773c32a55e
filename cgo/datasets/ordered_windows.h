// What ops that read windows in a computed order have in common.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_
#define MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "dataset_base.h"
#include "ordered_files.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "window_spans.h"

namespace millrace {

// OrderedWindows has files, and the order of the windows of one size in them.
struct OrderedWindows {
  OrderedFiles files;
  WindowForm form;
  std::shared_ptr<const WindowSpans> spans;
  tensorflow::Tensor window;  // the input with the form

  absl::Status Read(tensorflow::OpKernelContext* ctx, const OrderRules& rules);

 private:
  absl::Status ReadForm();
};

// OrderedWindowPosition is the state of an iterator over such windows.
struct OrderedWindowPosition {
  int64_t next = 0;  // windows before it
};

// OrderedWindowsIterator is an iterator over the windows of a dataset that has
// windows().
template <typename Dataset>
class OrderedWindowsIterator
    : public FileIterator<Dataset, OrderedWindowPosition> {
 public:
  using Params = typename FileIterator<Dataset, OrderedWindowPosition>::Params;

  explicit OrderedWindowsIterator(const Params& params)
      : FileIterator<Dataset, OrderedWindowPosition>(params),
        order_(windows().files.order()),
        records_(windows().files.NewPicker()),
        next_(windows().files.start()) {}

 protected:
  OrderedWindowPosition Tell() const override { return {next_}; }
  void Seek(const OrderedWindowPosition& at) override { next_ = at.next; }
  bool Fits(const OrderedWindowPosition& at) const override {
    return at.next >= 0 && at.next <= windows().files.end();
  }

  const OrderedWindows& windows() const { return this->dataset()->windows(); }

  // SpanAt returns the window at a position.
  WindowSpan SpanAt(int64_t position) {
    return windows().spans->At(order_.At(position));
  }

  RecordOrder order_;                             // guarded by mu_
  const std::unique_ptr<PickedRecords> records_;  // guarded by mu_
  int64_t next_;                                  // guarded by mu_
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_WINDOWS_H_
