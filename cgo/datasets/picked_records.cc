#include "picked_records.h"

#include <cinttypes>
#include <memory>
#include <string>

#include "file_source.h"

namespace millrace {
namespace {

constexpr size_t kOpenFiles = 256;  // number of files that stay open
constexpr size_t kAloneBuffer = 64 << 10;

}  // namespace

bool ReadAlone(const RecordTable& table, const RecordTable::Entry& at,
               RecordReader* reader, std::string_view* record, Fault* fault) {
  const std::string& path = table.names()[at.file];
  const auto file = FileSource::Open(path, fault);
  if (file == nullptr) return fault->In(path);
  const int64_t bytes = table.file_bytes(at.file);
  if (file->size() < bytes ||
      (file->size() > bytes && !table.is_cut(at.file))) {
    fault->Set(Cause::kFailedPrecondition,
               "the file has %" PRId64 " bytes, %" PRId64 " were indexed",
               file->size(), bytes);
    return fault->In(path);
  }
  if (!reader->Open(path, at.offset, at.ordinal, fault)) return false;
  switch (reader->Next(record, fault)) {
    case RecordReader::Outcome::kFault:
      return false;
    case RecordReader::Outcome::kRecord:
      if (record->size() == at.length) return true;
      fault->Set(Cause::kDataLoss,
                 "the record has %zu bytes, the index says %" PRIu32,
                 record->size(), at.length);
      break;
    case RecordReader::Outcome::kEnd:
      fault->Set(Cause::kTruncated, "the file ends before the record");
      break;
  }
  return fault->At(path, at.ordinal, at.offset);
}

PickedRecords::PickedRecords(const RecordTable& table, KeptFiles* kept,
                             int64_t threads)
    : table_(table),
      workers_(threads),
      files_(kOpenFiles),
      horizon_(table, &files_, kept),
      alone_(kAloneBuffer) {}

bool PickedRecords::Read(Fault* fault) {
  if (horizon_.Read(&workers_)) return true;
  return fault->Set(Cause::kResourceExhausted,
                    "no memory for %" PRId64 " bytes of records", bytes());
}

bool PickedRecords::Get(size_t i, std::string_view* record, RecordPlace* place,
                        Fault* fault) {
  const RecordTable::Entry& at = horizon_.at(i);
  *place = {at.file, at.ordinal, at.offset};
  if (horizon_.Record(i, record)) return true;
  files_.Clear();
  return ReadAlone(table_, at, &alone_, record, fault);
}

}  // namespace millrace
