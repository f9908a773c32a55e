// The elements of lists, joined end to end.
#ifndef MILLRACE_CGO_DATASETS_JOINED_H_
#define MILLRACE_CGO_DATASETS_JOINED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace {

// Joined is the elements that several records have of one list, end to end.
class Joined {
 public:
  void Clear() {
    size_ = 0;
    there_ = nullptr;
    texts_.clear();
    splits_.assign(1, 0);
  }

  // splits tells how many elements come before each record, and in all.
  const std::vector<int64_t>& splits() const { return splits_; }

  // data is the numbers, or the bytes of all strings.
  const char* data() const { return there_ != nullptr ? there_ : data_.get(); }
  size_t size() const { return size_; }  // in bytes

  // texts tells where in data each string ends.
  const std::vector<size_t>& texts() const { return texts_; }

  // Add makes room for n more bytes; nullptr if there is no memory.
  char* Add(size_t n);

  // Drop takes back the last n bytes.
  void Drop(size_t n) { size_ -= n; }

  // Refer makes bytes that are elsewhere the numbers, if there are none yet.
  // They must stay there until Clear.
  void Refer(const char* bytes, size_t n) {
    there_ = bytes;
    size_ = n;
  }

  // AddText adds a string.
  bool AddText(std::string_view text);

  // Cut keeps the first so many records; `element` is the bytes of an element
  // of numbers, and `texts` the strings of an element of strings, else 0.
  void Cut(size_t records, size_t element, size_t texts) {
    if (splits_.size() > records + 1) splits_.resize(records + 1);
    const auto n = static_cast<size_t>(splits_.back());
    size_ = n * element;
    if (texts == 0) return;
    texts_.resize(n * texts);
    size_ = texts_.empty() ? 0 : texts_.back();
  }

  // EndRecord ends a record of n elements.
  void EndRecord(int64_t n) { splits_.push_back(splits_.back() + n); }

 private:
  std::unique_ptr<char[]> data_;
  const char* there_ = nullptr;  // instead of data_, if set
  size_t capacity_ = 0;
  size_t size_ = 0;
  std::vector<size_t> texts_;
  std::vector<int64_t> splits_ = {0};
};

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_JOINED_H_
