#include "record_walk.h"

#include <cinttypes>
#include <utility>

namespace millrace {

int64_t FileList::Records() const {
  int64_t total = 0;
  for (int64_t count : counts) {
    if (count < 0 || count > INT64_MAX - total) return -1;
    total += count;
  }
  return total;
}

RecordWalk::RecordWalk(const FileList& files, size_t buffer_bytes,
                       OpenSource open, int64_t threads)
    : files_(files),
      ahead_(files.names, std::move(open), threads),
      reader_(buffer_bytes) {}

WalkPosition RecordWalk::position() const {
  WalkPosition at = at_;
  if (reader_.is_open()) {
    at.offset = reader_.offset();
    at.ordinal = reader_.ordinal();
  }
  return at;
}

void RecordWalk::Seek(const WalkPosition& at) {
  reader_.Close();
  ahead_.Clear();
  at_ = at;
}

bool RecordWalk::Fits(const WalkPosition& at) const {
  return at.epoch >= 0 && at.file >= 0 &&
         at.file <= static_cast<int64_t>(files_.names.size()) &&
         at.offset >= 0 && at.ordinal >= 0 && at.seen >= 0;
}

bool RecordWalk::Next(std::string_view* record, bool* end, Fault* fault) {
  *end = false;
  for (;;) {
    if (!reader_.is_open()) {
      if (!NextFile(end, fault)) return false;
      if (*end) return true;
    }
    switch (reader_.Next(record, fault)) {
      case RecordReader::Outcome::kFault:
        if (Skip(fault->place.record)) {
          *fault = Fault();
          continue;
        }
        return false;
      case RecordReader::Outcome::kRecord:
        if (files_.counts[at_.file] == reader_.ordinal() - 1) {
          return Miscounted("more", fault);
        }
        if (files_.skipped.Find(at_.file, reader_.ordinal() - 1)) continue;
        return true;
      case RecordReader::Outcome::kEnd:
        break;
    }
    if (files_.counts[at_.file] > reader_.ordinal()) {
      return Miscounted("only " + std::to_string(reader_.ordinal()), fault);
    }
    at_.seen += reader_.ordinal();
    at_.offset = at_.ordinal = 0;
    ++at_.file;
    reader_.Close();
  }
}

// Skip continues after a record that cannot be read, and returns false unless
// it is to be skipped.
bool RecordWalk::Skip(int64_t record) {
  const SkippedRecords::Entry* const entry =
      files_.skipped.Find(at_.file, record);
  if (entry == nullptr) return false;
  const WalkPosition at = position();
  if (entry->next < 0) {
    Seek({at.epoch, at.file + 1, 0, 0, at.seen + record});
  } else if (at.offset != entry->next || at.ordinal != record + 1) {
    Seek({at.epoch, at.file, entry->next, record + 1, at.seen});
  }
  return true;
}

bool RecordWalk::Miscounted(const std::string& has, Fault* fault) const {
  fault->Set(Cause::kFailedPrecondition,
             "%" PRId64 " records were counted, it has %s",
             files_.counts[at_.file], has.c_str());
  return fault->In(files_.names[at_.file]);
}

// NextFile opens the file of the position, or the first of the next epoch. An
// epoch without a record ends the walk, because later epochs have none either.
bool RecordWalk::NextFile(bool* end, Fault* fault) {
  const auto files = static_cast<int64_t>(files_.names.size());
  *end = files_.epochs >= 0 && at_.epoch >= files_.epochs;
  if (*end) return true;
  if (at_.file >= files) {
    if (at_.seen == 0 && files_.epochs < 0) {
      return fault->Set(Cause::kFailedPrecondition,
                        "there are no records to repeat without end");
    }
    const int64_t next = at_.seen == 0 ? files_.epochs : at_.epoch + 1;
    at_ = WalkPosition{next};
    *end = next == files_.epochs;
    if (*end) return true;
  }
  const bool more = files_.epochs < 0 || at_.epoch + 1 < files_.epochs;
  return reader_.Open(ahead_.Open(at_.file, more, fault),
                      files_.names[at_.file], at_.offset, at_.ordinal, fault);
}

}  // namespace millrace
