#include "our_decoder.h"

#include <cstring>

namespace millrace {
namespace fuzz {
namespace {

// Size returns the bytes of a feature's value in memory, 0 for strings.
int64_t Size(const FeatureSpec& f) {
  switch (f.kind) {
    case Kind::kInt64:
      return 8;
    case Kind::kFloat:
      return 4;
    case Kind::kBytes:
      return 0;
    case Kind::kRaw:
      return f.raw_bytes;
  }
  return 0;
}

void SetText(void* base, int64_t index, const char* data, size_t n) {
  static_cast<std::string*>(base)[index].assign(data, n);
}

void AppendText(std::string_view text, std::string* out) {
  *out += std::to_string(text.size()) + ":";
  out->append(text);
}

}  // namespace

OurDecoder::OurDecoder(const Schema& schema)
    : schema_(schema),
      examples_(schema.features),
      sequences_(schema.features),
      numbers_(schema.features.size()),
      texts_(schema.features.size()) {}

bool OurDecoder::Decode(const std::vector<std::string>& records, Fault* fault) {
  std::vector<Destination> to(schema_.features.size());
  for (size_t i = 0; i < to.size(); ++i) {
    const FeatureSpec& f = schema_.features[i];
    if (f.is_list) continue;
    const size_t n = records.size() * static_cast<size_t>(f.values);
    if (f.kind == Kind::kBytes) {
      texts_[i].assign(n, "");
      to[i] = {texts_[i].data(), SetText};
    } else {
      numbers_[i].assign(n * static_cast<size_t>(Size(f)), 0);
      to[i] = {numbers_[i].data(), nullptr};
    }
  }
  examples_.Clear();
  sequences_.Clear();
  for (size_t row = 0; row < records.size(); ++row) {
    const auto at = static_cast<int64_t>(row);
    const bool ok = schema_.sequence
                        ? sequences_.Decode(records[row], to.data(), at, fault)
                        : examples_.Decode(records[row], to.data(), at, fault);
    if (!ok) return false;
  }
  return true;
}

std::string OurDecoder::Values(size_t feature, size_t records) const {
  const FeatureSpec& f = schema_.features[feature];
  std::string out;
  if (!f.is_list) {
    for (const std::string& text : texts_[feature]) AppendText(text, &out);
    return out.append(numbers_[feature].data(), numbers_[feature].size());
  }
  const Joined& list =
      schema_.sequence ? sequences_.list(feature) : examples_.list(feature);
  for (size_t row = 0; row < records; ++row) {
    out += std::to_string(list.splits()[row + 1] - list.splits()[row]) + " ";
  }
  if (f.kind != Kind::kBytes) {
    return list.size() == 0 ? out : out.append(list.data(), list.size());
  }
  size_t begin = 0;
  for (const size_t end : list.texts()) {
    AppendText({list.data() + begin, end - begin}, &out);
    begin = end;
  }
  return out;
}

Outcome OurDecoder::Parse(const std::vector<std::string>& records) {
  Outcome outcome;
  Fault fault;
  for (auto& texts : texts_) texts.clear();
  for (auto& numbers : numbers_) numbers.clear();
  outcome.accepted = Decode(records, &fault);
  outcome.error = fault.text;
  if (!outcome.accepted) return outcome;
  for (size_t i = 0; i < schema_.features.size(); ++i) {
    outcome.values.push_back(Values(i, records.size()));
  }
  return outcome;
}

}  // namespace fuzz
}  // namespace millrace
