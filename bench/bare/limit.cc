// limit reads TFRecord files as fast as one thread of plain C++ can: read the
// file, check both checksums, decode the records, fill a batch. It works only
// for these records, so it is the limit with which the benchmark's readers are
// compared. It prints records/s as JSON: the mean of some passes over all
// files, after a pass that is not timed.
//
//     limit KIND BATCH PASSES FILE...
//
// KIND is "floats" (Examples of 64 floats "x" and an integer "y"), "images"
// (28 x 28 bytes "x" and an integer "y"), or "steps" (SequenceExamples of a list
// "x" of 40 floats a step, padded to the longest of the batch).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "crc.h"

namespace {

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "limit: %s\n", what);
  exit(1);
}

// Reader reads the records of a file, 256 KiB at a time.
class Reader {
 public:
  explicit Reader(const char* path) : file_(open(path, O_RDONLY)) {
    if (file_ < 0) Fail(path);
  }
  ~Reader() { close(file_); }

  // Next returns false at the end. The record is valid until the next call.
  bool Next(Bytes* record) {
    if (!Have(12)) {
      if (begin_ == end_) return false;
      Fail("the file ends within a record");
    }
    const char* head = buf_.data() + begin_;
    const uint64_t size = Load<uint64_t>(head);
    if (Load<uint32_t>(head + 8) != MaskedCrc({head, 8})) Fail("bad length");
    if (!Have(size + 16)) Fail("the file ends within a record");
    head = buf_.data() + begin_;
    *record = {head + 12, size};
    if (Load<uint32_t>(head + 12 + size) != MaskedCrc(*record)) Fail("bad data");
    begin_ += size + 16;
    return true;
  }

 private:
  bool Have(size_t n) {
    if (end_ - begin_ >= n) return true;
    memmove(buf_.data(), buf_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (n > buf_.size()) buf_.resize(n);
    while (end_ < n) {
      const ssize_t got = read(file_, buf_.data() + end_, buf_.size() - end_);
      if (got <= 0) return false;
      end_ += static_cast<size_t>(got);
    }
    return true;
  }

  const int file_;
  std::vector<char> buf_ = std::vector<char>(256 << 10);
  size_t begin_ = 0, end_ = 0;
};

uint64_t Varint(Bytes* b) {
  uint64_t v = 0;
  for (int s = 0; s < 70 && !b->empty(); s += 7) {
    const uint8_t c = static_cast<uint8_t>(b->front());
    b->remove_prefix(1);
    v |= static_cast<uint64_t>(c & 127) << s;
    if (c < 128) return v;
  }
  Fail("bad varint");
}

// Field reads a field of bytes, which must have this tag.
Bytes Field(Bytes* b, uint8_t tag) {
  if (b->empty() || static_cast<uint8_t>(b->front()) != tag) Fail("bad tag");
  b->remove_prefix(1);
  const uint64_t n = Varint(b);
  if (n > b->size()) Fail("bad length of a field");
  const Bytes field = b->substr(0, n);
  b->remove_prefix(n);
  return field;
}

constexpr uint8_t kFirst = 0x0a, kSecond = 0x12, kThird = 0x1a;

// Batch holds the decoded records.
struct Batch {
  std::vector<float> floats;  // values of "floats": rows of 64; values of "steps": all steps
  std::vector<char> bytes;
  std::vector<int64_t> numbers;  // "y", or the steps of each record
  size_t used = 0;               // floats, of "steps"
};

constexpr size_t kFloats = 64, kPixels = 28 * 28, kFrame = 40;

// Example decodes an Example of "x" and "y".
template <bool kImages>
void Example(Bytes record, size_t row, Batch* out) {
  Bytes features = Field(&record, kFirst);
  int found = 0;
  while (!features.empty()) {
    Bytes entry = Field(&features, kFirst);
    const Bytes key = Field(&entry, kFirst);
    Bytes value = Field(&entry, kSecond);
    if (key == "y") {
      Bytes list = Field(&value, kThird);
      Bytes packed = Field(&list, kFirst);
      out->numbers[row] = static_cast<int64_t>(Varint(&packed));
    } else if (key == "x") {
      Bytes list = Field(&value, kImages ? kFirst : kSecond);
      const Bytes x = Field(&list, kFirst);
      if (x.size() != (kImages ? kPixels : kFloats * sizeof(float))) {
        Fail("bad size");
      }
      char* to = kImages ? out->bytes.data() + row * kPixels
                         : reinterpret_cast<char*>(out->floats.data() +
                                                   row * kFloats);
      memcpy(to, x.data(), x.size());
    } else {
      continue;
    }
    found++;
  }
  if (found != 2) Fail("a feature is missing");
}

// Steps appends the steps of a SequenceExample.
void Steps(Bytes record, size_t row, Batch* out) {
  while (record.front() != static_cast<char>(kSecond)) Field(&record, kFirst);
  Bytes lists = Field(&record, kSecond);
  Bytes entry = Field(&lists, kFirst);
  if (Field(&entry, kFirst) != "x") Fail("another list");
  Bytes steps = Field(&entry, kSecond);
  int64_t n = 0;
  for (; !steps.empty(); n++) {
    Bytes feature = Field(&steps, kFirst);
    Bytes list = Field(&feature, kSecond);
    const Bytes x = Field(&list, kFirst);
    if (x.size() != kFrame * sizeof(float)) Fail("bad size of a step");
    if (out->used + kFrame > out->floats.size()) {
      out->floats.resize(2 * out->floats.size() + kFrame);
    }
    memcpy(out->floats.data() + out->used, x.data(), x.size());
    out->used += kFrame;
  }
  out->numbers[row] = n;
}

// Pad copies the steps of a batch to a tensor, each record as long as the
// longest.
void Pad(const Batch& b, size_t rows, std::vector<float>* to) {
  size_t longest = 0;
  for (size_t i = 0; i < rows; i++) {
    longest = std::max(longest, static_cast<size_t>(b.numbers[i]));
  }
  const size_t row = longest * kFrame;
  if (to->size() < rows * row) to->resize(rows * row);
  const float* from = b.floats.data();
  for (size_t i = 0; i < rows; i++) {
    const size_t n = static_cast<size_t>(b.numbers[i]) * kFrame;
    float* at = to->data() + i * row;
    memcpy(at, from, n * sizeof(float));
    memset(at + n, 0, (row - n) * sizeof(float));
    from += n;
  }
}

// Pass reads all files once and returns the number of records.
int64_t Pass(const std::string& kind, size_t batch, char** files, int count) {
  static Batch batches[4];  // used in turn, like those of a pipeline that prefetches
  static std::vector<float> padded[4];
  size_t row = 0, at = 0;
  int64_t records = 0;
  for (Batch& b : batches) {
    b.numbers.resize(batch);
    if (kind == "floats") b.floats.resize(batch * kFloats);
    if (kind == "images") b.bytes.resize(batch * kPixels);
    b.used = 0;
  }
  const bool steps = kind == "steps", images = kind == "images";
  for (int f = 0; f < count; f++) {
    Reader r(files[f]);
    for (Bytes record; r.Next(&record); records++) {
      Batch& b = batches[at];
      if (steps) {
        Steps(record, row, &b);
      } else if (images) {
        Example<true>(record, row, &b);
      } else {
        Example<false>(record, row, &b);
      }
      if (++row < batch) continue;
      if (steps) Pad(b, row, &padded[at]);
      row = 0;
      at = (at + 1) % 4;
      batches[at].used = 0;
    }
  }
  if (steps && row > 0) Pad(batches[at], row, &padded[at]);
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) Fail("usage: limit floats|images|steps BATCH PASSES FILE...");
  const std::string kind = argv[1];
  if (kind != "floats" && kind != "images" && kind != "steps") Fail("bad KIND");
  const int batch = atoi(argv[2]), passes = atoi(argv[3]);
  if (batch < 1 || passes < 1) Fail("BATCH and PASSES must be at least 1");
  MakeShift();
  int64_t records = 0;
  Pass(kind, static_cast<size_t>(batch), argv + 4, argc - 4);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < passes; i++) {
    records += Pass(kind, static_cast<size_t>(batch), argv + 4, argc - 4);
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  printf("{\"records_per_s\": %.1f, \"records\": %lld}\n",
         static_cast<double>(records) / took.count(),
         static_cast<long long>(records));
}
