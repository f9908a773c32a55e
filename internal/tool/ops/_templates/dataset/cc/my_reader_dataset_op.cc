// MyReaderDataset reads the records of files. This file is a starting point:
// change the format (RecordFile), the elements (output_dtypes, output_shapes)
// and the inputs and attributes (REGISTER_OP) to yours.
//
// The format is as small as one can be:
//
//   | length: 4 bytes, little-endian | record: `length` bytes | length | ...
//
// Three classes make a dataset:
//
//   MyReaderDatasetOp            the kernel: reads attributes and inputs
//     MyReaderDatasetOp::Dataset     what to read; it never changes
//       ...::Dataset::Iterator         where to go on; one for each loop
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/dataset.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/lib/core/coding.h"
#include "tensorflow/core/lib/io/buffered_inputstream.h"
#include "tensorflow/core/platform/env.h"

namespace myreader {
namespace {

using namespace tensorflow;  // NOLINT

constexpr int64_t kHeader = sizeof(uint32_t);
constexpr int64_t kMaxBuffer = int64_t{1} << 30;

// Place is where something is wrong.
struct Place {
  std::string file;
  int64_t record = 0;  // its ordinal in the file, from 0
  int64_t offset = 0;  // byte offset of the record's header
};

// ErrorAt returns a status about a place. Go gets the place as fields of a
// *millrace.Error: it reads the part in brackets, the query of a URL, and shows
// the rest. `kind` is the text of a millrace.Class, such as "corrupt data",
// "truncated" or "schema".
absl::Status ErrorAt(const Place& place, absl::StatusCode code,
                     const std::string& kind, const std::string& what) {
  const auto escape = [](const std::string& text) {
    std::string escaped;
    for (unsigned char c : text) {
      if (absl::ascii_isalnum(c)) {
        escaped += static_cast<char>(c);
      } else {
        absl::StrAppend(&escaped, "%", absl::Hex(c, absl::kZeroPad2));
      }
    }
    return escaped;
  };
  return absl::Status(
      code,
      absl::StrCat("file \"", place.file, "\": record ", place.record,
                   " (offset ", place.offset, "): ", what,
                   " [millrace.fault class=", escape(kind),
                   "&file=", escape(place.file), "&record=", place.record,
                   "&offset=", place.offset, "&what=", escape(what), "]"));
}

// RecordFile reads one file from its begin to its end. TensorFlow opens the
// file, so every file system works that TensorFlow knows.
class RecordFile {
 public:
  absl::Status Open(const std::string& name, int64_t buffer_size) {
    Env* const env = Env::Default();
    uint64_t size = 0;
    TF_RETURN_IF_ERROR(env->GetFileSize(name, &size));
    TF_RETURN_IF_ERROR(env->NewRandomAccessFile(name, &file_));
    stream_ = std::make_unique<io::BufferedInputStream>(
        file_.get(), static_cast<size_t>(buffer_size));
    size_ = static_cast<int64_t>(size);
    place_ = {name, 0, 0};
    return absl::OkStatus();
  }

  // Read reads a record, or says that there is none left. After an error the
  // next call gives the same error.
  absl::Status Read(int64_t max_record_bytes, tstring* record, bool* end) {
    const int64_t left = size_ - place_.offset;
    *end = left == 0;
    if (*end) return absl::OkStatus();
    if (left < kHeader) return Truncated("the file ends within a length");
    TF_RETURN_IF_ERROR(stream_->Seek(place_.offset));
    tstring header;
    TF_RETURN_IF_ERROR(stream_->ReadNBytes(kHeader, &header));
    const int64_t length = core::DecodeFixed32(header.data());
    if (length > max_record_bytes) {
      return ErrorAt(place_, absl::StatusCode::kDataLoss, "corrupt data",
                     absl::StrCat("a length of ", length, " bytes, at most ",
                                  max_record_bytes, " are allowed"));
    }
    if (length > left - kHeader) {
      return Truncated(absl::StrCat("a length of ", length, " bytes, but ",
                                    left - kHeader, " are left"));
    }
    TF_RETURN_IF_ERROR(stream_->ReadNBytes(length, record));
    place_.record++;
    place_.offset += kHeader + length;
    return absl::OkStatus();
  }

  const Place& place() const { return place_; }

  // Seek goes to a record, which the iterator's state names.
  absl::Status Seek(int64_t record, int64_t offset) {
    if (record < 0 || offset < 0 || offset > size_) {
      return absl::FailedPreconditionError(
          absl::StrCat("the state goes on at offset ", offset, " of \"",
                       place_.file, "\", which has ", size_, " bytes"));
    }
    place_.record = record;
    place_.offset = offset;
    return absl::OkStatus();
  }

 private:
  absl::Status Truncated(const std::string& what) const {
    return ErrorAt(place_, absl::StatusCode::kDataLoss, "truncated", what);
  }

  std::unique_ptr<RandomAccessFile> file_;
  std::unique_ptr<io::BufferedInputStream> stream_;  // reads file_
  int64_t size_ = 0;
  Place place_;  // location of the next record
};

class MyReaderDatasetOp : public data::DatasetOpKernel {
 public:
  explicit MyReaderDatasetOp(OpKernelConstruction* ctx) : DatasetOpKernel(ctx) {
    // Attributes are constants of the graph. The op's definition has checked
    // their types and minima.
    OP_REQUIRES_OK(ctx, ctx->GetAttr("max_record_bytes", &max_record_bytes_));
  }

 protected:
  void MakeDataset(OpKernelContext* ctx, data::DatasetBase** output) override {
    // Inputs are tensors of the graph. Check them here: what is refused here
    // fails when the iterator is made, before anything is read.
    std::vector<tstring> filenames;
    int64_t buffer_size = 0;
    OP_REQUIRES_OK(
        ctx, data::ParseVectorArgument<tstring>(ctx, "filenames", &filenames));
    OP_REQUIRES_OK(ctx, data::ParseScalarArgument<int64_t>(ctx, "buffer_size",
                                                           &buffer_size));
    OP_REQUIRES(
        ctx, buffer_size >= 1 && buffer_size <= kMaxBuffer,
        absl::InvalidArgumentError(absl::StrCat("buffer_size is ", buffer_size,
                                                ", want 1 to ", kMaxBuffer)));
    *output =
        new Dataset(ctx, std::move(filenames), buffer_size, max_record_bytes_);
  }

 private:
  class Dataset : public data::DatasetBase {
   public:
    Dataset(OpKernelContext* ctx, std::vector<tstring> filenames,
            int64_t buffer_size, int64_t max_record_bytes)
        : DatasetBase(data::DatasetContext(ctx)),
          filenames_(std::move(filenames)),
          buffer_size_(buffer_size),
          max_record_bytes_(max_record_bytes) {}

    std::unique_ptr<data::IteratorBase> MakeIteratorInternal(
        const std::string& prefix) const override {
      return std::make_unique<Iterator>(
          Iterator::Params{this, absl::StrCat(prefix, "::MyReader")});
    }

    // An element has a fixed number of components, each with a type and a
    // shape. Here it is a scalar string.
    const DataTypeVector& output_dtypes() const override {
      static const auto* const dtypes = new DataTypeVector({DT_STRING});
      return *dtypes;
    }
    const std::vector<PartialTensorShape>& output_shapes() const override {
      static const auto* const shapes =
          new std::vector<PartialTensorShape>({PartialTensorShape({})});
      return *shapes;
    }

    std::string DebugString() const override {
      return "MyReaderDatasetOp::Dataset";
    }

    // The datasets that this one reads from: none.
    absl::Status InputDatasets(
        std::vector<const data::DatasetBase*>*) const override {
      return absl::OkStatus();
    }

    // Whether there is state that a saved iterator would lack: none.
    absl::Status CheckExternalState() const override {
      return absl::OkStatus();
    }

   protected:
    // AsGraphDefInternal describes the dataset as a node: the inputs and
    // attributes of REGISTER_OP, in its order. Without it the dataset could be
    // neither rewritten nor saved.
    absl::Status AsGraphDefInternal(data::SerializationContext*,
                                    DatasetGraphDefBuilder* b,
                                    Node** output) const override {
      Node* filenames;
      Node* buffer_size;
      TF_RETURN_IF_ERROR(b->AddVector(filenames_, &filenames));
      TF_RETURN_IF_ERROR(b->AddScalar(buffer_size_, &buffer_size));
      AttrValue max_record_bytes;
      b->BuildAttrValue(max_record_bytes_, &max_record_bytes);
      return b->AddDataset(this, {filenames, buffer_size},
                           {{"max_record_bytes", max_record_bytes}}, output);
    }

   private:
    class Iterator : public data::DatasetIterator<Dataset> {
     public:
      explicit Iterator(const Params& params) : DatasetIterator(params) {}

      // GetNextInternal makes an element. There are three cases:
      //   1. an element: add a tensor for each component to `out_tensors`
      //   2. the end: set `*end_of_sequence`
      //   3. an error: return it; `out_tensors` stays empty
      // Several threads may call it at once.
      absl::Status GetNextInternal(data::IteratorContext* ctx,
                                   std::vector<Tensor>* out_tensors,
                                   bool* end_of_sequence) override {
        absl::MutexLock lock(&mu_);
        Tensor record(ctx->allocator({}), DT_STRING, {});
        TF_RETURN_IF_ERROR(
            Next(ctx, &record.scalar<tstring>()(), end_of_sequence));
        if (!*end_of_sequence) out_tensors->push_back(std::move(record));
        return absl::OkStatus();
      }

     protected:
      // SaveInternal writes where to go on. The state may be restored in
      // another process.
      absl::Status SaveInternal(data::SerializationContext*,
                                data::IteratorStateWriter* writer) override {
        absl::MutexLock lock(&mu_);
        const Place place = file_ == nullptr ? Place() : file_->place();
        TF_RETURN_IF_ERROR(writer->WriteScalar(prefix(), "file", index_));
        TF_RETURN_IF_ERROR(
            writer->WriteScalar(prefix(), "record", place.record));
        return writer->WriteScalar(prefix(), "offset", place.offset);
      }

      absl::Status RestoreInternal(data::IteratorContext*,
                                   data::IteratorStateReader* reader) override {
        absl::MutexLock lock(&mu_);
        int64_t file = 0, record = 0, offset = 0;
        TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "file", &file));
        TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "record", &record));
        TF_RETURN_IF_ERROR(reader->ReadScalar(prefix(), "offset", &offset));
        if (file < 0 || file > Files()) {
          return absl::FailedPreconditionError(absl::StrCat(
              "the state goes on in file ", file, " of ", Files()));
        }
        index_ = file;
        file_.reset();
        if (index_ == Files()) return absl::OkStatus();
        TF_RETURN_IF_ERROR(OpenFile());
        return file_->Seek(record, offset);
      }

     private:
      // Next reads the next record, of the next file if need be.
      absl::Status Next(data::IteratorContext* ctx, tstring* record, bool* end)
          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        while (index_ < Files()) {
          if (ctx->cancellation_manager() != nullptr &&
              ctx->cancellation_manager()->IsCancelled()) {
            return absl::CancelledError("the iterator was cancelled");
          }
          if (file_ == nullptr) TF_RETURN_IF_ERROR(OpenFile());
          bool file_end;
          TF_RETURN_IF_ERROR(
              file_->Read(dataset()->max_record_bytes_, record, &file_end));
          if (!file_end) {
            *end = false;
            return absl::OkStatus();
          }
          file_.reset();
          ++index_;
        }
        *end = true;
        return absl::OkStatus();
      }

      absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        auto file = std::make_unique<RecordFile>();
        TF_RETURN_IF_ERROR(
            file->Open(dataset()->filenames_[index_], dataset()->buffer_size_));
        file_ = std::move(file);
        return absl::OkStatus();
      }

      int64_t Files() const { return dataset()->filenames_.size(); }

      absl::Mutex mu_;
      int64_t index_ ABSL_GUARDED_BY(mu_) = 0;  // index of the file
      std::unique_ptr<RecordFile> file_
          ABSL_GUARDED_BY(mu_);  // null: not opened yet
    };

    const std::vector<tstring> filenames_;
    const int64_t buffer_size_;
    const int64_t max_record_bytes_;
  };

  int64_t max_record_bytes_;
};

// A dataset op has one output, a variant that holds the dataset.
REGISTER_OP("MyReaderDataset")
    .Input("filenames: string")
    .Input("buffer_size: int64")
    .Output("handle: variant")
    .Attr("max_record_bytes: int >= 1 = 268435456")
    .SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(reads the records of files, one file after the other.

filenames: the files, a scalar or a vector
buffer_size: how many bytes to read at a time
max_record_bytes: a longer record is an error
handle: the dataset, whose elements are scalar strings
)doc");

REGISTER_KERNEL_BUILDER(Name("MyReaderDataset").Device(DEVICE_CPU),
                        MyReaderDatasetOp);

}  // namespace
}  // namespace myreader
