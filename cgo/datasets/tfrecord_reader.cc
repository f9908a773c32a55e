#include "tfrecord_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "env_source.h"
#include "status.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

constexpr size_t kBufferBytes = 256 << 10;

// NextFile waits until the queue has a name.
absl::Status NextFile(QueueInterface* queue, OpKernelContext* ctx,
                      std::string* file) {
  absl::Notification done;
  queue->TryDequeue(ctx, [&](const QueueInterface::Tuple& name) {
    if (!ctx->status().ok()) {
    } else if (name.size() != 1 || name[0].dtype() != DT_STRING ||
               name[0].NumElements() != 1) {
      ctx->SetStatus(absl::InvalidArgumentError(
          "an element of the queue of file names must be one string"));
    } else {
      *file = name[0].flat<tstring>()(0);
    }
    done.Notify();
  });
  done.WaitForNotification();
  return ctx->status();
}

}  // namespace

TFRecordReader::TFRecordReader(std::string name, Format format)
    : name_(std::move(name)), records_(kBufferBytes, Opener(format)) {}

// ReadFile takes up to n records of the open file. At the end of the file it
// closes it, unless n records came before.
absl::Status TFRecordReader::ReadFile(int64_t n, Take take, int64_t* taken) {
  TF_RETURN_IF_ERROR(damage_);
  for (*taken = 0; *taken < n; ++*taken) {
    std::string_view record;
    Fault fault;
    switch (records_.Next(&record, &fault)) {
      case RecordReader::Outcome::kEnd:
        records_.Close();
        reading_ = false;
        ++files_completed_;
        return absl::OkStatus();
      case RecordReader::Outcome::kFault:
        damage_ = ToStatus(fault);
        return damage_;
      case RecordReader::Outcome::kRecord:
        break;
    }
    ++records_produced_;
    take(absl::StrCat(file_, ":", records_.last_offset()), record);
  }
  return absl::OkStatus();
}

absl::Status TFRecordReader::OpenNext(const std::string& file) {
  file_ = file;
  damage_ = absl::OkStatus();
  Fault fault;
  reading_ = records_.Open(file_, 0, 0, &fault);
  return reading_ ? absl::OkStatus() : ToStatus(fault);
}

bool TFRecordReader::TryRead(int64_t n, Take take, absl::Status* status) {
  const absl::MutexLock lock(&mu_);
  if (!reading_) return false;
  int64_t taken = 0;
  *status = ReadFile(n, take, &taken);
  return taken > 0 || n == 0 || !status->ok();
}

absl::Status TFRecordReader::ReadOn(int64_t n, QueueInterface* queue,
                                    OpKernelContext* ctx, Take take) {
  const absl::MutexLock lock(&mu_);
  while (true) {
    mu_.Await(absl::Condition(
        +[](bool* asking) { return !*asking; }, &asking_));
    if (reading_) {
      int64_t taken = 0;
      TF_RETURN_IF_ERROR(ReadFile(n, take, &taken));
      if (taken > 0 || n == 0) return absl::OkStatus();
      continue;
    }
    if (n == 0) return absl::OkStatus();
    asking_ = true;
    mu_.Unlock();
    std::string file;
    const absl::Status named = NextFile(queue, ctx, &file);
    mu_.Lock();
    asking_ = false;
    TF_RETURN_IF_ERROR(named);
    TF_RETURN_IF_ERROR(OpenNext(file));
  }
}

void TFRecordReader::Read(QueueInterface* queue, tstring* key, tstring* value,
                          OpKernelContext* ctx) {
  const absl::Status status =
      ReadOn(1, queue, ctx, [&](std::string k, std::string_view record) {
        *key = std::move(k);
        value->assign(record.data(), record.size());
      });
  if (!status.ok()) ctx->SetStatus(status);
}

int64_t TFRecordReader::ReadUpTo(int64_t n, QueueInterface* queue,
                                 std::vector<tstring>* keys,
                                 std::vector<tstring>* values,
                                 OpKernelContext* ctx) {
  const absl::Status status =
      ReadOn(n, queue, ctx, [&](std::string key, std::string_view record) {
        keys->emplace_back(std::move(key));
        values->emplace_back(record);
      });
  if (!status.ok()) ctx->SetStatus(status);
  return static_cast<int64_t>(keys->size());
}

absl::Status TFRecordReader::Reset() {
  const absl::MutexLock lock(&mu_);
  records_.Close();
  reading_ = false;
  damage_ = absl::OkStatus();
  records_produced_ = files_completed_ = 0;
  return absl::OkStatus();
}

int64_t TFRecordReader::NumRecordsProduced() {
  const absl::MutexLock lock(&mu_);
  return records_produced_;
}

int64_t TFRecordReader::NumWorkUnitsCompleted() {
  const absl::MutexLock lock(&mu_);
  return files_completed_;
}

absl::Status TFRecordReader::SerializeState(tstring*) {
  return Unimplemented("saved");
}

absl::Status TFRecordReader::RestoreState(const tstring&) {
  return Unimplemented("restored");
}

absl::Status TFRecordReader::Unimplemented(const char* what) const {
  return absl::UnimplementedError(
      absl::StrCat("the state of the reader '", name_, "' cannot be ", what));
}

}  // namespace millrace
