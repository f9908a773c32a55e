// MillraceBucketBatchDataset: batches of records of similar length.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

// Record is a SequenceExample with a list of n elements.
std::string Record(int64_t length) {
  return FeatureLists(Entry(
      "y", List(std::vector<std::string>(length, millrace::Ints({length})))));
}

struct Buckets {
  std::vector<int64_t> boundaries = {2};
  std::vector<int64_t> sizes = {2, 2};
  int64_t length_of = 0;
  bool positions = true;
};

Result Start(Pipeline* p, const std::vector<std::string>& records,
             const Buckets& buckets) {
  Attrs slices;
  slices.types["Toutput_types"] = {TF_STRING};
  slices.shapes["output_shapes"] = {{}};
  const std::vector<TF_Output> components = {p->Constant(Strings(records))};
  Attrs attrs;
  attrs.strings["keys"] = {"y"};
  attrs.strings["kinds"] = {"int"};
  attrs.ints["values"] = {1};
  attrs.bools["big_endian"] = {0};
  attrs.flag["placed"] = false;
  attrs.bools["lists"] = {1};
  attrs.types["record_types"] = {TF_INT64};
  attrs.shapes["record_shapes"] = {{-1}};
  attrs.strings["parts"] = {"padded"};
  attrs.ints["of"] = {0};
  attrs.ints["sizes"] = {-1};
  attrs.integer["length_of"] = buckets.length_of;
  attrs.flag["positions"] = buckets.positions;
  std::vector<TF_DataType> types = {TF_INT64};
  std::vector<std::vector<int64_t>> shapes = {{-1, -1}};
  if (buckets.positions) {
    types.push_back(TF_INT64);
    shapes.push_back({-1});
  }
  attrs.types["output_types"] = types;
  attrs.shapes["output_shapes"] = shapes;
  const std::vector<TF_Output> fills = {p->Constant(Int(-7))};
  const TF_Output dataset = p->Add(
      "MillraceBucketBatchDataset",
      {p->Add("TensorSliceDataset", {}, slices, &components),
       p->Constant(Ints(buckets.boundaries)), p->Constant(Ints(buckets.sizes)),
       p->Constant(Bool(false)), p->Constant(Ints({10, 30})),
       p->Constant(Int(40)), p->Constant(Strings({}))},
      attrs, &fills);
  return p->Iterate(dataset, types, shapes);
}

// A full bucket is yielded at once, and the rest of each at the end.
TEST(BucketBatchDataset, GivesFullBuckets) {
  for (const bool positions : {true, false}) {
    Pipeline p;
    Buckets buckets;
    buckets.positions = positions;
    ASSERT_EQ(
        Start(&p, {Record(3), Record(1), Record(2), Record(0)}, buckets).code,
        TF_OK);
    const std::vector<std::vector<int64_t>> values = {
        {1, -7, 2, 2}, {}, {3, 3, 3}};
    const std::vector<std::vector<int64_t>> places = {{30, 40}, {41}, {10}};
    for (size_t i = 0; i < values.size(); ++i) {
      const Result batch = p.Next();
      ASSERT_EQ(batch.code, TF_OK) << batch.message;
      EXPECT_EQ(batch.values[0].As<int64_t>(), values[i]);
      if (positions) {
        EXPECT_EQ(batch.values[1].As<int64_t>(), places[i]);
      }
    }
    EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
    EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
  }
}

// The failed record is lost: no element may follow it, not even from other
// buckets.
TEST(BucketBatchDataset, FailsForGood) {
  Pipeline p;
  ASSERT_EQ(
      Start(&p, {Record(1), Record(1), Record(3), "\x0b", Record(3)}, Buckets())
          .code,
      TF_OK);
  EXPECT_EQ(p.Next().code, TF_OK);
  for (int i = 0; i < 2; ++i) {
    const Result bad = p.Next();
    EXPECT_EQ(bad.code, TF_INVALID_ARGUMENT);
    EXPECT_NE(bad.message.find("element 3: "), std::string::npos)
        << bad.message;
  }
}

TEST(BucketBatchDataset, RefusesWhatAreNoBuckets) {
  const std::vector<Buckets> wrong = {
      {{}, {1}, 0, true},            // one bucket
      {{2, 1}, {1, 1, 1}, 0, true},  // descending
      {{2}, {1}, 0, true},           // a size is missing
      {{2}, {1, 0}, 0, true},        // no rows
      {{2}, {1, 1}, 1, true},        // no such feature
      {{2}, {1, 1}, -1, true},
  };
  for (const Buckets& buckets : wrong) {
    Pipeline p;
    EXPECT_EQ(Start(&p, {Record(1)}, buckets).code, TF_INVALID_ARGUMENT);
  }
}

}  // namespace
}  // namespace optest
}  // namespace millrace
