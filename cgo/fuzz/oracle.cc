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

// AppendRaw appends what DecodeRaw makes of a string.
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
    auto& to = f.is_list ? config_->lists : config_->context;
    to.dense.emplace_back(f.key, type,
                          tensorflow::PartialTensorShape({f.values}),
                          Tensor(type, tensorflow::TensorShape({0})), false,
                          static_cast<size_t>(f.values));
  }
}

Oracle::~Oracle() = default;

Outcome Oracle::Parse(const std::vector<std::string>& records) const {
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
    const Tensor& t = result.dense_values[i];
    outcome.values.emplace_back();
    if (!Append(schema_.features[i], t, 0, t.NumElements(),
                &outcome.values.back())) {
      return Rejected("DecodeRaw: another number of bytes");
    }
  }
  outcome.accepted = true;
  return outcome;
}

bool MayEndProcess(const Schema& schema, const std::string& record) {
  bool strings = false;
  int64_t floats = INT64_MAX;  // the shortest float feature of an Example
  for (const FeatureSpec& f : schema.features) {
    strings |= f.kind == Kind::kBytes || f.kind == Kind::kRaw;
    if (f.kind == Kind::kFloat && !schema.sequence) {
      floats = std::min(floats, f.values);
    }
  }
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(record[i]); };
  std::vector<int64_t> run(record.size());  // of tags that end here
  int high = 0;                             // bytes with the high bit before
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
