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
#include "file_source.h"
#include "status.h"
#include "tensorflow/core/platform/env.h"

namespace millrace {
namespace {

constexpr absl::string_view kFileScheme = "file://";

// EnvFile reads a file through TensorFlow.
class EnvFile : public FileSource::Remote {
 public:
  static std::unique_ptr<FileSource::Remote> Open(const std::string& path,
                                                  int64_t* size, Fault* fault) {
    tensorflow::Env* const env = tensorflow::Env::Default();
    std::unique_ptr<EnvFile> file(new EnvFile(path));
    uint64_t bytes = 0;
    absl::Status s = env->NewRandomAccessFile(path, &file->file_);
    if (s.ok()) s = env->GetFileSize(path, &bytes);
    if (!s.ok()) {
      *fault = ToFault(s);
      return nullptr;
    }
    *size = static_cast<int64_t>(bytes);
    return file;
  }

  bool ReadAt(char* to, size_t n, int64_t offset, Fault* fault) const override {
    while (n > 0) {
      absl::string_view read;
      const absl::Status s = file_->Read(static_cast<uint64_t>(offset), read,
                                         absl::MakeSpan(to, n));
      if (!s.ok() && !absl::IsOutOfRange(s)) {
        *fault = ToFault(s);
        return false;
      }
      if (read.empty()) {
        return fault->Set(Cause::kFailedPrecondition,
                          "the file shrank while it was read");
      }
      if (read.data() != to) std::copy(read.begin(), read.end(), to);
      to += read.size();
      offset += static_cast<int64_t>(read.size());
      n -= read.size();
    }
    return true;
  }

  bool CheckEnd(int64_t size, Fault* fault) const override {
    uint64_t now = 0;
    const absl::Status s = tensorflow::Env::Default()->GetFileSize(path_, &now);
    if (!s.ok()) {
      *fault = ToFault(s);
      return false;
    }
    if (static_cast<int64_t>(now) == size) return true;
    return fault->Set(Cause::kFailedPrecondition,
                      "the file changed while it was read: it had %" PRId64
                      " bytes and has %" PRIu64,
                      size, now);
  }

 private:
  explicit EnvFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<tensorflow::RandomAccessFile> file_;
};

// The library sets this while it is loaded, before any operation runs.
const bool reads_schemes = (FileSource::SetOpenRemote(EnvFile::Open), true);

std::unique_ptr<ByteSource> OpenBytes(const std::string& path, Fault* fault) {
  if (absl::StartsWith(path, kFileScheme)) {
    const size_t root = path.find('/', kFileScheme.size());  // after a host
    return OpenFile(root == path.npos ? "" : path.substr(root), fault);
  }
  return OpenFile(path, fault);
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
