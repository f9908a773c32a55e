#include "ordered_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "records_test.h"

namespace millrace {
namespace {

// Two files with an empty one between them: some records are near each other,
// one is large, and one has no data.
struct Way {
  int64_t threads;
  bool kept;  // the files are kept in memory
};

class OrderedReaderTest : public ::testing::TestWithParam<Way> {
 protected:
  OrderedReaderTest() {
    for (int i = 0; i < 40; ++i) {
      std::string data = "r" + std::to_string(i);
      if (i == 5) data.clear();
      if (i == 20) data += std::string(300 << 10, 'x');
      if (i % 7 == 0) data += std::string(9 << 10, 'y');
      (i < 25 ? first_ : second_) += Frame(data);
      lengths_.push_back(static_cast<uint32_t>(data.size()));
      records_.push_back(data);
    }
    a_.Write(first_);
    b_.Write(second_);
    table_ = std::make_unique<RecordTable>(
        std::vector<std::string>{a_.path(), none_.path(), b_.path()},
        std::vector<int64_t>{25, 0, 15}, lengths_.data());
  }

  OrderSpec Spec(Shuffling shuffling) const {
    OrderSpec spec;
    spec.shuffling = shuffling;
    spec.seed = 3;
    spec.block = 4;
    spec.mixed = 9;
    spec.size = 40;
    spec.parts = {{0, 40, 0}};
    return spec;
  }

  OrderedReader Open(Shuffling shuffling) {
    return Open(*table_, Spec(shuffling), 80);
  }

  OrderedReader Open(const RecordTable& table, OrderSpec spec, int64_t end) {
    kept_ = GetParam().kept ? std::make_unique<KeptFiles>(table) : nullptr;
    return OrderedReader(table, kept_.get(), spec, end, GetParam().threads);
  }

  // Offset returns the offset of a record in the index.
  int64_t Offset(int64_t number) const { return table_->Find(number).offset; }

  std::string first_, second_;
  TempFile a_{""}, none_{""}, b_{""};
  std::vector<uint32_t> lengths_;
  std::vector<std::string> records_;
  std::unique_ptr<RecordTable> table_;
  std::unique_ptr<KeptFiles> kept_;
};

TEST_P(OrderedReaderTest, GivesTheOrder) {
  for (Shuffling shuffling :
       {Shuffling::kNone, Shuffling::kExact, Shuffling::kBlock}) {
    OrderedReader reader = Open(shuffling);
    RecordOrder order(Spec(shuffling));
    std::string_view record;
    RecordPlace place;
    bool end;
    Fault fault;
    for (int64_t at : {0, 13, 79}) {
      for (reader.Seek(at); at < 80; ++at) {
        ASSERT_TRUE(reader.Next(&record, &place, &end, &fault)) << fault.text;
        const int64_t number = order.At(at);
        ASSERT_FALSE(end);
        ASSERT_EQ(record, records_[number]);
        EXPECT_EQ(place.file, number < 25 ? 0 : 2);
        EXPECT_EQ(place.record, number < 25 ? number : number - 25);
        EXPECT_EQ(place.offset, Offset(number));
      }
      ASSERT_TRUE(reader.Next(&record, &place, &end, &fault));
      EXPECT_TRUE(end);
    }
  }
}

// Skipped records are not delivered, though they may be damaged, and their
// positions remain.
TEST_P(OrderedReaderTest, SkipsRecords) {
  a_.Set(Offset(11) + 13, '\x7f');
  for (Shuffling shuffling :
       {Shuffling::kNone, Shuffling::kExact, Shuffling::kBlock}) {
    OrderSpec spec = Spec(shuffling);
    RecordOrder order(spec);
    spec.skipped = {11, 20, order.At(39)};
    std::sort(spec.skipped.begin(), spec.skipped.end());
    OrderedReader reader = Open(*table_, spec, 80);
    std::string_view record;
    RecordPlace place;
    bool end;
    Fault fault;
    for (int64_t at = 0; at < 80; ++at) {
      const int64_t number = order.At(at);
      if (std::count(spec.skipped.begin(), spec.skipped.end(), number) > 0) {
        continue;
      }
      if (at % 9 == 0) reader.Seek(at);
      ASSERT_TRUE(reader.Next(&record, &place, &end, &fault)) << fault.text;
      ASSERT_FALSE(end);
      ASSERT_EQ(record, records_[number]);
      ASSERT_EQ(reader.position(), at + 1);
    }
    ASSERT_TRUE(reader.Next(&record, &place, &end, &fault)) << fault.text;
    EXPECT_TRUE(end);
  }
  OrderSpec none = Spec(Shuffling::kExact);
  for (int64_t i = 0; i < 40; ++i) none.skipped.push_back(i);
  OrderedReader reader = Open(*table_, none, INT64_MAX / 2);
  std::string_view record;
  RecordPlace place;
  bool end;
  Fault fault;
  EXPECT_FALSE(reader.Next(&record, &place, &end, &fault));
  EXPECT_EQ(fault.what, "all records of an epoch are skipped");
}

// A fault comes after the preceding records, on each call, and other records
// are read despite faulty neighbours.
TEST_P(OrderedReaderTest, NamesABadRecord) {
  const int64_t bad = 11, at = Offset(bad);
  struct {
    int64_t byte;
    Cause cause;
  } const cases[] = {{at, Cause::kDataLoss}, {at + 13, Cause::kDataLoss}};
  for (const auto& c : cases) {
    a_.Write(first_);
    a_.Set(c.byte, '\x7f');
    OrderedReader reader = Open(Shuffling::kExact);
    RecordOrder order(Spec(Shuffling::kExact));
    for (int64_t i = 0; i < 40; ++i) {
      std::string_view record;
      RecordPlace place;
      bool end;
      Fault fault;
      const bool ok = reader.Next(&record, &place, &end, &fault);
      EXPECT_EQ(ok, order.At(i) != bad);
      if (ok) continue;
      EXPECT_EQ(fault.cause, c.cause);
      EXPECT_EQ(fault.place.file, a_.path());
      EXPECT_EQ(fault.place.record, bad);
      EXPECT_EQ(fault.place.offset, at);
      EXPECT_EQ(reader.position(), i);
      EXPECT_FALSE(reader.Next(&record, &place, &end, &fault));
      reader.Seek(i + 1);
    }
  }
}

// An index of another file never yields wrong data.
TEST_P(OrderedReaderTest, RefusesAnotherFile) {
  std::string_view record;
  RecordPlace place;
  bool end;
  Fault fault;
  a_.Write(first_ + "x");
  EXPECT_FALSE(Open(Shuffling::kNone).Next(&record, &place, &end, &fault));
  EXPECT_EQ(fault.cause, Cause::kFailedPrecondition) << fault.text;
  a_.Write(first_);
  std::swap(lengths_[0], lengths_[1]);
  EXPECT_FALSE(Open(Shuffling::kNone).Next(&record, &place, &end, &fault));
  EXPECT_EQ(fault.cause, Cause::kDataLoss) << fault.text;
  EXPECT_EQ(fault.place.record, 0);
  unlink(a_.path().c_str());
  EXPECT_FALSE(Open(Shuffling::kNone).Next(&record, &place, &end, &fault));
  EXPECT_EQ(fault.cause, Cause::kNotFound) << fault.text;
}

INSTANTIATE_TEST_SUITE_P(Ways, OrderedReaderTest,
                         ::testing::Values(Way{1, false}, Way{3, false},
                                           Way{1, true}));

}  // namespace
}  // namespace millrace
