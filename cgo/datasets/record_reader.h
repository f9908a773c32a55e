// Reading of uncompressed TFRecord files.
#ifndef MILLRACE_CGO_DATASETS_RECORD_READER_H_
#define MILLRACE_CGO_DATASETS_RECORD_READER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fault.h"
#include "worker_pool.h"

namespace millrace {

// Layout is what records look like in which only the values of one feature
// change: these bytes, `values` bytes, and those bytes.
struct Layout {
  std::string before;
  std::string after;
  size_t values = 0;

  size_t size() const { return before.size() + values + after.size(); }
};

// RecordReader reads the records of one file and checks both checksums of
// each. It reads with pread, never through a mapping: a file that shrinks is
// an error then and no signal. What a header claims is checked against what is
// left of the file before any memory is taken. Not for several threads.
class RecordReader {
 public:
  enum class Outcome { kRecord, kEnd, kFault };

  explicit RecordReader(size_t buffer_bytes);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Open opens a file to go on at a record's offset and ordinal.
  bool Open(const std::string& path, int64_t offset, int64_t ordinal,
            Fault* fault);

  // Close closes the file; a reader without one can open another.
  void Close();

  // Next returns the next record, which is valid until the call after it.
  Outcome Next(std::string_view* record, Fault* fault);

  // NextRun reads up to n of the next records, those that are of a layout, so
  // that their values go from the file to `to` at once, one behind the other,
  // shared out over a pool of workers. It returns how many there were. Next
  // reads the one behind them, and tells what is wrong with it if anything is.
  int64_t NextRun(const Layout& layout, int64_t n, char* to,
                  WorkerPool* workers);

  // ReadExactly makes Next read no more than a record at a time, as suits
  // NextRun.
  void ReadExactly(bool exactly) { exactly_ = exactly; }

  bool is_open() const { return fd_ >= 0; }
  // Where the next record is.
  int64_t offset() const { return next_; }
  int64_t ordinal() const { return ordinal_; }

  // Describe puts file, record and offset of the last record before a fault.
  void Describe(Fault* fault) const;

 private:
  bool Fill(size_t want, size_t* got, Fault* fault);
  bool Reserve(size_t want, Fault* fault);
  bool Load(size_t want, Fault* fault);
  size_t ReadSlice(const Layout& layout, int64_t offset, size_t n,
                   char* to) const;
  bool CheckEnd(Fault* fault) const;
  Outcome Fail(Fault* fault, Cause cause, const std::string& text) const;
  Outcome Truncated(Fault* fault, size_t got, uint64_t want,
                    const char* what) const;

  const size_t minimum_;
  std::string path_;
  int fd_ = -1;
  bool exactly_ = false;
  int64_t size_ = 0;     // of the file when it was opened
  int64_t next_ = 0;     // offset of the next record
  int64_t current_ = 0;  // offset of the last record
  int64_t ordinal_ = 0;  // of the next record
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // what is buffered and not yet taken
  size_t end_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_READER_H_
