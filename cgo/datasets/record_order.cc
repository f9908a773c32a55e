#include "record_order.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr uint64_t kPartStep =
    0xd6e8feb86659fd93u;  // distance between the seeds of parts
constexpr uint64_t kDrawStep = 0x9e3779b97f4a7c15u;
constexpr int kPassShift = 32;  // passes of a part within one epoch

}  // namespace

int64_t PartSeed(int64_t seed, size_t part) {
  return static_cast<int64_t>(static_cast<uint64_t>(seed) + part * kPartStep);
}

int64_t PassOf(int64_t epoch, int64_t pass) {
  return epoch + (pass << kPassShift);
}

size_t DrawPart(int64_t seed, const std::vector<OrderPart>& parts, int64_t at) {
  auto state = static_cast<uint64_t>(seed);
  state = SplitMix(&state) + static_cast<uint64_t>(at) * kDrawStep;
  const auto drawn = static_cast<int64_t>(SplitMix(&state) >> 1);
  size_t part = 0;
  while (part + 1 < parts.size() && drawn >= parts[part].threshold) ++part;
  return part;
}

PartOrder::PartOrder(const OrderSpec& spec, size_t part)
    : shuffling_(spec.shuffling),
      seed_(PartSeed(spec.seed, part)),
      block_(spec.block),
      mixed_(spec.mixed),
      records_(spec.parts[part].records) {}

int64_t PartOrder::At(int64_t pass, int64_t position) {
  switch (shuffling_) {
    case Shuffling::kNone:
    case Shuffling::kBuffer:
      return position;
    case Shuffling::kBlock:
      return AtBlocks(pass, position);
    case Shuffling::kExact:
      break;
  }
  if (pass_ != pass) {
    order_ = Permutation(records_, {seed_, pass});
    pass_ = pass;
  }
  return order_.At(position);
}

int64_t PartOrder::AtBlocks(int64_t pass, int64_t position) {
  const int64_t blocks = (records_ + block_ - 1) / block_;
  if (pass_ != pass) {
    order_ = Permutation(blocks, {seed_, pass});
    short_at_ = order_.Find(blocks - 1);
    window_ = -1;
    pass_ = pass;
  }
  // The records of a window are mixed.
  const int64_t window = position / mixed_, first = window * mixed_;
  if (window_ != window) {
    mix_ = Permutation(std::min(mixed_, records_ - first),
                       {seed_, pass, window + 1});
    window_ = window;
  }
  int64_t at = first + mix_.At(position - first);
  // Only the last of the blocks may be short.
  const int64_t missing = blocks * block_ - records_;
  if (at >= (short_at_ + 1) * block_ - missing) at += missing;
  return order_.At(at / block_) * block_ + at % block_;
}

RecordOrder::RecordOrder(OrderSpec spec)
    : spec_(std::move(spec)), taken_(spec_.parts.size()) {
  for (size_t i = 0; i < spec_.parts.size(); ++i) parts_.emplace_back(spec_, i);
  if (spec_.shuffling == Shuffling::kBuffer) {
    buffers_.emplace(spec_.buffers, spec_.seed, spec_.counts);
  }
}

int64_t RecordOrder::At(int64_t position) {
  const int64_t epoch = position / spec_.size;
  const int64_t at = spec_.begin + position % spec_.size;
  if (buffers_) return buffers_->At(epoch, at);
  if (parts_.size() == 1) return spec_.parts[0].first + parts_[0].At(epoch, at);
  if (epoch != epoch_ || at + 1 < drawn_) {
    std::fill(taken_.begin(), taken_.end(), 0);
    epoch_ = epoch;
    drawn_ = 0;
  }
  for (; drawn_ <= at; ++drawn_) {
    ++taken_[last_ = DrawPart(spec_.seed, spec_.parts, drawn_)];
  }
  const OrderPart& part = spec_.parts[last_];
  const int64_t taken = taken_[last_] - 1;
  const int64_t pass = PassOf(epoch, taken / part.records);
  return part.first + parts_[last_].At(pass, taken % part.records);
}

int64_t RecordOrder::WindowEnd(int64_t position) const {
  const int64_t at = spec_.begin + position % spec_.size;
  return position + spec_.mixed - at % spec_.mixed;
}

}  // namespace millrace
