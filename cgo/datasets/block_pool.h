// Blocks of records that are used again.
#ifndef MILLRACE_CGO_DATASETS_BLOCK_POOL_H_
#define MILLRACE_CGO_DATASETS_BLOCK_POOL_H_

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "record_block.h"

namespace millrace {

// BlockPool hands out blocks, and keeps those that nobody holds any more. The
// system clears each page of new memory, and decoders grow into their data, so
// the iterators of one dataset share a pool: its second epoch needs no memory.
// For several threads.
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
