// A reader of TFRecord files for TensorFlow's graphs.
#ifndef MILLRACE_CGO_DATASETS_TFRECORD_READER_H_
#define MILLRACE_CGO_DATASETS_TFRECORD_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "byte_source.h"
#include "record_reader.h"
#include "tensorflow/core/framework/queue_interface.h"
#include "tensorflow/core/framework/reader_interface.h"

namespace millrace {

// Reading without thread switches
//
// The question. A pipeline of queues reads one record a run. TensorFlow's
// ReaderRead may have to wait until its queue has a file name. So it runs each
// read in a separate thread, although nearly all reads find the next record in
// the open file. Two thread switches per record took most of the time of a run.
//
// The answer. TFRecordReader reports whether a read has to wait:
//
//   MillraceReaderRead                            TFRecordReader
//   ------------------                            --------------
//   TryRead ------------------------------------> a file is open: its records
//      in the calling thread <--------------------
//   TryRead ------------------------------------> none is open: false
//   Read, in the thread of the kernel ----------> waits for a name, opens it
//
// So threads are switched only once per file. A subclass of TensorFlow's
// ReaderBase cannot do that: ReaderBase holds its lock while it waits for a
// name, and a thread that waits for the lock cannot know whether that takes a
// microsecond or forever. Here the lock is held while records are read, but
// never while waiting for a name; `asking_` is set while a read waits.
//
// TensorFlow's own operations on readers (ReaderReadV2 and the others) work,
// too, and wait in their thread as with any reader.

// TFRecordReader reads one file after the other, whose names come from a queue.
// Any thread may call its methods.
class TFRecordReader : public tensorflow::ReaderInterface {
 public:
  // Take is called with the key of a record and the record, which is valid
  // during the call.
  using Take =
      absl::FunctionRef<void(std::string key, std::string_view record)>;

  // `name` is the name in messages.
  TFRecordReader(std::string name, Format format);

  // TryRead takes up to n records of the open file. It returns false, and takes
  // none, if it would have to wait for the name of the next file.
  bool TryRead(int64_t n, Take take, absl::Status* status);

  // ReadOn is TryRead that waits. It takes fewer than n records at the end of a
  // file, but at least one unless n is 0.
  absl::Status ReadOn(int64_t n, tensorflow::QueueInterface* queue,
                      tensorflow::OpKernelContext* ctx, Take take);

  // The methods of ReaderInterface.
  void Read(tensorflow::QueueInterface* queue, tensorflow::tstring* key,
            tensorflow::tstring* value,
            tensorflow::OpKernelContext* ctx) override;
  int64_t ReadUpTo(int64_t n, tensorflow::QueueInterface* queue,
                   std::vector<tensorflow::tstring>* keys,
                   std::vector<tensorflow::tstring>* values,
                   tensorflow::OpKernelContext* ctx) override;
  absl::Status Reset() override;
  int64_t NumRecordsProduced() override;
  int64_t NumWorkUnitsCompleted() override;
  absl::Status SerializeState(tensorflow::tstring* state) override;
  absl::Status RestoreState(const tensorflow::tstring& state) override;

 private:
  absl::Status ReadFile(int64_t n, Take take, int64_t* taken)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OpenNext(const std::string& file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Unimplemented(const char* what) const;

  const std::string name_;
  absl::Mutex mu_;
  RecordReader records_ ABSL_GUARDED_BY(mu_);
  std::string file_ ABSL_GUARDED_BY(mu_);
  bool reading_ ABSL_GUARDED_BY(mu_) = false;  // a file is open
  bool asking_ ABSL_GUARDED_BY(mu_) = false;   // a read waits for a name
  // State of the open file. After damage, every further read fails in the same
  // way until the reader is reset.
  absl::Status damage_ ABSL_GUARDED_BY(mu_);
  int64_t records_produced_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t files_completed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_TFRECORD_READER_H_
