#include "usual_form.h"

#include <gtest/gtest.h>

#include <string>

#include "fault.h"
#include "records_test.h"

namespace millrace {
namespace {

std::string Whole() {
  return Features(Entry("x", Floats({1, 2.5f})) + Entry("n", Ints({})) +
                  Entry("y", Ints({3, -1, INT64_MIN})) +
                  Entry("t", Texts({"a", ""})) + Entry("none", Texts({})));
}

TEST(UsualForm, AcceptsWhatLibrariesWrite) {
  EXPECT_TRUE(UsualForm(Whole()));
  EXPECT_TRUE(UsualForm(Features("")));
  EXPECT_TRUE(UsualForm(Features(Entry("\xff", UnpackedFloats({1, 2})) +
                                 Entry("y", UnpackedInts({1, -1})))));
}

TEST(UsualForm, RefusesTheRest) {
  const std::string entry = Entry("x", Floats({1}));
  const std::string bad[] = {
      "",
      Whole() + Whole(),
      Whole() + std::string("\x98\x06\x01", 3),
      Whole().substr(0, Whole().size() - 1),
      Features(entry + "\x0a\x7f"),
      Features(Entry("x", "")),
      Features(Entry("x", Field(kFloatList,
                                "\x0d"
                                "abc"))),
      Features(Entry("x", Field(kInt64List, "\x08\x80"))),
      Features(Entry(
          "x", Field(kInt64List, '\x08' + std::string(9, '\xff') + "\x02"))),
      Features(Entry("x", Field(kFloatList, Field(kPacked, "abc")))),
      Features(Entry("x", Field(kInt64List, Field(kPacked, "\x80")))),
      Features(Entry(
          "x",
          Field(kInt64List, Field(kPacked, std::string(9, '\xff') + "\x02")))),
      Features(Entry("x", Texts({"a"}) + "\x01")),
      Features(Entry("x", Field(4 << 3 | 2, ""))),
      Features(Field(1 << 3 | 2,
                     Field(2 << 3 | 2, Floats({1})) + Field(1 << 3 | 2, "x"))),
  };
  for (const std::string& record : bad) {
    const Exact exact(record);
    EXPECT_FALSE(UsualForm(exact.view())) << Quote(record, 100);
  }
}

// Keys are distinct, however many there are.
TEST(UsualForm, RefusesRepeatedKeys) {
  for (const int keys : {1, 2, 7, 8, 9, 40, 119}) {
    std::string map;
    for (int i = 0; i < keys; ++i) {
      map += Entry("a feature with the number " + std::to_string(i), Ints({i}));
    }
    EXPECT_TRUE(UsualForm(Features(map))) << keys;
    for (const int again : {0, keys / 2, keys - 1}) {
      const std::string key =
          "a feature with the number " + std::to_string(again);
      EXPECT_FALSE(UsualForm(Features(map + Entry(key, Ints({1})))))
          << keys << " " << again;
      EXPECT_TRUE(UsualForm(Features(map + Entry(key + "x", Ints({1})))));
    }
  }
  EXPECT_FALSE(UsualForm(Features(Entry("", Ints({})) + Entry("", Ints({})))));
}

// A record that is cut anywhere is not of the usual form.
TEST(UsualForm, RefusesWhatIsCut) {
  const std::string whole = Whole();
  for (size_t n = 0; n < whole.size(); ++n) {
    const Exact exact(whole.substr(0, n));
    EXPECT_FALSE(UsualForm(exact.view())) << n;
  }
}

std::string Context() {
  return Features(Entry("i", Ints({3})) + Entry("t", Texts({"a"})));
}

std::string Lists() {
  return Field(2 << 3 | 2, Entry("x", Field(kPacked, Floats({1, 2})) +
                                          Field(kPacked, Floats({}))) +
                               Entry("none", ""));
}

TEST(UsualSequenceForm, AcceptsWhatLibrariesWrite) {
  EXPECT_TRUE(UsualSequenceForm(Context() + Lists()));
  EXPECT_TRUE(UsualSequenceForm(Context()));
  EXPECT_TRUE(UsualSequenceForm(Lists()));
}

TEST(UsualSequenceForm, RefusesTheRest) {
  const std::string bad[] = {
      "",
      Lists() + Context(),
      Features(Entry("i", "")),
      Context() + Context(),
      Context() + Lists() + Lists(),
      Context() + Lists() + std::string("\x98\x06\x01", 3),
      Field(2 << 3 | 2, Entry("x", Floats({1}))),
      Field(2 << 3 | 2, Entry("x", Field(kPacked, ""))),
      Field(2 << 3 | 2, Entry("x", Field(kPacked, Floats({1})) + "\x0a\x7f")),
  };
  for (const std::string& record : bad) {
    const Exact exact(record);
    EXPECT_FALSE(UsualSequenceForm(exact.view())) << Quote(record, 100);
  }
  const std::string whole = Lists();
  for (size_t n = 0; n < whole.size(); ++n) {
    const Exact exact(whole.substr(0, n));
    EXPECT_FALSE(UsualSequenceForm(exact.view())) << n;
  }
}

}  // namespace
}  // namespace millrace
