#include "oracle.h"

#include <algorithm>

#include "absl/status/status.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/util/example_proto_fast_parsing.h"

namespace millrace {
namespace fuzz {
namespace {

namespace example = tensorflow::example;
using tensorflow::Tensor;
using tensorflow::tstring;

tensorflow::DataType StoredType(Kind kind) {
  switch (kind) {
    case Kind::kInt64:
      return tensorflow::DT_INT64;
    case Kind::kFloat:
      return tensorflow::DT_FLOAT;
    default:
      return tensorflow::DT_STRING;
  }
}

// AppendRaw appends the result of DecodeRaw for a string.
bool AppendRaw(const FeatureSpec& f, const tstring& text, std::string* out) {
  if (text.size() != static_cast<size_t>(f.raw_bytes)) return false;
  std::string bytes(text.data(), text.size());
  for (size_t i = 0; i < bytes.size(); i += f.swap_bytes) {
    std::reverse(bytes.begin() + i, bytes.begin() + i + f.swap_bytes);
  }
  *out += bytes;
  return true;
}

// Append appends the values [begin, begin + n) of a tensor.
bool Append(const FeatureSpec& f, const Tensor& t, int64_t begin, int64_t n,
            std::string* out) {
  if (f.kind == Kind::kInt64 || f.kind == Kind::kFloat) {
    const int64_t size = f.kind == Kind::kInt64 ? 8 : 4;
    if (n > 0) {
      out->append(static_cast<const char*>(t.data()) + begin * size, n * size);
    }
    return true;
  }
  const auto texts = t.flat<tstring>();
  for (int64_t i = begin; i < begin + n; ++i) {
    if (f.kind == Kind::kRaw) {
      if (!AppendRaw(f, texts(i), out)) return false;
    } else {
      *out += std::to_string(texts(i).size()) + ":";
      out->append(texts(i).data(), texts(i).size());
    }
  }
  return true;
}

Outcome Rejected(const std::string& error) {
  Outcome outcome;
  outcome.error = error;
  return outcome;
}

}  // namespace

struct Oracle::Config {
  example::FastParseExampleConfig context, lists;
};

Oracle::Oracle(const Schema& schema)
    : schema_(schema), config_(std::make_unique<Config>()) {
  for (const FeatureSpec& f : schema.features) {
    const tensorflow::DataType type = StoredType(f.kind);
    const auto stride = static_cast<size_t>(f.values);
    if (f.is_list && !schema.sequence) {
      variable_ = true;
      config_->context.dense.emplace_back(
          f.key, type, tensorflow::PartialTensorShape({-1, f.values}),
          Tensor(type, tensorflow::TensorShape({})), true, stride);
      continue;
    }
    auto& to = f.is_list ? config_->lists : config_->context;
    to.dense.emplace_back(
        f.key, type, tensorflow::PartialTensorShape({f.values}),
        Tensor(type, tensorflow::TensorShape({0})), false, stride);
  }
}

Oracle::~Oracle() = default;

// AppendAll appends the values of a feature of one Example, and inserts the
// number of its elements before the values of the earlier records.
bool Oracle::AppendAll(size_t feature, const Tensor& t, std::string* counts,
                       std::string* out) const {
  const FeatureSpec& f = schema_.features[feature];
  if (f.is_list) *counts += std::to_string(t.NumElements() / f.values) + " ";
  return Append(f, t, 0, t.NumElements(), out);
}

// ParseEach parses a batch of Examples one by one. TensorFlow pads lists to the
// longest of a batch and does not return their lengths.
Outcome Oracle::ParseEach(const std::vector<std::string>& records) const {
  const size_t n = schema_.features.size();
  std::vector<std::string> counts(n), values(n);
  for (const std::string& record : records) {
    example::Result result;
    const std::vector<tstring> one(1, record);
    const absl::Status status =
        example::FastParseExample(config_->context, one, {}, nullptr, &result);
    if (!status.ok()) return Rejected(std::string(status.message()));
    for (size_t i = 0; i < n; ++i) {
      if (!AppendAll(i, result.dense_values[i], &counts[i], &values[i])) {
        return Rejected("DecodeRaw: another number of bytes");
      }
    }
  }
  Outcome outcome;
  outcome.accepted = true;
  for (size_t i = 0; i < n; ++i)
    outcome.values.push_back(counts[i] + values[i]);
  return outcome;
}

Outcome Oracle::Parse(const std::vector<std::string>& records) const {
  if (variable_) return ParseEach(records);
  const std::vector<tstring> serialized(records.begin(), records.end());
  example::Result context, lists;
  std::vector<Tensor> lengths(config_->lists.dense.size());
  const absl::Status status =
      schema_.sequence ? example::FastParseSequenceExample(
                             config_->context, config_->lists, serialized, {},
                             nullptr, &context, &lists, &lengths)
                       : example::FastParseExample(config_->context, serialized,
                                                   {}, nullptr, &context);
  if (!status.ok()) return Rejected(std::string(status.message()));
  Outcome outcome;
  size_t next_context = 0, next_list = 0;
  for (const FeatureSpec& f : schema_.features) {
    std::string values;
    bool ok = true;
    if (!f.is_list) {
      const Tensor& t = context.dense_values[next_context++];
      ok = Append(f, t, 0, t.NumElements(), &values);
    } else {
      const Tensor& t = lists.dense_values[next_list];
      const auto rows = lengths[next_list++].flat<int64_t>();
      for (int64_t i = 0; i < rows.size(); ++i) {
        values += std::to_string(rows(i)) + " ";
      }
      // Rows are padded to the longest.
      const int64_t stride = t.NumElements() / rows.size();
      for (int64_t i = 0; ok && i < rows.size(); ++i) {
        ok = Append(f, t, i * stride, rows(i) * f.values, &values);
      }
    }
    if (!ok) return Rejected("DecodeRaw: another number of bytes");
    outcome.values.push_back(values);
  }
  outcome.accepted = true;
  return outcome;
}

Outcome Oracle::ParseSingle(const std::string& record) const {
  example::Result result;
  const absl::Status status =
      example::FastParseSingleExample(config_->context, record, &result);
  if (!status.ok()) return Rejected(std::string(status.message()));
  Outcome outcome;
  for (size_t i = 0; i < schema_.features.size(); ++i) {
    std::string counts, values;
    if (!AppendAll(i, result.dense_values[i], &counts, &values)) {
      return Rejected("DecodeRaw: another number of bytes");
    }
    outcome.values.push_back(counts + values);
  }
  outcome.accepted = true;
  return outcome;
}

bool MayEndProcess(const Schema& schema, const std::string& record) {
  bool strings = false;
  int64_t floats = INT64_MAX;  // the shortest float feature of an Example
  for (const FeatureSpec& f : schema.features) {
    strings |= f.kind == Kind::kBytes || f.kind == Kind::kRaw;
    // TensorFlow allocates the memory that a packed list of Examples claims.
    strings |= f.kind == Kind::kFloat && f.is_list && !schema.sequence;
    if (f.kind == Kind::kFloat && !f.is_list && !schema.sequence) {
      floats = std::min(floats, f.values);
    }
  }
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(record[i]); };
  std::vector<int64_t> run(record.size());  // tags up to each byte
  int high = 0;                             // preceding bytes with the high bit
  for (size_t i = 0; i < record.size(); ++i) {
    if (byte(i) == 0x0d) run[i] = i < 5 ? 1 : run[i - 5] + 1;
    if (run[i] > floats) return true;
    if (strings && high >= 4 && (byte(i) & 0x0f) != 0) return true;
    high = byte(i) >= 0x80 ? high + 1 : 0;
  }
  return false;
}

}  // namespace fuzz
}  // namespace millrace
