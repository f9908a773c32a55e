// Reusable blocks of records.
#ifndef MILLRACE_CGO_DATASETS_BLOCK_POOL_H_
#define MILLRACE_CGO_DATASETS_BLOCK_POOL_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "record_block.h"

namespace millrace {

// BlockPool returns blocks, and keeps the ones that are no longer referenced.
// The system clears each page of new memory, and decoders grow to the size of
// their data. So the iterators of one dataset share a pool, and its second
// epoch allocates no memory. Thread-safe.
class BlockPool {
 public:
  // `make` makes a slot; several threads may call it.
  explicit BlockPool(RecordBlock::MakeSlot make)
      : make_(std::move(make)), spares_(std::make_shared<Spares>()) {}

  // Take returns a block that returns to the pool with its last reference. If
  // the pool is gone by then, the block is freed.
  std::shared_ptr<RecordBlock> Take();

 private:
  struct Spares {
    std::mutex mu;
    std::vector<std::unique_ptr<RecordBlock>> blocks;  // guarded by mu
  };

  const RecordBlock::MakeSlot make_;
  const std::shared_ptr<Spares> spares_;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_BLOCK_POOL_H_
