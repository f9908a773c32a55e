// The elements of lists, joined end to end.
#ifndef MILLRACE_CGO_DATASETS_JOINED_H_
#define MILLRACE_CGO_DATASETS_JOINED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace {

// Joined has the elements of one list in several records, end to end.
class Joined {
 public:
  void Clear() {
    size_ = 0;
    there_ = nullptr;
    elsewhere_.clear();
    texts_.clear();
    splits_.assign(1, 0);
  }

  // splits returns the number of elements before each record, and the total.
  const std::vector<int64_t>& splits() const { return splits_; }

  // data is the numbers, or the bytes of all strings. It must not be called
  // after ReferEach.
  const char* data() const { return there_ != nullptr ? there_ : data_.get(); }
  size_t size() const { return size_; }  // size in bytes

  // texts returns the end of each string in data.
  const std::vector<size_t>& texts() const { return texts_; }

  // Add adds space for n more bytes; nullptr if memory is exhausted.
  char* Add(size_t n);

  // Drop removes the last n bytes.
  void Drop(size_t n) { size_ -= n; }

  // Refer uses external bytes as the numbers without copying, if there are none
  // yet. The bytes must stay valid until Clear.
  void Refer(const char* bytes, size_t n) {
    there_ = bytes;
    size_ = n;
  }

  // ReferEach makes n elements of `bytes` each, which begin `stride` bytes
  // apart, the elements of the next record, without copying. It returns false
  // if the elements of an earlier record were copied: either all are referred
  // to, or none. They must stay valid until Clear, or until Add, which copies
  // them.
  bool ReferEach(const char* first, int64_t n, size_t bytes, size_t stride) {
    if (elsewhere_.size() + 1 != splits_.size()) return false;
    if (bytes_ != bytes) {
      if (!elsewhere_.empty()) return false;
      bytes_ = bytes;
    }
    elsewhere_.push_back({first, stride});
    size_ += n * bytes;
    return true;
  }

  // Copy copies up to `most` elements of a record, of `bytes` bytes each.
  void Copy(size_t record, size_t bytes, char* to,
            int64_t most = INT64_MAX) const;

  // AddText adds a string.
  bool AddText(std::string_view text);

  // Cut keeps the first `records` records; `element` is the size in bytes of an
  // element of numbers, and `texts` the number of strings in an element of
  // strings, else 0.
  void Cut(size_t records, size_t element, size_t texts) {
    if (splits_.size() > records + 1) splits_.resize(records + 1);
    if (elsewhere_.size() > records) elsewhere_.resize(records);
    const auto n = static_cast<size_t>(splits_.back());
    size_ = n * element;
    if (texts == 0) return;
    texts_.resize(n * texts);
    size_ = texts_.empty() ? 0 : texts_.back();
  }

  // EndRecord ends a record of n elements.
  void EndRecord(int64_t n) { splits_.push_back(splits_.back() + n); }

 private:
  struct Elements {
    const char* first;
    size_t stride;
  };

  bool Reserve(size_t bytes);
  bool Collect();

  std::unique_ptr<char[]> data_;
  const char* there_ = nullptr;  // replaces data_ if set
  size_t capacity_ = 0;
  size_t size_ = 0;
  std::vector<Elements>
      elsewhere_;     // elements referred to, per record, or empty
  size_t bytes_ = 0;  // size of an element referred to
  std::vector<size_t> texts_;
  std::vector<int64_t> splits_ = {0};
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_JOINED_H_
