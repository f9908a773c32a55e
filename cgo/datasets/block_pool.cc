#include "block_pool.h"

namespace millrace {

std::shared_ptr<RecordBlock> BlockPool::Take() {
  std::unique_ptr<RecordBlock> block;
  {
    const std::lock_guard<std::mutex> lock(spares_->mu);
    if (!spares_->blocks.empty()) {
      block = std::move(spares_->blocks.back());
      spares_->blocks.pop_back();
    }
  }
  if (block == nullptr) block = std::make_unique<RecordBlock>(make_);
  const std::weak_ptr<Spares> spares = spares_;
  return std::shared_ptr<RecordBlock>(
      block.release(), [spares](RecordBlock* used) {
        std::unique_ptr<RecordBlock> owned(used);
        if (const auto kept = spares.lock()) {
          const std::lock_guard<std::mutex> lock(kept->mu);
          kept->blocks.push_back(std::move(owned));
        }
      });
}

}  // namespace millrace
