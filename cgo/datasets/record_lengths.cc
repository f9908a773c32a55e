#include "record_lengths.h"

#include <sys/uio.h>

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <memory>
#include <vector>

#include "crc32c.h"
#include "file_source.h"
#include "record_frame.h"
#include "record_reader.h"

namespace millrace {
namespace {

// As many bytes are read at once, unless records are so large that the next
// header is rarely among them: then the headers alone are read.
constexpr int64_t kAtOnce = 64 << 10;
constexpr int64_t kFrame = kHeader + kFooter;

bool Miscounted(const std::string& path, int64_t count, const std::string& has,
                Fault* fault) {
  fault->Set(Cause::kFailedPrecondition,
             "%" PRId64 " records were counted, it has %s", count, has.c_str());
  return fault->In(path);
}

// Describe has the reader of records say what is wrong with one whose header
// is not as it should be.
bool Describe(const std::string& path, int64_t offset, int64_t ordinal,
              Fault* fault) {
  RecordReader reader(0);
  if (!reader.Open(path, offset, ordinal, fault)) return false;
  std::string_view record;
  if (reader.Next(&record, fault) == RecordReader::Outcome::kFault) {
    return false;
  }
  fault->Set(Cause::kFailedPrecondition, "the file changed while it was read");
  return fault->At(path, ordinal, offset);
}

// Headers reads the headers of a file at growing offsets.
class Headers {
 public:
  explicit Headers(const FileSource& file) : file_(file), bytes_(kAtOnce) {}

  // At returns the header at an offset, nullptr if it cannot be read. `next`
  // says how many bytes the record before it had.
  const char* At(int64_t offset, int64_t before) {
    if (offset + static_cast<int64_t>(kHeader) > begin_ + size_) {
      const int64_t most = before < kAtOnce ? kAtOnce : kHeader;
      begin_ = offset;
      size_ = std::min(most, file_.size() - offset);
      struct iovec part = {bytes_.data(), static_cast<size_t>(size_)};
      if (size_ < static_cast<int64_t>(kHeader) ||
          !file_.ReadParts(&part, 1, offset)) {
        size_ = 0;
        return nullptr;
      }
      ++reads_;
    }
    return bytes_.data() + (offset - begin_);
  }

  int64_t reads() const { return reads_; }

 private:
  const FileSource& file_;
  std::vector<char> bytes_;
  int64_t begin_ = 0;
  int64_t size_ = 0;
  int64_t reads_ = 0;
};

}  // namespace

bool HoldsRecords(const std::string& path, int64_t count, Fault* fault) {
  const auto file = FileSource::Open(path, fault);
  if (file == nullptr) return fault->In(path);
  if (count >= 0 && count <= file->size() / kFrame) return true;
  return Miscounted(path, count,
                    "at most " + std::to_string(file->size() / kFrame), fault);
}

bool ReadLengths(const std::string& path, int64_t count, uint32_t* lengths,
                 const std::function<bool()>& cancelled,
                 const SkippedRecords& skipped, int64_t number, Fault* fault) {
  const auto file = FileSource::Open(path, fault);
  if (file == nullptr) return fault->In(path);
  Headers headers(*file);
  int64_t offset = 0, before = 0, asked = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (offset == file->size()) {
      return Miscounted(path, count, "only " + std::to_string(i), fault);
    }
    const SkippedRecords::Entry* const bad = skipped.Find(number, i);
    if (bad != nullptr && bad->next >= offset + kFrame &&
        bad->next <= file->size() &&
        bad->next - offset - kFrame <= int64_t{UINT32_MAX}) {
      before = bad->next - offset - kFrame;
      lengths[i] = static_cast<uint32_t>(before);
      offset = bad->next;
      continue;
    }
    const char* header = headers.At(offset, before);
    if (header == nullptr ||
        MaskCrc(Crc32c(header, 8)) != LoadLittle<uint32_t>(header + 8)) {
      return Describe(path, offset, i, fault);
    }
    const auto length = LoadLittle<uint64_t>(header);
    const int64_t left = file->size() - offset - kFrame;
    if (left < 0 || length > static_cast<uint64_t>(left) ||
        length > UINT32_MAX) {
      return Describe(path, offset, i, fault);
    }
    lengths[i] = static_cast<uint32_t>(length);
    before = static_cast<int64_t>(length);
    offset += before + kFrame;
    if (headers.reads() != asked) {
      asked = headers.reads();
      if (cancelled()) {
        return fault->Set(Cause::kCancelled, "the reading was cancelled");
      }
    }
  }
  const SkippedRecords::Entry* const rest = skipped.Find(number, count);
  if (offset == file->size() || (rest != nullptr && rest->next < 0)) {
    return true;
  }
  return Miscounted(path, count, "more", fault);
}

}  // namespace millrace
