// Records that carry their location through a pipeline.
#ifndef MILLRACE_CGO_DATASETS_PLACED_RECORD_H_
#define MILLRACE_CGO_DATASETS_PLACED_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault.h"

namespace millrace {

// Between the op that reads records and the op that decodes them TensorFlow may
// shuffle, mix and batch. A decoder that finds a bad record then cannot
// identify it unless the record carries its location. A placed record does:
// three numbers follow its data, which the decoder removes again.
//
//   data | file int64 | record int64 | offset int64
//
// The file is an index into the plan's list of files, because a path would take
// more space in shuffle buffers than many records do.
struct RecordPlace {
  int64_t file = 0;
  int64_t record = 0;
  int64_t offset = 0;
};

// AppendPlace writes a location after a record's data, where there must be
// space.
inline void AppendPlace(const RecordPlace& place, char* to) {
  std::memcpy(to, &place, sizeof(place));
}

// RecordOrigin determines the locations of a dataset's records.
class RecordOrigin {
 public:
  // With `placed` records carry their location; `files` are the names of the
  // files that it refers to by index.
  RecordOrigin() = default;
  RecordOrigin(bool placed, std::vector<std::string> files)
      : placed_(placed), files_(std::move(files)) {}

  // Split removes the location from a record.
  bool Split(std::string_view* record, RecordPlace* place, Fault* fault) const {
    if (!placed_) return true;
    if (record->size() < sizeof(*place)) {
      return fault->Set(Cause::kInvalidArgument,
                        "a record without the place that it should carry");
    }
    const size_t data = record->size() - sizeof(*place);
    std::memcpy(place, record->data() + data, sizeof(*place));
    *record = record->substr(0, data);
    return true;
  }

  // Describe adds the location of the record to a fault, or the number of the
  // element if the record has none.
  void Describe(const RecordPlace& place, int64_t element, Fault* fault) const {
    if (!placed_) {
      fault->text = "element " + std::to_string(element) + ": " + fault->text;
    } else if (place.file >= 0 &&
               static_cast<size_t>(place.file) < files_.size()) {
      fault->At(files_[place.file], place.record, place.offset);
    }
  }

  bool placed() const { return placed_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  bool placed_ = false;
  std::vector<std::string> files_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_PLACED_RECORD_H_
