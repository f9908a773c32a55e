// Compressed files as sources of bytes.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "byte_source.h"
#include "external/zlib/zlib.h"

namespace millrace {
namespace {

constexpr size_t kInputBytes = 64 << 10;
constexpr size_t kSkipBytes = 64 << 10;
// Window bits in zlib's encoding: 15 bits, and 16 more for gzip's format.
constexpr int kZlibBits = 15;
constexpr int kGzipBits = 15 + 16;

// InflateSource inflates a zlib stream, or the members of a gzip file one after
// the other. zlib checks their checksums and sizes. Bytes after the stream that
// are not another member are a fault. A fault comes after all preceding bytes,
// whatever the size of the reads.
class InflateSource : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> compressed, Format format)
      : compressed_(std::move(compressed)), format_(format) {}
  ~InflateSource() override {
    if (ready_) inflateEnd(&stream_);
  }

  bool Start(Fault* fault) {
    input_.reset(new (std::nothrow) char[kInputBytes]);
    const int bits = format_ == Format::kGzip ? kGzipBits : kZlibBits;
    if (input_ == nullptr || inflateInit2(&stream_, bits) != Z_OK) {
      return fault->Set(Cause::kResourceExhausted, "no memory to inflate with");
    }
    ready_ = true;
    return true;
  }

  bool Read(char* to, size_t n, size_t* got, Fault* fault) override {
    *got = 0;
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(n, 1 << 30));
    const uInt room = stream_.avail_out;
    for (;;) {
      // inflate may hold output back even if all input is consumed.
      const bool ok = (stream_.avail_in == 0 && between_) || Step(fault);
      if (stream_.avail_out != room) break;  // faults are sticky
      if (!ok) return false;
      if (stream_.avail_in > 0) continue;
      if (!Refill(fault)) return false;
      if (stream_.avail_in == 0) return AtEnd(fault);
    }
    *got = room - stream_.avail_out;
    return true;
  }

  bool Skip(int64_t n, Fault* fault) override {
    std::unique_ptr<char[]> dropped(new (std::nothrow) char[kSkipBytes]);
    if (dropped == nullptr) {
      return fault->Set(Cause::kResourceExhausted, "no memory to inflate with");
    }
    while (n > 0) {
      size_t got;
      const size_t most = std::min<int64_t>(n, kSkipBytes);
      if (!Read(dropped.get(), most, &got, fault)) return false;
      if (got == 0) {
        return fault->Set(Cause::kFailedPrecondition,
                          "it ends before where reading was to go on");
      }
      n -= static_cast<int64_t>(got);
    }
    return true;
  }

  int64_t left() const override { return -1; }
  bool CheckEnd(Fault* fault) override { return compressed_->CheckEnd(fault); }

 private:
  const char* name() const {
    return format_ == Format::kGzip ? "gzip" : "zlib";
  }

  bool Refill(Fault* fault) {
    size_t got;
    if (!compressed_->Read(input_.get(), kInputBytes, &got, fault))
      return false;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.get());
    stream_.avail_in = static_cast<uInt>(got);
    return true;
  }

  // AtEnd handles the end of the compressed bytes. An empty file is a file
  // without records.
  bool AtEnd(Fault* fault) const {
    if (between_) return true;
    return fault->Set(Cause::kTruncated, "the %s stream ends early", name());
  }

  // Step inflates as much of the available input as possible.
  bool Step(Fault* fault) {
    if (between_) {
      if (members_ > 0 && format_ == Format::kZlib) {
        return fault->Set(Cause::kDataLoss,
                          "there are bytes after the end of the zlib stream");
      }
      if (members_ > 0) inflateReset(&stream_);
      between_ = false;
    }
    switch (inflate(&stream_, Z_NO_FLUSH)) {
      case Z_OK:
      case Z_BUF_ERROR:  // it needs more input
        return true;
      case Z_STREAM_END:
        ++members_;
        between_ = true;
        return true;
      case Z_MEM_ERROR:
        return fault->Set(Cause::kResourceExhausted,
                          "no memory to inflate with");
      default:
        return fault->Set(
            Cause::kDataLoss, "damaged %s stream: %s", name(),
            stream_.msg == nullptr ? "no reason given" : stream_.msg);
    }
  }

  const std::unique_ptr<ByteSource> compressed_;
  const Format format_;
  std::unique_ptr<char[]> input_;
  z_stream stream_ = {};
  bool ready_ = false;
  bool between_ = true;  // before the first member or after one
  int64_t members_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> compressed,
                                    Format format, Fault* fault) {
  if (compressed == nullptr || format == Format::kPlain) return compressed;
  auto source = std::make_unique<InflateSource>(std::move(compressed), format);
  if (!source->Start(fault)) return nullptr;
  return source;
}

}  // namespace millrace
