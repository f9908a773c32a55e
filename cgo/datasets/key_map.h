// A map from keys to features.
#ifndef MILLRACE_CGO_DATASETS_KEY_MAP_H_
#define MILLRACE_CGO_DATASETS_KEY_MAP_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millrace {

constexpr size_t kMaxKey = 256;  // longest key in a message

// KeyMap finds features by key. Records mostly have the same keys in the same
// order, which is tried first. Not thread-safe.
class KeyMap {
 public:
  // Add adds a key, whose memory outlives the map.
  void Add(std::string_view key, int feature) { by_key_[key] = feature; }

  // Restart begins a record.
  void Restart() { position_ = 0; }

  // Find returns the feature of the record's next key, -1 if it is not
  // requested.
  int Find(std::string_view key) {
    if (position_ < order_.size() && order_[position_].key == key) {
      return order_[position_++].feature;
    }
    const auto known = by_key_.find(key);
    const int feature = known == by_key_.end() ? -1 : known->second;
    // Long keys would take memory, and are rare: they are not remembered in the
    // order but looked up each time.
    if (position_ < kMaxOrder && key.size() <= kMaxKey) {
      order_.resize(position_);
      order_.push_back({std::string(key), feature});
      ++position_;
    }
    return feature;
  }

 private:
  static constexpr size_t kMaxOrder = 1024;  // keys to remember of a record

  struct Seen {
    std::string key;
    int feature;
  };

  std::unordered_map<std::string_view, int> by_key_;
  std::vector<Seen> order_;  // the keys of the last record
  size_t position_ = 0;      // index in order_
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_KEY_MAP_H_
