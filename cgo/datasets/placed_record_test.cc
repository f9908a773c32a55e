#include "placed_record.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

std::string Placed(const std::string& data, const RecordPlace& place) {
  std::string record = data + std::string(sizeof(place), '?');
  AppendPlace(place, record.data() + data.size());
  return record;
}

TEST(RecordOrigin, TakesThePlaceOffARecord) {
  const RecordOrigin origin(true, {"one", "two"});
  for (const std::string data : {"", "data"}) {
    const std::string record = Placed(data, {1, 5, 99});
    std::string_view rest = record;
    RecordPlace place;
    Fault fault;
    ASSERT_TRUE(origin.Split(&rest, &place, &fault));
    EXPECT_EQ(rest, data);
    fault.Set(Cause::kInvalidArgument, "bad");
    origin.Describe(place, 0, &fault);
    EXPECT_EQ(fault.place.file, "two");
    EXPECT_EQ(fault.place.record, 5);
    EXPECT_EQ(fault.place.offset, 99);
  }
}

TEST(RecordOrigin, RefusesARecordTooShortForAPlace) {
  const RecordOrigin origin(true, {"one"});
  const std::string record(sizeof(RecordPlace) - 1, 'x');
  std::string_view rest = record;
  RecordPlace place;
  Fault fault;
  EXPECT_FALSE(origin.Split(&rest, &place, &fault));
  EXPECT_EQ(fault.cause, Cause::kInvalidArgument);
}

// The numbers come from a pipeline and may have any value.
TEST(RecordOrigin, SurvivesFilesThatAreNotThere) {
  const RecordOrigin origin(true, {"one"});
  for (const int64_t file : {int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    Fault fault;
    fault.Set(Cause::kInvalidArgument, "bad");
    origin.Describe({file, 0, 0}, 0, &fault);
    EXPECT_EQ(fault.place.file, "");
  }
}

TEST(RecordOrigin, NumbersElementsWithoutPlaces) {
  const RecordOrigin origin;
  std::string_view record = "short";
  RecordPlace place;
  Fault fault;
  ASSERT_TRUE(origin.Split(&record, &place, &fault));
  EXPECT_EQ(record, "short");
  fault.Set(Cause::kInvalidArgument, "bad");
  origin.Describe(place, 3, &fault);
  EXPECT_EQ(fault.text, "element 3: bad");
}

}  // namespace
}  // namespace millrace
