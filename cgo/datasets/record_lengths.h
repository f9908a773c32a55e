// The lengths of the records of a file, read from its headers.
#ifndef MILLRACE_CGO_DATASETS_RECORD_LENGTHS_H_
#define MILLRACE_CGO_DATASETS_RECORD_LENGTHS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "fault.h"
#include "skipped_records.h"

namespace millrace {

// HoldsRecords opens a plain local file and checks that it is large enough for
// `count` records, so that a caller can take memory for their lengths.
bool HoldsRecords(const std::string& path, int64_t count, Fault* fault);

// ReadLengths reads the headers of a plain local file, and stores how many data
// bytes each of its `count` records has. Another number of records is a fault,
// and so is a header that is damaged or claims more than the file has, unless
// the record is skipped. It does not read the data. `cancelled` is asked now
// and then. `skipped` knows the file by number `file`. Several threads may call
// it.
bool ReadLengths(const std::string& path, int64_t count, uint32_t* lengths,
                 const std::function<bool()>& cancelled,
                 const SkippedRecords& skipped, int64_t file, Fault* fault);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_LENGTHS_H_
