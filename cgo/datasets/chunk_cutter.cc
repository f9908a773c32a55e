#include "chunk_cutter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "status.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

absl::Status ChunkCutter::Batch(GroupSource* source, Allocator* allocator,
                                std::vector<Tensor>* out, bool* end) {
  bool last = false;
  absl::Status s = Fill(source, &last);
  *end = rows_.empty();
  if (s.ok() && !rows_.empty()) {
    s = MakeChunkBatch(spec(), rows_, last, allocator, out);
  }
  rows_.clear();
  held_.clear();
  return s;
}

// Fill finds the rows of the next batch, and whether no row follows them.
absl::Status ChunkCutter::Fill(GroupSource* source, bool* last) {
  budget_.Clear();
  for (;;) {
    ChunkRow row;
    TF_RETURN_IF_ERROR(Find(source, &row, last));
    if (*last) return absl::OkStatus();
    for (size_t i = 0; i < lengths_.size(); ++i) {
      lengths_[i] = RowFrames(spec(), row, spec().sequences()[i]);
    }
    if (!budget_.Add(lengths_)) return absl::OkStatus();
    if (held_.empty() || held_.back() != next_.group) {
      held_.push_back(next_.group);
    }
    rows_.push_back(row);
    ++next_.row;
  }
}

// Find finds the next row, or that there is none.
absl::Status ChunkCutter::Find(GroupSource* source, ChunkRow* row, bool* end) {
  const size_t first = spec().sequences()[0];
  for (;;) {
    const ChunkGroup* const group = next_.group.get();
    if (group != nullptr && next_.record < group->records()) {
      const int64_t length = group->Length(first, next_.record);
      if (next_.row == 0) TF_RETURN_IF_ERROR(CheckAligned());
      if (rules_.HasRow(next_.row, length)) {
        row->group = group;
        row->record = next_.record;
        row->whole = rules_.whole();
        row->begin = rules_.Begin(next_.row);
        row->end = rules_.End(next_.row, length);
        return CheckFits(*row);
      }
      ++next_.record;
      next_.row = 0;
      continue;
    }
    *end = next_.ended;
    // The row is 0, or the row of the next group's first record that Seek
    // selected.
    next_ = Cursor{nullptr, 0, next_.row, *end};
    if (*end) return absl::OkStatus();
    TF_RETURN_IF_ERROR(source->NextGroup(&next_.group));
    next_.ended = next_.group == nullptr;
  }
}

// CheckAligned reports sequences of the record that differ in length.
absl::Status ChunkCutter::CheckAligned() const {
  if (!form_.aligned()) return absl::OkStatus();
  const size_t first = spec().sequences()[0];
  const int64_t length = next_.group->Length(first, next_.record);
  for (size_t i : spec().sequences()) {
    const int64_t other = next_.group->Length(i, next_.record);
    if (other == length) continue;
    return Refuse(
        next_.record,
        absl::StrCat("the aligned sequences ",
                     Quote(spec().columns()[first].name, 256), " and ",
                     Quote(spec().columns()[i].name, 256),
                     " differ in length: ", length, " and ", other, " frames"));
  }
  return absl::OkStatus();
}

// CheckFits reports a row that is longer than its fixed size.
absl::Status ChunkCutter::CheckFits(const ChunkRow& row) const {
  for (size_t i = 0; i < spec().columns().size(); ++i) {
    const ChunkSpec::Column& c = spec().columns()[i];
    if (c.fixed < 0) continue;
    const int64_t frames = RowFrames(spec(), row, i);
    if (frames <= c.fixed) continue;
    return Refuse(
        row.record,
        absl::StrCat("a row of the tensor ", Quote(c.name, 256), " has ",
                     frames, " frames, which is more than its padding, ",
                     c.fixed));
  }
  return absl::OkStatus();
}

// Refuse returns the error about a record of the group.
absl::Status ChunkCutter::Refuse(int64_t record,
                                 const std::string& what) const {
  Fault fault;
  fault.Set(Cause::kInvalidArgument, "%s", what.c_str());
  origin_.Describe(next_.group->place(record), record, &fault);
  return ToStatus(fault);
}

}  // namespace millrace
