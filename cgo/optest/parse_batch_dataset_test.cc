// MillraceParseBatchDataset and MillraceParseSequenceBatchDataset: batches of
// the records that another dataset yields.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

std::string Record(int64_t i) {
  return Features(Entry("y", millrace::Ints({i, -i})));
}

Attrs OneFeature() {
  Attrs attrs;
  attrs.strings["keys"] = {"y"};
  attrs.strings["kinds"] = {"int"};
  attrs.ints["values"] = {2};
  attrs.bools["big_endian"] = {0};
  attrs.flag["placed"] = false;
  return attrs;
}

// Slices is a dataset of these strings.
TF_Output Slices(Pipeline* p, const std::vector<std::string>& records) {
  Attrs attrs;
  attrs.types["Toutput_types"] = {TF_STRING};
  attrs.shapes["output_shapes"] = {{}};
  const std::vector<TF_Output> components = {p->Constant(Strings(records))};
  return p->Add("TensorSliceDataset", {}, attrs, &components);
}

Result Start(Pipeline* p, const std::vector<std::string>& records,
             int64_t batch_size, bool drop_remainder) {
  Attrs attrs = OneFeature();
  attrs.types["output_types"] = {TF_INT64};
  attrs.shapes["output_shapes"] = {{-1, 2}};
  const TF_Output dataset =
      p->Add("MillraceParseBatchDataset",
             {Slices(p, records), p->Constant(Int(batch_size)),
              p->Constant(Bool(drop_remainder)), p->Constant(Strings({}))},
             attrs);
  return p->Iterate(dataset, {TF_INT64}, {{-1, 2}});
}

TEST(ParseBatchDataset, DecodesBatches) {
  for (const bool drop_remainder : {false, true}) {
    Pipeline p;
    ASSERT_EQ(
        Start(&p, {Record(1), Record(2), Record(3)}, 2, drop_remainder).code,
        TF_OK);
    const Result first = p.Next();
    ASSERT_EQ(first.code, TF_OK) << first.message;
    EXPECT_EQ(first.values[0].shape, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(first.values[0].As<int64_t>(),
              (std::vector<int64_t>{1, -1, 2, -2}));
    if (!drop_remainder) {
      EXPECT_EQ(p.Next().values[0].As<int64_t>(),
                (std::vector<int64_t>{3, -3}));
    }
    EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
    EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
  }
}

// The records of a failed batch are lost: no element may follow it.
TEST(ParseBatchDataset, FailsForGoodAndNumbersTheElement) {
  Pipeline p;
  ASSERT_EQ(Start(&p, {Record(1), Record(2), "\x0b", Record(4)}, 2, false).code,
            TF_OK);
  EXPECT_EQ(p.Next().code, TF_OK);
  for (int i = 0; i < 2; ++i) {
    const Result bad = p.Next();
    EXPECT_EQ(bad.code, TF_INVALID_ARGUMENT);
    EXPECT_NE(bad.message.find("element 2: not an Example"), std::string::npos)
        << bad.message;
  }
}

TEST(ParseBatchDataset, RefusesWhatItCannotBatch) {
  Pipeline p;
  EXPECT_EQ(Start(&p, {Record(1)}, 0, false).code, TF_INVALID_ARGUMENT);
  Pipeline numbers;
  Attrs range;
  range.types["output_types"] = {TF_INT64};
  range.shapes["output_shapes"] = {{}};
  const TF_Output input =
      numbers.Add("RangeDataset",
                  {numbers.Constant(Int(0)), numbers.Constant(Int(3)),
                   numbers.Constant(Int(1))},
                  range);
  Attrs attrs = OneFeature();
  attrs.types["output_types"] = {TF_INT64};
  attrs.shapes["output_shapes"] = {{-1, 2}};
  const TF_Output dataset = numbers.Add(
      "MillraceParseBatchDataset",
      {input, numbers.Constant(Int(1)), numbers.Constant(Bool(false)),
       numbers.Constant(Strings({}))},
      attrs);
  EXPECT_EQ(numbers.Iterate(dataset, {TF_INT64}, {{-1, 2}}).code,
            TF_INVALID_ARGUMENT);
}

TEST(ParseSequenceBatchDataset, DecodesBatches) {
  const auto record = [](const std::vector<std::string>& elements) {
    return FeatureLists(Entry("y", List(elements)));
  };
  Pipeline p;
  Attrs attrs = OneFeature();
  attrs.bools["lists"] = {1};
  attrs.types["record_types"] = {TF_INT64};
  attrs.shapes["record_shapes"] = {{-1, 2}};
  attrs.strings["parts"] = {"padded"};
  attrs.ints["of"] = {0};
  attrs.ints["sizes"] = {-1};
  attrs.types["output_types"] = {TF_INT64};
  attrs.shapes["output_shapes"] = {{-1, -1, 2}};
  const std::vector<TF_Output> fills = {p.Constant(Int(-7))};
  const TF_Output dataset = p.Add(
      "MillraceParseSequenceBatchDataset",
      {Slices(&p, {record({millrace::Ints({1, 2}), UnpackedInts({3, 4})}),
                   record({millrace::Ints({5, 6})})}),
       p.Constant(Int(2)), p.Constant(Bool(false)), p.Constant(Strings({}))},
      attrs, &fills);
  ASSERT_EQ(p.Iterate(dataset, {TF_INT64}, {{-1, -1, 2}}).code, TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].As<int64_t>(),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6, -7, -7}));
}

// MillraceDecodeExamples does the same within a graph.
TEST(DecodeExamples, DecodesAVector) {
  Pipeline p;
  Attrs attrs = OneFeature();
  attrs.types["output_types"] = {TF_INT64};
  attrs.shapes["output_shapes"] = {{-1, 2}};
  const auto decode = [&](const Value& records) {
    return p.Fetch(p.Add("MillraceDecodeExamples",
                         {p.Constant(records), p.Constant(Strings({}))}, attrs),
                   1);
  };
  const Result good = decode(Strings({Record(1), Record(2)}));
  ASSERT_EQ(good.code, TF_OK) << good.message;
  EXPECT_EQ(good.values[0].As<int64_t>(), (std::vector<int64_t>{1, -1, 2, -2}));
  const Result none = decode(Strings({}));
  ASSERT_EQ(none.code, TF_OK) << none.message;
  EXPECT_EQ(none.values[0].shape, (std::vector<int64_t>{0, 2}));
  const Result bad = decode(Strings({Record(1), "\x0b"}));
  EXPECT_EQ(bad.code, TF_INVALID_ARGUMENT);
  EXPECT_NE(bad.message.find("element 1: not an Example"), std::string::npos)
      << bad.message;
  EXPECT_EQ(decode(Text(Record(1))).code, TF_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace optest
}  // namespace millrace
