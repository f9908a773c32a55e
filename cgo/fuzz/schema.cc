#include "schema.h"

#include <algorithm>

#include "../datasets/fault.h"

namespace millrace {
namespace fuzz {
namespace {

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kInt64:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kBytes:
      return "bytes";
    case Kind::kRaw:
      return "raw";
  }
  return "";
}

// Keys have the lengths at which implementations change their code paths.
std::string DrawKey(Random* random) {
  const size_t lengths[] = {0, 1, 1, 1, 2, 7, 15, 16, 127, 128, 255, 256, 300};
  const size_t n = random->Pick(lengths);
  // The beginnings of long keys are equal.
  return std::string(n, 'k') + static_cast<char>('a' + random->Below(3));
}

}  // namespace

Schema DrawSchema(Random* random) {
  Schema schema;
  schema.sequence = random->OneIn(2);
  const Kind kinds[] = {Kind::kInt64, Kind::kFloat, Kind::kBytes, Kind::kRaw};
  const size_t n = 1 + random->Below(4);
  while (schema.features.size() < n) {
    FeatureSpec f;
    f.key = DrawKey(random);
    const auto same = [&](const FeatureSpec& o) { return o.key == f.key; };
    if (std::any_of(schema.features.begin(), schema.features.end(), same)) {
      continue;
    }
    f.kind = random->Pick(kinds);
    if (schema.sequence) {
      f.is_list = random->OneIn(2);
    } else if (f.kind != Kind::kRaw && random->OneIn(3)) {
      // TensorFlow treats a missing list as an empty one.
      f.is_list = f.is_optional = true;
    }
    const int64_t counts[] = {1, 1, 1, 2, 3, 5, 40};
    f.values = random->Pick(counts);
    if (!f.is_list && f.kind != Kind::kRaw && random->OneIn(12)) f.values = 0;
    if (f.kind == Kind::kRaw) {
      const int swaps[] = {1, 1, 2, 4, 8};
      f.swap_bytes = random->Pick(swaps);
      f.raw_bytes = f.swap_bytes * static_cast<int64_t>(1 + random->Below(3));
    }
    schema.features.push_back(f);
  }
  return schema;
}

std::string Describe(const Schema& schema) {
  std::string out = schema.sequence ? "SequenceExample" : "Example";
  for (const FeatureSpec& f : schema.features) {
    out += "; " + std::string(f.is_list ? "list " : "") + Quote(f.key, 400) +
           " " + KindName(f.kind) + " x " + std::to_string(f.values);
    if (f.kind == Kind::kRaw) {
      out += " of " + std::to_string(f.raw_bytes) + " bytes, swapped by " +
             std::to_string(f.swap_bytes);
    }
  }
  return out;
}

}  // namespace fuzz
}  // namespace millrace
