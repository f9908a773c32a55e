// The locations of the values in an Example, remembered for the next one.
#ifndef MILLRACE_CGO_DATASETS_EXAMPLE_LAYOUT_H_
#define MILLRACE_CGO_DATASETS_EXAMPLE_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// ExampleLayouts remembers layouts of records: the location of each feature's
// value.
//
// The parse of a record depends on its tags, lengths, keys and size. The values
// do not matter, except for the first byte of each, which is the kind of list.
// Records of one writer mostly agree in all of these. So a record that equals
// an earlier one in all other bytes has its values at the same offsets, and
// comparing a few bytes replaces parsing:
//
//	record   |tags, lengths, key|kind| values    |tags, ... |kind| values |
//	compared |=======================|           |===============|
//
// Only one thread may use it.
class ExampleLayouts {
 public:
  // Find sets the value of each feature as a parser would, if a record of this
  // layout was remembered.
  bool Find(std::string_view record, std::vector<std::string_view>* found) {
    if (rest_ > 0) {
      --rest_;
      return false;
    }
    const Layout& l = layouts_[record.size() % layouts_.size()];
    if (record.empty() || l.size != record.size() || !l.Matches(record)) {
      return false;
    }
    for (size_t i = 0; i < l.found.size(); ++i) {
      const Span& s = l.found[i];
      (*found)[i] = record.substr(s.begin, s.size);
    }
    if (credit_ < kCredit) credit_ += 2;
    return true;
  }

  // Begin begins a record that has to be parsed.
  void Begin() { values_.clear(); }

  // Value records a value that is not empty, of a requested feature or another.
  // Values come in the order of the record.
  void Value(std::string_view record, std::string_view value) {
    values_.push_back(Within(record, value));
  }

  // Remember remembers the record that was parsed, given the values found in
  // it. It pauses if the sizes of records keep changing.
  void Remember(std::string_view record,
                const std::vector<std::string_view>& found) {
    if (rest_ > 0) return;
    if (--credit_ <= 0) {
      rest_ = kRest;
      credit_ = kCredit / 4;
      return;
    }
    Layout& l = layouts_[record.size() % layouts_.size()];
    l.size = 0;
    l.compared.clear();
    l.bytes.clear();
    uint32_t at = 0;
    if (record.size() > kMostRecord) return;
    for (const Span& v : values_) {
      l.Compare(record, at, v.begin + 1);
      at = v.begin + v.size;
    }
    l.Compare(record, at, static_cast<uint32_t>(record.size()));
    if (l.bytes.size() > kMostCompared) return;
    l.found.clear();
    for (std::string_view value : found) {
      l.found.push_back(value.empty() ? Span() : Within(record, value));
    }
    l.size = record.size();
  }

 private:
  static constexpr int kCredit = 64;  // records that may differ
  static constexpr int kRest = 4096;  // length of a pause in records
  static constexpr size_t kMostRecord = 1 << 30;
  static constexpr size_t kMostCompared = 4 << 10;

  struct Span {
    uint32_t begin = 0;
    uint32_t size = 0;
  };

  struct Layout {
    size_t size = 0;             // size of the record; 0: empty slot
    std::vector<Span> compared;  // parts of the record
    std::string bytes;           // bytes of these parts
    std::vector<Span> found;     // the value of each feature

    bool Matches(std::string_view record) const {
      const char* want = bytes.data();
      for (const Span& s : compared) {
        if (std::memcmp(record.data() + s.begin, want, s.size) != 0) {
          return false;
        }
        want += s.size;
      }
      return true;
    }

    void Compare(std::string_view record, uint32_t begin, uint32_t end) {
      if (begin == end) return;
      compared.push_back({begin, end - begin});
      bytes.append(record.data() + begin, end - begin);
    }
  };

  static Span Within(std::string_view record, std::string_view value) {
    return {static_cast<uint32_t>(value.data() - record.data()),
            static_cast<uint32_t>(value.size())};
  }

  std::array<Layout, 8>
      layouts_;               // indexed by the low bits of the record's size
  std::vector<Span> values_;  // values of the record being parsed
  int credit_ = kCredit;
  int rest_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_EXAMPLE_LAYOUT_H_
