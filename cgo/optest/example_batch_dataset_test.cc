// MillraceExampleBatchDataset: batches of Examples from files.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

std::string Record(int64_t i) {
  return Features(Entry("x", Floats({i + 0.5f, -1.0f * i})) +
                  Entry("y", millrace::Ints({i})) +
                  Entry("t", Texts({std::string(i, 't')})));
}

std::string Records(int64_t begin, int64_t end) {
  std::string bytes;
  for (int64_t i = begin; i < end; ++i) bytes += Frame(Record(i));
  return bytes;
}

// Options are the inputs of the op.
struct Options {
  std::vector<std::string> files;
  std::vector<int64_t> counts;
  int64_t batch_size = 1;
  int64_t epochs = 1;
  bool drop_remainder = false;
};

const std::vector<TF_DataType> kTypes = {TF_FLOAT, TF_INT64, TF_STRING};
const std::vector<std::vector<int64_t>> kShapes = {{-1, 2}, {-1}, {-1}};

Result Start(Pipeline* p, const Options& o) {
  Attrs attrs;
  attrs.strings["keys"] = {"x", "y", "t"};
  attrs.strings["kinds"] = {"float", "int", "bytes"};
  attrs.ints["values"] = {2, 1, 1};
  attrs.bools["big_endian"] = {0, 0, 0};
  attrs.types["output_types"] = kTypes;
  attrs.shapes["output_shapes"] = kShapes;
  const TF_Output dataset =
      p->Add("MillraceExampleBatchDataset",
             {p->Constant(Strings(o.files)), p->Constant(Ints(o.counts)),
              p->Constant(Int(o.batch_size)), p->Constant(Int(o.epochs)),
              p->Constant(Bool(o.drop_remainder)), p->Constant(Int(0))},
             attrs);
  return p->Iterate(dataset, kTypes, kShapes);
}

// Ids returns the records of each batch, and checks all their values.
std::vector<std::vector<int64_t>> Ids(const Options& o, Result* last) {
  Pipeline p;
  *last = Start(&p, o);
  std::vector<std::vector<int64_t>> batches;
  while (last->code == TF_OK) {
    *last = p.Next();
    if (last->code != TF_OK) break;
    const std::vector<int64_t> ids = last->values[1].As<int64_t>();
    const auto n = static_cast<int64_t>(ids.size());
    EXPECT_EQ(last->values[0].shape, (std::vector<int64_t>{n, 2}));
    const std::vector<float> x = last->values[0].As<float>();
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(x[2 * i], ids[i] + 0.5f);
      EXPECT_EQ(x[2 * i + 1], -1.0f * ids[i]);
      EXPECT_EQ(last->values[2].strings[i], std::string(ids[i], 't'));
    }
    batches.push_back(ids);
  }
  return batches;
}

using Batches = std::vector<std::vector<int64_t>>;

class ExampleBatchDataset : public ::testing::Test {
 protected:
  Options Both(int64_t batch_size) const {
    Options o;
    o.files = {one_.path(), two_.path()};
    o.counts = {3, 2};
    o.batch_size = batch_size;
    return o;
  }

  const TempFile one_{Records(0, 3)};
  const TempFile two_{Records(3, 5)};
  Result last_;
};

TEST_F(ExampleBatchDataset, BatchesCrossFilesAndEpochs) {
  Options o = Both(2);
  EXPECT_EQ(Ids(o, &last_), (Batches{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(last_.code, TF_OUT_OF_RANGE) << last_.message;
  o.epochs = 2;
  EXPECT_EQ(Ids(o, &last_), (Batches{{0, 1}, {2, 3}, {4, 0}, {1, 2}, {3, 4}}));
  o.counts = {-1, -1};
  o.batch_size = 4;
  EXPECT_EQ(Ids(o, &last_), (Batches{{0, 1, 2, 3}, {4, 0, 1, 2}, {3, 4}}));
  o.drop_remainder = true;
  EXPECT_EQ(Ids(o, &last_), (Batches{{0, 1, 2, 3}, {4, 0, 1, 2}}));
}

TEST_F(ExampleBatchDataset, DeliversTheBatchesBeforeABadRecord) {
  const TempFile bad(Records(0, 4) + Frame(Features(Entry("x", Floats({1})))));
  Options o = Both(2);
  o.files = {bad.path()};
  o.counts = {5};
  EXPECT_EQ(Ids(o, &last_), (Batches{{0, 1}, {2, 3}}));
  EXPECT_EQ(last_.code, TF_INVALID_ARGUMENT);
  EXPECT_NE(last_.message.find("record 4 (offset "), std::string::npos)
      << last_.message;
  EXPECT_NE(last_.message.find("feature \"x\": 1 values stored, want 2"),
            std::string::npos)
      << last_.message;
}

TEST_F(ExampleBatchDataset, FailsAgainIfAskedAgain) {
  const TempFile bad(Frame("\x0b"));
  Options o = Both(2);
  o.files = {bad.path()};
  o.counts = {1};
  Pipeline p;
  ASSERT_EQ(Start(&p, o).code, TF_OK);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(p.Next().code, TF_INVALID_ARGUMENT);
}

TEST_F(ExampleBatchDataset, HoldsFilesToTheirCounts) {
  Options o = Both(10);
  for (const int64_t count : {2, 4}) {
    o.counts = {count, 2};
    EXPECT_EQ(Ids(o, &last_), Batches{});
    EXPECT_EQ(last_.code, TF_FAILED_PRECONDITION);
    EXPECT_NE(last_.message.find("records were counted"), std::string::npos)
        << last_.message;
  }
}

TEST_F(ExampleBatchDataset, EndsAtOnceWithoutRecords) {
  const TempFile none("");
  Options o = Both(2);
  o.files = {none.path()};
  o.counts = {0};
  for (const int64_t epochs : {int64_t{1}, INT64_MAX}) {
    o.epochs = epochs;
    EXPECT_EQ(Ids(o, &last_), Batches{});
    EXPECT_EQ(last_.code, TF_OUT_OF_RANGE) << last_.message;
  }
  o.epochs = -1;
  EXPECT_EQ(Ids(o, &last_), Batches{});
  EXPECT_EQ(last_.code, TF_FAILED_PRECONDITION);
}

TEST_F(ExampleBatchDataset, RefusesInputsOutOfRange) {
  std::vector<Options> wrong(4, Both(1));
  wrong[0].batch_size = 0;
  wrong[1].epochs = -2;
  wrong[2].counts = {3};
  wrong[3].files.pop_back();
  for (const Options& o : wrong) {
    Pipeline p;
    EXPECT_EQ(Start(&p, o).code, TF_INVALID_ARGUMENT);
  }
}

// A batch that would take minutes ends with the session.
TEST_F(ExampleBatchDataset, CanBeCancelled) {
  Options o = Both(200000000);
  o.epochs = -1;
  Pipeline p;
  ASSERT_EQ(Start(&p, o).code, TF_OK);
  Result result;
  std::thread reader([&] { result = p.Next(); });
  p.Close();
  reader.join();
  EXPECT_EQ(result.code, TF_CANCELLED) << result.message;
}

}  // namespace
}  // namespace optest
}  // namespace millrace
