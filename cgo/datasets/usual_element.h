// The elements of feature lists as libraries write them.
#ifndef MILLRACE_CGO_DATASETS_USUAL_ELEMENT_H_
#define MILLRACE_CGO_DATASETS_USUAL_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "feature_spec.h"
#include "wire.h"

namespace millrace {

// UsualElement recognizes lists whose elements are all encoded as by common
// libraries: packed floats, or one string of raw bytes. All elements of a
// feature have the same number of values. So their tags and lengths are the
// same bytes, which are compared in place of parsing:
//
//	list      |tags, lengths| values |tags, lengths| values | ...
//	compared  |=============|        |=============|
class UsualElement {
 public:
  explicit UsualElement(const FeatureSpec& f) {
    size_t data = 0;
    const bool raw = f.kind == Kind::kRaw && f.values == 1;
    if (f.kind == Kind::kFloat || raw) data = ElementBytes(f);
    // With it the head has at most 16 bytes.
    constexpr size_t kMost = 1 << 27;
    if (data == 0 || data > kMost) return;
    // Built from the inside: the values, the list, and the feature around it.
    std::string head;
    size_t inner = data;
    for (const uint8_t tag : {wire::kBytes1, ListTag(f.kind), wire::kBytes1}) {
      head.insert(0, Length(tag, inner));
      inner = data + head.size();
    }
    if (data + head.size() < sizeof(uint64_t)) return;
    head_ = head.size();
    size_ = data + head_;
    last_at_ = head_ < sizeof(uint64_t) ? 0 : head_ - sizeof(uint64_t);
    if (head_ < sizeof(uint64_t)) {
      mask_ = (uint64_t{1} << 8 * head_) - 1;
      head.resize(sizeof(uint64_t));
    }
    first_ = Load(head.data()) & mask_;
    last_ = Load(head.data() + last_at_) & mask_;
  }

  // Count returns the number of elements of a list, or -1 if some element does
  // not have the usual form.
  int64_t Count(std::string_view list) const {
    if (size_ == 0 || list.size() % size_ != 0) return -1;
    uint64_t other = 0;
    for (size_t at = 0; at < list.size(); at += size_) {
      other |= (Load(list.data() + at) & mask_) ^ first_;
      other |= (Load(list.data() + at + last_at_) & mask_) ^ last_;
    }
    return other == 0 ? static_cast<int64_t>(list.size() / size_) : -1;
  }

  // head returns the number of bytes before the values of an element, and size
  // the total size of an element.
  size_t head() const { return head_; }
  size_t size() const { return size_; }

 private:
  static uint64_t Load(const char* p) {
    uint64_t v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  }

  // Length returns a tag and a length.
  static std::string Length(uint8_t tag, size_t n) {
    std::string bytes(1, static_cast<char>(tag));
    for (; n >= 0x80; n >>= 7) bytes += static_cast<char>(n | 0x80);
    return bytes += static_cast<char>(n);
  }

  size_t head_ = 0;
  size_t size_ = 0;               // 0: no usual form
  uint64_t first_ = 0;            // eight bytes of the head
  uint64_t last_ = 0;             // its last eight bytes
  size_t last_at_ = 0;            // their offset
  uint64_t mask_ = ~uint64_t{0};  // mask for a head of less than eight bytes
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_USUAL_ELEMENT_H_
