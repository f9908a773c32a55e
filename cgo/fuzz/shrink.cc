#include "shrink.h"

#include <algorithm>

namespace millrace {
namespace fuzz {
namespace {

using Batch = std::vector<std::string>;

class Shrinker {
 public:
  Shrinker(Batch batch, int tries,
           const std::function<bool(const Batch&)>& fails)
      : batch_(std::move(batch)), tries_(tries), fails_(fails) {}

  Batch Run() {
    for (size_t i = 0; batch_.size() > 1 && i < batch_.size();) {
      Batch fewer = batch_;
      fewer.erase(fewer.begin() + static_cast<int64_t>(i));
      if (!Keep(fewer)) ++i;
    }
    for (bool smaller = true; smaller && tries_ > 0;) {
      smaller = false;
      for (size_t i = 0; i < batch_.size(); ++i) smaller |= Erase(i);
    }
    for (size_t i = 0; i < batch_.size(); ++i) Zero(i);
    return batch_;
  }

 private:
  bool Keep(const Batch& candidate) {
    if (tries_ <= 0) return false;
    --tries_;
    if (!fails_(candidate)) return false;
    batch_ = candidate;
    return true;
  }

  // Erase removes parts of a record, large ones first.
  bool Erase(size_t i) {
    bool smaller = false;
    for (size_t n = batch_[i].size(); n > 0; n /= 2) {
      for (size_t at = 0; at < batch_[i].size();) {
        Batch candidate = batch_;
        candidate[i].erase(at, n);
        if (Keep(candidate)) {
          smaller = true;
        } else {
          at += n;
        }
      }
    }
    return smaller;
  }

  void Zero(size_t i) {
    for (size_t at = 0; at < batch_[i].size(); ++at) {
      if (batch_[i][at] == 0) continue;
      Batch candidate = batch_;
      candidate[i][at] = 0;
      Keep(candidate);
    }
  }

  Batch batch_;
  int tries_;
  const std::function<bool(const Batch&)>& fails_;
};

}  // namespace

Batch Shrink(Batch batch, int tries,
             const std::function<bool(const Batch&)>& fails) {
  return Shrinker(std::move(batch), tries, fails).Run();
}

}  // namespace fuzz
}  // namespace millrace
