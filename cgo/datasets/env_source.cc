#include "env_source.h"

#include <algorithm>
#include <cinttypes>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ahead_source.h"
#include "status.h"
#include "tensorflow/core/platform/env.h"

namespace millrace {
namespace {

constexpr absl::string_view kFileScheme = "file://";

// EnvSource reads a file through TensorFlow.
class EnvSource : public ByteSource {
 public:
  static std::unique_ptr<EnvSource> Open(const std::string& path,
                                         Fault* fault) {
    tensorflow::Env* const env = tensorflow::Env::Default();
    std::unique_ptr<EnvSource> source(new EnvSource(path));
    uint64_t size = 0;
    absl::Status s = env->NewRandomAccessFile(path, &source->file_);
    if (s.ok()) s = env->GetFileSize(path, &size);
    if (!s.ok()) {
      *fault = ToFault(s);
      return nullptr;
    }
    source->size_ = static_cast<int64_t>(size);
    return source;
  }

  bool Read(char* to, size_t n, size_t* got, Fault* fault) override {
    *got = 0;
    n = static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(n), left()));
    if (n == 0) return true;
    absl::string_view read;
    const absl::Status s =
        file_->Read(static_cast<uint64_t>(at_), read, absl::MakeSpan(to, n));
    if (!s.ok() && !absl::IsOutOfRange(s)) {
      *fault = ToFault(s);
      return false;
    }
    if (read.empty()) {
      return fault->Set(Cause::kFailedPrecondition,
                        "the file shrank while it was read");
    }
    if (read.data() != to) std::copy(read.begin(), read.end(), to);
    *got = read.size();
    at_ += static_cast<int64_t>(read.size());
    return true;
  }

  bool Skip(int64_t n, Fault* fault) override {
    if (n > left()) {
      return fault->Set(Cause::kFailedPrecondition,
                        "it has %" PRId64
                        " bytes, reading was to go on at %" PRId64,
                        size_, at_ + n);
    }
    at_ += n;
    return true;
  }

  int64_t left() const override { return size_ - at_; }

  bool CheckEnd(Fault* fault) override {
    uint64_t size = 0;
    const absl::Status s =
        tensorflow::Env::Default()->GetFileSize(path_, &size);
    if (!s.ok()) {
      *fault = ToFault(s);
      return false;
    }
    if (static_cast<int64_t>(size) == size_) return true;
    return fault->Set(Cause::kFailedPrecondition,
                      "the file changed while it was read: it had %" PRId64
                      " bytes and has %" PRIu64,
                      size_, size);
  }

 private:
  explicit EnvSource(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<tensorflow::RandomAccessFile> file_;
  int64_t size_ = 0;
  int64_t at_ = 0;
};

std::unique_ptr<ByteSource> OpenBytes(const std::string& path, Fault* fault) {
  if (absl::StartsWith(path, kFileScheme)) {
    const size_t root = path.find('/', kFileScheme.size());  // after a host
    return OpenFile(root == path.npos ? "" : path.substr(root), fault);
  }
  if (!absl::StrContains(path, "://")) return OpenFile(path, fault);
  return EnvSource::Open(path, fault);
}

}  // namespace

OpenSource Opener(Format format) {
  return [format](const std::string& path,
                  Fault* fault) -> std::unique_ptr<ByteSource> {
    auto source = Inflate(OpenBytes(path, fault), format, fault);
    if (source == nullptr || format == Format::kPlain) return source;
    return std::make_unique<AheadSource>(std::move(source));
  };
}

}  // namespace millrace
