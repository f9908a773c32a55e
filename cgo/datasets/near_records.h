// Records at many locations of plain files, read by few calls.
#ifndef MILLRACE_CGO_DATASETS_NEAR_RECORDS_H_
#define MILLRACE_CGO_DATASETS_NEAR_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "file_cache.h"
#include "record_table.h"

namespace millrace {

// IsIntact reports whether data between its header and its footer is a sound
// record of the given length.
bool IsIntact(const char* data, uint32_t length);

// NearRecords reads some records of a table in the order of their locations.
// Records that are near each other are read by one call, including the gaps: a
// system call that reads 300 bytes takes as long as copying 16 KB.
//
//	requested  7   2   9   3   8
//	sorted     2 3     7 8 9         two calls
//	file     ..[###]....[#####]...
//
// Only intact records are returned. The caller reads the other records itself,
// and can describe their faults.
class NearRecords {
 public:
  // Visitor receives the records. Several threads may call it for several
  // records. It must not throw.
  class Visitor {
   public:
    virtual ~Visitor() = default;

    // Room returns the memory for the data of a record.
    virtual char* Room(size_t asked, const RecordTable::Entry& at) = 0;

    // Take receives the data of a record. The data is in its room, or elsewhere
    // and only valid during the call.
    virtual void Take(size_t asked, const RecordTable::Entry& at,
                      const char* data) = 0;
  };

  // The table and the files must outlive the records.
  NearRecords(const RecordTable& table, FileCache* files)
      : table_(table), files_(*files) {}

  // Sort requests records by their indices, and takes over the memory of the
  // list.
  void Sort(std::vector<uint64_t>* numbers);

  // size returns the number of requested records.
  size_t size() const { return places_.size(); }

  // Place is the location of a requested record.
  struct Place {
    RecordTable::Entry at;
    size_t asked;  // its index among the requested records
  };
  const std::vector<Place>& places() const { return places_; }

  // Read reads some of the records, by their location. Several threads may call
  // it for different records. It skips faulty records.
  void Read(size_t begin, size_t end, Visitor* visitor) const;

 private:
  size_t NearEnd(size_t begin, size_t end) const;
  void ReadNear(size_t begin, size_t end, std::vector<char>* scratch,
                Visitor* visitor) const;

  const RecordTable& table_;
  FileCache& files_;
  std::vector<Place> places_;
  std::vector<uint64_t> numbers_, spare_;
  std::vector<uint32_t> sorted_, spare_sorted_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_NEAR_RECORDS_H_
