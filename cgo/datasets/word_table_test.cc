#include "word_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millrace {
namespace {

std::vector<std::string> Split(std::string_view text, std::string separator,
                               bool lower = false, size_t most = 1000) {
  std::vector<std::string> words;
  WordSplitter splitter(std::move(separator), lower);
  splitter.Split(text, [&](std::string_view word) {
    words.emplace_back(word);
    return words.size() < most;
  });
  return words;
}

using Words = std::vector<std::string>;

int64_t Find(const WordTable& table, std::string_view word) {
  int64_t index = -2;
  table.Find(&word, 1, &index);
  return index;
}

TEST(WordSplitter, WhiteSpaceLeavesNoEmptyWords) {
  EXPECT_EQ(Split("  a\tbc \v\f\r\n d  ", ""), (Words{"a", "bc", "d"}));
  EXPECT_EQ(Split("", ""), Words());
  EXPECT_EQ(Split(" \n", ""), Words());
  EXPECT_EQ(Split("x", ""), Words{"x"});
  EXPECT_EQ(Split(std::string_view("a\0b\x1f c\xc2\xa0"
                                   "d",
                                   9),
                  ""),
            (Words{std::string("a\0b\x1f", 4),
                   "c\xc2\xa0"
                   "d"}));
}

TEST(WordSplitter, SeparatorsKeepEmptyWords) {
  EXPECT_EQ(Split("1<>2<><>3", "<>"), (Words{"1", "2", "", "3"}));
  EXPECT_EQ(Split("", ","), Words{""});
  EXPECT_EQ(Split(",", ","), (Words{"", ""}));
  EXPECT_EQ(Split("aaa", "aa"), (Words{"", "a"}));
}

TEST(WordSplitter, LowerChangesAToZOnly) {
  EXPECT_EQ(Split("@AZ[ `az{ \xc3\x84", "", true),
            (Words{"@az[", "`az{", "\xc3\x84"}));
  EXPECT_EQ(Split("\xc1LOWER lOWERLOWER\xdaZAaz@[\x7f", "", true),
            (Words{"\xc1lower", "lowerlower\xdazaaz@[\x7f"}));
  EXPECT_EQ(Split("aXbxc", "x", true), (Words{"a", "b", "c"}));
}

TEST(WordSplitter, EndsWhenToldTo) {
  EXPECT_EQ(Split("a b c", "", false, 2), (Words{"a", "b"}));
  EXPECT_EQ(Split("a,b,c", ",", false, 1), Words{"a"});
}

// Words of all lengths are found where a
// map finds them, and others are not.
TEST(WordTable, FindsWhatAMapFinds) {
  std::mt19937 random(1);
  auto word = [&](size_t size) {
    std::string w(size, '\0');
    for (char& c : w) c = static_cast<char>(random() % 2 ? 'a' : random() % 3);
    return w;
  };
  std::vector<std::string> list;
  for (int i = 0; i < 5000; ++i) list.push_back(word(random() % 40));
  std::vector<std::string_view> views(list.begin(), list.end());
  std::unordered_map<std::string, int64_t> want;
  for (size_t i = 0; i < list.size(); ++i) want.emplace(list[i], i);
  const WordTable table(views);
  std::vector<std::string> sought;
  for (int i = 0; i < 20001; ++i) {
    sought.push_back(i % 2 ? list[random() % list.size()]
                           : word(random() % 40));
  }
  std::vector<int64_t> got(sought.size());
  views.assign(sought.begin(), sought.end());
  table.Find(views.data(), views.size(), got.data());
  size_t found = 0;
  for (size_t i = 0; i < sought.size(); ++i) {
    const auto at = want.find(sought[i]);
    ASSERT_EQ(got[i], at == want.end() ? -1 : at->second) << sought[i].size();
    found += at != want.end();
  }
  EXPECT_GT(found, 10000u);
  EXPECT_LT(found, 20000u);
}

TEST(WordTable, SizesThatShareTheirBytes) {
  const std::vector<std::string> list = {"",
                                         "a",
                                         "aa",
                                         "aaa",
                                         "aaaa",
                                         "aaaaa",
                                         "aaaaaaaa",
                                         "aaaaaaaaa",
                                         std::string(16, 'a'),
                                         std::string(17, 'a'),
                                         std::string(2, '\0'),
                                         std::string(1, '\0')};
  const WordTable table({list.begin(), list.end()});
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(Find(table, list[i]), static_cast<int64_t>(i));
  }
  EXPECT_EQ(Find(table, std::string(18, 'a')), -1);
  EXPECT_EQ(Find(table, std::string(3, '\0')), -1);
  EXPECT_EQ(Find(table, "aba"), -1);
}

TEST(WordTable, IsEmptyWithoutWords) {
  const WordTable table({});
  EXPECT_EQ(Find(table, ""), -1);
  EXPECT_EQ(Find(table, "a"), -1);
}

}  // namespace
}  // namespace millrace
