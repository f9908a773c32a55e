// Reading of TFRecord files.
#ifndef MILLRACE_CGO_DATASETS_RECORD_READER_H_
#define MILLRACE_CGO_DATASETS_RECORD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "byte_source.h"
#include "fault.h"
#include "file_source.h"
#include "record_run.h"
#include "worker_pool.h"

namespace millrace {

// RecordReader reads the records of one file and checks both checksums of each.
// The length in a header is compared with a cap and, if known, with the rest of
// the file before memory is allocated. If the rest is unknown, memory grows
// with the bytes that arrive. Not thread-safe.
class RecordReader {
 public:
  enum class Outcome { kRecord, kEnd, kFault };

  // `open` opens the files; without it files are uncompressed and local.
  explicit RecordReader(size_t buffer_bytes, OpenSource open = OpenFile);
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Open opens a file at a record's offset and ordinal.
  bool Open(const std::string& path, int64_t offset, int64_t ordinal,
            Fault* fault);

  // Open of a source that is already open; nullptr is a fault.
  bool Open(std::unique_ptr<ByteSource> source, const std::string& path,
            int64_t offset, int64_t ordinal, Fault* fault);

  // Close closes the file; then the reader can open another.
  void Close();

  // Next returns the next record, which is valid until the call after it.
  Outcome Next(std::string_view* record, Fault* fault);

  // NextRun is ReadRun for up to n of the next records. It returns 0 unless the
  // file is local and uncompressed. Next reads the record after the run, and
  // describes its fault if it has one.
  int64_t NextRun(const Layout& layout, int64_t n, char* to,
                  WorkerPool* workers);

  // ReadExactly makes Next read no more than a record at a time, as suits
  // NextRun.
  void ReadExactly(bool exactly) { exactly_ = exactly; }

  // moved returns the number of buffered bytes that were moved.
  int64_t moved() const { return moved_; }

  bool is_open() const { return source_ != nullptr; }
  // Offset of the next record in the inflated file.
  int64_t offset() const { return next_; }
  int64_t ordinal() const { return ordinal_; }
  // Offset of the last record.
  int64_t last_offset() const { return current_; }

  // Describe adds file, record and offset of the last record to a fault.
  void Describe(Fault* fault) const;

 private:
  bool Fill(size_t want, size_t* got, Fault* fault);
  bool Reserve(size_t want, Fault* fault);
  Outcome Fail(Fault* fault) const;
  Outcome Truncated(Fault* fault, size_t got, uint64_t want,
                    const char* what) const;
  Outcome TooLarge(Fault* fault, uint64_t length, int64_t left) const;

  const size_t minimum_;
  const OpenSource open_;
  std::string path_;
  std::unique_ptr<ByteSource> source_;
  FileSource* file_ = nullptr;  // source_ if it is an uncompressed local file
  bool exactly_ = false;
  int64_t next_ = 0;     // offset of the next record
  int64_t current_ = 0;  // offset of the last record
  int64_t ordinal_ = 0;  // number of the next record
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // buffered bytes that are not consumed yet
  size_t end_ = 0;
  int64_t moved_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_READER_H_
