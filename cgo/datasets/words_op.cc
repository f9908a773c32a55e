// MillraceWords splits texts into words and looks them up in a vocabulary.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "word_table.h"

// FarmHash, in TensorFlow's library. Its header, which TensorFlow's headers
// include by another path, cannot be included here.
namespace util {
uint64_t Fingerprint64(const char* bytes, size_t size);
}  // namespace util

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

// Vocabulary is a table and the tensor that holds its words.
struct Vocabulary {
  explicit Vocabulary(const Tensor& list) : words(list), table(Views(words)) {}

  static std::vector<std::string_view> Views(const Tensor& words) {
    std::vector<std::string_view> views;
    const auto all = words.vec<tstring>();
    views.reserve(all.size());
    for (int64_t i = 0; i < all.size(); ++i) {
      views.emplace_back(all(i).data(), all(i).size());
    }
    return views;
  }

  const Tensor words;
  const WordTable table;
};

// Returns the vocabulary of a tensor. All kernels that get the same tensor at
// the same time share it: each thread that makes batches may have its own
// kernel. A vocabulary keeps its tensor, so the memory is not used again.
std::shared_ptr<const Vocabulary> Share(const Tensor& words) {
  static absl::Mutex* const mu = new absl::Mutex;
  static auto* const all =
      new std::map<const void*, std::weak_ptr<const Vocabulary>>;
  const void* const memory = words.vec<tstring>().data();
  absl::MutexLock lock(mu);
  std::shared_ptr<const Vocabulary> found = (*all)[memory].lock();
  if (found == nullptr || found->words.NumElements() != words.NumElements()) {
    for (auto it = all->begin(); it != all->end();) {
      it = it->second.expired() ? all->erase(it) : std::next(it);
    }
    found = std::make_shared<const Vocabulary>(words);
    (*all)[memory] = found;
  }
  return found;
}

class WordsOp : public OpKernel {
 public:
  explicit WordsOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("lower", &lower_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("sep", &separator_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("most", &most_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("start", &start_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("others", &others_));
    constexpr int64_t kLargest = int64_t{1} << 61;
    OP_REQUIRES(ctx, start_ >= 0 && start_ < kLargest && others_ < kLargest,
                absl::InvalidArgumentError("the numbers are too large"));
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& texts = ctx->input(0);
    const Tensor& words = ctx->input(1);
    OP_REQUIRES(ctx, texts.dims() == 1 && words.dims() == 1,
                absl::InvalidArgumentError("texts and words must be vectors"));
    OP_REQUIRES(ctx, words.NumElements() < int64_t{1} << 32,
                absl::InvalidArgumentError("too many words"));
    const std::shared_ptr<const Vocabulary> vocabulary = Of(words);
    Tensor* splits;
    OP_REQUIRES_OK(ctx,
                   ctx->allocate_output(1, {texts.NumElements() + 1}, &splits));
    splits->vec<int64_t>()(0) = 0;
    std::vector<int64_t> numbers;
    std::vector<std::string_view> list;
    WordSplitter splitter(separator_, lower_);
    for (int64_t i = 0; i < texts.NumElements(); ++i) {
      const tstring& text = texts.vec<tstring>()(i);
      list.clear();
      if (most_ != 0) {
        splitter.Split({text.data(), text.size()}, [&](std::string_view word) {
          list.push_back(word);
          return static_cast<int64_t>(list.size()) != most_;
        });
      }
      numbers.resize(numbers.size() + list.size());
      int64_t* const own = numbers.data() + numbers.size() - list.size();
      vocabulary->table.Find(list.data(), list.size(), own);
      for (size_t k = 0; k < list.size(); ++k) {
        own[k] = start_ + (own[k] < 0 ? Other(*vocabulary, list[k]) : own[k]);
      }
      splits->vec<int64_t>()(i + 1) = static_cast<int64_t>(numbers.size());
    }
    Tensor* out;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(
                            0, {static_cast<int64_t>(numbers.size())}, &out));
    std::copy(numbers.begin(), numbers.end(), out->vec<int64_t>().data());
  }

 private:
  // Returns the vocabulary: nearly always the one of the call before.
  std::shared_ptr<const Vocabulary> Of(const Tensor& words) {
    absl::MutexLock lock(&mu_);
    if (vocabulary_ == nullptr || !vocabulary_->words.SharesBufferWith(words) ||
        vocabulary_->words.NumElements() != words.NumElements()) {
      vocabulary_ = Share(words);
    }
    return vocabulary_;
  }

  // Returns the number of a word that is not in the vocabulary.
  int64_t Other(const Vocabulary& vocabulary, std::string_view word) const {
    const int64_t first = vocabulary.words.NumElements();
    if (others_ == 1) return first;
    const uint64_t hash = util::Fingerprint64(word.data(), word.size());
    return first + static_cast<int64_t>(hash % static_cast<uint64_t>(others_));
  }

  bool lower_;
  std::string separator_;
  int64_t most_, start_, others_;

  absl::Mutex mu_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

REGISTER_KERNEL_BUILDER(Name("MillraceWords").Device(DEVICE_CPU), WordsOp);

}  // namespace
}  // namespace millrace
