// The next records of an order, read at once.
#ifndef MILLRACE_CGO_DATASETS_ORDERED_HORIZON_H_
#define MILLRACE_CGO_DATASETS_ORDERED_HORIZON_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "file_cache.h"
#include "kept_files.h"
#include "large_memory.h"
#include "near_records.h"
#include "record_table.h"
#include "worker_pool.h"

namespace millrace {

// OrderedHorizon holds records in the order in which they were added. Records
// of kept files stay there. Others are read in the order of their locations
// (near_records.h):
//
//	order       7   2   9   3   8
//	file      ..[2 3]....[7 8 9].....     two calls
//	memory     |7 |2 |9 |3 |8 |
//
// Faulty records are skipped. Only one thread may use it.
class OrderedHorizon : private NearRecords::Visitor {
 public:
  // The table and the files must outlive the horizon. `kept` may be nullptr.
  OrderedHorizon(const RecordTable& table, FileCache* files, KeptFiles* kept)
      : table_(table), kept_(kept), near_(table, files) {}

  // Clear removes all records.
  void Clear() {
    numbers_.clear();
    slots_.clear();
    bytes_ = 0;
  }

  // Add adds a record.
  void Add(int64_t number) {
    numbers_.push_back(static_cast<uint64_t>(number));
    bytes_ += table_.length(number);
  }

  // Full reports whether the horizon has reached a size in bytes, or the
  // largest number of records.
  bool Full(int64_t bytes) const {
    return bytes_ >= bytes || added() >= kMostRecords;
  }

  // added returns the number of added records.
  size_t added() const { return numbers_.size(); }
  int64_t bytes() const { return bytes_; }

  // Read reads the records. Without workers it only uses the caller's thread.
  // It returns false if memory is exhausted.
  bool Read(WorkerPool* workers);

  // size returns the number of records, including skipped ones.
  size_t size() const { return slots_.size(); }

  // at returns the location of a record.
  const RecordTable::Entry& at(size_t i) const { return slots_[i].at; }

  // Record returns the data of a record, or false if it was skipped.
  bool Record(size_t i, std::string_view* record) const;

  static constexpr size_t kMostRecords = 32 << 10;

  // MostBytes returns the largest size of a horizon.
  static int64_t MostBytes(const RecordTable& table) {
    return table.remote() ? 1 << 20 : 8 << 20;
  }

 private:
  struct Slot {
    RecordTable::Entry at;
    char* room = nullptr;
    const char* data = nullptr;  // nullptr if it was skipped
  };

  bool Lay();
  char* Room(size_t asked, const RecordTable::Entry& at) override;
  void Take(size_t asked, const RecordTable::Entry& at,
            const char* data) override;

  const RecordTable& table_;
  KeptFiles* const kept_;
  NearRecords near_;
  std::vector<uint64_t> numbers_;
  int64_t bytes_ = 0;
  std::vector<Slot> slots_;
  LargeMemory memory_;
  size_t capacity_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ORDERED_HORIZON_H_
