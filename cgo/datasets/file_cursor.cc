#include "file_cursor.h"

namespace millrace {

void FileCursor::Seek(const WalkPosition& at) {
  at_ = at;
  file_ = nullptr;
  open_ = -1;
}

bool FileCursor::Open() {
  for (;;) {
    if (at_.file >= static_cast<int64_t>(files_.names.size()) ||
        (files_.epochs >= 0 && at_.epoch >= files_.epochs)) {
      return false;
    }
    if (open_ != at_.file) {
      Fault ignored;  // RecordWalk finds it again
      file_ = FileSource::Open(files_.names[at_.file], &ignored);
      open_ = file_ == nullptr ? -1 : at_.file;
      if (file_ == nullptr) return false;
    }
    if (at_.offset != file_->size()) return at_.offset < file_->size();
    if (!NextFile()) return false;
  }
}

// NextFile continues after the end of a file.
bool FileCursor::NextFile() {
  Fault ignored;
  if ((count() >= 0 && count() != at_.ordinal) || !file_->CheckEnd(&ignored)) {
    return false;
  }
  const int64_t seen = at_.seen + at_.ordinal;
  if (at_.file + 1 < static_cast<int64_t>(files_.names.size())) {
    at_ = {at_.epoch, at_.file + 1, 0, 0, seen};
    return true;
  }
  const bool more = files_.epochs < 0 || at_.epoch + 1 < files_.epochs;
  if (!more || seen == 0) return false;
  Seek(WalkPosition{at_.epoch + 1});
  return true;
}

}  // namespace millrace
