// MillraceSequenceBatchDataset: the components for features of records with
// lists.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

// Record has a context feature "c" and two lists of n elements: "f", pairs of
// floats, and "s", strings.
std::string Record(int64_t c, int n) {
  std::vector<std::string> f, s;
  for (int i = 0; i < n; ++i) {
    f.push_back(Floats({c + 0.5f, static_cast<float>(i)}));
    s.push_back(Texts({std::string(i, 's')}));
  }
  return Features(Entry("c", millrace::Ints({c}))) +
         FeatureLists(Entry("f", List(f)) + Entry("s", List(s)));
}

enum Feature { kC, kF, kS };

// Component is one component of a batch.
struct Component {
  std::string part;
  Feature of;
  int64_t size;
  TF_DataType type;
  std::vector<int64_t> shape;
};

// Start begins to read a file in batches of two records.
Result Start(Pipeline* p, const TempFile& file,
             const std::vector<Component>& components,
             const std::vector<Value>& fills) {
  Attrs attrs;
  attrs.strings["keys"] = {"c", "f", "s"};
  attrs.strings["kinds"] = {"int", "float", "bytes"};
  attrs.ints["values"] = {1, 2, 1};
  attrs.bools["big_endian"] = {0, 0, 0};
  attrs.bools["lists"] = {0, 1, 1};
  attrs.types["record_types"] = {TF_INT64, TF_FLOAT, TF_STRING};
  attrs.shapes["record_shapes"] = {{-1}, {-1, 2}, {-1}};
  for (const Component& c : components) {
    attrs.strings["parts"].push_back(c.part);
    attrs.ints["of"].push_back(c.of);
    attrs.ints["sizes"].push_back(c.size);
    attrs.types["output_types"].push_back(c.type);
    attrs.shapes["output_shapes"].push_back(c.shape);
  }
  std::vector<TF_Output> padding;
  for (const Value& fill : fills) padding.push_back(p->Constant(fill));
  if (fills.empty()) attrs.types["Tfills"] = {};
  const TF_Output dataset =
      p->Add("MillraceSequenceBatchDataset",
             {p->Constant(Strings({file.path()})), p->Constant(Ints({-1})),
              p->Constant(Int(2)), p->Constant(Int(1)),
              p->Constant(Bool(false)), p->Constant(Int(0))},
             attrs, &padding);
  return p->Iterate(dataset, attrs.types["output_types"],
                    attrs.shapes["output_shapes"]);
}

const Component kPaddedF = {"padded", kF, -1, TF_FLOAT, {-1, -1, 2}};
const Component kPaddedS = {"padded", kS, -1, TF_STRING, {-1, -1}};

TEST(SequenceBatch, JoinsListsAndSplitsThem) {
  const TempFile file(Frame(Record(7, 3)) + Frame(Record(8, 1)) +
                      Frame(Record(9, 2)));
  Pipeline p;
  ASSERT_EQ(Start(&p, file,
                  {{"values", kC, -1, TF_INT64, {-1}},
                   {"values", kF, -1, TF_FLOAT, {-1, 2}},
                   {"splits", kF, -1, TF_INT64, {-1}},
                   {"values", kS, -1, TF_STRING, {-1}},
                   {"lengths", kS, -1, TF_INT64, {-1}},
                   {"elements", kF, -1, TF_INT64, {-1}},
                   {"elements", kC, -1, TF_INT64, {-1}}},
                  {})
                .code,
            TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].As<int64_t>(), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(r.values[1].shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(r.values[1].As<float>(),
            (std::vector<float>{7.5f, 0, 7.5f, 1, 7.5f, 2, 8.5f, 0}));
  EXPECT_EQ(r.values[2].As<int64_t>(), (std::vector<int64_t>{0, 3, 4}));
  EXPECT_EQ(r.values[3].strings, (std::vector<std::string>{"", "s", "ss", ""}));
  EXPECT_EQ(r.values[4].As<int64_t>(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(r.values[5].As<int64_t>(), (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(r.values[6].As<int64_t>(), (std::vector<int64_t>{1, 1}));
  const Result rest = p.Next();  // a last batch of one record
  ASSERT_EQ(rest.code, TF_OK) << rest.message;
  EXPECT_EQ(rest.values[0].As<int64_t>(), std::vector<int64_t>{9});
  EXPECT_EQ(rest.values[2].As<int64_t>(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
}

TEST(SequenceBatch, PadsToTheLongest) {
  const TempFile file(Frame(Record(1, 2)) + Frame(Record(2, 0)));
  Pipeline p;
  ASSERT_EQ(
      Start(&p, file, {kPaddedF, kPaddedS, {"mask", kF, -1, TF_BOOL, {-1, -1}}},
            {Float(-9), Text("pad")})
          .code,
      TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(r.values[0].As<float>(),
            (std::vector<float>{1.5f, 0, 1.5f, 1, -9, -9, -9, -9}));
  EXPECT_EQ(r.values[1].strings,
            (std::vector<std::string>{"", "s", "pad", "pad"}));
  EXPECT_EQ(r.values[2].As<unsigned char>(),
            (std::vector<unsigned char>{1, 1, 0, 0}));
}

TEST(SequenceBatch, PadsToASizeAndRefusesMore) {
  const TempFile file(Frame(Record(1, 1)) + Frame(Record(2, 3)) +
                      Frame(Record(3, 4)));
  Component sized = kPaddedF;
  sized.size = 3;
  Pipeline p;
  ASSERT_EQ(Start(&p, file, {sized}, {Float(0)}).code, TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(r.values[0].As<float>(),
            (std::vector<float>{1.5f, 0, 0, 0, 0, 0,  //
                                2.5f, 0, 2.5f, 1, 2.5f, 2}));
  const Result bad = p.Next();
  EXPECT_EQ(bad.code, TF_INVALID_ARGUMENT);
  EXPECT_NE(bad.message.find("feature \"f\": 4 elements, padded to 3"),
            std::string::npos)
      << bad.message;
  EXPECT_NE(bad.message.find("record 2 (offset "), std::string::npos)
      << bad.message;
}

TEST(SequenceBatch, MakesBatchesWithoutAnElement) {
  const TempFile file(Frame(Record(1, 0)) + Frame(Record(2, 0)));
  Pipeline p;
  ASSERT_EQ(Start(&p, file, {kPaddedF, {"values", kS, -1, TF_STRING, {-1}}},
                  {Float(5)})
                .code,
            TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{2, 0, 2}));
  EXPECT_TRUE(r.values[1].strings.empty());
}

// Features of Examples with any number of values are lists, too.
TEST(SequenceBatch, JoinsFeaturesOfExamples) {
  const TempFile file(
      Frame(Features(Entry("n", millrace::Ints({7})) +
                     Entry("f", Floats({1, 2, 3, 4})))) +
      Frame(Features(Entry("f", Floats({})) + Entry("n", UnpackedInts({8})) +
                     Entry("s", Texts({"a", "bc"})))));
  Pipeline p;
  Attrs attrs;
  attrs.flag["examples"] = true;
  attrs.strings["keys"] = {"f", "n", "s"};
  attrs.strings["kinds"] = {"float", "int", "bytes"};
  attrs.ints["values"] = {2, 1, 1};
  attrs.bools["big_endian"] = {0, 0, 0};
  attrs.bools["lists"] = {1, 0, 1};
  attrs.bools["optional"] = {0, 0, 1};
  attrs.types["record_types"] = {TF_FLOAT, TF_INT64, TF_STRING};
  attrs.shapes["record_shapes"] = {{-1, 2}, {-1}, {-1}};
  attrs.strings["parts"] = {"values", "splits", "values", "padded"};
  attrs.ints["of"] = {0, 0, 1, 2};
  attrs.ints["sizes"] = {-1, -1, -1, -1};
  attrs.types["output_types"] = {TF_FLOAT, TF_INT64, TF_INT64, TF_STRING};
  attrs.shapes["output_shapes"] = {{-1, 2}, {-1}, {-1}, {-1, -1}};
  const std::vector<TF_Output> fills = {p.Constant(Text("-"))};
  const TF_Output dataset =
      p.Add("MillraceSequenceBatchDataset",
            {p.Constant(Strings({file.path()})), p.Constant(Ints({-1})),
             p.Constant(Int(2)), p.Constant(Int(1)), p.Constant(Bool(false)),
             p.Constant(Int(0))},
            attrs, &fills);
  ASSERT_EQ(p.Iterate(dataset, attrs.types["output_types"],
                      attrs.shapes["output_shapes"])
                .code,
            TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].As<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(r.values[1].As<int64_t>(), (std::vector<int64_t>{0, 2, 2}));
  EXPECT_EQ(r.values[2].As<int64_t>(), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(r.values[3].strings,
            (std::vector<std::string>{"-", "-", "a", "bc"}));
}

TEST(SequenceBatch, RefusesAttributesThatDoNotFit) {
  const TempFile file("");
  const struct {
    const char* name;
    std::vector<Component> components;
    std::vector<Value> fills;
  } tests[] = {
      {"no value to pad with", {kPaddedF}, {}},
      {"one value too many", {kPaddedF}, {Float(0), Float(0)}},
      {"another type to pad with", {kPaddedF}, {Int(0)}},
      {"a vector to pad with", {kPaddedS}, {Strings({"a"})}},
      {"the splits of a context feature",
       {{"splits", kC, -1, TF_INT64, {-1}}},
       {}},
      {"the mask as numbers", {{"mask", kF, -1, TF_INT64, {-1, -1}}}, {}},
      {"no such feature",
       {{"values", static_cast<Feature>(3), -1, TF_INT64, {-1}}},
       {}},
  };
  for (const auto& test : tests) {
    Pipeline p;
    EXPECT_EQ(Start(&p, file, test.components, test.fills).code,
              TF_INVALID_ARGUMENT)
        << test.name;
  }
}

}  // namespace
}  // namespace optest
}  // namespace millrace
