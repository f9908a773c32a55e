// The order of records that are read by their location.
#ifndef MILLRACE_CGO_DATASETS_RECORD_ORDER_H_
#define MILLRACE_CGO_DATASETS_RECORD_ORDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "buffer_order.h"
#include "permutation.h"

namespace millrace {

// How the records of an epoch are shuffled.
enum class Shuffling { kNone, kExact, kBlock, kBuffer };

// OrderPart is one of the datasets that an order draws from: consecutive
// records of all files.
struct OrderPart {
  int64_t first = 0;
  int64_t records = 0;
  int64_t threshold = INT64_MAX;  // drawn numbers below it are this part's, if
                                  // they are no part's before it
};

// OrderSpec selects an order. docs/records.md describes the orders, and
// loaders/permutation computes the same ones in Go, except kBuffer, which is
// tf.data's.
struct OrderSpec {
  Shuffling shuffling = Shuffling::kNone;
  int64_t seed = 0;
  int64_t block = 1;             // records per block
  int64_t mixed = 1;             // records that are mixed with each other
  std::vector<OrderPart> parts;  // at least one, none empty
  int64_t begin = 0;  // first position of the shard in each epoch's order
  int64_t size = 0;   // size of the shard, at least 1

  // For kBuffer, which has all records of the files in one part.
  BufferSizes buffers;
  std::vector<int64_t> counts;  // the records of each file

  // Numbers of the records that are skipped where they come, ascending.
  std::vector<int64_t> skipped;
};

// PartSeed returns the seed of the order of a part.
int64_t PartSeed(int64_t seed, size_t part);

// PassOf returns the number of a pass over a part, which an epoch may read more
// than once.
int64_t PassOf(int64_t epoch, int64_t pass);

// DrawPart returns the part of a position of an epoch.
size_t DrawPart(int64_t seed, const std::vector<OrderPart>& parts, int64_t at);

// PartOrder is the order of one part. Not thread-safe.
class PartOrder {
 public:
  PartOrder(const OrderSpec& spec, size_t part);

  // At returns the record at a position of a pass, counted within the part.
  int64_t At(int64_t pass, int64_t position);

 private:
  int64_t AtBlocks(int64_t pass, int64_t position);

  const Shuffling shuffling_;
  const int64_t seed_, block_, mixed_, records_;
  int64_t pass_ = -1;     // the pass of order_
  Permutation order_;     // permutation of the records, or of the blocks
  int64_t short_at_ = 0;  // position of the last block, which may be short
  int64_t window_ = -1;   // the window of mix_
  Permutation mix_;
};

// RecordOrder is an order of records. Positions count the records of all
// epochs, one epoch after the other. It is fast for consecutive positions. Not
// for several threads.
class RecordOrder {
 public:
  explicit RecordOrder(OrderSpec spec);

  const OrderSpec& spec() const { return spec_; }

  // At returns the index, over all files, of the record at a position.
  int64_t At(int64_t position);

  // Skips reports whether the record with a number is skipped.
  bool Skips(int64_t number) const {
    return !spec_.skipped.empty() &&
           std::binary_search(spec_.skipped.begin(), spec_.skipped.end(),
                              number);
  }

  // buffers returns the order of kBuffer, nullptr for other orders.
  BufferOrder* buffers() { return buffers_ ? &*buffers_ : nullptr; }

  // WindowEnd returns a later position up to which reading at once is
  // worthwhile: the end of the records that are mixed with each other.
  int64_t WindowEnd(int64_t position) const;

 private:
  const OrderSpec spec_;
  std::optional<BufferOrder> buffers_;
  std::vector<PartOrder> parts_;
  int64_t epoch_ = -1;          // epoch of the draws
  int64_t drawn_ = 0;           // draws of the epoch that taken_ counts
  size_t last_ = 0;             // the part drawn last
  std::vector<int64_t> taken_;  // number of records taken, per part
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_RECORD_ORDER_H_
