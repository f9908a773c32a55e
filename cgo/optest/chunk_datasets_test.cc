// MillraceChunkRecordsDataset, and MillraceChunkBatchDataset over groups of the
// same records: rows that are cut from sequences, and batches of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

// Record is an Example with a sequence "x" of pairs, n frames: first + k and
// its negative, and "id", the first.
std::string Record(float first, int n) {
  std::vector<float> x;
  for (int k = 0; k < n; ++k) {
    x.push_back(first + k);
    x.push_back(-first - k);
  }
  return Features(Entry("x", Floats(x)) +
                  Entry("id", millrace::Ints({static_cast<int64_t>(first)})));
}

// Options are the inputs and attributes of the ops.
struct Options {
  std::vector<int64_t> rules = {2, 1, 8, 0};  // size, step, frames, rows
  int64_t left = 0;
  int64_t right = 0;
  int64_t fixed = -1;
  int64_t threads = 2;
  bool keep_tail = true;
};

Attrs ChunkAttrs(const Options& o) {
  Attrs attrs;
  attrs.strings["names"] = {"x", "id"};
  attrs.bools["ragged"] = {1, 0};
  attrs.bools["sequence"] = {1, 0};
  attrs.ints["left"] = {o.left, 0};
  attrs.ints["right"] = {o.right, 0};
  attrs.ints["fixed"] = {o.fixed, -1};
  attrs.strings["parts"] = {"row", "row", "size", "start", "end", "place"};
  attrs.ints["of"] = {0, 1, 0, 0, 0, 0};
  attrs.ints["each"] = {2, 1, 2, 1, 1, 1};
  attrs.types["output_types"] = {TF_FLOAT, TF_INT64, TF_INT32,
                                 TF_INT32, TF_BOOL,  TF_INT64};
  attrs.shapes["output_shapes"] = {{-1, -1, 2}, {-1}, {-1},
                                   {-1},        {-1}, {-1, 3}};
  attrs.flag["aligned"] = true;
  attrs.flag["keep_tail"] = o.keep_tail;
  return attrs;
}

Result Open(Pipeline* p, const std::string& op,
            const std::vector<TF_Output>& inputs, const Attrs& attrs) {
  const std::vector<TF_Output> fills = {p->Constant(Float(9)),
                                        p->Constant(Int(0))};
  return p->Iterate(p->Add(op, inputs, attrs, &fills),
                    attrs.types.at("output_types"),
                    attrs.shapes.at("output_shapes"));
}

// FromFiles reads, cuts and batches in one op.
Result FromFiles(Pipeline* p, const std::vector<std::string>& files,
                 const std::vector<int64_t>& counts, const Options& o) {
  Attrs attrs = ChunkAttrs(o);
  attrs.strings["keys"] = {"id", "x"};
  attrs.strings["kinds"] = {"int", "float"};
  attrs.ints["values"] = {1, 2};
  attrs.bools["big_endian"] = {0, 0};
  attrs.flag["examples"] = true;
  attrs.bools["lists"] = {0, 1};
  attrs.bools["optional"] = {0, 0};
  attrs.types["record_types"] = {TF_INT64, TF_FLOAT};
  attrs.shapes["record_shapes"] = {{-1}, {-1, 2}};
  attrs.ints["features"] = {1, 0};
  return Open(p, "MillraceChunkRecordsDataset",
              {p->Constant(Strings(files)), p->Constant(Ints(counts)),
               p->Constant(Ints(o.rules)), p->Constant(Int(0)),
               p->Constant(Int(o.threads))},
              attrs);
}

Value Tensor(TF_DataType type, std::vector<int64_t> shape, const void* data,
             size_t bytes) {
  Value v;
  v.type = type;
  v.shape = std::move(shape);
  v.bytes.assign(static_cast<const char*>(data), bytes);
  return v;
}

// FromGroup cuts one group of two records, of 3 and 2 frames.
Result FromGroup(Pipeline* p, const Options& o,
                 const std::vector<int64_t>& splits = {0, 3, 5}) {
  const float x[] = {0, 0, 1, -1, 2, -2, 10, -10, 11, -11};
  const int64_t ids[] = {0, 10}, places[] = {0, 0, 0, 0, 1, 40};
  const std::vector<TF_Output> components = {
      p->Constant(Tensor(TF_FLOAT, {5, 2}, x, sizeof(x))),
      p->Constant(Ints(splits)),
      p->Constant(Tensor(TF_INT64, {2}, ids, sizeof(ids))),
      p->Constant(Tensor(TF_INT64, {2, 3}, places, sizeof(places)))};
  Attrs attrs;
  attrs.types["Toutput_types"] = {TF_FLOAT, TF_INT64, TF_INT64, TF_INT64};
  attrs.shapes["output_shapes"] = {{5, 2}, {-1}, {2}, {2, 3}};
  const TF_Output groups = p->Add("TensorDataset", {}, attrs, &components);
  return Open(p, "MillraceChunkBatchDataset",
              {groups, p->Constant(Ints(o.rules)),
               p->Constant(Strings({"a.tfrecords"}))},
              ChunkAttrs(o));
}

// ExpectRows checks the batch of the rows 0:2, 1:3, 2:3 and 10:12 (with the
// second frame of the last one) of chunks of 2 frames every 1, with one frame
// of context before.
void ExpectRows(const Result& r) {
  ASSERT_EQ(r.code, TF_OK) << r.message;
  ASSERT_EQ(r.values.size(), 6u);
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{5, 3, 2}));
  EXPECT_EQ(r.values[0].As<float>(),
            (std::vector<float>{9,  9,   0,  0,   1,  -1,  0,  0,   1, -1,
                                2,  -2,  1,  -1,  2,  -2,  9,  9,   9, 9,
                                10, -10, 11, -11, 10, -10, 11, -11, 9, 9}));
  EXPECT_EQ(r.values[1].As<int64_t>(), (std::vector<int64_t>{0, 0, 0, 10, 10}));
  EXPECT_EQ(r.values[2].As<int32_t>(), (std::vector<int32_t>{3, 3, 2, 3, 2}));
  EXPECT_EQ(r.values[3].As<int32_t>(), (std::vector<int32_t>{0, 1, 2, 0, 1}));
  EXPECT_EQ(r.values[4].bytes, std::string("\0\0\0\0\1", 5));
  const std::vector<int64_t> places = r.values[5].As<int64_t>();
  ASSERT_EQ(places.size(), 15u);
  EXPECT_EQ(places[1], 0);   // the record of the first row
  EXPECT_EQ(places[10], 1);  // the record of the fourth row
}

class ChunkDatasets : public ::testing::Test {
 protected:
  std::vector<std::string> Files() const { return {one_.path(), two_.path()}; }

  const std::string first_ = Frame(Record(0, 3));
  const TempFile one_{first_ + Frame(Record(10, 2))};
  const TempFile two_{Frame(Record(20, 1)) + Frame(Record(30, 0))};
  Pipeline p_;
};

TEST_F(ChunkDatasets, CutTheSameRowsOfFilesAndOfGroups) {
  Options o;
  o.left = 1;
  o.rules = {2, 1, 15, 0};
  ASSERT_EQ(FromFiles(&p_, {one_.path()}, {2}, o).code, TF_OK);
  ExpectRows(p_.Next());
  EXPECT_EQ(p_.Next().code, TF_OUT_OF_RANGE);
  Pipeline groups;
  ASSERT_EQ(FromGroup(&groups, o).code, TF_OK);
  ExpectRows(groups.Next());
  EXPECT_EQ(groups.Next().code, TF_OUT_OF_RANGE);
}

// Rows of two files share a batch, and the budget ends it.
TEST_F(ChunkDatasets, BatchRowsByTheBudget) {
  Options o;
  o.rules = {0, 0, 6, 0};  // whole sequences: 3, 2, 1 and 0 frames
  ASSERT_EQ(FromFiles(&p_, Files(), {2, 2}, o).code, TF_OK);
  const Result r = p_.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(r.values[0].As<float>(),
            (std::vector<float>{0, 0, 1, -1, 2, -2, 10, -10, 11, -11, 9, 9}));
  const Result last = p_.Next();
  EXPECT_EQ(last.values[0].As<float>(), (std::vector<float>{20, -20, 9, 9}));
  EXPECT_EQ(last.values[1].As<int64_t>(), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(p_.Next().code, TF_OUT_OF_RANGE);
}

TEST_F(ChunkDatasets, DropTails) {
  Options o;
  o.keep_tail = false;
  o.rules = {2, 2, 100, 1};
  ASSERT_EQ(FromFiles(&p_, Files(), {2, 2}, o).code, TF_OK);
  EXPECT_EQ(p_.Next().values[0].As<float>(), (std::vector<float>{0, 0, 1, -1}));
  EXPECT_EQ(p_.Next().values[0].As<float>(),
            (std::vector<float>{10, -10, 11, -11}));
  EXPECT_EQ(p_.Next().code, TF_OUT_OF_RANGE);
}

TEST_F(ChunkDatasets, NameARowThatIsLongerThanItsPadding) {
  Options o;
  o.fixed = 2;
  o.rules = {0, 0, 100, 0};
  for (const bool files : {true, false}) {
    Pipeline p;
    const Result opened =
        files ? FromFiles(&p, Files(), {2, 2}, o) : FromGroup(&p, o);
    ASSERT_EQ(opened.code, TF_OK);
    for (int again = 0; again < 2; ++again) {
      const Result r = p.Next();
      EXPECT_EQ(r.code, TF_INVALID_ARGUMENT);
      EXPECT_NE(r.message.find(files ? one_.path() : "a.tfrecords"),
                std::string::npos)
          << r.message;
      EXPECT_NE(r.message.find("record 0"), std::string::npos) << r.message;
    }
  }
}

// The batches before a bad record are yielded first.
TEST_F(ChunkDatasets, NameADamagedRecord) {
  std::string bytes = first_ + Frame(Record(10, 2));
  bytes.back() ^= 1;
  const TempFile damaged(bytes);
  Options o;
  o.rules = {2, 2, 2, 0};  // one row per batch
  ASSERT_EQ(FromFiles(&p_, {damaged.path()}, {2}, o).code, TF_OK);
  EXPECT_EQ(p_.Next().values[0].As<float>(), (std::vector<float>{0, 0, 1, -1}));
  const Result r = p_.Next();
  EXPECT_EQ(r.code, TF_DATA_LOSS);
  EXPECT_NE(
      r.message.find("record 1 (offset " + std::to_string(first_.size()) + ")"),
      std::string::npos)
      << r.message;
}

TEST_F(ChunkDatasets, NameARecordThatIsNotAsAskedFor) {
  const TempFile odd(first_ + Frame(Features(Entry("x", Floats({1})))));
  ASSERT_EQ(FromFiles(&p_, {odd.path()}, {2}, Options()).code, TF_OK);
  const Result r = p_.Next();
  EXPECT_EQ(r.code, TF_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("record 1"), std::string::npos) << r.message;
}

TEST_F(ChunkDatasets, RefuseGroupsThatAreNone) {
  for (const std::vector<int64_t>& splits : std::vector<std::vector<int64_t>>{
           {0, 3}, {0, 6, 5}, {0, 3, 6}, {1, 3, 5}}) {
    Pipeline p;
    ASSERT_EQ(FromGroup(&p, Options(), splits).code, TF_OK);
    EXPECT_EQ(p.Next().code, TF_INVALID_ARGUMENT);
  }
}

TEST_F(ChunkDatasets, RefuseInputsOutOfRange) {
  std::vector<Options> wrong(7);
  wrong[0].rules = {-1, 1, 8, 0};
  wrong[1].rules = {2, 0, 8, 0};
  wrong[2].rules = {2, 1, 0, 0};
  wrong[3].rules = {2, 1, 8, -1};
  wrong[4].rules = {2, 1, 8};
  wrong[5].left = -1;
  wrong[6].threads = 0;
  for (const Options& o : wrong) {
    Pipeline p;
    EXPECT_EQ(FromFiles(&p, Files(), {2, 2}, o).code, TF_INVALID_ARGUMENT);
  }
}

}  // namespace
}  // namespace optest
}  // namespace millrace
