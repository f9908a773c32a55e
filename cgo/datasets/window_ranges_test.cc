#include "window_ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record_frame.h"
#include "records_test.h"

namespace millrace {
namespace {

// Records of one layout: "<", three positions of four bytes, and ">".
constexpr int64_t kPositions = 3;
constexpr int64_t kPositionBytes = 4;

class WindowRangesTest : public ::testing::Test {
 protected:
  // Add adds a file of records, whose positions are numbered over all files.
  void Add(int64_t records) {
    std::string bytes, values;
    for (int64_t i = 0; i < records; ++i) {
      std::string record;
      for (int64_t k = 0; k < kPositions; ++k) {
        const std::string number = std::to_string(count_++);
        record += std::string(kPositionBytes - number.size(), '.') + number;
      }
      bytes += Frame("<" + record + ">");
      values += record;
    }
    files_.push_back(std::make_unique<TempFile>(bytes));
    values_.push_back(values);
    list_.names.push_back(files_.back()->path());
    list_.counts.push_back(records);
    rules_.sizes.push_back(records * kPositions);
  }

  static Layout TheLayout() {
    Layout layout;
    layout.before = "<";
    layout.after = ">";
    layout.values = kPositions * kPositionBytes;
    return layout;
  }

  WindowRanges Ranges(const WindowsAt& at = {}) {
    WindowRanges ranges(list_, rules_, kPositions, kPositionBytes);
    ranges.Seek(at, TheLayout());
    return ranges;
  }

  // Want returns the bytes of windows, padded with zeros at the end of a file.
  std::string Want(const std::vector<Window>& windows) const {
    std::string all;
    for (const Window& w : windows) {
      const auto padding = static_cast<size_t>(w.padding * kPositionBytes);
      all += values_[w.file].substr(
          static_cast<size_t>(w.begin * kPositionBytes),
          static_cast<size_t>((w.size - w.padding) * kPositionBytes));
      all += std::string(padding, '\0');
    }
    return all;
  }

  // Read reads the next n windows and returns whether they are right.
  bool Read(WindowRanges* ranges, size_t n) {
    std::vector<Window> windows;
    std::vector<RecordRange> found;
    if (!ranges->Find(n, &windows, &found)) return false;
    const std::string want = Want(windows);
    std::vector<char> got(want.size() + 1, '?');
    if (!ReadRanges(found, ranges->layout(), got.data())) return false;
    EXPECT_EQ(std::string(got.data(), want.size()), want);
    EXPECT_EQ(got.back(), '?');
    return true;
  }

  // ReadAll reads elements of n windows and returns their number.
  int ReadAll(WindowRanges* ranges, size_t n) {
    int elements = 0;
    while (Read(ranges, n)) ++elements;
    return elements;
  }

  FileList list_;
  WindowRules rules_;
  std::vector<std::unique_ptr<TempFile>> files_;
  std::vector<std::string> values_;
  int64_t count_ = 0;
};

TEST_F(WindowRangesTest, FindsWindowsOfAnySizeInAllFilesAndEpochs) {
  Add(7);
  Add(0);
  Add(1);
  Add(5);
  rules_.epochs = list_.epochs = 2;
  for (int64_t size = 1; size <= 22; ++size) {
    rules_.min = rules_.max = size;
    int64_t windows = 0;
    for (int64_t positions : rules_.sizes) windows += 2 * (positions / size);
    for (int64_t n = 1; n <= 5; ++n) {
      WindowRanges ranges = Ranges();
      EXPECT_EQ(ReadAll(&ranges, static_cast<size_t>(n)), windows / n)
          << size << ", " << n << " at once";
    }
  }
}

TEST_F(WindowRangesTest, FindsDrawnSizesAndTails) {
  Add(40);
  Add(3);
  Add(25);
  rules_.min = 2;
  rules_.max = 9;
  rules_.seed = 5;
  for (const bool pad : {false, true}) {
    rules_.keep_tail = !pad;
    rules_.pad_tail = pad;
    WindowRanges ranges = Ranges();
    EXPECT_GT(ReadAll(&ranges, 4), 5) << pad;
  }
}

// A position is the first record that is still needed, however many windows are
// read at once.
TEST_F(WindowRangesTest, GoesOnAtAPlace) {
  Add(7);
  Add(5);
  rules_.min = rules_.max = 5;
  WindowRanges ranges = Ranges();
  ASSERT_TRUE(Read(&ranges, 1));
  const ReadPosition first = ranges.at().read;
  EXPECT_EQ(first.ordinal, 1);
  EXPECT_EQ(first.offset, RunBytes(TheLayout()));
  ASSERT_TRUE(Read(&ranges, 2));
  EXPECT_EQ(ranges.at().read.ordinal, 5);
  const WindowsAt at = ranges.at();
  WindowRanges other = Ranges(at);
  ASSERT_TRUE(Read(&other, 1));
  EXPECT_EQ(other.at().read.file, at.read.file + (at.next.begin + 5 > 21));
  EXPECT_EQ(ReadAll(&other, 1), ReadAll(&ranges, 1) - 1);
  ranges.Clear();
  EXPECT_FALSE(Read(&ranges, 1));
}

// Faults are left to the caller: a damaged record, even outside of all windows,
// and files whose size does not match their records.
TEST_F(WindowRangesTest, LeavesWhatIsNotAsItShouldBe) {
  Add(4);
  Add(4);
  rules_.min = rules_.max = 10;  // 2 positions of the first file are left over
  WindowRanges good = Ranges();
  EXPECT_EQ(ReadAll(&good, 1), 2);
  const int64_t record = RunBytes(TheLayout());
  files_[0]->Set(3 * record + kHeader + 12, '!');
  WindowRanges ranges = Ranges();
  EXPECT_FALSE(Read(&ranges, 2));
  files_[0]->Truncate(static_cast<size_t>(3 * record));
  WindowRanges small = Ranges();
  EXPECT_FALSE(Read(&small, 1));
  list_.names[0] += ".missing";
  WindowRanges missing = Ranges();
  EXPECT_FALSE(Read(&missing, 1));
}

}  // namespace
}  // namespace millrace
