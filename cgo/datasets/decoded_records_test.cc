#include "decoded_records.h"

#include <gtest/gtest.h>

#include <cstring>

namespace millrace {
namespace {

constexpr size_t kBytes = 100;

// Put adds a record whose values are its number.
void Put(DecodedRecords* records, int64_t record) {
  char* const values = records->Add(record);
  ASSERT_NE(values, nullptr);
  std::memset(values, static_cast<int>(record), kBytes);
}

// Has reports whether a record is kept, with its values.
bool Has(DecodedRecords* records, int64_t record) {
  const char* const values = records->Find(record);
  return values != nullptr && values[0] == static_cast<char>(record) &&
         values[kBytes - 1] == static_cast<char>(record);
}

TEST(DecodedRecords, KeepsTheLastUpToTheLimit) {
  DecodedRecords records(kBytes, 3 * kBytes);
  for (int64_t i = 0; i < 10; ++i) {
    records.Begin();
    EXPECT_FALSE(Has(&records, i));
    Put(&records, i);
  }
  records.Begin();
  EXPECT_EQ(records.size(), 3);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(Has(&records, i), i >= 7) << i;
}

TEST(DecodedRecords, KeepsWhatIsNeededBeyondTheLimit) {
  DecodedRecords records(kBytes, 2 * kBytes);
  Put(&records, 1);
  Put(&records, 2);
  records.Begin();
  EXPECT_TRUE(Has(&records, 1));
  for (int64_t i = 3; i < 8; ++i) Put(&records, i);
  for (int64_t i = 3; i < 8; ++i) EXPECT_TRUE(Has(&records, i)) << i;
  EXPECT_TRUE(Has(&records, 1));
  EXPECT_FALSE(Has(&records, 2));
  records.Begin();
  Put(&records, 9);
  EXPECT_EQ(records.size(), 6);  // no more room is made
}

TEST(DecodedRecords, ForgetsWhatIsDropped) {
  DecodedRecords records(kBytes, 2 * kBytes);
  Put(&records, 1);
  Put(&records, 2);
  records.Drop(1);
  records.Drop(5);
  EXPECT_FALSE(Has(&records, 1));
  Put(&records, 3);
  EXPECT_TRUE(Has(&records, 2));
  EXPECT_TRUE(Has(&records, 3));
  EXPECT_EQ(records.size(), 2);
}

}  // namespace
}  // namespace millrace
