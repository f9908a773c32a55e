// Decoders of the records of a batch.
#ifndef MILLRACE_CGO_DATASETS_ROW_DECODER_H_
#define MILLRACE_CGO_DATASETS_ROW_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fault.h"
#include "feature_spec.h"
#include "joined.h"

namespace millrace {

// RowDecoder decodes the records of a batch, each to a row. Not for several
// threads.
class RowDecoder {
 public:
  virtual ~RowDecoder() = default;

  // Clear begins a batch.
  virtual void Clear() = 0;

  // Decode decodes one record: lists are appended to those of earlier records,
  // other features go to row `row` of their destinations. A fault names the
  // feature, not the record; until Cut the batch is lost with it.
  virtual bool Decode(std::string_view record, const Destination* destinations,
                      int64_t row, Fault* fault) = 0;

  // Cut keeps the lists of the first `records` records and removes the others.
  virtual void Cut(int64_t records) = 0;

  // LeaveInPlace allows lists to refer to the bytes of the record, for as long
  // as a batch is one record.
  virtual void LeaveInPlace() {}

  // KeepRecords allows lists to refer to the bytes of records, which must stay
  // valid until Clear. Joined::Copy then returns the elements.
  virtual void KeepRecords() {}

  // list returns the decoded elements of a feature that is a list.
  virtual const Joined& list(size_t feature) const = 0;

  virtual const std::vector<FeatureSpec>& features() const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_ROW_DECODER_H_
