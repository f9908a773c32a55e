// write writes records as fast as one thread of plain C++ can: it copies
// records that are in memory and computes both checksums of each. It prints
// records/s as JSON, the best of some passes: of copies that stay in memory,
// and of a file, which is on the disk at the end.
//
//     write FILE PASSES OUT
//
// FILE has the records.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "crc.h"

namespace {

constexpr size_t kPiece = 256 << 10;  // bytes of one write
constexpr off_t kDisk = 1 << 20;      // bytes handed to the disk at once
constexpr size_t kFrame = 16;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "write: %s\n", what);
  exit(1);
}

std::string ReadAll(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) Fail(path);
  std::string all;
  std::vector<char> piece(kPiece);
  for (size_t n; (n = fread(piece.data(), 1, piece.size(), file)) > 0;) {
    all.append(piece.data(), n);
  }
  fclose(file);
  return all;
}

// Records returns the records of a file, without their frames.
std::vector<Bytes> Records(Bytes file) {
  std::vector<Bytes> all;
  while (!file.empty()) {
    if (file.size() < kFrame) Fail("the file ends within a record");
    const uint64_t size = Load<uint64_t>(file.data());
    if (size > file.size() - kFrame) Fail("the file ends within a record");
    all.push_back(file.substr(12, size));
    file.remove_prefix(kFrame + size);
  }
  return all;
}

template <typename T>
char* Put(char* at, T v) {
  memcpy(at, &v, sizeof v);
  return at + sizeof v;
}

char* PutRecord(char* at, Bytes record) {
  at = Put<uint64_t>(at, record.size());
  at = Put(at, MaskedCrc({at - 8, 8}));
  memcpy(at, record.data(), record.size());
  return Put(at + record.size(), MaskedCrc(record));
}

// Sink takes full pieces. It drops them, or writes them to a file.
class Sink {
 public:
  explicit Sink(const char* path)
      : file_(path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1) {
    if (path && file_ < 0) Fail(path);
  }

  void Take(const char* piece, size_t n) {
    if (file_ < 0) {
      asm volatile("" : : "r"(piece) : "memory");  // as if it were read
      return;
    }
    if (write(file_, piece, n) != static_cast<ssize_t>(n)) Fail("no write");
    at_ += static_cast<off_t>(n);
    if (at_ - begun_ >= kDisk) {
      sync_file_range(file_, begun_, at_ - begun_, SYNC_FILE_RANGE_WRITE);
      begun_ = at_;
    }
  }

  void End() {
    if (file_ >= 0 && (fsync(file_) != 0 || close(file_) != 0)) Fail("no sync");
  }

 private:
  const int file_;
  off_t at_ = 0, begun_ = 0;
};

// Pass returns the seconds of writing all records. Their sizes are at most that
// of a piece.
double Pass(const std::vector<Bytes>& records, const char* path,
            std::vector<char>* piece) {
  if (path) unlink(path);
  const auto begun = std::chrono::steady_clock::now();
  Sink sink(path);
  char *const start = piece->data(), *at = start;
  for (Bytes record : records) {
    if (at + record.size() + kFrame > start + piece->size()) {
      sink.Take(start, static_cast<size_t>(at - start));
      at = start;
    }
    at = PutRecord(at, record);
  }
  sink.Take(start, static_cast<size_t>(at - start));
  sink.End();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begun;
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Fail("usage: write FILE PASSES OUT");
  MakeShift();
  const std::string file = ReadAll(argv[1]);
  const std::vector<Bytes> records = Records(file);
  std::vector<char> piece(kPiece);
  for (Bytes r : records) {
    if (r.size() + kFrame > piece.size()) Fail("a record is too large");
  }
  double best[2] = {1e9, 1e9};
  Pass(records, nullptr, &piece);
  for (int i = 0; i < atoi(argv[2]); i++) {
    best[0] = std::min(best[0], Pass(records, nullptr, &piece));
    best[1] = std::min(best[1], Pass(records, argv[3], &piece));
  }
  const double n = static_cast<double>(records.size());
  printf("{\"memory_records_per_s\": %.0f, \"file_records_per_s\": %.0f}\n",
         n / best[0], n / best[1]);
}
