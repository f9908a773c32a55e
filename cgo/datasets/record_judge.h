// A function of the graph that decides about records.
#ifndef MILLRACE_CGO_DATASETS_RECORD_JUDGE_H_
#define MILLRACE_CGO_DATASETS_RECORD_JUDGE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "fault.h"
#include "record_walk.h"
#include "tensorflow/core/data/captured_function.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

constexpr char kJudge[] = "f";

// RecordJudge is the function that a dataset op with the attribute "f" calls
// for records that it cannot certainly decode. The arguments are the index of
// the file, the record in it and its offset or, in a computed order, its
// position in that order instead of the offset. The last argument is a vector
// of its data, empty if it could not be read. The results are the record to
// continue with and its offset: -1 and -1 if this record is good, and any
// record and -1 if the rest of the file is to be skipped. The function fails if
// the run has to end.
class RecordJudge {
 public:
  // Read returns the function's metadata when the kernel is made; nullptr for
  // an op without a function.
  static absl::Status Read(
      tensorflow::OpKernelConstruction* ctx,
      std::shared_ptr<tensorflow::data::FunctionMetadata>* metadata);

  // Create returns the judge of a dataset, nullptr without metadata.
  static absl::Status Create(
      tensorflow::OpKernelContext* ctx,
      std::shared_ptr<tensorflow::data::FunctionMetadata> metadata,
      std::unique_ptr<tensorflow::data::CapturedFunction>* judge);

  // Start makes an iterator use the judge of its dataset, if there is one.
  absl::Status Start(tensorflow::data::IteratorContext* ctx,
                     tensorflow::data::CapturedFunction* judge);

  // there reports whether there is a judge.
  bool there() const { return function_ != nullptr; }

  // Ask decides about a record, whose data are nullptr if it could not be read,
  // and returns where to continue if it is bad.
  absl::Status Ask(tensorflow::data::IteratorContext* ctx,
                   const WalkPosition& record, const std::string_view* data,
                   bool* good, WalkPosition* next) const;

  // PassOver calls the judge for the record of a fault, and makes the walk
  // continue after it if it is bad. Without a judge, or if no record is at
  // fault, the fault is a failure. `data` is nullptr if the record could not be
  // read, `first_file` is the index of the walk's first file.
  absl::Status PassOver(tensorflow::data::IteratorContext* ctx,
                        const Fault& fault, const std::string_view* data,
                        int64_t first_file, RecordWalk* walk, bool* good) const;

 private:
  std::unique_ptr<tensorflow::data::InstantiatedCapturedFunction> function_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_JUDGE_H_
