// MillraceWindowsDataset: windows of the sequences in files of Examples.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../datasets/records_test.h"
#include "pipeline.h"

namespace millrace {
namespace optest {
namespace {

constexpr int64_t kPositions = 4;  // positions per record

// Records have the positions of a sequence: 0, 1, 2 and so on from `begin`.
std::string Records(int64_t n, float begin) {
  std::string bytes;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<float> x;
    for (int64_t k = 0; k < kPositions; ++k) x.push_back(begin++);
    bytes += Frame(Features(Entry("x", Floats(x))));
  }
  return bytes;
}

// Options are the inputs of the op.
struct Options {
  std::vector<std::string> files;
  std::vector<int64_t> counts;
  std::vector<int64_t> window;  // min, max, stride
  int64_t batch_size = 0;
  int64_t threads = 1;
  int64_t epochs = 1;
  bool keep_tail = false;
};

Result Start(Pipeline* p, const Options& o) {
  const std::vector<std::vector<int64_t>> shapes = {
      o.batch_size > 0 ? std::vector<int64_t>{-1, -1}
                       : std::vector<int64_t>{-1}};
  Attrs attrs;
  attrs.strings["keys"] = {"x"};
  attrs.strings["kinds"] = {"float"};
  attrs.ints["values"] = {kPositions};
  attrs.bools["big_endian"] = {0};
  attrs.types["output_types"] = {TF_FLOAT};
  attrs.types["record_types"] = {TF_FLOAT};
  attrs.shapes["record_shapes"] = {{-1, kPositions}};
  attrs.shapes["output_shapes"] = shapes;
  attrs.flag["keep_tail"] = o.keep_tail;
  attrs.flag["whole_records"] = false;
  const TF_Output dataset =
      p->Add("MillraceWindowsDataset",
             {p->Constant(Strings(o.files)), p->Constant(Ints(o.counts)),
              p->Constant(Ints(o.window)), p->Constant(Int(1)),
              p->Constant(Ints({0, 0})), p->Constant(Int(o.epochs)),
              p->Constant(Int(o.batch_size)), p->Constant(Bool(false)),
              p->Constant(Int(0)), p->Constant(Int(o.threads))},
             attrs);
  return p->Iterate(dataset, {TF_FLOAT}, shapes);
}

using Windows = std::vector<std::vector<float>>;

Windows All(const Options& o, Result* last) {
  Pipeline p;
  *last = Start(&p, o);
  Windows all;
  while (last->code == TF_OK) {
    *last = p.Next();
    if (last->code == TF_OK) all.push_back(last->values[0].As<float>());
  }
  return all;
}

class WindowsDataset : public ::testing::TestWithParam<int64_t> {
 protected:
  Options Both(std::vector<int64_t> window) const {
    Options o;
    o.files = {one_.path(), two_.path()};
    o.counts = {2, 1};
    o.window = std::move(window);
    o.threads = GetParam();
    return o;
  }

  const TempFile one_{Records(2, 0)};   // 0 to 7
  const TempFile two_{Records(1, 10)};  // 10 to 13
  Result last_;
};

TEST_P(WindowsDataset, CutsWindowsWithinEachFile) {
  EXPECT_EQ(All(Both({3, 3, 0}), &last_),
            (Windows{{0, 1, 2}, {3, 4, 5}, {10, 11, 12}}));
  EXPECT_EQ(last_.code, TF_OUT_OF_RANGE) << last_.message;
}

TEST_P(WindowsDataset, OverlapsByTheStride) {
  EXPECT_EQ(
      All(Both({4, 4, 2}), &last_),
      (Windows{{0, 1, 2, 3}, {2, 3, 4, 5}, {4, 5, 6, 7}, {10, 11, 12, 13}}));
}

TEST_P(WindowsDataset, KeepsATail) {
  Options o = Both({3, 3, 0});
  o.keep_tail = true;
  o.window[0] = 1;
  float next = 0;
  for (const auto& window : All(o, &last_)) {
    for (const float x : window) {
      if (next == 8) next = 10;
      EXPECT_EQ(x, next++);
    }
    EXPECT_LE(window.size(), 3u);
  }
  EXPECT_EQ(next, 14);
}

TEST_P(WindowsDataset, BatchesWindowsOfOneSize) {
  Options o = Both({2, 2, 0});
  o.batch_size = 4;
  o.epochs = 2;
  Pipeline p;
  ASSERT_EQ(Start(&p, o).code, TF_OK);
  const Result r = p.Next();
  ASSERT_EQ(r.code, TF_OK) << r.message;
  EXPECT_EQ(r.values[0].shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(r.values[0].As<float>(),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(p.Next().values[0].As<float>(),
            (std::vector<float>{10, 11, 12, 13, 0, 1, 2, 3}));
  EXPECT_EQ(p.Next().values[0].shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(p.Next().code, TF_OUT_OF_RANGE);
}

TEST_P(WindowsDataset, NamesADamagedRecordBehindTheLastWindow) {
  std::string bytes = Records(3, 0);
  bytes.back() ^= 1;
  const TempFile damaged(bytes);
  Options o = Both({8, 8, 0});
  o.files = {damaged.path()};
  o.counts = {3};
  EXPECT_EQ(All(o, &last_).size(), 1u);
  EXPECT_EQ(last_.code, TF_DATA_LOSS);
  EXPECT_NE(last_.message.find("record 2 (offset "), std::string::npos)
      << last_.message;
}

TEST_P(WindowsDataset, RefusesInputsOutOfRange) {
  std::vector<Options> wrong(6, Both({1, 2, 0}));
  wrong[0].window = {0, 2, 0};
  wrong[1].window = {3, 2, 0};
  wrong[2].window = {1, 2, -1};
  wrong[3].counts = {2, -1};
  wrong[4].batch_size = 2;  // batches of windows of different sizes
  wrong[5].threads = 0;
  for (const Options& o : wrong) {
    Pipeline p;
    EXPECT_EQ(Start(&p, o).code, TF_INVALID_ARGUMENT);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, WindowsDataset, ::testing::Values(1, 2));

}  // namespace
}  // namespace optest
}  // namespace millrace
