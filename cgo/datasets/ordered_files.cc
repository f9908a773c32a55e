#include "ordered_files.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "dataset_base.h"
#include "tensorflow/core/framework/attr_value_util.h"

namespace millrace {

using namespace tensorflow;  // NOLINT

namespace {

constexpr char kLengths[] = "lengths";
constexpr char kSources[] = "sources";
constexpr char kStart[] = "start";
constexpr char kShuffling[] = "shuffling";
constexpr char kSeed[] = "seed";
constexpr char kBlock[] = "block";
constexpr char kMixed[] = "mixed";
constexpr char kFilesBuffer[] = "files_buffer";
constexpr char kFilesAtOnce[] = "files_at_once";
constexpr char kBegin[] = "begin";
constexpr char kSize[] = "size";
constexpr char kThreads[] = "threads";
constexpr int64_t kMaxThreads = 1000;
constexpr int64_t kPartNumbers = 3;  // numbers per part

constexpr const char* kShufflings[] = {"none", "exact", "block", "buffer"};

}  // namespace

absl::Status OrderRules::Read(OpKernelConstruction* ctx) {
  TF_RETURN_IF_ERROR(ctx->GetAttr(kShuffling, &shuffling));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kSeed, &order.seed));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kBlock, &order.block));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kMixed, &order.mixed));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFilesBuffer, &order.buffers.files));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kFilesAtOnce, &order.buffers.files_at_once));
  order.buffers.records = order.mixed;
  TF_RETURN_IF_ERROR(ctx->GetAttr(kBegin, &order.begin));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kSize, &order.size));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kEpochs, &epochs));
  TF_RETURN_IF_ERROR(ctx->GetAttr(kThreads, &threads));
  TF_RETURN_IF_ERROR(ReadSkipped(ctx, &skipped));
  for (Shuffling s : {Shuffling::kNone, Shuffling::kExact, Shuffling::kBlock,
                      Shuffling::kBuffer}) {
    if (shuffling == kShufflings[static_cast<size_t>(s)]) order.shuffling = s;
  }
  constexpr int64_t kMax = INT64_MAX / 2;
  TF_RETURN_IF_ERROR(CheckRange(kBlock, order.block, 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange(kMixed, order.mixed, 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange(kFilesBuffer, order.buffers.files, 1, kMax));
  TF_RETURN_IF_ERROR(
      CheckRange(kFilesAtOnce, order.buffers.files_at_once, 1, kMax));
  TF_RETURN_IF_ERROR(CheckRange(kBegin, order.begin, 0, kMax));
  TF_RETURN_IF_ERROR(CheckRange(kSize, order.size, 0, kMax));
  TF_RETURN_IF_ERROR(CheckRange(kEpochs, epochs, -1, INT64_MAX));
  return CheckRange(kThreads, threads, 1, kMaxThreads);
}

std::shared_ptr<const RecordTables::Entry> RecordTables::Find(
    const Tensor& names, const Tensor& counts, const Tensor& lengths) {
  absl::MutexLock lock(&mu_);
  if (entry_ == nullptr || !entry_->names.SharesBufferWith(names) ||
      !entry_->counts.SharesBufferWith(counts) ||
      !entry_->lengths.SharesBufferWith(lengths) ||
      entry_->names.shape() != names.shape() ||
      entry_->counts.shape() != counts.shape() ||
      entry_->lengths.shape() != lengths.shape()) {
    return nullptr;
  }
  return entry_;
}

void RecordTables::Keep(std::shared_ptr<const Entry> entry) {
  absl::MutexLock lock(&mu_);
  entry_ = std::move(entry);
}

absl::Status OrderedFiles::Read(OpKernelContext* ctx, const OrderRules& rules,
                                RecordTables* tables) {
  return ReadOf(ctx, rules, nullptr, tables);
}

absl::Status OrderedFiles::ReadOf(OpKernelContext* ctx, const OrderRules& rules,
                                  const Count& count, RecordTables* tables) {
  rules_ = rules;
  const Tensor *names, *counts, *lengths, *parts, *begin;
  TF_RETURN_IF_ERROR(ctx->input(kFilenames, &names));
  TF_RETURN_IF_ERROR(ctx->input(kCounts, &counts));
  TF_RETURN_IF_ERROR(ctx->input(kLengths, &lengths));
  TF_RETURN_IF_ERROR(ctx->input(kSources, &parts));
  TF_RETURN_IF_ERROR(ctx->input(kStart, &begin));
  TF_RETURN_IF_ERROR(ReadBegin(*begin));
  if (names->dims() != 1 || counts->shape() != names->shape() ||
      lengths->dims() != 1 || parts->dims() != 2 ||
      parts->dim_size(1) != kPartNumbers || parts->dim_size(0) < 1) {
    return absl::InvalidArgumentError(
        "want vectors of filenames, counts and lengths, and rows of parts");
  }
  counts_ = *counts;
  lengths_ = *lengths;
  parts_ = *parts;
  if (tables != nullptr) entry_ = tables->Find(*names, counts_, lengths_);
  if (entry_ == nullptr) {
    TF_RETURN_IF_ERROR(MakeTable(*names, &entry_));
    if (tables != nullptr) tables->Keep(entry_);
  }
  table_ = entry_->table;
  kept_ = entry_->kept;
  examples_ = table_->records();
  rules_.order.skipped = rules_.skipped.InOrder(entry_->each);
  rules_.order.counts = entry_->each;
  if (count != nullptr) {
    std::vector<int64_t>& each = rules_.order.counts;
    TF_RETURN_IF_ERROR(count(entry_->each, &each));
    examples_ = std::accumulate(each.begin(), each.end(), int64_t{0});
  }
  return CheckOrder();
}

// ReadBegin reads where the records to deliver begin and, in a vector of two
// positions, where they end.
absl::Status OrderedFiles::ReadBegin(const Tensor& begin) {
  begin_ = begin;
  const bool range = begin.dims() == 1 && begin.NumElements() == 2;
  if (!range && begin.dims() != 0) {
    return absl::InvalidArgumentError(
        "want start as a scalar, or a vector of start and end");
  }
  start_ = begin.flat<int64_t>()(0);
  if (range) stop_ = begin.flat<int64_t>()(1);
  if (stop_ < start_) {
    return absl::InvalidArgumentError("the end is before the start");
  }
  return absl::OkStatus();
}

// MakeTable makes the table of the files.
absl::Status OrderedFiles::MakeTable(
    const Tensor& names, std::shared_ptr<const RecordTables::Entry>* entry) {
  auto made = std::make_shared<RecordTables::Entry>();
  made->names = names;
  made->counts = counts_;
  made->lengths = lengths_;
  std::vector<int64_t>& each = made->each;
  int64_t left = lengths_.NumElements();
  for (int64_t i = 0; i < counts_.NumElements(); ++i) {
    each.push_back(counts_.vec<int64_t>()(i));
    if (each.back() < 0 || each.back() > left) break;
    left -= each.back();
  }
  if (left != 0 || static_cast<int64_t>(each.size()) != names.NumElements()) {
    return absl::InvalidArgumentError(
        absl::StrCat(lengths_.NumElements(),
                     " lengths are not those of the records counted"));
  }
  std::vector<std::string> paths;
  for (int64_t i = 0; i < names.NumElements(); ++i) {
    paths.emplace_back(names.vec<tstring>()(i));
  }
  const auto table = std::make_shared<RecordTable>(
      std::move(paths), each, lengths_.vec<uint32_t>().data());
  for (const int64_t file : rules_.skipped.CutFiles()) table->Cut(file);
  made->table = table;
  if (KeptFiles::Fit(*table)) made->kept = std::make_shared<KeptFiles>(*table);
  *entry = std::move(made);
  return absl::OkStatus();
}

// CheckOrder reads the parts, and checks that every position has a record.
absl::Status OrderedFiles::CheckOrder() {
  const auto rows = parts_.matrix<int64_t>();
  OrderSpec& order = rules_.order;
  order.parts.clear();
  for (int64_t i = 0; i < rows.dimension(0); ++i) {
    const OrderPart part = {rows(i, 0), rows(i, 1), rows(i, 2)};
    if (part.first < 0 || part.records < 0 || part.first > examples_ ||
        part.records > examples_ - part.first ||
        (part.records == 0 && order.size > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", i, " is of records that are not there"));
    }
    order.parts.push_back(part);
  }
  const bool fits = order.parts.size() > 1 ||
                    order.begin <= order.parts[0].records - order.size;
  const bool all = order.parts.size() == 1 && order.size == examples_;
  if (!fits || (order.shuffling == Shuffling::kBuffer && !all) || start_ < 0 ||
      (!endless() && start_ > Last()) || (endless() && order.size == 0)) {
    return absl::InvalidArgumentError("the order has not so many records");
  }
  return absl::OkStatus();
}

int64_t OrderedFiles::Last() const {
  const int64_t size = rules_.order.size;
  if (size == 0) return 0;
  if (endless() || rules_.epochs > INT64_MAX / 2 / size) return INT64_MAX / 2;
  return rules_.epochs * size;
}

std::vector<std::pair<absl::string_view, AttrValue>> OrderedFiles::Attrs()
    const {
  std::vector<std::pair<absl::string_view, AttrValue>> attrs;
  const auto add = [&](const char* name, const auto& value) {
    attrs.emplace_back(name, AttrValue());
    SetAttrValue(value, &attrs.back().second);
  };
  add(kShuffling, rules_.shuffling);
  add(kSeed, rules_.order.seed);
  add(kBlock, rules_.order.block);
  add(kMixed, rules_.order.mixed);
  add(kFilesBuffer, rules_.order.buffers.files);
  add(kFilesAtOnce, rules_.order.buffers.files_at_once);
  add(kBegin, rules_.order.begin);
  add(kSize, rules_.order.size);
  add(kEpochs, rules_.epochs);
  add(kThreads, rules_.threads);
  if (skips()) add(kSkipped, rules_.skipped.Numbers());
  return attrs;
}

}  // namespace millrace
