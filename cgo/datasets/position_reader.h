// The positions of a file: its records joined along their first axis.
#ifndef MILLRACE_CGO_DATASETS_POSITION_READER_H_
#define MILLRACE_CGO_DATASETS_POSITION_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "byte_source.h"
#include "example_decoder.h"
#include "fault.h"
#include "record_reader.h"

namespace millrace {

// PositionReader returns ranges of the positions of one file, ordered by their
// start. It keeps only the positions that a later range may need: memory is
// bounded by a range and a record. A record within one range is decoded
// straight to its destination. Only one thread may use it, but it may start
// threads itself.
class PositionReader {
 public:
  // `positions` is the number of positions per record; features are numbers. Up
  // to `threads` threads read the records within one range.
  PositionReader(std::vector<FeatureSpec> features,
                 std::vector<int64_t> row_bytes, int64_t positions,
                 size_t buffer_bytes, int64_t threads,
                 OpenSource open = OpenFile);

  // Open opens a file of `count` records, and continues at one of them.
  bool Open(const std::string& path, int64_t count, int64_t offset,
            int64_t ordinal, Fault* fault);
  void Close();
  bool is_open() const { return reader_.is_open(); }

  // Copy copies n positions from `begin` on, for each feature to one of `to`.
  // Positions before `keep` will not be requested again.
  bool Copy(int64_t begin, int64_t n, int64_t keep, char* const* to,
            Fault* fault);

  // Finish reads to the end of the file, which must have `count` records, and
  // closes it.
  bool Finish(Fault* fault);

  // alike returns the expected common layout of the next records, nullptr if
  // they may differ.
  const Layout* alike() const {
    const auto values = static_cast<size_t>(positions_ * row_bytes_[0]);
    return run_ > 0 && layout_.values == values ? &layout_ : nullptr;
  }

  // Resume returns the first record that is needed for positions from `begin`
  // on.
  void Resume(int64_t begin, int64_t* offset, int64_t* ordinal) const;

 private:
  bool Decode(char* const* to, bool* end, Fault* fault);
  bool Append(int64_t keep, Fault* fault);
  int64_t DecodeRun(int64_t n, char* to);
  void Learn(std::string_view record);
  bool Miscounted(const std::string& has, Fault* fault) const;
  void Drop(int64_t before);

  ExampleDecoder decoder_;
  const std::vector<int64_t> row_bytes_;  // bytes per position, by feature
  const int64_t positions_;
  RecordReader reader_;
  std::string path_;
  WorkerPool workers_;
  Layout layout_;    // layout of the last record; unset without values
  int64_t run_ = 0;  // expected number of records of that layout
  int64_t count_ = 0;
  int64_t first_ = 0;                      // index of the first kept record
  std::deque<int64_t> offsets_;            // offsets of the kept records
  std::vector<std::vector<char>> kept_;    // kept bytes of each feature
  std::vector<Destination> destinations_;  // destinations of one record
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_POSITION_READER_H_
