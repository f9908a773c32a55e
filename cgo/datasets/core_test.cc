// A test driver of what needs no TensorFlow, for the sanitizers:
//   core_test         runs the tests
//   core_test FILE N  reads a file of Examples of N floats "x" and an int64 "y"
//                     and prints the records per second
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "crc32c.h"
#include "example_decoder.h"
#include "position_reader.h"
#include "record_reader.h"
#include "records_test.h"
#include "window_plan.h"
#include "worker_pool.h"

namespace millrace {

void TestSequences();  // in sequence_decoder_test.cc

namespace {

std::string Example(int id) {
  const float x = static_cast<float>(id);
  return Field(10, Entry("x", Floats({x, x + 0.5f, -x})) + Entry("y", Int(id)));
}

std::string Frame(const std::string& record) {
  const uint64_t n = record.size();
  std::string out(reinterpret_cast<const char*>(&n), 8);
  uint32_t crc = MaskCrc(Crc32c(out.data(), 8));
  out.append(reinterpret_cast<const char*>(&crc), 4);
  crc = MaskCrc(Crc32c(record.data(), n));
  return out + record + std::string(reinterpret_cast<const char*>(&crc), 4);
}

void TestCrc() {
  CHECK(Crc32c("123456789", 9) == 0xe3069283);
  CHECK(ExtendCrc32cPortable(0, "123456789", 9) == 0xe3069283);
  std::mt19937 random(1);
  std::vector<char> data(40000);
  for (char& c : data) c = static_cast<char>(random());
  for (int i = 0; i < 3000; ++i) {
    const size_t n = i < 1000 ? i : random() % 30000;
    const size_t at = random() % 100;
    const uint32_t crc = ExtendCrc32cPortable(0, &data[at], n);
    CHECK(Crc32c(&data[at], n) == crc);
    CHECK(ExtendCrc32c(Crc32c(&data[at], n / 3), &data[at + n / 3],
                       n - n / 3) == crc);
  }
}

// Decoded decodes records of three floats "x" and an int64 "y", whose memory is
// exactly as large as it must be.
struct Decoded {
  std::vector<float> x = std::vector<float>(3);
  std::vector<int64_t> y = std::vector<int64_t>(1);
  ExampleDecoder decoder{{{"x", Kind::kFloat, 3}, {"y", Kind::kInt64, 1}}};
  Fault fault;

  bool Decode(const std::string& record) {
    fault = Fault();
    const std::vector<char> exact(record.begin(), record.end());
    const Destination to[] = {{x.data()}, {y.data()}};
    return decoder.Decode({exact.data(), exact.size()}, to, 0, &fault);
  }
};

void TestDecoder() {
  Decoded d;
  CHECK(d.Decode(Example(7)));
  CHECK(d.x[1] == 7.5f && d.y[0] == 7);
  CHECK(d.Decode(Example(7) + Example(9)));  // the last wins
  CHECK(d.x[0] == 9 && d.y[0] == 9);
  CHECK(!d.Decode(""));
  CHECK(d.fault.text == "feature \"x\": the record has no such feature");
  std::mt19937 random(2);
  for (int i = 0; i < 300000; ++i) {
    std::string record = Example(i % 128);
    for (int k = random() % 4; k >= 0; --k) {
      const size_t at = random() % record.size();
      switch (random() % 4) {
        case 0:
          record[at] = static_cast<char>(random());
          break;
        case 1:
          record.erase(at, 1 + random() % 4);
          break;
        case 2:
          record.insert(at, 1, static_cast<char>(random()));
          break;
        case 3:
          record.resize(at);
      }
      if (record.empty()) break;
    }
    d.Decode(record);
  }
}

// File is a file of the bytes, which goes away with it.
class File {
 public:
  explicit File(const std::string& bytes) {
    const int fd = mkstemp(path_);
    CHECK(fd >= 0);
    CHECK(write(fd, bytes.data(), bytes.size()) ==
          static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  ~File() { unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[26] = "/tmp/core_test_XXXXXX";
};

// Read reads the bytes as a file and returns the number of records.
int Read(const std::string& bytes, Fault* fault) {
  const File file(bytes);
  RecordReader reader(1);
  CHECK(reader.Open(file.path(), 0, 0, fault));
  std::string_view record;
  int count = 0;
  for (;; ++count) {
    const auto outcome = reader.Next(&record, fault);
    if (outcome != RecordReader::Outcome::kRecord) break;
  }
  return count;
}

void TestReader() {
  std::string file;
  std::vector<size_t> ends = {0};
  for (int i = 0; i < 10; ++i) {
    file += Frame(Example(i));
    ends.push_back(file.size());
  }
  for (size_t cut = 0; cut <= file.size(); ++cut) {
    Fault fault;
    const int n = Read(file.substr(0, cut), &fault);
    CHECK(ends[n] <= cut && (n == 10 || cut < ends[n + 1]));
    CHECK((fault.cause == Cause::kNone) == (ends[n] == cut));
  }
  for (size_t bit = 0; bit < file.size() * 8; bit += 3) {
    std::string flipped = file;
    flipped[bit / 8] ^= 1 << (bit % 8);
    Fault fault;
    const int n = Read(flipped, &fault);
    CHECK(fault.cause == Cause::kDataLoss);
    CHECK(ends[n] <= bit / 8 && bit / 8 < ends[n + 1]);
  }
  Fault fault;
  const std::string large(300000, 'a');
  CHECK(Read(Frame(large) + Frame("") + Frame(large), &fault) == 3);
}

// TestPositions reads ranges that begin and end anywhere, overlap or leave
// gaps, into memory exactly as large, and opens the file again in between.
void TestPositions() {
  constexpr int kRecords = 40;
  std::string bytes;
  for (int i = 0; i < kRecords; ++i) bytes += Frame(Example(i));
  const File file(bytes);
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    PositionReader reader({{"x", Kind::kFloat, 3}}, {4}, 3, 1, 1);
    Fault fault;
    CHECK(reader.Open(file.path(), kRecords, 0, 0, &fault));
    for (int64_t begin = 0;;) {
      const int64_t n = 1 + random() % 20;
      if (begin + n > 3 * kRecords) break;
      const int64_t step = random() % 2 == 0 ? n : random() % 30;
      const int64_t next = begin + step;
      std::vector<float> x(n);
      char* const to[] = {reinterpret_cast<char*>(x.data())};
      CHECK(reader.Copy(begin, n, next, to, &fault));
      for (int64_t i = 0; i < n; ++i) {
        const float id = static_cast<float>((begin + i) / 3);
        const float want[] = {id, id + 0.5f, -id};
        CHECK(x[i] == want[(begin + i) % 3]);
      }
      begin = next;
      if (random() % 8 == 0) {
        int64_t offset, ordinal;
        reader.Resume(begin, &offset, &ordinal);
        CHECK(reader.Open(file.path(), kRecords, offset, ordinal, &fault));
      }
    }
    CHECK(reader.Finish(&fault));
  }
}

// LargeExample is an Example of 3 positions of 4096 floats, some with another
// feature in front or behind.
std::string LargeExample(int id, int kind) {
  std::vector<float> x(3 * 4096);
  for (size_t i = 0; i < x.size(); ++i) x[i] = id * 100000.0f + i;
  const std::string other = Entry("other", Floats({1, 2}));
  std::string features = Entry("x", Floats(x));
  if (kind == 1) features = other + features;
  if (kind == 2) features += other;
  return Field(10, features);
}

void TestLargePositions() {
  constexpr int kRecords = 20, kRow = 4096;
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::string bytes;
    std::vector<size_t> ends;
    for (int i = 0; i < kRecords; ++i) {
      const int kind = round % 4 == 3 ? random() % 3 : round % 4;
      bytes += Frame(LargeExample(i, kind));
      ends.push_back(bytes.size());
    }
    const bool damaged = round % 3 == 2;
    const size_t flip = random() % bytes.size();
    const int bad =
        std::upper_bound(ends.begin(), ends.end(), flip) - ends.begin();
    if (damaged) bytes[flip] ^= 16;
    const File file(bytes);
    PositionReader reader({{"x", Kind::kFloat, 3 * kRow}}, {4 * kRow}, 3, 1,
                          1 + round % 3);
    Fault fault;
    CHECK(reader.Open(file.path(), kRecords, 0, 0, &fault));
    bool failed = false;
    for (int64_t begin = 0; begin < 3 * kRecords && !failed;) {
      const int64_t n =
          std::min<int64_t>(1 + random() % 17, 3 * kRecords - begin);
      std::vector<float> x(n * kRow);
      char* const to[] = {reinterpret_cast<char*>(x.data())};
      failed = !reader.Copy(begin, n, begin + n, to, &fault);
      if (failed) {
        CHECK(damaged && begin <= 3 * bad + 2 && 3 * bad < begin + n);
        CHECK(fault.cause == Cause::kDataLoss);
        const std::string record = ": record " + std::to_string(bad) + " (";
        CHECK(fault.text.find(record) != std::string::npos);
        break;
      }
      for (int64_t i = 0; i < n * kRow; ++i) {
        const int64_t at = begin * kRow + i;
        CHECK(x[i] == at / (3 * kRow) * 100000.0f + at % (3 * kRow));
      }
      begin += n;
    }
    CHECK(failed == damaged);
    if (!failed) CHECK(reader.Finish(&fault));
  }
}

// TestShrunk cuts a file while it is read.
void TestShrunk() {
  constexpr int kRecords = 40, kRow = 4096;
  std::string bytes;
  for (int i = 0; i < kRecords; ++i) bytes += Frame(LargeExample(i, 0));
  for (int threads = 1; threads <= 3; ++threads) {
    for (const size_t left : {bytes.size() - 1, bytes.size() / 2}) {
      const File file(bytes);
      PositionReader reader({{"x", Kind::kFloat, 3 * kRow}}, {4 * kRow}, 3, 1,
                            threads);
      Fault fault;
      CHECK(reader.Open(file.path(), kRecords, 0, 0, &fault));
      std::vector<float> x(3 * kRow * kRecords);
      char* to[] = {reinterpret_cast<char*>(x.data())};
      CHECK(reader.Copy(0, 30, 30, to, &fault));
      CHECK(truncate(file.path(), static_cast<off_t>(left)) == 0);
      CHECK(!reader.Copy(30, 3 * kRecords - 30, 3 * kRecords, to, &fault));
      CHECK(fault.cause == Cause::kFailedPrecondition);
      CHECK(fault.text.find("the file shrank") != std::string::npos);
    }
  }
}

void TestWorkerPool() {
  for (int threads = 0; threads <= 4; ++threads) {
    WorkerPool workers(threads);
    for (size_t n = 0; n < 200; ++n) {
      std::vector<int> calls(n);
      workers.Run(n, [&](size_t i) { ++calls[i]; });
      CHECK(std::all_of(calls.begin(), calls.end(),
                        [](int count) { return count == 1; }));
    }
  }
}

void TestPlan() {
  WindowRules rules;
  rules.min = 2;
  rules.max = 5;
  rules.keep_tail = true;
  rules.sizes = {17, 1, 0, 2, 40};
  rules.epochs = 3;
  WindowPosition at;
  Window last{-1, 0, 0, 0}, window;
  while (NextWindow(rules, &at, &window)) {
    CHECK(window.size >= 2 && window.size <= 5);
    CHECK(window.begin + window.size <= rules.sizes[window.file]);
    const bool same = window.epoch == last.epoch && window.file == last.file;
    CHECK(window.begin == (same ? last.begin + last.size : 0));
    last = window;
  }
  CHECK(last.epoch == 2 && last.file == 4);
}

int Measure(const char* path, int floats) {
  constexpr int kBatch = 128;
  ExampleDecoder decoder({{"x", Kind::kFloat, floats}, {"y", Kind::kInt64, 1}});
  RecordReader reader(256 << 10);
  double best = 0;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    Fault fault;
    CHECK(reader.Open(path, 0, 0, &fault));
    std::vector<float> x(kBatch * floats);
    std::vector<int64_t> y(kBatch);
    const Destination to[] = {{x.data()}, {y.data()}};
    int64_t count = 0;
    for (std::string_view record;; ++count) {
      if (reader.Next(&record, &fault) != RecordReader::Outcome::kRecord) break;
      CHECK(decoder.Decode(record, to, count % kBatch, &fault));
    }
    CHECK(fault.cause == Cause::kNone);
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    best = std::max(best, count / took.count());
  }
  std::printf("%.0f records/s\n", best);
  return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc == 3) return millrace::Measure(argv[1], std::atoi(argv[2]));
  millrace::TestCrc();
  millrace::TestDecoder();
  millrace::TestSequences();
  millrace::TestReader();
  millrace::TestPositions();
  millrace::TestLargePositions();
  millrace::TestShrunk();
  millrace::TestWorkerPool();
  millrace::TestPlan();
  std::puts("ok");
  return 0;
}
