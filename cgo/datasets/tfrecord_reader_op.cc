// MillraceTFRecordReader reads TFRecord files whose names come from a queue, in
// the place of TensorFlow's TFRecordReaderV2, which ends the process for a
// record header that claims too much. TensorFlow's operations on readers
// (ReaderReadV2 and the others) run it.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataset_base.h"
#include "env_source.h"
#include "record_reader.h"
#include "status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/reader_base.h"
#include "tensorflow/core/framework/reader_op_kernel.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr size_t kBufferBytes = 256 << 10;

// TFRecordReader goes through one file after the other. ReaderBase takes their
// names from the queue, counts, and calls the methods of this class one at a
// time.
class TFRecordReader : public ReaderBase {
 public:
  TFRecordReader(const std::string& name, Format format)
      : ReaderBase(absl::StrCat("MillraceTFRecordReader '", name, "'")),
        records_(kBufferBytes, Opener(format)) {}

  absl::Status OnWorkStartedLocked() override {
    damage_ = absl::OkStatus();
    Fault fault;
    if (records_.Open(current_work(), 0, 0, &fault)) return absl::OkStatus();
    return ToStatus(fault);
  }

  absl::Status OnWorkFinishedLocked() override {
    records_.Close();
    return absl::OkStatus();
  }

  absl::Status ResetLocked() override {
    records_.Close();
    damage_ = absl::OkStatus();
    return ReaderBase::ResetLocked();
  }

  // Behind damage nothing can be read, so that every further read of the file
  // fails in the same way, until the reader is reset.
  absl::Status ReadLocked(tstring* key, tstring* value, bool* produced,
                          bool* at_end) override {
    TF_RETURN_IF_ERROR(damage_);
    std::string_view record;
    Fault fault;
    switch (records_.Next(&record, &fault)) {
      case RecordReader::Outcome::kEnd:
        *at_end = true;
        return absl::OkStatus();
      case RecordReader::Outcome::kFault:
        damage_ = ToStatus(fault);
        return damage_;
      case RecordReader::Outcome::kRecord:
        break;
    }
    *key = KeyName(absl::StrCat(records_.last_offset()));
    value->assign(record.data(), record.size());
    *produced = true;
    return absl::OkStatus();
  }

 private:
  RecordReader records_;
  absl::Status damage_;  // of the file that is being read
};

class TFRecordReaderOp : public ReaderOpKernel {
 public:
  explicit TFRecordReaderOp(OpKernelConstruction* ctx) : ReaderOpKernel(ctx) {
    Format format;
    OP_REQUIRES_OK(ctx, ReadFormat(ctx, &format));
    SetReaderFactory(
        [this, format] { return new TFRecordReader(name(), format); });
  }
};

REGISTER_KERNEL_BUILDER(Name("MillraceTFRecordReader").Device(DEVICE_CPU),
                        TFRecordReaderOp);

}  // namespace
}  // namespace millrace
