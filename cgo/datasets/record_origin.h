// The locations of an op's input records, from its inputs.
#ifndef MILLRACE_CGO_DATASETS_RECORD_ORIGIN_H_
#define MILLRACE_CGO_DATASETS_RECORD_ORIGIN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "batcher.h"
#include "placed_record.h"
#include "status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace millrace {

constexpr char kPlacedFiles[] = "placed_files";
constexpr char kPlaced[] = "placed";

// ReadOrigin reads the input with the files' names, an empty vector if the
// attribute declares records without locations.
inline absl::Status ReadOrigin(tensorflow::OpKernelContext* ctx, bool placed,
                               RecordOrigin* origin) {
  const tensorflow::Tensor* names;
  TF_RETURN_IF_ERROR(ctx->input(kPlacedFiles, &names));
  std::vector<std::string> files;
  for (int64_t i = 0; i < names->NumElements(); ++i) {
    files.emplace_back(names->flat<tensorflow::tstring>()(i));
  }
  *origin = RecordOrigin(placed, std::move(files));
  return absl::OkStatus();
}

// AddRecord adds a record to a batch as its row `row`. `element` is its index
// in the op's input.
inline absl::Status AddRecord(const RecordOrigin& origin,
                              std::string_view record, int64_t row,
                              int64_t element, Batcher* batcher) {
  Fault fault;
  RecordPlace place;
  if (origin.Split(&record, &place, &fault)) {
    if (batcher->Add(record, row, &fault)) return absl::OkStatus();
    origin.Describe(place, element, &fault);
  }
  return ToStatus(fault);
}

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_ORIGIN_H_
